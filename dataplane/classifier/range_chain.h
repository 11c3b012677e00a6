// A chain of entries with ranges of ports that is too long to be walked.
//
// It takes the place of the chain's first entry in the bucket and leads the
// chain: as an entry it has the masked key and is never visible, so that whoever
// walks passes over it. Who finds it, finds the chain's index.
//
// The index follows the chain with a delay. Entries are linked and unlinked at
// once, and the index is made anew by Publish, before the version for which they
// were linked and before what was unlinked is handed over as waste. So an index
// has all entries of the versions that were published before it, and those of
// its entries that the chain no longer has are there until a grace period after
// the next index: a worker reads the version, then the index, and lacks nothing.
// Only blocks that changed are built; the rest are shared with the index before.
//
// Threads: First is the workers'; all else is the writer's.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "dataplane/classifier/entry.h"
#include "dataplane/classifier/garbage.h"
#include "dataplane/classifier/range_index.h"
#include "dataplane/flow/port_range.h"
#include "dataplane/packet/key.h"

namespace sluice {

class RangeChain : public ClassifierEntry {
 public:
  // Leads the chain that begins with `first`, whose entries have so many words
  // before that of their ranges. To be put into its place.
  RangeChain(ClassifierEntry* first, unsigned word_count);
  ~RangeChain() { delete index_.load(std::memory_order_relaxed); }

  // Null if the entry is one of a flow.
  static const RangeChain* From(const ClassifierEntry* entry) {
    return entry->flow() == nullptr ? static_cast<const RangeChain*>(entry) : nullptr;
  }
  static RangeChain* From(ClassifierEntry* entry) {
    return entry->flow() == nullptr ? static_cast<RangeChain*>(entry) : nullptr;
  }

  // The entry of the highest rank that contains the ports and is visible, or null.
  const ClassifierEntry* First(Ports ports, uint64_t version) const {
    return index_.load(std::memory_order_acquire)->First(ports, version);
  }

  ClassifierEntry* FindAlive(const PortRanges& ranges, uint16_t priority) const;
  void Link(ClassifierEntry* entry);
  void Unlink(ClassifierEntry* entry);
  // Nothing may be linked to an empty one.
  bool empty() const { return blocks_.empty(); }
  void Publish(Garbage& garbage);
  // Notes that Publish has something to do; false if that was noted already.
  bool Note() { return !std::exchange(unpublished_, true); }

 private:
  struct Block {
    std::vector<ClassifierEntry*> entries{};  // never none
    std::unique_ptr<const RangeBlock> built{};
    bool changed = true;
  };
  struct Place {
    size_t block;
    size_t at;
  };
  // What a flow is found by; several entries of one flow may have the same.
  using Name = std::tuple<uint16_t, uint64_t, ClassifierEntry*>;

  Name NameOf(ClassifierEntry* entry) const;
  size_t BlockOf(uint64_t its_rank) const;
  ClassifierEntry* Before(Place place);
  void Insert(ClassifierEntry* entry, Place place);
  void Split(Place place);
  void MergeWithNext(size_t i);
  void Erase(size_t i);
  std::unique_ptr<const RangeBlock> Build(const Block& block) const;

  std::array<uint64_t, kKeyWords> key_{};  // where entries have their words
  std::atomic<const RangeIndex*> index_{nullptr};

  // The writer's.
  const unsigned word_count_;
  bool unpublished_ = false;
  std::vector<Block> blocks_;  // by descending rank, the newest of a rank first
  absl::btree_set<Name> names_;
  std::vector<std::unique_ptr<const RangeBlock>> dropped_;  // the published index may still have them
};

}  // namespace sluice
