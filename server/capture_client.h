// Somebody who captures packets: what waits for it.
//
// CaptureApi's thread puts packets in, the caller's stream takes them. The queue
// is bounded by bytes; what does not fit is counted. Any thread; a mutex stands
// among them, and nobody holds it for long.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "dataplane/dataplane.h"
#include "sluice/v1/capture_service.pb.h"

namespace sluice {

class CaptureClient {
 public:
  // Bytes that wait, with what a packet takes up besides its own.
  static constexpr size_t kQueueBytes = 8 << 20;

  // `ready` is called when there is something to take, from the API's thread.
  CaptureClient(std::shared_ptr<const Capture> capture, std::function<void()> ready)
      : capture_(std::move(capture)), ready_(std::move(ready)) {}

  const Capture& capture() const { return *capture_; }

  // Queues the packet. False: there is no room for it, which is counted.
  bool Queue(v1::CapturedPacket packet);
  // After a round of Queue.
  void Notify();
  // Ends the call once nothing waits any more. Only the first counts.
  void Close(const absl::Status& status);

  // Takes what waits, up to a message's worth, or new counts alone; the first time also nothing, which tells the caller
  // that it has begun. False: there is nothing new.
  bool Take(v1::CaptureResponse& out);
  // How the call ends; none: it does not yet.
  std::optional<absl::Status> ended() const;
  // Packets for which the queue had no room.
  uint64_t missed() const;

 private:
  const std::shared_ptr<const Capture> capture_;
  const std::function<void()> ready_;

  mutable std::mutex mutex_;  // guards what follows
  std::deque<v1::CapturedPacket> queue_;
  size_t bytes_ = 0;  // of queue_
  uint64_t missed_ = 0;
  uint64_t told_ = 0;   // of all that were missed: what the caller knows
  bool begun_ = false;  // the caller knows
  std::optional<absl::Status> end_;
};

}  // namespace sluice
