#include "dataplane/packet/rewrite.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "dataplane/packet/parse.h"
#include "tests/support/heap_frame.h"
#include "tests/support/random_packet.h"
#include "tests/support/reference_parser.h"

namespace sluice {
namespace {

constexpr uint32_t kHeadroom = 16;

absl::uint128 Ones(int bits) { return absl::Uint128Max() >> (128 - bits); }

absl::uint128 Number(const Bytes& bytes) {
  absl::uint128 number = 0;
  for (uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

// A frame with its layout, and what may be done with it.
class Subject {
 public:
  explicit Subject(const Bytes& bytes, uint32_t headroom = kHeadroom)
      : Subject(bytes, headroom, static_cast<uint32_t>(bytes.size())) {}
  Subject(const Bytes& bytes, uint32_t headroom, uint32_t length) : frame_(bytes, headroom, length) {
    PacketKey key;
    EXPECT_NE(Parse(frame_.frame(), 1, key, layout_), ParseResult::kNeedMore);
  }

  Subject& Set(Field field, absl::uint128 value) { return Set(field, value, absl::Uint128Max()); }
  Subject& Set(Field field, absl::uint128 value, absl::uint128 mask) {
    SetField(frame_.frame(), layout_, field, value, mask);
    return *this;
  }
  Subject& Push(uint16_t tpid = 0x8100) {
    EXPECT_TRUE(PushVlan(frame_.frame(), layout_, tpid));
    return *this;
  }
  Subject& Pop() {
    PopVlan(frame_.frame(), layout_);
    return *this;
  }
  bool DecTtl() { return DecrementTtl(frame_.frame(), layout_); }

  Bytes bytes() const { return frame_.bytes(); }
  std::string hex() const { return ToHex(frame_.bytes()); }
  HeaderLayout& layout() { return layout_; }
  Frame& frame() { return frame_.frame(); }

 private:
  HeapFrame frame_;
  HeaderLayout layout_;
};

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

// Each field: a frame built with another value is what must come out.

struct FieldCase {
  const char* what;
  Field field;
  absl::uint128 value;
  std::function<Bytes(bool)> build;  // false: before, true: after
};

Bytes Body(PacketBuilder builder, std::string_view payload = "odd payload") {
  return builder.Payload(payload).PadTo(100, 0xaa).Build();
}

std::vector<FieldCase> EthernetCases() {
  return {
      {"eth_dst", Field::kEthDst, 0x0c1122334455,
       [](bool after) {
         return Body(PacketBuilder({.dst = after ? "0c:11:22:33:44:55" : "02:00:00:00:00:0b"}).Ipv4().Udp());
       }},
      {"eth_src", Field::kEthSrc, 0x0c1122334455,
       [](bool after) {
         return Body(PacketBuilder({.src = after ? "0c:11:22:33:44:55" : "02:00:00:00:00:0b"}).Snap().Arp());
       }},
      {"vlan_vid", Field::kVlanVid, 0xabc,
       [](bool after) {
         return Body(
             PacketBuilder().Vlan({.vid = after ? uint16_t{0xabc} : uint16_t{5}, .pcp = 3, .dei = true}).Ipv4());
       }},
      {"vlan_vid of two tags", Field::kVlanVid, 0,
       [](bool after) {
         return Body(PacketBuilder().Vlan({.vid = after ? uint16_t{0} : uint16_t{5}, .tpid = 0x88a8}).Vlan().Ipv4());
       }},
      {"vlan_vid before a length", Field::kVlanVid, 6,
       [](bool after) {
         return Body(PacketBuilder().Vlan({.vid = after ? uint16_t{6} : uint16_t{5}}).Llc({0x42, 0x42, 3}));
       }},
      {"vlan_pcp", Field::kVlanPcp, 6,
       [](bool after) {
         return Body(PacketBuilder().Vlan({.vid = 5, .pcp = after ? uint8_t{6} : uint8_t{1}, .dei = true}).Ipv4());
       }},
      {"arp_op", Field::kArpOp, 0x1234,
       [](bool after) { return Body(PacketBuilder().Vlan().Arp({.op = after ? uint16_t{0x1234} : uint16_t{1}})); }},
      {"arp_spa", Field::kArpSpa, 0xc6336407,
       [](bool after) { return Body(PacketBuilder().Arp({.spa = after ? "198.51.100.7" : "192.0.2.1"})); }},
      {"arp_tpa", Field::kArpTpa, 0xc6336407,
       [](bool after) { return Body(PacketBuilder().Snap().Arp({.tpa = after ? "198.51.100.7" : "192.0.2.1"})); }},
  };
}

// Addresses, below every L4 protocol and with tags, options and extension headers.
std::vector<FieldCase> AddressCases() {
  std::vector<FieldCase> cases;
  using Upper = std::function<PacketBuilder&(PacketBuilder&)>;
  const std::vector<std::pair<const char*, Upper>> uppers = {
      {"tcp", [](PacketBuilder& b) -> PacketBuilder& { return b.Tcp({.options = Bytes(12, 1)}); }},
      {"udp", [](PacketBuilder& b) -> PacketBuilder& { return b.Udp(); }},
      {"udp without checksum", [](PacketBuilder& b) -> PacketBuilder& { return b.Udp({.checksum = 0}); }},
      {"sctp", [](PacketBuilder& b) -> PacketBuilder& { return b.Sctp(); }},
      {"nothing", [](PacketBuilder& b) -> PacketBuilder& { return b; }},
  };
  for (const auto& [what, add] : uppers) {
    for (const bool source : {false, true}) {
      cases.push_back({what, source ? Field::kIpv4Src : Field::kIpv4Dst, 0xc6336407, [add = add, source](bool after) {
                         Ipv4Fields ip{.options = Bytes(8, 1)};
                         if (after) (source ? ip.src : ip.dst) = "198.51.100.7";
                         return Body(add(PacketBuilder().Vlan().Ipv4(ip)));
                       }});
      cases.push_back({what, source ? Field::kIpv6Src : Field::kIpv6Dst, Number(Ipv6Bytes("2001:db8:2:3:4:5:6:7")),
                       [add = add, source](bool after) {
                         Ipv6Fields ip;
                         if (after) (source ? ip.src : ip.dst) = "2001:db8:2:3:4:5:6:7";
                         return Body(add(PacketBuilder().Snap().Ipv6(ip).HopByHop().Authentication()));
                       }});
    }
  }
  cases.push_back({"icmp", Field::kIpv4Dst, 0xc6336407, [](bool after) {
                     return Body(PacketBuilder().Ipv4({.dst = after ? "198.51.100.7" : "192.0.2.2"}).Icmp());
                   }});
  cases.push_back({"icmpv6", Field::kIpv6Src, 1, [](bool after) {
                     return Body(PacketBuilder().Ipv6({.src = after ? "::1" : "2001:db8::1"}).Icmpv6());
                   }});
  return cases;
}

std::vector<FieldCase> IpHeaderCases() {
  std::vector<FieldCase> cases;
  const auto add = [&cases](const char* what, Field field, int value, uint8_t Ipv4Fields::*v4, uint8_t Ipv6Fields::*v6,
                            uint8_t before, uint8_t after) {
    cases.push_back({what, field, static_cast<unsigned>(value), [=](bool is_after) {
                       Ipv4Fields ip{.options = Bytes(4, 1)};
                       ip.*v4 = is_after ? after : before;
                       return Body(PacketBuilder().Ipv4(ip).Udp());
                     }});
    cases.push_back({what, field, static_cast<unsigned>(value), [=](bool is_after) {
                       Ipv6Fields ip{.flow_label = 0xfffff};
                       ip.*v6 = is_after ? after : before;
                       return Body(PacketBuilder().Vlan().Ipv6(ip).Udp());
                     }});
  };
  add("dscp up", Field::kIpDscp, 46, &Ipv4Fields::tos, &Ipv6Fields::tos, 0x03, 46 << 2 | 3);
  add("dscp down", Field::kIpDscp, 0, &Ipv4Fields::tos, &Ipv6Fields::tos, 0xff, 3);
  add("ecn up", Field::kIpEcn, 3, &Ipv4Fields::tos, &Ipv6Fields::tos, 0xb8, 0xbb);
  add("ecn down", Field::kIpEcn, 0, &Ipv4Fields::tos, &Ipv6Fields::tos, 0xff, 0xfc);
  add("ttl down", Field::kIpTtl, 1, &Ipv4Fields::ttl, &Ipv6Fields::hop_limit, 255, 1);
  add("ttl up", Field::kIpTtl, 255, &Ipv4Fields::ttl, &Ipv6Fields::hop_limit, 0, 255);
  return cases;
}

std::vector<FieldCase> TransportCases() {
  std::vector<FieldCase> cases;
  for (const bool v6 : {false, true}) {
    const auto ip = [v6]() {
      PacketBuilder builder;
      return v6 ? builder.Ipv6().DestinationOptions() : builder.Ipv4({.options = Bytes(4, 1)});
    };
    const auto port = [](bool after, uint16_t before = 53) { return after ? uint16_t{0x1234} : before; };
    cases.push_back(
        {"tcp_src", Field::kTcpSrc, 0x1234, [=](bool after) { return Body(ip().Tcp({.src = port(after)})); }});
    cases.push_back(
        {"tcp_dst", Field::kTcpDst, 0x1234, [=](bool after) { return Body(ip().Tcp({.dst = port(after)})); }});
    cases.push_back(
        {"udp_src", Field::kUdpSrc, 0x1234, [=](bool after) { return Body(ip().Udp({.src = port(after, 0)})); }});
    cases.push_back(
        {"udp_dst", Field::kUdpDst, 0x1234, [=](bool after) { return Body(ip().Udp({.dst = port(after)})); }});
    cases.push_back({"udp_dst without checksum", Field::kUdpDst, 0x1234,
                     [=](bool after) { return Body(ip().Udp({.dst = port(after), .checksum = 0})); }});
    for (const char* payload : {"", "1", "12", "123", "12345678901234567890"}) {
      cases.push_back({"sctp_src", Field::kSctpSrc, 0x1234,
                       [=](bool after) { return Body(ip().Sctp({.src = port(after)}), payload); }});
      cases.push_back({"sctp_dst", Field::kSctpDst, 0x1234,
                       [=](bool after) { return Body(ip().Sctp({.dst = port(after)}), payload); }});
    }
  }
  const auto number = [](bool after) { return after ? uint8_t{3} : uint8_t{0}; };
  cases.push_back({"icmp_type", Field::kIcmpv4Type, 3,
                   [=](bool after) { return Body(PacketBuilder().Ipv4().Icmp({.type = number(after), .code = 7})); }});
  cases.push_back({"icmp_code", Field::kIcmpv4Code, 3,
                   [=](bool after) { return Body(PacketBuilder().Ipv4().Icmp({.type = 7, .code = number(after)})); }});
  cases.push_back({"icmpv6_type", Field::kIcmpv6Type, 3, [=](bool after) {
                     return Body(PacketBuilder().Ipv6().Icmpv6({.type = number(after), .code = 7}));
                   }});
  cases.push_back({"icmpv6_code", Field::kIcmpv6Code, 3, [=](bool after) {
                     return Body(PacketBuilder().Ipv6().HopByHop().Icmpv6({.type = 7, .code = number(after)}));
                   }});
  return cases;
}

class RewriteField : public testing::TestWithParam<std::vector<FieldCase>> {};

TEST_P(RewriteField, GivesTheFrameThatASenderWouldHaveBuilt) {
  for (const FieldCase& c : GetParam()) {
    SCOPED_TRACE(testing::Message() << c.what << ", field " << static_cast<int>(c.field));
    const Bytes before = c.build(false);
    const Bytes after = c.build(true);
    ASSERT_NE(before, after);
    ASSERT_EQ(ChecksumErrors(after), "");
    EXPECT_EQ(Subject(before).Set(c.field, c.value).hex(), ToHex(after));
    EXPECT_EQ(Subject(before).Set(c.field, c.value, 0).bytes(), before) << "an empty mask";
    EXPECT_EQ(Subject(after).Set(c.field, c.value).bytes(), after) << "the value that is there";
    // In two halves, by mask.
    Subject halves(before);
    halves.Set(c.field, c.value, Ones(128) / 3).Set(c.field, c.value, Ones(128) / 3 * 2);
    EXPECT_EQ(halves.hex(), ToHex(after));
  }
}

INSTANTIATE_TEST_SUITE_P(Ethernet, RewriteField, testing::Values(EthernetCases()));
INSTANTIATE_TEST_SUITE_P(Addresses, RewriteField, testing::Values(AddressCases()));
INSTANTIATE_TEST_SUITE_P(IpHeader, RewriteField, testing::Values(IpHeaderCases()));
INSTANTIATE_TEST_SUITE_P(Transport, RewriteField, testing::Values(TransportCases()));

TEST(Rewrite, MasksKeepTheOtherBits) {
  const auto frame = [](const char* dst) { return PacketBuilder().Ipv4({.dst = dst}).Tcp().Build(); };
  EXPECT_EQ(Subject(frame("192.0.2.2")).Set(Field::kIpv4Dst, 0x0a0bffff, 0xffff0000).bytes(), frame("10.11.2.2"));
  const auto tagged = [](uint16_t vid) { return PacketBuilder().Vlan({.vid = vid}).Ipv4().Build(); };
  EXPECT_EQ(Subject(tagged(0x123)).Set(Field::kVlanVid, 0xfff, 0x0f0).bytes(), tagged(0x1f3));
}

TEST(Rewrite, AnAbsentFieldIsLeftAlone) {
  const std::set<Field> ethernet = {Field::kEthDst, Field::kEthSrc};
  struct AbsentCase {
    const char* what;
    Bytes frame;
    std::set<Field> present;
  };
  const std::vector<AbsentCase> cases = {
      {"no tag, no IP", PacketBuilder().EtherType(0x88b5).Payload(Bytes(60)).Build(), {}},
      {"ARP", PacketBuilder().Arp().PadTo(60).Build(), {Field::kArpOp, Field::kArpSpa, Field::kArpTpa}},
      {"ARP of other hardware", PacketBuilder().Arp({.hardware = 6}).PadTo(60).Build(), {}},
      {"malformed IPv4", PacketBuilder().Ipv4({.ihl = 4}).Udp().Payload(Bytes(30)).Build(), {}},
      {"broken IPv6 chain", PacketBuilder().Ipv6().HopByHop({.length = 30}).Udp().Build(), {}},
      {"later fragment",
       PacketBuilder().Ipv4({.fragment_offset = 9}).Udp().Payload(Bytes(30)).Build(),
       {Field::kIpv4Src, Field::kIpv4Dst, Field::kIpDscp, Field::kIpEcn, Field::kIpTtl}},
      {"UDP over IPv6",
       PacketBuilder().Ipv6().Udp().Payload(Bytes(30)).Build(),
       {Field::kIpv6Src, Field::kIpv6Dst, Field::kIpDscp, Field::kIpEcn, Field::kIpTtl, Field::kUdpSrc,
        Field::kUdpDst}},
      {"TCP cut short",
       PacketBuilder().Ipv4({.protocol = 6}).Payload(Bytes(19)).Build(),
       {Field::kIpv4Src, Field::kIpv4Dst, Field::kIpDscp, Field::kIpEcn, Field::kIpTtl}},
      {"ICMPv6 in IPv4",
       PacketBuilder().Ipv4().Icmpv6().Build(),
       {Field::kIpv4Src, Field::kIpv4Dst, Field::kIpDscp, Field::kIpEcn, Field::kIpTtl}},
  };
  for (const AbsentCase& c : cases) {
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

// At random, against the slow parser: exactly the field and its checksums change.

struct Change {
  Field field;
  absl::uint128 value;
  absl::uint128 mask;
};

Change RandomChange(Random& random) {
  static constexpr Field kWritable[] = {
      Field::kEthDst,  Field::kEthSrc,  Field::kVlanVid,    Field::kVlanPcp,    Field::kArpOp,      Field::kArpSpa,
      Field::kArpTpa,  Field::kIpv4Src, Field::kIpv4Dst,    Field::kIpv6Src,    Field::kIpv6Dst,    Field::kIpDscp,
      Field::kIpEcn,   Field::kIpTtl,   Field::kTcpSrc,     Field::kTcpDst,     Field::kUdpSrc,     Field::kUdpDst,
      Field::kSctpSrc, Field::kSctpDst, Field::kIcmpv4Type, Field::kIcmpv4Code, Field::kIcmpv6Type, Field::kIcmpv6Code};
  Change change{kWritable[Below(random, std::size(kWritable))], absl::MakeUint128(random(), random()), Ones(128)};
  if (Below(random, 3) == 0) change.mask = absl::MakeUint128(random(), random());
  return change;
}

bool Has(const ReferenceResult& r, Field field) {
  const auto ip = [&r](uint16_t type) { return r.layout.l3 != 0 && r.layout.eth_type == type; };
  const auto l4 = [&r](uint8_t proto) { return r.layout.l4_fields && r.layout.ip_proto == proto; };
  switch (field) {
    case Field::kEthDst:
    case Field::kEthSrc:
      return true;
    case Field::kVlanVid:
    case Field::kVlanPcp:
      return r.layout.vlan_tags > 0;
    case Field::kArpOp:
    case Field::kArpSpa:
    case Field::kArpTpa:
      return ip(0x0806);
    case Field::kIpv4Src:
    case Field::kIpv4Dst:
      return ip(0x0800);
    case Field::kIpv6Src:
    case Field::kIpv6Dst:
      return ip(0x86dd);
    case Field::kIpDscp:
    case Field::kIpEcn:
    case Field::kIpTtl:
      return ip(0x0800) || ip(0x86dd);
    case Field::kTcpSrc:
    case Field::kTcpDst:
      return l4(6);
    case Field::kUdpSrc:
    case Field::kUdpDst:
      return l4(17);
    case Field::kSctpSrc:
    case Field::kSctpDst:
      return l4(132);
    case Field::kIcmpv4Type:
    case Field::kIcmpv4Code:
      return l4(1);
    default:
      return l4(58);
  }
}

// The bytes that may change: the field's and its checksums'.
std::set<size_t> MayChange(const ReferenceResult& r, Field field) {
  std::set<size_t> at;
  const auto add = [&at](size_t begin, size_t size) {
    for (size_t i = 0; i < size; ++i) at.insert(begin + i);
  };
  const size_t l3 = r.layout.l3;
  const size_t l4 = r.layout.l4;
  const bool v4 = r.layout.eth_type == 0x0800;
  const bool address = field >= Field::kIpv4Src && field <= Field::kIpv6Dst;
  if (field == Field::kEthDst) add(0, 6);
  if (field == Field::kEthSrc) add(6, 6);
  if (field == Field::kVlanVid || field == Field::kVlanPcp) add(14, 2);
  if (field == Field::kArpOp) add(l3 + 6, 2);
  if (field == Field::kArpSpa) add(l3 + 14, 4);
  if (field == Field::kArpTpa) add(l3 + 24, 4);
  if (field == Field::kIpv4Src) add(l3 + 12, 4);
  if (field == Field::kIpv4Dst) add(l3 + 16, 4);
  if (field == Field::kIpv6Src) add(l3 + 8, 16);
  if (field == Field::kIpv6Dst) add(l3 + 24, 16);
  if (field == Field::kIpDscp || field == Field::kIpEcn) v4 ? add(l3 + 1, 1) : add(l3, 2);
  if (field == Field::kIpTtl) add(l3 + (v4 ? 8 : 7), 1);
  if (v4 && field >= Field::kIpv4Src && field <= Field::kIpTtl) add(l3 + 10, 2);
  if (field >= Field::kTcpSrc && field <= Field::kSctpDst) add(l4 + (static_cast<int>(field) % 2 == 1 ? 0 : 2), 2);
  if (field >= Field::kIcmpv4Type) add(l4 + (static_cast<int>(field) % 2 == 1 ? 0 : 1), 1);
  if (l4 == 0 || (!address && field < Field::kTcpSrc)) return at;
  if (r.layout.ip_proto == 6) add(l4 + 16, 2);
  if (r.layout.ip_proto == 17) add(l4 + 6, 2);
  if (r.layout.ip_proto == 132 && !address) add(l4 + 8, 4);
  if (r.layout.ip_proto == 58 || (r.layout.ip_proto == 1 && !address)) add(l4 + 2, 2);
  return at;
}

void CheckChange(const Bytes& before, const Bytes& after, const Change& change) {
  const ReferenceResult was = ReferenceParse(before, 1);
  const ReferenceResult is = ReferenceParse(after, 1);
  PacketKey expected = was.key;
  if (Has(was, change.field)) {
    const absl::uint128 old_bits = GetField(expected, change.field) & ~change.mask;
    PutField(expected, change.field, old_bits | (change.value & change.mask));
  }
  ASSERT_EQ(is.key, expected);
  ASSERT_EQ(is.layout, was.layout);
  ASSERT_EQ(before.size(), after.size());
  const std::set<size_t> may_change = Has(was, change.field) ? MayChange(was, change.field) : std::set<size_t>();
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_TRUE(before[i] == after[i] || may_change.contains(i)) << "byte " << i;
  }
}

TEST(RewriteRandom, FieldsOfWellFormedFrames) {
  Random random(21);
  int changed = 0;
  for (int round = 0; round < 20000; ++round) {
    const Bytes frame = RandomFrame(random);
    ASSERT_EQ(ChecksumErrors(frame), "") << ToHex(frame);
    Subject subject(frame);
    for (uint64_t changes = 1 + Below(random, 5); changes > 0; --changes) {
      const Change change = RandomChange(random);
      const Bytes before = subject.bytes();
      const Bytes after = subject.Set(change.field, change.value, change.mask).bytes();
      SCOPED_TRACE(testing::Message() << "field " << static_cast<int>(change.field) << " of " << ToHex(before));
      ASSERT_NO_FATAL_FAILURE(CheckChange(before, after, change));
      ASSERT_EQ(ChecksumErrors(after), "") << ToHex(after);
      changed += before != after;
    }
  }
  EXPECT_GT(changed, 10000);
}

TEST(RewriteRandom, FieldsOfDamagedFramesInSegments) {
  Random random(22);
  for (int round = 0; round < 20000; ++round) {
    const Bytes frame = RandomDamagedFrame(random);
    const ReferenceResult reference = ReferenceParse(frame, 1);
    if (reference.result == ParseResult::kTooShort) continue;
    // No byte behind the headers is at hand.
    const auto length = static_cast<uint32_t>(std::max<size_t>(14, reference.header_bytes));
    Subject headers(frame, kHeadroom, length);
    Subject whole(frame);
    const Change change = RandomChange(random);
    const Bytes after = headers.Set(change.field, change.value, change.mask).bytes();
    SCOPED_TRACE(testing::Message() << "field " << static_cast<int>(change.field) << " of " << ToHex(frame));
    ASSERT_EQ(after, whole.Set(change.field, change.value, change.mask).bytes());
    ASSERT_NO_FATAL_FAILURE(CheckChange(frame, after, change));
  }
}

TEST(RewriteRandom, TagsAndFields) {
  Random random(23);
  for (int round = 0; round < 20000; ++round) {
    const Bytes frame = Below(random, 2) == 0 ? RandomFrame(random) : RandomDamagedFrame(random);
    if (frame.size() < 14) continue;
    Subject subject(frame);
    Bytes model = frame;
    for (uint64_t steps = 1 + Below(random, 5); steps > 0; --steps) {
      const size_t tags = subject.layout().vlan_tags;
      if (Below(random, 2) == 0 && subject.frame().headroom >= 4) {
        subject.Push(0x88a8);
        Bytes tag = {0x88, 0xa8, 0, 0};
        if (tags > 0) tag[2] = model[14] & 0xef, tag[3] = model[15];
        model.insert(model.begin() + 12, tag.begin(), tag.end());
      } else {
        subject.Pop();
        if (tags > 0) model.erase(model.begin() + 12, model.begin() + 16);
      }
      ASSERT_EQ(subject.bytes(), model) << ToHex(frame);
    }
    // The layout is still that of the frame, as far as a parser sees tags.
    const ReferenceResult reference = ReferenceParse(model, 1);
    if (subject.layout().vlan_tags <= 2) {
      ASSERT_EQ(subject.layout(), reference.layout) << ToHex(frame);
    }
    if (ChecksumErrors(model) == "") {
      subject.Set(Field::kIpv4Dst, 0x01020304).Set(Field::kIpv6Src, 5).Set(Field::kUdpSrc, 6).DecTtl();
      ASSERT_EQ(ChecksumErrors(subject.bytes()), "") << ToHex(frame);
    }
  }
}

}  // namespace
}  // namespace sluice
