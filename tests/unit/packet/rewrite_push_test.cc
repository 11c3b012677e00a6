// Tags and label stack entries, pushed and popped.

#include <gtest/gtest.h>

#include <string>

#include "tests/support/reference_parser.h"
#include "tests/unit/packet/subject.h"

namespace sluice {
namespace {

// Tags.

TEST(PushVlan, CopiesVidAndPcpOfTheTagBelow) {
  const auto untagged = PacketBuilder().Ipv4().Tcp().Build();
  EXPECT_EQ(Subject(untagged).Push().bytes(), PacketBuilder().Vlan().Ipv4().Tcp().Build());
  EXPECT_EQ(Subject(untagged).Push().Set(Field::kVlanVid, 100).bytes(),
            PacketBuilder().Vlan({.vid = 100}).Ipv4().Tcp().Build());
  const VlanFields below{.vid = 77, .pcp = 5, .dei = true};
  EXPECT_EQ(Subject(PacketBuilder().Vlan(below).Ipv4().Tcp().Build()).Push(0x88a8).bytes(),
            PacketBuilder().Vlan({.vid = 77, .pcp = 5, .tpid = 0x88a8}).Vlan(below).Ipv4().Tcp().Build());
}

TEST(PushVlan, OntoTwoTagsKeepsAllAndTheWayToTheHeaders) {
  const auto frame = [](bool third, const char* dst, uint16_t port) {
    PacketBuilder builder;
    if (third) builder.Vlan({.vid = 9, .pcp = 1, .tpid = 0x88a8});
    builder.Vlan({.vid = 1, .pcp = 1}).Vlan({.vid = 2, .pcp = 2});
    return builder.Ipv4({.dst = dst}).Udp({.dst = port}).Payload("x").Build();
  };
  Subject subject(frame(false, "192.0.2.2", 53));
  subject.Push(0x88a8).Set(Field::kVlanVid, 9).Set(Field::kIpv4Dst, 0xc6336407).Set(Field::kUdpDst, 54);
  EXPECT_EQ(subject.bytes(), frame(true, "198.51.100.7", 54));
  EXPECT_EQ(subject.layout().vlan_tags, 3);
  EXPECT_TRUE(subject.DecTtl());
  EXPECT_EQ(ChecksumErrors(subject.Pop().bytes()), "");
  EXPECT_EQ(subject.layout().vlan_tags, 2);
}

TEST(PushVlan, NeedsHeadroom) {
  const Bytes bytes = PacketBuilder().Ipv4().Tcp().Build();
  Subject subject(bytes, 7);
  EXPECT_TRUE(PushVlan(subject.frame(), subject.layout(), 0x8100));
  const Bytes pushed = subject.bytes();
  const HeaderLayout layout = subject.layout();
  EXPECT_FALSE(PushVlan(subject.frame(), subject.layout(), 0x8100));
  EXPECT_EQ(subject.bytes(), pushed);
  EXPECT_EQ(subject.layout(), layout);
  EXPECT_EQ(subject.frame().headroom, 3u);
  EXPECT_EQ(subject.Pop().bytes(), bytes);
  EXPECT_EQ(subject.frame().headroom, 7u);
}

TEST(PushVlan, An802Dot3LengthStaysBehindTheTag) {
  const auto llc = [](bool tag) {
    PacketBuilder builder;
    if (tag) builder.Vlan();
    return builder.Llc({0x42, 0x42, 0x03}).Payload(Bytes(35)).Build();
  };
  EXPECT_EQ(Subject(llc(false)).Push().bytes(), llc(true));
  EXPECT_EQ(Subject(llc(true)).Pop().bytes(), llc(false));
  const auto snap = [](bool tag, const char* dst) {
    PacketBuilder builder;
    if (tag) builder.Vlan();
    return builder.Snap().Ipv4({.dst = dst}).Udp().Build();
  };
  EXPECT_EQ(Subject(snap(false, "192.0.2.2")).Push().Set(Field::kIpv4Dst, 0xc6336407).bytes(),
            snap(true, "198.51.100.7"));
}

TEST(PopVlan, TakesTheOuterTagOnly) {
  const auto frame = [](int tags) {
    PacketBuilder builder;
    if (tags > 1) builder.Vlan({.vid = 1, .tpid = 0x88a8});
    if (tags > 0) builder.Vlan({.vid = 2});
    return builder.Ipv6().Tcp().Build();
  };
  Subject subject(frame(2));
  EXPECT_EQ(subject.Pop().bytes(), frame(1));
  EXPECT_EQ(subject.Pop().bytes(), frame(0));
  EXPECT_EQ(subject.Pop().bytes(), frame(0));
  EXPECT_EQ(subject.frame().headroom, kHeadroom + 8);
  EXPECT_EQ(subject.layout().l4, 54u);
}

TEST(PopVlan, BringsAThirdTagWithinReach) {
  const auto frame = [](int tags, uint16_t vid, const char* dst) {
    PacketBuilder builder;
    for (int i = tags; i > 0; --i) builder.Vlan({.vid = static_cast<uint16_t>(i == tags ? vid : i)});
    return builder.Ipv4({.dst = dst}).Udp().Build();
  };
  Subject subject(frame(3, 3, "192.0.2.2"));
  EXPECT_EQ(subject.layout().l3, 0);
  subject.Pop();
  EXPECT_EQ(subject.layout().vlan_tags, 2);
  EXPECT_EQ(subject.Set(Field::kVlanVid, 7).Set(Field::kIpv4Dst, 0xc6336407).bytes(), frame(2, 7, "198.51.100.7"));
  EXPECT_EQ(subject.Pop().Pop().Pop().bytes(), frame(0, 0, "198.51.100.7"));
  // Four tags, and one pushed.
  Subject four(frame(4, 4, "192.0.2.2"));
  EXPECT_EQ(four.Push().Pop().Pop().Pop().Set(Field::kIpv4Dst, 0xc6336407).bytes(), frame(2, 2, "198.51.100.7"));
  // The IP header lies in another segment: tags are tags all the same.
  Subject segments(frame(3, 3, "192.0.2.2"), 0, 30);
  segments.Pop();
  EXPECT_EQ(segments.layout().vlan_tags, 2);
  EXPECT_EQ(segments.Set(Field::kIpv4Dst, 1).bytes(), frame(2, 2, "192.0.2.2"));
  EXPECT_EQ(segments.Pop().Set(Field::kVlanVid, 9).bytes(), frame(1, 9, "192.0.2.2"));
  // Only the UDP header does: its checksum could not be renewed.
  Subject checksum(frame(3, 3, "192.0.2.2"), 0, 50);
  EXPECT_EQ(checksum.Pop().Set(Field::kIpv4Dst, 1).bytes(), frame(2, 2, "192.0.2.2"));
}

// MPLS.

TEST(PushMpls, CopiesTheEntryBelow) {
  const MplsFields below{.label = 0xabcde, .tc = 5, .ttl = 9};
  const Bytes one = PacketBuilder().Vlan().Mpls(below).Ipv4().Build();
  MplsFields copy = below;
  copy.bottom = false;
  copy.type = kEthTypeMplsMulticast;
  MplsFields rest = below;
  rest.type = kEthTypeMplsMulticast;
  Subject subject(one);
  EXPECT_EQ(subject.PushLabel(kEthTypeMplsMulticast).bytes(),
            PacketBuilder().Vlan().Mpls(copy).Mpls(rest).Ipv4().Build());
  EXPECT_EQ(subject.layout().mpls, 18);
  EXPECT_EQ(subject.PopLabel(kEthTypeMpls).bytes(), one);
}

// As Open vSwitch does it.
TEST(PushMpls, TheFirstEntryTakesWhatIpSays) {
  const auto label = [](uint32_t label_value, uint8_t tc, uint8_t ttl) {
    return PacketBuilder().Mpls({.label = label_value, .tc = tc, .ttl = ttl});
  };
  const Ipv4Fields v4{.tos = 46 << 2 | 1, .ttl = 33};
  EXPECT_EQ(Subject(PacketBuilder().Ipv4(v4).Udp().Build()).PushLabel().bytes(),
            label(0, 6, 33).Ipv4(v4).Udp().Build());
  const Ipv6Fields v6{.tos = 10 << 2, .hop_limit = 44, .flow_label = 0xfffff};
  EXPECT_EQ(Subject(PacketBuilder().Ipv6(v6).Tcp().Build()).PushLabel().bytes(),
            label(2, 2, 44).Ipv6(v6).Tcp().Build());
  const Ipv4Fields expired{.ttl = 0};
  EXPECT_EQ(Subject(PacketBuilder().Ipv4(expired).Build()).PushLabel().bytes(), label(0, 0, 64).Ipv4(expired).Build());
  EXPECT_EQ(Subject(PacketBuilder().Arp().Build()).PushLabel().bytes(), label(0, 0, 64).Arp().Build());
  const Ipv4Fields malformed{.ttl = 33, .ihl = 4};
  EXPECT_EQ(Subject(PacketBuilder().Ipv4(malformed).Build()).PushLabel().bytes(),
            label(0, 0, 64).Ipv4(malformed).Build());
  const Bytes cut = FromHex("02000000000b02000000000a88470001");
  EXPECT_EQ(Subject(cut).PushLabel().hex(), "02000000000b02000000000a8847000001400001");
}

TEST(PushMpls, StandsBehindAllTags) {
  const auto frame = [](bool label) {
    PacketBuilder builder;
    builder.Vlan({.vid = 1}).Vlan({.vid = 2, .pcp = 3}).Vlan({.vid = 2, .pcp = 3});
    if (label) builder.Mpls({.label = 0});
    return builder.Ipv4().Udp().Build();
  };
  const Bytes two_tags = PacketBuilder().Vlan({.vid = 2, .pcp = 3}).Vlan({.vid = 2, .pcp = 3}).Ipv4().Udp().Build();
  Subject subject(two_tags);
  EXPECT_EQ(subject.Push().Set(Field::kVlanVid, 1).Set(Field::kVlanPcp, 0).PushLabel().bytes(), frame(true));
  EXPECT_EQ(subject.layout().vlan_tags, 3);
  EXPECT_EQ(subject.PopLabel(kEthTypeIpv4).bytes(), frame(false));
  EXPECT_EQ(subject.Pop().bytes(), two_tags);
  EXPECT_EQ(subject.layout(), Subject(two_tags).layout());
}

TEST(PushMpls, TakesTheEtherTypesPlace) {
  const auto snap = [](bool label) {
    PacketBuilder builder;
    builder.Vlan().Snap();
    if (label) builder.Mpls({.label = 0});
    return builder.Ipv4().Udp().Build();
  };
  Subject subject(snap(false));
  EXPECT_EQ(subject.PushLabel().hex(), ToHex(snap(true))) << "SNAP has the type, and the length before it grows";
  EXPECT_EQ(subject.PopLabel(kEthTypeIpv4).bytes(), snap(false));
  const Bytes llc = PacketBuilder().Llc({0x42, 0x42, 0x03}).Payload(Bytes(35)).Build();
  EXPECT_EQ(Subject(llc).PushLabel().hex().substr(24, 18), "884700000140424203");
  // A length that would become an EtherType.
  const Bytes longest = PacketBuilder().Snap().Ipv4().Payload(Bytes(0x5ff - 28)).Build();
  EXPECT_EQ(Subject(longest).PushLabel().hex().substr(24, 4), "05ff");
}

TEST(PushMpls, LeavesNothingBehindItInReach) {
  const Bytes bytes = PacketBuilder().Ipv4({.ttl = 7}).Udp().Build();
  Subject subject(bytes);
  subject.PushLabel().Set(Field::kIpv4Dst, 1).Set(Field::kUdpDst, 1).Set(Field::kIpTtl, 1);
  EXPECT_FALSE(subject.DecTtl());
  EXPECT_EQ(subject.bytes(), PacketBuilder().Mpls({.label = 0, .ttl = 7}).Ipv4({.ttl = 7}).Udp().Build());
  subject.PopLabel(kEthTypeIpv4);
  EXPECT_EQ(subject.bytes(), bytes);
  EXPECT_TRUE(subject.DecTtl());
}

TEST(PushMpls, NeedsHeadroom) {
  const Bytes bytes = PacketBuilder().Ipv4().Tcp().Build();
  Subject subject(bytes, 3);
  const HeaderLayout layout = subject.layout();
  EXPECT_FALSE(PushMpls(subject.frame(), subject.layout(), kEthTypeMpls));
  EXPECT_EQ(subject.bytes(), bytes);
  EXPECT_EQ(subject.layout(), layout);
}

TEST(PopMpls, BringsWhatTheTypeSaysWithinReach) {
  const auto frame = [](int labels, const char* dst) {
    PacketBuilder builder;
    builder.Vlan();
    for (int i = labels; i > 0; --i) builder.Mpls({.label = static_cast<uint32_t>(i)});
    return builder.Ipv4({.dst = dst}).Udp().Build();
  };
  Subject subject(frame(2, "192.0.2.2"));
  EXPECT_EQ(subject.PopLabel(kEthTypeMpls).bytes(), frame(1, "192.0.2.2"));
  EXPECT_EQ(subject.layout().mpls, 18);
  EXPECT_EQ(subject.PopLabel(kEthTypeIpv4).Set(Field::kIpv4Dst, 0xc6336407).bytes(), frame(0, "198.51.100.7"));
  EXPECT_EQ(subject.PopLabel(kEthTypeIpv4).bytes(), frame(0, "198.51.100.7")) << "no entry is left";
  // Whatever the entry says: the action's type counts.
  Subject wrong(frame(2, "192.0.2.2"));
  wrong.PopLabel(kEthTypeIpv4);
  EXPECT_EQ(wrong.layout().l3, 0);
  EXPECT_EQ(wrong.layout().eth_type, kEthTypeIpv4);
  // The UDP header lies in another segment: its checksum could not be renewed.
  Subject segments(frame(1, "192.0.2.2"), 0, 14 + 4 + 4 + 20);
  EXPECT_EQ(segments.PopLabel(kEthTypeIpv4).Set(Field::kIpv4Dst, 1).bytes(), frame(0, "192.0.2.2"));
  EXPECT_EQ(segments.frame().headroom, 4u);
}

TEST(MplsTtl, IsNotDecrementedToZeroOrBelow) {
  for (int ttl = 0; ttl < 256; ++ttl) {
    const auto frame = [](int t) {
      return PacketBuilder().Vlan().Mpls({.ttl = static_cast<uint8_t>(t)}).Ipv4().Build();
    };
    Subject subject(frame(ttl));
    EXPECT_EQ(subject.DecMplsTtl(), ttl > 1);
    EXPECT_EQ(subject.bytes(), frame(ttl > 1 ? ttl - 1 : ttl));
  }
  Subject none(PacketBuilder().Ipv4().Build());
  EXPECT_FALSE(none.DecMplsTtl());
}

}  // namespace
}  // namespace sluice
