// The writer's half of the flow table: what flows there are, and the small steps
// that batches are made of.
//
// A step prepares the version to come: no packet sees it before Publish. Each
// has its undo; steps are undone in reverse order and leave nothing but skipped
// ids. A removed entry stays linked until Unlink, a grace period after Publish;
// what is unlinked or unpublished gathers as waste, which may be freed a grace
// period after it is taken.
//
// Threads: all under the flow table's lock.

#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/classifier/classifier.h"
#include "dataplane/classifier/garbage.h"
#include "dataplane/classifier/hash.h"
#include "dataplane/classifier/options.h"
#include "dataplane/classifier/subtable.h"
#include "dataplane/classifier/table.h"
#include "dataplane/flow/action_store.h"
#include "dataplane/flow/flow.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/flow/flow_timers.h"
#include "dataplane/flow/slab.h"
#include "dataplane/flow/statistics.h"

namespace sluice {

// An entry that a version has removed.
struct Retired {
  ClassifierEntry* entry;
  bool flow_gone;  // with it its flow
  uint32_t item;   // of the batch
  FlowRemoval reason = FlowRemoval::kDelete;
};

// Entries come in as many sizes, by 32 bytes.
inline constexpr size_t kEntrySizes = 9;

// Flows and entries that no version leads to any more. Workers may still stand on
// them, and flow caches remember them until the horizon passes.
struct Waste {
  uint64_t version = 0;                                            // removed by this one at the latest
  std::array<std::vector<ClassifierEntry*>, kEntrySizes> entries;  // by size
  std::vector<Flow*> flows;

  bool empty() const;
};

class FlowStore {
 public:
  FlowStore(unsigned worker_count, const FlowTableLimits& limits, const HashKey& hash_key,
            const ClassifierOptions& options, FlowTime now);
  // No worker may be online; nothing may be retired and not freed.
  ~FlowStore();

  Classifier& classifier() { return classifier_; }
  const FlowTableLimits& limits() const { return limits_; }
  CounterPools& pools() { return pools_; }
  FlowTimers& timers() { return timers_; }

  Flow* Find(const FlowIdentity& identity) const;
  // NOT_FOUND says what there is not.
  absl::StatusOr<Flow*> Resolve(const FlowKey& key) const;
  // Of the flows of this priority that could match a packet together with
  // `match`, the oldest; or null.
  Flow* FindOverlap(const FlowIdentity& identity) const;
  // RESOURCE_EXHAUSTED if one more flow is too many, naming the limit.
  absl::Status RoomFor(uint8_t table_id, const PacketKey& mask) const;

  Flow& Add(const FlowSpec& spec, FlowTime now);
  void UndoAdd(Flow& flow);
  // Gives the flow a new entry with these actions; returns the old.
  ClassifierEntry* Replace(Flow& flow, std::span<const Action> actions);
  void UndoReplace(Flow& flow, ClassifierEntry* old);
  void Remove(Flow& flow);
  void UndoRemove(Flow& flow);
  // Makes the steps since the last time visible.
  void Publish();
  // After masks have gone: publishes what flows still look at.
  void ShrinkInterest();
  // Tidies up after steps that were undone, or after Unlink.
  void Settle();

  const ClassifierOptions& options() const { return options_; }
  // Both between batches; what they replace is waste.
  void SetOptions(const ClassifierOptions& options);
  void Resort();

  // A grace period after the version that removed it.
  void Unlink(const Retired& retired);
  // What may be freed a grace period after it was taken.
  Garbage TakeGarbage() { return std::exchange(garbage_, {}); }
  // What may be freed a grace period after the horizon has passed its version.
  Waste TakeWaste();
  void Free(const Waste& waste);

  uint64_t next_id() const { return next_id_; }
  const absl::btree_map<uint64_t, Flow*>& flows() const { return flows_; }  // by id
  void Describe(const Flow& flow, FlowInfo& info) const;
  // Null where there is none.
  const ClassifierTable* table(uint8_t id) const { return in_use_[id] ? tables_[id].get() : nullptr; }
  TableInfo Info(uint8_t table_id) const;
  FlowExplanation Explain(uint8_t table_id, const PacketKey& key) const;
  void SetMissPolicy(uint8_t table_id, MissPolicy policy);

 private:
  ClassifierTable& ObtainTable(uint8_t id);
  void Use(ClassifierTable& table);
  ClassifierEntry* NewEntry(Flow& flow, uint64_t rank, std::span<const Action> actions);
  void LinkEntry(ClassifierEntry* entry);
  void DropEntry(ClassifierEntry* entry);
  void UnlinkEntry(ClassifierEntry* entry);
  void FreeEntry(ClassifierEntry* entry, size_t size);
  void FreeFlow(Flow* flow);
  void Touch(Subtable& subtable);
  void PublishInterest();

  const FlowTableLimits limits_;
  const HashKey hash_key_;
  ClassifierOptions options_;
  CounterPools pools_;
  FlowTimers timers_;
  ActionStore actions_;
  Slab flow_slab_;
  std::array<std::unique_ptr<Slab>, kEntrySizes> entry_slabs_;

  Classifier classifier_;
  std::array<std::unique_ptr<ClassifierTable>, 256> tables_;
  std::bitset<256> in_use_;  // what the classifier knows
  absl::btree_map<uint64_t, Flow*> flows_;
  uint64_t version_;  // the one to come
  uint64_t next_id_ = 1;
  uint64_t next_sequence_ = 0;
  std::vector<Subtable*> touched_;
  PacketKey looked_at_{};  // by flows, the version to come included
  bool masks_have_gone_ = false;
  Garbage garbage_;
  Waste waste_;
};

}  // namespace sluice
