// Packet capture: copies of packets as ports or a flow see them.
//
// Workers put copies into bounded rings of their own; a copy for which there is
// no room is counted as missed by its capture. Forwarding and counters are the
// same with and without captures.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "dataplane/flow/match.h"

namespace sluice {

enum class DropReason : uint8_t;

// Where a packet was seen.
enum class CapturePoint : uint8_t {
  kReceived,  // as the port received it
  kSent,      // as the port's device took it
  kDropped,   // where the switch dropped it
  kLost,      // where its port on the way out lost it
  kMatched,   // as a flow matched it, before the flow's actions
};

// Why a port lost a packet on its way out; each has a counter in PortStats.
enum class PortLoss : uint8_t { kDown, kMtu, kTxFull, kNoBuffers };
// As in the API, for example "tx_full".
const char* PortLossName(PortLoss loss);

// What is captured: what ports see, or what a flow matches.
struct CaptureSpec {
  uint32_t port = 0;  // 0: any
  bool received = true;
  bool sent = true;
  bool dropped = true;   // by the switch of what the port received, and by the port on the way out
  uint64_t flow_id = 0;  // not 0: the packets that this flow matches, of any port, and nothing else
  // Only packets that it matches as they are where they are seen. Of packets on their
  // way out it is not known where they came in: in_port is 0. Metadata and registers
  // are there as a flow matches, else 0.
  std::optional<Match> filter{};
  uint32_t snap_length = 0;  // bytes kept of each; 0: all
};

// A copy, without its bytes.
struct CapturedPacket {
  uint64_t capture_id = 0;
  int64_t time_unix_ns = 0;
  uint64_t flow_id = 0;  // of a capture of a flow
  uint32_t port = 0;     // that received or sent or lost it; dropped or matched: that received it; 0: none did
  uint32_t length = 0;   // of the whole packet, in bytes
  uint32_t kept = 0;     // of these, those that are here
  CapturePoint point = CapturePoint::kReceived;
  DropReason drop_reason{};         // if dropped
  PortLoss loss = PortLoss::kDown;  // if lost
};

// A capture that runs, or has ended by itself. Each worker counts in a place of its own; reading: any thread.
class Capture {
 public:
  Capture(uint64_t id, const CaptureSpec& spec, unsigned workers)
      : id_(id), spec_(spec), workers_(workers), missed_(std::make_unique<std::atomic<uint64_t>[]>(workers)) {}

  uint64_t id() const { return id_; }
  const CaptureSpec& spec() const { return spec_; }

  // Worker `worker` only.
  void CountMissed(unsigned worker) {
    missed_[worker].store(missed_[worker].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // Packets for which the rings had no room, so far.
  uint64_t missed() const {
    uint64_t sum = 0;
    for (unsigned i = 0; i < workers_; ++i) sum += missed_[i].load(std::memory_order_relaxed);
    return sum;
  }

  // It has ended, and no worker adds to it any more.
  bool over() const { return over_.load(std::memory_order_acquire); }
  void SetOver() { over_.store(true, std::memory_order_release); }

 private:
  const uint64_t id_;
  const CaptureSpec spec_;
  const unsigned workers_;
  const std::unique_ptr<std::atomic<uint64_t>[]> missed_;  // by worker
  std::atomic<bool> over_{false};
};

}  // namespace sluice
