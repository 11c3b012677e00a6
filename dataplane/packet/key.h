// A packet's key: everything that flows can match on, in one fixed layout.
//
// Layout rules. The key is read as 64-bit words; a subtable reads only the
// words in which its mask has a bit, so fields that are matched together share
// a word or a cache line. Multi-byte fields hold network byte order, in_port
// holds the host's. Bytes of an absent header are zero and its bit in `present`
// is clear: a match on a field also matches on that bit, which is how "absent"
// differs from "zero".
//
// Line 0 serves everything but IPv6 addresses, neighbour discovery and ARP's
// hardware addresses, which are line 1. Lines 0 and 1 say what a frame holds and
// are filled from it; line 2 holds what travels with a packet from table to table
// and is zero when the packet comes in.
//
// A value type; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

// Bits of PacketKey::present.
inline constexpr uint16_t kPresentL3 = 1;  // addresses, or ARP's fields: a well-formed IPv4, IPv6 or ARP header
inline constexpr uint16_t kPresentL4 = 2;  // ports, or ICMP type and code
inline constexpr uint16_t kPresentIp =
    4;  // protocol, TOS, TTL, fragment, label: as L3, and IPv6's extension headers are whole
inline constexpr uint16_t kPresentMpls = 8;         // a whole label stack entry
inline constexpr uint16_t kPresentNd = 0x10;        // neighbour discovery's target
inline constexpr uint16_t kPresentNdSource = 0x20;  // as Nd, with a source link-layer address
inline constexpr uint16_t kPresentNdTarget = 0x40;  // as Nd, with a target link-layer address
// No packet has these. A flow's mask does where it has a range of ports instead
// of port bits, so that flows of one mask have ranges of the same ports.
inline constexpr uint16_t kRangedSource = 0x4000;
inline constexpr uint16_t kRangedDestination = 0x8000;
inline constexpr uint16_t kRanged = kRangedSource | kRangedDestination;

// The bit of PacketKey::vlan_tci and inner_vlan_tci (host order) that says "there is a tag". It
// stands where the frame has DEI, as in Open vSwitch; DEI is not matched on.
inline constexpr uint16_t kTciPresent = 0x1000;

// Bits of PacketKey::ip_frag.
inline constexpr uint8_t kFragAny = 1;
inline constexpr uint8_t kFragLater = 2;

// PacketKey::eth_type (host order) of a frame without an EtherType.
inline constexpr uint16_t kEthTypeNone = 0x05ff;

struct alignas(64) PacketKey {
  // Word 0.
  uint32_t in_port;   // host order
  uint16_t eth_type;  // of what follows the tags, or kEthTypeNone
  uint16_t present;   // kPresent… bits, host order
  // Word 1.
  uint8_t eth_dst[6];
  uint16_t vlan_tci;  // outer tag: PCP, kTciPresent, VID; zero without a tag
  // Word 2.
  uint8_t eth_src[6];
  uint16_t pad0;
  // Word 3.
  uint32_t ipv4_src;  // or ARP's sender protocol address
  uint32_t ipv4_dst;  // or ARP's target protocol address
  // Word 4.
  uint8_t ip_proto;
  uint8_t ip_tos;   // DSCP and ECN
  uint8_t ip_ttl;   // or hop limit
  uint8_t ip_frag;  // kFrag… bits
  uint16_t l4_src;  // port; or ICMP type in the first byte, code in the second; or ARP's operation
  uint16_t l4_dst;  // port
  // Word 5.
  uint16_t tcp_flags;       // 12 bits
  uint16_t inner_vlan_tci;  // second tag, as vlan_tci
  uint32_t mpls_lse;        // outermost label stack entry: label, TC, bottom of stack, TTL
  // Word 6.
  uint32_t ipv6_label;  // 20 bits
  uint32_t pad1;
  // Word 7.
  uint64_t pad2;
  // Line 1.
  uint8_t ipv6_src[16];
  uint8_t ipv6_dst[16];
  uint8_t nd_target[16];
  uint8_t arp_sha[6];  // or neighbour discovery's source link-layer address
  uint16_t pad3;
  uint8_t arp_tha[6];  // or its target link-layer address
  uint16_t pad4;
  // Line 2.
  uint64_t metadata;
  uint32_t registers[8];
  uint64_t pad5[3];

  const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(this); }
  uint64_t* words() { return reinterpret_cast<uint64_t*>(this); }
  friend bool operator==(const PacketKey& a, const PacketKey& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
};

inline constexpr size_t kKeyWords = sizeof(PacketKey) / sizeof(uint64_t);
// The words before it are filled from a frame.
inline constexpr size_t kFirstPipelineWord = 16;
static_assert(sizeof(PacketKey) == 192);

inline void ClearPipelineFields(PacketKey& key) {
  std::memset(key.words() + kFirstPipelineWord, 0, sizeof key - kFirstPipelineWord * sizeof(uint64_t));
}

static_assert(offsetof(PacketKey, ipv6_src) == 64);
static_assert(offsetof(PacketKey, metadata) == kFirstPipelineWord * sizeof(uint64_t));

}  // namespace sluice
