#include "client/flow_text_match.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/flow_text_value.h"

namespace sluice::client {
namespace {

constexpr int kEthIpv4 = 0x0800, kEthArp = 0x0806, kEthIpv6 = 0x86dd, kEthNone = 0x05ff;
constexpr int kEthMpls = 0x8847, kEthMplsMulticast = 0x8848;
constexpr int kNdSolicit = 135, kNdAdvert = 136;
constexpr int kProtoIcmp = 1, kProtoTcp = 6, kProtoUdp = 17, kProtoIcmpv6 = 58, kProtoSctp = 132;
constexpr uint64_t kTciPresent = 0x1000, kTciVid = 0x0fff, kTciPcp = 0xe000;
constexpr int kPcpShift = 13;
constexpr uint64_t kFragmentLater = 2;
// The two tags' fields come in the same order.
static_assert(v1::FIELD_INNER_VLAN_TCI - v1::FIELD_INNER_VLAN_PRESENT == v1::FIELD_VLAN_TCI - v1::FIELD_VLAN_PRESENT);
static_assert(v1::FIELD_INNER_VLAN_VID - v1::FIELD_INNER_VLAN_PRESENT == v1::FIELD_VLAN_VID - v1::FIELD_VLAN_PRESENT);
constexpr uint64_t kMaxPort = 0xfeff;
constexpr uint64_t kNoTag = 0xffff;  // dl_vlan's word for it

// What a prerequisite demands, and how to write it.
struct Demand {
  v1::Prerequisite prerequisite;
  int eth_type;  // 0: IPv4 or IPv6
  int ip_proto;  // -1: any
  const char* text;
};
constexpr Demand kDemands[] = {
    {v1::PREREQUISITE_ARP, kEthArp, -1, "an ARP flow; write arp too"},
    {v1::PREREQUISITE_IPV4, kEthIpv4, -1, "an IPv4 flow; write ip too"},
    {v1::PREREQUISITE_IPV6, kEthIpv6, -1, "an IPv6 flow; write ipv6 too"},
    {v1::PREREQUISITE_IP, 0, -1, "an IP flow; write ip or ipv6 too"},
    {v1::PREREQUISITE_TCP, 0, kProtoTcp, "a TCP flow; write tcp or tcp6 too"},
    {v1::PREREQUISITE_UDP, 0, kProtoUdp, "a UDP flow; write udp or udp6 too"},
    {v1::PREREQUISITE_SCTP, 0, kProtoSctp, "an SCTP flow; write sctp or sctp6 too"},
    {v1::PREREQUISITE_ICMPV4, kEthIpv4, kProtoIcmp, "an ICMP flow; write icmp too"},
    {v1::PREREQUISITE_ICMPV6, kEthIpv6, kProtoIcmpv6, "an ICMPv6 flow; write icmp6 too"},
    {v1::PREREQUISITE_MPLS, kEthMpls, -1, "an MPLS flow; write mpls or mplsm too"},
    {v1::PREREQUISITE_ND, kEthIpv6, kProtoIcmpv6,
     "a flow of neighbour discovery; write icmp6,icmp_type=135,icmp_code=0 (or type 136) too"},
    {v1::PREREQUISITE_ND_SOLICIT, kEthIpv6, kProtoIcmpv6,
     "a flow of neighbour solicitations; write icmp6,icmp_type=135,icmp_code=0 too"},
    {v1::PREREQUISITE_ND_ADVERT, kEthIpv6, kProtoIcmpv6,
     "a flow of neighbour advertisements; write icmp6,icmp_type=136,icmp_code=0 too"},
};

const Demand* DemandOf(v1::Prerequisite prerequisite) {
  const auto* it = std::find_if(std::begin(kDemands), std::end(kDemands),
                                [&](const Demand& d) { return d.prerequisite == prerequisite; });
  return it == std::end(kDemands) ? nullptr : it;
}

TextError At(int column, std::string text) { return {column, std::move(text)}; }
TextError AtValue(const Token& token, const absl::Status& status) {
  return {token.value.empty() ? token.key_column : token.value_column, std::string(status.message())};
}

}  // namespace

std::string PrerequisiteText(v1::Prerequisite prerequisite) {
  if (const Demand* demand = DemandOf(prerequisite)) return demand->text;
  return "a VLAN tag; write dl_vlan=…, vlan_tci=0x1000/0x1000 or, for an action, push_vlan before it";
}

absl::StatusOr<uint32_t> ParsePort(absl::string_view what, absl::string_view text, const PortNames& port_names) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  uint64_t number = 0;
  if (!quoted && ParseNumber(text, number)) {
    if (number >= 1 && number <= kMaxPort) return static_cast<uint32_t>(number);
  } else if (!text.empty()) {
    const absl::string_view name = quoted ? text.substr(1, text.size() - 2) : text;
    if (const std::optional<uint32_t> port = port_names ? port_names(name) : std::nullopt) return *port;
  }
  return absl::InvalidArgumentError(absl::StrCat(what, ": \"", text, "\" is no port; expected a port's number, 1 to ",
                                                 kMaxPort, port_names ? ", or the name of a port of this switch" : ""));
}

TextError MatchParser::Add(const KeyWord& word, const Token& token) {
  switch (word.kind) {
    case KeyKind::kShorthand:
      return AddShorthand(word, token);
    case KeyKind::kField:
      return AddField(*word.field, token);
    case KeyKind::kNwTos:
      return AddTos(token);
    case KeyKind::kDlVlan:
    case KeyKind::kVlanVid:
    case KeyKind::kVlanPcp:
    case KeyKind::kVlanTci:
    case KeyKind::kVlanPresent:
      return AddVlan(word.kind, token);
    default:
      deferred_.push_back({word.kind, token});
      return {};
  }
}

TextError MatchParser::AddShorthand(const KeyWord& word, const Token& token) {
  if (token.delimiter != '\0') return At(token.value_column, absl::StrCat(token.key, " takes no value"));
  if (word.eth_type == 0) return {};  // "eth": every frame is one
  const FieldInfo& type = InfoOf(v1::FIELD_ETH_TYPE);
  if (TextError error = AddTerm(type, {word.eth_type, type.all_ones}, token)) return error;
  if (word.ip_proto < 0) return {};
  const FieldInfo& proto = InfoOf(v1::FIELD_IP_PROTO);
  return AddTerm(proto, {word.ip_proto, proto.all_ones}, token);
}

TextError MatchParser::AddField(const FieldInfo& field, const Token& token) {
  if (field.id >= v1::FIELD_INNER_VLAN_PRESENT && field.id <= v1::FIELD_INNER_VLAN_TCI) {
    return AddInnerVlan(field, token);
  }
  if (field.id == v1::FIELD_IN_PORT && token.value != "*") {
    const absl::StatusOr<uint32_t> port = ParsePort(token.key, token.value, *port_names_);
    return port.ok() ? AddTerm(field, {*port, field.all_ones}, token) : AtValue(token, port.status());
  }
  const absl::StatusOr<ValueMask> vm = LooksLikeRange(field, token.value) ? ParseRange(field, token.key, token.value)
                                                                          : ParseValue(field, token.key, token.value);
  if (!vm.ok()) return AtValue(token, vm.status());
  const int type = static_cast<int>(absl::Uint128Low64(vm->value));
  if (field.id == v1::FIELD_ETH_TYPE && vm->mask != 0 && type < 0x0600 && type != kEthNone) {
    return At(token.value_column, absl::StrCat(token.key, ": ", token.value,
                                               " is a length, not a type; expected 0x0600 to 0xffff, or 0x05ff for "
                                               "frames without an EtherType"));
  }
  return AddTerm(field, *vm, token);
}

TextError MatchParser::AddTos(const Token& token) {
  if (token.value == "*") return {};
  const absl::StatusOr<uint64_t> tos = ParseNumberIn(token.key, token.value, 0, 255);
  if (!tos.ok()) return AtValue(token, tos.status());
  if ((*tos & 3) != 0) {
    return At(token.value_column,
              absl::StrCat(token.key, ": ", token.value,
                           " sets the two ECN bits; expected a multiple of 4 (nw_ecn matches the other two)"));
  }
  const FieldInfo& dscp = InfoOf(v1::FIELD_IP_DSCP);
  return AddTerm(dscp, {*tos >> 2, dscp.all_ones}, token);
}

TextError MatchParser::AddTerm(const FieldInfo& field, const ValueMask& vm, const Token& token) {
  if (vm.mask == 0) return {};
  if (vm.mask != field.all_ones && !field.maskable()) {
    return At(token.value_column,
              absl::StrCat(token.key, " takes no mask; expected a value, or no ", token.key, " at all"));
  }
  const ValueMask canonical{vm.value & vm.mask, vm.mask, vm.last};
  for (const Term& term : terms_) {
    if (term.field != &field) continue;
    if (term.vm == canonical) return {};
    return At(token.key_column, absl::StrCat(token.key, " contradicts ", term.key, " in column ", term.column,
                                             "; expected one condition on ", field.options.name()));
  }
  terms_.push_back({&field, canonical, token.key, token.key_column});
  return {};
}

bool MatchParser::TagTerm::present() const { return (tci.value & kTciPresent) != 0; }
bool MatchParser::TagTerm::absent() const { return (tci.mask & ~tci.value & kTciPresent) != 0; }

TextError MatchParser::AddVlan(KeyKind kind, const Token& token) {
  if (token.value == "*") return {};
  const absl::string_view what = token.key;
  if (kind == KeyKind::kVlanTci || kind == KeyKind::kVlanVid) {
    const absl::StatusOr<ValueMask> vm = ParseMaskedNumber(what, token.value, kind == KeyKind::kVlanTci ? 16 : 13);
    if (!vm.ok()) return AtValue(token, vm.status());
    if (kind == KeyKind::kVlanTci || vm->mask != (kTciPresent | kTciVid)) return MergeVlan(outer_, *vm, token);
    if (vm->value == 0 || (vm->value & kTciPresent) != 0) return MergeVlan(outer_, *vm, token);
    const uint64_t vid = absl::Uint128Low64(vm->value);
    return At(token.value_column,
              absl::StrCat(what, ": ", token.value, " lacks the bit that says \"tagged\"; expected ", vid | kTciPresent,
                           ", or dl_vlan=", vid));
  }
  const bool present = kind == KeyKind::kVlanPresent;
  const bool dl_vlan = kind == KeyKind::kDlVlan;
  if (dl_vlan && (token.value == "0xffff" || token.value == "65535")) {
    return MergeVlan(outer_, {0, kTciPresent}, token);
  }
  const absl::StatusOr<uint64_t> value = ParseNumberIn(what, token.value, 0, dl_vlan ? kTciVid : present ? 1 : 7);
  if (!value.ok()) {
    std::string text(value.status().message());
    if (dl_vlan) absl::StrAppend(&text, ", or ", Hex(kNoTag), " for untagged frames");
    return AtValue(token, absl::InvalidArgumentError(text));
  }
  if (present) return MergeVlan(outer_, {*value * kTciPresent, kTciPresent}, token);
  if (dl_vlan) return MergeVlan(outer_, {*value | kTciPresent, kTciPresent | kTciVid}, token);
  return MergeVlan(outer_, {*value << kPcpShift | kTciPresent, kTciPresent | kTciPcp}, token);
}

// These are no words of ovs-ofctl's: values are the fields' own.
TextError MatchParser::AddInnerVlan(const FieldInfo& field, const Token& token) {
  const absl::StatusOr<ValueMask> vm = ParseValue(field, token.key, token.value);
  if (!vm.ok()) return AtValue(token, vm.status());
  if (vm->mask == 0) return {};
  if (vm->mask != field.all_ones && !field.maskable()) {
    return At(token.value_column,
              absl::StrCat(token.key, " takes no mask; expected a value, or no ", token.key, " at all"));
  }
  switch (field.id) {
    case v1::FIELD_INNER_VLAN_PRESENT:
      return MergeVlan(inner_, {vm->value * kTciPresent, kTciPresent}, token);
    case v1::FIELD_INNER_VLAN_VID:
      return MergeVlan(inner_, {(vm->value & vm->mask) | kTciPresent, vm->mask | kTciPresent}, token);
    case v1::FIELD_INNER_VLAN_PCP:
      return MergeVlan(inner_, {vm->value << kPcpShift | kTciPresent, kTciPresent | kTciPcp}, token);
    default:
      return MergeVlan(inner_, *vm, token);
  }
}

TextError MatchParser::MergeVlan(TagTerm& tag, const ValueMask& vm, const Token& token) {
  const absl::uint128 both = vm.mask & tag.tci.mask;
  if ((vm.value & both) != (tag.tci.value & both)) {
    return At(token.key_column, absl::StrCat(token.key, " contradicts ", tag.token.key, " in column ",
                                             tag.token.key_column, "; expected one condition on the VLAN tag"));
  }
  tag.tci = {tag.tci.value | (vm.value & vm.mask), tag.tci.mask | vm.mask};
  if (tag.absent()) {
    if (tag.tci.value != 0) {
      return At(token.key_column, absl::StrCat(token.key, " matches no packet: without a tag (bit 0x1000 of ", tag.name,
                                               " zero) VID and PCP are zero; expected them to be zero, or the bit to "
                                               "be set"));
    }
    tag.tci.mask = kTciPresent;  // the one bit says it all
  }
  tag.token = token;
  return {};
}

// No frame has a second tag without an outer one.
TextError MatchParser::SettleTags() {
  if (outer_.absent()) {
    if (inner_.tci.value != 0) {
      return At(inner_.token.key_column,
                absl::StrCat(inner_.token.key, " contradicts ", outer_.token.key, " in column ",
                             outer_.token.key_column, "; expected no second VLAN tag where there is none at all"));
    }
    inner_.tci = {};
  } else if (inner_.present()) {
    outer_.tci = {outer_.tci.value | kTciPresent, outer_.tci.mask | kTciPresent};
  }
  return {};
}

// As the switch returns it: presence, VID and PCP where these can say it, else
// the whole tag. `present`: the first of the tag's four fields.
void MatchParser::EmitVlan(const TagTerm& tag, v1::Field present) {
  const uint64_t mask = absl::Uint128Low64(tag.tci.mask);
  const uint64_t value = absl::Uint128Low64(tag.tci.value);
  if (mask == 0) return;
  const auto emit = [&](int field, uint64_t v, uint64_t m) {
    const FieldInfo& info = InfoOf(static_cast<v1::Field>(present - v1::FIELD_VLAN_PRESENT + field));
    terms_.push_back({&info, {v, m}, tag.token.key, tag.token.key_column});
  };
  const uint64_t pcp = mask & kTciPcp;
  if (tag.present() && (pcp == 0 || pcp == kTciPcp)) {
    if ((mask & kTciVid) != 0) emit(v1::FIELD_VLAN_VID, value & kTciVid, mask & kTciVid);
    if (pcp != 0) emit(v1::FIELD_VLAN_PCP, value >> kPcpShift, 7);
    // That of the outer tag goes without saying where there is a second one.
    if (mask == kTciPresent && !(&tag == &outer_ && inner_.present())) emit(v1::FIELD_VLAN_PRESENT, 1, 1);
  } else if (mask == kTciPresent) {
    emit(v1::FIELD_VLAN_PRESENT, 0, 1);
  } else {
    emit(v1::FIELD_VLAN_TCI, value, mask);
  }
}

int MatchParser::ExactValue(v1::Field field) const {
  for (const Term& term : terms_) {
    if (term.field->id == field) return static_cast<int>(absl::Uint128Low64(term.vm.value));
  }
  return -1;
}

// The field that a word means in this match.
v1::Field MatchParser::FieldFor(KeyKind kind) const {
  const bool arp = eth_type_ == kEthArp;
  const bool icmpv6 = eth_type_ == kEthIpv6 && ip_proto_ == kProtoIcmpv6;
  const bool icmp = eth_type_ == kEthIpv4 && ip_proto_ == kProtoIcmp;
  const bool source = kind == KeyKind::kTpSrc;
  switch (kind) {
    case KeyKind::kNwSrc:
      return arp ? v1::FIELD_ARP_SPA : v1::FIELD_IPV4_SRC;
    case KeyKind::kNwDst:
      return arp ? v1::FIELD_ARP_TPA : v1::FIELD_IPV4_DST;
    case KeyKind::kNwProto:
      return arp ? v1::FIELD_ARP_OP : v1::FIELD_IP_PROTO;
    case KeyKind::kIcmpType:
      return icmpv6 ? v1::FIELD_ICMPV6_TYPE : v1::FIELD_ICMPV4_TYPE;
    case KeyKind::kIcmpCode:
      return icmpv6 ? v1::FIELD_ICMPV6_CODE : v1::FIELD_ICMPV4_CODE;
    default:
      if (icmp) return source ? v1::FIELD_ICMPV4_TYPE : v1::FIELD_ICMPV4_CODE;
      if (icmpv6) return source ? v1::FIELD_ICMPV6_TYPE : v1::FIELD_ICMPV6_CODE;
      if (ip_proto_ == kProtoTcp) return source ? v1::FIELD_TCP_SRC : v1::FIELD_TCP_DST;
      if (ip_proto_ == kProtoUdp) return source ? v1::FIELD_UDP_SRC : v1::FIELD_UDP_DST;
      if (ip_proto_ == kProtoSctp) return source ? v1::FIELD_SCTP_SRC : v1::FIELD_SCTP_DST;
      return v1::FIELD_UNSPECIFIED;
  }
}

TextError MatchParser::Resolve(const Deferred& deferred) {
  const v1::Field field = FieldFor(deferred.kind);
  if (field != v1::FIELD_UNSPECIFIED) return AddField(InfoOf(field), deferred.token);
  if (deferred.token.value == "*") return {};
  return At(deferred.token.key_column,
            absl::StrCat(deferred.token.key,
                         " needs a protocol with ports; write tcp, udp or sctp (or tcp6, udp6, sctp6) too"));
}

TextError MatchParser::Finish(v1::Match& out) {
  eth_type_ = ExactValue(v1::FIELD_ETH_TYPE);
  for (const bool protocol : {true, false}) {  // the protocol decides what the others mean
    for (const Deferred& deferred : deferred_) {
      if ((deferred.kind == KeyKind::kNwProto) != protocol) continue;
      if (TextError error = Resolve(deferred)) return error;
    }
    ip_proto_ = ExactValue(v1::FIELD_IP_PROTO);
  }
  for (const Term& term : terms_) {
    if (term.field->id == v1::FIELD_IP_FRAG) later_fragments_ = (term.vm.value & kFragmentLater) != 0;
  }
  icmpv6_type_ = ExactValue(v1::FIELD_ICMPV6_TYPE);
  icmpv6_code_ = ExactValue(v1::FIELD_ICMPV6_CODE);
  if (TextError error = SettleTags()) return error;
  EmitVlan(outer_, v1::FIELD_VLAN_PRESENT);
  EmitVlan(inner_, v1::FIELD_INNER_VLAN_PRESENT);
  std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.field->id < b.field->id; });
  out.mutable_fields()->Reserve(static_cast<int>(terms_.size()));
  for (const Term& term : terms_) {
    if (TextError error = CheckTerm(term)) return error;
    PutValue(*term.field, term.vm, *out.add_fields());
  }
  return {};
}

TextError MatchParser::CheckTerm(const Term& term) const {
  if (Meets(term.field->options.prerequisite())) return {};
  const Demand* demand = DemandOf(term.field->options.prerequisite());
  if (later_fragments_ && demand->ip_proto >= 0 && ip_proto_ == demand->ip_proto) {
    return At(term.column, absl::StrCat(term.key,
                                        " can match no later fragment, which has neither ports nor an ICMP type; "
                                        "expected another ip_frag, or no ",
                                        term.key));
  }
  return At(term.column, absl::StrCat(term.key, " needs ", demand->text));
}

bool MatchParser::Meets(v1::Prerequisite prerequisite) const {
  if (prerequisite == v1::PREREQUISITE_NONE) return true;
  if (prerequisite == v1::PREREQUISITE_VLAN) return outer_.present();
  if (prerequisite == v1::PREREQUISITE_INNER_VLAN) return inner_.present();
  if (prerequisite == v1::PREREQUISITE_MPLS) return eth_type_ == kEthMpls || eth_type_ == kEthMplsMulticast;
  const Demand* demand = DemandOf(prerequisite);
  if (demand == nullptr) return false;
  const bool ip = eth_type_ == kEthIpv4 || eth_type_ == kEthIpv6;
  if (demand->eth_type == 0 ? !ip : eth_type_ != demand->eth_type) return false;
  if (demand->ip_proto >= 0 && (ip_proto_ != demand->ip_proto || later_fragments_)) return false;
  const bool solicit = icmpv6_type_ == kNdSolicit, advert = icmpv6_type_ == kNdAdvert;
  switch (prerequisite) {
    case v1::PREREQUISITE_ND:
      return (solicit || advert) && icmpv6_code_ <= 0;
    case v1::PREREQUISITE_ND_SOLICIT:
      return solicit && icmpv6_code_ <= 0;
    case v1::PREREQUISITE_ND_ADVERT:
      return advert && icmpv6_code_ <= 0;
    default:
      return true;
  }
}

}  // namespace sluice::client
