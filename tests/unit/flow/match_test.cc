#include "dataplane/flow/match.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

TEST(MatchTest, MatchesPacketsWithTheValueUnderTheMask) {
  const Match net = MatchOf({{Field::kIpv4Dst, 0x0a010000, 0xffff0000}});
  EXPECT_TRUE(Matches(net, KeyOf({{Field::kIpv4Dst, 0x0a01ffff}})));
  EXPECT_FALSE(Matches(net, KeyOf({{Field::kIpv4Dst, 0x0a02ffff}})));
  EXPECT_TRUE(Matches(Match{}, KeyOf({{Field::kIpv4Dst, 0x0a02ffff}})));
}

TEST(MatchTest, DemandsThatTheFieldIsThere) {
  const PacketKey without_ports = KeyOf({{Field::kIpv4Dst, 0x0a000001}});
  EXPECT_FALSE(Matches(MatchOf({{Field::kUdpDst, 0}}), without_ports));
  EXPECT_FALSE(Matches(MatchOf({{Field::kUdpDst, 0, 1}}), without_ports));
  EXPECT_TRUE(Matches(MatchOf({{Field::kUdpDst, 0}}), KeyOf({{Field::kUdpDst, 0}})));
  EXPECT_FALSE(Matches(MatchOf({{Field::kVlanVid, 0}}), without_ports));
}

TEST(MatchTest, IsCanonical) {
  Match match;
  MatchOn(match, Field::kIpv4Src, 0x0a0b0c0d, 0xff000000);
  EXPECT_EQ(match, MatchOf({{Field::kIpv4Src, 0x0a000000, 0xff000000}}));
}

TEST(MatchTest, AddsBitsToThoseOfTheSameField) {
  Match match;
  MatchOn(match, Field::kEthDst, 0x010000000000, 0x010000000000);
  MatchOn(match, Field::kEthDst, 0x000000000005, 0x0000000000ff);
  EXPECT_EQ(match, MatchOf({{Field::kEthDst, 0x010000000005, 0x0100000000ff}}));
}

TEST(MatchTest, AMaskWithoutABitAddsNothing) {
  Match match;
  MatchOn(match, Field::kUdpDst, 53, 0);
  MatchOn(match, Field::kVlanPcp, 0, 8);  // beyond the field's three bits
  EXPECT_EQ(match, Match{});
}

TEST(MatchTest, IsWithinComparesBitsAndValues) {
  const Match net = MatchOf({{Field::kIpv4Dst, 0x0a000000, 0xff000000}});
  const Match host = MatchOf({{Field::kIpv4Dst, 0x0a000001}, {Field::kInPort, 1}});
  const Match elsewhere = MatchOf({{Field::kIpv4Dst, 0x0b000001}});
  EXPECT_TRUE(IsWithin(host, net));
  EXPECT_TRUE(IsWithin(net, net));
  EXPECT_TRUE(IsWithin(host, Match{}));
  EXPECT_FALSE(IsWithin(net, host));
  EXPECT_FALSE(IsWithin(elsewhere, net));
}

// Against their meaning, over all packets of a small world.
TEST(MatchTest, OverlapAndIsWithinMeanWhatPacketsSay) {
  std::mt19937 random(1);
  const auto narrow = [&random] {
    Match match;
    for (const Field field : {Field::kInPort, Field::kEthType, Field::kEthDst}) {
      MatchOn(match, field, random() % 4, random() % 4);
    }
    return match;
  };
  std::vector<PacketKey> world;
  for (uint32_t i = 0; i < 64; ++i) {
    world.push_back(KeyOf({{Field::kInPort, i % 4}, {Field::kEthType, i / 4 % 4}, {Field::kEthDst, i / 16}}));
  }
  for (int round = 0; round < 2000; ++round) {
    const Match a = narrow();
    const Match b = narrow();
    bool overlap = false;
    bool within = true;
    for (const PacketKey& key : world) {
      overlap |= Matches(a, key) && Matches(b, key);
      within &= !Matches(a, key) || Matches(b, key);
    }
    EXPECT_EQ(Overlap(a, b), overlap);
    EXPECT_EQ(IsWithin(a, b), within);
  }
}

}  // namespace
}  // namespace sluice
