// Flows written as text: what ParseFlow reads to the identical flow.

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/field_table.h"
#include "client/flow_text.h"
#include "client/flow_text_value.h"
#include "client/flow_words.h"
#include "client/packet_reason.h"

namespace sluice::client {
namespace {

constexpr uint64_t kTciPresent = 0x1000;

uint64_t Low(absl::uint128 value) { return absl::Uint128Low64(value); }

// A condition on the VLAN tag, in the spelling that says just that.
std::string FormatVlan(const FieldInfo& field, const ValueMask& vm) {
  const uint64_t value = Low(vm.value), mask = Low(vm.mask);
  switch (field.id) {
    case v1::FIELD_VLAN_VID:
      if (vm.mask == field.all_ones) return absl::StrCat("dl_vlan=", value);
      return absl::StrCat("vlan_vid=", Hex(value | kTciPresent), "/", Hex(mask | kTciPresent));
    case v1::FIELD_VLAN_PCP:
      return absl::StrCat("dl_vlan_pcp=", value);
    case v1::FIELD_VLAN_PRESENT:
      return absl::StrFormat("vlan_tci=0x%04x/0x1000", value * kTciPresent);
    default:
      if (vm.mask == field.all_ones) return absl::StrFormat("vlan_tci=0x%04x", value);
      return absl::StrFormat("vlan_tci=0x%04x/0x%04x", value, mask);
  }
}

std::string FormatCondition(const FieldInfo& field, const ValueMask& vm) {
  switch (field.id) {
    case v1::FIELD_VLAN_VID:
    case v1::FIELD_VLAN_PCP:
    case v1::FIELD_VLAN_PRESENT:
    case v1::FIELD_VLAN_TCI:
      return FormatVlan(field, vm);
    case v1::FIELD_IP_DSCP:
      return absl::StrCat("nw_tos=", Low(vm.value) << 2);
    case v1::FIELD_TCP_SRC:
    case v1::FIELD_UDP_SRC:
    case v1::FIELD_SCTP_SRC:
      return absl::StrCat("tp_src=", FormatValue(field, vm));
    case v1::FIELD_TCP_DST:
    case v1::FIELD_UDP_DST:
    case v1::FIELD_SCTP_DST:
      return absl::StrCat("tp_dst=", FormatValue(field, vm));
    default:
      return absl::StrCat(field.short_name, "=", FormatValue(field, vm));
  }
}

// Takes EtherType and protocol out of the match where a shorthand says them.
std::string TakeShorthand(const v1::Match& match, bool* type_said, bool* proto_said) {
  int64_t eth_type = -1;
  int ip_proto = -1;
  for (const v1::FieldMatch& condition : match.fields()) {
    if (condition.field() == v1::FIELD_ETH_TYPE) eth_type = static_cast<int64_t>(condition.value());
    if (condition.field() == v1::FIELD_IP_PROTO) ip_proto = static_cast<int>(condition.value());
  }
  if (eth_type < 0) return "";
  const char* both = ip_proto < 0 ? nullptr : ShorthandFor(eth_type, ip_proto);
  const char* type = ShorthandFor(eth_type, -1);
  *proto_said = both != nullptr;
  *type_said = both != nullptr || type != nullptr;
  return both != nullptr ? both : type != nullptr ? type : "";
}

std::string FormatSetField(const v1::SetFieldAction& set) {
  const FieldInfo* field = FindField(set.field());
  if (field == nullptr) return absl::StrCat("set_field:?->field_", static_cast<int>(set.field()));
  ValueMask vm = GetValue(*field, set);
  if (field->id != v1::FIELD_VLAN_VID) {
    return absl::StrCat("set_field:", FormatValue(*field, vm), "->", field->options.name());
  }
  if (vm.mask == field->all_ones) return absl::StrCat("set_field:", Low(vm.value) | kTciPresent, "->vlan_vid");
  return absl::StrCat("set_field:", Hex(Low(vm.value) | kTciPresent), "/", Hex(Low(vm.mask) | kTciPresent),
                      "->vlan_vid");
}

std::string FormatPush(const v1::PushVlanAction& push) {
  if (push.only_if_untagged()) return absl::StrCat("push_vlan(", Hex(push.tpid()), ",only_if_untagged)");
  return absl::StrCat("push_vlan:", Hex(push.tpid()));
}

std::string FormatList(const google::protobuf::RepeatedPtrField<v1::Action>& actions);

std::string FormatReserved(v1::ReservedPort port) {
  switch (port) {
    case v1::RESERVED_PORT_IN_PORT:
      return "IN_PORT";
    case v1::RESERVED_PORT_ALL:
      return "ALL";
    case v1::RESERVED_PORT_FLOOD:
      return "FLOOD";
    case v1::RESERVED_PORT_NORMAL:
      return "NORMAL";
    default:
      return "?";
  }
}

std::string FormatSlice(v1::Field id, uint32_t first, uint32_t bits) {
  const FieldInfo* field = FindField(id);
  if (field == nullptr) return absl::StrCat("field_", static_cast<int>(id), "[?]");
  if (bits == 0) bits = field->options.bits() - first;
  const std::string& name = field->options.name();
  if (first == 0 && bits == field->options.bits()) return absl::StrCat(name, "[]");
  if (bits == 1) return absl::StrCat(name, "[", first, "]");
  return absl::StrCat(name, "[", first, "..", first + bits - 1, "]");
}

std::string FormatController(const v1::ControllerAction& controller) {
  if (controller.reason() == v1::PACKET_REASON_UNSPECIFIED) {
    return absl::StrCat("CONTROLLER:", controller.max_len() == 0 ? 65535 : controller.max_len());
  }
  return absl::StrCat("controller(reason=", NameOf(controller.reason()),
                      controller.max_len() == 0 ? "" : absl::StrCat(",max_len=", controller.max_len()), ")");
}

std::string FormatPipelineAction(const v1::Action& action) {
  switch (action.action_case()) {
    case v1::Action::kMoveField: {
      const v1::MoveFieldAction& move = action.move_field();
      return absl::StrCat("move:", FormatSlice(move.source(), move.source_bit(), move.bits()), "->",
                          FormatSlice(move.destination(), move.destination_bit(), move.bits()));
    }
    case v1::Action::kOutputField:
      return absl::StrCat("output:", FormatSlice(action.output_field().field(), action.output_field().bit(),
                                                 action.output_field().bits()));
    case v1::Action::kPushMpls:
      return absl::StrCat("push_mpls:", Hex(action.push_mpls().eth_type()));
    case v1::Action::kPopMpls:
      return absl::StrCat("pop_mpls:", Hex(action.pop_mpls().eth_type()));
    case v1::Action::kDecMplsTtl:
      return "dec_mpls_ttl";
    case v1::Action::kGroup:
      return absl::StrCat("group:", action.group().group_id());
    case v1::Action::kMeter:
      return absl::StrCat("meter:", action.meter().meter_id());
    case v1::Action::kController:
      return FormatController(action.controller());
    case v1::Action::kGotoTable:
      return absl::StrCat("goto_table:", action.goto_table().table_id());
    case v1::Action::kWriteActions:
      return absl::StrCat("write_actions(", FormatList(action.write_actions().actions()), ")");
    case v1::Action::kClearActions:
      return "clear_actions";
    default:
      return "?";  // from a newer switch
  }
}

std::string FormatAction(const v1::Action& action) {
  switch (action.action_case()) {
    case v1::Action::kOutput:
      if (action.output().target_case() == v1::OutputAction::kPort)
        return absl::StrCat("output:", action.output().port());
      return FormatReserved(action.output().reserved());
    case v1::Action::kSetField:
      return FormatSetField(action.set_field());
    case v1::Action::kPushVlan:
      return FormatPush(action.push_vlan());
    case v1::Action::kPopVlan:
      return "pop_vlan";
    case v1::Action::kDecTtl:
      return "dec_ttl";
    default:
      return FormatPipelineAction(action);
  }
}

// mod_vlan_vid and mod_vlan_pcp are two actions in the API.
std::string FormatModVlan(const v1::Action& first, const v1::Action& second) {
  if (!first.push_vlan().only_if_untagged() || first.push_vlan().tpid() != 0x8100) return "";
  const v1::SetFieldAction& set = second.set_field();
  if (set.has_mask()) return "";
  if (set.field() == v1::FIELD_VLAN_VID) return absl::StrCat("mod_vlan_vid:", set.value());
  if (set.field() == v1::FIELD_VLAN_PCP) return absl::StrCat("mod_vlan_pcp:", set.value());
  return "";
}

std::string FormatList(const google::protobuf::RepeatedPtrField<v1::Action>& actions) {
  if (actions.empty()) return "drop";
  std::vector<std::string> parts;
  for (int i = 0; i < actions.size(); ++i) {
    std::string both = i + 1 < actions.size() ? FormatModVlan(actions[i], actions[i + 1]) : "";
    if (!both.empty()) ++i;
    parts.push_back(both.empty() ? FormatAction(actions[i]) : std::move(both));
  }
  return absl::StrJoin(parts, ",");
}

double Seconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + time.nanos() * 1e-9;
}

// What the flow is, but for its counters; zeros only if they are asked for.
std::string FormatRest(const v1::FlowSpec& spec) {
  std::string out;
  if (spec.idle_timeout().seconds() != 0) absl::StrAppend(&out, "idle_timeout=", spec.idle_timeout().seconds(), ", ");
  if (spec.hard_timeout().seconds() != 0) absl::StrAppend(&out, "hard_timeout=", spec.hard_timeout().seconds(), ", ");
  const std::string match = FormatMatch(spec.match());
  absl::StrAppend(&out, "priority=", spec.priority(), match.empty() ? "" : ",", match,
                  " actions=", FormatActions(spec));
  return out;
}

}  // namespace

std::string FormatMatch(const v1::Match& match) {
  bool type_said = false, proto_said = false;
  std::vector<std::string> parts;
  if (std::string shorthand = TakeShorthand(match, &type_said, &proto_said); !shorthand.empty()) {
    parts.push_back(std::move(shorthand));
  }
  for (const v1::FieldMatch& condition : match.fields()) {
    if (type_said && condition.field() == v1::FIELD_ETH_TYPE) continue;
    if (proto_said && condition.field() == v1::FIELD_IP_PROTO) continue;
    const FieldInfo* field = FindField(condition.field());
    parts.push_back(field != nullptr ? FormatCondition(*field, GetValue(*field, condition))
                                     : absl::StrCat("field_", static_cast<int>(condition.field()), "=?"));
  }
  return absl::StrJoin(parts, ",");
}

std::string FormatMask(const v1::Match& mask) {
  std::vector<std::string> parts;
  for (const v1::FieldMatch& condition : mask.fields()) {
    const FieldInfo* field = FindField(condition.field());
    if (field == nullptr) continue;
    const ValueMask vm = GetValue(*field, condition);
    const std::string text = FormatCondition(*field, {vm.mask, vm.mask});
    const size_t slash = text.find('/');
    std::string name = text.substr(0, text.find('='));
    if (vm.last != 0) {
      name += "/range";
    } else if (slash != std::string::npos) {
      name += text.substr(slash);
    } else if (vm.mask != field->all_ones) {  // a fragment's word, or TCP flags
      absl::StrAppend(&name, "/", Low(vm.mask) < 10 ? absl::StrCat(Low(vm.mask)) : Hex(Low(vm.mask)));
    }
    parts.push_back(std::move(name));
  }
  return absl::StrJoin(parts, ",");
}

std::string FormatActions(const v1::FlowSpec& spec) { return FormatList(spec.actions()); }

std::string FormatSpec(const v1::FlowSpec& spec) {
  std::string out;
  if (spec.cookie() != 0) absl::StrAppend(&out, "cookie=", Hex(spec.cookie()), ", ");
  if (spec.table_id() != 0) absl::StrAppend(&out, "table=", spec.table_id(), ", ");
  return absl::StrCat(out, FormatRest(spec));
}

std::string FormatFlow(const v1::Flow& flow, bool wide, double now_unix_seconds) {
  const v1::FlowSpec& spec = flow.spec();
  const v1::FlowStats& stats = flow.stats();
  if (!wide) {
    const std::string table = spec.table_id() != 0 ? absl::StrCat("table=", spec.table_id(), ", ") : "";
    const std::string cookie = spec.cookie() != 0 ? absl::StrCat("cookie=", Hex(spec.cookie()), ", ") : "";
    return absl::StrCat(cookie, table, "n_packets=", stats.packets(), ", n_bytes=", stats.bytes(), ", ",
                        FormatRest(spec));
  }
  std::string out = absl::StrCat("id=", flow.id(), ", cookie=", Hex(spec.cookie()));
  absl::StrAppendFormat(&out, ", duration=%.3fs", std::max(0.0, now_unix_seconds - Seconds(flow.create_time())));
  absl::StrAppend(&out, ", table=", spec.table_id(), ", n_packets=", stats.packets(), ", n_bytes=", stats.bytes());
  if (stats.has_last_used_time()) {
    const double age = std::floor(std::max(0.0, now_unix_seconds - Seconds(stats.last_used_time())));
    absl::StrAppend(&out, ", idle_age=", static_cast<uint64_t>(age));
  }
  if (flow.has_modify_time()) {
    const double age = std::floor(std::max(0.0, now_unix_seconds - Seconds(flow.modify_time())));
    absl::StrAppend(&out, ", hard_age=", static_cast<uint64_t>(age));
  }
  return absl::StrCat(out, ", ", FormatRest(spec));
}

}  // namespace sluice::client
