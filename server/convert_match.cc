// Matches. Four things are made canonical, so that what means the same is the
// same flow and what a client reads back is what it would write:
// - VLAN conditions are kept as vlan_tci and said by vlan_present, vlan_vid and
//   vlan_pcp where these can say it;
// - "no tag" is the one bit that says so, since an untagged packet's VID and
//   PCP are zero anyway;
// - "not a fragment" and "a later fragment" fix both bits of ip_frag;
// - a range of ports that a mask can say is that mask.

#include <string>

#include "absl/strings/str_cat.h"
#include "server/convert.h"
#include "server/convert_field.h"

namespace sluice {
namespace {

constexpr uint16_t kVid = 0x0fff;
constexpr uint16_t kPcp = 0xe000;
constexpr int kPcpShift = 13;
constexpr uint32_t kMinEthType = 0x0600;

bool IsVlan(Field field) { return field >= Field::kVlanPresent && field <= Field::kVlanTci; }

uint16_t TciOf(const PacketKey& key) {
  return static_cast<uint16_t>(absl::Uint128Low64(GetField(key, Field::kVlanTci)));
}

// What a condition on one of the VLAN fields says about vlan_tci.
struct Tci {
  uint16_t value;
  uint16_t mask;
};
Tci TciFor(Field field, const FieldBits& bits) {
  const auto value = static_cast<uint16_t>(absl::Uint128Low64(bits.value));
  const auto mask = static_cast<uint16_t>(absl::Uint128Low64(bits.mask));
  switch (field) {
    case Field::kVlanPresent:
      return {static_cast<uint16_t>(value == 1 ? kTciPresent : 0), kTciPresent};
    case Field::kVlanVid:
      return {static_cast<uint16_t>(value | kTciPresent), static_cast<uint16_t>(mask | kTciPresent)};
    case Field::kVlanPcp:
      return {static_cast<uint16_t>(value << kPcpShift | kTciPresent), static_cast<uint16_t>(kPcp | kTciPresent)};
    default:
      return {value, mask};
  }
}

void AddVlan(const FieldInfo& info, const FieldBits& bits, const Path& path, ViolationList& violations, Match& out) {
  const Tci add = TciFor(info.field, bits);
  const uint16_t value = TciOf(out.value);
  const uint16_t mask = TciOf(out.mask);
  const uint16_t both = static_cast<uint16_t>(value | add.value);
  if (((value ^ add.value) & mask & add.mask) != 0) {
    violations.Add(Path(path, "field"), absl::StrCat(info.name,
                                                     " contradicts the VLAN fields before it: a packet with a VID or "
                                                     "a PCP has a tag, and vlan_tci must agree with vlan_present, "
                                                     "vlan_vid and vlan_pcp"));
    return;
  }
  uint16_t all = static_cast<uint16_t>(mask | add.mask);
  if ((all & ~both & kTciPresent) != 0) {
    if (both != 0) {
      violations.Add(Path(path, "field"),
                     "no packet matches: without a tag (bit 0x1000 of vlan_tci zero) VID and PCP are zero");
      return;
    }
    all = kTciPresent;
  }
  PutField(out.value, Field::kVlanTci, both);
  PutField(out.mask, Field::kVlanTci, all);
}

// True if the value is one that the field can have.
bool CheckValue(const FieldInfo& info, FieldBits& bits, const Path& path, ViolationList& violations) {
  const uint64_t value = absl::Uint128Low64(bits.value);
  if (info.field == Field::kEthType && value < kMinEthType && value != kEthTypeNone) {
    violations.Add(Path(path, "value"), absl::StrCat(ShowValue(info, value),
                                                     " is a length, not an EtherType: 0x600 to 0xffff, or 0x5ff for "
                                                     "frames without an EtherType"));
    return false;
  }
  if (info.field == Field::kInPort && (value == 0 || value > kMaxPortNumber)) {
    violations.Add(Path(path, "value"), absl::StrCat("no port has the number ", value, ": 1 to ", kMaxPortNumber));
    return false;
  }
  if (info.field != Field::kIpFrag) return true;
  const bool any_known = (bits.mask & kFragAny) != 0;
  if (any_known && (bits.value & kFragAny) == 0) {
    if ((bits.value & kFragLater) != 0) {
      violations.Add(Path(path, "value"),
                     "no packet is a later fragment and no fragment: value/mask 3/3 is a later one");
      return false;
    }
    bits.mask |= kFragLater;
  } else if ((bits.value & kFragLater) != 0) {
    bits.value |= kFragAny;
    bits.mask |= kFragAny;
  }
  return true;
}

// "tcp_src, tcp_dst, …"
std::string RangeableFields() {
  std::string names;
  for (const FieldInfo& info : Fields()) {
    if (info.rangeable) absl::StrAppend(&names, names.empty() ? "" : ", ", info.name);
  }
  return names;
}

// value <= field <= last.
void AddRange(const v1::FieldMatch& in, const FieldInfo& info, const Path& path, ViolationList& violations,
              Match& out) {
  if (!info.rangeable) {
    violations.Add(Path(path, "last"),
                   absl::StrCat(info.name, " takes no range, only ", RangeableFields(), " do: leave last out"));
    return;
  }
  if (in.has_mask()) {
    violations.Add(Path(path, "mask"), "a range takes no mask: leave mask out, or last");
    return;
  }
  FieldBits first;
  if (!FieldBitsFromProto(ViewOf(in), info, path, violations, first)) return;
  if (in.last() > info.all) {
    violations.Add(Path(path, "last"), TooWide(info, in.last()));
  } else if (in.last() < in.value()) {
    violations.Add(Path(path, "last"), absl::StrCat("the range ends at ", in.last(), " and begins above, at value ",
                                                    in.value(), ": value must not be higher"));
  } else if (in.value() == 0 && in.last() == info.all) {
    violations.Add(Path(path, "last"), "the range has all values: leave the field out to match any value of it");
  } else {
    MatchOnRange(out, info.field, {static_cast<uint16_t>(in.value()), static_cast<uint16_t>(in.last())});
  }
}

void AddField(const v1::FieldMatch& in, const Path& path, uint32_t& seen, ViolationList& violations, Match& out) {
  const FieldInfo* info = FindField(in.field());
  if (info == nullptr) {
    violations.Add(Path(path, "field"), UnknownField(in.field()));
    return;
  }
  const uint32_t bit = uint32_t{1} << in.field();
  if ((seen & bit) != 0) {
    violations.Add(Path(path, "field"), absl::StrCat(info->name, " is given twice; each field may stand once"));
    return;
  }
  seen |= bit;
  if (in.has_last()) return AddRange(in, *info, path, violations, out);
  FieldBits bits;
  if (!FieldBitsFromProto(ViewOf(in), *info, path, violations, bits)) return;
  if (!CheckValue(*info, bits, path, violations)) return;
  if (IsVlan(info->field)) {
    AddVlan(*info, bits, path, violations, out);
  } else {
    MatchOn(out, info->field, bits.value, bits.mask);
  }
}

// What the match says instead, where that helps.
std::string Instead(const KnownHeaders& headers) {
  if (headers.eth_type < 0) return "; the match has no eth_type";
  std::string text = absl::StrCat("; the match has eth_type 0x", absl::Hex(headers.eth_type, absl::kZeroPad4));
  if (headers.ip_proto >= 0) absl::StrAppend(&text, ", nw_proto ", headers.ip_proto);
  if (headers.later_fragment) absl::StrAppend(&text, ", ip_frag=later");
  return text;
}

void CheckPrerequisites(const v1::Match& in, const Path& path, ViolationList& violations, const Match& out) {
  const KnownHeaders headers = HeadersOf(out);
  for (int i = 0; i < in.fields_size(); ++i) {
    const FieldInfo& info = *FindField(in.fields(i).field());
    if (Meets(info.prerequisite, headers)) continue;
    const Path at(path, "fields", i);
    violations.Add(Path(at, "field"), absl::StrCat(info.name, " needs ", DescribePrerequisite(info.prerequisite),
                                                   " in the same match", Instead(headers)));
  }
}

void AddTo(v1::Match* out, Field field, uint64_t value, uint64_t mask, bool explicit_mask) {
  FieldBitsToProto(Fields()[static_cast<int>(field)], {value, mask}, explicit_mask, out->add_fields());
}

void AddRangeTo(v1::Match* out, const FieldInfo& info, PortRange range) {
  v1::FieldMatch* field = out->add_fields();
  field->set_field(info.number);
  field->set_value(range.first);
  field->set_last(range.last);
}

// True if vlan_present, vlan_vid and vlan_pcp can say it.
bool IsPlainTci(Tci tci) {
  const int pcp = tci.mask & kPcp;
  return (tci.value & kTciPresent) != 0 ? pcp == 0 || pcp == kPcp : tci.mask == kTciPresent;
}

void VlanToProto(Tci tci, bool explicit_mask, v1::Match* out) {
  if (tci.mask == 0) return;
  if (!IsPlainTci(tci)) {
    AddTo(out, Field::kVlanTci, tci.value, tci.mask, explicit_mask);
    return;
  }
  if (tci.mask == kTciPresent) AddTo(out, Field::kVlanPresent, tci.value != 0, 1, explicit_mask);
  if ((tci.mask & kVid) != 0) AddTo(out, Field::kVlanVid, tci.value & kVid, tci.mask & kVid, explicit_mask);
  if ((tci.mask & kPcp) != 0) AddTo(out, Field::kVlanPcp, tci.value >> kPcpShift, kPcp >> kPcpShift, explicit_mask);
}

// Under which field a mask shows the bits that several share; see MaskToProto.
bool ShownInMask(const FieldInfo& info, const PacketKey& mask) {
  switch (info.prerequisite) {
    case v1::PREREQUISITE_ARP:
      // The operation has a transport port's place, without its presence.
      return info.field == Field::kArpOp && (mask.present & kPresentL4) == 0;
    case v1::PREREQUISITE_TCP:
      return (mask.present & kPresentL4) != 0;
    case v1::PREREQUISITE_UDP:
    case v1::PREREQUISITE_SCTP:
    case v1::PREREQUISITE_ICMPV4:
    case v1::PREREQUISITE_ICMPV6:
      return false;
    default:
      return true;
  }
}

}  // namespace

void MatchFromProto(const v1::Match& in, const Path& path, ViolationList& violations, Match& out) {
  static_assert(kFieldCount <= 32, "seen has 32 bits");
  out = Match{};
  const size_t before = violations.count();
  uint32_t seen = 0;
  for (int i = 0; i < in.fields_size(); ++i) AddField(in.fields(i), Path(path, "fields", i), seen, violations, out);
  // With a field missing or misread the rest would look wrong too.
  if (violations.count() == before) CheckPrerequisites(in, path, violations, out);
}

void MatchToProto(const Match& match, v1::Match* out) {
  const KnownHeaders headers = HeadersOf(match);
  for (const FieldInfo& info : Fields()) {
    if (info.field == Field::kVlanPresent) VlanToProto({TciOf(match.value), TciOf(match.mask)}, false, out);
    if (info.field == Field::kNone || IsVlan(info.field) || !Meets(info.prerequisite, headers)) continue;
    const absl::uint128 mask = GetField(match.mask, info.field);
    if (mask != 0) FieldBitsToProto(info, {GetField(match.value, info.field), mask}, false, out->add_fields());
    if (!info.rangeable) continue;
    const PortRange range = RangeOf(match, info.field);
    if (range != PortRange{}) AddRangeTo(out, info, range);
  }
}

void MaskToProto(const PacketKey& mask, v1::Match* out) {
  const PacketKey looked_at = LookedAt(mask);
  for (const FieldInfo& info : Fields()) {
    if (info.field == Field::kVlanPresent) VlanToProto({TciOf(mask), TciOf(mask)}, true, out);
    if (info.field == Field::kNone || IsVlan(info.field) || !ShownInMask(info, mask)) continue;
    const absl::uint128 bits = GetField(mask, info.field);
    if (bits != 0) FieldBitsToProto(info, {bits, bits}, true, out->add_fields());
    if (bits == 0 && GetField(looked_at, info.field) != 0) AddRangeTo(out, info, PortRange{});
  }
}

}  // namespace sluice
