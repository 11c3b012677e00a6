// The fields of a packet by number, and where each lies in a PacketKey.
//
// The numbers are those of sluice.v1.Field (server/convert.cc checks it at
// compile time). Names, masks and prerequisites stand in fields.proto, not here.
//
// Pure functions; any thread.

#pragma once

#include <cstdint>

#include "absl/numeric/int128.h"
#include "dataplane/packet/key.h"

namespace sluice {

enum class Field : uint8_t {
  kNone = 0,
  kInPort = 1,
  kEthDst = 2,
  kEthSrc = 3,
  kEthType = 4,
  kVlanPresent = 5,
  kVlanVid = 6,
  kVlanPcp = 7,
  kVlanTci = 8,
  kArpOp = 9,
  kArpSpa = 10,
  kArpTpa = 11,
  kIpv4Src = 12,
  kIpv4Dst = 13,
  kIpv6Src = 14,
  kIpv6Dst = 15,
  kIpProto = 16,
  kIpDscp = 17,
  kIpEcn = 18,
  kIpTtl = 19,
  kIpFrag = 20,
  kTcpSrc = 21,
  kTcpDst = 22,
  kUdpSrc = 23,
  kUdpDst = 24,
  kSctpSrc = 25,
  kSctpDst = 26,
  kIcmpv4Type = 27,
  kIcmpv4Code = 28,
  kIcmpv6Type = 29,
  kIcmpv6Code = 30,
};
inline constexpr int kFieldCount = 31;  // with kNone

// A field's place: bits [shift, shift + bits) of the big-endian integer of
// `size` bytes at `offset` in the key (in_port: of the host-order integer).
// A match on the field also demands `required` bits: of the integer at
// `required_offset`, 2 bytes, compared as they lie in memory.
struct FieldLayout {
  uint8_t offset;
  uint8_t size;
  uint8_t shift;
  uint8_t bits;
  uint8_t required_offset;
  uint16_t required;  // 0: nothing more
};

const FieldLayout& LayoutOf(Field field);

// Fields that no frame has, only the key: what flows of one table leave for those of later ones.
inline bool IsPipelineField(Field field) { return LayoutOf(field).offset >= 128; }

// Reads a field of a key as an unsigned number.
absl::uint128 GetField(const PacketKey& key, Field field);

// Writes a field's bits and nothing else. Bits beyond the field's size are ignored.
void PutField(PacketKey& key, Field field, absl::uint128 value);

}  // namespace sluice
