// A packet's key: everything that flows can match on, in one fixed layout.
//
// Layout rules. The key is read as 64-bit words; a subtable reads only the
// words in which its mask has a bit, so fields that are matched together share
// a word or a cache line. Multi-byte fields hold network byte order, in_port
// holds the host's. Bytes of an absent header are zero and its bit in `present`
// is clear: a match on a field also matches on that bit, which is how "absent"
// differs from "zero". Line 0 serves everything but IPv6 addresses.
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
    4;  // protocol, TOS, TTL, fragment: as L3, and IPv6's extension headers are whole
// No packet has these. A flow's mask does where it has a range of ports instead
// of port bits, so that flows of one mask have ranges of the same ports.
inline constexpr uint16_t kRangedSource = 0x4000;
inline constexpr uint16_t kRangedDestination = 0x8000;
inline constexpr uint16_t kRanged = kRangedSource | kRangedDestination;

// The bit of PacketKey::vlan_tci (host order) that says "there is a tag". It
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
  // Words 5 to 7.
  uint64_t pad1[3];
  // Line 1.
  uint8_t ipv6_src[16];
  uint8_t ipv6_dst[16];
  uint64_t pad2[4];

  const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(this); }
  uint64_t* words() { return reinterpret_cast<uint64_t*>(this); }
  friend bool operator==(const PacketKey& a, const PacketKey& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
};

inline constexpr size_t kKeyWords = sizeof(PacketKey) / sizeof(uint64_t);
static_assert(sizeof(PacketKey) == 128);
static_assert(offsetof(PacketKey, ipv6_src) == 64);

}  // namespace sluice
