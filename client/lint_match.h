// A flow's match as lint compares it: for each field the bits that it fixes, and
// its ranges apart. What a field says without being named is written out: a VLAN field that
// there is a tag, a port that this is no later fragment.
//
// Pure values; any thread.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "sluice/v1/flow.pb.h"

namespace sluice::client {

// Which bits a match fixes: by ascending field, masks of 0 left out. Of a field with a range
// those that all its values share, and the field stands in `ranged` too.
struct LintShape {
  std::vector<std::pair<v1::Field, absl::uint128>> masks;
  std::vector<v1::Field> ranged;

  // True if a match of this shape says something of all that one of the other shape does; of a
  // field with a range there, that is any condition at all.
  bool Includes(const LintShape& other) const;
  // The bits that matches of both shapes fix.
  static LintShape Common(const LintShape& a, const LintShape& b);

  friend bool operator==(const LintShape&, const LintShape&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const LintShape& shape) {
    return H::combine(std::move(h), shape.masks, shape.ranged);
  }
};

using LintValues = std::vector<absl::uint128>;

class LintMatch {
 public:
  explicit LintMatch(const v1::Match& match);

  LintShape shape() const;
  // Its values of the bits of a shape, whose masks it fixes; of a range those that all its values share.
  LintValues ValuesOf(const LintShape& shape) const;
  // True if each range of this match holds all that the other may have there.
  bool RangesCover(const LintMatch& other) const;
  // True if what both say of a field that has a range in either can be true of one packet.
  bool RangesMeet(const LintMatch& other) const;

 private:
  struct Condition {
    v1::Field field;
    absl::uint128 value;  // the lowest value that matches
    absl::uint128 mask;   // of a range: the bits that all its values share
    uint64_t last;        // of a range; else 0
  };
  const Condition* Find(v1::Field field) const;
  Condition& Entry(v1::Field field);
  void Imply(v1::Field field, uint64_t value, uint64_t mask);
  void ImplyPrerequisites(v1::Field field);

  std::vector<Condition> conditions_;  // by ascending field
};

}  // namespace sluice::client
