#include "dataplane/packet/field.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

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
  PacketKey key;
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

  key = KeyOf(PacketBuilder().Ipv6({.src = "2001:db8::1", .dst = "2001:db8::2"}).Icmpv6({.type = 135, .code = 9}));
  EXPECT_EQ(GetField(key, Field::kIpv6Src), absl::MakeUint128(0x20010db800000000, 1));
  EXPECT_EQ(GetField(key, Field::kIpv6Dst), absl::MakeUint128(0x20010db800000000, 2));
  EXPECT_EQ(GetField(key, Field::kIcmpv6Type), 135);
  EXPECT_EQ(GetField(key, Field::kIcmpv6Code), 9);

  key = KeyOf(PacketBuilder().Arp({.op = 0x1234, .spa = "192.0.2.3", .tpa = "192.0.2.4"}));
  EXPECT_EQ(GetField(key, Field::kArpOp), 0x1234);
  EXPECT_EQ(GetField(key, Field::kArpSpa), 0xc0000203);
  EXPECT_EQ(GetField(key, Field::kArpTpa), 0xc0000204);
}

TEST(Field, RequiredBitsSayWhetherAFrameHasTheField) {
  const std::set<Field> everywhere = {Field::kInPort,  Field::kEthDst,      Field::kEthSrc,
                                      Field::kEthType, Field::kVlanPresent, Field::kVlanTci};
  const std::set<Field> tag = {Field::kVlanVid, Field::kVlanPcp};
  const std::set<Field> addresses = {Field::kIpv4Src, Field::kIpv4Dst, Field::kIpv6Src, Field::kIpv6Dst,
                                     Field::kArpOp,   Field::kArpSpa,  Field::kArpTpa};
  const std::set<Field> ip = {Field::kIpProto, Field::kIpDscp, Field::kIpEcn, Field::kIpTtl, Field::kIpFrag};
  const PacketKey none = KeyOf(PacketBuilder().EtherType(0x88b5).Payload("x"));
  const PacketKey tagged = KeyOf(PacketBuilder().Vlan().EtherType(0x88b5).Payload("x"));
  const PacketKey arp = KeyOf(PacketBuilder().Arp());
  const PacketKey later = KeyOf(PacketBuilder().Ipv4({.fragment_offset = 1, .protocol = 17}).Payload("12345678"));
  const PacketKey udp = KeyOf(PacketBuilder().Ipv4().Udp());
  for (int i = 1; i < kFieldCount; ++i) {
    const Field field = FieldAt(i);
    EXPECT_EQ(HasRequired(none, field), everywhere.contains(field)) << i;
    EXPECT_EQ(HasRequired(tagged, field), everywhere.contains(field) || tag.contains(field)) << i;
    EXPECT_EQ(HasRequired(arp, field), everywhere.contains(field) || addresses.contains(field)) << i;
    EXPECT_EQ(HasRequired(later, field), everywhere.contains(field) || addresses.contains(field) || ip.contains(field));
    EXPECT_EQ(HasRequired(udp, field), !tag.contains(field)) << i;
  }
}

}  // namespace
}  // namespace sluice
