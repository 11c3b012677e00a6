// The masks that each packet of a batch can match, as the index tells; one
// after the other, in the order of the array. A worker's, on its stack.

#pragma once

#include <bit>
#include <cstdint>

#include "dataplane/classifier/classifier.h"
#include "dataplane/classifier/mask_index.h"
#include "dataplane/classifier/row_and.h"
#include "dataplane/packet/key.h"

namespace sluice {

class Candidates {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Not initialised: Find fills what it needs.
  explicit Candidates(const Pruning& pruning) : pruning_(pruning) {}

  void Find(const PacketKey* keys, unsigned n);

  // The next place of packet i, or kNone.
  uint32_t Next(unsigned i) {
    const unsigned words = UsedWords(pruning_.words);
    for (unsigned k = 0; k < words; ++k) {
      uint64_t& used = used_[i * words + k];
      if (used == 0) continue;
      const unsigned at = 64 * k + static_cast<unsigned>(std::countr_zero(used));
      uint64_t& row = bits_[i * pruning_.words + at];
      const unsigned bit = 64 * at + static_cast<unsigned>(std::countr_zero(row));
      row &= row - 1;
      if (row == 0) used &= used - 1;
      return pruning_.in_order ? pruning_.places[bit] : bit;
    }
    return kNone;
  }

 private:
  static constexpr unsigned kMaxWords = MaskIndex::kMaxSlots / 64;

  void PutInOrder(unsigned i);

  const Pruning& pruning_;
  // Packet after packet, as many words each as the rows have: slots that are
  // left, or places if slots are not in the array's order.
  alignas(64) uint64_t bits_[kBatch * kMaxWords];
  uint64_t used_[kBatch * UsedWords(kMaxWords)];  // which of them are not zero
};

}  // namespace sluice
