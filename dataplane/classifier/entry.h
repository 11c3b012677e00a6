// A flow as one span of the table's versions has it; what a lookup finds.
//
// Entries of one masked key form a chain by descending rank. All but `removed`
// and `next` is set before the entry is linked. The packed words of the value,
// those in which the mask has a bit, lie behind it; then, if the mask says so,
// a word with the ranges of ports.

#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>

#include "dataplane/flow/action.h"
#include "dataplane/flow/action_store.h"
#include "dataplane/flow/flow.h"

namespace sluice {

inline constexpr uint64_t kStays = std::numeric_limits<uint64_t>::max();

// Priority, then age: the higher rank wins. No two flows have the same.
inline constexpr int kSequenceBits = 48;
inline constexpr uint64_t kMaxSequence = (uint64_t{1} << kSequenceBits) - 1;
constexpr uint64_t RankOf(uint16_t priority, uint64_t sequence) {
  return uint64_t{priority} << kSequenceBits | (kMaxSequence - sequence);
}
constexpr uint16_t PriorityOf(uint64_t rank) { return static_cast<uint16_t>(rank >> kSequenceBits); }

struct ClassifierEntry {
  const uint64_t added;                   // the first version that has it
  std::atomic<uint64_t> removed{kStays};  // the first that no longer has it
  std::atomic<ClassifierEntry*> next{nullptr};
  const uint64_t rank;
  const StoredActions* const actions;

  ClassifierEntry(uint64_t added_in, uint64_t rank_of_flow, Flow* of, const StoredActions* list)
      : added(added_in), rank(rank_of_flow), actions(list), flow_(reinterpret_cast<uintptr_t>(of)) {}

  Flow* flow() const { return FlowIn(flow_.load(std::memory_order_relaxed)); }

  bool VisibleAt(uint64_t version) const {
    return added <= version && version < removed.load(std::memory_order_relaxed);
  }
  // The writer's: nothing has removed it yet.
  bool Alive() const { return removed.load(std::memory_order_relaxed) == kStays; }
  const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(this + 1); }
  uint64_t* words() { return reinterpret_cast<uint64_t*>(this + 1); }

  // Worker `worker` only: adds to the flow's counters. Once per flow and burst.
  void Count(unsigned worker, uint64_t packets, uint64_t bytes, int64_t now_unix_ns) const {
    const uint64_t flow_and_owner = flow_.load(std::memory_order_relaxed);
    Flow& flow = *FlowIn(flow_and_owner);
    if (flow_and_owner >> kAddressBits == worker + 1) {
      flow.counters.first.Add(packets, bytes, now_unix_ns);
    } else if (sluice::Count(flow.index, flow.counters, worker, packets, bytes, now_unix_ns)) {
      flow_.store(flow_and_owner | uint64_t{worker + 1} << kAddressBits, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr unsigned kAddressBits = 48;
  static Flow* FlowIn(uint64_t flow_and_owner) {
    return reinterpret_cast<Flow*>(flow_and_owner & ((uint64_t{1} << kAddressBits) - 1));
  }

  // Above the address: the worker that owns the flow's first slot, plus one, once it
  // has found that out. It alone writes that, and spares itself the flow's index.
  mutable std::atomic<uint64_t> flow_;
};
static_assert(sizeof(ClassifierEntry) == 48);

// The flow's actions.
inline std::span<const Action> ActionsOf(const ClassifierEntry& entry) { return entry.actions->actions(); }

}  // namespace sluice
