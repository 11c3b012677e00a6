// What becomes of one packet, step by step.

#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/flow/action.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/packet/key.h"

namespace sluice {

enum class DropReason : uint8_t;

using FrameBytes = std::vector<uint8_t>;

// A copy that left, or was lost at its port.
struct TracedOutput {
  enum class Fate { kSent, kDown, kMtu, kNoBuffers };

  uint32_t port = 0;
  Fate fate = Fate::kSent;
  FrameBytes frame{};  // without a fate of kSent empty
};

struct TracedAction {
  Action action;
  // False: nobody could see what it does, so it is not carried out.
  bool carried_out = true;
  FrameBytes after{};  // the packet behind it; empty where it is gone for good
  std::vector<TracedOutput> outputs{};
  bool to_controllers = false;  // a copy went to those that listen
};

struct TracedTable {
  uint8_t table_id = 0;
  PacketKey key;                 // the packet as it comes to the table
  std::vector<PacketKey> masks;  // that the lookup tried, in their order
  std::vector<FlowInfo> flows;   // that match: the winner, then those that it beats; none: a miss
  size_t flows_left_out = 0;     // beyond those
  MissPolicy miss_policy = MissPolicy::kDrop;
  std::vector<TracedAction> actions;  // of the winner; those put into the action set too
};

struct TraceResult {
  std::vector<TracedTable> tables;
  std::vector<TracedAction> action_set;  // in the order in which it is carried out
  bool forwarded = false;
  DropReason drop_reason{};  // if it was not
};

}  // namespace sluice
