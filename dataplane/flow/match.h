// What a flow matches: a value under a mask, in the layout of a packet's key,
// and ranges of ports.
//
// Canonical: value has no bit outside mask. A range that a mask can say is a
// mask. A port that has a range has no bit in the mask, which says that there is
// one (kRanged…) and that the packet has ports. So two matches are the same if
// their bytes are. All validation of what users send stands in server/convert.cc;
// here the bits are taken as they come. A value type; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/numeric/int128.h"
#include "dataplane/flow/port_range.h"
#include "dataplane/packet/field.h"
#include "dataplane/packet/key.h"

namespace sluice {

struct Match {
  PacketKey value{};
  PacketKey mask{};
  PortRanges ports{};

  friend bool operator==(const Match& a, const Match& b) {
    return a.value == b.value && a.mask == b.mask && a.ports == b.ports;
  }
};

// True if flows of this mask have ranges.
inline bool HasRanges(const PacketKey& mask) { return (mask.present & kRanged) != 0; }

// The range that the match has of a port; all ports: none.
PortRange RangeOf(const Match& match, Field port);

// The bits of a packet that decide whether flows of this mask match it: the
// mask's, and all of the ports of which they have ranges.
PacketKey LookedAt(const PacketKey& mask);

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

// Adds "first <= field <= last", and that the packet has the field, which is a
// port and has no condition yet. All values add nothing.
void MatchOnRange(Match& match, Field field, PortRange range);

// True if packet & mask == value, and its ports are in the ranges.
bool Matches(const Match& match, const PacketKey& packet);

// True if some packet could match both.
bool Overlap(const Match& a, const Match& b);

// True if a is at least as narrow as b: what b demands of bits and of ports, a
// demands too.
bool IsWithin(const Match& a, const Match& b);

}  // namespace sluice
