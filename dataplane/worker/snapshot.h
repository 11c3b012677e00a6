// What workers know of the ports: an immutable picture, replaced as a whole.
//
// A worker takes the pointer once a round and holds nothing of it at its next
// quiescent state; a snapshot is freed, and a port that is no longer in it
// closed, after the grace period that follows its replacement.
//
// A receive queue keeps its worker for life, so that no two workers ever poll
// it, whichever snapshots they hold. Transmit queue w belongs to worker w where a
// device has a queue for every worker; else queue 0 belongs to one of them, and
// the others put frames into a bounded ring that the owner empties every round.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/dataplane.h"
#include "dataplane/flow/action.h"
#include "dataplane/port/port.h"
#include "dataplane/worker/capture_plan.h"
#include "dataplane/worker/counters.h"

struct rte_ring;

namespace sluice {

struct FreeRing {
  void operator()(rte_ring* ring) const;
};

// A port from when it is added until the grace period after its removal.
struct AttachedPort {
  uint32_t number = 0;
  Port* port = nullptr;
  std::vector<unsigned> rx_workers;               // by receive queue
  std::unique_ptr<PortCounters[]> counters;       // by worker; one more for the control side
  std::unique_ptr<rte_ring, FreeRing> hand_over;  // only if the device has too few transmit queues
  unsigned tx_owner = 0;                          // then: the worker that transmits
  std::atomic<bool> link_up{true};                // as its owner said last
};

// A port as one snapshot has it.
struct PortView {
  static constexpr uint32_t kEthernetHeader = 14;

  AttachedPort* attached = nullptr;
  uint32_t plain_frame = 0;  // up to this length a frame fits whatever its tags; 0: the port is disabled
  uint32_t number = 0;
  uint32_t mtu = 0;
  uint32_t max_frame = 0;
  bool enabled = false;
  bool takes_segments = false;
};

struct Snapshot {
  static constexpr uint8_t kNoPort = 0xff;
  // The ingress of packets that no port received: a view without a port.
  static constexpr uint8_t kNoIngress = Dataplane::kMaxPorts;
  struct RxQueue {
    uint8_t port;  // index into ports
    uint16_t queue;
    int wake_fd;  // Port::WakeFd
  };

  uint64_t generation = 0;  // grows; never 0 in a snapshot that is published
  unsigned port_count = 0;
  uint32_t enabled = 0;                         // bit i: ports[i] is
  std::shared_ptr<const CapturePlan> captures;  // null: nobody captures
  std::array<PortView, Dataplane::kMaxPorts + 1> ports{};
  std::vector<std::vector<RxQueue>> polls;          // by worker
  std::vector<std::vector<uint8_t>> hand_overs;     // by worker: ports whose ring it empties
  std::array<uint8_t, kMaxPortNumber + 1> index{};  // by port number; kNoPort

  // kNoPort if there is none.
  uint8_t IndexOf(uint32_t number) const { return number <= kMaxPortNumber ? index[number] : kNoPort; }
};
static_assert(Dataplane::kMaxPorts <= 32, "Snapshot::enabled and the transmitter have a bit a port");

}  // namespace sluice
