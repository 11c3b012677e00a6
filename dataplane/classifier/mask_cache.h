// Which mask a packet's flow had last time: a hint, as the Linux kernel's
// datapath of Open vSwitch keeps it.
//
// A worker's entries are its own. One holds part of a key's hash and a place in
// the array of masks; a lookup tries that mask first. A place that is wrong, since
// the array is another by now or two keys share an entry, costs a probe and no
// more: what the mask gives bounds the walk as any match does. The place where
// the winner was found is written back.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/classifier/hash.h"
#include "dataplane/flow/match.h"
#include "dataplane/packet/key.h"

namespace sluice {

class MaskCache {
 public:
  static constexpr uint32_t kNoPlace = ~uint32_t{0};

  // entries: a worker; not 0, rounded up to a power of two.
  MaskCache(unsigned worker_count, uint32_t entries, const HashKey& hash_key)
      : last_(std::bit_ceil(uint64_t{entries}) - 1), hash_key_(hash_key), of_worker_(worker_count) {
    for (Lines& lines : of_worker_) lines.entries.resize(last_ + 1);
  }

  // Over the words in which most packets differ; a hint may be another packet's.
  uint64_t HashOf(const PacketKey& key) const {
    uint64_t hash = hash_key_.seed;
    for (size_t i = 0; i < kKeyWords; ++i) {
      if (i < 5 || (i >= 8 && i < 12)) hash = MixWord(hash, WordOf(key, i), hash_key_.multiplier);
    }
    return hash;
  }
  // Worker `worker` only.
  uint32_t Hint(unsigned worker, uint64_t hash) const {
    const Entry& entry = of_worker_[worker].entries[hash & last_];
    return entry.check == CheckOf(hash) ? entry.place : kNoPlace;
  }
  void Note(unsigned worker, uint64_t hash, uint32_t place) {
    of_worker_[worker].entries[hash & last_] = {CheckOf(hash), place};
  }
  uint64_t entries() const { return last_ + 1; }

 private:
  struct Entry {
    uint32_t check = 0;
    uint32_t place = kNoPlace;
  };
  // A vector apart from the others'.
  struct alignas(64) Lines {
    std::vector<Entry> entries;
  };

  static uint32_t CheckOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  const uint64_t last_;
  const HashKey hash_key_;
  std::vector<Lines> of_worker_;
};

}  // namespace sluice
