#include "dataplane/packet/rewrite.h"

#include "dataplane/packet/big_endian.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/protocols.h"

namespace sluice {
namespace {

// Which checksums cover a place in a frame.
enum class Cover : uint8_t {
  kNone,
  kIpv4Header,
  kIpv4Address,
  kIpv6Source,
  kIpv6Destination,
  kPorts,
  kSctpPorts,
  kIcmp
};

// A field's place in a frame: as FieldLayout in a key. Where a checksum covers it,
// size is even and so is its distance from the header.
struct Place {
  uint32_t at = 0;
  uint8_t size = 0;  // 0: the frame lacks the field
  uint8_t shift = 0;
  Cover cover = Cover::kNone;
};

bool IsIpv4(const HeaderLayout& layout) { return layout.l3 != 0 && layout.eth_type == kEthTypeIpv4; }
bool IsIpv6(const HeaderLayout& layout) { return layout.l3 != 0 && layout.eth_type == kEthTypeIpv6; }

Place InTag(const HeaderLayout& layout, uint8_t shift) {
  if (layout.vlan_tags == 0) return {};
  return {.at = kEthernetSize, .size = 2, .shift = shift};
}

Place InArp(const HeaderLayout& layout, uint32_t offset, uint8_t size) {
  if (layout.l3 == 0 || layout.eth_type != kEthTypeArp) return {};
  return {.at = layout.l3 + offset, .size = size};
}

Place InIpv4(const HeaderLayout& layout, uint32_t offset) {
  if (!IsIpv4(layout)) return {};
  return {.at = layout.l3 + offset, .size = 4, .cover = Cover::kIpv4Address};
}

Place InIpv6(const HeaderLayout& layout, uint32_t offset, Cover cover) {
  if (!IsIpv6(layout)) return {};
  return {.at = layout.l3 + offset, .size = 16, .cover = cover};
}

// DSCP and ECN: the second byte of IPv4, and across two bytes of IPv6.
Place InTos(const HeaderLayout& layout, uint8_t shift) {
  if (IsIpv4(layout)) return {.at = layout.l3, .size = 2, .shift = shift, .cover = Cover::kIpv4Header};
  if (IsIpv6(layout)) return {.at = layout.l3, .size = 2, .shift = static_cast<uint8_t>(shift + 4)};
  return {};
}

Place InTtl(const HeaderLayout& layout) {
  if (IsIpv4(layout)) return {.at = layout.l3 + 8u, .size = 2, .shift = 8, .cover = Cover::kIpv4Header};
  if (IsIpv6(layout)) return {.at = layout.l3 + 6u, .size = 2};
  return {};
}

bool HasL4(const HeaderLayout& layout, uint8_t ip_proto) { return layout.l4_fields && layout.ip_proto == ip_proto; }

Place InPorts(const HeaderLayout& layout, uint8_t ip_proto, uint32_t offset) {
  if (!HasL4(layout, ip_proto)) return {};
  return {.at = layout.l4 + offset, .size = 2, .cover = Cover::kPorts};
}

// Both ports together, since the CRC is renewed four bytes at a time.
Place InSctpPorts(const HeaderLayout& layout, uint8_t shift) {
  if (!HasL4(layout, kIpProtoSctp)) return {};
  return {.at = layout.l4, .size = 4, .shift = shift, .cover = Cover::kSctpPorts};
}

Place InIcmp(const HeaderLayout& layout, uint8_t ip_proto, uint8_t shift) {
  if (!HasL4(layout, ip_proto)) return {};
  return {.at = layout.l4, .size = 2, .shift = shift, .cover = Cover::kIcmp};
}

Place LocateL4(const HeaderLayout& layout, Field field) {
  switch (field) {
    case Field::kTcpSrc:
      return InPorts(layout, kIpProtoTcp, 0);
    case Field::kTcpDst:
      return InPorts(layout, kIpProtoTcp, 2);
    case Field::kUdpSrc:
      return InPorts(layout, kIpProtoUdp, 0);
    case Field::kUdpDst:
      return InPorts(layout, kIpProtoUdp, 2);
    case Field::kSctpSrc:
      return InSctpPorts(layout, 16);
    case Field::kSctpDst:
      return InSctpPorts(layout, 0);
    case Field::kIcmpv4Type:
      return InIcmp(layout, kIpProtoIcmp, 8);
    case Field::kIcmpv4Code:
      return InIcmp(layout, kIpProtoIcmp, 0);
    case Field::kIcmpv6Type:
      return InIcmp(layout, kIpProtoIcmpv6, 8);
    case Field::kIcmpv6Code:
      return InIcmp(layout, kIpProtoIcmpv6, 0);
    default:
      return {};
  }
}

Place Locate(const HeaderLayout& layout, Field field) {
  switch (field) {
    case Field::kEthDst:
      return {.at = 0, .size = 6};
    case Field::kEthSrc:
      return {.at = 6, .size = 6};
    case Field::kVlanVid:
      return InTag(layout, 0);
    case Field::kVlanPcp:
      return InTag(layout, 13);
    case Field::kArpOp:
      return InArp(layout, 6, 2);
    case Field::kArpSpa:
      return InArp(layout, 14, 4);
    case Field::kArpTpa:
      return InArp(layout, 24, 4);
    case Field::kIpv4Src:
      return InIpv4(layout, 12);
    case Field::kIpv4Dst:
      return InIpv4(layout, 16);
    case Field::kIpv6Src:
      return InIpv6(layout, 8, Cover::kIpv6Source);
    case Field::kIpv6Dst:
      return InIpv6(layout, 24, Cover::kIpv6Destination);
    case Field::kIpDscp:
      return InTos(layout, 2);
    case Field::kIpEcn:
      return InTos(layout, 0);
    case Field::kIpTtl:
      return InTtl(layout);
    default:
      return LocateL4(layout, field);
  }
}

void Renew(uint8_t* checksum, const uint8_t* old_bytes, const uint8_t* new_bytes, size_t size) {
  const uint16_t renewed = UpdateChecksum(LoadRaw<uint16_t>(checksum), old_bytes, new_bytes, size);
  std::memcpy(checksum, &renewed, sizeof renewed);
}

// The checksum of TCP, UDP or ICMPv6: those with addresses in a pseudo header.
void RenewL4(const Frame& frame, const HeaderLayout& layout, const uint8_t* old_bytes, const uint8_t* new_bytes,
             size_t size) {
  if (layout.l4 == 0) return;
  uint8_t* header = frame.data + layout.l4;
  if (layout.ip_proto == kIpProtoTcp) {
    Renew(header + 16, old_bytes, new_bytes, size);
  } else if (layout.ip_proto == kIpProtoIcmpv6) {
    Renew(header + 2, old_bytes, new_bytes, size);
  } else if (layout.ip_proto == kIpProtoUdp && LoadRaw<uint16_t>(header + 6) != 0) {
    Renew(header + 6, old_bytes, new_bytes, size);
    if (LoadRaw<uint16_t>(header + 6) == 0) StoreBig<uint16_t>(header + 6, 0xffff);
  }
}

// SCTP's length is what the IP header says, wherever the bytes lie.
void RenewSctp(const Frame& frame, const HeaderLayout& layout, const uint8_t* old_bytes, const uint8_t* new_bytes) {
  const uint8_t* ip = frame.data + layout.l3;
  const uint32_t end =
      IsIpv4(layout) ? layout.l3 + LoadBig<uint16_t>(ip + 2) : layout.l3 + kIpv6Size + LoadBig<uint16_t>(ip + 4);
  uint8_t* crc = frame.data + layout.l4 + 8;
  const uint32_t renewed = UpdateCrc32c(LoadRaw<uint32_t>(crc), old_bytes, new_bytes, end - layout.l4 - 4);
  std::memcpy(crc, &renewed, sizeof renewed);
}

// True if the destination in the IPv6 header is not yet the last one. Only for
// frames with an L4 header: Parse has seen every header before it.
bool HasSegmentsLeft(const Frame& frame, const HeaderLayout& layout) {
  uint8_t type = frame.data[layout.l3 + 6];
  for (uint32_t at = layout.l3 + kIpv6Size; at < layout.l4;) {
    const uint8_t* header = frame.data + at;
    if (type == kIpProtoRouting && header[3] != 0) return true;
    at += Ipv6ExtensionSize(type, header[1]);
    type = header[0];
  }
  return false;
}

void RenewCovering(const Frame& frame, const HeaderLayout& layout, const Place& place, const uint8_t* old_bytes,
                   const uint8_t* new_bytes) {
  switch (place.cover) {
    case Cover::kNone:
      return;
    case Cover::kIpv4Header:
      return Renew(frame.data + layout.l3 + 10, old_bytes, new_bytes, place.size);
    case Cover::kIpv4Address:
      Renew(frame.data + layout.l3 + 10, old_bytes, new_bytes, place.size);
      return RenewL4(frame, layout, old_bytes, new_bytes, place.size);
    case Cover::kIpv6Destination:
      if (layout.l4 != 0 && HasSegmentsLeft(frame, layout)) return;
      [[fallthrough]];
    case Cover::kIpv6Source:
    case Cover::kPorts:
      return RenewL4(frame, layout, old_bytes, new_bytes, place.size);
    case Cover::kSctpPorts:
      return RenewSctp(frame, layout, old_bytes, new_bytes);
    case Cover::kIcmp:
      return Renew(frame.data + layout.l4 + 2, old_bytes, new_bytes, place.size);
  }
}

absl::uint128 AllBits(Field field) { return absl::Uint128Max() >> (128 - LayoutOf(field).bits); }

}  // namespace

void AddressRewrite::Add(Field field, absl::uint128 value, absl::uint128 mask) {
  // Six bytes as they lie in memory.
  const uint64_t bits = SwapBytes(absl::Uint128Low64(mask) << 16);
  const uint64_t put = SwapBytes(absl::Uint128Low64(value) << 16) & bits;
  if (field == Field::kEthDst) {
    keep_first &= ~bits;
    put_first = (put_first & ~bits) | put;
    return;
  }
  keep_first &= ~(bits << 48);
  put_first = (put_first & ~(bits << 48)) | put << 48;
  const auto last_bits = static_cast<uint32_t>(bits >> 16);
  keep_last &= ~last_bits;
  put_last = (put_last & ~last_bits) | static_cast<uint32_t>(put >> 16);
}

void SetField(Frame& frame, const HeaderLayout& layout, Field field, absl::uint128 value, absl::uint128 mask) {
  if (field == Field::kEthDst || field == Field::kEthSrc) {
    AddressRewrite rewrite;
    rewrite.Add(field, value, mask);
    return SetAddresses(frame, rewrite);
  }
  const Place place = Locate(layout, field);
  if (place.size == 0) return;
  uint8_t* bytes = frame.data + place.at;
  const absl::uint128 bits = (mask & AllBits(field)) << place.shift;
  const absl::uint128 before = LoadBigSized(bytes, place.size);
  const absl::uint128 after = (before & ~bits) | ((value << place.shift) & bits);
  if (before == after) return;
  StoreBigSized(bytes, place.size, after);
  if (place.cover == Cover::kNone) return;
  uint8_t old_bytes[16];
  StoreBigSized(old_bytes, place.size, before);
  RenewCovering(frame, layout, place, old_bytes, bytes);
}

bool PushVlan(Frame& frame, HeaderLayout& layout, uint16_t tpid) {
  constexpr uint32_t kAddresses = 12;
  if (frame.headroom < kVlanTagSize) return false;
  const uint16_t tci = layout.vlan_tags == 0 ? 0 : LoadBig<uint16_t>(frame.data + kEthernetSize) & ~kTciPresent;
  frame.data -= kVlanTagSize;
  frame.headroom -= kVlanTagSize;
  frame.length += kVlanTagSize;
  frame.total += kVlanTagSize;
  std::memmove(frame.data, frame.data + kVlanTagSize, kAddresses);
  StoreBig(frame.data + kAddresses, tpid);
  StoreBig(frame.data + kEthernetSize, tci);
  ++layout.vlan_tags;
  if (layout.l3 != 0) layout.l3 += kVlanTagSize;
  if (layout.l4 != 0) layout.l4 += kVlanTagSize;
  return true;
}

void PopVlan(Frame& frame, HeaderLayout& layout) {
  constexpr uint32_t kAddresses = 12;
  if (layout.vlan_tags == 0) return;
  std::memmove(frame.data + kVlanTagSize, frame.data, kAddresses);
  frame.data += kVlanTagSize;
  frame.headroom += kVlanTagSize;
  frame.length -= kVlanTagSize;
  frame.total -= kVlanTagSize;
  --layout.vlan_tags;
  if (layout.l3 != 0) layout.l3 -= kVlanTagSize;
  if (layout.l4 != 0) layout.l4 -= kVlanTagSize;
  if (IsVlanTpid(layout.eth_type)) {
    PacketKey key;
    // With a checksum out of reach, addresses stay as they are too.
    if (Parse(frame, 0, key, layout) == ParseResult::kNeedMore) {
      layout.l3 = 0;
      layout.l4 = 0;
      layout.l4_fields = false;
    }
  }
}

}  // namespace sluice
