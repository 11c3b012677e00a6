// Chains of flows with ranges that grow past being walked and shrink again:
// what a worker sees that stays with its version, and workers at the same time.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

#ifdef SLUICE_SANITIZED
constexpr int kBatches = 1500;
constexpr uint64_t kBursts = 1500;
#else
constexpr int kBatches = 4000;
constexpr uint64_t kBursts = 20000;
#endif

Match Range(uint16_t first, uint16_t last) {
  Match match = MatchOf({{Field::kIpProto, 17}});
  MatchOnRange(match, Field::kUdpDst, {first, last});
  return match;
}

PacketKey ToPort(uint16_t port) { return KeyOf({{Field::kIpProto, 17}, {Field::kUdpDst, port}}); }

FlowIdentity Identity(uint16_t priority, const Match& match) { return {0, priority, match}; }

// Slot i of a chain has the ports from 10 * i + 1 to 10 * i + 8.
Match Slot(uint32_t i) { return Range(static_cast<uint16_t>(10 * i + 1), static_cast<uint16_t>(10 * i + 8)); }

class RangeChainTest : public FlowTest {
 protected:
  uint32_t PortAt(uint64_t version, uint16_t port) { return PortOf(Find(ToPort(port), version)); }
  uint64_t Now() { return table.classifier().version(); }
};

TEST_F(RangeChainTest, EachLengthIsRightAtEachVersion) {
  constexpr uint32_t kSlots = 600;  // walked, one block, several
  reclaimer.Online(0);
  std::vector<uint64_t> versions = {Now()};
  for (uint32_t i = 0; i < kSlots; ++i) {
    WriteLater({Create(Spec(5, Slot(i), i + 1))});
    versions.push_back(Now());
  }
  const uint64_t full = Now();
  std::vector<uint64_t> removed = {full};
  for (uint32_t i = 0; i < kSlots; ++i) {
    WriteLater({DeleteFlow{Identity(5, Slot(i))}});
    removed.push_back(Now());
  }
  for (uint32_t i = 0; i < kSlots; ++i) {
    const auto port = static_cast<uint16_t>(10 * i + 8);
    ASSERT_EQ(PortAt(versions[i], port), 0u);
    ASSERT_EQ(PortAt(versions[i + 1], port), i + 1);
    ASSERT_EQ(PortAt(full, static_cast<uint16_t>(port + 1)), 0u);
    ASSERT_EQ(PortAt(removed[i], port), i + 1);
    ASSERT_EQ(PortAt(removed[i + 1], port), 0u);
  }
  reclaimer.Offline(0);
  reclaimer.Flush();
  EXPECT_TRUE(table.Masks(0).empty());
}

// The versions of one flow share a rank, and a block holds only so many.
TEST_F(RangeChainTest, OneFlowMayHaveMoreVersionsThanABlock) {
  reclaimer.Online(0);
  std::vector<FlowChange> changes;
  for (uint32_t i = 0; i < 20; ++i) changes.push_back(Create(Spec(5, Slot(i), i + 1)));
  WriteLater(changes);
  std::vector<uint64_t> versions;
  for (uint32_t i = 0; i < 700; ++i) {
    WriteLater({UpdateFlow{.key = Identity(5, Slot(7)), .actions = Output(1000 + i)}});
    versions.push_back(Now());
  }
  for (uint32_t i = 0; i < 700; ++i) ASSERT_EQ(PortAt(versions[i], 75), 1000 + i);
  EXPECT_EQ(PortAt(versions[300], 85), 9u);
  reclaimer.Offline(0);
  reclaimer.Flush();
  EXPECT_EQ(PortAt(Now(), 75), 1699u);
  EXPECT_EQ(PortAt(Now(), 65), 7u);
}

TEST_F(RangeChainTest, ABatchThatFailsLeavesNothing) {
  std::vector<FlowChange> changes;
  for (uint32_t i = 0; i < 300; ++i) changes.push_back(Create(Spec(5, Slot(i), i + 1)));
  changes.push_back(absl::CancelledError());
  Write(changes, BatchMode::kAllOrNothing);
  EXPECT_EQ(PortAt(Now(), 15), 0u);
  EXPECT_EQ(table.size(), 0u);
  changes.pop_back();
  Write(changes, BatchMode::kAllOrNothing);
  EXPECT_EQ(PortAt(Now(), 15), 2u);
  std::vector<FlowChange> more = {DeleteFlow{Identity(5, Slot(1))},
                                  UpdateFlow{.key = Identity(5, Slot(2)), .actions = Output(7)},
                                  absl::CancelledError()};
  Write(more, BatchMode::kAllOrNothing);
  EXPECT_EQ(PortAt(Now(), 15), 2u);
  EXPECT_EQ(PortAt(Now(), 25), 3u);
}

TEST_F(RangeChainTest, FindsTheSameRangeAndPriorityAlone) {
  std::vector<FlowChange> changes;
  for (uint16_t i = 0; i < 300; ++i) changes.push_back(Create(Spec(i % 7, Slot(i), i + 1)));
  Write(changes);
  EXPECT_TRUE(absl::IsAlreadyExists(WriteOne(Create(Spec(1, Slot(1), 9))).status));
  EXPECT_TRUE(WriteOne(Create(Spec(2, Slot(1), 9))).status.ok());
  EXPECT_TRUE(absl::IsNotFound(WriteOne(DeleteFlow{Identity(3, Slot(1))}).status));
  EXPECT_EQ(PortAt(Now(), 15), 9u) << "the higher priority";
  EXPECT_TRUE(WriteOne(DeleteFlow{Identity(2, Slot(1))}).status.ok());
  EXPECT_EQ(PortAt(Now(), 15), 2u);
}

TEST_F(RangeChainTest, FiltersAndOverlapsKnowRanges) {
  Write({Create(Spec(5, Range(1000, 2000), 1)), Create(Spec(5, Range(2001, 3000), 2)),
         Create(Spec(5, MatchOf({{Field::kIpProto, 17}, {Field::kUdpDst, 1500}}), 3))});
  const auto count = [this](const Match& match) { return table.List({.match = match}, 0, 10).size(); };
  EXPECT_EQ(count(Range(1000, 2000)), 2u);
  EXPECT_EQ(count(Range(999, 2999)), 2u);
  EXPECT_EQ(count(Range(1, 65535)), 3u);
  EXPECT_EQ(count(Range(1001, 2000)), 1u);
  EXPECT_EQ(count(MatchOf({{Field::kUdpDst, 0, 0xf000}})), 3u) << "0 to 4095";
  EXPECT_EQ(count(MatchOf({{Field::kUdpDst, 0x400, 0xfc00}})), 1u) << "1024 to 2047";
  CreateFlow create = Create(Spec(5, Range(2500, 2501), 4));
  create.check_overlap = true;
  EXPECT_EQ(WriteOne(create).other_id, 2u);
  create.spec.match = Range(3001, 3003);
  EXPECT_TRUE(WriteOne(create).status.ok());
  EXPECT_EQ(DeleteMatching({.match = Range(1000, 2001)}).count, 2u);
}

// Each slot is moved by a batch from one flow to another whose range contains
// its middle too: whoever finds none, or two at one version, has missed a step.
class RangeChainConcurrencyTest : public RangeChainTest {
 protected:
  static constexpr uint32_t kSlots = 400;

  static Match Half(uint32_t slot, bool left) {
    const auto first = static_cast<uint16_t>(10 * slot + 1);
    return Range(static_cast<uint16_t>(first + (left ? 0 : 2)), static_cast<uint16_t>(first + (left ? 5 : 7)));
  }

  void Read(unsigned worker) {
    std::mt19937 random(worker);
    reclaimer.Online(worker);
    while (!stop_) {
      PacketKey keys[kBatch];
      for (PacketKey& key : keys) key = ToPort(static_cast<uint16_t>(10 * (random() % kSlots) + 4));
      const ClassifierEntry* first[kBatch];
      const ClassifierEntry* second[kBatch];
      const uint64_t version = table.classifier().version();
      table.classifier().Lookup(worker, 0, version, keys, kBatch, first);
      table.classifier().Lookup(worker, 0, version, keys, kBatch, second);
      for (unsigned i = 0; i < kBatch; ++i) torn_ = torn_ || first[i] == nullptr || first[i] != second[i];
      ++bursts_;
      reclaimer.Quiescent(worker);
    }
    reclaimer.Offline(worker);
  }

  std::atomic<bool> stop_ = false;
  std::atomic<bool> torn_ = false;
  std::atomic<uint64_t> bursts_ = 0;
};

TEST_F(RangeChainConcurrencyTest, NothingIsMissedWhileChainsChange) {
  std::vector<bool> left(kSlots, true);
  std::vector<FlowChange> changes;
  for (uint32_t i = 0; i < kSlots; ++i) changes.push_back(Create(Spec(5, Half(i, true), i + 1)));
  Write(changes);
  std::vector<std::jthread> readers;
  for (unsigned worker = 0; worker < 2; ++worker) readers.emplace_back([this, worker] { Read(worker); });
  std::mt19937 random(5);
  for (int batch = 0; !torn_ && (batch < kBatches || bursts_ < kBursts); ++batch) {
    changes.clear();
    for (uint32_t k = 0; k < 3; ++k) {
      const uint32_t slot = random() % kSlots / 3 * 3 + k;
      if (slot >= kSlots) continue;
      // Its priority changes its block.
      changes.push_back(DeleteFlow{Identity(left[slot] ? 5 : static_cast<uint16_t>(slot), Half(slot, left[slot]))});
      left[slot] = !left[slot];
      changes.push_back(Create(Spec(left[slot] ? 5 : static_cast<uint16_t>(slot), Half(slot, left[slot]), slot + 1)));
    }
    table.Write(changes, BatchMode::kAllOrNothing, false, [this](const std::vector<FlowChangeResult>& results) {
      for (const FlowChangeResult& result : results) torn_ = torn_ || !result.status.ok();
    });
  }
  stop_ = true;
  readers.clear();
  reclaimer.Flush();
  EXPECT_FALSE(torn_);
  EXPECT_EQ(table.size(), kSlots);
}

}  // namespace
}  // namespace sluice
