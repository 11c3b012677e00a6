// Matches: what is taken comes back as it was; what is refused is named.

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/convert.h"
#include "tests/unit/server/convert_testing.h"

namespace sluice {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::BadRequestOf;
using ::testing::HasSubstr;
using testing::kArp;
using testing::kIpv4;
using testing::kIpv6;
using testing::kMpls;
using testing::MatchBuilder;

Match Taken(const v1::Match& in) {
  ViolationList violations;
  Match match;
  MatchFromProto(in, Path("match"), violations, match);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus() << "\n" << in.DebugString();
  return match;
}

v1::Match ReadBack(const Match& match) {
  v1::Match out;
  MatchToProto(match, &out);
  return out;
}

void ExpectSame(const v1::Match& got, const v1::Match& want) {
  EXPECT_TRUE(MessageDifferencer::Equals(got, want)) << "got " << got.DebugString() << "want " << want.DebugString();
}

// What the options ask for, as a match.
MatchBuilder Prerequisite(const FieldInfo& info) {
  switch (info.prerequisite) {
    case v1::PREREQUISITE_ARP:
      return MatchBuilder().EthType(kArp);
    case v1::PREREQUISITE_IPV4:
    case v1::PREREQUISITE_IP:
      return MatchBuilder().EthType(kIpv4);
    case v1::PREREQUISITE_IPV6:
      return MatchBuilder().EthType(kIpv6);
    case v1::PREREQUISITE_TCP:
      return MatchBuilder().Ip(kIpv6, 6);
    case v1::PREREQUISITE_UDP:
      return MatchBuilder().Ip(kIpv4, 17);
    case v1::PREREQUISITE_SCTP:
      return MatchBuilder().Ip(kIpv4, 132);
    case v1::PREREQUISITE_ICMPV4:
      return MatchBuilder().Ip(kIpv4, 1);
    case v1::PREREQUISITE_ICMPV6:
      return MatchBuilder().Ip(kIpv6, 58);
    case v1::PREREQUISITE_MPLS:
      return MatchBuilder().EthType(kMpls);
    case v1::PREREQUISITE_ND:
    case v1::PREREQUISITE_ND_SOLICIT:
      return MatchBuilder().Nd(135);
    case v1::PREREQUISITE_ND_ADVERT:
      return MatchBuilder().Nd(136);
    default:
      return MatchBuilder();
  }
}

MatchBuilder& Add(MatchBuilder& builder, const FieldInfo& info, absl::uint128 value, absl::uint128 mask) {
  v1::Match one;
  if (!info.wide()) {
    return mask == info.all ? builder.On(info.number, absl::Uint128Low64(value))
                            : builder.On(info.number, absl::Uint128Low64(value), absl::Uint128Low64(mask));
  }
  std::string bytes[2];
  for (int i = 15; i >= 0; --i) {
    bytes[0] += static_cast<char>(absl::Uint128Low64(value >> (8 * i)));
    bytes[1] += static_cast<char>(absl::Uint128Low64(mask >> (8 * i)));
  }
  return builder.Wide(info.number, bytes[0], mask == info.all ? "" : bytes[1]);
}

// Fields come back in the order of the enum; these tests add the field behind
// its prerequisite, which has lower numbers but for in_port and Ethernet.
v1::Match Sorted(v1::Match match) {
  std::sort(match.mutable_fields()->begin(), match.mutable_fields()->end(),
            [](const auto& a, const auto& b) { return a.field() < b.field(); });
  return match;
}

bool IsTci(const FieldInfo& info) { return info.field == Field::kVlanTci || info.field == Field::kInnerVlanTci; }

std::vector<FieldInfo> AllFields() { return {Fields().begin() + 1, Fields().end()}; }

class EveryFieldTest : public ::testing::TestWithParam<FieldInfo> {};

INSTANTIATE_TEST_SUITE_P(Fields, EveryFieldTest, ::testing::ValuesIn(AllFields()),
                         [](const auto& test) { return test.param.name; });

TEST_P(EveryFieldTest, SizesAgreeWithTheDataplane) {
  const FieldInfo& info = GetParam();
  EXPECT_EQ(info.bits, LayoutOf(info.field).bits);
  PacketKey key{};
  PutField(key, info.field, info.all);
  EXPECT_EQ(GetField(key, info.field), info.all);
}

TEST_P(EveryFieldTest, AnExactMatchComesBack) {
  const FieldInfo& info = GetParam();
  // A value that the field can have, with bits all over it.
  absl::uint128 value = absl::MakeUint128(0x20010db8a5a5a5a5, 0xa5a5a5a5a5a5a5a5) & info.all;
  if (info.field == Field::kInPort) value = 7;
  if (info.field == Field::kIpFrag) value = 1;
  if (IsTci(info)) return;  // comes back as VID and PCP; see below
  MatchBuilder builder = Prerequisite(info);
  const v1::Match in = Sorted(Add(builder, info, value, info.all).match());
  const Match match = Taken(in);
  EXPECT_EQ(GetField(match.value, info.field), value);
  EXPECT_EQ(GetField(match.mask, info.field), info.all);
  ExpectSame(ReadBack(match), in);
}

TEST_P(EveryFieldTest, ZeroIsAValueLikeAnyOther) {
  const FieldInfo& info = GetParam();
  if (info.field == Field::kInPort || info.field == Field::kEthType || IsTci(info)) return;
  MatchBuilder builder = Prerequisite(info);
  const v1::Match in = Sorted(Add(builder, info, 0, info.all).match());
  ExpectSame(ReadBack(Taken(in)), in);
  EXPECT_FALSE(Taken(in) == Taken(Prerequisite(info).match())) << "zero must differ from a field left out";
}

TEST_P(EveryFieldTest, MasksComeBackOrAreRefused) {
  const FieldInfo& info = GetParam();
  if (info.bits < 2 || info.field == Field::kIpFrag || IsTci(info)) return;
  const absl::uint128 mask = info.all & ~absl::uint128(1);
  const absl::uint128 value = info.field == Field::kEthType ? 0x0800 : 2 & mask;
  MatchBuilder builder = Prerequisite(info);
  const v1::Match in = Sorted(Add(builder, info, value, mask).match());
  if (info.maskable) {
    ExpectSame(ReadBack(Taken(in)), in);
    return;
  }
  ViolationList violations;
  Match match;
  MatchFromProto(in, Path("match"), violations, match);
  EXPECT_THAT(std::string(violations.ToStatus().message()), HasSubstr(info.name + " takes no mask"));
}

TEST_P(EveryFieldTest, WithoutItsPrerequisiteItIsRefused) {
  const FieldInfo& info = GetParam();
  const bool of_tag = info.prerequisite == v1::PREREQUISITE_VLAN || info.prerequisite == v1::PREREQUISITE_INNER_VLAN;
  if (of_tag || info.prerequisite == v1::PREREQUISITE_NONE) return;  // a tag's VID and PCP bring their own
  MatchBuilder builder;
  Add(builder, info, 1, info.all);
  ViolationList violations;
  Match match;
  MatchFromProto(builder.match(), Path("match"), violations, match);
  const google::rpc::BadRequest details = BadRequestOf(violations.ToStatus());
  ASSERT_EQ(details.field_violations_size(), 1);
  EXPECT_EQ(details.field_violations(0).field(), "match.fields[0].field");
  EXPECT_THAT(details.field_violations(0).description(),
              HasSubstr(info.name + " needs " + DescribePrerequisite(info.prerequisite)));
}

TEST(MatchTest, NothingIsEverything) {
  EXPECT_TRUE(Taken(v1::Match()) == Match{});
  EXPECT_EQ(ReadBack(Match{}).fields_size(), 0);
}

TEST(MatchTest, TheOrderOfFieldsIsNoMatter) {
  const v1::Match a = MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_PROTO, 6).On(v1::FIELD_TCP_DST, 80).match();
  const v1::Match b = MatchBuilder().On(v1::FIELD_TCP_DST, 80).On(v1::FIELD_IP_PROTO, 6).EthType(kIpv4).match();
  EXPECT_TRUE(Taken(a) == Taken(b));
  ExpectSame(ReadBack(Taken(b)), a);
}

struct SameMatch {
  const char* what;
  v1::Match in;
  v1::Match canonical;
};

class CanonicalTest : public ::testing::TestWithParam<SameMatch> {};

TEST_P(CanonicalTest, ComesBackInOneForm) {
  const Match match = Taken(GetParam().in);
  ExpectSame(ReadBack(match), GetParam().canonical);
  EXPECT_TRUE(Taken(GetParam().canonical) == match) << "what comes back must be the same flow";
}

const SameMatch kCanonical[] = {
    {"NoTag", MatchBuilder().On(v1::FIELD_VLAN_TCI, 0, 0x1000).match(),
     MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).match()},
    {"NoTagExact", MatchBuilder().On(v1::FIELD_VLAN_TCI, 0).match(),
     MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).match()},
    {"NoTagTwice", MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).On(v1::FIELD_VLAN_TCI, 0, 0x0fff).match(),
     MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).match()},
    {"AnyTag", MatchBuilder().On(v1::FIELD_VLAN_TCI, 0x1000, 0x1000).match(),
     MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 1).match()},
    {"VidImpliesPresence", MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 1).On(v1::FIELD_VLAN_VID, 0).match(),
     MatchBuilder().On(v1::FIELD_VLAN_VID, 0).match()},
    {"TciIsVidAndPcp", MatchBuilder().On(v1::FIELD_VLAN_TCI, 0xb064).match(),
     MatchBuilder().On(v1::FIELD_VLAN_VID, 100).On(v1::FIELD_VLAN_PCP, 5).match()},
    {"TciIsMaskedVid", MatchBuilder().On(v1::FIELD_VLAN_TCI, 0x1010, 0x1ff0).match(),
     MatchBuilder().On(v1::FIELD_VLAN_VID, 0x010, 0xff0).match()},
    {"TciWithPartOfPcp", MatchBuilder().On(v1::FIELD_VLAN_TCI, 0x9000, 0x9000).match(),
     MatchBuilder().On(v1::FIELD_VLAN_TCI, 0x9000, 0x9000).match()},
    {"TciWithoutPresence", MatchBuilder().On(v1::FIELD_VLAN_TCI, 0x0005, 0x0fff).match(),
     MatchBuilder().On(v1::FIELD_VLAN_TCI, 0x0005, 0x0fff).match()},
    {"TciAndVidAgree", MatchBuilder().On(v1::FIELD_VLAN_VID, 5).On(v1::FIELD_VLAN_TCI, 0x2005, 0xe005).match(),
     MatchBuilder().On(v1::FIELD_VLAN_VID, 5).On(v1::FIELD_VLAN_PCP, 1).match()},
    {"NotAFragment", MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, 0, 1).match(),
     MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, 0).match()},
    {"AnyFragment", MatchBuilder().EthType(kIpv6).On(v1::FIELD_IP_FRAG, 1, 1).match(),
     MatchBuilder().EthType(kIpv6).On(v1::FIELD_IP_FRAG, 1, 1).match()},
    {"FirstFragment", MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, 1, 3).match(),
     MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, 1).match()},
    {"LaterFragment", MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, 2, 2).match(),
     MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, 3).match()},
    {"NotALaterFragment", MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, 0, 2).match(),
     MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, 0, 2).match()},
    {"FullMaskIsNoMask", MatchBuilder().On(v1::FIELD_ETH_SRC, 5, 0xffffffffffff).match(),
     MatchBuilder().On(v1::FIELD_ETH_SRC, 5).match()},
    {"FullWideMaskIsNoMask",
     MatchBuilder().EthType(kIpv6).Wide(v1::FIELD_IPV6_SRC, std::string(16, 'a'), std::string(16, '\xff')).match(),
     MatchBuilder().EthType(kIpv6).Wide(v1::FIELD_IPV6_SRC, std::string(16, 'a')).match()},
    {"InnerTciIsVidAndPcp", MatchBuilder().On(v1::FIELD_INNER_VLAN_TCI, 0xb064).match(),
     MatchBuilder().On(v1::FIELD_INNER_VLAN_VID, 100).On(v1::FIELD_INNER_VLAN_PCP, 5).match()},
    {"NoInnerTagExact", MatchBuilder().On(v1::FIELD_INNER_VLAN_TCI, 0).match(),
     MatchBuilder().On(v1::FIELD_INNER_VLAN_PRESENT, 0).match()},
    {"InnerTciWithPartOfPcp", MatchBuilder().On(v1::FIELD_INNER_VLAN_TCI, 0x9000, 0x9000).match(),
     MatchBuilder().On(v1::FIELD_INNER_VLAN_TCI, 0x9000, 0x9000).match()},
    {"AnInnerTagImpliesTheOuter", MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 1).On(v1::FIELD_INNER_VLAN_VID, 7).match(),
     MatchBuilder().On(v1::FIELD_INNER_VLAN_VID, 7).match()},
    {"AnInnerTagSaysThatTheOuterIsThere",
     MatchBuilder().On(v1::FIELD_VLAN_TCI, 0x0005, 0x0fff).On(v1::FIELD_INNER_VLAN_PRESENT, 1).match(),
     MatchBuilder().On(v1::FIELD_VLAN_VID, 5).On(v1::FIELD_INNER_VLAN_PRESENT, 1).match()},
    {"NoTagAtAllHasNoInner", MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).On(v1::FIELD_INNER_VLAN_PRESENT, 0).match(),
     MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).match()},
    {"OneTag", MatchBuilder().On(v1::FIELD_VLAN_VID, 5).On(v1::FIELD_INNER_VLAN_PRESENT, 0).match(),
     MatchBuilder().On(v1::FIELD_VLAN_VID, 5).On(v1::FIELD_INNER_VLAN_PRESENT, 0).match()},
    {"FullMetadataMaskIsNoMask", MatchBuilder().On(v1::FIELD_METADATA, 5, ~uint64_t{0}).match(),
     MatchBuilder().On(v1::FIELD_METADATA, 5).match()},
    {"NdOfCodeZero", MatchBuilder().Nd(135).On(v1::FIELD_ICMPV6_CODE, 0).On(v1::FIELD_ND_SLL, 5, 7).match(),
     MatchBuilder().Nd(135).On(v1::FIELD_ICMPV6_CODE, 0).On(v1::FIELD_ND_SLL, 5, 7).match()},
    {"NoEtherType", MatchBuilder().EthType(0x05ff).match(), MatchBuilder().EthType(0x05ff).match()},
};
INSTANTIATE_TEST_SUITE_P(Matches, CanonicalTest, ::testing::ValuesIn(kCanonical),
                         [](const auto& test) { return std::string(test.param.what); });

TEST(MatchTest, TagUntaggedAndNoVlanConditionAreThreeThings) {
  const Match any = Taken(v1::Match());
  const Match untagged = Taken(MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).match());
  const Match vid_0 = Taken(MatchBuilder().On(v1::FIELD_VLAN_VID, 0).match());
  const Match tagged = Taken(MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 1).match());
  EXPECT_FALSE(any == untagged || any == vid_0 || untagged == vid_0 || vid_0 == tagged || untagged == tagged);
}

struct BadMatch {
  const char* what;
  v1::Match in;
  const char* field;
  const char* text;
};

class BadMatchTest : public ::testing::TestWithParam<BadMatch> {};

TEST_P(BadMatchTest, NamesTheFieldAndWhatWouldBeRight) {
  ViolationList violations;
  Match match;
  MatchFromProto(GetParam().in, Path("match"), violations, match);
  const absl::Status status = violations.ToStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const google::rpc::BadRequest details = BadRequestOf(status);
  ASSERT_EQ(details.field_violations_size(), 1) << status;
  EXPECT_EQ(details.field_violations(0).field(), GetParam().field);
  EXPECT_THAT(details.field_violations(0).description(), HasSubstr(GetParam().text));
}

const BadMatch kBadMatches[] = {
    {"NoField", MatchBuilder().On(v1::FIELD_UNSPECIFIED, 0).match(), "match.fields[0].field", "GetCapabilities"},
    {"UnknownField", MatchBuilder().On(static_cast<v1::Field>(77), 0).match(), "match.fields[0].field",
     "unknown field 77"},
    {"NegativeField", MatchBuilder().On(static_cast<v1::Field>(-5), 0).match(), "match.fields[0].field",
     "unknown field -5"},
    {"Twice", MatchBuilder().EthType(kIpv4).EthType(kIpv4).match(), "match.fields[1].field", "eth_type is given twice"},
    {"WideForNarrow", MatchBuilder().Wide(v1::FIELD_ETH_DST, "abcdef").match(), "match.fields[0].wide_value",
     "eth_dst has 48 bits: use value and mask"},
    {"NarrowForWide", MatchBuilder().EthType(kIpv6).On(v1::FIELD_IPV6_DST, 1).match(), "match.fields[1].value",
     "use wide_value and wide_mask"},
    {"NarrowMaskForWide", MatchBuilder().EthType(kIpv6).On(v1::FIELD_IPV6_DST, 0, 1).match(), "match.fields[1].mask",
     "use wide_value and wide_mask"},
    {"ShortWideValue", MatchBuilder().EthType(kIpv6).Wide(v1::FIELD_IPV6_DST, "abc").match(),
     "match.fields[1].wide_value", "has 3 bytes; ipv6_dst has 16"},
    {"NoWideValue", MatchBuilder().EthType(kIpv6).Wide(v1::FIELD_IPV6_DST, "").match(), "match.fields[1].wide_value",
     "has 0 bytes"},
    {"LongWideMask", MatchBuilder().EthType(kIpv6).Wide(v1::FIELD_IPV6_DST, std::string(16, 1), "12345").match(),
     "match.fields[1].wide_mask", "has 5 bytes"},
    {"WideMaskZero",
     MatchBuilder().EthType(kIpv6).Wide(v1::FIELD_IPV6_DST, std::string(16, 0), std::string(16, 0)).match(),
     "match.fields[1].wide_mask", "the mask is zero"},
    {"WideBitsOutside",
     MatchBuilder().EthType(kIpv6).Wide(v1::FIELD_IPV6_DST, std::string(16, 1), '\xff' + std::string(15, 0)).match(),
     "match.fields[1].wide_value", "bits outside the mask"},
    {"ValueTooWide", MatchBuilder().On(v1::FIELD_VLAN_VID, 4096).match(), "match.fields[0].value",
     "4096 does not fit into the 12 bits of vlan_vid: 0 to 4095"},
    {"PcpTooWide", MatchBuilder().On(v1::FIELD_VLAN_PCP, 8).match(), "match.fields[0].value", "0 to 7"},
    {"PresentTooWide", MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 2).match(), "match.fields[0].value", "0 to 1"},
    {"MacTooWide", MatchBuilder().On(v1::FIELD_ETH_DST, uint64_t{1} << 48).match(), "match.fields[0].value",
     "0x0 to 0xffffffffffff"},
    {"PortTooWide", MatchBuilder().Ip(kIpv4, 6).On(v1::FIELD_TCP_DST, 65536).match(), "match.fields[2].value",
     "0 to 65535"},
    {"MaskTooWide", MatchBuilder().On(v1::FIELD_VLAN_VID, 1, 0x1fff).match(), "match.fields[0].mask", "0 to 4095"},
    {"MaskZero", MatchBuilder().On(v1::FIELD_ETH_DST, 0, 0).match(), "match.fields[0].mask", "leave the field out"},
    {"BitsOutsideMask", MatchBuilder().EthType(kIpv4).On(v1::FIELD_IPV4_DST, 0x0a000001, 0xff000000).match(),
     "match.fields[1].value", "0xa000001 has bits outside the mask; under it the value is 0xa000000"},
    {"EthTypeIsALength", MatchBuilder().EthType(0x05dc).match(), "match.fields[0].value", "0x600 to 0xffff"},
    {"EthTypeZero", MatchBuilder().EthType(0).match(), "match.fields[0].value", "0x5ff for frames without"},
    {"InPortZero", MatchBuilder().On(v1::FIELD_IN_PORT, 0).match(), "match.fields[0].value", "1 to 65279"},
    {"InPortReserved", MatchBuilder().On(v1::FIELD_IN_PORT, 0xfff8).match(), "match.fields[0].value", "1 to 65279"},
    {"LaterButNoFragment", MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, 2, 3).match(), "match.fields[1].value",
     "3/3 is a later one"},
    {"UntaggedWithVid", MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).On(v1::FIELD_VLAN_VID, 5).match(),
     "match.fields[1].field", "vlan_vid contradicts"},
    {"UntaggedWithPcp", MatchBuilder().On(v1::FIELD_VLAN_PCP, 0).On(v1::FIELD_VLAN_PRESENT, 0).match(),
     "match.fields[1].field", "vlan_present contradicts"},
    {"TwoVids", MatchBuilder().On(v1::FIELD_VLAN_VID, 5).On(v1::FIELD_VLAN_TCI, 0x1006).match(),
     "match.fields[1].field", "vlan_tci contradicts"},
    {"UntaggedTciWithVid", MatchBuilder().On(v1::FIELD_VLAN_TCI, 0x0005).match(), "match.fields[0].field",
     "no packet matches"},
    {"TcpPortWithoutTcp", MatchBuilder().EthType(kIpv4).On(v1::FIELD_TCP_DST, 80).match(), "match.fields[1].field",
     "the match has eth_type 0x0800"},
    {"TcpPortWithUdp", MatchBuilder().Ip(kIpv4, 17).On(v1::FIELD_TCP_DST, 80).match(), "match.fields[2].field",
     "nw_proto 6 and no ip_frag that asks for later fragments in the same match; the match has eth_type 0x0800, "
     "nw_proto 17"},
    {"PortOfLaterFragment", MatchBuilder().Ip(kIpv4, 17).On(v1::FIELD_IP_FRAG, 3).On(v1::FIELD_UDP_DST, 53).match(),
     "match.fields[3].field", "ip_frag=later"},
    {"PortOfLaterFragmentByOneBit",
     MatchBuilder().Ip(kIpv4, 132).On(v1::FIELD_IP_FRAG, 2, 2).On(v1::FIELD_SCTP_DST, 53).match(),
     "match.fields[3].field", "ip_frag=later"},
    {"Icmp6OverIpv4", MatchBuilder().Ip(kIpv4, 58).On(v1::FIELD_ICMPV6_TYPE, 1).match(), "match.fields[2].field",
     "eth_type 0x86dd, nw_proto 58"},
    {"Ipv4AddressInArp", MatchBuilder().EthType(kArp).On(v1::FIELD_IPV4_SRC, 1).match(), "match.fields[1].field",
     "eth_type 0x0800"},
    {"InnerTagWithoutTag", MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).On(v1::FIELD_INNER_VLAN_VID, 5).match(),
     "match.fields[1].field", "without a VLAN tag there is no second one"},
    {"InnerTagGivenFirst", MatchBuilder().On(v1::FIELD_INNER_VLAN_PCP, 5).On(v1::FIELD_VLAN_TCI, 0).match(),
     "match.fields[0].field", "without a VLAN tag there is no second one"},
    {"InnerBitsWithoutTag",
     MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).On(v1::FIELD_INNER_VLAN_TCI, 0x5, 0xfff).match(),
     "match.fields[1].field", "without a VLAN tag there is no second one"},
    {"TwoInnerVids", MatchBuilder().On(v1::FIELD_INNER_VLAN_VID, 5).On(v1::FIELD_INNER_VLAN_TCI, 0x1006).match(),
     "match.fields[1].field",
     "inner_vlan_tci contradicts the VLAN fields before it: a packet with a VID or a PCP has a tag, and inner_vlan_tci "
     "must agree with inner_vlan_present, inner_vlan_vid and inner_vlan_pcp"},
    {"InnerTciWithoutTag", MatchBuilder().On(v1::FIELD_INNER_VLAN_TCI, 0x0005).match(), "match.fields[0].field",
     "bit 0x1000 of inner_vlan_tci"},
    {"MplsWithoutMpls", MatchBuilder().EthType(kIpv4).On(v1::FIELD_MPLS_LABEL, 5).match(), "match.fields[1].field",
     "mpls_label needs eth_type 0x8847 or 0x8848 in the same match; the match has eth_type 0x0800"},
    {"LabelTooWide", MatchBuilder().EthType(kMpls).On(v1::FIELD_MPLS_LABEL, 1 << 20).match(), "match.fields[1].value",
     "0 to 1048575"},
    {"FlagsTooWide", MatchBuilder().Ip(kIpv4, 6).On(v1::FIELD_TCP_FLAGS, 0x1000).match(), "match.fields[2].value",
     "0x0 to 0xfff"},
    {"FlagsOfUdp", MatchBuilder().Ip(kIpv4, 17).On(v1::FIELD_TCP_FLAGS, 2).match(), "match.fields[2].field",
     "tcp_flags needs"},
    {"NdOfEcho", MatchBuilder().Nd(128).Wide(v1::FIELD_ND_TARGET, std::string(16, 'a')).match(),
     "match.fields[3].field",
     "icmpv6_type 135 or 136 and no icmpv6_code but 0 in the same match; the match has eth_type 0x86dd, nw_proto 58, "
     "icmpv6_type 128"},
    {"NdOfAnotherCode",
     MatchBuilder().Nd(135).On(v1::FIELD_ICMPV6_CODE, 1).Wide(v1::FIELD_ND_TARGET, std::string(16, 'a')).match(),
     "match.fields[4].field", "icmpv6_type 135, icmpv6_code 1"},
    {"SourceOfAdvertisement", MatchBuilder().Nd(136).On(v1::FIELD_ND_SLL, 1).match(), "match.fields[3].field",
     "nd_sll needs"},
    {"TargetOfSolicitation", MatchBuilder().Nd(135).On(v1::FIELD_ND_TLL, 1).match(), "match.fields[3].field",
     "nd_tll needs"},
    {"RegisterTooWide", MatchBuilder().On(v1::FIELD_REG7, uint64_t{1} << 32).match(), "match.fields[0].value",
     "0x0 to 0xffffffff"},
    {"TtlInArp", MatchBuilder().EthType(kArp).On(v1::FIELD_IP_TTL, 1).match(), "match.fields[1].field",
     "0x0800 or 0x86dd"},
};
INSTANTIATE_TEST_SUITE_P(Matches, BadMatchTest, ::testing::ValuesIn(kBadMatches),
                         [](const auto& test) { return std::string(test.param.what); });

TEST(MatchTest, AllThatIsWrongIsListed) {
  ViolationList violations;
  Match match;
  MatchFromProto(MatchBuilder().EthType(1).On(v1::FIELD_VLAN_VID, 5000).On(v1::FIELD_ETH_SRC, 1, 0).match(),
                 Path("match"), violations, match);
  EXPECT_EQ(BadRequestOf(violations.ToStatus()).field_violations_size(), 3);
}

}  // namespace
}  // namespace sluice
