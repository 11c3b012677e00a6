// A field's value under a mask, as FieldMatch and SetFieldAction both carry it.
// Part of server/convert.h; not for others.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "server/field_table.h"
#include "server/violations.h"

namespace sluice {

struct FieldBits {
  absl::uint128 value = 0;
  absl::uint128 mask = 0;
};

// The four fields of either message.
struct FieldBitsView {
  uint64_t value;
  std::optional<uint64_t> mask;
  absl::string_view wide_value;
  absl::string_view wide_mask;
};

template <typename Proto>
FieldBitsView ViewOf(const Proto& in) {
  return {in.value(), in.has_mask() ? std::optional<uint64_t>(in.mask()) : std::nullopt, in.wide_value(),
          in.wide_mask()};
}

// False, and what is wrong is in the list, unless the bits are right for the field.
bool FieldBitsFromProto(const FieldBitsView& in, const FieldInfo& info, const Path& path, ViolationList& violations,
                        FieldBits& out);

// 16 bytes in network order.
std::string WideBytes(absl::uint128 bits);

// A full mask is left out, unless the caller wants it said.
template <typename Proto>
void FieldBitsToProto(const FieldInfo& info, const FieldBits& bits, bool explicit_mask, Proto* out) {
  out->set_field(info.number);
  const bool masked = explicit_mask || bits.mask != info.all;
  if (info.wide()) {
    out->set_wide_value(WideBytes(bits.value));
    if (masked) out->set_wide_mask(WideBytes(bits.mask));
    return;
  }
  out->set_value(absl::Uint128Low64(bits.value));
  if (masked) out->set_mask(absl::Uint128Low64(bits.mask));
}

// A value as messages show it: as its field is usually written, decimal or hexadecimal.
std::string ShowValue(const FieldInfo& info, absl::uint128 value);

// "70000 does not fit into the 16 bits of …" For fields of up to 64 bits.
std::string TooWide(const FieldInfo& info, absl::uint128 value);

// "unknown field 77 …"
std::string UnknownField(int number);

}  // namespace sluice
