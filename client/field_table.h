// The packet fields as proto/sluice/v1/fields.proto describes them, read once by
// reflection: the client has no table of its own, so a new field needs no
// change here.
//
// Values are numbers of up to 128 bits whatever the field; PutValue and GetValue
// carry them into and out of the API's two forms. Pure functions; any thread.

#pragma once

#include <span>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "sluice/v1/fields.pb.h"
#include "sluice/v1/flow.pb.h"

namespace sluice::client {

struct FieldInfo {
  v1::Field id = v1::FIELD_UNSPECIFIED;
  v1::FieldOptions options;
  absl::uint128 all_ones;  // every bit of the field
  // The OpenFlow 1.0 spelling (dl_…, nw_…) if it has one, else its name.
  std::string short_name;

  bool maskable() const { return options.maskability() == v1::MASKABILITY_ARBITRARY; }
  bool rangeable() const { return options.rangeable(); }
  bool wide() const { return options.bits() > 64; }
};

// All fields, by ascending number.
std::span<const FieldInfo> AllFields();

// nullptr if the number means nothing to this client.
const FieldInfo* FindField(v1::Field id);

// Of a field that is known to exist.
const FieldInfo& InfoOf(v1::Field id);

// What a condition says of a field: its bits under a mask, or a range.
struct ValueMask {
  absl::uint128 value = 0;
  absl::uint128 mask = 0;
  uint64_t last = 0;  // not 0: from value to this, both inclusive; mask is then the whole field
  friend bool operator==(const ValueMask&, const ValueMask&) = default;
};

// As the API has it: the mask left out where it is the whole field.
void PutValue(const FieldInfo& field, const ValueMask& vm, v1::FieldMatch& out);
void PutValue(const FieldInfo& field, const ValueMask& vm, v1::SetFieldAction& out);
ValueMask GetValue(const FieldInfo& field, const v1::FieldMatch& in);
ValueMask GetValue(const FieldInfo& field, const v1::SetFieldAction& in);

}  // namespace sluice::client
