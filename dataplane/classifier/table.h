// One table's masks, in the order in which a lookup tries them.
//
// The writer keeps the order in a sorted set and publishes it as an array
// without holes, once a batch and only if it changed. Threads: Lookup is the
// workers'; all else is the writer's.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "dataplane/classifier/entry.h"
#include "dataplane/classifier/garbage.h"
#include "dataplane/classifier/hash.h"
#include "dataplane/classifier/subtable.h"
#include "dataplane/packet/key.h"

namespace sluice {

struct MaskInfo;
struct TableInfo;

class ClassifierTable {
 public:
  ClassifierTable(uint8_t id, const HashKey& hash_key, unsigned worker_count);
  ~ClassifierTable();

  // n from 1 to kBatch; entries[i] is null before.
  void Lookup(unsigned worker, uint64_t version, const PacketKey* keys, unsigned n, const ClassifierEntry** entries);

  void CountRemembered(unsigned worker, uint64_t lookups, uint64_t matches);

  uint8_t id() const { return id_; }
  Subtable* Find(const PacketKey& mask) const;
  // The mask's subtable, made if there is none.
  Subtable& Obtain(const PacketKey& mask);

  // Counts a flow in or out, as the writer sees the table.
  void CountFlow(Subtable& subtable);
  void UncountFlow(Subtable& subtable);
  uint64_t flow_count() const { return flow_count_; }
  uint32_t mask_count() const { return mask_count_; }  // of masks that have flows

  // Brings the subtable's place in the order in line with its ranks. One that is
  // empty goes.
  void Settle(Subtable& subtable, Garbage& garbage);
  // Publishes the order if it changed.
  void PublishOrder(Garbage& garbage);

  TableInfo Info() const;
  // In the order of lookups; those that have flows.
  std::vector<MaskInfo> Masks() const;
  // In any order, those of the batch in hand too.
  void ForEachSubtable(const std::function<void(const Subtable&)>& fn) const;

 private:
  struct MaskItem {
    uint64_t bound;
    Subtable* subtable;
  };
  using MaskArray = std::vector<MaskItem>;
  struct alignas(64) Counts {
    std::atomic<uint64_t> lookups{0};
    std::atomic<uint64_t> matches{0};
    std::atomic<uint64_t> masks_visited{0};
  };
  struct MaskHash {
    size_t operator()(const PacketKey& mask) const;
  };

  // What workers read.
  std::atomic<const MaskArray*> masks_;
  const std::unique_ptr<Counts[]> counts_;

  // The writer's.
  const uint8_t id_;
  const HashKey hash_key_;
  const unsigned worker_count_;
  uint64_t flow_count_ = 0;
  uint32_t mask_count_ = 0;
  absl::flat_hash_map<PacketKey, std::unique_ptr<Subtable>, MaskHash> subtables_;
  absl::btree_set<std::pair<uint64_t, Subtable*>, std::greater<>> order_;  // by descending bound
  bool order_changed_ = false;
};

}  // namespace sluice
