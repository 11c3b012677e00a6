// The flows of one table that have one mask: a hash table from masked keys to
// chains of entries. The idea stands in classifier.h.
//
// Threads: Lookup and counts are the workers'; all else is the writer's.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "dataplane/classifier/entry.h"
#include "dataplane/classifier/garbage.h"
#include "dataplane/classifier/hash.h"
#include "dataplane/classifier/range_chain.h"
#include "dataplane/flow/match.h"
#include "dataplane/packet/key.h"

namespace sluice {

class ClassifierTable;

// Of a subtable that the mask index does not have.
inline constexpr uint32_t kNoSlot = std::numeric_limits<uint32_t>::max();

struct alignas(64) Bucket {
  static constexpr unsigned kSlots = 7;
  static constexpr int kOverflowShift = 56;

  // Byte i: the tag of slot i, 0 where it is free. The last byte: how many
  // chains went past this bucket; 255 is never lowered again.
  std::atomic<uint64_t> tags{0};
  std::array<std::atomic<ClassifierEntry*>, kSlots> heads{};  // left as they are where a slot is freed
};
static_assert(sizeof(Bucket) == 64);

struct alignas(64) BucketArray {
  struct Delete {
    void operator()(BucketArray* array) const;
  };
  static std::unique_ptr<BucketArray, Delete> New(uint64_t bucket_count);

  const uint64_t last;  // the number of buckets, a power of two, less one

  Bucket& operator[](uint64_t i) { return reinterpret_cast<Bucket*>(this + 1)[i]; }
  const Bucket& operator[](uint64_t i) const { return reinterpret_cast<const Bucket*>(this + 1)[i]; }
};

// Counts what only this thread writes.
inline void AddOwn(std::atomic<uint64_t>& counter, uint64_t more) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

class Subtable {
 public:
  struct alignas(64) Counts {
    std::atomic<uint64_t> lookups{0};  // packets
    std::atomic<uint64_t> hits{0};     // packets for which it had the winner
  };

 private:
  // What a lookup reads: a line, and a second for the first eight words' masks.
  alignas(64) std::atomic<BucketArray*> buckets_;
  std::unique_ptr<Counts[]> counts_;
  const HashKey hash_key_;
  const bool ranged_;
  uint8_t word_count_ = 0;  // of the value
  std::array<uint8_t, kKeyWords> word_index_{};
  alignas(64) std::array<uint64_t, kKeyWords> word_mask_{};

 public:
  Subtable(ClassifierTable& table, const PacketKey& mask, const HashKey& hash_key, unsigned worker_count);
  ~Subtable();

  // One packet's lookup in three steps, each of which asks for the lines that the
  // next reads: Aim; Likely, false if nothing can match; Visible, the entry of the
  // highest rank that matches at `version`, or null.
  struct Probe {
    const BucketArray* array;
    uint64_t hash;
  };
  void Prefetch() const;
  Probe Aim(const PacketKey& key) const;
  static bool Likely(const Probe& probe);
  const ClassifierEntry* Visible(const Probe& probe, const PacketKey& key, uint64_t version) const;
  // The same for the packets in `pending`; tells those for which an entry matches,
  // found[i].
  uint32_t Lookup(const PacketKey* keys, uint32_t pending, uint64_t version, const ClassifierEntry** found) const;

  Counts& counts(unsigned worker) { return counts_[worker]; }

  const PacketKey& mask() const { return mask_; }
  // True if the flows have ranges of ports: all of them, and of the same ports.
  bool ranged() const { return ranged_; }
  // The words behind an entry: of the value, and of the ranges.
  unsigned word_count() const { return word_count_ + (ranged_ ? 1 : 0); }
  void Pack(const Match& match, uint64_t* words) const;
  Match Unpack(const uint64_t* words) const;

  // Adds the entries that match a packet and that nothing has removed, by descending rank.
  void AddMatching(const PacketKey& key, std::vector<const ClassifierEntry*>& entries) const;
  // The entry with this match and priority that nothing has removed, or null.
  ClassifierEntry* FindAlive(const Match& match, uint16_t priority) const;
  void Link(ClassifierEntry* entry, Garbage& garbage);
  void Unlink(ClassifierEntry* entry, Garbage& garbage);
  uint64_t linked() const { return linked_; }
  // Brings indexes of long chains in line with what was linked and unlinked.
  // Before the version is published, and before that waste is taken.
  void PublishIndexes(Garbage& garbage);

  // Calls fn(entry) for every entry.
  template <typename Fn>
  void ForEachLinked(Fn fn) const;
  // For those that nothing has removed.
  template <typename Fn>
  void ForEachAlive(Fn fn) const {
    ForEachLinked([&fn](const ClassifierEntry& entry) {
      if (entry.Alive()) fn(entry);
    });
  }

  // The table's notes.
  struct Standing {
    ClassifierTable& table;
    uint64_t flow_count = 0;            // what the writer has not removed
    absl::btree_set<uint64_t> ranks{};  // of the flows that versions in use may have
    std::optional<uint64_t> bound{};    // as last published; none: not in the array
    bool unsettled = false;             // ranks may have changed since
    uint32_t slot = kNoSlot;            // in the mask index
    uint64_t use = 0;                   // hits between the last two re-sorts
    uint64_t hits_then = 0;             // at the last of them
  };
  Standing standing;

 private:
  struct Place {
    uint64_t bucket;
    unsigned slot;
  };

  uint64_t HashOf(const PacketKey& key) const;
  uint64_t HashOfWords(const uint64_t* words) const;
  bool SameKey(const PacketKey& key, const ClassifierEntry& entry) const;
  PortRanges RangesOf(const uint64_t* words) const;
  const ClassifierEntry* FirstInRange(const ClassifierEntry* entry, const PacketKey& key, uint64_t version) const;
  const ClassifierEntry* Find(const BucketArray& array, uint64_t hash, const PacketKey& key) const;
  std::optional<Place> PlaceOf(uint64_t hash, const uint64_t* words) const;
  void RemoveHead(const Place& place, uint64_t hash);
  void IndexIfLong(std::atomic<ClassifierEntry*>& head);
  void Resize(uint64_t bucket_count, Garbage& garbage);

  // The writer's.
  const PacketKey mask_;
  uint64_t chains_ = 0;
  uint64_t linked_ = 0;  // entries
  absl::flat_hash_map<const RangeChain*, std::unique_ptr<RangeChain>> range_chains_;
  std::vector<RangeChain*> changed_chains_;  // since PublishIndexes
};

template <typename Fn>
void Subtable::ForEachLinked(Fn fn) const {
  const BucketArray& array = *buckets_.load(std::memory_order_relaxed);
  for (uint64_t i = 0; i <= array.last; ++i) {
    const uint64_t tags = array[i].tags.load(std::memory_order_relaxed);
    for (unsigned slot = 0; slot < Bucket::kSlots; ++slot) {
      if ((tags >> (8 * slot) & 0xff) == 0) continue;
      for (const ClassifierEntry* entry = array[i].heads[slot].load(std::memory_order_relaxed); entry != nullptr;
           entry = entry->next.load(std::memory_order_relaxed)) {
        fn(*entry);
      }
    }
  }
}

}  // namespace sluice
