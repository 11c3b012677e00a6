#include "dataplane/flow/match.h"

#include <algorithm>
#include <bit>

namespace sluice {
namespace {

void DemandBits(PacketKey& key, size_t offset, uint16_t bits) {
  char* place = reinterpret_cast<char*>(&key) + offset;
  uint16_t there;
  std::memcpy(&there, place, sizeof there);
  there |= bits;
  std::memcpy(place, &there, sizeof there);
}

bool IsSource(Field port) { return LayoutOf(port).offset == offsetof(PacketKey, l4_src); }

// The bits that no two ports of the range differ in.
uint16_t CommonBits(PortRange range) {
  const auto differ = static_cast<unsigned>(range.first ^ range.last);
  return static_cast<uint16_t>(~(std::bit_ceil(differ + 1) - 1));
}

bool IsPrefix(PortRange range) {
  const uint16_t mask = CommonBits(range);
  return (range.first & ~mask) == 0 && (range.last | mask) == 0xffff;
}

// What a match says about one port: bits, or a range, or neither.
struct PortCondition {
  uint16_t value;
  uint16_t mask;
  PortRange range;
};

PortCondition SourceOf(const Match& match) {
  return {PortsOf(match.value).source, PortsOf(match.mask).source, match.ports.source};
}

PortCondition DestinationOf(const Match& match) {
  return {PortsOf(match.value).destination, PortsOf(match.mask).destination, match.ports.destination};
}

// The lowest port from `least` on that has the condition's bits; or above 0xffff.
uint32_t LowestFrom(const PortCondition& bits, uint32_t least) {
  const auto free = static_cast<uint16_t>(~bits.mask);
  uint32_t rise = 0x10000;  // the lowest bit so far that may be set where `least` has none
  for (uint32_t bit = 0x8000; bit != 0; bit >>= 1) {
    const bool wanted = (least & bit) != 0;
    if ((free & bit) != 0) {
      if (!wanted) rise = bit;
      continue;
    }
    const bool fixed = (bits.value & bit) != 0;
    if (fixed == wanted) continue;
    if (fixed) rise = bit;
    const uint32_t above = ~(2 * rise - 1);
    return rise > 0xffff ? rise : (least & above) | rise | (bits.value & (rise - 1));
  }
  return least;
}

// True if a port meets both; if both have bits, those agree.
bool Meet(const PortCondition& a, const PortCondition& b) {
  const uint32_t first = std::max(a.range.first, b.range.first);
  const uint32_t last = std::min(a.range.last, b.range.last);
  return LowestFrom(a.mask != 0 ? a : b, first) <= last;
}

// True if each port that meets a is in the range.
bool Within(const PortCondition& a, PortRange range) {
  if (a.mask == 0) return range.Contains(a.range);
  return range.Contains(PortRange{a.value, static_cast<uint16_t>(a.value | ~a.mask)});
}

// Demands of a ranged port also the bits that all of the range have.
void AddCommonBits(Match& match) {
  const auto add = [&match](Field field, PortRange range) {
    if (range == PortRange{}) return;
    PutField(match.mask, field, CommonBits(range));
    PutField(match.value, field, range.first & CommonBits(range));
  };
  add(Field::kTcpSrc, match.ports.source);
  add(Field::kTcpDst, match.ports.destination);
}

bool BitsAgree(const Match& match, const PacketKey& packet) {
  uint64_t difference = 0;
  for (size_t i = 0; i < kKeyWords; ++i) {
    difference |= (WordOf(packet, i) & WordOf(match.mask, i)) ^ WordOf(match.value, i);
  }
  return difference == 0;
}

bool BitsOverlap(const Match& a, const Match& b) {
  uint64_t difference = 0;
  for (size_t i = 0; i < kKeyWords; ++i) {
    difference |= (WordOf(a.value, i) ^ WordOf(b.value, i)) & WordOf(a.mask, i) & WordOf(b.mask, i);
  }
  return difference == 0;
}

bool BitsAreWithin(const Match& a, const Match& b) {
  uint64_t difference = 0;
  for (size_t i = 0; i < kKeyWords; ++i) {
    difference |= WordOf(b.mask, i) & ~WordOf(a.mask, i);
    difference |= (WordOf(a.value, i) ^ WordOf(b.value, i)) & WordOf(b.mask, i);
  }
  return difference == 0;
}

}  // namespace

PortRange RangeOf(const Match& match, Field port) {
  return IsSource(port) ? match.ports.source : match.ports.destination;
}

PacketKey LookedAt(const PacketKey& mask) {
  PacketKey looked_at = mask;
  if ((mask.present & kRangedSource) != 0) looked_at.l4_src = 0xffff;
  if ((mask.present & kRangedDestination) != 0) looked_at.l4_dst = 0xffff;
  return looked_at;
}

void MatchOn(Match& match, Field field, absl::uint128 value, absl::uint128 mask) {
  const FieldLayout& layout = LayoutOf(field);
  if (layout.bits < 128) mask &= (absl::uint128(1) << layout.bits) - 1;
  if (mask == 0) return;
  PutField(match.value, field, (GetField(match.value, field) & ~mask) | (value & mask));
  PutField(match.mask, field, GetField(match.mask, field) | mask);
  if (layout.required == 0) return;
  DemandBits(match.value, layout.required_offset, layout.required);
  DemandBits(match.mask, layout.required_offset, layout.required);
}

void MatchOnRange(Match& match, Field field, PortRange range) {
  if (IsPrefix(range)) return MatchOn(match, field, range.first, CommonBits(range));
  const FieldLayout& layout = LayoutOf(field);
  const bool source = IsSource(field);
  (source ? match.ports.source : match.ports.destination) = range;
  DemandBits(match.value, layout.required_offset, layout.required);
  DemandBits(match.mask, layout.required_offset, layout.required);
  match.mask.present |= source ? kRangedSource : kRangedDestination;
}

bool Matches(const Match& match, const PacketKey& packet) {
  return BitsAgree(match, packet) && match.ports.Contain(PortsOf(packet));
}

bool Overlap(const Match& a, const Match& b) {
  if (!BitsOverlap(a, b)) return false;
  if (!HasRanges(a.mask) && !HasRanges(b.mask)) return true;
  return Meet(SourceOf(a), SourceOf(b)) && Meet(DestinationOf(a), DestinationOf(b));
}

bool IsWithin(const Match& a, const Match& b) {
  if (!HasRanges(a.mask) && !HasRanges(b.mask)) return BitsAreWithin(a, b);
  Match narrow = a;
  AddCommonBits(narrow);
  narrow.mask.present |= kRanged;
  return BitsAreWithin(narrow, b) && Within(SourceOf(a), b.ports.source) &&
         Within(DestinationOf(a), b.ports.destination);
}

}  // namespace sluice
