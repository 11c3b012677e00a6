#include "server/field_table.h"

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// A field that is added to one of the two enums only, or renumbered, stops here.
#define SLUICE_SAME_FIELD(proto, ours) static_assert(static_cast<int>(v1::proto) == static_cast<int>(Field::ours))
SLUICE_SAME_FIELD(FIELD_UNSPECIFIED, kNone);
SLUICE_SAME_FIELD(FIELD_IN_PORT, kInPort);
SLUICE_SAME_FIELD(FIELD_ETH_DST, kEthDst);
SLUICE_SAME_FIELD(FIELD_ETH_SRC, kEthSrc);
SLUICE_SAME_FIELD(FIELD_ETH_TYPE, kEthType);
SLUICE_SAME_FIELD(FIELD_VLAN_PRESENT, kVlanPresent);
SLUICE_SAME_FIELD(FIELD_VLAN_VID, kVlanVid);
SLUICE_SAME_FIELD(FIELD_VLAN_PCP, kVlanPcp);
SLUICE_SAME_FIELD(FIELD_VLAN_TCI, kVlanTci);
SLUICE_SAME_FIELD(FIELD_ARP_OP, kArpOp);
SLUICE_SAME_FIELD(FIELD_ARP_SPA, kArpSpa);
SLUICE_SAME_FIELD(FIELD_ARP_TPA, kArpTpa);
SLUICE_SAME_FIELD(FIELD_IPV4_SRC, kIpv4Src);
SLUICE_SAME_FIELD(FIELD_IPV4_DST, kIpv4Dst);
SLUICE_SAME_FIELD(FIELD_IPV6_SRC, kIpv6Src);
SLUICE_SAME_FIELD(FIELD_IPV6_DST, kIpv6Dst);
SLUICE_SAME_FIELD(FIELD_IP_PROTO, kIpProto);
SLUICE_SAME_FIELD(FIELD_IP_DSCP, kIpDscp);
SLUICE_SAME_FIELD(FIELD_IP_ECN, kIpEcn);
SLUICE_SAME_FIELD(FIELD_IP_TTL, kIpTtl);
SLUICE_SAME_FIELD(FIELD_IP_FRAG, kIpFrag);
SLUICE_SAME_FIELD(FIELD_TCP_SRC, kTcpSrc);
SLUICE_SAME_FIELD(FIELD_TCP_DST, kTcpDst);
SLUICE_SAME_FIELD(FIELD_UDP_SRC, kUdpSrc);
SLUICE_SAME_FIELD(FIELD_UDP_DST, kUdpDst);
SLUICE_SAME_FIELD(FIELD_SCTP_SRC, kSctpSrc);
SLUICE_SAME_FIELD(FIELD_SCTP_DST, kSctpDst);
SLUICE_SAME_FIELD(FIELD_ICMPV4_TYPE, kIcmpv4Type);
SLUICE_SAME_FIELD(FIELD_ICMPV4_CODE, kIcmpv4Code);
SLUICE_SAME_FIELD(FIELD_ICMPV6_TYPE, kIcmpv6Type);
SLUICE_SAME_FIELD(FIELD_ICMPV6_CODE, kIcmpv6Code);
SLUICE_SAME_FIELD(FIELD_INNER_VLAN_PRESENT, kInnerVlanPresent);
SLUICE_SAME_FIELD(FIELD_INNER_VLAN_VID, kInnerVlanVid);
SLUICE_SAME_FIELD(FIELD_INNER_VLAN_PCP, kInnerVlanPcp);
SLUICE_SAME_FIELD(FIELD_INNER_VLAN_TCI, kInnerVlanTci);
SLUICE_SAME_FIELD(FIELD_MPLS_LABEL, kMplsLabel);
SLUICE_SAME_FIELD(FIELD_MPLS_TC, kMplsTc);
SLUICE_SAME_FIELD(FIELD_MPLS_BOS, kMplsBos);
SLUICE_SAME_FIELD(FIELD_MPLS_TTL, kMplsTtl);
SLUICE_SAME_FIELD(FIELD_ARP_SHA, kArpSha);
SLUICE_SAME_FIELD(FIELD_ARP_THA, kArpTha);
SLUICE_SAME_FIELD(FIELD_IPV6_LABEL, kIpv6Label);
SLUICE_SAME_FIELD(FIELD_TCP_FLAGS, kTcpFlags);
SLUICE_SAME_FIELD(FIELD_ND_TARGET, kNdTarget);
SLUICE_SAME_FIELD(FIELD_ND_SLL, kNdSll);
SLUICE_SAME_FIELD(FIELD_ND_TLL, kNdTll);
SLUICE_SAME_FIELD(FIELD_METADATA, kMetadata);
SLUICE_SAME_FIELD(FIELD_REG0, kReg0);
SLUICE_SAME_FIELD(FIELD_REG1, kReg1);
SLUICE_SAME_FIELD(FIELD_REG2, kReg2);
SLUICE_SAME_FIELD(FIELD_REG3, kReg3);
SLUICE_SAME_FIELD(FIELD_REG4, kReg4);
SLUICE_SAME_FIELD(FIELD_REG5, kReg5);
SLUICE_SAME_FIELD(FIELD_REG6, kReg6);
SLUICE_SAME_FIELD(FIELD_REG7, kReg7);
#undef SLUICE_SAME_FIELD
static_assert(v1::Field_MAX + 1 == kFieldCount);

constexpr int kEthIpv4 = 0x0800;
constexpr int kEthArp = 0x0806;
constexpr int kEthIpv6 = 0x86dd;
constexpr int kEthMpls = 0x8847;
constexpr int kEthMplsMulticast = 0x8848;
constexpr int kIcmpv4 = 1;
constexpr int kTcp = 6;
constexpr int kUdp = 17;
constexpr int kIcmpv6 = 58;
constexpr int kSctp = 132;
constexpr int kNdSolicit = 135;
constexpr int kNdAdvert = 136;

FieldTable ReadFields() {
  FieldTable table;
  const google::protobuf::EnumDescriptor* numbers = v1::Field_descriptor();
  for (int i = 0; i < numbers->value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor* value = numbers->value(i);
    if (!value->options().HasExtension(v1::field)) continue;
    const v1::FieldOptions& options = value->options().GetExtension(v1::field);
    FieldInfo& info = table[value->number()];
    info.field = static_cast<Field>(value->number());
    info.number = static_cast<v1::Field>(value->number());
    info.name = options.name();
    info.bits = options.bits();
    info.all = options.bits() >= 128 ? absl::Uint128Max() : (absl::uint128(1) << options.bits()) - 1;
    info.prerequisite = options.prerequisite();
    info.maskable = options.maskability() == v1::MASKABILITY_ARBITRARY;
    info.writable = options.writable();
    info.rangeable = options.rangeable();
    info.hexadecimal = options.format() != v1::FORMAT_DECIMAL && options.format() != v1::FORMAT_FRAGMENT;
  }
  return table;
}

bool IsIp(const KnownHeaders& headers) { return headers.eth_type == kEthIpv4 || headers.eth_type == kEthIpv6; }

bool HasL4(const KnownHeaders& headers, int ip_proto) {
  return headers.ip_proto == ip_proto && !headers.later_fragment;
}

bool IsIcmpv6(const KnownHeaders& headers) { return headers.eth_type == kEthIpv6 && HasL4(headers, kIcmpv6); }

bool IsNd(const KnownHeaders& headers, int icmpv6_type) {
  return IsIcmpv6(headers) && headers.icmpv6_type == icmpv6_type && headers.icmpv6_code <= 0;
}

std::string DescribeL4(absl::string_view eth_type, int ip_proto) {
  return absl::StrCat("eth_type ", eth_type, ", nw_proto ", ip_proto, " and no ip_frag that asks for later fragments");
}

std::string DescribeNd(absl::string_view types) {
  return absl::StrCat(DescribeL4("0x86dd", kIcmpv6), ", icmpv6_type ", types, " and no icmpv6_code but 0");
}

constexpr absl::string_view kIpText = "0x0800 or 0x86dd";

// -1 unless the whole field is fixed.
int Fixed(const Match& match, Field field, unsigned all) {
  if (GetField(match.mask, field) != all) return -1;
  return static_cast<int>(absl::Uint128Low64(GetField(match.value, field)));
}

}  // namespace

const FieldTable& Fields() {
  static const FieldTable table = ReadFields();
  return table;
}

KnownHeaders HeadersOf(const Match& match) {
  KnownHeaders headers;
  headers.eth_type = Fixed(match, Field::kEthType, 0xffff);
  headers.ip_proto = Fixed(match, Field::kIpProto, 0xff);
  headers.later_fragment = (match.value.ip_frag & kFragLater) != 0;
  headers.vlan_tags = GetField(match.value, Field::kVlanPresent) == 1 ? 1 : 0;
  if (GetField(match.value, Field::kInnerVlanPresent) == 1) headers.vlan_tags = 2;
  if (IsIcmpv6(headers)) {
    headers.icmpv6_type = Fixed(match, Field::kIcmpv6Type, 0xff);
    headers.icmpv6_code = Fixed(match, Field::kIcmpv6Code, 0xff);
  }
  return headers;
}

bool Meets(v1::Prerequisite prerequisite, const KnownHeaders& headers) {
  if (headers.anything) return true;
  switch (prerequisite) {
    case v1::PREREQUISITE_NONE:
      return true;
    case v1::PREREQUISITE_VLAN:
      return headers.vlan_tags > 0;
    case v1::PREREQUISITE_ARP:
      return headers.eth_type == kEthArp;
    case v1::PREREQUISITE_IPV4:
      return headers.eth_type == kEthIpv4;
    case v1::PREREQUISITE_IPV6:
      return headers.eth_type == kEthIpv6;
    case v1::PREREQUISITE_IP:
      return IsIp(headers);
    case v1::PREREQUISITE_TCP:
      return IsIp(headers) && HasL4(headers, kTcp);
    case v1::PREREQUISITE_UDP:
      return IsIp(headers) && HasL4(headers, kUdp);
    case v1::PREREQUISITE_SCTP:
      return IsIp(headers) && HasL4(headers, kSctp);
    case v1::PREREQUISITE_ICMPV4:
      return headers.eth_type == kEthIpv4 && HasL4(headers, kIcmpv4);
    case v1::PREREQUISITE_ICMPV6:
      return IsIcmpv6(headers);
    case v1::PREREQUISITE_INNER_VLAN:
      return headers.vlan_tags > 1;
    case v1::PREREQUISITE_MPLS:
      return headers.eth_type == kEthMpls || headers.eth_type == kEthMplsMulticast;
    case v1::PREREQUISITE_ND:
      return IsNd(headers, kNdSolicit) || IsNd(headers, kNdAdvert);
    case v1::PREREQUISITE_ND_SOLICIT:
      return IsNd(headers, kNdSolicit);
    case v1::PREREQUISITE_ND_ADVERT:
      return IsNd(headers, kNdAdvert);
    default:
      return false;
  }
}

std::string DescribePrerequisite(v1::Prerequisite prerequisite) {
  switch (prerequisite) {
    case v1::PREREQUISITE_VLAN:
      return "a VLAN tag: vlan_vid, vlan_pcp or vlan_present 1";
    case v1::PREREQUISITE_ARP:
      return "eth_type 0x0806";
    case v1::PREREQUISITE_IPV4:
      return "eth_type 0x0800";
    case v1::PREREQUISITE_IPV6:
      return "eth_type 0x86dd";
    case v1::PREREQUISITE_IP:
      return absl::StrCat("eth_type ", kIpText);
    case v1::PREREQUISITE_TCP:
      return DescribeL4(kIpText, kTcp);
    case v1::PREREQUISITE_UDP:
      return DescribeL4(kIpText, kUdp);
    case v1::PREREQUISITE_SCTP:
      return DescribeL4(kIpText, kSctp);
    case v1::PREREQUISITE_ICMPV4:
      return DescribeL4("0x0800", kIcmpv4);
    case v1::PREREQUISITE_ICMPV6:
      return DescribeL4("0x86dd", kIcmpv6);
    case v1::PREREQUISITE_INNER_VLAN:
      return "a second VLAN tag: inner_vlan_vid, inner_vlan_pcp or inner_vlan_present 1";
    case v1::PREREQUISITE_MPLS:
      return "eth_type 0x8847 or 0x8848";
    case v1::PREREQUISITE_ND:
      return DescribeNd("135 or 136");
    case v1::PREREQUISITE_ND_SOLICIT:
      return DescribeNd("135");
    case v1::PREREQUISITE_ND_ADVERT:
      return DescribeNd("136");
    default:
      return "nothing";
  }
}

}  // namespace sluice
