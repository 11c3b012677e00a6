#include "dataplane/packet/rewrite.h"

#include "dataplane/packet/big_endian.h"
#include "dataplane/packet/checksum.h"
#include "dataplane/packet/neighbor.h"
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

// Where the IP packet ends: what its header says, wherever the bytes lie.
uint32_t IpEnd(const Frame& frame, const HeaderLayout& layout) {
  const uint8_t* ip = frame.data + layout.l3;
  if (layout.has_ipv4()) return layout.l3 + LoadBig<uint16_t>(ip + 2);
  return layout.l3 + kIpv6Size + LoadBig<uint16_t>(ip + 4);
}

Place InTag(const HeaderLayout& layout, uint8_t shift) {
  if (layout.vlan_tags == 0) return {};
  return {.at = kEthernetSize, .size = 2, .shift = shift};
}

Place InLabel(const HeaderLayout& layout, uint8_t shift) {
  if (layout.mpls == 0) return {};
  return {.at = layout.mpls, .size = kMplsSize, .shift = shift};
}

Place InArp(const HeaderLayout& layout, uint32_t offset, uint8_t size) {
  if (!layout.has_arp()) return {};
  return {.at = layout.l3 + offset, .size = size};
}

Place InIpv4(const HeaderLayout& layout, uint32_t offset) {
  if (!layout.has_ipv4()) return {};
  return {.at = layout.l3 + offset, .size = 4, .cover = Cover::kIpv4Address};
}

Place InIpv6(const HeaderLayout& layout, uint32_t offset, Cover cover) {
  if (!layout.has_ipv6()) return {};
  return {.at = layout.l3 + offset, .size = 16, .cover = cover};
}

// DSCP and ECN: the second byte of IPv4, and across two bytes of IPv6.
Place InTos(const HeaderLayout& layout, uint8_t shift) {
  if (layout.has_ipv4()) return {.at = layout.l3, .size = 2, .shift = shift, .cover = Cover::kIpv4Header};
  if (layout.has_ipv6()) return {.at = layout.l3, .size = 2, .shift = static_cast<uint8_t>(shift + 4)};
  return {};
}

Place InTtl(const HeaderLayout& layout) {
  if (layout.has_ipv4()) return {.at = layout.l3 + 8u, .size = 2, .shift = 8, .cover = Cover::kIpv4Header};
  if (layout.has_ipv6()) return {.at = layout.l3 + 6u, .size = 2};
  return {};
}

Place InFlowLabel(const HeaderLayout& layout) {
  if (!layout.has_ipv6()) return {};
  return {.at = layout.l3, .size = 4};
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

Place InNeighbor(const Frame& frame, const HeaderLayout& layout, Field field) {
  if (!layout.nd) return {};
  const NeighborPlaces places = FindNeighbor(frame, layout.l4, IpEnd(frame, layout) - layout.l4);
  if (field == Field::kNdTarget && places.target != 0) {
    return {.at = places.target, .size = 16, .cover = Cover::kIcmp};
  }
  const uint32_t at = field == Field::kNdSll ? places.source_link : field == Field::kNdTll ? places.target_link : 0;
  if (at == 0) return {};
  return {.at = at, .size = 6, .cover = Cover::kIcmp};
}

Place LocateL4(const Frame& frame, const HeaderLayout& layout, Field field) {
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
    case Field::kNdTarget:
    case Field::kNdSll:
    case Field::kNdTll:
      return InNeighbor(frame, layout, field);
    default:
      return {};
  }
}

Place LocateNetwork(const Frame& frame, const HeaderLayout& layout, Field field) {
  switch (field) {
    case Field::kArpOp:
      return InArp(layout, 6, 2);
    case Field::kArpSpa:
      return InArp(layout, 14, 4);
    case Field::kArpTpa:
      return InArp(layout, 24, 4);
    case Field::kArpSha:
      return InArp(layout, 8, 6);
    case Field::kArpTha:
      return InArp(layout, 18, 6);
    case Field::kIpv4Src:
      return InIpv4(layout, 12);
    case Field::kIpv4Dst:
      return InIpv4(layout, 16);
    case Field::kIpv6Src:
      return InIpv6(layout, 8, Cover::kIpv6Source);
    case Field::kIpv6Dst:
      return InIpv6(layout, 24, Cover::kIpv6Destination);
    case Field::kIpv6Label:
      return InFlowLabel(layout);
    case Field::kIpDscp:
      return InTos(layout, 2);
    case Field::kIpEcn:
      return InTos(layout, 0);
    case Field::kIpTtl:
      return InTtl(layout);
    default:
      return LocateL4(frame, layout, field);
  }
}

Place Locate(const Frame& frame, const HeaderLayout& layout, Field field) {
  switch (field) {
    case Field::kEthDst:
      return {.at = 0, .size = 6};
    case Field::kEthSrc:
      return {.at = 6, .size = 6};
    case Field::kVlanVid:
      return InTag(layout, 0);
    case Field::kVlanPcp:
      return InTag(layout, 13);
    case Field::kMplsLabel:
      return InLabel(layout, kMplsLabelShift);
    case Field::kMplsTc:
      return InLabel(layout, kMplsTcShift);
    case Field::kMplsTtl:
      return InLabel(layout, 0);
    default:
      return LocateNetwork(frame, layout, field);
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

void RenewSctp(const Frame& frame, const HeaderLayout& layout, const uint8_t* old_bytes, const uint8_t* new_bytes) {
  uint8_t* crc = frame.data + layout.l4 + 8;
  const uint32_t renewed =
      UpdateCrc32c(LoadRaw<uint32_t>(crc), old_bytes, new_bytes, IpEnd(frame, layout) - layout.l4 - 4);
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
  const Place place = Locate(frame, layout, field);
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

}  // namespace sluice
