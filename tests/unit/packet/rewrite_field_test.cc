// Each field: a frame built with another value is what must come out.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/reference_parser.h"
#include "tests/unit/packet/subject.h"

namespace sluice {
namespace {

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
  };
}

std::vector<FieldCase> ArpAndMplsCases() {
  return {
      {"arp_op", Field::kArpOp, 0x1234,
       [](bool after) { return Body(PacketBuilder().Vlan().Arp({.op = after ? uint16_t{0x1234} : uint16_t{1}})); }},
      {"arp_spa", Field::kArpSpa, 0xc6336407,
       [](bool after) { return Body(PacketBuilder().Arp({.spa = after ? "198.51.100.7" : "192.0.2.1"})); }},
      {"arp_tpa", Field::kArpTpa, 0xc6336407,
       [](bool after) { return Body(PacketBuilder().Snap().Arp({.tpa = after ? "198.51.100.7" : "192.0.2.1"})); }},
      {"arp_sha", Field::kArpSha, 0x0c1122334455,
       [](bool after) {
         return Body(PacketBuilder().Vlan().Arp({.sha = after ? "0c:11:22:33:44:55" : "02:00:00:00:00:0b"}));
       }},
      {"arp_tha", Field::kArpTha, 0x0c1122334455,
       [](bool after) {
         return Body(PacketBuilder().Arp({.tha = after ? "0c:11:22:33:44:55" : "02:00:00:00:00:0b"}));
       }},
      {"mpls_label", Field::kMplsLabel, 0xabcde,
       [](bool after) {
         return Body(
             PacketBuilder().Vlan().Mpls({.label = after ? 0xabcdeu : 5u, .tc = 5, .ttl = 9}).Mpls().Ipv4().Udp());
       }},
      {"mpls_tc", Field::kMplsTc, 6,
       [](bool after) {
         return Body(PacketBuilder().Mpls({.label = 0xfffff, .tc = after ? uint8_t{6} : uint8_t{1}}).Ipv6().Udp());
       }},
      {"mpls_ttl", Field::kMplsTtl, 0x80,
       [](bool after) {
         return Body(PacketBuilder().Snap().Mpls({.tc = 7, .ttl = after ? uint8_t{0x80} : uint8_t{1}}).Ipv4());
       }},
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
  cases.push_back({"ipv6_label", Field::kIpv6Label, 0x12345, [](bool after) {
                     return Body(PacketBuilder().Ipv6({.tos = 0xff, .flow_label = after ? 0x12345u : 0u}).Tcp());
                   }});
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

std::vector<FieldCase> NeighborCases() {
  constexpr uint64_t kAddress = 0x0c1122334455;
  const auto address = [](bool after) { return after ? "0c:11:22:33:44:55" : "02:00:00:00:00:0b"; };
  const auto message = [](uint8_t type, const char* target, std::vector<NeighborOption> options) {
    return Body(
        PacketBuilder().Ipv6().DestinationOptions().Icmpv6({.type = type}).Payload(NeighborBody(target, options)), "");
  };
  return {
      {"nd_target of a solicitation", Field::kNdTarget, Number(Ipv6Bytes("fe80::2:3")),
       [=](bool after) { return message(135, after ? "fe80::2:3" : "fe80::1", {}); }},
      {"nd_target of an advertisement", Field::kNdTarget, 0,
       [=](bool after) { return message(136, after ? "::" : "fe80::1", {{.type = 2}}); }},
      {"nd_sll", Field::kNdSll, kAddress,
       [=](bool after) {
         return message(135, "::1", {{1, address(after)}});
       }},
      {"nd_sll behind another option", Field::kNdSll, kAddress,
       [=](bool after) {
         return message(135, "::1", {{14, "02:00:00:00:00:01"}, {1, address(after)}});
       }},
      {"nd_tll", Field::kNdTll, kAddress,
       [=](bool after) {
         return message(136, "::1", {{2, address(after)}});
       }},
      {"nd_tll beside nd_sll", Field::kNdTll, kAddress,
       [=](bool after) {
         return message(136, "::1", {{1, "02:00:00:00:00:01"}, {2, address(after)}});
       }},
  };
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
INSTANTIATE_TEST_SUITE_P(ArpAndMpls, RewriteField, testing::Values(ArpAndMplsCases()));
INSTANTIATE_TEST_SUITE_P(Addresses, RewriteField, testing::Values(AddressCases()));
INSTANTIATE_TEST_SUITE_P(IpHeader, RewriteField, testing::Values(IpHeaderCases()));
INSTANTIATE_TEST_SUITE_P(Transport, RewriteField, testing::Values(TransportCases()));
INSTANTIATE_TEST_SUITE_P(Neighbor, RewriteField, testing::Values(NeighborCases()));

}  // namespace
}  // namespace sluice
