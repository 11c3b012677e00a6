// Fields that few packets have, and the line of the key that no packet fills.

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/packet/parsed.h"

namespace sluice {
namespace {

TEST(Parse, TheSecondTag) {
  const auto inner = [](const PacketBuilder& builder) {
    return static_cast<uint16_t>(GetField(ParseFrame(builder).key, Field::kInnerVlanTci));
  };
  EXPECT_EQ(inner(PacketBuilder().Ipv4().Udp()), 0);
  EXPECT_EQ(inner(PacketBuilder().Vlan({.vid = 5}).Ipv4().Udp()), 0);
  EXPECT_EQ(inner(PacketBuilder().Vlan({.vid = 5}).Vlan({.vid = 0}).Ipv4().Udp()), 0x1000);
  EXPECT_EQ(inner(PacketBuilder().Vlan().Vlan({.vid = 9, .pcp = 6, .dei = true, .tpid = 0x88a8}).Ipv6().Tcp()), 0xd009);
  EXPECT_EQ(inner(PacketBuilder().Vlan({.vid = 5}).Vlan({.vid = 6}).Vlan({.vid = 7}).Ipv4()), 0x1006);
  EXPECT_EQ(inner(PacketBuilder().Vlan().Vlan({.vid = 9}).Mpls().Ipv4()), 0x1009) << "beside an MPLS entry";
}

TEST(Parse, MplsHasItsOutermostEntryAndNothingBehindIt) {
  const auto stack = PacketBuilder().Vlan().Mpls({.label = 0xabcde, .tc = 5, .ttl = 3}).Mpls().Ipv4().Udp();
  for (const uint16_t type : {kEthTypeMpls, kEthTypeMplsMulticast}) {
    const Parsed one =
        ParseFrame(PacketBuilder().Mpls({.label = 0xabcde, .tc = 5, .ttl = 3, .type = type}).Ipv4().Udp());
    EXPECT_EQ(one.result, kOk);
    EXPECT_EQ(one.eth_type(), type);
    EXPECT_EQ(one.key.present, kPresentMpls);
    EXPECT_EQ(one.layout.mpls, 14);
    EXPECT_EQ(one.layout.l3, 0);
    EXPECT_EQ(GetField(one.key, Field::kMplsBos), 1);
  }
  const Parsed parsed = ParseFrame(stack);
  EXPECT_EQ(parsed.layout.mpls, 18);
  EXPECT_EQ(GetField(parsed.key, Field::kMplsLabel), 0xabcde);
  EXPECT_EQ(GetField(parsed.key, Field::kMplsTc), 5);
  EXPECT_EQ(GetField(parsed.key, Field::kMplsBos), 0);
  EXPECT_EQ(GetField(parsed.key, Field::kMplsTtl), 3);
  EXPECT_EQ(parsed.key.ipv4_src, 0u);
  const Parsed cut = ParseFrame(PacketBuilder().EtherType(kEthTypeMpls).Payload(Bytes(3, 1)));
  EXPECT_EQ(cut.result, kOk);
  EXPECT_EQ(cut.key.present, 0);
  EXPECT_EQ(cut.layout.mpls, 0);
  EXPECT_EQ(ParseFrame(PacketBuilder().Snap().Mpls().Ipv4()).layout.mpls, 22);
}

TEST(Parse, TcpFlagsAreTwelveBits) {
  const auto flags = [](TcpFields tcp) {
    return static_cast<unsigned>(GetField(ParseFrame(PacketBuilder().Ipv6().Tcp(tcp)).key, Field::kTcpFlags));
  };
  for (unsigned bit = 1; bit < 0x1000; bit <<= 1) EXPECT_EQ(flags({.flags = static_cast<uint16_t>(bit)}), bit);
  EXPECT_EQ(flags({.flags = 0xfff, .options = Bytes(40, 1)}), 0xfffu);
  EXPECT_EQ(flags({.flags = 0xfff, .data_offset = 4}), 0u) << "no L4 fields";
  EXPECT_EQ(ParseFrame(PacketBuilder().Ipv4().Udp()).key.tcp_flags, 0);
}

TEST(Parse, TheFlowLabelIsTwentyBits) {
  const auto label = [](Ipv6Fields ip) {
    return static_cast<unsigned>(GetField(ParseFrame(PacketBuilder().Ipv6(ip).Udp()).key, Field::kIpv6Label));
  };
  EXPECT_EQ(label({.tos = 0xff, .flow_label = 0}), 0u);
  EXPECT_EQ(label({.tos = 0, .flow_label = 0xfffff}), 0xfffffu);
  EXPECT_EQ(label({.flow_label = 0x12345}), 0x12345u);
  EXPECT_EQ(ParseFrame(PacketBuilder().Ipv6({.flow_label = 5}).HopByHop({.length = 200})).key.ipv6_label, 0u)
      << "as the rest of what broken extension headers take away";
}

TEST(Parse, ArpHardwareAddresses) {
  const Parsed parsed = ParseFrame(PacketBuilder().Arp({.sha = "0a:0b:0c:0d:0e:0f", .tha = "1a:1b:1c:1d:1e:1f"}));
  EXPECT_EQ(GetField(parsed.key, Field::kArpSha), 0x0a0b0c0d0e0f);
  EXPECT_EQ(GetField(parsed.key, Field::kArpTha), 0x1a1b1c1d1e1f);
  EXPECT_EQ(parsed.key.pad3, 0);
  EXPECT_EQ(parsed.key.pad4, 0);
}

TEST(Parse, LeavesThePipelinesLineAlone) {
  HeapFrame frame(PacketBuilder().Ipv6().Tcp().Build());
  PacketKey key;
  std::memset(&key, 0xee, sizeof key);
  HeaderLayout layout;
  Parse(frame.frame(), 1, key, layout);
  for (size_t i = 0; i < kKeyWords; ++i) {
    EXPECT_EQ(key.words()[i] == 0xeeeeeeeeeeeeeeee, i >= kFirstPipelineWord) << i;
  }
}

}  // namespace
}  // namespace sluice
