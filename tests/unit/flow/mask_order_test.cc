// The order in which masks are tried, and the hints of the mask cache.

#include <gtest/gtest.h>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

// Flows of one priority and disjoint, each of a mask of its own.
FlowSpec Disjoint(uint32_t i) {
  return Spec(7, MatchOf({{Field::kInPort, i}, {Field::kEthSrc, 0, uint64_t{1} << i}}), i + 1);
}

class MaskOrderTest : public FlowTest {
 protected:
  static constexpr uint32_t kMasks = 10;

  MaskOrderTest() {
    for (uint32_t i = 0; i < kMasks; ++i) Add(Disjoint(i));
  }
  uint64_t Visited(uint32_t i) {
    const uint64_t before = table.Tables()[0].masks_visited;
    EXPECT_EQ(PortOf(Find(Disjoint(i).match.value)), i + 1);
    return table.Tables()[0].masks_visited - before;
  }
};

TEST_F(MaskOrderTest, AnyOfEqualsPutsUsedMasksFirst) {
  table.SetOptions({.pruning = false, .equal_priority = EqualPriority::kAny});
  for (int k = 0; k < 5; ++k) Visited(9);
  Visited(4);
  table.Resort();
  EXPECT_EQ(Visited(9), 1u);
  EXPECT_EQ(Visited(4), 2u);
  EXPECT_EQ(Visited(4), 2u);
  EXPECT_EQ(Visited(4), 2u);
  table.Resort();  // what was used before the last time is no merit
  EXPECT_EQ(Visited(4), 1u);
}

TEST_F(MaskOrderTest, PriorityComesBeforeUse) {
  table.SetOptions({.pruning = false, .equal_priority = EqualPriority::kAny});
  for (int k = 0; k < 5; ++k) Visited(9);
  FlowSpec above = Disjoint(9);
  above.priority = 8;
  above.match = MatchOf({{Field::kInPort, 9}});
  above.actions = Output(99);
  Add(above);
  table.Resort();
  EXPECT_EQ(PortOf(Find(Disjoint(9).match.value)), 99u);
  EXPECT_EQ(Visited(3) > 1, true);
}

// By bound a packet is tried under the fewest masks there are to be exact.
TEST_F(MaskOrderTest, TheOldestWinsWhateverIsUsed) {
  table.SetOptions({.pruning = false});
  for (int k = 0; k < 5; ++k) Visited(9);
  table.Resort();
  EXPECT_EQ(Visited(9), 10u);
  EXPECT_EQ(Visited(0), 1u);
}

TEST_F(MaskOrderTest, AHintIsTriedFirst) {
  table.SetOptions({.pruning = false, .equal_priority = EqualPriority::kAny, .mask_cache_entries = 100});
  EXPECT_EQ(Visited(9), 10u);
  EXPECT_EQ(table.Tables()[0].mask_cache_hits, 0u);
  EXPECT_EQ(Visited(9), 1u);
  EXPECT_EQ(table.Tables()[0].mask_cache_hits, 1u);
}

TEST_F(MaskOrderTest, AWrongHintIsCorrected) {
  table.SetOptions({.pruning = false, .equal_priority = EqualPriority::kAny, .mask_cache_entries = 100});
  Visited(9);
  WriteOne(DeleteFlow{IdentityOf(Disjoint(0))});
  EXPECT_EQ(Visited(9), 9u);  // the hint leads behind the last
  EXPECT_EQ(Visited(9), 1u);
}

TEST_F(MaskOrderTest, AHintDoesNotHideAnOlderFlow) {
  table.SetOptions({.pruning = false, .mask_cache_entries = 100});
  const uint64_t first = Visited(9);
  EXPECT_EQ(first, 10u);
  const PacketKey key = Disjoint(9).match.value;
  Add(Spec(9, MatchOf({{Field::kInPort, 9}}), 50));
  EXPECT_EQ(PortOf(Find(key)), 50u);
}

TEST_F(MaskOrderTest, OptionsAreToldAsTheyWereSet) {
  table.SetOptions({.pruning = false, .mask_cache_entries = 5, .resort_period = absl::Seconds(1)});
  EXPECT_FALSE(table.options().pruning);
  EXPECT_EQ(table.options().mask_cache_entries, 5u);
  EXPECT_EQ(table.options().resort_period, absl::Seconds(1));
}

TEST_F(MaskOrderTest, HousekeepingResortsWhenItIsTime) {
  table.SetOptions({.pruning = false, .equal_priority = EqualPriority::kAny, .resort_period = absl::Nanoseconds(1)});
  Visited(9);
  table.Housekeep();
  EXPECT_EQ(Visited(9), 1u);
  table.SetOptions({.pruning = false, .equal_priority = EqualPriority::kAny, .resort_period = absl::ZeroDuration()});
  for (int k = 0; k < 5; ++k) Visited(4);
  table.Housekeep();
  EXPECT_GT(Visited(4), 1u);
}

}  // namespace
}  // namespace sluice
