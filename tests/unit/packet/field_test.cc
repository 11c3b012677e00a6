#include "dataplane/packet/field.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/packet/parse.h"
#include "tests/support/heap_frame.h"
#include "tests/support/random_packet.h"

namespace sluice {
namespace {

Field FieldAt(int i) { return static_cast<Field>(i); }

absl::uint128 Ones(int bits) { return bits == 0 ? 0 : absl::Uint128Max() >> (128 - bits); }

absl::uint128 RandomValue(Random& random) { return absl::MakeUint128(random(), random()); }

PacketKey RandomKey(Random& random) {
  PacketKey key;
  for (size_t i = 0; i < kKeyWords; ++i) key.words()[i] = random();
  return key;
}

PacketKey KeyOf(const PacketBuilder& builder, uint32_t in_port = 7) {
  HeapFrame frame(builder.Build());
  PacketKey key{};
  HeaderLayout layout;
  EXPECT_EQ(Parse(frame.frame(), in_port, key, layout), ParseResult::kOk);
  return key;
}

bool HasRequired(const PacketKey& key, Field field) {
  const FieldLayout& layout = LayoutOf(field);
  uint16_t bits;
  std::memcpy(&bits, reinterpret_cast<const uint8_t*>(&key) + layout.required_offset, sizeof bits);
  return (bits & layout.required) == layout.required;
}

TEST(Field, PutThenGetReturnsTheFieldsBits) {
  Random random(1);
  for (int i = 1; i < kFieldCount; ++i) {
    const int bits = LayoutOf(FieldAt(i)).bits;
    for (int round = 0; round < 100; ++round) {
      PacketKey key = RandomKey(random);
      const absl::uint128 value = RandomValue(random);
      PutField(key, FieldAt(i), value);
      EXPECT_EQ(GetField(key, FieldAt(i)), value & Ones(bits)) << i;
    }
  }
}

TEST(Field, PutChangesNoOtherBit) {
  Random random(2);
  for (int i = 1; i < kFieldCount; ++i) {
    // Over all-zero and all-one keys, the bits that can change are `bits` many.
    for (int fill : {0, 0xff}) {
      PacketKey before;
      std::memset(&before, fill, sizeof before);
      PacketKey after = before;
      PutField(after, FieldAt(i), fill == 0 ? absl::Uint128Max() : 0);
      int changed = 0;
      for (size_t w = 0; w < kKeyWords; ++w) changed += std::popcount(before.words()[w] ^ after.words()[w]);
      EXPECT_EQ(changed, LayoutOf(FieldAt(i)).bits) << i;
    }
    // Writing back what is there changes nothing.
    const PacketKey key = RandomKey(random);
    PacketKey same = key;
    PutField(same, FieldAt(i), GetField(key, FieldAt(i)));
    EXPECT_EQ(same, key) << i;
  }
}

TEST(Field, ReadsWhatAFrameHolds) {
  PacketKey key = KeyOf(PacketBuilder({.src = "02:00:00:00:00:01", .dst = "02:00:00:00:00:02"})
                            .Vlan({.vid = 0xabc, .pcp = 5})
                            .Ipv4({.src = "192.0.2.1", .dst = "198.51.100.7", .tos = 46 << 2 | 1, .ttl = 33})
                            .Tcp({.src = 1234, .dst = 443}),
                        0x01020304);
  EXPECT_EQ(GetField(key, Field::kInPort), 0x01020304);
  EXPECT_EQ(GetField(key, Field::kEthSrc), 0x020000000001);
  EXPECT_EQ(GetField(key, Field::kEthDst), 0x020000000002);
  EXPECT_EQ(GetField(key, Field::kEthType), 0x0800);
  EXPECT_EQ(GetField(key, Field::kVlanPresent), 1);
  EXPECT_EQ(GetField(key, Field::kVlanVid), 0xabc);
  EXPECT_EQ(GetField(key, Field::kVlanPcp), 5);
  EXPECT_EQ(GetField(key, Field::kVlanTci), 0xbabc);
  EXPECT_EQ(GetField(key, Field::kIpv4Src), 0xc0000201);
  EXPECT_EQ(GetField(key, Field::kIpv4Dst), 0xc6336407);
  EXPECT_EQ(GetField(key, Field::kIpProto), 6);
  EXPECT_EQ(GetField(key, Field::kIpDscp), 46);
  EXPECT_EQ(GetField(key, Field::kIpEcn), 1);
  EXPECT_EQ(GetField(key, Field::kIpTtl), 33);
  EXPECT_EQ(GetField(key, Field::kIpFrag), 0);
  EXPECT_EQ(GetField(key, Field::kTcpSrc), 1234);
  EXPECT_EQ(GetField(key, Field::kTcpDst), 443);
  key = KeyOf(PacketBuilder().Ipv4().Tcp({.flags = 0x912}));
  EXPECT_EQ(GetField(key, Field::kTcpFlags), 0x912);
}

TEST(Field, ReadsWhatAFrameOfIpv6Holds) {
  PacketKey key =
      KeyOf(PacketBuilder().Ipv6({.src = "2001:db8::1", .dst = "2001:db8::2"}).Icmpv6({.type = 135, .code = 9}));
  EXPECT_EQ(GetField(key, Field::kIpv6Src), absl::MakeUint128(0x20010db800000000, 1));
  EXPECT_EQ(GetField(key, Field::kIpv6Dst), absl::MakeUint128(0x20010db800000000, 2));
  EXPECT_EQ(GetField(key, Field::kIcmpv6Type), 135);
  EXPECT_EQ(GetField(key, Field::kIcmpv6Code), 9);

  EXPECT_EQ(GetField(key, Field::kIpv6Label), 0);
  key = KeyOf(PacketBuilder()
                  .Vlan({.vid = 1})
                  .Vlan({.vid = 0xabc, .pcp = 5})
                  .Ipv6({.flow_label = 0x54321})
                  .Icmpv6({.type = 136})
                  .Payload(NeighborBody("2001:db8::5", {{1, "0a:0b:0c:0d:0e:0f"}, {2, "1a:1b:1c:1d:1e:1f"}})));
  EXPECT_EQ(GetField(key, Field::kInnerVlanPresent), 1);
  EXPECT_EQ(GetField(key, Field::kInnerVlanVid), 0xabc);
  EXPECT_EQ(GetField(key, Field::kInnerVlanPcp), 5);
  EXPECT_EQ(GetField(key, Field::kInnerVlanTci), 0xbabc);
  EXPECT_EQ(GetField(key, Field::kIpv6Label), 0x54321);
  EXPECT_EQ(GetField(key, Field::kNdTarget), absl::MakeUint128(0x20010db800000000, 5));
  EXPECT_EQ(GetField(key, Field::kNdSll), 0x0a0b0c0d0e0f);
  EXPECT_EQ(GetField(key, Field::kNdTll), 0x1a1b1c1d1e1f);
}

TEST(Field, ReadsWhatAFrameWithoutIpHolds) {
  PacketKey key = KeyOf(PacketBuilder().Mpls({.label = 0xfedcb, .tc = 6, .ttl = 77}).Ipv4());
  EXPECT_EQ(GetField(key, Field::kMplsLabel), 0xfedcb);
  EXPECT_EQ(GetField(key, Field::kMplsTc), 6);
  EXPECT_EQ(GetField(key, Field::kMplsBos), 1);
  EXPECT_EQ(GetField(key, Field::kMplsTtl), 77);

  key = KeyOf(PacketBuilder().Arp({.op = 0x1234, .spa = "192.0.2.3", .tpa = "192.0.2.4"}));
  EXPECT_EQ(GetField(key, Field::kArpOp), 0x1234);
  EXPECT_EQ(GetField(key, Field::kArpSpa), 0xc0000203);
  EXPECT_EQ(GetField(key, Field::kArpTpa), 0xc0000204);
  EXPECT_EQ(GetField(key, Field::kArpSha), 0x02000000000a);
  EXPECT_EQ(GetField(key, Field::kArpTha), 0);
}

TEST(Field, ThePipelinesOwnLieInLineTwo) {
  for (int i = 1; i < kFieldCount; ++i) {
    const FieldLayout& layout = LayoutOf(FieldAt(i));
    EXPECT_EQ(IsPipelineField(FieldAt(i)), layout.offset >= kFirstPipelineWord * sizeof(uint64_t)) << i;
  }
  PacketKey key{};
  PutField(key, Field::kMetadata, 0x0102030405060708);
  PutField(key, Field::kReg7, 0x11223344);
  EXPECT_EQ(key.words()[kFirstPipelineWord], 0x0807060504030201u);
  EXPECT_EQ(key.registers[7], 0x44332211u);
  EXPECT_EQ(GetField(key, Field::kMetadata), 0x0102030405060708);
}

TEST(Field, RequiredBitsSayWhetherAFrameHasTheField) {
  std::set<Field> everywhere = {Field::kInPort,      Field::kEthDst,  Field::kEthSrc,           Field::kEthType,
                                Field::kVlanPresent, Field::kVlanTci, Field::kInnerVlanPresent, Field::kInnerVlanTci};
  for (int i = 1; i < kFieldCount; ++i) {
    if (IsPipelineField(FieldAt(i))) everywhere.insert(FieldAt(i));
  }
  const std::set<Field> tag = {Field::kVlanVid, Field::kVlanPcp};
  const std::set<Field> inner_tag = {Field::kInnerVlanVid, Field::kInnerVlanPcp};
  const std::set<Field> label = {Field::kMplsLabel, Field::kMplsTc, Field::kMplsBos, Field::kMplsTtl};
  const std::set<Field> addresses = {Field::kIpv4Src, Field::kIpv4Dst, Field::kIpv6Src, Field::kIpv6Dst, Field::kArpOp,
                                     Field::kArpSpa,  Field::kArpTpa,  Field::kArpSha,  Field::kArpTha};
  const std::set<Field> ip = {Field::kIpProto, Field::kIpDscp, Field::kIpEcn,
                              Field::kIpTtl,   Field::kIpFrag, Field::kIpv6Label};
  const std::set<Field> transport = {Field::kTcpSrc,     Field::kTcpDst,     Field::kUdpSrc,     Field::kUdpDst,
                                     Field::kSctpSrc,    Field::kSctpDst,    Field::kIcmpv4Type, Field::kIcmpv4Code,
                                     Field::kIcmpv6Type, Field::kIcmpv6Code, Field::kTcpFlags};
  using Fields = std::vector<std::set<Field>>;
  const auto solicitation = [](const std::vector<NeighborOption>& options) {
    return KeyOf(PacketBuilder().Ipv6().Icmpv6({.type = 135}).Payload(NeighborBody("::1", options)));
  };
  const std::vector<std::pair<PacketKey, Fields>> cases = {
      {KeyOf(PacketBuilder().EtherType(0x88b5).Payload("x")), {}},
      {KeyOf(PacketBuilder().Vlan().EtherType(0x88b5).Payload("x")), {tag}},
      {KeyOf(PacketBuilder().Vlan().Vlan().EtherType(0x88b5).Payload("x")), {tag, inner_tag}},
      {KeyOf(PacketBuilder().Mpls().Payload("x")), {label}},
      {KeyOf(PacketBuilder().Arp()), {addresses}},
      {KeyOf(PacketBuilder().Ipv4({.fragment_offset = 1, .protocol = 17}).Payload("12345678")), {addresses, ip}},
      {KeyOf(PacketBuilder().Ipv4().Udp()), {addresses, ip, transport}},
      {solicitation({}), {addresses, ip, transport, {Field::kNdTarget}}},
      {solicitation({{.type = 1}}), {addresses, ip, transport, {Field::kNdTarget, Field::kNdSll}}},
      {solicitation({{.type = 2}}), {addresses, ip, transport, {Field::kNdTarget, Field::kNdTll}}},
  };
  for (const auto& [key, sets] : cases) {
    std::set<Field> fields = everywhere;
    for (const std::set<Field>& more : sets) fields.insert(more.begin(), more.end());
    for (int i = 1; i < kFieldCount; ++i) EXPECT_EQ(HasRequired(key, FieldAt(i)), fields.contains(FieldAt(i))) << i;
  }
}

}  // namespace
}  // namespace sluice
