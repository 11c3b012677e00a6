// A worker's side of captures: sees packets at each point where somebody may want
// a copy, and puts the copies into the worker's ring.
//
// Off unless the snapshot of the round has captures: then each place asks once a
// burst, or once for a packet that is dropped, goes through further tables or is
// lost at its port, and does no more. It changes no packet; of those that it may
// want it parses headers that are not in one piece from a copy.
//
// What a device does not take must not be reported as sent, and what it takes may
// be gone: Send puts copies aside, and Sent says how many of these count.
//
// One a worker, used by that worker only.

#pragma once

#include <array>
#include <cstdint>

#include "dataplane/capture.h"
#include "dataplane/classifier/classifier.h"
#include "dataplane/packet/key.h"
#include "dataplane/worker/clock.h"

struct rte_mbuf;

namespace sluice {

struct CapturePlan;

class CaptureTap {
 public:
  // The clock outlives it.
  CaptureTap(unsigned worker, WorkerClock& clock) : worker_(worker), clock_(clock) {}

  // A round's first. The plan outlives the round; null: nobody captures.
  void Begin(const CapturePlan* plan) { plan_ = plan; }
  bool on() const { return plan_ != nullptr; }

  // All that follows: only while it is on.
  // n <= kBatch frames, with all tags in their bytes; from now on these are what is dropped or matched.
  void Receive(uint32_t port, rte_mbuf* const* mbufs, unsigned n);
  // The same for a packet that no port received, but as if in_port had; 0: none.
  void Inject(uint32_t in_port) { in_port_ = in_port; }
  // The packet as the entry's flow has matched it; the key tells metadata and registers.
  void Match(const ClassifierEntry& entry, const rte_mbuf* mbuf, const PacketKey& key);
  void Drop(const rte_mbuf* mbuf, DropReason reason);
  void Lose(uint32_t port, const rte_mbuf* const* mbufs, unsigned n, PortLoss loss);
  // n <= kBatch frames that a device is about to get, and how many of them it took, the first so many.
  void Send(uint32_t port, rte_mbuf* const* mbufs, unsigned n);
  void Sent(unsigned n) { Commit(n); }

 private:
  // Where a packet is seen; the rest of its record is filled in when it is copied.
  struct Sight {
    CapturedPacket record;
    uint32_t in_port = 0;
    const PacketKey* key = nullptr;  // with the packet's metadata and registers; null: it has none
  };

  // A batch: frames numbered from 0 on, then Commit.
  void Note(Sight& sight, const rte_mbuf* mbuf, unsigned i);
  void Commit(unsigned n);
  bool Parse(const Sight& sight, const rte_mbuf* mbuf);
  bool Put(const Capture& capture, Sight& sight, const rte_mbuf* mbuf);
  CapturedPacket Now(CapturePoint point, uint32_t port);

  const unsigned worker_;
  WorkerClock& clock_;
  const CapturePlan* plan_ = nullptr;
  uint32_t in_port_ = 0;                   // of the burst
  PacketKey key_{};                        // of the packet that a filter looks at
  std::array<uint64_t, kBatch> ends_{};    // by frame: of what is reserved of the ring, after its copies
  std::array<uint64_t, kBatch> missed_{};  // by frame: bit i: the plan's captures[i] had no room for it
  uint64_t begin_ = 0;                     // of what the batch has reserved
};

}  // namespace sluice
