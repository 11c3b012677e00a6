// What is wrong with a set of flows that a switch would take without a word:
//
// - A shadowed flow never wins: one flow that beats it (a higher priority, or the
//   same and older) matches all that it matches. Several flows that only together
//   match all of it are not found; that would take exponential time.
// - An overlap: two flows of a table with one priority and a packet that both
//   match, so that their age decides. Not listed where one shadows the other.
// - An unreachable table holds flows, but neither a goto_table of a flow that can
//   win nor a miss policy leads there from table 0.
//
// Flows are kept by the bits that they look at, as a switch keeps them: for each two
// such sets of bits within a table (and, for overlaps, a priority) one is looked up in the other by the
// bits they share, so thousands of flows take as many lookups as there are other sets and not as
// many as there are other flows. Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sluice/v1/flow.pb.h"
#include "sluice/v1/table_service.pb.h"

namespace sluice::client {

enum class LintKind { kShadowed, kOverlap, kUnreachable };
// "shadowed", "overlap", "unreachable".
const char* LintKindName(LintKind kind);

struct LintFinding {
  LintKind kind;
  // Indices of the flows: the one shadowed and the highest that shadows it; the older and the younger
  // that overlap; of an unreachable table its first flow, twice.
  size_t flow;
  size_t other;
  uint32_t table_id;
};

struct LintResult {
  std::vector<LintFinding> findings;  // shadowed flows, overlaps, tables; each by ascending `flow`
  bool complete = true;               // false: there are more overlaps than asked for
};

// Flows in the order of their age, the oldest first, as a switch accepts them. `tables`: the miss
// policies; tables that it does not name drop. max_overlaps: how many to look for, 0: all.
LintResult LintFlows(std::span<const v1::FlowSpec> flows, std::span<const v1::Table> tables, size_t max_overlaps);

}  // namespace sluice::client
