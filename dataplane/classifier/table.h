// One table's masks, in the order in which a lookup tries them.
//
// The writer keeps the order in a sorted set and publishes it as an array
// without holes, once a batch and only if it changed. Threads: Lookup is the
// workers'; all else is the writer's.
//
// The order. Where the oldest of equal priority wins, it is by bound, the highest
// rank: a packet whose winner has rank r must be tried under every mask with a
// bound above r, whatever the order, and by bound it is tried under no other. So
// usage has no say. Where any may win, it is by highest priority and, among
// equals, by the hits between the last two re-sorts: a packet that has a flow of
// the next mask's highest priority is done.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "dataplane/classifier/entry.h"
#include "dataplane/classifier/garbage.h"
#include "dataplane/classifier/hash.h"
#include "dataplane/classifier/mask_array.h"
#include "dataplane/classifier/mask_index.h"
#include "dataplane/classifier/options.h"
#include "dataplane/classifier/subtable.h"
#include "dataplane/packet/key.h"

namespace sluice {

struct MaskInfo;
struct TableInfo;

class ClassifierTable {
 public:
  ClassifierTable(uint8_t id, const HashKey& hash_key, unsigned worker_count, const ClassifierOptions& options);
  ~ClassifierTable();

  // n from 1 to kBatch; entries[i] is null before.
  void Lookup(unsigned worker, uint64_t version, const PacketKey* keys, unsigned n, const ClassifierEntry** entries);

  void CountRemembered(unsigned worker, uint64_t lookups, uint64_t matches);

  uint8_t id() const { return id_; }
  Subtable* Find(const PacketKey& mask) const;
  // The mask's subtable, made if there is none.
  Subtable& Obtain(const PacketKey& mask);

  // Links an entry of the subtable, or unlinks it.
  void Link(Subtable& subtable, ClassifierEntry* entry, Garbage& garbage);
  void Unlink(Subtable& subtable, ClassifierEntry* entry, Garbage& garbage);

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

  // Both publish.
  void SetOptions(const ClassifierOptions& options, Garbage& garbage);
  // Orders by what was used since the last time; gives the index slots in order.
  void Resort(Garbage& garbage);

  TableInfo Info() const;
  // In the order of lookups; those that have flows.
  std::vector<MaskInfo> Masks() const;
  // The entries that match a packet: the winner first, then by descending rank; and
  // the masks that a lookup tries for it.
  struct Explanation {
    std::vector<const ClassifierEntry*> entries;
    std::vector<PacketKey> masks;
  };
  Explanation Explain(const PacketKey& key) const;
  // In any order, those of the batch in hand too.
  void ForEachSubtable(const std::function<void(const Subtable&)>& fn) const;

 private:
  struct alignas(64) Counts {
    std::atomic<uint64_t> lookups{0};
    std::atomic<uint64_t> matches{0};
    std::atomic<uint64_t> masks_visited{0};
    std::atomic<uint64_t> mask_cache_hits{0};
    std::atomic<uint64_t> pruned_lookups{0};
  };
  struct MaskHash {
    size_t operator()(const PacketKey& mask) const;
  };
  // The bound that a walk compares, the use, the exact bound, the subtable.
  using Place = std::tuple<uint64_t, uint64_t, uint64_t, Subtable*>;

  void Publish(Garbage& garbage);
  Place PlaceOf(Subtable& subtable) const;
  uint64_t HitsOf(Subtable& subtable) const;
  uint64_t Lookups() const;
  bool WantsIndex() const;
  bool WantsNewSlots() const;
  void BuildIndex(Garbage& garbage);
  void DropIndex(Garbage& garbage);
  void GiveSlot(Subtable& subtable, Garbage& garbage);
  void AddPruning(MaskArray& masks, Garbage& garbage);

  // What workers read.
  std::atomic<const MaskArray*> masks_;
  const std::unique_ptr<Counts[]> counts_;

  // The writer's.
  const uint8_t id_;
  const HashKey hash_key_;
  const unsigned worker_count_;
  ClassifierOptions options_{};
  uint64_t flow_count_ = 0;
  uint32_t mask_count_ = 0;
  absl::flat_hash_map<PacketKey, std::unique_ptr<Subtable>, MaskHash> subtables_;
  absl::btree_set<Place, std::greater<>> order_;
  bool order_changed_ = false;
  std::unique_ptr<MaskIndex> index_;
  bool index_is_full_ = false;     // a mask got no slot
  uint64_t lookups_at_build_ = 0;  // of the index
  std::unique_ptr<MaskCache> cache_;
};

}  // namespace sluice
