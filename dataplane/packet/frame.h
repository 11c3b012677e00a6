// A frame as bytes in memory, and where its headers are.
//
// Code under packet/ works on this and never on mbufs: the worker maps one to
// the other, and tests and fuzzers use heap buffers, where a sanitizer sees
// every byte read too far. Value types; the bytes belong to the caller.

#pragma once

#include <cstdint>

#include "dataplane/packet/protocols.h"

namespace sluice {

struct Frame {
  uint8_t* data;      // the first byte of the Ethernet header
  uint32_t length;    // bytes that may be touched at data
  uint32_t total;     // bytes of the whole frame; more than length if the rest lies in further segments
  uint32_t headroom;  // bytes in front of data that a header may grow into
};

// Offsets from Frame::data. 0 means that there is no such header, that it is
// malformed, or that what lies between cannot be understood (an IPv6 header
// whose extension headers run past its end; anything behind MPLS): then nothing
// there is rewritten.
struct HeaderLayout {
  uint32_t l4 = 0;         // TCP, UDP, SCTP, ICMP or ICMPv6; never set for later fragments
  uint16_t l3 = 0;         // IPv4, IPv6 or ARP
  uint16_t eth_type = 0;   // host order, of what stands at l3 or mpls; a third tag's TPID if there are three
  uint16_t vlan_tags = 0;  // tags that were parsed (two at most) and pushed since
  uint16_t mpls = 0;       // the outermost label stack entry
  uint8_t ip_proto = 0;    // as in PacketKey
  uint8_t ip_frag = 0;     // as in PacketKey
  bool l4_fields = false;  // as kPresentL4: else there is no more at l4 than a checksum to be renewed
  bool nd = false;         // as kPresentNd

  bool has_ipv4() const { return l3 != 0 && eth_type == kEthTypeIpv4; }
  bool has_ipv6() const { return l3 != 0 && eth_type == kEthTypeIpv6; }
  bool has_arp() const { return l3 != 0 && eth_type == kEthTypeArp; }

  friend bool operator==(const HeaderLayout&, const HeaderLayout&) = default;
};

}  // namespace sluice
