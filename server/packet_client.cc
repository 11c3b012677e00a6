#include "server/packet_client.h"

#include <algorithm>

#include "server/convert.h"
#include "server/message_bytes.h"

namespace sluice {
namespace {

bool Holds(const google::protobuf::RepeatedField<uint32_t>& list, uint32_t value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

}  // namespace

bool PacketClient::Wants(const PuntedPacket& packet) const {
  const auto& reasons = request_.reasons();
  return (reasons.empty() || std::ranges::find(reasons, PacketReasonToProto(packet.reason)) != reasons.end()) &&
         Holds(request_.table_ids(), packet.table_id) && Holds(request_.in_ports(), packet.in_port);
}

PacketClient::Admission PacketClient::Admit(absl::Time now) {
  const std::lock_guard lock(mutex_);
  if (queue_.size() >= request_.queue()) {
    ++dropped_queue_;
    return Admission::kQueueFull;
  }
  if (rate_.Take(now)) return Admission::kYes;
  ++dropped_rate_;
  return Admission::kRateReached;
}

void PacketClient::Queue(const v1::Packet& packet) {
  const std::lock_guard lock(mutex_);
  v1::Packet& mine = queue_.emplace_back(packet);
  if (request_.max_len() != 0 && mine.data().size() > request_.max_len())
    mine.mutable_data()->resize(request_.max_len());
}

void PacketClient::Notify(uint64_t lost) {
  {
    const std::lock_guard lock(mutex_);
    lost_ = lost - lost_before_;
    if (queue_.empty()) return;
  }
  ready_();
}

void PacketClient::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  ready_();
}

bool PacketClient::Take(v1::WatchPacketsResponse& out) {
  const std::lock_guard lock(mutex_);
  out.Clear();
  for (size_t bytes = 0; !queue_.empty() && bytes < kMessageBytes; queue_.pop_front()) {
    bytes += queue_.front().ByteSizeLong();
    *out.add_packets() = std::move(queue_.front());
  }
  out.set_dropped_rate(dropped_rate_);
  out.set_dropped_queue(dropped_queue_);
  out.set_dropped_worker(lost_);
  return out.packets_size() != 0;
}

std::optional<absl::Status> PacketClient::ended() const {
  const std::lock_guard lock(mutex_);
  if (!closed_) return std::nullopt;
  return absl::UnavailableError("the switch is ending");
}

}  // namespace sluice
