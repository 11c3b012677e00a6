// A flow as the table holds it, apart from what packets are compared with.
//
// Two cache lines. The first is read by workers and written by control threads,
// the second written by the worker that hits the flow most. Priority and age lie
// in the entry's rank, the match in its words and its subtable's mask.

#pragma once

#include <cstdint>

#include "dataplane/flow/statistics.h"

namespace sluice {

struct ClassifierEntry;
class Subtable;

struct alignas(64) Flow {
  [[no_unique_address]] CounterIndex index;
  uint32_t timer = 0;  // FlowTimers' name for it, in bytes that the index leaves; 0: none
  uint64_t id = 0;
  uint64_t cookie = 0;
  ClassifierEntry* entry = nullptr;  // as the writer last left it
  Subtable* subtable = nullptr;
  int64_t created_unix_ns = 0;
  CounterLine counters;
};
static_assert(sizeof(Flow) == 128);

}  // namespace sluice
