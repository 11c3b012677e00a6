#include "client/lint_match.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "client/field_table.h"

namespace sluice::client {
namespace {

constexpr uint64_t kLaterFragment = 2;  // the bit of ip_frag

using Masks = std::vector<std::pair<v1::Field, absl::uint128>>;

absl::uint128 MaskOf(const Masks& masks, v1::Field field) {
  const auto found = std::ranges::lower_bound(masks, field, {}, &Masks::value_type::first);
  return found != masks.end() && found->first == field ? found->second : 0;
}

// The bits that all values of a range share: those above the highest in which its ends differ.
absl::uint128 SharedBits(uint64_t first, uint64_t last, absl::uint128 all_ones) {
  return all_ones & ~absl::uint128((uint64_t{1} << std::bit_width(first ^ last)) - 1);
}

// The lowest number from `first` on, of up to 16 bits, whose bits under the mask are those of value.
std::optional<uint64_t> LowestFrom(uint64_t first, uint64_t value, uint64_t mask) {
  if ((first & mask) == value) return first;
  // It has the upper bits of `first` down to some bit, that bit set instead of clear, and the least below.
  for (unsigned bit = 0; bit < 16; ++bit) {
    const uint64_t one = uint64_t{1} << bit;
    if ((first & one) != 0 || (mask & ~value & one) != 0) continue;
    const uint64_t upper = ~((one << 1) - 1);
    if (((first ^ value) & mask & upper) != 0) continue;
    return (first & upper) | one | (value & (one - 1));
  }
  return std::nullopt;
}

}  // namespace

bool LintShape::Includes(const LintShape& other) const {
  for (const auto& [field, mask] : other.masks) {
    if ((MaskOf(masks, field) & mask) != mask) return false;
  }
  return std::ranges::all_of(other.ranged, [&](v1::Field field) {
    return MaskOf(masks, field) != 0 || std::ranges::binary_search(ranged, field);
  });
}

LintShape LintShape::Common(const LintShape& a, const LintShape& b) {
  LintShape common;
  for (const auto& [field, mask] : a.masks) {
    const absl::uint128 both = mask & MaskOf(b.masks, field);
    if (both != 0) common.masks.emplace_back(field, both);
  }
  return common;
}

LintMatch::LintMatch(const v1::Match& match) {
  for (const v1::FieldMatch& in : match.fields()) {
    const FieldInfo& info = InfoOf(in.field());
    const ValueMask vm = GetValue(info, in);
    const bool range = vm.last != 0;
    Condition& condition = Entry(in.field());
    // What a condition before implied may be said again.
    condition.value |= vm.value;
    condition.mask |= range ? SharedBits(absl::Uint128Low64(vm.value), vm.last, info.all_ones) : vm.mask;
    condition.last = vm.last;
    ImplyPrerequisites(in.field());
  }
}

LintShape LintMatch::shape() const {
  LintShape shape;
  for (const Condition& condition : conditions_) {
    if (condition.mask != 0) shape.masks.emplace_back(condition.field, condition.mask);
    if (condition.last != 0) shape.ranged.push_back(condition.field);
  }
  return shape;
}

LintValues LintMatch::ValuesOf(const LintShape& shape) const {
  LintValues values;
  values.reserve(shape.masks.size());
  auto at = conditions_.begin();
  for (const auto& [field, mask] : shape.masks) {
    while (at->field != field) ++at;
    values.push_back(at->value & mask);
  }
  return values;
}

bool LintMatch::RangesCover(const LintMatch& other) const {
  return std::ranges::all_of(conditions_, [&](const Condition& mine) {
    if (mine.last == 0) return true;
    const Condition* theirs = other.Find(mine.field);
    if (theirs == nullptr) return false;
    const absl::uint128 highest =
        theirs->last != 0 ? theirs->last : theirs->value | (InfoOf(mine.field).all_ones & ~theirs->mask);
    return mine.value <= theirs->value && highest <= mine.last;
  });
}

bool LintMatch::RangesMeet(const LintMatch& other) const {
  return std::ranges::all_of(conditions_, [&](const Condition& a) {
    const Condition* b = other.Find(a.field);
    if (b == nullptr || (a.last == 0 && b->last == 0)) return true;
    if (a.last != 0 && b->last != 0) return a.value <= b->last && b->value <= a.last;
    const Condition& range = a.last != 0 ? a : *b;
    const Condition& bits = a.last != 0 ? *b : a;
    const std::optional<uint64_t> lowest =
        LowestFrom(absl::Uint128Low64(range.value), absl::Uint128Low64(bits.value), absl::Uint128Low64(bits.mask));
    return lowest.has_value() && *lowest <= range.last;
  });
}

const LintMatch::Condition* LintMatch::Find(v1::Field field) const {
  const auto found = std::ranges::lower_bound(conditions_, field, {}, &Condition::field);
  return found != conditions_.end() && found->field == field ? &*found : nullptr;
}

LintMatch::Condition& LintMatch::Entry(v1::Field field) {
  const auto found = std::ranges::lower_bound(conditions_, field, {}, &Condition::field);
  if (found != conditions_.end() && found->field == field) return *found;
  return *conditions_.insert(found, {field, 0, 0, 0});
}

void LintMatch::Imply(v1::Field field, uint64_t value, uint64_t mask) {
  Condition& condition = Entry(field);
  condition.value |= value;
  condition.mask |= mask;
}

void LintMatch::ImplyPrerequisites(v1::Field field) {
  switch (InfoOf(field).options.prerequisite()) {
    case v1::PREREQUISITE_INNER_VLAN:
      Imply(v1::FIELD_INNER_VLAN_PRESENT, 1, 1);
      [[fallthrough]];
    case v1::PREREQUISITE_VLAN:
      return Imply(v1::FIELD_VLAN_PRESENT, 1, 1);
    case v1::PREREQUISITE_TCP:
    case v1::PREREQUISITE_UDP:
    case v1::PREREQUISITE_SCTP:
    case v1::PREREQUISITE_ICMPV4:
    case v1::PREREQUISITE_ICMPV6:
    case v1::PREREQUISITE_ND:
    case v1::PREREQUISITE_ND_SOLICIT:
    case v1::PREREQUISITE_ND_ADVERT:
      return Imply(v1::FIELD_IP_FRAG, 0, kLaterFragment);
    default:
      return;
  }
}

}  // namespace sluice::client
