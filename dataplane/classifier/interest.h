// What flows look at, all taken together: the union of their masks, and whether
// any rewrites packets and so needs to know where their headers are.
//
// Two packets that agree in these bits have the same answer, which is what the
// flow cache builds on; and a worker parses no deeper than this. Immutable; the
// writer publishes a new one, before the version that needs it, when a mask
// brings a new bit, and now and then one that has lost some.

#pragma once

#include <array>
#include <cstdint>

#include "dataplane/classifier/hash.h"
#include "dataplane/flow/match.h"
#include "dataplane/packet/key.h"

namespace sluice {

struct Interest {
  Interest(const PacketKey& looked_at, bool some_rewrite, const HashKey& key)
      : mask(looked_at), rewrites(some_rewrite), hash_key(key), beyond_link(some_rewrite) {
    constexpr size_t kLinkWords = 3;
    for (uint8_t i = 0; i < kKeyWords; ++i) {
      const uint64_t word = WordOf(mask, i);
      if (word == 0) continue;
      word_index[word_count] = i;
      word_mask[word_count] = word;
      ++word_count;
      // Presence bits say something about what lies behind the EtherType.
      const bool in_frame = i < kFirstPipelineWord;
      if (in_frame && (i >= kLinkWords || (i == 0 && mask.present != 0))) beyond_link = true;
    }
  }

  // Of a packet in a table. The two lowest bits are set: one is the cache's mark, the
  // other tells a fingerprint from none. A fingerprint says nothing under another interest.
  uint64_t FingerprintOf(const PacketKey& key, uint8_t table_id) const {
    uint64_t hash = hash_key.seed ^ table_id * hash_key.multiplier;
    for (unsigned i = 0; i < word_count; ++i) {
      hash = MixWord(hash, WordOf(key, word_index[i]) & word_mask[i], hash_key.multiplier);
    }
    return FinishHash(hash, hash_key) | 3;
  }

  const PacketKey mask;
  const bool rewrites;  // some flow's actions change the packet
  const HashKey hash_key;
  unsigned word_count = 0;
  std::array<uint8_t, kKeyWords> word_index{};
  std::array<uint64_t, kKeyWords> word_mask{};
  bool beyond_link;  // flows need more of a frame than addresses, the outer tag and EtherType
};

}  // namespace sluice
