#include "dataplane/packet/neighbor.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/packet/parsed.h"
#include "tests/unit/packet/subject.h"

namespace sluice {
namespace {

struct NeighborCase {
  const char* what;
  uint8_t type;
  uint8_t code;
  Bytes body;
  uint16_t present;  // of neighbour discovery
  uint64_t source = 0;
  uint64_t target = 0;
};

Bytes Body(const std::vector<NeighborOption>& options) { return NeighborBody("fe80::beef", options); }

// With one option, the first bytes.
Bytes Cut(size_t size) {
  Bytes bytes = Body({{}});
  bytes.resize(size);
  return bytes;
}

std::vector<NeighborCase> Cases() {
  constexpr uint16_t kNd = kPresentNd, kSource = kPresentNdSource, kTarget = kPresentNdTarget;
  const char* const one = "02:00:00:00:00:01";
  const char* const two = "02:00:00:00:00:02";
  const char* const zero = "00:00:00:00:00:00";
  return {
      {"a solicitation", 135, 0, Body({{1, one}}), kNd | kSource, 0x020000000001},
      {"an advertisement", 136, 0, Body({{2, two}}), kNd | kTarget, 0, 0x020000000002},
      {"both addresses", 136, 0, Body({{2, two}, {1, one}}), kNd | kSource | kTarget, 0x020000000001, 0x020000000002},
      {"no option", 135, 0, Body({}), kNd},
      {"an address of zeros is one", 135, 0, Body({{1, zero}}), kNd | kSource},
      {"another option before", 135, 0, Body({{14, two}, {1, one}}), kNd | kSource, 0x020000000001},
      {"one address twice", 135, 0, Body({{1, one}, {1, one}}), 0},
      {"two addresses of a kind", 136, 0, Body({{2, one}, {14, one}, {2, zero}}), 0},
      {"the second where the first is zero", 135, 0, Body({{1, zero}, {1, one}}), kNd | kSource, 0x020000000001},
      {"length 0 ends the walk", 135, 0, Body({{1, one}, {14, two, 0}, {2, two}}), kNd | kSource, 0x020000000001},
      {"so does one past the end", 135, 0, Body({{1, one}, {14, two, 3}, {2, two}}), kNd | kSource, 0x020000000001},
      {"an address option of 16 bytes", 135, 0, Body({{1, one, 2}, {14, two}}), kNd},
      {"an option cut short", 135, 0, Cut(23), kNd},
      {"no room for the target", 135, 0, Cut(15), 0},
      {"code 1", 135, 1, Body({{1, one}}), 0},
      {"a router solicitation", 133, 0, Body({{1, one}}), 0},
  };
}

TEST(Neighbor, IsFoundAsOpenVswitchFindsIt) {
  for (const NeighborCase& c : Cases()) {
    SCOPED_TRACE(c.what);
    const Parsed parsed = ParseFrame(
        PacketBuilder().Ipv6().HopByHop().Icmpv6({.type = c.type, .code = c.code}).Payload(c.body).PadTo(150, 1));
    EXPECT_EQ(parsed.result, kOk);
    EXPECT_EQ(parsed.key.present, kAll | c.present);
    EXPECT_EQ(parsed.layout.nd, c.present != 0);
    EXPECT_EQ(GetField(parsed.key, Field::kNdSll), c.source);
    EXPECT_EQ(GetField(parsed.key, Field::kNdTll), c.target);
    const Bytes target(parsed.key.nd_target, parsed.key.nd_target + 16);
    EXPECT_EQ(target, c.present != 0 ? Ipv6Bytes("fe80::beef") : Bytes(16));
  }
  EXPECT_EQ(ParseFrame(PacketBuilder().Ipv4({.protocol = 58}).Icmpv6({.type = 135}).Payload(Body({}))).key.present,
            kIp);
}

TEST(RewriteNeighbor, WritesTheOptionThatCounts) {
  const auto frame = [](const char* first, const char* second) {
    return PacketBuilder()
        .Ipv6()
        .HopByHop()
        .Icmpv6({.type = 135})
        .Payload(NeighborBody("fe80::1", {{.type = 14}, {.address = first}, {.address = second}}))
        .Build();
  };
  const absl::uint128 address = 0x0a0b0c0d0e0f;
  EXPECT_EQ(Subject(frame("00:00:00:00:00:00", "02:00:00:00:00:01")).Set(Field::kNdSll, address).bytes(),
            frame("00:00:00:00:00:00", "0a:0b:0c:0d:0e:0f"));
  const Bytes twice = frame("02:00:00:00:00:01", "02:00:00:00:00:02");
  EXPECT_EQ(Subject(twice).Set(Field::kNdSll, address).Set(Field::kNdTarget, 1).bytes(), twice);
}

TEST(RewriteNeighbor, IsOnlyWhatParsingFound) {
  const auto frame = [](uint8_t type, const char* target) {
    return PacketBuilder().Ipv6().Icmpv6({.type = type}).Payload(NeighborBody(target, {{}})).Build();
  };
  EXPECT_EQ(Subject(frame(128, "fe80::1")).Set(Field::kIcmpv6Type, 135).Set(Field::kNdTarget, 7).bytes(),
            frame(135, "fe80::1"));
  EXPECT_EQ(Subject(frame(135, "fe80::1")).Set(Field::kIcmpv6Type, 128).Set(Field::kNdTarget, 7).bytes(),
            frame(128, "fe80::1"));
  EXPECT_EQ(Subject(frame(135, "fe80::1")).Set(Field::kIcmpv6Type, 136).Set(Field::kNdTarget, 7).bytes(),
            frame(136, "::7"));
}

}  // namespace
}  // namespace sluice
