#include "server/capture_api.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/port_api.h"

namespace sluice {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(1);
constexpr unsigned kRoundsPerFlowCheck = 10;

absl::Status Ending() { return absl::UnavailableError("the switch is ending"); }

// Why a capture is over.
absl::Status WhyOver(const CaptureSpec& spec) {
  return absl::NotFoundError(spec.flow_id != 0 ? absl::StrCat("flow ", spec.flow_id, " was removed; its capture ends")
                                               : absl::StrCat("port ", spec.port, " was deleted; its capture ends"));
}

}  // namespace

CaptureApi::CaptureApi(Dataplane& dataplane, const FlowTable& flows, const ApiLimits& limits)
    : dataplane_(dataplane), flows_(flows), limit_(limits.captures), thread_([this] { Run(); }) {}

CaptureApi::~CaptureApi() {
  Close();
  thread_.join();
}

absl::StatusOr<CaptureSpec> CaptureApi::SpecOf(const v1::CaptureRequest& request) const {
  ViolationList violations;
  CaptureSpec spec;
  CaptureSpecFromProto(request, violations, spec);
  if (!violations.empty()) return violations.ToStatus();
  if (request.has_port()) {
    const absl::StatusOr<uint32_t> number = NumberOf(dataplane_, request.port(), Path("port"));
    if (!number.ok()) return number.status();
    // In a spec 0 is any port.
    if (*number == 0) return absl::NotFoundError("there is no port 0");
    spec.port = *number;
  } else if (request.source_case() == v1::CaptureRequest::kFlowId) {
    const absl::StatusOr<FlowInfo> flow = flows_.Get(request.flow_id());
    if (!flow.ok()) return flow.status();
    spec.flow_id = request.flow_id();
  }
  return spec;
}

absl::Status CaptureApi::Admit() {
  const std::lock_guard lock(mutex_);
  if (closed_) return Ending();
  if (captures_ >= limit_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", captures_, " captures already, the most that can be (limits.captures)"));
  }
  ++captures_;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<CaptureClient>> CaptureApi::Start(const v1::CaptureRequest& request,
                                                                 std::function<void()> ready) {
  const absl::StatusOr<CaptureSpec> spec = SpecOf(request);
  if (!spec.ok()) return spec.status();
  if (absl::Status status = Admit(); !status.ok()) return status;
  const absl::StatusOr<std::shared_ptr<const Capture>> capture = dataplane_.StartCapture(*spec);
  const std::lock_guard lock(mutex_);
  if (!capture.ok() || closed_) {
    --captures_;
    if (!capture.ok()) return capture.status();
    dataplane_.StopCapture(**capture);
    return Ending();
  }
  auto client = std::make_shared<CaptureClient>(*capture, std::move(ready));
  clients_.push_back(client);
  changed_.notify_one();
  return client;
}

void CaptureApi::Leave(const std::shared_ptr<CaptureClient>& client) {
  dataplane_.StopCapture(client->capture());
  const std::lock_guard lock(mutex_);
  std::erase(clients_, client);
  --captures_;
  missed_worker_ += client->capture().missed();
  missed_queue_ += client->missed();
}

void CaptureApi::Close() {
  Clients clients;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    clients = clients_;
    changed_.notify_one();
  }
  for (const auto& client : clients) client->Close(Ending());
}

void CaptureApi::Run() {
  pthread_setname_np(pthread_self(), "capture");
  std::unique_lock lock(mutex_);
  for (unsigned round = 0; !closed_; ++round) {
    if (clients_.empty()) {
      changed_.wait(lock);
      continue;
    }
    serving_ = clients_;
    lock.unlock();
    Round(round % kRoundsPerFlowCheck == 0);
    lock.lock();
    changed_.wait_for(lock, kPeriod, [this] { return closed_; });
  }
}

// Which captures are over comes first: then all of them is taken.
void CaptureApi::Round(bool check_flows) {
  Clients over;
  for (const auto& client : serving_) {
    if (client->capture().over()) {
      over.push_back(client);
    } else if (check_flows) {
      EndIfFlowIsGone(*client);
    }
  }
  dataplane_.TakeCaptured(
      [this](const CapturedPacket& packet, std::span<const uint8_t> bytes) { Deliver(packet, bytes); });
  names_.clear();
  for (const auto& client : serving_) client->Notify();
  for (const auto& client : over) client->Close(WhyOver(client->capture().spec()));
  serving_.clear();
}

void CaptureApi::EndIfFlowIsGone(const CaptureClient& client) {
  const uint64_t flow = client.capture().spec().flow_id;
  if (flow != 0 && !flows_.Get(flow).ok()) dataplane_.EndCapture(client.capture());
}

// A capture that began within this round is among clients_ before its caller knows of it.
CaptureClient* CaptureApi::Find(uint64_t capture_id) {
  const auto its = [capture_id](const auto& client) { return client->capture().id() == capture_id; };
  auto client = std::ranges::find_if(serving_, its);
  if (client == serving_.end()) {
    const std::lock_guard lock(mutex_);
    serving_ = clients_;
    client = std::ranges::find_if(serving_, its);
  }
  return client == serving_.end() ? nullptr : client->get();
}

void CaptureApi::Deliver(const CapturedPacket& packet, std::span<const uint8_t> bytes) {
  CaptureClient* const client = Find(packet.capture_id);
  if (client == nullptr) return;
  v1::CapturedPacket message;
  CapturedPacketToProto(packet, &message);
  message.set_data(bytes.data(), bytes.size());
  if (packet.port != 0) message.set_port_name(NameOf(packet.port));
  client->Queue(std::move(message));
}

const std::string& CaptureApi::NameOf(uint32_t port) {
  const auto [at, is_new] = names_.try_emplace(port);
  if (is_new) at->second = dataplane_.PortName(port);
  return at->second;
}

CaptureApi::Counters CaptureApi::counters() const {
  const std::lock_guard lock(mutex_);
  Counters counters{
      .captures = captures_, .limit = limit_, .missed_worker = missed_worker_, .missed_queue = missed_queue_};
  for (const auto& client : clients_) {
    counters.missed_worker += client->capture().missed();
    counters.missed_queue += client->missed();
  }
  return counters;
}

}  // namespace sluice
