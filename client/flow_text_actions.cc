#include "client/flow_text_actions.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/flow_text_value.h"

namespace sluice::client {
namespace {

constexpr uint32_t kTpidDot1q = 0x8100, kTpidDot1ad = 0x88a8;
constexpr uint64_t kVlanPresent = 0x1000, kVlanVidBits = 0x0fff;

TextError At(int column, std::string text) { return {column, std::move(text)}; }

TextError AtValue(const Token& token, const absl::Status& status) {
  return {token.value.empty() ? token.key_column : token.value_column, std::string(status.message())};
}

// What is no port's name but stands for one.
v1::ReservedPort ReservedPortOf(absl::string_view port) {
  constexpr std::pair<absl::string_view, v1::ReservedPort> kReserved[] = {{"in_port", v1::RESERVED_PORT_IN_PORT},
                                                                          {"all", v1::RESERVED_PORT_ALL},
                                                                          {"flood", v1::RESERVED_PORT_FLOOD},
                                                                          {"normal", v1::RESERVED_PORT_NORMAL}};
  for (const auto& [name, reserved] : kReserved) {
    if (absl::EqualsIgnoreCase(port, name)) return reserved;
  }
  return v1::RESERVED_PORT_UNSPECIFIED;
}

}  // namespace

bool ActionParser::Meets(v1::Prerequisite prerequisite) const { return changes_type_ || match_.Meets(prerequisite); }

TextError ActionParser::Parse(Lexer lexer) {
  Token token;
  int drop_column = 0;
  int count = 0;
  while (lexer.Next(&token)) {
    if (token.unclosed)
      return At(token.key_column, absl::StrCat(token.key, " has no end; expected \")\" or a closing quote"));
    ++count;
    const ActionWord* word = FindAction(token.key);
    if (word != nullptr && word->kind == ActionKind::kDrop) drop_column = token.key_column;
    if (drop_column != 0 && count > 1) return At(drop_column, "drop stands beside other actions; expected drop alone");
    if (TextError error = word != nullptr ? ParseWord(*word, token) : ParseOne(token)) return error;
  }
  return {};
}

// A bare port, or nothing that is known.
TextError ActionParser::ParseOne(const Token& token) {
  uint64_t number = 0;
  const bool name = token.delimiter == '\0' && *port_names_ && (*port_names_)(token.key).has_value();
  if (absl::StartsWith(token.key, "\"") || name || ParseNumber(token.key, number)) {
    if (token.delimiter != '\0') return At(token.value_column, absl::StrCat("port ", token.key, " takes no value"));
    return Output(token.key, token.key_column);
  }
  if (FindKey(token.key) != nullptr) {
    return At(token.key_column,
              absl::StrCat("\"", token.key, "\" is no action; expected matches and options before actions="));
  }
  return At(token.key_column, absl::StrCat("unknown action \"", token.key, "\"", SuggestAction(token.key)));
}

TextError ActionParser::ParseWord(const ActionWord& word, const Token& token) {
  switch (word.kind) {
    case ActionKind::kOutput:
      return Output(token.value, token.value.empty() ? token.key_column : token.value_column);
    case ActionKind::kSet:
      return Set(*word.field, token);
    case ActionKind::kSetTos:
      return SetTos(token);
    case ActionKind::kSetTpSrc:
    case ActionKind::kSetTpDst:
      return SetPort(word.kind == ActionKind::kSetTpSrc, token);
    case ActionKind::kSetVlan:
      AddPush(kTpidDot1q, true);
      return Set(*word.field, token);
    case ActionKind::kSetField:
      return SetField(token);
    case ActionKind::kPushVlan:
      return PushVlan(token);
    case ActionKind::kPushMpls:
    case ActionKind::kPopMpls:
      return Mpls(token, word.kind == ActionKind::kPushMpls);
    case ActionKind::kNotThisSwitch:
      return At(token.key_column, absl::StrCat("action ", token.key, " is not supported by this switch"));
    case ActionKind::kNotYet:
      return At(token.key_column, absl::StrCat("action ", token.key, " is not supported by this version"));
    default:
      return word.kind >= ActionKind::kController ? ParsePipelineWord(word.kind, token) : ParseBare(word.kind, token);
  }
}

// Actions that are one word.
TextError ActionParser::ParseBare(ActionKind kind, const Token& token) {
  if (!token.value.empty()) {
    if (kind == ActionKind::kDecTtl)
      return At(token.value_column, "dec_ttl with controller ids is not supported by this version");
    return At(token.value_column, absl::StrCat(token.key, " takes no value"));
  }
  switch (kind) {
    case ActionKind::kInPort:
    case ActionKind::kAll:
    case ActionKind::kFlood:
    case ActionKind::kNormal:
      return Output(token.key, token.key_column);
    case ActionKind::kPopVlan:
      out_.Add()->mutable_pop_vlan();
      return {};
    case ActionKind::kDecMplsTtl:
      out_.Add()->mutable_dec_mpls_ttl();
      return {};
    case ActionKind::kDecTtl:
      if (!Meets(v1::PREREQUISITE_IP)) {
        return At(token.key_column, absl::StrCat("dec_ttl needs ", PrerequisiteText(v1::PREREQUISITE_IP)));
      }
      out_.Add()->mutable_dec_ttl();
      return {};
    default:
      return {};  // drop: no action
  }
}

TextError ActionParser::Output(absl::string_view port, int column) {
  if (const v1::ReservedPort reserved = ReservedPortOf(port); reserved != v1::RESERVED_PORT_UNSPECIFIED) {
    out_.Add()->mutable_output()->set_reserved(reserved);
    return {};
  }
  if (absl::EqualsIgnoreCase(port, "controller")) {
    out_.Add()->mutable_controller();
    return {};
  }
  if (absl::EndsWith(port, "]")) return OutputField(port, column);
  const ActionWord* word = FindAction(port);
  if ((word != nullptr && word->kind == ActionKind::kNotYet) || absl::StartsWith(port, "port=")) {
    return At(column, absl::StrCat("output to ", port, " is not supported by this version"));
  }
  const absl::StatusOr<uint32_t> number = ParsePort("output", port, *port_names_);
  if (!number.ok()) return At(column, std::string(number.status().message()));
  out_.Add()->mutable_output()->set_port(*number);
  return {};
}

TextError ActionParser::Set(const FieldInfo& field, const Token& token) {
  const absl::StatusOr<ValueMask> vm = ParseValue(field, token.key, token.value);
  if (!vm.ok()) return AtValue(token, vm.status());
  if (vm->mask != field.all_ones) {
    return At(token.value_column, absl::StrCat(token.key, " takes no mask; expected a value, or set_field"));
  }
  return AddSet(field, *vm, token);
}

TextError ActionParser::SetTos(const Token& token) {
  const absl::StatusOr<uint64_t> tos = ParseNumberIn(token.key, token.value, 0, 255);
  if (!tos.ok()) return AtValue(token, tos.status());
  if ((*tos & 3) != 0) {
    return At(token.value_column,
              absl::StrCat(token.key, ": ", token.value,
                           " sets the two ECN bits; expected a multiple of 4 (mod_nw_ecn sets those)"));
  }
  const FieldInfo& dscp = InfoOf(v1::FIELD_IP_DSCP);
  return AddSet(dscp, {*tos >> 2, dscp.all_ones}, token);
}

TextError ActionParser::SetPort(bool source, const Token& token) {
  for (const v1::Field id : {v1::FIELD_TCP_SRC, v1::FIELD_UDP_SRC, v1::FIELD_SCTP_SRC}) {
    if (!Meets(InfoOf(id).options.prerequisite())) continue;
    TextError error = Set(source ? InfoOf(id) : InfoOf(static_cast<v1::Field>(id + 1)), token);
    // The port of whichever protocol it is.
    if (error || !any_packet_) return error;
  }
  if (any_packet_) return {};
  return At(token.key_column, absl::StrCat(token.key,
                                           " needs a protocol with ports; write tcp, udp or sctp (or tcp6, udp6, "
                                           "sctp6) in the match"));
}

// The field that set_field's right-hand side names, in any spelling.
const FieldInfo* ActionParser::Destination(const KeyWord& word) const {
  const bool source = word.kind == KeyKind::kTpSrc;
  if (!source && word.kind != KeyKind::kTpDst) return word.field;
  v1::Field id = v1::FIELD_TCP_SRC;
  if (Meets(v1::PREREQUISITE_UDP)) id = v1::FIELD_UDP_SRC;
  if (Meets(v1::PREREQUISITE_SCTP)) id = v1::FIELD_SCTP_SRC;
  return &InfoOf(source ? id : static_cast<v1::Field>(id + 1));
}

TextError ActionParser::SetField(const Token& token) {
  const size_t arrow = token.value.rfind("->");
  if (arrow == absl::string_view::npos) {
    return At(token.key_column, "set_field has no \"->\"; expected set_field:VALUE[/MASK]->FIELD");
  }
  Token value = token;
  value.key = token.value.substr(arrow + 2);
  value.key_column = token.value_column + static_cast<int>(arrow) + 2;
  // set_field(VALUE->FIELD) and set_field(VALUE)->FIELD mean the same.
  value.value = token.value.substr(0, arrow);
  if (token.delimiter == '(' && absl::EndsWith(value.value, ")")) value.value.remove_suffix(1);
  const KeyWord* word = FindKey(value.key);
  const FieldInfo* field = word != nullptr ? Destination(*word) : nullptr;
  if (field == nullptr) return NoDestination(word, value);
  if (!field->options.writable()) {
    return At(value.key_column, absl::StrCat("set_field cannot write ", value.key, "; expected a writable field"));
  }
  if (word->kind == KeyKind::kNwTos) return SetTos(value);
  return field->id == v1::FIELD_VLAN_VID ? SetVlanVid(value) : SetNamedField(*field, value);
}

TextError ActionParser::NoDestination(const KeyWord* word, const Token& token) const {
  const int column = token.key_column;
  if (word != nullptr && word->kind == KeyKind::kNotThisSwitch) {
    return At(column, absl::StrCat("field ", token.key, " is not supported by this switch"));
  }
  if (word != nullptr && word->kind == KeyKind::kNotYet) {
    return At(column, absl::StrCat("field ", token.key, " is not supported by this version"));
  }
  if (word != nullptr && word->kind == KeyKind::kDlVlan) {
    return At(column, "set_field cannot write dl_vlan; expected mod_vlan_vid, or set_field to vlan_vid");
  }
  return At(column, absl::StrCat("unknown field \"", token.key, "\"", SuggestKey(token.key)));
}

TextError ActionParser::SetNamedField(const FieldInfo& field, const Token& value) {
  const absl::StatusOr<ValueMask> vm = ParseValue(field, value.key, value.value);
  if (!vm.ok()) return AtValue(value, vm.status());
  if (vm->mask == 0)
    return At(value.value_column,
              absl::StrCat("set_field writes no bit of ", value.key, "; expected a mask other than 0"));
  if ((vm->value & ~vm->mask) != 0) {
    return At(value.value_column, absl::StrCat("set_field: ", value.value, " has bits outside its mask; expected ",
                                               FormatValue(field, {vm->value & vm->mask, vm->mask})));
  }
  return AddSet(field, *vm, value);
}

// 13 bits in text, of which the highest says "tagged" and must be set.
TextError ActionParser::SetVlanVid(const Token& value) {
  const absl::StatusOr<ValueMask> vm = ParseMaskedNumber(value.key, value.value, 13);
  if (!vm.ok()) return AtValue(value, vm.status());
  const uint64_t vid = absl::Uint128Low64(vm->value), mask = absl::Uint128Low64(vm->mask);
  if ((vid & kVlanPresent) == 0 || (mask & kVlanPresent) == 0) {
    const std::string masked = mask == (kVlanPresent | kVlanVidBits) ? "" : absl::StrCat("/", Hex(mask | kVlanPresent));
    return At(value.value_column,
              absl::StrCat("set_field: ", value.value, " lacks vlan_vid's bit 0x1000, which says \"tagged\"; expected ",
                           vid | kVlanPresent, masked));
  }
  if ((vid & ~mask) != 0) {
    return At(value.value_column, absl::StrCat("set_field: ", value.value, " has bits outside its mask; expected ",
                                               Hex(vid & mask), "/", Hex(mask)));
  }
  if (mask == kVlanPresent)
    return At(value.value_column, "set_field writes no bit of the VLAN id; expected a mask other than 0x1000");
  return AddSet(InfoOf(v1::FIELD_VLAN_VID), {vid & kVlanVidBits, mask & kVlanVidBits}, value);
}

// push_vlan:TPID, and our own push_vlan(TPID,only_if_untagged).
TextError ActionParser::PushVlan(const Token& token) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(token.value, absl::MaxSplits(',', 1));
  uint64_t tpid = 0;
  if (!ParseNumber(parts.first, tpid) || (tpid != kTpidDot1q && tpid != kTpidDot1ad)) {
    return AtValue(token, absl::InvalidArgumentError(absl::StrCat(
                              "push_vlan: \"", parts.first, "\" is no VLAN EtherType; expected 0x8100 or 0x88a8")));
  }
  if (!parts.second.empty() && parts.second != "only_if_untagged") {
    return At(token.value_column,
              absl::StrCat("push_vlan: \"", parts.second, "\" is not understood; expected only_if_untagged"));
  }
  AddPush(static_cast<uint32_t>(tpid), !parts.second.empty());
  return {};
}

void ActionParser::AddPush(uint32_t tpid, bool only_if_untagged) {
  v1::PushVlanAction* push = out_.Add()->mutable_push_vlan();
  push->set_tpid(tpid);
  push->set_only_if_untagged(only_if_untagged);
  pushed_ = true;
}

TextError ActionParser::AddSet(const FieldInfo& field, const ValueMask& vm, const Token& token) {
  const v1::Prerequisite prerequisite = field.options.prerequisite();
  const bool met = Meets(prerequisite) || (prerequisite == v1::PREREQUISITE_VLAN && pushed_);
  if (!met) return At(token.key_column, absl::StrCat(token.key, " needs ", PrerequisiteText(prerequisite)));
  PutValue(field, vm, *out_.Add()->mutable_set_field());
  return {};
}

}  // namespace sluice::client
