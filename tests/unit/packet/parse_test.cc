#include "dataplane/packet/parse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/packet/parsed.h"

namespace sluice {
namespace {

struct Case {
  const char* what;
  Bytes frame;
  ParseResult result;
  uint16_t eth_type;
  uint16_t present;
  uint8_t ip_proto = 0;
  uint8_t ip_frag = 0;
  uint16_t l4_src = 0;  // host order
  uint16_t l4_dst = 0;
};

void Check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const Parsed parsed = ParseBytes(c.frame);
    EXPECT_EQ(parsed.result, c.result);
    EXPECT_EQ(parsed.eth_type(), c.eth_type);
    EXPECT_EQ(parsed.layout.eth_type, c.eth_type);
    EXPECT_EQ(parsed.key.present, c.present);
    EXPECT_EQ(parsed.key.ip_proto, c.ip_proto);
    EXPECT_EQ(parsed.key.ip_frag, c.ip_frag);
    EXPECT_EQ(parsed.tp_src(), c.l4_src);
    EXPECT_EQ(parsed.tp_dst(), c.l4_dst);
    EXPECT_EQ(parsed.layout.l4_fields, (c.present & kPresentL4) != 0);
  }
}

TEST(Parse, EthernetAndTags) {
  const Bytes three_tags =
      PacketBuilder().Vlan({.vid = 5}).Vlan({.vid = 6, .tpid = 0x88a8}).Vlan().Ipv4().Udp().Build();
  const Bytes addresses = FromHex("02000000000b02000000000a");
  const auto frame = [&](std::string_view hex) {
    Bytes bytes = addresses;
    const Bytes rest = FromHex(hex);
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
  };
  Check({
      {"no tag", PacketBuilder().EtherType(0x88b5).Build(), kOk, 0x88b5, 0},
      {"UDP below two tags", PacketBuilder().Vlan({.tpid = 0x88a8}).Vlan().Ipv4().Udp().Build(), kOk, 0x0800, kAll, 17,
       0, 40000, 53},
      {"a third tag is the EtherType", three_tags, kOk, 0x8100, 0},
      {"a tag that ends after its TPID", frame("8100"), kOk, 0x8100, 0},
      {"a tag without an EtherType behind", frame("81000005 08"), kOk, 0x8100, 0},
      {"a whole tag and nothing else", frame("81000005 88b5"), kOk, 0x88b5, 0},
      {"a cut second tag", frame("88a80005 8100 0006 08"), kOk, 0x8100, 0},
      {"an old QinQ TPID is no tag", frame("9100 0005 0800"), kOk, 0x9100, 0},
      {"MPLS", frame("8847 00001140"), kOk, 0x8847, kPresentMpls},
  });
  EXPECT_EQ(ParseBytes(three_tags).layout.vlan_tags, 2);
  EXPECT_EQ(ParseBytes(three_tags).vlan_tci(), 0x1005);
  EXPECT_EQ(ParseBytes(frame("8100")).vlan_tci(), 0);
  EXPECT_EQ(ParseHex("02000000000b02000000000a08").result, ParseResult::kTooShort);
  EXPECT_EQ(ParseBytes({}).result, ParseResult::kTooShort);
}

TEST(Parse, PresenceOfATagIsNotItsVid) {
  EXPECT_EQ(ParseFrame(PacketBuilder().Ipv4().Udp()).vlan_tci(), 0);
  EXPECT_EQ(ParseFrame(PacketBuilder().Vlan({.vid = 0, .pcp = 1}).Ipv4().Udp()).vlan_tci(), 0x3000);
  EXPECT_EQ(ParseFrame(PacketBuilder().Vlan({.vid = 5}).Ipv4().Udp()).vlan_tci(), 0x1005);
  EXPECT_EQ(ParseFrame(PacketBuilder().Vlan({.vid = 5, .dei = true}).Ipv4().Udp()).vlan_tci(), 0x1005);
  EXPECT_EQ(ParseFrame(PacketBuilder().Vlan({.vid = 5}).Vlan({.vid = 9}).Ipv4().Udp()).vlan_tci(), 0x1005);
}

TEST(Parse, LlcAndSnap) {
  const std::string bpdu =
      "0180c200000002000000000a0026424203000000000000000000000000000000000000000000000000000000000000000000000000000000"
      "0000"
      "0000";
  const Bytes snap = FromHex(
      "02000000000b02000000000a002caaaa03000000080045000024000a00004011f6bbc0000201c00002029c40003500104dbf"
      "6162636465666768");
  const Bytes low_protocol = FromHex(
      "02000000000b02000000000a002caaaa03000000000345000024000a00004011f6bbc0000201c00002029c40003500104dbf"
      "6162636465666768");
  Check({
      {"a spanning-tree BPDU", FromHex(bpdu), kOk, kEthTypeNone, 0},
      {"the same below a tag", PacketBuilder().Vlan().Llc({0x42, 0x42, 0x03}).Payload(Bytes(35)).Build(), kOk,
       kEthTypeNone, 0},
      {"SNAP", snap, kOk, 0x0800, kAll, 17, 0, 40000, 53},
      {"SNAP, a protocol below 0x0600", low_protocol, kOk, kEthTypeNone, 0},
      {"SNAP, another OUI", PacketBuilder().Snap(0x00000c, 0x2000).Payload("x").Build(), kOk, kEthTypeNone, 0},
      {"SNAP below tags", PacketBuilder().Vlan().Vlan().Snap().Ipv6().Tcp().Build(), kOk, 0x86dd, kAll, 6, 0, 40000,
       80},
      {"a tag inside SNAP is no tag", PacketBuilder().Snap(0, 0x8100).Payload(FromHex("00050800")).Build(), kOk, 0x8100,
       0},
      {"SNAP cut in its protocol", FromHex("02000000000b02000000000a0008aaaa0300000008"), kOk, kEthTypeNone, 0},
      {"1500 bytes of LLC", PacketBuilder().Llc({0xf0, 0xf0, 0x03}).Payload(Bytes(1497)).Build(), kOk, kEthTypeNone, 0},
      {"a jumbo EtherType", PacketBuilder().EtherType(0x8870).Payload(Bytes(8986)).Build(), kOk, 0x8870, 0},
      {"0x05ff on the wire is a length", PacketBuilder().EtherType(0x05ff).Payload(Bytes(50)).Build(), kOk,
       kEthTypeNone, 0},
  });
}

TEST(Parse, Arp) {
  Bytes cut = PacketBuilder().Arp().Build();
  cut.pop_back();
  Bytes cut_fixed_part(cut.begin(), cut.begin() + 14 + 7);
  const Bytes six_byte_protocol = PacketBuilder().Arp({.protocol_size = 6}).Payload(Bytes(4)).Build();
  Check({
      {"a request", PacketBuilder().Arp().Build(), kOk, 0x0806, kPresentL3, 0, 0, 1},
      {"below a tag, padded", PacketBuilder().Vlan().Arp({.op = 2}).PadTo(60).Build(), kOk, 0x0806, kPresentL3, 0, 0,
       2},
      {"an operation of two bytes", PacketBuilder().Arp({.op = 0x0102}).Build(), kOk, 0x0806, kPresentL3, 0, 0, 0x0102},
      {"other hardware", PacketBuilder().Arp({.hardware = 6}).Build(), kOk, 0x0806, 0},
      {"another protocol", PacketBuilder().Arp({.protocol = 0x86dd}).Build(), kOk, 0x0806, 0},
      {"other sizes", six_byte_protocol, kOk, 0x0806, 0},
      {"other sizes that do not fit", PacketBuilder().Arp({.protocol_size = 6}).Build(), kMalformed, 0x0806, 0},
      {"27 bytes", cut, kMalformed, 0x0806, 0},
      {"7 bytes", cut_fixed_part, kMalformed, 0x0806, 0},
      {"RARP is not ARP", PacketBuilder().EtherType(0x8035).Arp().Build(), kOk, 0x8035, 0},
  });
}

TEST(Parse, MalformedIpv4LeavesTheEtherType) {
  // A header of 44 bytes with a total length of 40 in a frame of 58.
  const Bytes long_header = FromHex(
      "02000000000b02000000000a08004b000028000100004006e4bfc0000201c0000202010101010101010101010101010101010101010101"
      "010101");
  Bytes nineteen = PacketBuilder().Ipv4({.total_length = 20}).Build();
  nineteen.pop_back();
  const auto tcp = [](Ipv4Fields ip) { return PacketBuilder().Ipv4(ip).Tcp().Build(); };
  Check({
      {"header longer than total length", long_header, kMalformed, 0x0800, 0},
      {"IHL 4", tcp({.ihl = 4}), kMalformed, 0x0800, 0},
      {"IHL 0", tcp({.ihl = 0}), kMalformed, 0x0800, 0},
      {"total length 10", tcp({.total_length = 10}), kMalformed, 0x0800, 0},
      {"total length beyond the frame", tcp({.total_length = 60}), kMalformed, 0x0800, 0},
      {"total length one beyond", tcp({.total_length = 41}), kMalformed, 0x0800, 0},
      {"version 6", tcp({.version = 6}), kMalformed, 0x0800, 0},
      {"19 bytes", nineteen, kMalformed, 0x0800, 0},
      {"nothing", PacketBuilder().EtherType(0x0800).Build(), kMalformed, 0x0800, 0},
      {"below two tags", PacketBuilder().Vlan().Vlan().Ipv4({.ihl = 15}).Build(), kMalformed, 0x0800, 0},
  });
}

TEST(Parse, Ipv4OptionsComeBeforeThePorts) {
  const Parsed router_alert = ParseHex(
      "02000000000b02000000000a08004700002c0001000040115eb7c0000201c000020294040000010101009c40003500104dbf"
      "6162636465666768");
  EXPECT_EQ(router_alert.tp_dst(), 53);
  EXPECT_EQ(router_alert.layout.l4, 14u + 28);
  const Parsed decoy = ParseHex(
      "02000000000b02000000000a08004700002c0001000040116083c0000201c00002029404003500000000"
      "9c40270f001026e56162636465666768");
  EXPECT_EQ(decoy.tp_src(), 40000);
  EXPECT_EQ(decoy.tp_dst(), 9999);
}

TEST(Parse, Fragments) {
  const Bytes first4 = FromHex(
      "02000000000b02000000000a08004500002c123420004011c489c0000201c00002029c4000350028ed59111111111111"
      "11111111111111111111");
  const Bytes last4 = FromHex(
      "02000000000b02000000000a080045000024123400034011e48ec0000201c00002029c40003522222222222222222222"
      "2222");
  const auto udp6 = [](FragmentFields f) { return PacketBuilder().Ipv6().Fragment(f).Udp().Build(); };
  Check({
      {"IPv4, first", first4, kOk, 0x0800, kAll, 17, 1, 40000, 53},
      {"IPv4, last", last4, kOk, 0x0800, kIp, 17, 3},
      {"IPv4, middle", PacketBuilder().Ipv4({.more_fragments = true, .fragment_offset = 3}).Udp().Build(), kOk, 0x0800,
       kIp, 17, 3},
      {"IPv4, don't fragment", PacketBuilder().Ipv4({.dont_fragment = true}).Udp().Build(), kOk, 0x0800, kAll, 17, 0,
       40000, 53},
      {"IPv6, first", udp6({.more = true}), kOk, 0x86dd, kAll, 17, 1, 40000, 53},
      {"IPv6, last", udp6({.offset = 1}), kOk, 0x86dd, kIp, 44, 3},
      {"IPv6, middle", udp6({.offset = 8191, .more = true}), kOk, 0x86dd, kIp, 44, 3},
      {"IPv6, all of it", udp6({}), kOk, 0x86dd, kAll, 17, 0, 40000, 53},
      {"IPv6, a reserved bit", udp6({.reserved = 2}), kOk, 0x86dd, kAll, 17, 1, 40000, 53},
      {"IPv6, extension headers in the first",
       PacketBuilder().Ipv6().Fragment({.more = true}).DestinationOptions().Udp().Build(), kOk, 0x86dd, kAll, 17, 1,
       40000, 53},
  });
}

TEST(Parse, PaddingIsNotPayload) {
  const auto udp4 = [](uint16_t total) {
    return PacketBuilder().Ipv4({.total_length = total}).Udp().PadTo(60).Build();
  };
  const auto udp6 = [](uint16_t size) {
    return PacketBuilder().Ipv6({.payload_length = size}).Udp().PadTo(90).Build();
  };
  Check({
      {"IPv4, 7 bytes of UDP and padding", udp4(27), kOk, 0x0800, kIp, 17},
      {"IPv4, 8 bytes of UDP and padding", udp4(28), kOk, 0x0800, kAll, 17, 0, 40000, 53},
      {"IPv4, no payload", udp4(20), kOk, 0x0800, kIp, 17},
      {"IPv4, 340 bytes of tail", PacketBuilder().Ipv4().Tcp().Payload("123456").PadTo(400).Build(), kOk, 0x0800, kAll,
       6, 0, 40000, 80},
      {"IPv6, 7 bytes of UDP and padding", udp6(7), kOk, 0x86dd, kIp, 17},
      {"IPv6, payload length 0", udp6(0), kOk, 0x86dd, kIp, 17},
      {"IPv6, 600 bytes of tail", PacketBuilder().Ipv6().Tcp().PadTo(660).Build(), kOk, 0x86dd, kAll, 6, 0, 40000, 80},
      {"IPv6, a tail longer than any payload", PacketBuilder().Vlan().Ipv6().Tcp().PadTo(65600).Build(), kOk, 0x86dd,
       kAll, 6, 0, 40000, 80},
  });
}

TEST(Parse, TruncatedTransportIsAbsentButNotMalformed) {
  struct Sizes {
    uint8_t proto;
    size_t size;
    bool ipv4, ipv6;
  };
  for (const Sizes& s : std::vector<Sizes>{{6, 20, true, true},
                                           {17, 8, true, true},
                                           {132, 12, true, true},
                                           {1, 8, true, false},
                                           {58, 8, false, true},
                                           {2, 8, false, false},
                                           {136, 8, false, false},
                                           {0xff, 40, false, false}}) {
    for (size_t size = 0; size <= s.size + 1; ++size) {
      SCOPED_TRACE(testing::Message() << "protocol " << +s.proto << ", " << size << " bytes");
      const bool whole = size >= s.size;
      const Bytes header(size, 0x50);  // TCP's data offset is 5
      const Parsed v4 = ParseFrame(PacketBuilder().Ipv4({.protocol = s.proto}).Payload(header).PadTo(100));
      EXPECT_EQ(v4.result, kOk);
      EXPECT_EQ(v4.key.present, whole && s.ipv4 ? kAll : kIp);
      const Parsed v6 = ParseFrame(PacketBuilder().Ipv6({.next_header = s.proto}).Payload(header).PadTo(100));
      EXPECT_EQ(v6.result, kOk);
      EXPECT_EQ(v6.key.present, whole && s.ipv6 ? kAll : kIp);
      EXPECT_EQ(v6.layout.l4 != 0, s.ipv6 && size >= (s.proto == 58 ? 4 : s.size));
    }
  }
}

TEST(Parse, TcpDataOffset) {
  const auto tcp = [](TcpFields f) { return PacketBuilder().Ipv4().Tcp(f).Payload("12345678").PadTo(100).Build(); };
  Check({
      {"16 bytes", tcp({.data_offset = 4}), kOk, 0x0800, kIp, 6},
      {"nothing", tcp({.data_offset = 0}), kOk, 0x0800, kIp, 6},
      {"into the payload", tcp({.data_offset = 7}), kOk, 0x0800, kAll, 6, 0, 40000, 80},
      {"into the padding", tcp({.data_offset = 8}), kOk, 0x0800, kIp, 6},
  });
}

TEST(Parse, IcmpTypeZeroIsNotNoType) {
  const Parsed request =
      ParseHex("02000000000b02000000000a080045000020000200004001f6d7c0000201c00002020800192d0001000170696e67");
  const Parsed reply =
      ParseHex("02000000000b02000000000a080045000020000300004001f6d6c0000201c00002020000212d0001000170696e67");
  const Parsed later = ParseHex("02000000000b02000000000a08004500001c000400014001f6d8c0000201c00002020000000000000000");
  EXPECT_EQ(request.key.present, kAll);
  EXPECT_EQ(GetField(request.key, Field::kIcmpv4Type), 8);
  EXPECT_EQ(GetField(request.key, Field::kIcmpv4Code), 0);
  EXPECT_EQ(request.tp_dst(), 0) << "the checksum is no port";
  EXPECT_EQ(reply.key.present, kAll);
  EXPECT_EQ(GetField(reply.key, Field::kIcmpv4Type), 0);
  EXPECT_EQ(later.key.present, kIp);
  EXPECT_EQ(later.key.ip_proto, 1);
  EXPECT_EQ(ParseFrame(PacketBuilder().Ipv4().Tcp({.src = 0})).key.present, kAll);
  EXPECT_EQ(ParseFrame(PacketBuilder().Ipv4({.protocol = 0}).Payload("x")).key.present, kIp);
}

TEST(Parse, Ipv6ExtensionHeaders) {
  const auto chain = PacketBuilder()
                         .Ipv6({.tos = 0xb9, .hop_limit = 3})
                         .HopByHop({.size = 16})
                         .DestinationOptions()
                         .Routing({.segments_left = 1, .segments = {"2001:db8::9"}})
                         .Fragment()
                         .Authentication()
                         .DestinationOptions({.size = 24})
                         .Sctp()
                         .Build();
  Check({
      {"all of them", chain, kOk, 0x86dd, kAll, 132, 0, 40000, 3868},
      {"an AH of 8 bytes",
       PacketBuilder().Ipv6().Authentication({.icv_size = 0, .length = 0}).Payload(Bytes(8)).Build(), kOk, 0x86dd, kIp,
       59},
      {"mobility is not looked through", PacketBuilder().Ipv6({.next_header = 135}).DestinationOptions().Udp().Build(),
       kOk, 0x86dd, kIp, 135},
      {"no next header", PacketBuilder().Ipv6({.next_header = 59}).Payload(Bytes(20)).Build(), kOk, 0x86dd, kIp, 59},
      {"AH is not looked through in IPv4", PacketBuilder().Ipv4({.protocol = 51}).Authentication().Udp().Build(), kOk,
       0x0800, kIp, 51},
  });
  const Parsed parsed = ParseBytes(chain);
  EXPECT_EQ(parsed.key.ip_tos, 0xb9);
  EXPECT_EQ(parsed.key.ip_ttl, 3);
  EXPECT_EQ(parsed.layout.l4, 14u + 40 + 16 + 8 + 24 + 8 + 24 + 24);
}

TEST(Parse, BrokenIpv6) {
  const auto udp = [](Ipv6Fields ip) { return PacketBuilder().Ipv6(ip).Udp().Build(); };
  Bytes cut = PacketBuilder().Ipv6({.payload_length = 0}).Build();
  cut.pop_back();
  const auto options = [](OptionsFields f) { return PacketBuilder().Ipv6().HopByHop(f).Udp().Build(); };
  Check({
      {"version 4", udp({.version = 4}), kMalformed, 0x86dd, 0},
      {"payload length one beyond", udp({.payload_length = 9}), kMalformed, 0x86dd, 0},
      {"payload length 65535", udp({.payload_length = 65535}), kMalformed, 0x86dd, 0},
      {"39 bytes", cut, kMalformed, 0x86dd, 0},
      {"options past the payload", options({.length = 2}), kMalformed, 0x86dd, kPresentL3},
      {"options to the payload's end", options({.length = 1}), kOk, 0x86dd, kIp, 17},
      {"options of 7 bytes", PacketBuilder().Ipv6({.payload_length = 7}).HopByHop().Build(), kMalformed, 0x86dd,
       kPresentL3},
      {"a jumbogram", PacketBuilder().Ipv6({.payload_length = 0}).HopByHop().Payload(Bytes(100)).Build(), kMalformed,
       0x86dd, kPresentL3},
      {"half a fragment header", PacketBuilder().Ipv6({.next_header = 44}).Payload(Bytes(4)).Build(), kMalformed,
       0x86dd, kPresentL3},
      {"options past the payload behind a fragment header",
       PacketBuilder().Ipv6().Fragment({.more = true}).DestinationOptions({.length = 200}).Build(), kMalformed, 0x86dd,
       kPresentL3},
  });
  const Parsed parsed = ParseBytes(options({.length = 2}));
  EXPECT_EQ(parsed.layout.l3, 0) << "nothing is rewritten where the way to a checksum is unknown";
  EXPECT_EQ(parsed.key.ip_ttl, 0);
  EXPECT_EQ(Bytes(parsed.key.ipv6_dst, parsed.key.ipv6_dst + 16), Ipv6Bytes("2001:db8:1::2"));
}

TEST(Parse, AChainOfHeadersBeyond64KiBIsFollowed) {
  PacketBuilder builder;
  builder.Vlan().Vlan().Ipv6();
  for (int i = 0; i < 31; ++i) builder.DestinationOptions({.size = 2048});
  for (int i = 0; i < 63; ++i) builder.DestinationOptions({.size = 32});
  const Parsed parsed = ParseFrame(builder.DestinationOptions({.size = 16}).Udp());
  EXPECT_EQ(parsed.result, kOk);
  EXPECT_EQ(parsed.layout.l4, 22u + 40 + 31 * 2048 + 63 * 32 + 16);
  EXPECT_GT(parsed.layout.l4, 65535u);
  EXPECT_EQ(parsed.tp_dst(), 53);
}

}  // namespace
}  // namespace sluice
