// The options of fields.proto as a table by field number, read by reflection
// once, so that validating a flow costs an index and no reflection.
//
// That the enum's numbers are the dataplane's is checked at compile time, that
// sizes agree by a unit test. Pure; any thread.

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/numeric/int128.h"
#include "dataplane/flow/match.h"
#include "dataplane/packet/field.h"
#include "sluice/v1/fields.pb.h"

namespace sluice {

struct FieldInfo {
  Field field = Field::kNone;
  v1::Field number = v1::FIELD_UNSPECIFIED;
  std::string name;  // as in flow text; empty: no such field
  unsigned bits = 0;
  absl::uint128 all = 0;  // a mask of all its bits
  v1::Prerequisite prerequisite = v1::PREREQUISITE_UNSPECIFIED;
  bool maskable = false;
  bool writable = false;
  bool rangeable = false;
  bool hexadecimal = false;  // how messages show its values

  bool wide() const { return bits > 64; }
};

using FieldTable = std::array<FieldInfo, kFieldCount>;

// Indexed by field number; number 0 is empty.
const FieldTable& Fields();

// Null if there is no such field.
inline const FieldInfo* FindField(int number) {
  return number > 0 && number < kFieldCount ? &Fields()[number] : nullptr;
}

// What is certain about a packet's headers, by the match or by actions before.
struct KnownHeaders {
  int eth_type = -1;  // -1: not known
  int ip_proto = -1;
  int icmpv6_type = -1;
  int icmpv6_code = -1;
  bool later_fragment = false;
  unsigned vlan_tags = 0;  // at least
  bool anything = false;   // every prerequisite counts as met: the match is wrong, look at the rest all the same
};

KnownHeaders HeadersOf(const Match& match);

// True if a packet with these headers may have a field of this prerequisite.
bool Meets(v1::Prerequisite prerequisite, const KnownHeaders& headers);

// What the prerequisite asks for, for people.
std::string DescribePrerequisite(v1::Prerequisite prerequisite);

}  // namespace sluice
