// Changes of a frame's headers, in place, with checksums kept right.
//
// Checksums are renewed from the change alone (checksum.h): payload, padding and
// other segments are not read, and a checksum that was wrong stays wrong.
// - UDP with checksum zero ("none") keeps zero; one that comes out as zero is
//   written as 0xffff.
// - Addresses stand in the pseudo header of TCP, UDP and ICMPv6. Packets that hold
//   that checksum, first fragments among them, get it renewed; of later fragments
//   nothing behind the IP header is touched.
// - IPv6 destination with a routing header that has segments left: the pseudo
//   header holds the final destination, not this one, and the checksum stays.
// - What neighbour discovery has behind its type is under ICMPv6's checksum. Nothing
//   covers ARP, the IPv6 flow label or MPLS; IP behind MPLS is left alone.
// - SCTP's CRC covers ports and payload, no addresses. That of a first fragment
//   cannot be renewed (the length of the whole is not known) and comes out wrong.
//
// Files: rewrite.cc fields, rewrite_push.cc tags and labels.
//
// Each function updates the frame and the layout that it is given. The layout is
// what Parse found in these bytes. Pure; any thread. Touches nothing outside
// [data - headroom, data + length).

#pragma once

#include <cstdint>
#include <cstring>

#include "absl/numeric/int128.h"
#include "dataplane/packet/big_endian.h"
#include "dataplane/packet/field.h"
#include "dataplane/packet/frame.h"
#include "dataplane/packet/protocols.h"

namespace sluice {

// Writes value under mask (both as GetField counts them) into the field. Does
// nothing if the frame lacks it or the field is not writable, as those are that
// travel with a packet and lie in no frame. Of neighbour discovery, what Parse did
// not find counts as lacking, whatever was written since. DEI stays as it is.
void SetField(Frame& frame, const HeaderLayout& layout, Field field, absl::uint128 value, absl::uint128 mask);

// Writes of Ethernet addresses, taken together: bits of a frame's first twelve
// bytes as they lie in memory, what is kept and what is put there.
struct AddressRewrite {
  uint64_t keep_first = ~uint64_t{0};  // bytes 0 to 7
  uint64_t put_first = 0;
  uint32_t keep_last = ~uint32_t{0};  // bytes 8 to 11
  uint32_t put_last = 0;

  // As SetField of kEthDst or kEthSrc, after what was added before.
  void Add(Field field, absl::uint128 value, absl::uint128 mask);
};

inline void SetAddresses(Frame& frame, const AddressRewrite& rewrite) {
  uint64_t first;
  uint32_t last;
  std::memcpy(&first, frame.data, sizeof first);
  std::memcpy(&last, frame.data + sizeof first, sizeof last);
  first = (first & rewrite.keep_first) | rewrite.put_first;
  last = (last & rewrite.keep_last) | rewrite.put_last;
  std::memcpy(frame.data, &first, sizeof first);
  std::memcpy(frame.data + sizeof first, &last, sizeof last);
}

// Puts a tag in front of any others; it copies VID and PCP of the tag below or
// is zero; DEI is clear. tpid in host order. False, and the frame is as it was,
// if headroom has less than 4 bytes.
bool PushVlan(Frame& frame, HeaderLayout& layout, uint16_t tpid);

// Removes the outer tag. Does nothing to an untagged frame. Where that brings a
// third tag within reach, the layout is found anew and may hold more than before
// (headers that cross `length` excepted).
void PopVlan(Frame& frame, HeaderLayout& layout);

// Puts a label stack entry in front of any others and behind the tags; eth_type
// (MPLS's, host order) takes the EtherType's place. It copies label, TC and TTL of
// the entry below. The first one is the bottom of the stack and has, as Open
// vSwitch does it, the label "explicit null" (0, 2 over IPv6), of DSCP the lower three
// bits, and IP's TTL; 0 and 64 where there is no IP, or a TTL of 0. What is behind
// it is then out of reach. False, and the frame is as it was, if headroom has less
// than 4 bytes.
bool PushMpls(Frame& frame, HeaderLayout& layout, uint16_t eth_type);

// Removes the outermost label stack entry; eth_type (host order) is what the frame
// then has. Does nothing to a frame without one. The layout is found anew, as by
// Parse, and may hold more than before (headers that cross `length` excepted).
void PopMpls(Frame& frame, HeaderLayout& layout, uint16_t eth_type);

// Of the outermost label stack entry. False, and the frame is as it was, if there
// is none or its TTL is 0 or 1.
inline bool DecrementMplsTtl(Frame& frame, const HeaderLayout& layout) {
  if (layout.mpls == 0) return false;
  uint8_t& ttl = frame.data[layout.mpls + kMplsSize - 1];
  if (ttl <= 1) return false;
  --ttl;
  return true;
}

// False, and the frame is as it was, if there is no IP header or its TTL is 0 or 1.
inline bool DecrementTtl(Frame& frame, const HeaderLayout& layout) {
  const bool ipv4 = layout.eth_type == kEthTypeIpv4;
  if (layout.l3 == 0 || (!ipv4 && layout.eth_type != kEthTypeIpv6)) return false;
  uint8_t& ttl = frame.data[layout.l3 + (ipv4 ? 8 : 7)];
  if (ttl <= 1) return false;
  --ttl;
  if (!ipv4) return true;
  // RFC 1624, equation 3, with one less in the higher byte of a word.
  uint8_t* checksum = frame.data + layout.l3 + 10;
  uint32_t sum = (~LoadBig<uint16_t>(checksum) & 0xffffu) + 0xfeff;
  sum = (sum & 0xffff) + (sum >> 16);
  StoreBig(checksum, static_cast<uint16_t>(~sum));
  return true;
}

}  // namespace sluice
