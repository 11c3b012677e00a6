// Actions that are about the switch and not about one header: tables, the action
// set, groups, meters, controllers, and copies between fields.

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/flow_text_actions.h"
#include "client/flow_text_value.h"
#include "client/packet_reason.h"

namespace sluice::client {
namespace {

TextError At(int column, std::string text) { return {column, std::move(text)}; }

int ValueColumn(const Token& token) { return token.value.empty() ? token.key_column : token.value_column; }

// Open vSwitch also knows fields as NXM_OF_IP_SRC, NXM_NX_REG0 or OXM_OF_IPV4_SRC.
std::string NameOfExtensible(absl::string_view name) {
  constexpr absl::string_view kPrefixes[] = {"NXM_OF_", "NXM_NX_", "OXM_OF_"};
  constexpr std::pair<absl::string_view, absl::string_view> kOthers[] = {
      {"ipv4_src", "ip_src"},       {"ipv4_dst", "ip_dst"},        {"icmpv4_type", "icmp_type"},
      {"icmpv4_code", "icmp_code"}, {"ipv6_flabel", "ipv6_label"}, {"ipv6_nd_target", "nd_target"},
      {"ipv6_nd_sll", "nd_sll"},    {"ipv6_nd_tll", "nd_tll"},     {"ip_ttl", "nw_ttl"},
      {"ip_tos", "nw_tos"}};
  for (const absl::string_view prefix : kPrefixes) {
    if (!absl::StartsWith(name, prefix)) continue;
    const std::string lower = absl::AsciiStrToLower(name.substr(prefix.size()));
    for (const auto& [theirs, ours] : kOthers) {
      if (lower == theirs) return std::string(ours);
    }
    return lower;
  }
  return std::string(name);
}

bool IsTos(const KeyWord* word) { return word != nullptr && word->kind == KeyKind::kNwTos; }

}  // namespace

TextError ActionParser::Number(const Token& token, uint64_t min, uint64_t max, const char* what, uint32_t& out) const {
  const absl::StatusOr<uint64_t> number = ParseNumberIn(what, token.value, min, max);
  if (!number.ok()) return At(ValueColumn(token), std::string(number.status().message()));
  out = static_cast<uint32_t>(*number);
  return {};
}

TextError ActionParser::ParsePipelineWord(ActionKind kind, const Token& token) {
  constexpr uint64_t kMaxGroup = 0xffffff00, kMaxMeter = 0xffff, kMaxTable = 254;
  uint32_t number = 0;
  switch (kind) {
    case ActionKind::kController:
      return Controller(token);
    case ActionKind::kGroup:
      if (TextError error = Number(token, 1, kMaxGroup, "group", number)) return error;
      out_.Add()->mutable_group()->set_group_id(number);
      return {};
    case ActionKind::kMeter:
      if (TextError error = Number(token, 1, kMaxMeter, "meter", number)) return error;
      out_.Add()->mutable_meter()->set_meter_id(number);
      return {};
    case ActionKind::kGotoTable:
      if (TextError error = Number(token, 0, kMaxTable, "goto_table", number)) return error;
      out_.Add()->mutable_goto_table()->set_table_id(number);
      return {};
    case ActionKind::kSetMetadata:
      return SetMetadata(token);
    case ActionKind::kWriteActions:
      return Nested(token, *out_.Add()->mutable_write_actions()->mutable_actions());
    case ActionKind::kApplyActions:
      return Nested(token, out_);
    case ActionKind::kClearActions:
      if (!token.value.empty()) return At(token.value_column, "clear_actions takes no value");
      out_.Add()->mutable_clear_actions();
      return {};
    case ActionKind::kLoad:
      return Load(token);
    default:
      return Move(token);
  }
}

// Actions in parentheses.
TextError ActionParser::Nested(const Token& token, google::protobuf::RepeatedPtrField<v1::Action>& out) {
  if (token.delimiter != '(') {
    return At(token.key_column, absl::StrCat(token.key, " has no actions; expected ", token.key, "(ACTION,...)"));
  }
  ActionParser inner(match_, port_names_, out);
  inner.pushed_ = pushed_;
  inner.changes_type_ = changes_type_;
  inner.any_packet_ = any_packet_;
  return inner.Parse(Lexer(token.value, token.value_column));
}

TextError ActionParser::SetMetadata(const Token& token) {
  const KeyWord* word = FindKey("metadata");
  if (word == nullptr || word->field == nullptr) {
    return At(token.key_column, "action write_metadata is not supported by this version");
  }
  Token value = token;
  value.key = "metadata";
  absl::StatusOr<ValueMask> vm = ParseValue(*word->field, value.key, value.value);
  if (!vm.ok()) return At(ValueColumn(token), std::string(vm.status().message()));
  vm->value &= vm->mask;  // what is outside counts for nothing, as the instruction is defined
  return vm->mask == 0 ? TextError{} : AddSet(*word->field, *vm, value);
}

// controller, controller:MAX_LEN, controller(max_len=MAX_LEN,reason=REASON).
TextError ActionParser::Controller(const Token& token) {
  v1::ControllerAction controller;
  if (token.delimiter == '(') {
    Lexer lexer(token.value, token.value_column);
    Token option;
    while (lexer.Next(&option)) {
      if (TextError error = ControllerOption(option, controller)) return error;
    }
  } else if (!token.value.empty()) {
    if (TextError error = MaxLen(token, controller)) return error;
  }
  *out_.Add()->mutable_controller() = controller;
  return {};
}

TextError ActionParser::ControllerOption(const Token& option, v1::ControllerAction& out) const {
  if (option.key == "max_len") return MaxLen(option, out);
  if (option.key == "reason") {
    const auto reason = PacketReasons().find(std::string(option.value));
    if (reason == PacketReasons().end()) {
      return At(ValueColumn(option),
                absl::StrCat("controller: unknown reason \"", option.value, "\"; expected ", PacketReasonNames()));
    }
    // As ovs-ofctl reads it: as if nothing was said, so in an action set or a bucket it is another.
    out.set_reason(reason->second == v1::PACKET_REASON_ACTION ? v1::PACKET_REASON_UNSPECIFIED : reason->second);
    return {};
  }
  if (option.key == "id" || option.key == "userdata" || option.key == "pause" || option.key == "meter_id") {
    return At(option.key_column, absl::StrCat("controller: ", option.key, " is not supported by this version"));
  }
  return At(option.key_column,
            absl::StrCat("controller: unknown option \"", option.key, "\"; expected max_len or reason"));
}

// All of it, as the switch says it, is 0.
TextError ActionParser::MaxLen(const Token& token, v1::ControllerAction& out) const {
  constexpr uint64_t kMaxLen = 0xffff;
  uint32_t number = 0;
  if (TextError error = Number(token, 0, kMaxLen, "controller", number)) return error;
  out.set_max_len(number == kMaxLen ? 0 : number);
  return {};
}

TextError ActionParser::Mpls(const Token& token, bool push) {
  constexpr uint64_t kMinEthType = 0x600, kMaxEthType = 0xffff;
  uint32_t eth_type = 0;
  if (TextError error = Number(token, kMinEthType, kMaxEthType, push ? "push_mpls" : "pop_mpls", eth_type)) {
    return error;
  }
  if (push) {
    out_.Add()->mutable_push_mpls()->set_eth_type(eth_type);
  } else {
    out_.Add()->mutable_pop_mpls()->set_eth_type(eth_type);
  }
  changes_type_ = true;
  return {};
}

// FIELD, FIELD[], FIELD[BIT] or FIELD[FIRST..LAST].
TextError ActionParser::ParseSlice(absl::string_view text, int column, Slice& out) const {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('[', 1));
  const KeyWord* word = FindKey(NameOfExtensible(parts.first));
  out.field = word != nullptr ? Destination(*word) : nullptr;
  if (out.field == nullptr) {
    Token token;
    token.key = parts.first;
    token.key_column = column;
    return NoDestination(word, token);
  }
  constexpr uint32_t kInPortBits = 16;  // of Open vSwitch's, which holds every port's number
  out.bits = parts.first == "NXM_OF_IN_PORT" ? kInPortBits : out.field->options.bits();
  // DSCP is the upper bits of it.
  const uint32_t least = IsTos(word) ? 2 : 0;
  absl::string_view range = parts.second;
  if (parts.first.size() == text.size() || range == "]") return {};
  const int at = column + static_cast<int>(parts.first.size()) + 1;
  const std::string expected =
      absl::StrCat("; expected ", parts.first, "[] or bits from [", least, "..", least + out.bits - 1, "]");
  if (!absl::EndsWith(range, "]")) return At(at, absl::StrCat("\"", text, "\" has no end", expected));
  range.remove_suffix(1);
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(range, absl::MaxSplits("..", 1));
  uint64_t first = 0, last = 0;
  const bool one = ends.first.size() == range.size();
  if (!ParseNumber(ends.first, first) || !(one ? ParseNumber(ends.first, last) : ParseNumber(ends.second, last)) ||
      first > last || first < least || last >= least + out.bits) {
    return At(at, absl::StrCat("\"[", range, "]\" names no bits of ", parts.first, expected));
  }
  out.first = static_cast<uint32_t>(first - least);
  out.bits = static_cast<uint32_t>(last - first + 1);
  return {};
}

// As ParseSlice. What can be written of vlan_tci is the tag's VID and its PCP.
TextError ActionParser::ParseDestination(absl::string_view text, int column, const char* action, Slice& out) const {
  constexpr uint32_t kVidBits = 12, kPcpBit = 13;
  if (TextError error = ParseSlice(text, column, out)) return error;
  if (out.field->id == v1::FIELD_VLAN_TCI && out.first + out.bits <= kVidBits) {
    out.field = &InfoOf(v1::FIELD_VLAN_VID);
  } else if (out.field->id == v1::FIELD_VLAN_TCI && out.first >= kPcpBit) {
    out.field = &InfoOf(v1::FIELD_VLAN_PCP);
    out.first -= kPcpBit;
  }
  if (out.field->options.writable()) return {};
  return At(column, absl::StrCat(action, " cannot write ", out.field->options.name(), "; expected a writable field"));
}

// A set_field of some bits.
TextError ActionParser::Load(const Token& token) {
  const size_t arrow = token.value.rfind("->");
  if (arrow == absl::string_view::npos) {
    return At(token.key_column, absl::StrCat(token.key, " has no \"->\"; expected ", token.key, ":VALUE->FIELD[BITS]"));
  }
  Slice to;
  const int to_column = token.value_column + static_cast<int>(arrow) + 2;
  Token value = token;
  value.value = token.value.substr(0, arrow);
  const absl::string_view whole = absl::StripSuffix(token.value.substr(arrow + 2), "[]");
  if (IsTos(FindKey(NameOfExtensible(whole)))) {
    value.key = whole;
    return SetTos(value);
  }
  if (TextError error = ParseDestination(token.value.substr(arrow + 2), to_column, "load", to)) return error;
  uint64_t number = 0;
  if (!ParseNumber(value.value, number)) {
    return At(value.value_column, absl::StrCat("\"", value.value, "\" is no number of up to 64 bits"));
  }
  if (to.bits < 64 && number >> to.bits != 0) {
    return At(value.value_column, absl::StrCat(value.value, " does not fit into ", to.bits, " bits"));
  }
  const absl::uint128 mask = absl::Uint128Max() >> (128 - to.bits) << to.first;
  value.key = to.field->options.name();
  value.key_column = to_column;
  return AddSet(*to.field, {absl::uint128(number) << to.first, mask}, value);
}

TextError ActionParser::Move(const Token& token) {
  const size_t arrow = token.value.find("->");
  if (arrow == absl::string_view::npos) {
    return At(token.key_column, "move has no \"->\"; expected move:FIELD[BITS]->FIELD[BITS]");
  }
  Slice from, to;
  if (TextError error = ParseSlice(token.value.substr(0, arrow), token.value_column, from)) return error;
  const int to_column = token.value_column + static_cast<int>(arrow) + 2;
  if (TextError error = ParseDestination(token.value.substr(arrow + 2), to_column, "move", to)) return error;
  if (from.bits != to.bits) {
    return At(token.value_column, absl::StrCat("move: ", from.bits, " bits do not go into ", to.bits));
  }
  for (const auto& [slice, column] : {std::pair{&from, token.value_column}, std::pair{&to, to_column}}) {
    const v1::Prerequisite prerequisite = slice->field->options.prerequisite();
    if (Meets(prerequisite) || (prerequisite == v1::PREREQUISITE_VLAN && pushed_)) continue;
    return At(column, absl::StrCat(slice->field->options.name(), " needs ", PrerequisiteText(prerequisite)));
  }
  v1::MoveFieldAction* move = out_.Add()->mutable_move_field();
  move->set_source(from.field->id);
  move->set_source_bit(from.first);
  move->set_destination(to.field->id);
  move->set_destination_bit(to.first);
  move->set_bits(from.bits);
  return {};
}

TextError ActionParser::OutputField(absl::string_view text, int column) {
  Slice slice;
  if (TextError error = ParseSlice(text, column, slice)) return error;
  if (!Meets(slice.field->options.prerequisite())) {
    return At(column, absl::StrCat(text, " needs ", PrerequisiteText(slice.field->options.prerequisite())));
  }
  v1::OutputFieldAction* output = out_.Add()->mutable_output_field();
  output->set_field(slice.field->id);
  output->set_bit(slice.first);
  output->set_bits(slice.bits);
  return {};
}

}  // namespace sluice::client
