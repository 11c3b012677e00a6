#include "dataplane/packet/rewrite.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/reference_parser.h"
#include "tests/unit/packet/subject.h"

namespace sluice {
namespace {

std::string Hex(std::string_view text) { return ToHex(FromHex(text)); }

// Cases known from the field.

TEST(Rewrite, UdpChecksumZeroStaysZero) {
  Subject subject(
      FromHex("02000000000b02000000000a080045000020000500004011f6c4c0000201c00002029c400035000c000061626364"));
  subject.Set(Field::kIpv4Dst, 0xc6336407).Set(Field::kUdpDst, 5353);
  EXPECT_EQ(subject.hex(),
            Hex("02000000000b02000000000a0800450000200005000040118e8cc0000201c63364079c4014e9000c000061626364"));
}

TEST(Rewrite, UdpChecksumThatComesOutAsZeroIsSentAsOnes) {
  const Bytes in =
      FromHex("02000000000b02000000000a080045000020000500004011f6c4c0000201c00002029c400035000c7cecff0b6364");
  const std::string out =
      Hex("02000000000b02000000000a0800450000200005000040118e8cc0000201c63364079c4014e9000cffffff0b6364");
  Subject subject(in);
  subject.Set(Field::kIpv4Dst, 0xc6336407).Set(Field::kUdpDst, 5353);
  EXPECT_EQ(subject.hex(), out);
  Subject other_order(in);
  other_order.Set(Field::kUdpDst, 5353).Set(Field::kIpv4Dst, 0xc6336407);
  EXPECT_EQ(other_order.hex(), out);
  // And back again, from 0xffff.
  subject.Set(Field::kUdpDst, 53).Set(Field::kIpv4Dst, 0xc0000202);
  EXPECT_EQ(subject.bytes(), in);
}

TEST(Rewrite, OptionsCountInTheIpv4ChecksumAndNotInUdps) {
  Subject subject(
      FromHex("02000000000b02000000000a08004700002c0001000040115eb7c0000201c000020294040000010101009c40003500104dbf"
              "6162636465666768"));
  subject.Set(Field::kIpv4Dst, 0xc6336407);
  EXPECT_EQ(subject.hex(), Hex("02000000000b02000000000a08004700002c000100004011f67ec0000201c63364079404000001010100"
                               "9c4000350010e5866162636465666768"));
}

TEST(Rewrite, PaddingIsNotSummed) {
  Subject subject(
      FromHex("02000000000b02000000000a080045000028000100004006f6cbc0000201c00002029c400050000000010000000150100400"
              "8b3e0000aaaaaaaaaaaa"));
  subject.Set(Field::kIpv4Dst, 0xc6336407).Set(Field::kTcpDst, 8080);
  EXPECT_EQ(subject.hex(), Hex("02000000000b02000000000a0800450000280001000040068e93c0000201c63364079c401f9000000001"
                               "000000015010040003c60000aaaaaaaaaaaa"));
}

TEST(Rewrite, Ipv6DestinationOfIcmpv6AndFragments) {
  const absl::uint128 destination = Number(Ipv6Bytes("2001:db8:2::7"));
  const std::string head = "02000000000b02000000000a86dd60000000";
  const std::string source = "20010db8000100000000000000000001";
  const std::string from = "20010db8000100000000000000000002";
  const std::string to = "20010db8000200000000000000000007";
  Subject echo(FromHex(head + "000c3a40" + source + from + "8000456f0001000170696e67"));
  EXPECT_EQ(echo.Set(Field::kIpv6Dst, destination).hex(),
            Hex(head + "000c3a40" + source + to + "800045690001000170696e67"));
  Subject first(FromHex(head + "00182c40" + source + from + "1100000100001234" + "9c40003500203af51111111111111111"));
  EXPECT_EQ(first.Set(Field::kIpv6Dst, destination).hex(),
            Hex(head + "00182c40" + source + to + "1100000100001234" + "9c40003500203aef1111111111111111"));
  Subject later(FromHex(head + "00182c40" + source + from + "1100001000001234" + "11111111111111111111111111111111"));
  EXPECT_EQ(later.Set(Field::kIpv6Dst, destination).hex(),
            Hex(head + "00182c40" + source + to + "1100001000001234" + "11111111111111111111111111111111"));
}

TEST(Rewrite, TtlIsNotDecrementedToZeroOrBelow) {
  for (int ttl = 0; ttl < 256; ++ttl) {
    const auto v4 = [](int t) { return PacketBuilder().Ipv4({.ttl = static_cast<uint8_t>(t)}).Tcp().Build(); };
    const auto v6 = [](int t) { return PacketBuilder().Ipv6({.hop_limit = static_cast<uint8_t>(t)}).Tcp().Build(); };
    Subject subject4(v4(ttl));
    EXPECT_EQ(subject4.DecTtl(), ttl > 1);
    EXPECT_EQ(subject4.bytes(), v4(ttl > 1 ? ttl - 1 : ttl));
    Subject subject6(v6(ttl));
    EXPECT_EQ(subject6.DecTtl(), ttl > 1);
    EXPECT_EQ(subject6.bytes(), v6(ttl > 1 ? ttl - 1 : ttl));
  }
}

TEST(Rewrite, NoTtlIsNotDecremented) {
  for (const Bytes& frame :
       {PacketBuilder().Arp().Build(), PacketBuilder().EtherType(0x88b5).Payload("12345678").Build(),
        PacketBuilder().Ipv4({.ihl = 4}).Tcp().Build(),
        PacketBuilder().Ipv6().HopByHop({.length = 200}).Tcp().Build()}) {
    Subject subject(frame);
    EXPECT_FALSE(subject.DecTtl());
    EXPECT_EQ(subject.bytes(), frame);
  }
}

TEST(Rewrite, MasksKeepTheOtherBits) {
  const auto frame = [](const char* dst) { return PacketBuilder().Ipv4({.dst = dst}).Tcp().Build(); };
  EXPECT_EQ(Subject(frame("192.0.2.2")).Set(Field::kIpv4Dst, 0x0a0bffff, 0xffff0000).bytes(), frame("10.11.2.2"));
  const auto tagged = [](uint16_t vid) { return PacketBuilder().Vlan({.vid = vid}).Ipv4().Build(); };
  EXPECT_EQ(Subject(tagged(0x123)).Set(Field::kVlanVid, 0xfff, 0x0f0).bytes(), tagged(0x1f3));
}

TEST(Rewrite, AddressesTakenTogetherAreAddressesOneAfterTheOther) {
  std::mt19937_64 random(1);
  const Bytes bytes = PacketBuilder().Ipv4().Udp().Build();
  for (int round = 0; round < 200; ++round) {
    Bytes expected = bytes;
    Subject subject(bytes);
    AddressRewrite rewrite;
    for (auto writes = random() % 4; writes != 0; --writes) {
      const Field field = random() % 2 == 0 ? Field::kEthDst : Field::kEthSrc;
      const absl::uint128 value = absl::MakeUint128(random(), random());
      const absl::uint128 mask = random() % 2 == 0 ? absl::Uint128Max() : absl::MakeUint128(random(), random());
      // Bit by bit from the address's end.
      for (int bit = 0; bit < 48; ++bit) {
        if ((mask >> bit & 1) == 0) continue;
        uint8_t& byte = expected[(field == Field::kEthDst ? 5 : 11) - bit / 8];
        byte = static_cast<uint8_t>((byte & ~(1 << bit % 8)) | static_cast<int>(value >> bit & 1) << bit % 8);
      }
      subject.Set(field, value, mask);
      ASSERT_EQ(subject.hex(), ToHex(expected));
      rewrite.Add(field, value, mask);
    }
    Subject together(bytes);
    SetAddresses(together.frame(), rewrite);
    ASSERT_EQ(together.hex(), ToHex(expected));
  }
}

struct AbsentCase {
  const char* what;
  Bytes frame;
  std::set<Field> present;  // but for Ethernet's
};

std::vector<AbsentCase> AbsentCases() {
  const std::set<Field> ipv4 = {Field::kIpv4Src, Field::kIpv4Dst, Field::kIpDscp, Field::kIpEcn, Field::kIpTtl};
  const auto ipv6 = [](std::set<Field> and_more) {
    and_more.insert(
        {Field::kIpv6Src, Field::kIpv6Dst, Field::kIpDscp, Field::kIpEcn, Field::kIpTtl, Field::kIpv6Label});
    return and_more;
  };
  const auto message = [](IcmpFields icmp, const std::vector<NeighborOption>& options) {
    return PacketBuilder().Ipv6().Icmpv6(icmp).Payload(NeighborBody("fe80::1", options)).Build();
  };
  return {
      {"no tag, no IP", PacketBuilder().EtherType(0x88b5).Payload(Bytes(60)).Build(), {}},
      {"ARP",
       PacketBuilder().Arp().PadTo(60).Build(),
       {Field::kArpOp, Field::kArpSpa, Field::kArpTpa, Field::kArpSha, Field::kArpTha}},
      {"ARP of other hardware", PacketBuilder().Arp({.hardware = 6}).PadTo(60).Build(), {}},
      {"malformed IPv4", PacketBuilder().Ipv4({.ihl = 4}).Udp().Payload(Bytes(30)).Build(), {}},
      {"broken IPv6 chain", PacketBuilder().Ipv6().HopByHop({.length = 30}).Udp().Build(), {}},
      {"later fragment", PacketBuilder().Ipv4({.fragment_offset = 9}).Udp().Payload(Bytes(30)).Build(), ipv4},
      {"UDP over IPv6", PacketBuilder().Ipv6().Udp().Payload(Bytes(30)).Build(),
       ipv6({Field::kUdpSrc, Field::kUdpDst})},
      {"TCP cut short", PacketBuilder().Ipv4({.protocol = 6}).Payload(Bytes(19)).Build(), ipv4},
      {"MPLS over IPv4",
       PacketBuilder().Mpls().Ipv4().Udp().Build(),
       {Field::kMplsLabel, Field::kMplsTc, Field::kMplsTtl}},
      {"three bytes of MPLS", PacketBuilder().EtherType(kEthTypeMpls).Payload(Bytes(3)).Build(), {}},
      {"a solicitation without options", message({.type = 135}, {}),
       ipv6({Field::kIcmpv6Type, Field::kIcmpv6Code, Field::kNdTarget})},
      {"a solicitation with the source's address, of code 1", message({.type = 135, .code = 1}, {{.type = 1}}),
       ipv6({Field::kIcmpv6Type, Field::kIcmpv6Code})},
      {"an advertisement with the target's address", message({.type = 136}, {{.type = 2}}),
       ipv6({Field::kIcmpv6Type, Field::kIcmpv6Code, Field::kNdTarget, Field::kNdTll})},
      {"ICMPv6 in IPv4", PacketBuilder().Ipv4().Icmpv6().Build(), ipv4},
  };
}

TEST(Rewrite, AnAbsentFieldIsLeftAlone) {
  const std::set<Field> ethernet = {Field::kEthDst, Field::kEthSrc};
  for (const AbsentCase& c : AbsentCases()) {
    for (int i = 1; i < kFieldCount; ++i) {
      const Field field = static_cast<Field>(i);
      const bool present = ethernet.contains(field) || c.present.contains(field);
      // Of all ones and all zeros, one changes whatever is there.
      const bool changed = Subject(c.frame).Set(field, Ones(128)).bytes() != c.frame ||
                           Subject(c.frame).Set(field, 0).bytes() != c.frame;
      EXPECT_EQ(changed, present) << c.what << ", field " << i;
    }
  }
}

TEST(Rewrite, DestinationOfAnIntermediateHopIsNotInTheChecksum) {
  const auto frame = [](const char* src, const char* dst, uint8_t left) {
    return PacketBuilder()
        .Ipv6({.src = src, .dst = dst})
        .HopByHop()
        .Routing({.segments_left = left, .segments = {"2001:db8::f", "2001:db8::e"}})
        .Udp()
        .Payload("x")
        .Build();
  };
  const absl::uint128 seven = Number(Ipv6Bytes("::7"));
  const Bytes on_the_way = frame("::1", "::2", 1);
  EXPECT_EQ(Subject(on_the_way).Set(Field::kIpv6Dst, seven).bytes(), frame("::1", "::7", 1));
  EXPECT_EQ(Subject(on_the_way).Set(Field::kIpv6Src, seven).bytes(), frame("::7", "::2", 1));
  EXPECT_EQ(ChecksumErrors(Subject(on_the_way).Set(Field::kIpv6Dst, seven).bytes()), "");
  const Bytes arrived = frame("::1", "::2", 0);
  EXPECT_EQ(Subject(arrived).Set(Field::kIpv6Dst, seven).bytes(), frame("::1", "::7", 0));
}

TEST(Rewrite, AWrongChecksumStaysWrong) {
  const auto frame = [](const char* dst, uint16_t port, bool wrong) {
    Bytes bytes = PacketBuilder().Ipv4({.dst = dst}).Tcp({.dst = port}).Payload("payload").Build();
    if (wrong) bytes.back() ^= 0x10;
    return bytes;
  };
  Subject subject(frame("192.0.2.2", 80, true));
  subject.Set(Field::kIpv4Dst, 0xc6336407).Set(Field::kTcpDst, 81);
  EXPECT_EQ(subject.bytes(), frame("198.51.100.7", 81, true));
  EXPECT_EQ(ChecksumErrors(subject.bytes()), "TCP checksum");

  Bytes sctp = PacketBuilder().Ipv4().Sctp().Payload("payload").Build();
  sctp.back() ^= 0x10;
  EXPECT_EQ(ChecksumErrors(Subject(sctp).Set(Field::kSctpDst, 9).bytes()), "SCTP CRC");
}

TEST(Rewrite, AValueThatIsThereChangesNothingAtAll) {
  // Of a checksum's two zeros, renewing would turn this one into the other.
  const Bytes frame = PacketBuilder().Ipv4({.checksum = 0xffff}).Tcp({.dst = 80, .checksum = 0xffff}).Build();
  EXPECT_EQ(Subject(frame).Set(Field::kTcpDst, 80).Set(Field::kIpTtl, 64).bytes(), frame);
}

TEST(Rewrite, AddressesCountWhereOnlyTheChecksumIsThere) {
  // TCP whose data offset is bad, and four bytes of ICMPv6: no fields, yet a checksum.
  const auto tcp = [](const char* dst, uint16_t port) {
    return PacketBuilder().Ipv4({.dst = dst}).Tcp({.dst = port, .data_offset = 4}).Payload("x").Build();
  };
  EXPECT_EQ(Subject(tcp("192.0.2.2", 80)).Set(Field::kIpv4Dst, 0xc6336407).Set(Field::kTcpDst, 9).bytes(),
            tcp("198.51.100.7", 80));
  Bytes icmpv6 = PacketBuilder().Ipv6({.payload_length = 4}).Icmpv6().Build();
  icmpv6.resize(icmpv6.size() - 4);
  const uint16_t before = static_cast<uint16_t>(icmpv6[56] << 8 | icmpv6[57]);
  const Bytes bytes = Subject(icmpv6).Set(Field::kIpv6Dst, Number(Ipv6Bytes("2001:db8:1::3"))).bytes();
  EXPECT_EQ(bytes[56] << 8 | bytes[57], before - 1);
}

// Fragments: what is put together again verifies.

TEST(RewriteFragments, TheReassembledDatagramVerifies) {
  const Bytes v4 = PacketBuilder().Ipv4({.options = Bytes(4, 1)}).Udp().Payload(Bytes(101, 'x')).Build();
  const Bytes v6 = PacketBuilder().Vlan().Ipv6().Tcp().Payload(Bytes(101, 'x')).Build();
  const Bytes icmpv6 = PacketBuilder().Ipv6().Icmpv6().Payload(Bytes(101, 'x')).Build();
  const auto rewrite = [](const Bytes& bytes) {
    Subject subject(bytes);
    subject.Set(Field::kIpv4Dst, 0xc6336407).Set(Field::kIpv4Src, 0x0a000001);
    subject.Set(Field::kIpv6Dst, 1).Set(Field::kIpv6Src, Ones(127)).Set(Field::kUdpDst, 99).Set(Field::kTcpSrc, 98);
    subject.DecTtl();
    return subject.bytes();
  };
  for (const Bytes& whole : {v4, v6, icmpv6}) {
    for (size_t size : {24, 32, 56, 104}) {
      std::vector<Bytes> fragments = SplitIntoFragments(whole, size);
      ASSERT_GT(fragments.size(), 1u);
      ASSERT_EQ(JoinFragments(fragments), whole);
      for (Bytes& fragment : fragments) fragment = rewrite(fragment);
      EXPECT_EQ(JoinFragments(fragments), rewrite(whole));
      EXPECT_EQ(ChecksumErrors(JoinFragments(fragments)), "");
    }
  }
}

}  // namespace
}  // namespace sluice
