#include "server/convert_field.h"

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

constexpr size_t kWideBytes = 16;

absl::uint128 FromWideBytes(absl::string_view bytes) {
  absl::uint128 out = 0;
  for (char byte : bytes) out = (out << 8) | static_cast<unsigned char>(byte);
  return out;
}

bool ReadNarrow(const FieldBitsView& in, const FieldInfo& info, const Path& path, ViolationList& violations,
                FieldBits& out) {
  if (!in.wide_value.empty() || !in.wide_mask.empty()) {
    violations.Add(Path(path, in.wide_value.empty() ? "wide_mask" : "wide_value"),
                   absl::StrCat(info.name, " has ", info.bits, " bits: use value and mask"));
    return false;
  }
  out.value = in.value;
  out.mask = in.mask ? absl::uint128(*in.mask) : info.all;
  return true;
}

bool ReadWide(const FieldBitsView& in, const FieldInfo& info, const Path& path, ViolationList& violations,
              FieldBits& out) {
  if (in.value != 0 || in.mask) {
    violations.Add(Path(path, in.value != 0 ? "value" : "mask"),
                   absl::StrCat(info.name, " has ", info.bits, " bits: use wide_value and wide_mask"));
    return false;
  }
  const bool right_value = in.wide_value.size() == kWideBytes;
  const bool right_mask = in.wide_mask.empty() || in.wide_mask.size() == kWideBytes;
  if (!right_value || !right_mask) {
    violations.Add(Path(path, right_value ? "wide_mask" : "wide_value"),
                   absl::StrCat("has ", right_value ? in.wide_mask.size() : in.wide_value.size(), " bytes; ", info.name,
                                " has ", kWideBytes, ", in network order"));
    return false;
  }
  out.value = FromWideBytes(in.wide_value);
  out.mask = in.wide_mask.empty() ? info.all : FromWideBytes(in.wide_mask);
  return true;
}

bool CheckBits(const FieldInfo& info, const FieldBits& bits, const Path& path, ViolationList& violations) {
  const char* const value_name = info.wide() ? "wide_value" : "value";
  const char* const mask_name = info.wide() ? "wide_mask" : "mask";
  const size_t before = violations.count();
  if ((bits.value & ~info.all) != 0) violations.Add(Path(path, value_name), TooWide(info, bits.value));
  if ((bits.mask & ~info.all) != 0) {
    violations.Add(Path(path, mask_name), TooWide(info, bits.mask));
  } else if (bits.mask == 0) {
    violations.Add(Path(path, mask_name), "the mask is zero: leave the field out to match any value of it");
  } else if (!info.maskable && bits.mask != info.all) {
    violations.Add(Path(path, mask_name), absl::StrCat(info.name, " takes no mask: leave it out, or set all ",
                                                       info.bits, " bits (", ShowValue(info, info.all), ")"));
  } else if (violations.count() == before && (bits.value & ~bits.mask) != 0) {
    violations.Add(Path(path, value_name),
                   absl::StrCat(ShowValue(info, bits.value), " has bits outside the mask; under it the value is ",
                                ShowValue(info, bits.value & bits.mask)));
  }
  return violations.count() == before;
}

}  // namespace

bool FieldBitsFromProto(const FieldBitsView& in, const FieldInfo& info, const Path& path, ViolationList& violations,
                        FieldBits& out) {
  const bool read =
      info.wide() ? ReadWide(in, info, path, violations, out) : ReadNarrow(in, info, path, violations, out);
  return read && CheckBits(info, out, path, violations);
}

std::string WideBytes(absl::uint128 bits) {
  std::string bytes(kWideBytes, '\0');
  for (size_t i = 0; i < kWideBytes; ++i)
    bytes[kWideBytes - 1 - i] = static_cast<char>(absl::Uint128Low64(bits >> (8 * i)));
  return bytes;
}

std::string ShowValue(const FieldInfo& info, absl::uint128 value) {
  const uint64_t low = absl::Uint128Low64(value);
  const uint64_t high = absl::Uint128High64(value);
  if (info.wide()) return absl::StrCat("0x", absl::Hex(high, absl::kZeroPad16), absl::Hex(low, absl::kZeroPad16));
  return info.hexadecimal ? absl::StrCat("0x", absl::Hex(low)) : absl::StrCat(low);
}

std::string TooWide(const FieldInfo& info, absl::uint128 value) {
  return absl::StrCat(ShowValue(info, value), " does not fit into the ", info.bits, " bits of ", info.name, ": ",
                      ShowValue(info, 0), " to ", ShowValue(info, info.all));
}

std::string UnknownField(int number) {
  return number == v1::FIELD_UNSPECIFIED ? std::string("no field given; GetCapabilities lists them")
                                         : absl::StrCat("unknown field ", number, "; GetCapabilities lists them");
}

}  // namespace sluice
