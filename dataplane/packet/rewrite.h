// Changes of a frame's headers, in place, with checksums kept right.
//
// UDP over IPv4 with checksum zero ("none") keeps zero; a checksum that comes
// out as zero is written as 0xffff for UDP. Addresses in the pseudo header
// renew the TCP, UDP and ICMPv6 checksum of unfragmented packets and first
// fragments; later fragments have no L4 header and their payload is never
// touched. Each function updates the layout that it is given.
//
// Pure; any thread. Touches nothing outside [data - headroom, data + length).

#pragma once

#include <cstdint>

#include "absl/numeric/int128.h"
#include "dataplane/packet/field.h"
#include "dataplane/packet/frame.h"

namespace sluice {

// Writes value under mask (both as GetField counts them) into the field. Does
// nothing if the frame lacks it.
void SetField(Frame& frame, HeaderLayout& layout, Field field, absl::uint128 value, absl::uint128 mask);

// Puts a tag in front of any others; it copies VID and PCP of the tag below or
// is zero. tpid in host order. False, and the frame is as it was, if headroom
// has less than 4 bytes.
bool PushVlan(Frame& frame, HeaderLayout& layout, uint16_t tpid);

// Removes the outer tag. Does nothing to an untagged frame.
void PopVlan(Frame& frame, HeaderLayout& layout);

// False, and the frame is as it was, if there is no IP header or its TTL is 0 or 1.
bool DecrementTtl(Frame& frame, const HeaderLayout& layout);

}  // namespace sluice
