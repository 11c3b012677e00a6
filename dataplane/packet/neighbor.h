// Where a neighbour solicitation or advertisement (RFC 4861) has its target and
// its link-layer addresses: parsing and rewriting both look for them, since
// options have no fixed place.
//
// The rules are Open vSwitch's. ICMPv6 of type 135 or 136 and code 0 with room
// for a target has one. An option of length 0, or that runs past the end, ends
// the walk over options, and what came before it counts. An option with a
// link-layer address is 8 bytes long; of two of a kind the second counts if the
// first holds zero, else the message has none of these fields.
//
// Pure; any thread. Reads nothing outside [data, data + length).

#pragma once

#include <cstdint>

#include "dataplane/packet/frame.h"

namespace sluice {

struct NeighborPlaces {
  bool more = false;  // what tells crosses Frame::length; there are no places then
  // Offsets from Frame::data; 0: there is none.
  uint32_t target = 0;
  uint32_t source_link = 0;  // of the address
  uint32_t target_link = 0;
};

// icmp: where an ICMPv6 header is, of which 8 bytes are at hand; size: bytes from
// there to the end of the IP packet.
NeighborPlaces FindNeighbor(const Frame& frame, uint32_t icmp, uint32_t size);

}  // namespace sluice
