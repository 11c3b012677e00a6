#include "dataplane/worker/action_set.h"

#include <algorithm>

namespace sluice {

void ActionSet::Clear() {
  used_ = 0;
  field_count_ = 0;
}

// kKinds: a write of a field. A push that only untagged packets get belongs to the write behind it.
ActionSet::Kind ActionSet::KindOf(const Action& action) {
  switch (action.type) {
    case ActionType::kPopVlan:
      return kPopVlan;
    case ActionType::kPopMpls:
      return kPopMpls;
    case ActionType::kPushMpls:
      return kPushMpls;
    case ActionType::kPushVlan:
      return action.only_if_untagged ? kKinds : kPushVlan;
    case ActionType::kDecTtl:
      return kDecTtl;
    case ActionType::kDecMplsTtl:
      return kDecMplsTtl;
    case ActionType::kController:
      return kOutput;
    case ActionType::kGroup:
      return kGroup;
    default:
      return IsOutput(action) ? kOutput : kKinds;
  }
}

bool ActionSet::Add(const Action& action) {
  const Kind kind = KindOf(action);
  if (kind != kKinds) {
    last_[kind] = &action;
    used_ |= 1u << kind;
    return true;
  }
  if (field_count_ == kMostFields) return false;
  fields_[field_count_++] = &action;
  return true;
}

std::span<const Action* const> ActionSet::InOrder() {
  const bool to_group = (used_ >> kGroup & 1) != 0;
  if (!to_group && (used_ >> kOutput & 1) == 0) return {};
  unsigned n = 0;
  for (unsigned kind = 0; kind < kOutput; ++kind) {
    if ((used_ >> kind & 1) != 0) ordered_[n++] = last_[kind];
  }
  std::copy_n(fields_.begin(), field_count_, ordered_.begin() + n);
  n += field_count_;
  ordered_[n++] = last_[to_group ? kGroup : kOutput];
  return {ordered_.data(), n};
}

}  // namespace sluice
