// Matches. Five things are made canonical, so that what means the same is the
// same flow and what a client reads back is what it would write:
// - VLAN conditions are kept as vlan_tci and said by vlan_present, vlan_vid and
//   vlan_pcp where these can say it;
// - "no tag" is the one bit that says so, since an untagged packet's VID and
//   PCP are zero anyway;
// - who has a second tag has an outer one, and who has none has no second;
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

// The fields of one tag.
struct TagFields {
  Field present;
  Field vid;
  Field pcp;
  Field tci;
};
constexpr TagFields kOuterTag = {Field::kVlanPresent, Field::kVlanVid, Field::kVlanPcp, Field::kVlanTci};
constexpr TagFields kInnerTag = {Field::kInnerVlanPresent, Field::kInnerVlanVid, Field::kInnerVlanPcp,
                                 Field::kInnerVlanTci};

// Null if the field is not of a tag.
const TagFields* TagOf(Field field) {
  for (const TagFields* tag : {&kOuterTag, &kInnerTag}) {
    if (field == tag->present || field == tag->vid || field == tag->pcp || field == tag->tci) return tag;
  }
  return nullptr;
}

const std::string& NameOf(Field field) { return Fields()[static_cast<int>(field)].name; }

// Value and mask of a tag, as vlan_tci has it.
struct Tci {
  uint16_t value;
  uint16_t mask;

  bool present() const { return (value & kTciPresent) != 0; }
  bool absent() const { return (mask & ~value & kTciPresent) != 0; }
};

uint16_t TciOf(const TagFields& tag, const PacketKey& key) {
  return static_cast<uint16_t>(absl::Uint128Low64(GetField(key, tag.tci)));
}

Tci TciOf(const TagFields& tag, const Match& match) { return {TciOf(tag, match.value), TciOf(tag, match.mask)}; }

void PutTci(const TagFields& tag, Tci tci, Match& out) {
  PutField(out.value, tag.tci, tci.value);
  PutField(out.mask, tag.tci, tci.mask);
}

// What a condition on one of a tag's fields says about all of it.
Tci TciFor(const TagFields& tag, Field field, const FieldBits& bits) {
  const auto value = static_cast<uint16_t>(absl::Uint128Low64(bits.value));
  const auto mask = static_cast<uint16_t>(absl::Uint128Low64(bits.mask));
  if (field == tag.present) return {static_cast<uint16_t>(value == 1 ? kTciPresent : 0), kTciPresent};
  if (field == tag.tci) return {value, mask};
  const int shift = field == tag.pcp ? kPcpShift : 0;
  return {static_cast<uint16_t>(value << shift | kTciPresent), static_cast<uint16_t>(mask << shift | kTciPresent)};
}

void AddVlan(const TagFields& tag, Field field, const FieldBits& bits, const Path& path, ViolationList& violations,
             Match& out) {
  const Tci add = TciFor(tag, field, bits);
  const Tci before = TciOf(tag, out);
  if (((before.value ^ add.value) & before.mask & add.mask) != 0) {
    violations.Add(Path(path, "field"),
                   absl::StrCat(NameOf(field),
                                " contradicts the VLAN fields before it: a packet with a VID or a PCP has a tag, and ",
                                NameOf(tag.tci), " must agree with ", NameOf(tag.present), ", ", NameOf(tag.vid),
                                " and ", NameOf(tag.pcp)));
    return;
  }
  Tci both = {static_cast<uint16_t>(before.value | add.value), static_cast<uint16_t>(before.mask | add.mask)};
  if (both.absent()) {
    if (both.value != 0) {
      violations.Add(Path(path, "field"), absl::StrCat("no packet matches: without a tag (bit 0x1000 of ",
                                                       NameOf(tag.tci), " zero) VID and PCP are zero"));
      return;
    }
    both.mask = kTciPresent;
  }
  PutTci(tag, both, out);
}

// No frame has a second tag without an outer one.
void SettleTags(const v1::Match& in, const Path& path, ViolationList& violations, Match& out) {
  Tci outer = TciOf(kOuterTag, out);
  const Tci inner = TciOf(kInnerTag, out);
  if (outer.absent()) {
    if (inner.value == 0) return PutTci(kInnerTag, {0, 0}, out);
    for (int i = 0; i < in.fields_size(); ++i) {
      if (TagOf(static_cast<Field>(in.fields(i).field())) != &kInnerTag) continue;
      return violations.Add(Path(Path(path, "fields", i), "field"),
                            "no packet matches: without a VLAN tag there is no second one");
    }
  } else if (inner.present()) {
    outer.value |= kTciPresent;
    outer.mask |= kTciPresent;
    PutTci(kOuterTag, outer, out);
  }
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

void AddField(const v1::FieldMatch& in, const Path& path, uint64_t& seen, ViolationList& violations, Match& out) {
  const FieldInfo* info = FindField(in.field());
  if (info == nullptr) {
    violations.Add(Path(path, "field"), UnknownField(in.field()));
    return;
  }
  const uint64_t bit = uint64_t{1} << in.field();
  if ((seen & bit) != 0) {
    violations.Add(Path(path, "field"), absl::StrCat(info->name, " is given twice; each field may stand once"));
    return;
  }
  seen |= bit;
  if (in.has_last()) return AddRange(in, *info, path, violations, out);
  FieldBits bits;
  if (!FieldBitsFromProto(ViewOf(in), *info, path, violations, bits)) return;
  if (!CheckValue(*info, bits, path, violations)) return;
  if (const TagFields* tag = TagOf(info->field)) {
    AddVlan(*tag, info->field, bits, path, violations, out);
  } else {
    MatchOn(out, info->field, bits.value, bits.mask);
  }
}

// What the match says instead, where that helps.
std::string Instead(const KnownHeaders& headers) {
  if (headers.eth_type < 0) return "; the match has no eth_type";
  std::string text = absl::StrCat("; the match has eth_type 0x", absl::Hex(headers.eth_type, absl::kZeroPad4));
  if (headers.ip_proto >= 0) absl::StrAppend(&text, ", nw_proto ", headers.ip_proto);
  if (headers.icmpv6_type >= 0) absl::StrAppend(&text, ", icmpv6_type ", headers.icmpv6_type);
  if (headers.icmpv6_code >= 0) absl::StrAppend(&text, ", icmpv6_code ", headers.icmpv6_code);
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

void VlanToProto(const TagFields& tag, Tci tci, bool explicit_mask, v1::Match* out) {
  if (tci.mask == 0) return;
  if (!IsPlainTci(tci)) {
    AddTo(out, tag.tci, tci.value, tci.mask, explicit_mask);
    return;
  }
  if (tci.mask == kTciPresent) AddTo(out, tag.present, tci.value != 0, 1, explicit_mask);
  if ((tci.mask & kVid) != 0) AddTo(out, tag.vid, tci.value & kVid, tci.mask & kVid, explicit_mask);
  if ((tci.mask & kPcp) != 0) AddTo(out, tag.pcp, tci.value >> kPcpShift, kPcp >> kPcpShift, explicit_mask);
}

// The outer tag's presence goes without saying where there is a second one.
void TagsToProto(const TagFields& tag, const Match& match, v1::Match* out) {
  const Tci tci = TciOf(tag, match);
  const bool implied = &tag == &kOuterTag && tci.mask == kTciPresent && TciOf(kInnerTag, match).present();
  if (!implied) VlanToProto(tag, tci, false, out);
}

// Under which field a mask shows the bits that several share; see MaskToProto.
bool ShownInMask(const FieldInfo& info, const PacketKey& mask) {
  switch (info.prerequisite) {
    case v1::PREREQUISITE_ARP:
      // These share places with fields that have other presence bits; the addresses with those of IPv4.
      if (info.field == Field::kArpOp) return (mask.present & kPresentL4) == 0;
      if (info.field == Field::kArpSha) return (mask.present & kPresentNdSource) == 0;
      return info.field == Field::kArpTha && (mask.present & kPresentNdTarget) == 0;
    case v1::PREREQUISITE_ND_SOLICIT:
      return (mask.present & kPresentNdSource) != 0;
    case v1::PREREQUISITE_ND_ADVERT:
      return (mask.present & kPresentNdTarget) != 0;
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
  static_assert(kFieldCount <= 64, "seen has 64 bits");
  out = Match{};
  const size_t before = violations.count();
  uint64_t seen = 0;
  for (int i = 0; i < in.fields_size(); ++i) AddField(in.fields(i), Path(path, "fields", i), seen, violations, out);
  if (violations.count() == before) SettleTags(in, path, violations, out);
  // With a field missing or misread the rest would look wrong too.
  if (violations.count() == before) CheckPrerequisites(in, path, violations, out);
}

void MatchToProto(const Match& match, v1::Match* out) {
  const KnownHeaders headers = HeadersOf(match);
  for (const FieldInfo& info : Fields()) {
    if (const TagFields* tag = TagOf(info.field)) {
      if (info.field == tag->present) TagsToProto(*tag, match, out);
      continue;
    }
    if (info.field == Field::kNone || !Meets(info.prerequisite, headers)) continue;
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
    if (const TagFields* tag = TagOf(info.field)) {
      const uint16_t bits = TciOf(*tag, mask);
      if (info.field == tag->present) VlanToProto(*tag, {bits, bits}, true, out);
      continue;
    }
    if (info.field == Field::kNone || !ShownInMask(info, mask)) continue;
    const absl::uint128 bits = GetField(mask, info.field);
    if (bits != 0) FieldBitsToProto(info, {bits, bits}, true, out->add_fields());
    if (bits == 0 && GetField(looked_at, info.field) != 0) AddRangeTo(out, info, PortRange{});
  }
}

}  // namespace sluice
