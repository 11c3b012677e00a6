#include "client/field_table.h"

#include <google/protobuf/descriptor.h>

#include <vector>

namespace sluice::client {
namespace {

std::string ShortName(const v1::FieldOptions& options) {
  for (const std::string& alias : options.aliases()) {
    if (alias.starts_with("dl_") || alias.starts_with("nw_")) return alias;
  }
  return options.name();
}

// Indexed by number; entry 0 and numbers that are not in use have no bits.
std::vector<FieldInfo> ReadDescriptor() {
  std::vector<FieldInfo> fields;
  const google::protobuf::EnumDescriptor* descriptor = v1::Field_descriptor();
  for (int i = 0; i < descriptor->value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor* value = descriptor->value(i);
    if (!value->options().HasExtension(v1::field)) continue;
    FieldInfo info;
    info.id = static_cast<v1::Field>(value->number());
    info.options = value->options().GetExtension(v1::field);
    info.all_ones = ~absl::uint128{0} >> (128 - info.options.bits());
    info.short_name = ShortName(info.options);
    fields.push_back(std::move(info));
  }
  return fields;
}

const std::vector<FieldInfo>& Fields() {
  static const auto* const fields = new std::vector<FieldInfo>(ReadDescriptor());
  return *fields;
}

std::vector<const FieldInfo*> ByNumber() {
  std::vector<const FieldInfo*> table(v1::Field_ARRAYSIZE);
  for (const FieldInfo& info : Fields()) table[info.id] = &info;
  return table;
}

std::string ToBytes(absl::uint128 value, int bytes) {
  std::string out(bytes, '\0');
  for (int i = bytes - 1; i >= 0; --i, value >>= 8) out[i] = static_cast<char>(absl::Uint128Low64(value) & 0xff);
  return out;
}

absl::uint128 FromBytes(const std::string& bytes) {
  absl::uint128 value = 0;
  for (char c : bytes) value = (value << 8) | static_cast<unsigned char>(c);
  return value;
}

template <typename Message>
void Put(const FieldInfo& field, const ValueMask& vm, Message& out) {
  out.set_field(field.id);
  const bool masked = vm.mask != field.all_ones;
  if (field.wide()) {
    const int bytes = static_cast<int>(field.options.bits() / 8);
    out.set_wide_value(ToBytes(vm.value, bytes));
    if (masked) out.set_wide_mask(ToBytes(vm.mask, bytes));
  } else {
    out.set_value(absl::Uint128Low64(vm.value));
    if (masked) out.set_mask(absl::Uint128Low64(vm.mask));
  }
}

template <typename Message>
ValueMask Get(const FieldInfo& field, const Message& in) {
  if (field.wide()) {
    return {FromBytes(in.wide_value()), in.wide_mask().empty() ? field.all_ones : FromBytes(in.wide_mask())};
  }
  return {in.value(), in.has_mask() ? absl::uint128{in.mask()} : field.all_ones};
}

}  // namespace

std::span<const FieldInfo> AllFields() { return Fields(); }

const FieldInfo* FindField(v1::Field id) {
  static const auto* const table = new std::vector<const FieldInfo*>(ByNumber());
  return id > 0 && static_cast<size_t>(id) < table->size() ? (*table)[id] : nullptr;
}

const FieldInfo& InfoOf(v1::Field id) { return *FindField(id); }

void PutValue(const FieldInfo& field, const ValueMask& vm, v1::FieldMatch& out) {
  Put(field, vm, out);
  if (vm.last != 0) out.set_last(vm.last);
}
void PutValue(const FieldInfo& field, const ValueMask& vm, v1::SetFieldAction& out) { Put(field, vm, out); }
ValueMask GetValue(const FieldInfo& field, const v1::FieldMatch& in) {
  ValueMask vm = Get(field, in);
  vm.last = in.last();
  return vm;
}
ValueMask GetValue(const FieldInfo& field, const v1::SetFieldAction& in) { return Get(field, in); }

}  // namespace sluice::client
