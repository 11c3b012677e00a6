#include "tests/unit/client/random_flow.h"

#include <algorithm>
#include <vector>

#include "absl/numeric/int128.h"
#include "client/field_table.h"

namespace sluice::client {

// What the flow's packets are known to be.
struct RandomFlow::Context {
  int eth_type = -1;
  int ip_proto = -1;
  bool later = false;
  bool tagged = false;
  bool untagged = false;
  bool odd = false;  // bits of the outer tag are known, but not whether it is there
  int icmpv6_type = -1;
  int icmpv6_code = -1;

  bool IsNd(int type) const { return icmpv6_type == type && icmpv6_code <= 0; }

  bool Meets(v1::Prerequisite prerequisite) const {
    const bool ip = eth_type == 0x0800 || eth_type == 0x86dd;
    const bool l4 = ip && !later;
    switch (prerequisite) {
      case v1::PREREQUISITE_NONE:
        return true;
      case v1::PREREQUISITE_VLAN:
        return tagged;
      case v1::PREREQUISITE_ARP:
        return eth_type == 0x0806;
      case v1::PREREQUISITE_IPV4:
        return eth_type == 0x0800;
      case v1::PREREQUISITE_IPV6:
        return eth_type == 0x86dd;
      case v1::PREREQUISITE_IP:
        return ip;
      case v1::PREREQUISITE_TCP:
        return l4 && ip_proto == 6;
      case v1::PREREQUISITE_UDP:
        return l4 && ip_proto == 17;
      case v1::PREREQUISITE_SCTP:
        return l4 && ip_proto == 132;
      case v1::PREREQUISITE_ICMPV4:
        return l4 && eth_type == 0x0800 && ip_proto == 1;
      case v1::PREREQUISITE_ICMPV6:
        return l4 && eth_type == 0x86dd && ip_proto == 58;
      case v1::PREREQUISITE_MPLS:
        return eth_type == 0x8847 || eth_type == 0x8848;
      case v1::PREREQUISITE_ND:
        return IsNd(135) || IsNd(136);
      case v1::PREREQUISITE_ND_SOLICIT:
        return IsNd(135);
      case v1::PREREQUISITE_ND_ADVERT:
        return IsNd(136);
      default:
        return false;
    }
  }
};

namespace {

constexpr int kEthTypes[] = {0x0800, 0x0800, 0x0800, 0x86dd, 0x86dd, 0x86dd, 0x0806,
                             0x8035, 0x8847, 0x8848, 0x05ff, 0x88cc, 0x8100};
constexpr int kProtocols[] = {6, 6, 17, 17, 132, 132, 0, 47, 255};
// value/mask that ip_frag's words mean.
constexpr ValueMask kFragments[] = {{0, 3}, {1, 1}, {1, 3}, {3, 3}, {0, 2}};

ValueMask RandomValue(const FieldInfo& field, std::mt19937_64& random, bool masks, bool for_ovs = false) {
  const absl::uint128 bits = absl::MakeUint128(random(), random());
  ValueMask vm{bits & field.all_ones, field.all_ones};
  if (masks && field.maskable()) {
    const unsigned length = random() % field.options.bits() + 1;
    if (random() % 3 == 0) vm.mask = (field.all_ones << (field.options.bits() - length)) & field.all_ones;
    if (random() % 6 == 0 && !(for_ovs && field.wide()))
      vm.mask = absl::MakeUint128(random(), random()) & field.all_ones;
    if (vm.mask == 0) vm.mask = field.all_ones;
  }
  vm.value &= vm.mask;
  if (random() % 8 == 0) vm.value = 0;
  if (for_ovs && field.id == v1::FIELD_ARP_OP) vm.value &= 0xff;
  return vm;
}

// A range that no mask can say: an even first value and an even last.
ValueMask RandomRange(const FieldInfo& field, std::mt19937_64& random) {
  const uint64_t some = absl::Uint128Low64(field.all_ones) & ~uint64_t{1};
  uint64_t first = random() & some, last = random() & some;
  if (first > last) std::swap(first, last);
  return first == last ? ValueMask{0, field.all_ones, last | 2} : ValueMask{first, field.all_ones, last};
}

void Add(const FieldInfo& field, const ValueMask& vm, v1::FlowSpec& spec) {
  PutValue(field, vm, *spec.mutable_match()->add_fields());
}

bool IsOfNd(const FieldInfo& field) {
  return field.id == v1::FIELD_ND_TARGET || field.id == v1::FIELD_ND_SLL || field.id == v1::FIELD_ND_TLL;
}

// The first of the four fields of the tag that the field is of; unspecified: of none.
v1::Field TagOf(v1::Field id) {
  for (const v1::Field first : {v1::FIELD_VLAN_PRESENT, v1::FIELD_INNER_VLAN_PRESENT}) {
    if (id >= first && id < first + 4) return first;
  }
  return v1::FIELD_UNSPECIFIED;
}

}  // namespace

v1::FlowSpec RandomFlow::Next() {
  v1::FlowSpec spec;
  Context context;
  spec.set_priority(Below(65536));
  if (Chance(50)) spec.set_cookie(random_());
  if (Chance(20) && !options_.for_ovs) spec.set_table_id(Below(255));
  if (Chance(10) && !options_.for_ovs) spec.mutable_idle_timeout()->set_seconds(1 + Below(65535));
  AddMatch(context, spec);
  AddActions(context, spec);
  return spec;
}

void RandomFlow::AddMatch(Context& context, v1::FlowSpec& spec) {
  if (Chance(85)) context.eth_type = kEthTypes[Below(std::size(kEthTypes))];
  if (context.Meets(v1::PREREQUISITE_IP) && Chance(75)) {
    const bool ipv4 = context.eth_type == 0x0800;
    const int icmp = ipv4 ? 1 : 58;
    context.ip_proto = Chance(ipv4 ? 25 : 45) ? icmp : kProtocols[Below(std::size(kProtocols))];
  }
  const ValueMask* fragment = Chance(25) ? &kFragments[Below(std::size(kFragments))] : nullptr;
  context.later = fragment != nullptr && (fragment->value & 2) != 0;
  for (const FieldInfo& field : AllFields()) {
    if (const v1::Field tag = TagOf(field.id); tag != v1::FIELD_UNSPECIFIED) {
      if (field.id == tag) AddVlan(tag, context, spec);
      continue;
    }
    if (!context.Meets(field.options.prerequisite())) continue;
    if (field.id == v1::FIELD_ETH_TYPE) {
      if (context.eth_type >= 0) Add(field, {context.eth_type, field.all_ones}, spec);
    } else if (field.id == v1::FIELD_IP_PROTO) {
      if (context.ip_proto >= 0) Add(field, {context.ip_proto, field.all_ones}, spec);
    } else if (field.id == v1::FIELD_IP_FRAG) {
      if (fragment != nullptr) Add(field, *fragment, spec);
    } else if (field.id == v1::FIELD_ICMPV6_TYPE && Chance(60)) {
      context.icmpv6_type = 135 + static_cast<int>(Below(2));
      Add(field, {context.icmpv6_type, field.all_ones}, spec);
    } else if (field.id == v1::FIELD_ICMPV6_CODE && context.IsNd(context.icmpv6_type)) {
      if (Chance(50)) Add(field, {context.icmpv6_code = 0, field.all_ones}, spec);
    } else if (Chance(IsOfNd(field) ? 70 : 30)) {
      ValueMask vm = RandomValue(field, random_, true, options_.for_ovs);
      if (field.id == v1::FIELD_IN_PORT) vm.value = 1 + Below(65279);
      if (field.rangeable() && !options_.for_ovs && Chance(30)) vm = RandomRange(field, random_);
      Add(field, vm, spec);
    }
  }
}

// In the form in which the switch returns it. first: the tag's first field.
void RandomFlow::AddVlan(v1::Field first, Context& context, v1::FlowSpec& spec) {
  const bool is_inner = first == v1::FIELD_INNER_VLAN_PRESENT;
  // Where there is no tag there is no second one; and of an outer tag that is known by some bits only, a second one
  // says more.
  if (is_inner && (options_.for_ovs || context.untagged || context.odd)) return;
  const auto field = [first](v1::Field outer) -> const FieldInfo& {
    return InfoOf(static_cast<v1::Field>(outer - v1::FIELD_VLAN_PRESENT + first));
  };
  const FieldInfo& present = field(v1::FIELD_VLAN_PRESENT);
  const FieldInfo& vid = field(v1::FIELD_VLAN_VID);
  const FieldInfo& pcp = field(v1::FIELD_VLAN_PCP);
  const uint64_t what = Below(options_.for_ovs ? 8 : 9);
  if (what < 3) return;
  bool tagged = what >= 4 && what < 8;
  if (what == 3) Add(present, {0, 1}, spec);
  if (what == 4) Add(present, {1, 1}, spec);
  if (what == 5 || what == 7) Add(vid, RandomValue(vid, random_, true), spec);
  if (what == 6 || what == 7) Add(pcp, RandomValue(pcp, random_, false), spec);
  if (what == 8) {
    // What the others cannot say: no word about presence, or a part of PCP.
    const uint64_t mask = Chance(50) ? 1 + Below(0x0fff) : 0x3000 | Below(0x1000);
    const uint64_t value = random_() & mask;
    tagged = (mask & 0x1000) != 0;
    Add(field(v1::FIELD_VLAN_TCI), {tagged ? value | 0x1000 : value, mask}, spec);
  }
  if (!is_inner) {
    context.tagged = tagged;
    context.untagged = what == 3;
    context.odd = what == 8 && !tagged;
  } else if (tagged) {
    // That there is an outer tag goes without saying then.
    context.tagged = true;
    auto& fields = *spec.mutable_match()->mutable_fields();
    const auto said = std::find_if(fields.begin(), fields.end(),
                                   [](const v1::FieldMatch& match) { return match.field() == v1::FIELD_VLAN_PRESENT; });
    if (said != fields.end()) fields.erase(said);
  }
}

void RandomFlow::AddActions(Context& context, v1::FlowSpec& spec) {
  for (uint64_t n = Below(6); n > 0; --n) {
    const uint64_t what = Below(10);
    if (what < 3) {
      spec.add_actions()->mutable_output()->set_port(1 + Below(65279));
    } else if (what == 3) {
      spec.add_actions()->mutable_output()->set_reserved(Chance(50) ? v1::RESERVED_PORT_ALL
                                                                    : v1::RESERVED_PORT_IN_PORT);
    } else if (what == 4 && !(options_.for_ovs && context.tagged)) {
      v1::PushVlanAction* push = spec.add_actions()->mutable_push_vlan();
      push->set_tpid(Chance(50) ? 0x8100 : 0x88a8);
      push->set_only_if_untagged(!options_.for_ovs && Chance(50));
      context.tagged = true;
    } else if (what == 5 && context.tagged) {
      spec.add_actions()->mutable_pop_vlan();
      context.tagged = false;
    } else if (what == 6 && context.Meets(v1::PREREQUISITE_IP)) {
      spec.add_actions()->mutable_dec_ttl();
    } else {
      AddSetField(context, spec);
    }
  }
}

void RandomFlow::AddSetField(const Context& context, v1::FlowSpec& spec) {
  std::vector<const FieldInfo*> writable;
  for (const FieldInfo& field : AllFields()) {
    if (field.options.writable() && context.Meets(field.options.prerequisite())) writable.push_back(&field);
  }
  // Few flows have these.
  const auto of_nd =
      std::stable_partition(writable.begin(), writable.end(), [](auto* field) { return IsOfNd(*field); });
  if (of_nd != writable.begin() && Chance(50)) writable.erase(of_nd, writable.end());
  const FieldInfo& field = *writable[Below(writable.size())];
  PutValue(field, RandomValue(field, random_, true, options_.for_ovs), *spec.add_actions()->mutable_set_field());
}

}  // namespace sluice::client
