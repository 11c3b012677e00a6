// What a change of a frame must come to, said without rewriting: which bytes a
// field has, what its checksums must still add up to.
//
// Built on the reference parser; shares no code with the product's rewriting.
// Value types; one thread.

#pragma once

#include <string>

#include "absl/numeric/int128.h"
#include "dataplane/packet/field.h"
#include "dataplane/packet/frame.h"
#include "tests/support/reference_parser.h"

namespace sluice::fuzz {

// A frame, read twice: as it stands, and without the tags that were pushed on
// top of the two that a parser looks through.
struct Reading {
  explicit Reading(const Bytes& bytes, const HeaderLayout& layout);

  Bytes bytes;
  size_t hidden = 0;  // bytes of the tags in between
  bool nd;            // neighbour discovery was found when the headers were last looked for
  ReferenceResult outer;
  ReferenceResult inner;

  // The layout that the product should hold.
  HeaderLayout Layout() const;
};

// True if the frame has the field and it may be written. VLAN fields are those of
// the outer tag.
bool HasField(const Reading& reading, Field field);
absl::uint128 ReadField(const Reading& reading, Field field);

// Where what the EtherType says begins, and the label stack entry that push_mpls
// puts there.
size_t PayloadAt(const Reading& reading);
uint32_t EntryToPush(const Reading& reading);

// "" if `after` is `before` with the field's bits set to `value` and nothing else
// changed, all checksums as right or as wrong as they were; else what is wrong.
std::string JudgeChange(const Reading& before, const Reading& after, Field field, absl::uint128 value);

}  // namespace sluice::fuzz
