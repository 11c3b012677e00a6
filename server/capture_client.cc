#include "server/capture_client.h"

namespace sluice {
namespace {

// Of a message, all in all; gRPC's clients refuse more than 4 MiB.
constexpr size_t kMessageBytes = 1 << 20;

size_t SizeOf(const v1::CapturedPacket& packet) { return sizeof packet + packet.data().size(); }

}  // namespace

bool CaptureClient::Queue(v1::CapturedPacket packet) {
  const std::lock_guard lock(mutex_);
  const size_t size = SizeOf(packet);
  if (bytes_ + size > kQueueBytes) {
    ++missed_;
    return false;
  }
  bytes_ += size;
  queue_.push_back(std::move(packet));
  return true;
}

void CaptureClient::Notify() {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() && told_ == missed_ + capture_->missed()) return;
  }
  ready_();
}

void CaptureClient::Close(const absl::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (!end_.has_value()) end_ = status;
  }
  ready_();
}

bool CaptureClient::Take(v1::CaptureResponse& out) {
  const std::lock_guard lock(mutex_);
  out.Clear();
  const bool first = !std::exchange(begun_, true);
  const uint64_t missed_worker = capture_->missed();
  for (size_t bytes = 0; !first && !queue_.empty() && bytes < kMessageBytes; queue_.pop_front()) {
    const size_t size = SizeOf(queue_.front());
    bytes += size;
    bytes_ -= size;
    *out.add_packets() = std::move(queue_.front());
  }
  out.set_missed_worker(missed_worker);
  out.set_missed_queue(missed_);
  const bool news = first || out.packets_size() != 0 || told_ != missed_ + missed_worker;
  told_ = missed_ + missed_worker;
  return news;
}

std::optional<absl::Status> CaptureClient::ended() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

uint64_t CaptureClient::missed() const {
  const std::lock_guard lock(mutex_);
  return missed_;
}

}  // namespace sluice
