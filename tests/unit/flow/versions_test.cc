// What a worker sees that stays with its version while tables change: the test
// is worker 0, and no grace period ends before it says so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

using testing::SizeIs;

// Matches all three.
const PacketKey kKey = KeyOf({{Field::kInPort, 1}, {Field::kIpv4Dst, 0x0a000001}, {Field::kUdpDst, 53}});

class VersionsTest : public FlowTest {
 protected:
  VersionsTest() { reclaimer.Online(0); }
  ~VersionsTest() override { reclaimer.Offline(0); }

  uint64_t Now() { return table.classifier().version(); }
  uint32_t PortAt(uint64_t version, const PacketKey& key = kKey) { return PortOf(Find(key, version)); }
  // All that was removed is gone.
  void PassGrace() {
    reclaimer.Offline(0);
    reclaimer.Flush();
    reclaimer.Online(0);
  }
  static FlowIdentity Identity(uint16_t priority, const Match& match) { return {0, priority, match}; }
};

TEST_F(VersionsTest, AVersionStaysAsItWas) {
  WriteLater({Create(Spec(5, kPort1, 1))});
  const uint64_t first = Now();
  WriteLater({UpdateFlow{.key = Identity(5, kPort1), .actions = Output(2)}});
  const uint64_t second = Now();
  auto removed = WriteLater({DeleteFlow{Identity(5, kPort1)}});
  const uint64_t third = Now();
  WriteLater({Create(Spec(5, kPort1, 4))});
  EXPECT_EQ(PortAt(first - 1), 0u);
  EXPECT_EQ(PortAt(first), 1u);
  EXPECT_EQ(PortAt(second), 2u);
  EXPECT_EQ(PortAt(third), 0u);
  EXPECT_EQ(PortAt(Now()), 4u);
  EXPECT_EQ(removed.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout)
      << "the worker has not passed";
  PassGrace();
  EXPECT_TRUE(removed.get()[0].status.ok());
  EXPECT_EQ(PortAt(Now()), 4u);
}

TEST_F(VersionsTest, ABatchIsOneVersion) {
  WriteLater({Create(Spec(5, kPort1, 1)), Create(Spec(9, kUdp, 2))});
  const uint64_t before = Now();
  WriteLater({DeleteFlow{Identity(9, kUdp)}, Create(Spec(9, kNet10, 3)),
              UpdateFlow{.key = Identity(5, kPort1), .actions = Output(4)}},
             BatchMode::kAllOrNothing);
  EXPECT_EQ(Now(), before + 1);
  EXPECT_EQ(PortAt(before), 2u);
  EXPECT_EQ(PortAt(before, KeyOf({{Field::kInPort, 1}})), 1u);
  EXPECT_EQ(PortAt(before + 1), 3u);
  EXPECT_EQ(PortAt(before + 1, KeyOf({{Field::kInPort, 1}})), 4u);
}

// Bounds rise before the version that needs them, so that neither the old nor
// the new version stops early.
TEST_F(VersionsTest, BoundsRiseBeforeTheirVersion) {
  WriteLater({Create(Spec(5, kPort1, 1)), Create(Spec(4, kNet10, 2)), Create(Spec(3, kUdp, 3))});
  const uint64_t before = Now();
  EXPECT_EQ(PortAt(before), 1u);
  WriteLater({Create(Spec(9, kUdp, 4))});
  EXPECT_EQ(PortAt(before), 1u);
  EXPECT_EQ(PortAt(Now()), 4u);
}

// While a worker may see the old version the removed flow's mask stays in its
// place; afterwards it stands where its other flows belong.
TEST_F(VersionsTest, BoundsFallOnlyAfterGrace) {
  WriteLater({Create(Spec(5, kPort1, 1)), Create(Spec(9, kUdp, 2)), Create(Spec(1, kUdp, 3))});
  const uint64_t before = Now();
  WriteLater({DeleteFlow{Identity(9, kUdp)}});
  ASSERT_THAT(table.Masks(0), SizeIs(2));
  EXPECT_EQ(table.Masks(0)[0].mask, kUdp.mask);
  EXPECT_EQ(PortAt(before), 2u);
  EXPECT_EQ(PortAt(Now()), 1u);
  PassGrace();
  EXPECT_EQ(table.Masks(0)[0].mask, kPort1.mask);
  EXPECT_EQ(table.Masks(0)[1].max_priority, 1);
  const uint64_t visited = table.Tables()[0].masks_visited;
  EXPECT_EQ(PortAt(Now()), 1u);
  EXPECT_EQ(table.Tables()[0].masks_visited - visited, 1u);
}

// At equal priority age decides, and so it does for bounds.
TEST_F(VersionsTest, BoundsFollowAge) {
  WriteLater(
      {Create(Spec(5, kUdp, 1)), Create(Spec(5, kPort1, 2)), Create(Spec(5, MatchOf({{Field::kUdpDst, 54}}), 3))});
  EXPECT_EQ(PortAt(Now()), 1u);
  EXPECT_EQ(table.Masks(0)[0].mask, kUdp.mask);
  WriteLater({DeleteFlow{Identity(5, kUdp)}});
  PassGrace();
  EXPECT_EQ(PortAt(Now()), 2u);
  EXPECT_EQ(table.Masks(0)[0].mask, kPort1.mask);
}

TEST_F(VersionsTest, AnEmptiedMaskLeavesAfterGrace) {
  WriteLater({Create(Spec(5, kPort1, 1)), Create(Spec(9, kUdp, 2))});
  const uint64_t before = Now();
  WriteLater({DeleteFlow{Identity(9, kUdp)}});
  EXPECT_THAT(table.Masks(0), SizeIs(1));
  EXPECT_EQ(table.Tables()[0].mask_count, 1u);
  EXPECT_EQ(PortAt(before), 2u);
  EXPECT_EQ(PortAt(Now()), 1u);
  const uint64_t visited = table.Tables()[0].masks_visited;
  PortAt(Now());
  EXPECT_EQ(table.Tables()[0].masks_visited - visited, 2u) << "still in the array";
  PassGrace();
  PortAt(Now());
  EXPECT_EQ(table.Tables()[0].masks_visited - visited, 3u) << "no longer";
}

TEST_F(VersionsTest, AnEmptiedMaskMayBeUsedAgainBeforeItLeaves) {
  WriteLater({Create(Spec(9, kUdp, 1))});
  const uint64_t first = Now();
  WriteLater({DeleteFlow{Identity(9, kUdp)}});
  WriteLater({Create(Spec(7, kUdp, 2))});
  const uint64_t second = Now();
  WriteLater({DeleteFlow{Identity(7, kUdp)}, Create(Spec(7, kUdp, 3)), DeleteFlow{Identity(7, kUdp)},
              Create(Spec(6, kUdp, 4))});
  EXPECT_EQ(PortAt(first), 1u);
  EXPECT_EQ(PortAt(second), 2u);
  EXPECT_EQ(PortAt(Now()), 4u);
  PassGrace();
  EXPECT_EQ(PortAt(Now()), 4u);
  EXPECT_EQ(table.Masks(0)[0].max_priority, 6);
  WriteLater({DeleteFlow{Identity(6, kUdp)}});
  PassGrace();
  EXPECT_THAT(table.Masks(0), SizeIs(0));
}

TEST_F(VersionsTest, AMaskedKeyMayBeAddedAgainBeforeItsReclamation) {
  constexpr uint32_t kRounds = 50;
  std::vector<uint64_t> versions;
  std::vector<std::future<std::vector<FlowChangeResult>>> removed;
  for (uint32_t i = 1; i <= kRounds; ++i) {
    WriteLater({Create(Spec(5, kPort1, i))});
    versions.push_back(Now());
    removed.push_back(WriteLater({DeleteFlow{Identity(5, kPort1)}}));
  }
  for (uint32_t i = 0; i < kRounds; ++i) {
    EXPECT_EQ(PortAt(versions[i]), i + 1);
    EXPECT_EQ(PortAt(versions[i] + 1), 0u);
  }
  PassGrace();
  std::set<uint64_t> ids;
  for (auto& results : removed) ids.insert(results.get()[0].flow.id);
  EXPECT_EQ(ids.size(), kRounds);
  EXPECT_EQ(PortAt(Now()), 0u);
}

TEST_F(VersionsTest, TheTableGrowsAndShrinksUnderAWorker) {
  constexpr uint32_t kFlows = 3000;
  std::vector<FlowChange> creates;
  std::vector<FlowChange> deletes;
  for (uint32_t i = 0; i < kFlows; ++i) {
    creates.push_back(Create(Spec(5, ToHost(i), i + 1)));
    deletes.push_back(DeleteFlow{Identity(5, ToHost(i))});
  }
  const std::vector<FlowChange> half(creates.begin(), creates.begin() + kFlows / 2);
  WriteLater(half);
  const uint64_t half_full = Now();
  WriteLater({creates.begin() + kFlows / 2, creates.end()});
  const uint64_t full = Now();
  WriteLater(deletes);
  for (const bool after_grace : {false, true}) {
    for (uint32_t i = 0; i < kFlows; i += 7) {
      const PacketKey key = ToHost(i).value;
      if (!after_grace) {
        ASSERT_EQ(PortAt(half_full, key), i < kFlows / 2 ? i + 1 : 0);
        ASSERT_EQ(PortAt(full, key), i + 1);
      }
      ASSERT_EQ(PortAt(Now(), key), 0u);
    }
    PassGrace();
  }
  WriteLater(half);
  for (uint32_t i = 0; i < kFlows; i += 7) ASSERT_EQ(PortAt(Now(), ToHost(i).value), i < kFlows / 2 ? i + 1 : 0);
}

// What a worker holds stays readable until it is quiescent.
TEST_F(VersionsTest, AnEntryOutlivesItsRemoval) {
  WriteLater({Create(Spec(5, kPort1, 1))});
  const ClassifierEntry* entry = Find(kKey, Now());
  auto removed = WriteLater({DeleteFlow{Identity(5, kPort1)}});
  EXPECT_EQ(removed.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_EQ(PortOf(entry), 1u);
  entry->Count(0, 3, 333, 1);
  PassGrace();
  EXPECT_EQ(removed.get()[0].flow.stats.packets, 3u);
}

TEST_F(VersionsTest, DeletesArePipelined) {
  std::vector<std::future<std::vector<FlowChangeResult>>> removed;
  for (uint32_t i = 0; i < 500; ++i) {
    WriteLater({Create(Spec(5, ToHost(i), 1))});
    Find(ToHost(i).value, Now())->Count(0, i, 10 * i, 1);
    removed.push_back(WriteLater({DeleteFlow{Identity(5, ToHost(i))}}));
  }
  EXPECT_EQ(table.size(), 0u);
  PassGrace();
  for (uint32_t i = 0; i < 500; ++i) EXPECT_EQ(removed[i].get()[0].flow.stats.packets, i);
}

TEST_F(VersionsTest, DeleteMatchingIsOneInstant) {
  for (uint32_t i = 0; i < 100; ++i) WriteLater({Create(Spec(5, ToHost(i), 1)), Create(Spec(4, kPort1, 2))});
  const uint64_t before = Now();
  std::promise<FlowTable::DeletedSum> sum;
  table.DeleteMatching({}, [&sum](FlowTable::DeletedSum s) { sum.set_value(s); });
  EXPECT_EQ(Now(), before + 1);
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(PortAt(before, ToHost(i).value), 1u);
    EXPECT_EQ(PortAt(before + 1, ToHost(i).value), 0u);
  }
  PassGrace();
  EXPECT_EQ(sum.get_future().get().count, 101u);
}

}  // namespace
}  // namespace sluice
