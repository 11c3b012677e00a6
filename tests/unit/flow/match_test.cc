#include "dataplane/flow/match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

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

Match RangeMatch(Field field, uint16_t first, uint16_t last) {
  Match match;
  MatchOnRange(match, field, {first, last});
  return match;
}

TEST(MatchTest, RangesHaveBothTheirEnds) {
  const Match range = RangeMatch(Field::kTcpDst, 1000, 2000);
  for (const auto& [port, matches] : {std::pair{999, false}, {1000, true}, {1500, true}, {2000, true}, {2001, false}}) {
    EXPECT_EQ(Matches(range, KeyOf({{Field::kTcpDst, port}})), matches) << port;
    EXPECT_FALSE(Matches(range, KeyOf({{Field::kTcpSrc, port}}))) << port;
  }
  PacketKey fragment = KeyOf({{Field::kTcpDst, 1500}});
  fragment.present = 0;
  EXPECT_FALSE(Matches(range, fragment)) << "it has no ports";
}

TEST(MatchTest, ARangeThatAMaskCanSayIsTheMask) {
  EXPECT_EQ(RangeMatch(Field::kUdpSrc, 80, 80), MatchOf({{Field::kUdpSrc, 80}}));
  EXPECT_EQ(RangeMatch(Field::kUdpDst, 0, 0), MatchOf({{Field::kUdpDst, 0}}));
  EXPECT_EQ(RangeMatch(Field::kUdpDst, 1024, 2047), MatchOf({{Field::kUdpDst, 0x400, 0xfc00}}));
  EXPECT_EQ(RangeMatch(Field::kUdpDst, 0x8000, 0xffff), MatchOf({{Field::kUdpDst, 0x8000, 0x8000}}));
  EXPECT_EQ(RangeMatch(Field::kUdpDst, 0, 0xffff), Match{});
  EXPECT_FALSE(HasRanges(RangeMatch(Field::kUdpDst, 6, 7).mask));
  EXPECT_TRUE(HasRanges(RangeMatch(Field::kUdpDst, 7, 8).mask));
}

TEST(MatchTest, RangesAreOfTheIdentity) {
  const Match a = RangeMatch(Field::kUdpSrc, 5, 10);
  EXPECT_EQ(a.mask, RangeMatch(Field::kUdpSrc, 5, 11).mask);
  EXPECT_FALSE(a == RangeMatch(Field::kUdpSrc, 5, 11));
  EXPECT_FALSE(a.mask == RangeMatch(Field::kUdpDst, 5, 10).mask) << "flows of a mask have ranges of the same ports";
}

TEST(MatchTest, ARangedPortIsLookedAtWhole) {
  const PacketKey looked_at = LookedAt(RangeMatch(Field::kUdpSrc, 5, 10).mask);
  EXPECT_EQ(looked_at.l4_src, 0xffff);
  EXPECT_EQ(looked_at.l4_dst, 0);
  EXPECT_TRUE((looked_at.present & kPresentL4) != 0);
  EXPECT_EQ(LookedAt(MatchOf({{Field::kUdpDst, 1, 1}}).mask), MatchOf({{Field::kUdpDst, 1, 1}}).mask);
}

// A range, bits under any mask, one port or no condition, of a port below `end`
// if there is one.
void AddPort(std::mt19937& random, Field field, uint32_t end, Match& match) {
  const auto port = [&] { return static_cast<uint16_t>(random() % end); };
  const uint16_t a = port();
  const uint16_t b = random() % 2 == 0 ? port() : static_cast<uint16_t>(std::min<uint64_t>(end - 1, a + random() % 20));
  switch (random() % 4) {
    case 0:
      return MatchOn(match, field, a, 0xffff);
    case 1:
      return MatchOn(match, field, a, random() % 2 == 0 ? port() : 0x10000 - (1u << random() % 16));
    case 2:
      return MatchOnRange(match, field, {std::min(a, b), std::max(a, b)});
    default:
      return;
  }
}

struct Meaning {
  bool overlap = false;
  bool within = true;

  void Add(const Match& a, const Match& b, const PacketKey& key) {
    const bool in_a = Matches(a, key), in_b = Matches(b, key);
    overlap |= in_a && in_b;
    within &= !in_a || in_b;
  }
};

TEST(MatchTest, RangesOverlapAndAreWithinAsAllPortsSay) {
  std::mt19937 random(2);
  std::array<int, 4> seen{};
  for (int round = 0; round < 400; ++round) {
    Match a, b;
    AddPort(random, Field::kTcpDst, 65536, a);
    AddPort(random, Field::kTcpDst, 65536, b);
    Meaning meaning;
    PacketKey key = KeyOf({{Field::kTcpDst, 0}});
    for (uint32_t port = 0; port < 65536; ++port) {
      PutField(key, Field::kTcpDst, port);
      meaning.Add(a, b, key);
    }
    meaning.Add(a, b, PacketKey{});
    ASSERT_EQ(Overlap(a, b), meaning.overlap) << round;
    ASSERT_EQ(IsWithin(a, b), meaning.within) << round;
    ++seen[meaning.overlap + 2 * meaning.within];
  }
  for (const int outcome : {0, 1, 3}) EXPECT_GT(seen[outcome], 20);
}

TEST(MatchTest, BothPortsCount) {
  constexpr uint32_t kEnd = 20;
  std::mt19937 random(3);
  std::vector<uint32_t> ports;
  // The lowest and the highest, and what tells prefixes apart.
  for (uint32_t port = 0; port < 32; ++port) ports.insert(ports.end(), {port, 0xffe0 + port});
  for (uint32_t bit = 5; bit < 16; ++bit) ports.push_back(1u << bit);
  for (int round = 0; round < 2000; ++round) {
    Match a, b;
    for (const Field field : {Field::kUdpSrc, Field::kUdpDst}) {
      AddPort(random, field, kEnd, a);
      AddPort(random, field, kEnd, b);
    }
    Meaning meaning;
    meaning.Add(a, b, PacketKey{});
    PacketKey key = KeyOf({{Field::kUdpSrc, 0}});
    for (const uint32_t source : ports) {
      for (const uint32_t destination : ports) {
        PutField(key, Field::kUdpSrc, source);
        PutField(key, Field::kUdpDst, destination);
        meaning.Add(a, b, key);
      }
    }
    ASSERT_EQ(Overlap(a, b), meaning.overlap) << round;
    ASSERT_EQ(IsWithin(a, b), meaning.within) << round;
  }
}

}  // namespace
}  // namespace sluice
