// A packet on its way through the tables: what has become of it so far.
//
// Lives on a worker's stack while its actions are carried out.

#pragma once

#include <cstdint>

#include "dataplane/flow/punt_ring.h"
#include "dataplane/packet/frame.h"
#include "dataplane/packet/key.h"
#include "dataplane/worker/snapshot.h"

struct rte_mbuf;

namespace sluice {

struct ClassifierEntry;

struct PacketInHand {
  const Snapshot& snapshot;
  const uint8_t ingress;  // index into the snapshot's ports
  rte_mbuf* mbuf;         // null: sent
  HeaderLayout layout;
  PacketKey& key;        // of the frame as it was when last parsed; metadata and registers as they are
  const uint32_t bytes;  // as received
  uint8_t table_id = 0;
  const ClassifierEntry* entry = nullptr;  // of the flow whose actions are carried out; null: the table has none
  bool rewritten = false;                  // since it was last parsed
  bool noted = false;                      // metadata or registers were written
  bool forwarded = false;
  bool ended = false;  // no further action is carried out, but for the action set if it is not lost
  bool lost = false;   // for want of a buffer, by a meter: nothing more is done
  bool has_cause = false;
  PuntReason punt_reason = PuntReason::kAction;  // why a controller gets it, if one does now
  DropReason cause = DropReason::kActionDrop;

  // The first cause met is the one that counts.
  void NotSent(DropReason reason) {
    if (has_cause) return;
    has_cause = true;
    cause = reason;
  }
  void End(DropReason reason) {
    NotSent(reason);
    ended = true;
  }
  void Lose(DropReason reason) {
    End(reason);
    lost = true;
  }
};

}  // namespace sluice
