// Carries out actions on a packet.
//
// Lists run in their order up to the last action that anybody could see the
// effect of. Every output but the last sends a copy of the packet as it is then.
// A packet with an output is forwarded, even if the copy is lost at the port; else
// it is dropped for the first cause met, or as action_drop if its actions have
// no output at all.
//
// Groups and meters are looked up when they are carried out (execute_group.cc), so that their changes take effect
// at once. What a bucket does, it does to a copy, unless it changes nothing or nobody needs the packet any more.
//
// One a worker, used by that worker only.

#pragma once

#include <cstdint>
#include <span>

#include "dataplane/flow/action.h"
#include "dataplane/flow/action_store.h"
#include "dataplane/flow/mac_table.h"
#include "dataplane/flow/published_map.h"
#include "dataplane/flow/punt_ring.h"
#include "dataplane/group/group.h"
#include "dataplane/meter/meter.h"
#include "dataplane/packet/rewrite.h"
#include "dataplane/worker/action_set.h"
#include "dataplane/worker/burst.h"
#include "dataplane/worker/clock.h"
#include "dataplane/worker/packet_in_hand.h"
#include "dataplane/worker/snapshot.h"
#include "dataplane/worker/transmit.h"

namespace sluice {

// What all workers look up when an action names it. Outlives them.
struct SharedTables {
  const PublishedMap<Group>& groups;
  const PublishedMap<Meter>& meters;
  MacTable& macs;
};

class Executor {
 public:
  // All outlive it.
  Executor(unsigned worker, rte_mempool* pool, Transmitter& transmitter, const SharedTables& tables, WorkerClock& clock,
           WorkerCounters& counters)
      : Executor(false, worker, pool, transmitter, tables, clock, counters, PuntRing::kDefaultBytes) {}
  // One that only rehearses: it counts nothing at groups, meters let everything
  // pass, nothing is learned, and what controllers would get is only counted.
  static Executor Rehearsing(rte_mempool* pool, Transmitter& transmitter, const SharedTables& tables,
                             WorkerClock& clock, WorkerCounters& counters) {
    return Executor(true, 0, pool, transmitter, tables, clock, counters, kNoPunts);
  }

  // For a list whose header says all there is to do: takes packets i to end - 1 of
  // the burst, received on snapshot.ports[ingress], and returns true.
  bool RunSimple(const Snapshot& snapshot, uint8_t ingress, const StoredActions& list, Burst& burst, unsigned i,
                 unsigned end) {
    const uint8_t port = snapshot.IndexOf(list.only_port);
    if (port == Snapshot::kNoPort || port == ingress) [[unlikely]]
      return false;
    const bool rewrites = list.rewrites;
    const PortView& view = snapshot.ports[port];
    for (; i < end; ++i) {
      if (rewrites && !Rewrite(list, burst, i)) continue;
      transmitter_.Send(view, port, burst.mbufs[i], burst.layouts[i].vlan_tags);
      ++burst.totals.forwarded;
    }
    return true;
  }

  // Of each packet that is carried by the functions below, first.
  void Begin() { set_.Clear(); }
  // Carries out a flow's list. Returns the table to go to, 0: none; then, or if the
  // packet's way has ended, it may be gone.
  uint8_t Carry(PacketInHand& packet, std::span<const Action> list);
  // Carries out what was put into the packet's action set: at the end of its way, also where a TTL ended that.
  void CarrySet(PacketInHand& packet);

  // The same in steps. How many actions of a list have an effect, the first so many:
  size_t Needed(std::span<const Action> list) const;
  // One of these. Returns the table to go to, 0: none. `last`: the packet is not needed afterwards.
  uint8_t Step(PacketInHand& packet, const Action& action, bool last);
  // What there is to do at the end, in order; none for a packet that is lost.
  std::span<const Action* const> TakeSet(PacketInHand& packet);
  void Do(PacketInHand& packet, const Action& action, bool last);

  // Brings the packet's key in line with its bytes.
  void Refresh(PacketInHand& packet);
  // What a table does with a packet that none of its flows matches. Returns as Carry.
  uint8_t Miss(PacketInHand& packet, MissPolicy policy);
  // Queues a copy of up to max_len bytes for controllers.
  void Punt(PacketInHand& packet, PuntReason reason, uint32_t max_len);
  PuntRing& punts() { return punts_; }

 private:
  static constexpr size_t kNoPunts = 64;

  Executor(bool rehearses, unsigned worker, rte_mempool* pool, Transmitter& transmitter, const SharedTables& tables,
           WorkerClock& clock, WorkerCounters& counters, size_t punt_bytes)
      : rehearses_(rehearses),
        worker_(worker),
        pool_(pool),
        transmitter_(transmitter),
        tables_(tables),
        clock_(clock),
        counters_(counters),
        punts_(punt_bytes) {}

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
  void Change(PacketInHand& packet, const Action& action);
  void ChangeFrame(PacketInHand& packet, const Action& action);
  void Set(PacketInHand& packet, Field field, absl::uint128 value, absl::uint128 mask);
  void Move(PacketInHand& packet, const Action& action);
  template <typename Push>
  void PushWith(PacketInHand& packet, Push push);
  void Output(PacketInHand& packet, const Action& action, bool last);
  void OutputTo(PacketInHand& packet, uint32_t number, bool last);
  void OutputInPort(PacketInHand& packet, bool last);
  void OutputField(PacketInHand& packet, const Action& action, bool last);
  void OutputAll(PacketInHand& packet, bool last);
  void OutputNormal(PacketInHand& packet, bool last);
  void Send(PacketInHand& packet, uint8_t port, bool last);
  void RunGroup(PacketInHand& packet, uint32_t id, bool last);
  void RunBucket(PacketInHand& packet, const Group::Bucket& bucket, bool last);
  void RunInOrder(PacketInHand& packet, const ActionList& actions, bool last);
  bool IsLive(const Snapshot& snapshot, const Group::Bucket& bucket) const;
  const Group::Bucket* Choose(PacketInHand& packet, const Group& group);
  void Police(PacketInHand& packet, uint32_t id);

  const bool rehearses_;
  const unsigned worker_;
  rte_mempool* const pool_;
  Transmitter& transmitter_;
  const SharedTables tables_;
  WorkerClock& clock_;
  WorkerCounters& counters_;
  PuntRing punts_;
  ActionSet set_;
};

}  // namespace sluice
