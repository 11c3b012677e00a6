#include "dataplane/flow/match.h"

namespace sluice {
namespace {

void DemandBits(PacketKey& key, size_t offset, uint16_t bits) {
  char* place = reinterpret_cast<char*>(&key) + offset;
  uint16_t there;
  std::memcpy(&there, place, sizeof there);
  there |= bits;
  std::memcpy(place, &there, sizeof there);
}

}  // namespace

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

bool Matches(const Match& match, const PacketKey& packet) {
  uint64_t difference = 0;
  for (size_t i = 0; i < kKeyWords; ++i) {
    difference |= (WordOf(packet, i) & WordOf(match.mask, i)) ^ WordOf(match.value, i);
  }
  return difference == 0;
}

bool Overlap(const Match& a, const Match& b) {
  uint64_t difference = 0;
  for (size_t i = 0; i < kKeyWords; ++i) {
    difference |= (WordOf(a.value, i) ^ WordOf(b.value, i)) & WordOf(a.mask, i) & WordOf(b.mask, i);
  }
  return difference == 0;
}

bool IsWithin(const Match& a, const Match& b) {
  uint64_t difference = 0;
  for (size_t i = 0; i < kKeyWords; ++i) {
    difference |= WordOf(b.mask, i) & ~WordOf(a.mask, i);
    difference |= (WordOf(a.value, i) ^ WordOf(b.value, i)) & WordOf(b.mask, i);
  }
  return difference == 0;
}

}  // namespace sluice
