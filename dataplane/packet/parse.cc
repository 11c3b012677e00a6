#include "dataplane/packet/parse.h"

#include "dataplane/packet/big_endian.h"
#include "dataplane/packet/neighbor.h"
#include "dataplane/packet/protocols.h"

namespace sluice {
namespace {

constexpr uint64_t kSixBytes = 0x0000ffffffffffff;
// Words of the key.
constexpr size_t kRareWord = offsetof(PacketKey, tcp_flags) / sizeof(uint64_t);
constexpr size_t kLabelWord = offsetof(PacketKey, ipv6_label) / sizeof(uint64_t);
constexpr size_t kSenderWord = offsetof(PacketKey, arp_sha) / sizeof(uint64_t);
constexpr size_t kTargetWord = offsetof(PacketKey, arp_tha) / sizeof(uint64_t);
// Bits of the bytes that hold them, as they lie in memory.
constexpr uint16_t kTcpFlags = __builtin_bswap16(0x0fff);
constexpr uint32_t kFlowLabel = __builtin_bswap32(0x000fffff);

// What has been found so far. Every function that takes it is inlined, so that it
// lives in registers until Store writes the key's words, each in one piece: a
// lookup reads whole words, and a load cannot be fed from several smaller stores.
struct Headers {
  HeaderLayout layout;
  uint32_t at = 0;    // the next header
  uint32_t size = 0;  // bytes from there to the end of the IP packet
  uint16_t vlan_tci = 0;
  uint16_t present = 0;
  uint8_t tos = 0;
  uint8_t ttl = 0;
  uint32_t l4 = 0;         // l4_src and l4_dst, as in the key
  uint64_t addresses = 0;  // ipv4_src and ipv4_dst, as in the key
  uint64_t rare = 0;       // tcp_flags, inner_vlan_tci and mpls_lse, as in the key
};

inline bool Has(const Frame& frame, uint32_t at, uint32_t bytes) { return at + bytes <= frame.length; }

// Why there are not `bytes` at `at`.
inline ParseResult Shortage(const Frame& frame, uint32_t at, uint32_t bytes, ParseResult if_short) {
  return at + bytes <= frame.total ? ParseResult::kNeedMore : if_short;
}

[[gnu::always_inline]] inline ParseResult ParseLlc(const Frame& frame, Headers& h) {
  constexpr uint64_t kSnapWithOuiZero = 0x03aaaa;
  h.layout.eth_type = kEthTypeNone;
  if (!Has(frame, h.at, kLlcSnapSize)) return Shortage(frame, h.at, kLlcSnapSize, ParseResult::kOk);
  const auto llc = LoadRaw<uint64_t>(frame.data + h.at);
  const uint16_t protocol = SwapBytes(static_cast<uint16_t>(llc >> 48));
  if ((llc & kSixBytes) == kSnapWithOuiZero && protocol >= kEthTypeMin) {
    h.at += kLlcSnapSize;
    h.layout.eth_type = protocol;
  }
  return ParseResult::kOk;
}

// Tags and EtherType; leaves h.at behind them.
[[gnu::always_inline]] inline ParseResult FindEtherType(const Frame& frame, Headers& h) {
  uint32_t at = kEthernetSize - 2;
  auto type = LoadBig<uint16_t>(frame.data + at);
  while (IsVlanTpid(type) && h.layout.vlan_tags < 2) {
    constexpr uint32_t kTagAndType = kVlanTagSize + 2;
    if (!Has(frame, at, kTagAndType)) {
      if (Shortage(frame, at, kTagAndType, ParseResult::kOk) == ParseResult::kNeedMore) return ParseResult::kNeedMore;
      break;
    }
    const auto tci = static_cast<uint16_t>(LoadBig<uint16_t>(frame.data + at + 2) | kTciPresent);
    if (h.layout.vlan_tags++ == 0) {
      h.vlan_tci = tci;
    } else {
      h.rare = uint64_t{SwapBytes(tci)} << 16;
    }
    at += kVlanTagSize;
    type = LoadBig<uint16_t>(frame.data + at);
  }
  h.at = at + 2;
  h.layout.eth_type = type;
  if (type >= kEthTypeMin) return ParseResult::kOk;
  return ParseLlc(frame, h);
}

[[gnu::always_inline]] inline ParseResult ParseMpls(const Frame& frame, Headers& h) {
  if (!Has(frame, h.at, kMplsSize)) return Shortage(frame, h.at, kMplsSize, ParseResult::kOk);
  h.layout.mpls = static_cast<uint16_t>(h.at);
  h.present = kPresentMpls;
  h.rare |= uint64_t{LoadRaw<uint32_t>(frame.data + h.at)} << 32;
  return ParseResult::kOk;
}

// Bytes of the header that has the L4 fields; 0: a protocol that has none.
inline uint32_t L4Size(const HeaderLayout& layout) {
  switch (layout.ip_proto) {
    case kIpProtoTcp:
      return kTcpSize;
    case kIpProtoUdp:
      return kUdpSize;
    case kIpProtoSctp:
      return kSctpSize;
    case kIpProtoIcmp:
      return layout.eth_type == kEthTypeIpv4 ? kIcmpSize : 0;
    case kIpProtoIcmpv6:
      return layout.eth_type == kEthTypeIpv6 ? kIcmpSize : 0;
    default:
      return 0;
  }
}

// A header that is too short for its fields. ICMPv6's checksum may still be
// there, and addresses still count in it.
[[gnu::always_inline]] inline ParseResult ParseShortL4(const Frame& frame, Headers& h) {
  if (h.layout.ip_proto != kIpProtoIcmpv6 || h.layout.eth_type != kEthTypeIpv6) return ParseResult::kOk;
  if (h.size < kIcmpChecksumEnd) return ParseResult::kOk;
  if (!Has(frame, h.at, kIcmpChecksumEnd)) return ParseResult::kNeedMore;
  h.layout.l4 = h.at;
  return ParseResult::kOk;
}

// What ICMPv6 has behind its type and code.
[[gnu::always_inline]] inline ParseResult ParseNeighbor(const Frame& frame, Headers& h, PacketKey& key) {
  const NeighborPlaces places = FindNeighbor(frame, h.at, h.size);
  if (places.more) return ParseResult::kNeedMore;
  if (places.target == 0) return ParseResult::kOk;
  h.layout.nd = true;
  h.present |= kPresentNd;
  std::memcpy(key.nd_target, frame.data + places.target, sizeof key.nd_target);
  // With the two bytes of the option that are before the address.
  constexpr uint32_t kBefore = 2;
  if (places.source_link != 0) {
    h.present |= kPresentNdSource;
    key.words()[kSenderWord] = LoadRaw<uint64_t>(frame.data + places.source_link - kBefore) >> 16;
  }
  if (places.target_link != 0) {
    h.present |= kPresentNdTarget;
    key.words()[kTargetWord] = LoadRaw<uint64_t>(frame.data + places.target_link - kBefore) >> 16;
  }
  return ParseResult::kOk;
}

[[gnu::always_inline]] inline ParseResult ParseL4(const Frame& frame, Headers& h, PacketKey& key) {
  if ((h.layout.ip_frag & kFragLater) != 0) return ParseResult::kOk;
  const uint32_t needed = L4Size(h.layout);
  if (needed == 0 || h.size < needed) return ParseShortL4(frame, h);
  if (!Has(frame, h.at, needed)) return ParseResult::kNeedMore;
  const uint8_t* l4 = frame.data + h.at;
  h.layout.l4 = h.at;
  if (h.layout.ip_proto == kIpProtoTcp) {
    const uint32_t header = (l4[12] >> 4) * 4u;
    if (header < kTcpSize || header > h.size) return ParseResult::kOk;
    h.rare |= LoadRaw<uint16_t>(l4 + 12) & kTcpFlags;
  }
  const bool ports = h.layout.ip_proto != kIpProtoIcmp && h.layout.ip_proto != kIpProtoIcmpv6;
  h.l4 = LoadRaw<uint32_t>(l4) & (ports ? 0xffffffff : 0xffff);
  h.layout.l4_fields = true;
  h.present |= kPresentL4;
  return h.layout.ip_proto == kIpProtoIcmpv6 ? ParseNeighbor(frame, h, key) : ParseResult::kOk;
}

[[gnu::always_inline]] inline ParseResult ParseIpv4(const Frame& frame, Headers& h, PacketKey& key) {
  if (!Has(frame, h.at, kIpv4Size)) return Shortage(frame, h.at, kIpv4Size, ParseResult::kMalformed);
  const uint8_t* ip = frame.data + h.at;
  const uint32_t header = (ip[0] & 15u) * 4;
  const uint32_t total = LoadBig<uint16_t>(ip + 2);
  if (ip[0] >> 4 != 4 || header < kIpv4Size || header > total || total > frame.total - h.at) {
    return ParseResult::kMalformed;
  }
  const uint16_t fragment = LoadBig<uint16_t>(ip + 6);
  if ((fragment & 0x3fff) != 0) h.layout.ip_frag = (fragment & 0x1fff) != 0 ? kFragAny | kFragLater : kFragAny;
  h.layout.l3 = static_cast<uint16_t>(h.at);
  h.layout.ip_proto = ip[9];
  h.present = kPresentL3 | kPresentIp;
  h.tos = ip[1];
  h.ttl = ip[8];
  h.addresses = LoadRaw<uint64_t>(ip + 12);
  h.at += header;
  h.size = total - header;
  return ParseL4(frame, h, key);
}

// Where a chain of extension headers ended.
struct ChainEnd {
  ParseResult result = ParseResult::kOk;
  uint8_t ip_proto = 0;
  uint8_t ip_frag = 0;
  uint32_t at = 0;
  uint32_t size = 0;
};

[[gnu::noinline]] ChainEnd WalkExtensions(const Frame& frame, uint8_t ip_proto, uint32_t at, uint32_t size) {
  uint8_t frag = 0;
  while (IsIpv6Extension(ip_proto)) {
    constexpr uint32_t kLooked = 8;  // every extension header has as many
    if (size < kLooked) return {.result = ParseResult::kMalformed};
    if (!Has(frame, at, kLooked)) return {.result = ParseResult::kNeedMore};
    const uint8_t* header = frame.data + at;
    const uint32_t header_size = Ipv6ExtensionSize(ip_proto, header[1]);
    if (size < header_size) return {.result = ParseResult::kMalformed};
    at += header_size;
    size -= header_size;
    if (ip_proto == kIpProtoFragment) {
      const auto fragment = LoadBig<uint16_t>(header + 2);
      if (fragment != 0) frag |= kFragAny;
      if (fragment >> 3 != 0) return {ParseResult::kOk, kIpProtoFragment, kFragAny | kFragLater, at, size};
    }
    ip_proto = header[0];
  }
  return {ParseResult::kOk, ip_proto, frag, at, size};
}

[[gnu::always_inline]] inline ParseResult ParseIpv6(const Frame& frame, Headers& h, PacketKey& key) {
  if (!Has(frame, h.at, kIpv6Size)) return Shortage(frame, h.at, kIpv6Size, ParseResult::kMalformed);
  const uint8_t* ip = frame.data + h.at;
  const uint32_t payload = LoadBig<uint16_t>(ip + 4);
  if (ip[0] >> 4 != 6 || payload > frame.total - h.at - kIpv6Size) return ParseResult::kMalformed;
  std::memcpy(key.ipv6_src, ip + 8, sizeof key.ipv6_src);
  std::memcpy(key.ipv6_dst, ip + 24, sizeof key.ipv6_dst);
  h.present = kPresentL3;
  ChainEnd end{ParseResult::kOk, ip[6], 0, h.at + kIpv6Size, payload};
  if (IsIpv6Extension(ip[6])) {
    end = WalkExtensions(frame, ip[6], h.at + kIpv6Size, payload);
    if (end.result != ParseResult::kOk) return end.result;
  }
  h.layout.l3 = static_cast<uint16_t>(h.at);
  h.layout.ip_proto = end.ip_proto;
  h.layout.ip_frag = end.ip_frag;
  h.present |= kPresentIp;
  h.tos = static_cast<uint8_t>(LoadBig<uint16_t>(ip) >> 4);
  h.ttl = ip[7];
  key.words()[kLabelWord] = LoadRaw<uint32_t>(ip) & kFlowLabel;
  h.at = end.at;
  h.size = end.size;
  return ParseL4(frame, h, key);
}

[[gnu::always_inline]] inline ParseResult ParseArp(const Frame& frame, Headers& h, PacketKey& key) {
  constexpr uint32_t kFixed = 8;
  constexpr uint64_t kEthernetIpv4 = 0x040600080100;
  if (!Has(frame, h.at, kFixed)) return Shortage(frame, h.at, kFixed, ParseResult::kMalformed);
  const uint8_t* arp = frame.data + h.at;
  const uint32_t size = kFixed + 2u * arp[4] + 2u * arp[5];
  if (size > frame.total - h.at) return ParseResult::kMalformed;
  if ((LoadRaw<uint64_t>(arp) & kSixBytes) != kEthernetIpv4) return ParseResult::kOk;
  if (!Has(frame, h.at, kArpSize)) return ParseResult::kNeedMore;
  h.layout.l3 = static_cast<uint16_t>(h.at);
  h.present = kPresentL3;
  h.l4 = LoadRaw<uint16_t>(arp + 6);
  h.addresses = LoadRaw<uint32_t>(arp + 14) | uint64_t{LoadRaw<uint32_t>(arp + 24)} << 32;
  key.words()[kSenderWord] = LoadRaw<uint64_t>(arp + 8) & kSixBytes;
  key.words()[kTargetWord] = LoadRaw<uint64_t>(arp + 18) & kSixBytes;
  return ParseResult::kOk;
}

static_assert(offsetof(PacketKey, eth_type) == 4 && offsetof(PacketKey, present) == 6);
static_assert(offsetof(PacketKey, eth_dst) == 8 && offsetof(PacketKey, vlan_tci) == 14);
static_assert(offsetof(PacketKey, eth_src) == 16 && offsetof(PacketKey, ipv4_src) == 24);
static_assert(offsetof(PacketKey, ip_proto) == 32 && offsetof(PacketKey, ip_frag) == 35);
static_assert(offsetof(PacketKey, l4_src) == 36 && offsetof(PacketKey, l4_dst) == 38);
static_assert(offsetof(PacketKey, ipv6_dst) == offsetof(PacketKey, ipv6_src) + 16);
static_assert(offsetof(PacketKey, tcp_flags) == 40 && offsetof(PacketKey, inner_vlan_tci) == 42);
static_assert(offsetof(PacketKey, mpls_lse) == 44 && offsetof(PacketKey, ipv6_label) == 48);
static_assert(offsetof(PacketKey, arp_sha) == 112 && offsetof(PacketKey, arp_tha) == 120);

// Member by member: as a whole it would be put together in memory and read from
// there before its parts have arrived.
[[gnu::always_inline]] inline void StoreLayout(const HeaderLayout& from, HeaderLayout& to) {
  to.l4 = from.l4;
  to.l3 = from.l3;
  to.eth_type = from.eth_type;
  to.vlan_tags = from.vlan_tags;
  to.mpls = from.mpls;
  to.ip_proto = from.ip_proto;
  to.ip_frag = from.ip_frag;
  to.l4_fields = from.l4_fields;
  to.nd = from.nd;
}

[[gnu::always_inline]] inline void Store(const Frame& frame, uint32_t in_port, const Headers& h, PacketKey& key) {
  StoreLink(frame, in_port, h.layout.eth_type, h.present, h.vlan_tci, key);
  uint64_t* words = key.words();
  words[3] = h.addresses;
  words[4] = h.layout.ip_proto | uint64_t{h.tos} << 8 | uint64_t{h.ttl} << 16 | uint64_t{h.layout.ip_frag} << 24 |
             uint64_t{h.l4} << 32;
  words[kRareWord] = h.rare;
}

}  // namespace

ParseResult Parse(const Frame& frame, uint32_t in_port, PacketKey& key, HeaderLayout& layout) {
  if (!Has(frame, 0, kEthernetSize)) return Shortage(frame, 0, kEthernetSize, ParseResult::kTooShort);
  // What Store does not write.
  std::memset(key.words() + kLabelWord, 0, (kFirstPipelineWord - kLabelWord) * sizeof(uint64_t));
  Headers h;
  ParseResult result = FindEtherType(frame, h);
  if (result == ParseResult::kOk) {
    if (h.layout.eth_type == kEthTypeIpv4) {
      result = ParseIpv4(frame, h, key);
    } else if (h.layout.eth_type == kEthTypeIpv6) {
      result = ParseIpv6(frame, h, key);
    } else if (h.layout.eth_type == kEthTypeArp) {
      result = ParseArp(frame, h, key);
    } else if (IsMpls(h.layout.eth_type)) {
      result = ParseMpls(frame, h);
    }
  }
  Store(frame, in_port, h, key);
  StoreLayout(h.layout, layout);
  return result;
}

ParseResult ParseLinkWithTags(const Frame& frame, uint32_t in_port, PacketKey& key, HeaderLayout& layout) {
  if (!Has(frame, 0, kEthernetSize)) return Shortage(frame, 0, kEthernetSize, ParseResult::kTooShort);
  Headers h;
  const ParseResult result = FindEtherType(frame, h);
  StoreLink(frame, in_port, h.layout.eth_type, h.present, h.vlan_tci, key);
  StoreLayout(h.layout, layout);
  return result;
}

}  // namespace sluice
