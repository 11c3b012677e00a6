// Why a packet hits the flow that it hits: what a lookup in one table comes past.

#pragma once

#include <cstddef>
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
  // The first of all that match: the winner, then those that it beats by descending rank.
  static constexpr size_t kMostFlows = 1000;
  std::vector<FlowInfo> flows{};
  size_t left_out = 0;  // others that match
  // The masks that the lookup tries, in their order; without those that the pruning
  // index rules out, and those behind the point where nothing could be better.
  std::vector<PacketKey> masks{};
};

}  // namespace sluice
