#include "server/packet_send_service.h"

#include <chrono>

#include "absl/time/clock.h"
#include "server/common_service.h"
#include "server/status.h"

namespace sluice {
namespace {

constexpr auto kRetry = std::chrono::milliseconds(1);

}  // namespace

void PacketSender::Start() {
  self_ = shared_from_this();
  const absl::Status open = api_.OpenSender(this, [weak = weak_from_this()] {
    if (const auto sender = weak.lock()) sender->End(absl::UnavailableError("the switch is ending"));
  });
  if (!open.ok()) End(open);
  Read();
}

void PacketSender::Read() {
  if (Enter(Stage::kReads)) StartRead(&request_);
}

void PacketSender::OnReadDone(bool ok) {
  if (!ok) return End(absl::OkStatus());
  if (Enter(Stage::kWorks)) Work();
}

void PacketSender::Work() {
  if (!api_.TryAdmit(absl::Now())) {
    alarm_.Set(std::chrono::system_clock::now() + kRetry, [this](bool) {
      if (Enter(Stage::kWorks)) Work();
    });
    return;
  }
  thread_.Post([this] { Answer(); });
}

void PacketSender::Answer() {
  response_.Clear();
  const absl::Status status = api_.SendPacket(request_.packet(), response_.mutable_result());
  if (!status.ok()) *response_.mutable_error() = ToRpcStatus(status);
  if (Enter(Stage::kWorks)) StartWrite(&response_);
}

void PacketSender::OnWriteDone(bool ok) {
  if (!ok) End(absl::CancelledError("cancelled"));
  Read();
}

void PacketSender::OnCancel() { End(absl::CancelledError("cancelled")); }

bool PacketSender::Enter(Stage stage) {
  {
    const std::lock_guard lock(mutex_);
    if (stage_ == Stage::kOver) return false;
    stage_ = end_ ? Stage::kOver : stage;
    if (!end_) return true;
  }
  FinishWith(*end_);
  return false;
}

void PacketSender::End(const absl::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (!end_) end_ = status;
    if (stage_ != Stage::kReads) return;
    stage_ = Stage::kOver;
  }
  FinishWith(*end_);
}

void PacketSender::FinishWith(const absl::Status& status) {
  requests_.Count(Method::kSendPackets, status.code());
  Finish(ToGrpc(status));
}

void PacketSender::OnDone() {
  api_.CloseSender(this);
  self_.reset();
}

}  // namespace sluice
