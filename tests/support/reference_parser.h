// The parser's slow, obvious twin, and what else tests judge frames by. Written
// from the rules in dataplane/packet/parse.h, byte by byte, every access checked;
// shares no code with the product.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/packet/frame.h"
#include "dataplane/packet/key.h"
#include "dataplane/packet/parse.h"
#include "tests/support/packet_builder.h"

namespace sluice {

struct ReferenceResult {
  ParseResult result = ParseResult::kOk;  // never kNeedMore
  PacketKey key{};
  HeaderLayout layout;
  size_t ip_end = 0;         // one behind the IP packet's last byte, without padding
  size_t header_bytes = 14;  // the frame's bytes up to here were looked at
  // Where neighbour discovery's link-layer addresses are; 0: there is none.
  size_t source_link_at = 0;
  size_t target_link_at = 0;
};

ReferenceResult ReferenceParse(const Bytes& frame, uint32_t in_port);

// Recomputes every checksum that can be computed from this frame alone, in full:
// "" if each is the very value that a sender would have written (or UDP's "none"),
// else what is wrong.
std::string ChecksumErrors(const Bytes& frame);

// Splits a frame whose IP packet is whole, and IPv6 without extension headers,
// into fragments of `size` bytes (a multiple of 8) of IP payload each.
std::vector<Bytes> SplitIntoFragments(const Bytes& frame, size_t size);
// The reverse, for fragments in order, headers taken from the first.
Bytes JoinFragments(const std::vector<Bytes>& fragments);

}  // namespace sluice
