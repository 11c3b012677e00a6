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
  kInnerVlanPresent = 31,
  kInnerVlanVid = 32,
  kInnerVlanPcp = 33,
  kInnerVlanTci = 34,
  kMplsLabel = 35,
  kMplsTc = 36,
  kMplsBos = 37,
  kMplsTtl = 38,
  kArpSha = 39,
  kArpTha = 40,
  kIpv6Label = 41,
  kTcpFlags = 42,
  kNdTarget = 43,
  kNdSll = 44,
  kNdTll = 45,
  kMetadata = 46,
  kReg0 = 47,
  kReg1 = 48,
  kReg2 = 49,
  kReg3 = 50,
  kReg4 = 51,
  kReg5 = 52,
  kReg6 = 53,
  kReg7 = 54,
};
inline constexpr int kFieldCount = 55;  // with kNone

// Fields that no frame holds: they lie in the key's line 2.
inline constexpr bool IsPipelineField(Field field) { return field >= Field::kMetadata && field <= Field::kReg7; }

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

// Reads a field of a key as an unsigned number.
absl::uint128 GetField(const PacketKey& key, Field field);

// Writes a field's bits and nothing else. Bits beyond the field's size are ignored.
void PutField(PacketKey& key, Field field, absl::uint128 value);

}  // namespace sluice
