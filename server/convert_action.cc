// Actions. What is certain about the packet's headers is carried along the
// list: a pushed tag makes VLAN fields writable, a popped one takes that away.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/convert.h"
#include "server/convert_field.h"

namespace sluice {
namespace {

constexpr uint32_t kTpidCustomer = 0x8100;
constexpr uint32_t kTpidService = 0x88a8;

// The names of all actions in the oneof, as people write them.
std::string ActionNames() {
  const auto* oneof = v1::Action::descriptor()->FindOneofByName("action");
  std::vector<std::string> names;
  for (int i = 0; i < oneof->field_count(); ++i) names.push_back(oneof->field(i)->name());
  return absl::StrJoin(names, ", ");
}

void OutputFromProto(const v1::OutputAction& in, const Path& path, ViolationList& violations, Action& out) {
  switch (in.target_case()) {
    case v1::OutputAction::kPort:
      out.type = ActionType::kOutput;
      out.port = in.port();
      if (in.port() == 0 || in.port() > kMaxPortNumber) {
        violations.Add(Path(path, "port"),
                       absl::StrCat(in.port(), " is no port's number: 1 to ", kMaxPortNumber, ", or use reserved"));
      }
      return;
    case v1::OutputAction::kReserved:
      if (in.reserved() == v1::RESERVED_PORT_IN_PORT) {
        out.type = ActionType::kOutputInPort;
      } else if (in.reserved() == v1::RESERVED_PORT_ALL) {
        out.type = ActionType::kOutputAll;
      } else {
        violations.Add(Path(path, "reserved"), absl::StrCat("unknown reserved port ", static_cast<int>(in.reserved()),
                                                            ": RESERVED_PORT_IN_PORT or RESERVED_PORT_ALL"));
      }
      return;
    case v1::OutputAction::TARGET_NOT_SET:
      violations.Add(path, "no target: set port or reserved");
      return;
  }
}

std::string NotWritable(const FieldInfo& info) {
  std::vector<std::string> names;
  for (const FieldInfo& other : Fields()) {
    if (other.writable) names.push_back(other.name);
  }
  return absl::StrCat(info.name, " cannot be written; these can: ", absl::StrJoin(names, ", "));
}

std::string NeedsHeader(const FieldInfo& info) {
  std::string text = absl::StrCat("writing ", info.name, " needs ", DescribePrerequisite(info.prerequisite));
  absl::StrAppend(&text, " in the flow's match");
  if (info.prerequisite == v1::PREREQUISITE_VLAN) absl::StrAppend(&text, ", or a push_vlan before that is not popped");
  return text;
}

void SetFieldFromProto(const v1::SetFieldAction& in, const KnownHeaders& headers, const Path& path,
                       ViolationList& violations, Action& out) {
  const FieldInfo* info = FindField(in.field());
  if (info == nullptr) {
    violations.Add(Path(path, "field"), UnknownField(in.field()));
    return;
  }
  if (!info->writable) {
    violations.Add(Path(path, "field"), NotWritable(*info));
    return;
  }
  if (!Meets(info->prerequisite, headers)) violations.Add(Path(path, "field"), NeedsHeader(*info));
  FieldBits bits;
  if (!FieldBitsFromProto(ViewOf(in), *info, path, violations, bits)) return;
  out.type = ActionType::kSetField;
  out.field = info->field;
  out.value = bits.value;
  out.mask = bits.mask;
}

void PushVlanFromProto(const v1::PushVlanAction& in, KnownHeaders& headers, const Path& path, ViolationList& violations,
                       Action& out) {
  if (in.tpid() != kTpidCustomer && in.tpid() != kTpidService) {
    violations.Add(Path(path, "tpid"),
                   absl::StrCat("0x", absl::Hex(in.tpid()), " is no VLAN tag's EtherType: 0x8100 or 0x88a8"));
  }
  out.type = ActionType::kPushVlan;
  out.tpid = static_cast<uint16_t>(in.tpid());
  out.only_if_untagged = in.only_if_untagged();
  if (headers.vlan_tags == 0 || !in.only_if_untagged()) ++headers.vlan_tags;
}

// An action of a later version arrives as a field that this one does not know.
void UnknownAction(const v1::Action& in, const Path& path, ViolationList& violations) {
  const auto& unknown = in.GetReflection()->GetUnknownFields(in);
  if (unknown.field_count() == 0) {
    violations.Add(path, absl::StrCat("no action given: one of ", ActionNames()));
  } else {
    violations.Add(path,
                   absl::StrCat("this version has no action with field number ", unknown.field(0).number(), "; it has ",
                                ActionNames()),
                   ViolationList::Kind::kUnimplemented);
  }
}

void ActionFromProto(const v1::Action& in, KnownHeaders& headers, const Path& path, ViolationList& violations,
                     Action& out) {
  switch (in.action_case()) {
    case v1::Action::kOutput:
      return OutputFromProto(in.output(), Path(path, "output"), violations, out);
    case v1::Action::kSetField:
      return SetFieldFromProto(in.set_field(), headers, Path(path, "set_field"), violations, out);
    case v1::Action::kPushVlan:
      return PushVlanFromProto(in.push_vlan(), headers, Path(path, "push_vlan"), violations, out);
    case v1::Action::kPopVlan:
      out.type = ActionType::kPopVlan;
      if (headers.vlan_tags > 0) --headers.vlan_tags;
      return;
    case v1::Action::kDecTtl:
      out.type = ActionType::kDecTtl;
      return;
    case v1::Action::ACTION_NOT_SET:
      return UnknownAction(in, path, violations);
  }
}

void ActionToProto(const Action& action, v1::Action* out) {
  switch (action.type) {
    case ActionType::kOutput:
      out->mutable_output()->set_port(action.port);
      return;
    case ActionType::kOutputInPort:
      out->mutable_output()->set_reserved(v1::RESERVED_PORT_IN_PORT);
      return;
    case ActionType::kOutputAll:
      out->mutable_output()->set_reserved(v1::RESERVED_PORT_ALL);
      return;
    case ActionType::kSetField:
      FieldBitsToProto(Fields()[static_cast<int>(action.field)], {action.value, action.mask}, false,
                       out->mutable_set_field());
      return;
    case ActionType::kPushVlan:
      out->mutable_push_vlan()->set_tpid(action.tpid);
      out->mutable_push_vlan()->set_only_if_untagged(action.only_if_untagged);
      return;
    case ActionType::kPopVlan:
      out->mutable_pop_vlan();
      return;
    case ActionType::kDecTtl:
      out->mutable_dec_ttl();
      return;
  }
}

}  // namespace

void ActionsFromProto(const ProtoActions& in, const KnownHeaders& known, uint32_t max_actions, const Path* parent,
                      ViolationList& violations, ActionList& out) {
  out.clear();
  if (static_cast<uint32_t>(in.size()) > max_actions) {
    violations.Add(Path(parent, "actions"),
                   absl::StrCat(in.size(), " actions; at most ", max_actions, " (limits.actions_per_flow)"),
                   ViolationList::Kind::kLimit);
    return;
  }
  KnownHeaders headers = known;
  out.resize(in.size());
  for (int i = 0; i < in.size(); ++i) {
    ActionFromProto(in.Get(i), headers, Path(parent, "actions", i), violations, out[i]);
  }
}

void ActionsToProto(const ActionList& actions, ProtoActions* out) {
  out->Reserve(static_cast<int>(actions.size()));
  for (const Action& action : actions) ActionToProto(action, out->Add());
}

}  // namespace sluice
