// The hash of masked key words: keyed multiplication, both halves of the
// 128-bit product folded into one, a word after the other.
//
// The key comes from the system's random source, so that nobody outside can
// choose flows or packets that collide. A multiplier of zero makes every hash
// zero: tests use it to make everything collide.

#pragma once

#include <cstdint>

namespace sluice {

struct HashKey {
  uint64_t seed = 0;
  uint64_t multiplier = 0;

  static HashKey Random();
};

inline uint64_t MixWord(uint64_t hash, uint64_t word, uint64_t multiplier) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash ^ word) * multiplier;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// To be done behind the last word. After one multiplication, words that differ in
// their highest byte alone, as neighbouring addresses do, differ in too few bits
// of the hash for one key in twenty.
inline uint64_t FinishHash(uint64_t hash, const HashKey& key) { return MixWord(hash, key.multiplier, key.multiplier); }

}  // namespace sluice
