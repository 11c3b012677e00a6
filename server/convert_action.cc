// Actions. What is certain about the packet's headers is carried along the
// list: a pushed tag makes VLAN fields writable, a popped one takes that away;
// MPLS hides what is below it.
//
// The actions within a write_actions stand in the dataplane's list one after the
// other, each marked as deferred.

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
constexpr uint32_t kLowestEthType = 0x0600;
constexpr uint32_t kMplsUnicast = 0x8847;
constexpr uint32_t kMplsMulticast = 0x8848;

// What actions are checked against.
struct ActionContext {
  KnownHeaders headers;
  static constexpr int kNoTable = 255;

  int table_id;  // of the flow; kNoTable: a goto_table has nowhere to go
  ViolationList& violations;
};

// The names of all actions in the oneof, as people write them.
std::string ActionNames() {
  const auto* oneof = v1::Action::descriptor()->FindOneofByName("action");
  std::vector<std::string> names;
  for (int i = 0; i < oneof->field_count(); ++i) names.push_back(oneof->field(i)->name());
  return absl::StrJoin(names, ", ");
}

void ReservedFromProto(v1::ReservedPort port, const Path& path, ViolationList& violations, Action& out) {
  switch (port) {
    case v1::RESERVED_PORT_IN_PORT:
      out.type = ActionType::kOutputInPort;
      return;
    case v1::RESERVED_PORT_ALL:
      out.type = ActionType::kOutputAll;
      return;
    case v1::RESERVED_PORT_FLOOD:
      out.type = ActionType::kOutputFlood;
      return;
    case v1::RESERVED_PORT_NORMAL:
      out.type = ActionType::kOutputNormal;
      return;
    default:
      violations.Add(Path(path, "reserved"),
                     absl::StrCat("unknown reserved port ", static_cast<int>(port),
                                  ": RESERVED_PORT_IN_PORT, RESERVED_PORT_ALL, RESERVED_PORT_FLOOD or "
                                  "RESERVED_PORT_NORMAL"));
  }
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
      return ReservedFromProto(in.reserved(), path, violations, out);
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

std::string NeedsHeader(const FieldInfo& info, const char* what) {
  std::string text = absl::StrCat(what, " ", info.name, " needs ", DescribePrerequisite(info.prerequisite));
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
  if (!Meets(info->prerequisite, headers)) violations.Add(Path(path, "field"), NeedsHeader(*info, "writing"));
  FieldInfo in_part = *info;
  in_part.maskable = true;  // what is matched as a whole can be written in part
  FieldBits bits;
  if (!FieldBitsFromProto(ViewOf(in), in_part, path, violations, bits)) return;
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

// False: there is no such field, or it lacks some of the bits.
bool CheckFieldBits(const FieldInfo* info, int number, uint32_t first, uint32_t bits, const char* name,
                    const char* bit_name, const Path& path, ViolationList& violations) {
  if (info == nullptr) {
    violations.Add(Path(path, name), UnknownField(number));
    return false;
  }
  if (first < info->bits && bits <= info->bits - first) return true;
  violations.Add(Path(path, bit_name), absl::StrCat(bits, " bits from bit ", first, " on are not within ", info->name,
                                                    ", which has ", info->bits));
  return false;
}

void CheckHeader(const FieldInfo& info, const KnownHeaders& headers, const char* what, const Path& path,
                 ViolationList& violations) {
  if (!Meets(info.prerequisite, headers)) violations.Add(path, NeedsHeader(info, what));
}

void MoveFromProto(const v1::MoveFieldAction& in, const KnownHeaders& headers, const Path& path,
                   ViolationList& violations, Action& out) {
  const FieldInfo* from = FindField(in.source());
  const FieldInfo* to = FindField(in.destination());
  const uint32_t rest = from != nullptr && in.source_bit() < from->bits ? from->bits - in.source_bit() : 1;
  const uint32_t bits = in.bits() != 0 ? in.bits() : rest;
  bool right = CheckFieldBits(from, in.source(), in.source_bit(), bits, "source", "source_bit", path, violations);
  right &= CheckFieldBits(to, in.destination(), in.destination_bit(), bits, "destination", "destination_bit", path,
                          violations);
  if (!right) return;
  if (!to->writable) violations.Add(Path(path, "destination"), NotWritable(*to));
  CheckHeader(*from, headers, "reading", Path(path, "source"), violations);
  CheckHeader(*to, headers, "writing", Path(path, "destination"), violations);
  out.type = ActionType::kMoveField;
  out.field = from->field;
  out.destination = to->field;
  out.source_bit = static_cast<uint8_t>(in.source_bit());
  out.destination_bit = static_cast<uint8_t>(in.destination_bit());
  out.bits = static_cast<uint8_t>(bits);
}

void OutputFieldFromProto(const v1::OutputFieldAction& in, const KnownHeaders& headers, const Path& path,
                          ViolationList& violations, Action& out) {
  const FieldInfo* info = FindField(in.field());
  const uint32_t rest = info != nullptr && in.bit() < info->bits ? info->bits - in.bit() : 1;
  const uint32_t bits = in.bits() != 0 ? in.bits() : rest;
  if (!CheckFieldBits(info, in.field(), in.bit(), bits, "field", "bit", path, violations)) return;
  CheckHeader(*info, headers, "reading", Path(path, "field"), violations);
  out.type = ActionType::kOutputField;
  out.field = info->field;
  out.source_bit = static_cast<uint8_t>(in.bit());
  out.bits = static_cast<uint8_t>(bits);
}

bool HasMplsType(uint32_t eth_type) { return eth_type == kMplsUnicast || eth_type == kMplsMulticast; }

// What was below is out of sight.
void PushMplsFromProto(const v1::PushMplsAction& in, KnownHeaders& headers, const Path& path, ViolationList& violations,
                       Action& out) {
  if (!HasMplsType(in.eth_type())) {
    violations.Add(Path(path, "eth_type"),
                   absl::StrCat("0x", absl::Hex(in.eth_type()), " is no EtherType of MPLS: 0x8847 or 0x8848"));
  }
  out.type = ActionType::kPushMpls;
  out.tpid = static_cast<uint16_t>(in.eth_type());
  headers.eth_type = out.tpid;
  headers.ip_proto = -1;
}

void PopMplsFromProto(const v1::PopMplsAction& in, KnownHeaders& headers, const Path& path, ViolationList& violations,
                      Action& out) {
  if (in.eth_type() < kLowestEthType || in.eth_type() > 0xffff) {
    violations.Add(Path(path, "eth_type"),
                   absl::StrCat("0x", absl::Hex(in.eth_type()), " is no EtherType of what is below: 0x0600 to 0xffff"));
  }
  if (!headers.anything && !HasMplsType(static_cast<uint32_t>(headers.eth_type))) {
    violations.Add(path, "pop_mpls needs eth_type 0x8847 or 0x8848 in the flow's match, or a push_mpls before");
  }
  out.type = ActionType::kPopMpls;
  out.tpid = static_cast<uint16_t>(in.eth_type());
  headers.eth_type = out.tpid;
  headers.ip_proto = -1;
}

void GotoFromProto(const v1::GotoTableAction& in, ActionContext& context, const Path& path, Action& out) {
  if (in.table_id() > kMaxTableId) {
    context.violations.Add(Path(path, "table_id"),
                           absl::StrCat("there is no table ", in.table_id(), ": 0 to ", kMaxTableId));
  } else if (static_cast<int>(in.table_id()) <= context.table_id) {
    context.violations.Add(Path(path, "table_id"), absl::StrCat(in.table_id(), " is not behind the flow's own table ",
                                                                context.table_id, ": a packet only goes forward"));
  }
  out.type = ActionType::kGotoTable;
  out.port = in.table_id();
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

// The packet path's 0 is all of it, too.
void ControllerFromProto(const v1::ControllerAction& in, const Path& path, ViolationList& violations, Action& out) {
  constexpr uint32_t kMaxLen = 65'535;
  if (in.max_len() > kMaxLen) {
    violations.Add(Path(path, "max_len"), absl::StrCat(in.max_len(), " bytes: 1 to ", kMaxLen, ", or 0 for all"));
  }
  out.type = ActionType::kController;
  out.port = in.max_len();
  if (in.reason() == v1::PACKET_REASON_UNSPECIFIED) return;
  PacketReasonFromProto(in.reason(), Path(path, "reason"), violations, out.reason);
}

// Of groups and meters. They need not exist.
void PolicyFromProto(const v1::Action& in, const Path& path, ViolationList& violations, Action& out) {
  if (in.has_group()) {
    const Path at(path, "group");
    GroupIdFromProto(in.group().group_id(), Path(at, "group_id"), violations);
    out.type = ActionType::kGroup;
    out.port = in.group().group_id();
  } else {
    const Path at(path, "meter");
    MeterIdFromProto(in.meter().meter_id(), Path(at, "meter_id"), violations);
    out.type = ActionType::kMeter;
    out.port = in.meter().meter_id();
  }
}

void ActionFromProto(const v1::Action& in, ActionContext& context, const Path& path, Action& out) {
  KnownHeaders& headers = context.headers;
  ViolationList& violations = context.violations;
  switch (in.action_case()) {
    case v1::Action::kOutput:
      return OutputFromProto(in.output(), Path(path, "output"), violations, out);
    case v1::Action::kSetField:
      return SetFieldFromProto(in.set_field(), headers, Path(path, "set_field"), violations, out);
    case v1::Action::kMoveField:
      return MoveFromProto(in.move_field(), headers, Path(path, "move_field"), violations, out);
    case v1::Action::kOutputField:
      return OutputFieldFromProto(in.output_field(), headers, Path(path, "output_field"), violations, out);
    case v1::Action::kPushVlan:
      return PushVlanFromProto(in.push_vlan(), headers, Path(path, "push_vlan"), violations, out);
    case v1::Action::kPopVlan:
      out.type = ActionType::kPopVlan;
      if (headers.vlan_tags > 0) --headers.vlan_tags;
      return;
    case v1::Action::kPushMpls:
      return PushMplsFromProto(in.push_mpls(), headers, Path(path, "push_mpls"), violations, out);
    case v1::Action::kPopMpls:
      return PopMplsFromProto(in.pop_mpls(), headers, Path(path, "pop_mpls"), violations, out);
    case v1::Action::kDecTtl:
      out.type = ActionType::kDecTtl;
      return;
    case v1::Action::kDecMplsTtl:
      out.type = ActionType::kDecMplsTtl;
      return;
    case v1::Action::kClearActions:
      out.type = ActionType::kClearActions;
      return;
    case v1::Action::kGotoTable:
      return GotoFromProto(in.goto_table(), context, Path(path, "goto_table"), out);
    case v1::Action::kGroup:
    case v1::Action::kMeter:
      return PolicyFromProto(in, path, violations, out);
    case v1::Action::kController:
      return ControllerFromProto(in.controller(), Path(path, "controller"), violations, out);
    case v1::Action::kWriteActions:
      violations.Add(path, "write_actions stands within write_actions");
      return;
    case v1::Action::ACTION_NOT_SET:
      return UnknownAction(in, path, violations);
  }
}

bool MayBeDeferred(ActionType type) {
  return type != ActionType::kMeter && type != ActionType::kGotoTable && type != ActionType::kClearActions &&
         type != ActionType::kOutputField;
}

// The set is carried out at another place, where the headers may be others: what a
// packet lacks then is not written.
void WriteActionsFromProto(const v1::WriteActionsAction& in, const ActionContext& of_list, const Path& path,
                           ActionList& out) {
  ActionContext context{of_list.headers, ActionContext::kNoTable, of_list.violations};
  for (int i = 0; i < in.actions_size(); ++i) {
    const Path at(path, "actions", i);
    Action& action = out.emplace_back();
    ActionFromProto(in.actions(i), context, at, action);
    if (!MayBeDeferred(action.type)) context.violations.Add(at, "this action cannot stand in write_actions");
    action.deferred = true;
  }
}

size_t CountActions(const ProtoActions& in) {
  size_t count = 0;
  for (const v1::Action& action : in) {
    count += action.has_write_actions() ? static_cast<size_t>(action.write_actions().actions_size()) : 1;
  }
  return count;
}

}  // namespace

void ActionsFromProto(const ProtoActions& in, const KnownHeaders& known, int table_id, uint32_t max_actions,
                      const Path* parent, ViolationList& violations, ActionList& out) {
  out.clear();
  if (CountActions(in) > max_actions) {
    violations.Add(Path(parent, "actions"),
                   absl::StrCat(CountActions(in), " actions; at most ", max_actions, " (limits.actions_per_flow)"),
                   ViolationList::Kind::kLimit);
    return;
  }
  ActionContext context{known, table_id, violations};
  out.reserve(in.size());
  for (int i = 0; i < in.size(); ++i) {
    const Path at(parent, "actions", i);
    if (in.Get(i).has_write_actions()) {
      WriteActionsFromProto(in.Get(i).write_actions(), context, Path(at, "write_actions"), out);
      continue;
    }
    ActionFromProto(in.Get(i), context, at, out.emplace_back());
    if (out.back().type == ActionType::kGotoTable && i + 1 < in.size()) {
      violations.Add(at, "goto_table is not the last action");
    }
  }
}

void ActionSetFromProto(const ProtoActions& in, uint32_t max_actions, const Path& parent, ViolationList& violations,
                        ActionList& out) {
  out.clear();
  if (CountActions(in) > max_actions) {
    violations.Add(Path(parent, "actions"),
                   absl::StrCat(CountActions(in), " actions; at most ", max_actions, " (limits.actions_per_flow)"),
                   ViolationList::Kind::kLimit);
    return;
  }
  KnownHeaders headers;
  headers.anything = true;
  ActionContext context{headers, ActionContext::kNoTable, violations};
  for (int i = 0; i < in.size(); ++i) {
    const Path at(parent, "actions", i);
    if (in.Get(i).has_write_actions()) {
      violations.Add(at, "this action cannot stand in a bucket");
      continue;
    }
    Action& action = out.emplace_back();
    ActionFromProto(in.Get(i), context, at, action);
    if (!MayBeDeferred(action.type)) violations.Add(at, "this action cannot stand in a bucket");
  }
}

}  // namespace sluice
