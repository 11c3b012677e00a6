// A packet's way through the tables, for flows that do more than switch or route.
//
// From table 0 on: the flow's actions in their order (execute.h), then the table
// that its goto_table names; in the end the action set that was gathered. A later
// table sees the packet as it then is: a frame that was rewritten is parsed
// again, so that what a flow matches is what a port would get, also where an
// action uncovers a header that was out of sight. Each table's answer comes from
// the flow cache like the first one's: what is remembered is an answer a table
// and not a walk, so it does not matter how packets came there, and a rewrite
// invalidates nothing. A packet that no flow matches does what its table's miss
// policy says.
//
// Packet after packet, in the order of arrival; so is what they send.
//
// One a worker, used by that worker only.

#pragma once

#include <cstdint>

#include "dataplane/worker/burst.h"
#include "dataplane/worker/capture_tap.h"
#include "dataplane/worker/execute.h"
#include "dataplane/worker/flow_hits.h"
#include "dataplane/worker/snapshot.h"
#include "dataplane/worker/table_lookup.h"

namespace sluice {

class Pipeline {
 public:
  // All outlive it.
  Pipeline(Classifier& classifier, TableLookup& lookup, Executor& executor, FlowCounting& hits, CaptureTap& tap)
      : classifier_(classifier), lookup_(lookup), executor_(executor), hits_(hits), tap_(tap) {}

  // Carries out a list on packet i of the burst, which no flow gave, and leads it on
  // through the tables if a goto_table ends the list; then as Run. Says what became of it.
  struct Fate {
    bool forwarded;
    DropReason cause;
  };
  Fate Inject(const Snapshot& snapshot, const TableView& view, uint8_t ingress, std::span<const Action> list,
              Burst& burst, unsigned i);

  // Takes packet i of the burst, received on snapshot.ports[ingress], whose entry of the first table is known and
  // counted.
  void Run(const Snapshot& snapshot, const TableView& view, uint8_t ingress, Burst& burst, unsigned i);

 private:
  void Walk(const TableView& view, PacketInHand& packet);
  void Enter(const TableView& view, uint8_t table_id, PacketInHand& packet);
  void End(PacketInHand& packet, Burst& burst);
  uint8_t AfterMiss(PacketInHand& packet);

  Classifier& classifier_;
  TableLookup& lookup_;
  Executor& executor_;
  FlowCounting& hits_;
  CaptureTap& tap_;
};

}  // namespace sluice
