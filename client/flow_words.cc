#include "client/flow_words.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice::client {
namespace {

struct Shorthand {
  const char* name;
  int eth_type;
  int ip_proto;
};
// The first of equals is the one that is printed.
constexpr Shorthand kShorthands[] = {
    {"eth", 0, -1},       {"ip", 0x0800, -1},    {"ip4", 0x0800, -1},    {"ipv6", 0x86dd, -1}, {"ip6", 0x86dd, -1},
    {"icmp", 0x0800, 1},  {"icmp6", 0x86dd, 58}, {"tcp", 0x0800, 6},     {"tcp6", 0x86dd, 6},  {"udp", 0x0800, 17},
    {"udp6", 0x86dd, 17}, {"sctp", 0x0800, 132}, {"sctp6", 0x86dd, 132}, {"arp", 0x0806, -1},  {"rarp", 0x8035, -1},
    {"mpls", 0x8847, -1}, {"mplsm", 0x8848, -1},
};

struct NamedKey {
  const char* name;
  KeyKind kind;
  v1::Field field = v1::FIELD_UNSPECIFIED;
};
// These come before the names of fields.
constexpr NamedKey kKeys[] = {
    {"nw_src", KeyKind::kNwSrc, v1::FIELD_IPV4_SRC},
    {"ip_src", KeyKind::kNwSrc, v1::FIELD_IPV4_SRC},
    {"nw_dst", KeyKind::kNwDst, v1::FIELD_IPV4_DST},
    {"ip_dst", KeyKind::kNwDst, v1::FIELD_IPV4_DST},
    {"nw_proto", KeyKind::kNwProto, v1::FIELD_IP_PROTO},
    {"ip_proto", KeyKind::kNwProto, v1::FIELD_IP_PROTO},
    {"tp_src", KeyKind::kTpSrc},
    {"tp_dst", KeyKind::kTpDst},
    {"icmp_type", KeyKind::kIcmpType, v1::FIELD_ICMPV4_TYPE},
    {"icmp_code", KeyKind::kIcmpCode, v1::FIELD_ICMPV4_CODE},
    {"nw_tos", KeyKind::kNwTos, v1::FIELD_IP_DSCP},
    {"dl_vlan", KeyKind::kDlVlan},
    {"vlan_vid", KeyKind::kVlanVid, v1::FIELD_VLAN_VID},
    {"vlan_pcp", KeyKind::kVlanPcp, v1::FIELD_VLAN_PCP},
    {"dl_vlan_pcp", KeyKind::kVlanPcp, v1::FIELD_VLAN_PCP},
    {"vlan_tci", KeyKind::kVlanTci, v1::FIELD_VLAN_TCI},
    {"vlan_present", KeyKind::kVlanPresent, v1::FIELD_VLAN_PRESENT},
    {"actions", KeyKind::kActions},
    {"action", KeyKind::kActions},
    {"priority", KeyKind::kPriority},
    {"cookie", KeyKind::kCookie},
    {"table", KeyKind::kTable},
    {"idle_timeout", KeyKind::kIdleTimeout},
    {"hard_timeout", KeyKind::kHardTimeout},
    {"out_port", KeyKind::kOutPort},
    {"check_overlap", KeyKind::kCheckOverlap},
    {"reset_counts", KeyKind::kResetCounts},
    {"add", KeyKind::kCommand},
    {"modify", KeyKind::kCommand},
    {"modify_strict", KeyKind::kCommand},
    {"delete", KeyKind::kCommand},
    {"delete_strict", KeyKind::kCommand},
    {"id", KeyKind::kStatistic},
    {"duration", KeyKind::kStatistic},
    {"n_packets", KeyKind::kStatistic},
    {"n_bytes", KeyKind::kStatistic},
    {"n_offload_packets", KeyKind::kStatistic},
    {"n_offload_bytes", KeyKind::kStatistic},
    {"idle_age", KeyKind::kStatistic},
    {"hard_age", KeyKind::kStatistic},
    {"importance", KeyKind::kStatistic},
    {"send_flow_rem", KeyKind::kFlag},
    {"no_packet_counts", KeyKind::kFlag},
    {"no_byte_counts", KeyKind::kFlag},
    {"conj_id", KeyKind::kNotThisSwitch},
    {"reg8", KeyKind::kNotThisSwitch},
    {"reg9", KeyKind::kNotThisSwitch},
    {"reg10", KeyKind::kNotThisSwitch},
    {"reg11", KeyKind::kNotThisSwitch},
    {"reg12", KeyKind::kNotThisSwitch},
    {"reg13", KeyKind::kNotThisSwitch},
    {"reg14", KeyKind::kNotThisSwitch},
    {"reg15", KeyKind::kNotThisSwitch},
    {"dp_hash", KeyKind::kNotYet},
    {"actset_output", KeyKind::kNotYet},
    {"in_port_oxm", KeyKind::kNotYet},
    {"out_group", KeyKind::kNotYet},
    {"packet_type", KeyKind::kNotYet},
    {"pkt_mark", KeyKind::kNotYet},
    {"recirc_id", KeyKind::kNotYet},
    {"skb_priority", KeyKind::kNotYet},
    {"tunnel_id", KeyKind::kNotYet},
    {"tun_id", KeyKind::kNotYet},
};
// Families of fields that are refused by how their names begin.
constexpr NamedKey kFamilies[] = {
    {"ct_", KeyKind::kNotThisSwitch}, {"xreg", KeyKind::kNotThisSwitch}, {"xxreg", KeyKind::kNotThisSwitch},
    {"tun_", KeyKind::kNotYet},       {"nd_", KeyKind::kNotYet},         {"nsh_", KeyKind::kNotYet},
};

struct NamedAction {
  const char* name;
  ActionKind kind;
  v1::Field field = v1::FIELD_UNSPECIFIED;
};
constexpr NamedAction kActions[] = {
    {"output", ActionKind::kOutput},
    {"in_port", ActionKind::kInPort},
    {"all", ActionKind::kAll},
    {"drop", ActionKind::kDrop},
    {"mod_dl_src", ActionKind::kSet, v1::FIELD_ETH_SRC},
    {"mod_dl_dst", ActionKind::kSet, v1::FIELD_ETH_DST},
    {"mod_nw_src", ActionKind::kSet, v1::FIELD_IPV4_SRC},
    {"mod_nw_dst", ActionKind::kSet, v1::FIELD_IPV4_DST},
    {"mod_nw_ecn", ActionKind::kSet, v1::FIELD_IP_ECN},
    {"mod_nw_ttl", ActionKind::kSet, v1::FIELD_IP_TTL},
    {"mod_nw_tos", ActionKind::kSetTos},
    {"mod_tp_src", ActionKind::kSetTpSrc},
    {"mod_tp_dst", ActionKind::kSetTpDst},
    {"mod_vlan_vid", ActionKind::kSetVlan, v1::FIELD_VLAN_VID},
    {"mod_vlan_pcp", ActionKind::kSetVlan, v1::FIELD_VLAN_PCP},
    {"set_vlan_vid", ActionKind::kSet, v1::FIELD_VLAN_VID},
    {"set_vlan_pcp", ActionKind::kSet, v1::FIELD_VLAN_PCP},
    {"set_mpls_label", ActionKind::kSet, v1::FIELD_MPLS_LABEL},
    {"set_mpls_tc", ActionKind::kSet, v1::FIELD_MPLS_TC},
    {"set_mpls_ttl", ActionKind::kSet, v1::FIELD_MPLS_TTL},
    {"set_field", ActionKind::kSetField},
    {"push_vlan", ActionKind::kPushVlan},
    {"pop_vlan", ActionKind::kPopVlan},
    {"strip_vlan", ActionKind::kPopVlan},
    {"dec_ttl", ActionKind::kDecTtl},
    {"dec_mpls_ttl", ActionKind::kDecMplsTtl},
    {"push_mpls", ActionKind::kPushMpls},
    {"pop_mpls", ActionKind::kPopMpls},
    {"flood", ActionKind::kFlood},
    {"normal", ActionKind::kNormal},
    {"controller", ActionKind::kController},
    {"group", ActionKind::kGroup},
    {"meter", ActionKind::kMeter},
    {"goto_table", ActionKind::kGotoTable},
    {"write_metadata", ActionKind::kSetMetadata},
    {"write_actions", ActionKind::kWriteActions},
    {"apply_actions", ActionKind::kApplyActions},
    {"clear_actions", ActionKind::kClearActions},
    {"load", ActionKind::kLoad},
    {"reg_load", ActionKind::kLoad},
    {"move", ActionKind::kMove},
};
constexpr const char* kNeverActions[] = {"ct",     "ct_clear",    "nat",       "learn", "conjunction", "resubmit",
                                         "bundle", "bundle_load", "multipath", "note",  "sample"};
constexpr const char* kLaterActions[] = {
    "local", "table",       "none",       "any",       "enqueue",     "set_queue",        "pop_queue",
    "push",  "pop",         "stack_push", "stack_pop", "dec_nsh_ttl", "set_tunnel",       "set_tunnel64",
    "exit",  "fin_timeout", "clone",      "encap",     "decap",       "check_pkt_larger", "delete_field"};

using KeyMap = absl::flat_hash_map<std::string, KeyWord>;
using ActionMap = absl::flat_hash_map<std::string, ActionWord>;

KeyMap BuildKeys() {
  KeyMap keys;
  for (const NamedKey& key : kKeys) keys.emplace(key.name, KeyWord{.kind = key.kind, .field = FindField(key.field)});
  for (const Shorthand& s : kShorthands) {
    keys.emplace(s.name, KeyWord{.kind = KeyKind::kShorthand, .eth_type = s.eth_type, .ip_proto = s.ip_proto});
  }
  for (const FieldInfo& field : AllFields()) {
    const KeyWord word{.kind = KeyKind::kField, .field = &field};
    keys.emplace(field.options.name(), word);
    for (const std::string& alias : field.options.aliases()) keys.emplace(alias, word);
  }
  return keys;
}

ActionMap BuildActions() {
  ActionMap actions;
  for (const NamedAction& a : kActions) actions.emplace(a.name, ActionWord{a.kind, FindField(a.field)});
  for (const char* name : kNeverActions) actions.emplace(name, ActionWord{ActionKind::kNotThisSwitch});
  for (const char* name : kLaterActions) actions.emplace(name, ActionWord{ActionKind::kNotYet});
  return actions;
}

const KeyMap& Keys() {
  static const auto* const keys = new KeyMap(BuildKeys());
  return *keys;
}

const ActionMap& Actions() {
  static const auto* const actions = new ActionMap(BuildActions());
  return *actions;
}

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

bool IsRefused(KeyKind kind) {
  return kind == KeyKind::kNotThisSwitch || kind == KeyKind::kNotYet || kind == KeyKind::kCommand;
}
bool IsRefused(ActionKind kind) { return kind == ActionKind::kNotThisSwitch || kind == ActionKind::kNotYet; }

// Words further away than a third of their letters are no help.
template <typename Map>
std::string Suggest(const Map& map, absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const auto& [word, meaning] : map) {
    if (IsRefused(meaning.kind)) continue;
    const size_t distance = EditDistance(lower, word);
    if (distance < best_distance || (distance == best_distance && !best.empty() && word < best)) {
      best = word;
      best_distance = distance;
    }
  }
  return best.empty() ? "" : absl::StrCat("; did you mean \"", best, "\"?");
}

const KeyWord* FindFamily(absl::string_view name) {
  static constexpr KeyWord kNever{.kind = KeyKind::kNotThisSwitch};
  static constexpr KeyWord kLater{.kind = KeyKind::kNotYet};
  for (const NamedKey& family : kFamilies) {
    if (absl::StartsWith(name, family.name)) return family.kind == KeyKind::kNotThisSwitch ? &kNever : &kLater;
  }
  return nullptr;
}

}  // namespace

const KeyWord* FindKey(absl::string_view name) {
  const auto it = Keys().find(name);
  return it != Keys().end() ? &it->second : FindFamily(name);
}

const ActionWord* FindAction(absl::string_view name) {
  auto it = Actions().find(name);
  if (it == Actions().end()) it = Actions().find(absl::AsciiStrToLower(name));
  return it != Actions().end() ? &it->second : nullptr;
}

std::string RefusalOf(KeyKind kind, absl::string_view name) {
  if (kind == KeyKind::kNotYet) return absl::StrCat("field ", name, " is not supported by this version");
  const bool is_register = absl::StrContains(name, "reg");
  return absl::StrCat("field ", name, " is not supported by this switch",
                      is_register ? ", which has reg0 to reg7, of 32 bits each" : "");
}

std::string SuggestKey(absl::string_view name) { return Suggest(Keys(), name); }
std::string SuggestAction(absl::string_view name) { return Suggest(Actions(), name); }

const char* ShorthandFor(uint64_t eth_type, int ip_proto) {
  for (const Shorthand& s : kShorthands) {
    if (static_cast<uint64_t>(s.eth_type) == eth_type && s.ip_proto == ip_proto && eth_type != 0) return s.name;
  }
  return nullptr;
}

}  // namespace sluice::client
