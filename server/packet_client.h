// Somebody who listens to packets: what it wants, how much it gets, and what
// waits for it.
//
// The hub offers packets; the caller's stream takes them. Any thread; a mutex
// stands among them, and nobody holds it for long.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "dataplane/dataplane.h"
#include "server/rate_limit.h"
#include "sluice/v1/packet_service.pb.h"

namespace sluice {

class PacketClient {
 public:
  // A request whose limits are resolved: neither rate nor queue is 0. `ready` is called
  // when there is something to take, from the hub's thread.
  PacketClient(const v1::WatchPacketsRequest& request, uint64_t lost_before, absl::Time now,
               std::function<void()> ready)
      : request_(request),
        lost_before_(lost_before),
        ready_(std::move(ready)),
        rate_(request.packets_per_second(), now) {}

  // Whatever its cookie.
  bool Wants(const PuntedPacket& packet) const;
  bool asks_for_cookie() const { return request_.cookie_mask() != 0; }
  bool WantsCookie(uint64_t cookie) const { return ((cookie ^ request_.cookie()) & request_.cookie_mask()) == 0; }
  enum class Admission { kYes, kRateReached, kQueueFull };
  // But for kYes the packet is counted as dropped.
  Admission Admit(absl::Time now);
  // Queues the packet, which it wants and was admitted; data is cut to what it asked for.
  void Queue(const v1::Packet& packet);
  // `lost`: what workers' queues have not taken, so far.
  void Notify(uint64_t lost);
  void Close();

  // Takes what waits, up to a message's worth. False: nothing does.
  bool Take(v1::WatchPacketsResponse& out);
  // How the call ends; none: it does not yet.
  std::optional<absl::Status> ended() const;

 private:
  const v1::WatchPacketsRequest request_;
  const uint64_t lost_before_;
  const std::function<void()> ready_;

  mutable std::mutex mutex_;  // guards what follows
  RateLimit rate_;
  std::deque<v1::Packet> queue_;
  uint64_t dropped_rate_ = 0;
  uint64_t dropped_queue_ = 0;
  uint64_t lost_ = 0;
  bool closed_ = false;
};

}  // namespace sluice
