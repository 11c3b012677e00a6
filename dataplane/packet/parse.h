// From a frame's bytes to its key.
//
// What counts as a header, and when it is malformed, is decided here and only
// here: Ethernet with up to two tags (802.1Q, 802.1ad), LLC/SNAP, MPLS, ARP, IPv4
// with options and fragments, IPv6 with extension headers and fragments, TCP,
// UDP, SCTP, ICMP (in IPv4), ICMPv6 (in IPv6) with neighbour discovery. A header
// whose length contradicts the bytes that are there leaves the layers above it
// matchable and everything from it on absent. Bytes behind the IP total length
// are padding, never a header.
//
// The fine print, which is Open vSwitch's where nothing else is said:
// - A third tag, or one that is cut off, is the EtherType.
// - 802.3: only SNAP with OUI 0 and a protocol number from 0x0600 on has an
//   EtherType. The 802.3 length is not looked at.
// - IPv4: the version, 20 bytes <= header length <= total length <= bytes there.
//   IPv6: the version, payload length <= bytes there; no jumbograms. (Open
//   vSwitch does not look at the versions.)
// - IPv6 extension headers that run past the payload length: the addresses stay
//   matchable; protocol, TOS, TTL and fragment are absent (Open vSwitch: zero).
// - A fragment header with offset 0, no more fragments and no reserved bit is no
//   fragment. A later IPv6 fragment has protocol 44.
// - A TCP, UDP, SCTP, ICMP or ICMPv6 header needs 20, 8, 12, 8 or 8 bytes within
//   the IP length, and TCP's data offset must be 20 bytes or more and fit in, else
//   the packet has no L4 fields, which is not called malformed. Other lengths
//   (UDP's, SCTP chunks') are not looked at.
// - ARP for other than Ethernet and IPv4 has no fields.
// - Of MPLS the outermost label stack entry is read and nothing behind it; less
//   than an entry has no fields, which is not called malformed.
// - Neighbour discovery: see neighbor.h.
//
// Pure; any thread. Reads nothing outside [data, data + length).

#pragma once

#include <cstdint>

#include "dataplane/packet/big_endian.h"
#include "dataplane/packet/frame.h"
#include "dataplane/packet/key.h"
#include "dataplane/packet/protocols.h"

namespace sluice {

enum class ParseResult : uint8_t {
  kOk,
  kMalformed,  // an IP or ARP header contradicts its own length; the key holds what came before it
  kTooShort,   // no whole Ethernet header: key and layout are not filled
  kNeedMore,   // a header crosses `length` while `total` has more: make more contiguous and parse again;
               // key and layout hold what came before it, or are not filled if that is the Ethernet header
};

// Fills the key's lines 0 and 1, and layout. Line 2 is the pipeline's.
ParseResult Parse(const Frame& frame, uint32_t in_port, PacketKey& key, HeaderLayout& layout);

// No deeper than tags and EtherType, for who looks at nothing else: fills the
// key's words 0 to 2 with what Parse would, presence left out, and of the layout
// tags and EtherType. Never kMalformed.
inline ParseResult ParseLink(const Frame& frame, uint32_t in_port, PacketKey& key, HeaderLayout& layout);

ParseResult ParseLinkWithTags(const Frame& frame, uint32_t in_port, PacketKey& key, HeaderLayout& layout);

// The key's words 0 to 2. vlan_tci in host order.
inline void StoreLink(const Frame& frame, uint32_t in_port, uint16_t eth_type, uint16_t present, uint16_t vlan_tci,
                      PacketKey& key) {
  constexpr uint64_t kSixBytes = 0x0000ffffffffffff;
  uint64_t* words = key.words();
  words[0] = in_port | uint64_t{SwapBytes(eth_type)} << 32 | uint64_t{present} << 48;
  words[1] = (LoadRaw<uint64_t>(frame.data) & kSixBytes) | uint64_t{SwapBytes(vlan_tci)} << 48;
  words[2] = LoadRaw<uint64_t>(frame.data + 6) & kSixBytes;
}

inline ParseResult ParseLink(const Frame& frame, uint32_t in_port, PacketKey& key, HeaderLayout& layout) {
  if (frame.length < kEthernetSize) return ParseLinkWithTags(frame, in_port, key, layout);
  const auto eth_type = LoadBig<uint16_t>(frame.data + kEthernetSize - 2);
  if (eth_type < kEthTypeMin || IsVlanTpid(eth_type)) return ParseLinkWithTags(frame, in_port, key, layout);
  StoreLink(frame, in_port, eth_type, 0, 0, key);
  layout = {};
  layout.eth_type = eth_type;
  return ParseResult::kOk;
}

}  // namespace sluice
