// What a flow matches: a value under a mask, in the layout of a packet's key.
//
// Canonical: value has no bit outside mask. Two matches are the same if their
// bytes are. All validation of what users send stands in server/convert.cc;
// here the bits are taken as they come. A value type; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/numeric/int128.h"
#include "dataplane/packet/field.h"
#include "dataplane/packet/key.h"

namespace sluice {

struct Match {
  PacketKey value{};
  PacketKey mask{};

  friend bool operator==(const Match& a, const Match& b) { return a.value == b.value && a.mask == b.mask; }
};

// The i-th 64-bit word of a key, whatever type its bytes were written as.
inline uint64_t WordOf(const PacketKey& key, size_t i) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const char*>(&key) + i * sizeof word, sizeof word);
  return word;
}

inline void SetWord(PacketKey& key, size_t i, uint64_t word) {
  std::memcpy(reinterpret_cast<char*>(&key) + i * sizeof word, &word, sizeof word);
}

// Adds "field & mask == value & mask", and that the packet has the field. A mask
// without a bit in the field adds nothing.
void MatchOn(Match& match, Field field, absl::uint128 value, absl::uint128 mask);

// True if packet & mask == value.
bool Matches(const Match& match, const PacketKey& packet);

// True if some packet could match both.
bool Overlap(const Match& a, const Match& b);

// True if a is at least as narrow as b: a looks at every bit that b looks at
// and demands the same value there.
bool IsWithin(const Match& a, const Match& b);

}  // namespace sluice
