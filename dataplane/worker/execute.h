// Carries out a flow's actions on a packet, and decides what became of it.
//
// Actions run in their order up to the last output; what follows has no effect
// that anybody could see. Every output but the last sends a copy of the packet
// as it is then. A packet with an output is forwarded, even if the copy is lost
// at the port; else it is dropped for the first cause met, or as action_drop if
// its actions have no output at all.
//
// One a worker, used by that worker only.

#pragma once

#include <cstdint>
#include <span>

#include "dataplane/flow/action.h"
#include "dataplane/flow/action_store.h"
#include "dataplane/packet/rewrite.h"
#include "dataplane/worker/burst.h"
#include "dataplane/worker/snapshot.h"
#include "dataplane/worker/transmit.h"

namespace sluice {

class Executor {
 public:
  Executor(rte_mempool* pool, Transmitter& transmitter) : pool_(pool), transmitter_(transmitter) {}

  // Takes packets i to end - 1 of the burst, received on snapshot.ports[ingress].
  void Run(const Snapshot& snapshot, uint8_t ingress, const StoredActions& list, Burst& burst, unsigned i,
           unsigned end) {
    const uint8_t port = snapshot.IndexOf(list.only_port);
    if (port == Snapshot::kNoPort || port == ingress) [[unlikely]] {
      for (; i < end; ++i) RunAll(snapshot, ingress, list.actions(), burst, i);
      return;
    }
    const bool rewrites = list.rewrites;
    const PortView& view = snapshot.ports[port];
    for (; i < end; ++i) {
      if (rewrites && !Rewrite(list, burst, i)) continue;
      transmitter_.Send(view, port, burst.mbufs[i], burst.layouts[i].vlan_tags);
      ++burst.totals.forwarded;
    }
  }

 private:
  struct Packet {
    const Snapshot& snapshot;
    uint8_t ingress;
    rte_mbuf* mbuf;
    HeaderLayout layout;
    bool forwarded = false;
    bool ended = false;  // by expiry or for want of a buffer
    bool has_cause = false;
    DropReason cause = DropReason::kActionDrop;

    void NotSent(DropReason reason);
  };

  // As the list's header says. False: the packet's time was over, and it is gone.
  static bool Rewrite(const StoredActions& list, Burst& burst, unsigned i) {
    Frame frame = FrameOf(burst.mbufs[i]);
    if (list.decrements_ttl && !DecrementTtl(frame, burst.layouts[i])) {
      burst.Drop(burst.mbufs[i], DropReason::kTtl);
      return false;
    }
    SetAddresses(frame, list.addresses);
    return true;
  }
  void RunAll(const Snapshot& snapshot, uint8_t ingress, std::span<const Action> actions, Burst& burst, unsigned i);
  void Apply(Packet& packet, const Action& action);
  void Push(Packet& packet, uint16_t tpid);
  void Output(Packet& packet, const Action& action, bool last);
  void OutputAll(Packet& packet, bool last);
  void Send(Packet& packet, uint8_t port, bool last);

  rte_mempool* const pool_;
  Transmitter& transmitter_;
};

}  // namespace sluice
