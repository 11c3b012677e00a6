// Why a packet hits the flow that it hits: what a lookup in one table comes past.

#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/flow/flow_table.h"
#include "dataplane/packet/key.h"

namespace sluice {

struct ClassifierEntry;

struct FlowExplanation {
  MissPolicy miss_policy = MissPolicy::kDrop;  // of the table
  // Null: no flow matches. Valid as long as no flow changes.
  const ClassifierEntry* winner = nullptr;
  // All that match: the winner, then those that it beats by descending rank.
  std::vector<FlowInfo> flows{};
  // The masks that the lookup tries, in their order; without those that the pruning
  // index rules out, and those behind the point where nothing could be better.
  std::vector<PacketKey> masks{};
};

}  // namespace sluice
