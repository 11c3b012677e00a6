// From a frame's bytes to its key.
//
// What counts as a header, and when it is malformed, is decided here and only
// here: Ethernet with up to two tags (802.1Q, 802.1ad), LLC/SNAP, ARP, IPv4
// with options and fragments, IPv6 with extension headers and fragments, TCP,
// UDP, SCTP, ICMP, ICMPv6. A header whose length contradicts the bytes that are
// there leaves the layers above it matchable and everything from it on absent.
// Bytes behind the IP total length are padding, never a header.
//
// Pure; any thread. Reads nothing outside [data, data + length).

#pragma once

#include <cstdint>

#include "dataplane/packet/frame.h"
#include "dataplane/packet/key.h"

namespace sluice {

enum class ParseResult : uint8_t {
  kOk,
  kMalformed,  // an IP or ARP header contradicts its own length; the key holds what came before it
  kTooShort,   // no whole Ethernet header: the key is not filled
  kNeedMore,   // a header crosses `length` while `total` has more: make more contiguous and parse again
};

// Fills key (all of it) and layout.
ParseResult Parse(const Frame& frame, uint32_t in_port, PacketKey& key, HeaderLayout& layout);

}  // namespace sluice
