// Masks alone: what they show of the bits that several fields share, and how many
// words one flow's mask can have.

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "server/convert.h"
#include "tests/unit/server/convert_testing.h"

namespace sluice {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
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

void ExpectSame(const v1::Match& got, const v1::Match& want) {
  EXPECT_TRUE(MessageDifferencer::Equals(got, want)) << "got " << got.DebugString() << "want " << want.DebugString();
}

// The bits of a port's place in a mask belong to whatever protocol the flows have.
TEST(MaskTest, SharedBitsHaveOneName) {
  const auto masks = [](const v1::Match& in) {
    v1::Match out;
    MaskToProto(Taken(in).mask, &out);
    return out;
  };
  v1::Match ports = MatchBuilder()
                        .On(v1::FIELD_ETH_TYPE, 0xffff, 0xffff)
                        .On(v1::FIELD_IP_PROTO, 0xff, 0xff)
                        .On(v1::FIELD_TCP_DST, 0xffff, 0xffff)
                        .match();
  ExpectSame(masks(MatchBuilder().Ip(kIpv4, 6).On(v1::FIELD_TCP_DST, 80).match()), ports);
  ExpectSame(masks(MatchBuilder().Ip(kIpv4, 17).On(v1::FIELD_UDP_DST, 80).match()), ports);
  ExpectSame(masks(MatchBuilder().EthType(kArp).On(v1::FIELD_ARP_OP, 1).On(v1::FIELD_ARP_SPA, 1).match()),
             MatchBuilder()
                 .On(v1::FIELD_ETH_TYPE, 0xffff, 0xffff)
                 .On(v1::FIELD_ARP_OP, 0xffff, 0xffff)
                 .On(v1::FIELD_IPV4_SRC, 0xffffffff, 0xffffffff)
                 .match());
  ExpectSame(masks(MatchBuilder().Ip(kIpv4, 1).On(v1::FIELD_ICMPV4_TYPE, 0).match()),
             MatchBuilder()
                 .On(v1::FIELD_ETH_TYPE, 0xffff, 0xffff)
                 .On(v1::FIELD_IP_PROTO, 0xff, 0xff)
                 .On(v1::FIELD_TCP_SRC, 0xff00, 0xff00)
                 .match());
}

TEST(MaskTest, LinkLayerAddressesHaveTheNameThatTheyAreMatchedBy) {
  const auto addresses = [](const v1::Match& in) {
    v1::Match out;
    MaskToProto(Taken(in).mask, &out);
    std::vector<v1::Field> fields;
    for (const v1::FieldMatch& field : out.fields()) {
      if (field.field() >= v1::FIELD_ARP_SHA) fields.push_back(field.field());
    }
    return fields;
  };
  EXPECT_THAT(addresses(MatchBuilder().EthType(kArp).On(v1::FIELD_ARP_SHA, 1).On(v1::FIELD_ARP_THA, 1).match()),
              ElementsAre(v1::FIELD_ARP_SHA, v1::FIELD_ARP_THA));
  EXPECT_THAT(addresses(MatchBuilder().Nd(135).On(v1::FIELD_ND_SLL, 1).match()), ElementsAre(v1::FIELD_ND_SLL));
  EXPECT_THAT(addresses(MatchBuilder().Nd(136).On(v1::FIELD_ND_TLL, 1).match()), ElementsAre(v1::FIELD_ND_TLL));
}

// What one flow's mask can look at, tag by tag and with metadata and registers:
// flow_memory_test counts on it.
TEST(MaskTest, OneFlowLooksAtFewWords) {
  std::vector<MatchBuilder> headers = {MatchBuilder(), MatchBuilder().EthType(kArp), MatchBuilder().EthType(kMpls),
                                       MatchBuilder().Nd(135), MatchBuilder().Nd(136)};
  for (const uint64_t type : {kIpv4, kIpv6}) {
    for (const uint64_t proto : {1, 6, 17, 58, 132}) headers.push_back(MatchBuilder().Ip(type, proto));
  }
  int most = 0;
  for (const MatchBuilder& header : headers) {
    Match match = Taken(header.match());
    KnownHeaders known = HeadersOf(match);
    known.vlan_tags = 2;
    for (const FieldInfo& info : Fields()) {
      if (info.field != Field::kNone && Meets(info.prerequisite, known)) MatchOn(match, info.field, 0, info.all);
    }
    int words = 0;
    for (size_t i = 0; i < kKeyWords; ++i) words += WordOf(match.mask, i) != 0;
    most = std::max(most, words);
  }
  EXPECT_EQ(most, 18);
}

TEST(MaskTest, VlanBitsComeByName) {
  v1::Match out;
  MaskToProto(Taken(MatchBuilder().On(v1::FIELD_VLAN_VID, 5).On(v1::FIELD_VLAN_PCP, 0).match()).mask, &out);
  ExpectSame(out, MatchBuilder().On(v1::FIELD_VLAN_VID, 0xfff, 0xfff).On(v1::FIELD_VLAN_PCP, 7, 7).match());
  out.Clear();
  MaskToProto(Taken(MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).match()).mask, &out);
  ExpectSame(out, MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 1, 1).match());
}

}  // namespace
}  // namespace sluice
