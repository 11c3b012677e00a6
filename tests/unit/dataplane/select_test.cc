// Which bucket a packet takes.

#include "dataplane/group/select.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "dataplane/flow/match.h"

namespace sluice {
namespace {

constexpr int kFlows = 100'000;

uint32_t Winner(uint64_t hash, const std::map<uint32_t, uint32_t>& weights) {
  uint32_t best = 0;
  float draw = INFINITY;
  for (const auto& [id, weight] : weights) {
    if (const float mine = DrawOf(hash, id, weight); mine < draw) {
      draw = mine;
      best = id;
    }
  }
  return best;
}

// Addresses next to each other, as the least random that traffic brings.
uint64_t HashOfFlow(int i) {
  PacketKey key{};
  key.eth_type = 0x0008;
  key.present = kPresentL3 | kPresentL4 | kPresentIp;
  key.ipv4_src = __builtin_bswap32(0x0a000000u + static_cast<uint32_t>(i));
  key.ipv4_dst = 0x0100a8c0;
  key.ip_proto = 17;
  return SelectHash().Of(key);
}

std::map<uint32_t, int> Shares(const std::map<uint32_t, uint32_t>& weights) {
  std::map<uint32_t, int> shares;
  for (int i = 0; i < kFlows; ++i) ++shares[Winner(HashOfFlow(i), weights)];
  return shares;
}

TEST(SelectTest, SpreadsByWeight) {
  const std::map<uint32_t, uint32_t> weights = {{0, 10}, {1, 20}, {2, 30}, {7, 40}};
  std::map<uint32_t, int> shares = Shares(weights);
  for (const auto& [id, weight] : weights) {
    const double expected = kFlows * weight / 100.0;
    // Five standard deviations.
    EXPECT_NEAR(shares[id], expected, 5 * std::sqrt(expected * (1 - weight / 100.0))) << id;
  }
}

TEST(SelectTest, OnlyTheFlowsOfABucketThatGoesMove) {
  const std::map<uint32_t, uint32_t> before = {{0, 10}, {1, 20}, {2, 30}, {3, 40}}, after = {{0, 10}, {2, 30}, {3, 40}};
  for (int i = 0; i < kFlows; ++i) {
    const uint32_t was = Winner(HashOfFlow(i), before);
    if (was != 1) {
      ASSERT_EQ(Winner(HashOfFlow(i), after), was) << i;
    }
  }
}

TEST(SelectTest, AnotherWeightMovesFlowsToOrFromThatBucketOnly) {
  const std::map<uint32_t, uint32_t> before = {{0, 10}, {1, 10}, {2, 10}}, after = {{0, 10}, {1, 30}, {2, 10}};
  int moved = 0;
  for (int i = 0; i < kFlows; ++i) {
    const uint32_t was = Winner(HashOfFlow(i), before), is = Winner(HashOfFlow(i), after);
    moved += was != is;
    if (was != is) {
      ASSERT_EQ(is, 1u);
    }
  }
  EXPECT_NEAR(moved, kFlows * (3.0 / 5 - 1.0 / 3), kFlows * 0.01);
}

TEST(SelectTest, FragmentsOfADatagramStayTogether) {
  PacketKey first{};
  first.eth_type = 0x0008;
  first.present = kPresentL3 | kPresentL4 | kPresentIp;
  first.ipv4_src = 1;
  first.ip_proto = 17;
  first.l4_dst = 53;
  first.ip_frag = kFragAny;
  PacketKey later = first;
  later.present = kPresentL3 | kPresentIp;
  later.l4_dst = 0;
  later.ip_frag = kFragAny | kFragLater;
  EXPECT_EQ(SelectHash().Of(first), SelectHash().Of(later));
  PacketKey other = first;
  other.ip_frag = 0;
  const uint64_t whole = SelectHash().Of(other);
  other.l4_dst = 54;
  EXPECT_NE(SelectHash().Of(other), whole);
}

TEST(SelectTest, ChosenFieldsAloneDecide) {
  const std::vector<Field> fields = {Field::kIpv4Dst};
  const SelectHash hash(fields);
  PacketKey a{};
  a.eth_type = 0x0008;
  a.present = kPresentL3;
  a.ipv4_dst = 7;
  PacketKey b = a;
  b.ipv4_src = 9;
  EXPECT_EQ(hash.Of(a), hash.Of(b));
  EXPECT_NE(SelectHash().Of(a), SelectHash().Of(b));
  b.ipv4_dst = 8;
  EXPECT_NE(hash.Of(a), hash.Of(b));
}

}  // namespace
}  // namespace sluice
