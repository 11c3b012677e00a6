// What a flow cache remembers, over which changes, and who gives way.

#include "dataplane/classifier/flow_cache.h"

#include <gtest/gtest.h>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

PacketKey To(uint32_t host) { return KeyOf({{Field::kIpv4Dst, host}, {Field::kUdpDst, 53}}); }

class FlowCacheTest : public FlowTest {
 protected:
  FlowCacheTest() { Write({Create(Spec(5, kNet10, 1))}); }

  const ClassifierEntry* Ask(const PacketKey& key) {
    reclaimer.Online(0);
    const ClassifierEntry* entry = nullptr;
    counts = cache.Lookup(table.classifier(), 0, 0, table.classifier().View(), &key, 1, &entry);
    reclaimer.Offline(0);
    return entry;
  }
  bool Remembers(const PacketKey& key) {
    Ask(key);
    return counts.hits == 1;
  }
  void AskTwice(const PacketKey& key) {
    Ask(key);
    Ask(key);
  }

  FlowCache cache{64};
  FlowCache::Counts counts;
};

TEST_F(FlowCacheTest, RemembersFlowsAndMisses) {
  EXPECT_FALSE(Remembers(To(0x0a000001)));
  EXPECT_TRUE(Remembers(To(0x0a000001)));
  EXPECT_EQ(PortOf(Ask(To(0x0a000001))), 1u);
  EXPECT_FALSE(Remembers(To(0x0b000001)));
  EXPECT_TRUE(Remembers(To(0x0b000001)));
  EXPECT_EQ(Ask(To(0x0b000001)), nullptr);
}

// Where flows look at nothing, all packets are one.
TEST_F(FlowCacheTest, RemembersWhatMatchesEverything) {
  Write({DeleteFlow{IdentityOf(Spec(5, kNet10, 1))}, Create(Spec(1, {}, 9))});
  table.Housekeep();
  AskTwice(To(0x0a000001));
  EXPECT_TRUE(Remembers(To(0x0b000001)));
  EXPECT_EQ(PortOf(Ask(To(0x0b000001))), 9u);
}

// No flow looks at the ports, or at the host's last byte.
TEST_F(FlowCacheTest, WhatNoFlowLooksAtIsNoDifference) {
  Ask(To(0x0a000001));
  PacketKey other = To(0x0a000002);
  other.l4_dst = 7;
  EXPECT_TRUE(Remembers(other));
}

TEST_F(FlowCacheTest, ForgetsAFlowThatIsDeleted) {
  Ask(To(0x0a000001));
  Write({DeleteFlow{IdentityOf(Spec(5, kNet10, 1))}});
  EXPECT_EQ(Ask(To(0x0a000001)), nullptr);
}

TEST_F(FlowCacheTest, SeesAFlowThatIsModified) {
  Ask(To(0x0a000001));
  Write({UpdateFlow{.key = IdentityOf(Spec(5, kNet10, 1)), .actions = Output(2)}});
  EXPECT_EQ(PortOf(Ask(To(0x0a000001))), 2u);
}

TEST_F(FlowCacheTest, SeesAFlowThatBeatsTheOneItKnows) {
  Ask(To(0x0a000001));
  Write({Create(Spec(6, kNet10, 3))});
  EXPECT_EQ(PortOf(Ask(To(0x0a000001))), 3u);
}

TEST_F(FlowCacheTest, SeesAFlowForWhatHadNone) {
  Ask(To(0x0b000001));
  Write({Create(Spec(1, MatchOf({{Field::kIpv4Dst, 0x0b000000, 0xff000000}}), 4))});
  EXPECT_EQ(PortOf(Ask(To(0x0b000001))), 4u);
}

// Of the same mask, so that what flows look at stays.
TEST_F(FlowCacheTest, ChangesElsewhereCostNothing) {
  AskTwice(To(0x0a000001));
  for (uint32_t net = 11; net < 250; ++net) {
    const FlowSpec spec = Spec(9, MatchOf({{Field::kIpv4Dst, net << 24, 0xff000000}}), 7);
    Write({Create(spec)});
    EXPECT_TRUE(Remembers(To(0x0a000001))) << net;
    Write({DeleteFlow{IdentityOf(spec)}});
    EXPECT_TRUE(Remembers(To(0x0a000001))) << net;
  }
}

TEST_F(FlowCacheTest, AFlowOfLowerRankCostsNothing) {
  AskTwice(To(0x0a000001));
  Write({Create(Spec(4, MatchOf({{Field::kIpv4Dst, 0, 0x80000000}}), 7))});
  Ask(To(0x0a000001));
  Write({Create(Spec(3, MatchOf({{Field::kIpv4Dst, 0, 0x80000000}}), 7))});
  EXPECT_TRUE(Remembers(To(0x0a000001)));
}

TEST_F(FlowCacheTest, ANewBitThatFlowsLookAtAsksAnew) {
  Ask(To(0x0a000001));
  Write({Create(Spec(1, MatchOf({{Field::kUdpDst, 53}}), 7))});
  EXPECT_FALSE(Remembers(To(0x0a000001)));
  EXPECT_EQ(PortOf(Ask(To(0x0a000001))), 1u);
  EXPECT_EQ(PortOf(Ask(To(0x0b000001))), 7u);
}

TEST_F(FlowCacheTest, ManyFlowsAtOnceMakeItAskAnew) {
  AskTwice(To(0x0a000001));
  std::vector<FlowChange> changes;
  for (uint32_t i = 0; i < 5000; ++i) {
    changes.push_back(
        Create(Spec(static_cast<uint16_t>(100 + i), MatchOf({{Field::kIpv4Dst, 0x0b000000, 0xff000000}}), 7)));
  }
  changes.push_back(Create(Spec(6, kNet10, 8)));
  Write(changes);
  EXPECT_EQ(PortOf(Ask(To(0x0a000001))), 8u);
  EXPECT_TRUE(Remembers(To(0x0a000001)));
}

// Answers from further back than the log reaches are not believed.
TEST_F(FlowCacheTest, TheLogsEndIsNoEndOfTruth) {
  AskTwice(To(0x0a000001));
  Write({Create(Spec(6, kNet10, 8))});
  for (uint16_t i = 0; i < 3000; ++i) {
    Write({Create(Spec(static_cast<uint16_t>(100 + i), MatchOf({{Field::kIpv4Dst, 0x0b000000, 0xff000000}}), 7))});
  }
  EXPECT_EQ(PortOf(Ask(To(0x0a000001))), 8u);
}

// Versions are kept with few bits: the same bits must not pass for the same version.
TEST_F(FlowCacheTest, OldVersionsDoNotComeBack) {
  AskTwice(To(0x0a000001));
  const uint64_t then = table.classifier().version();
  Write({Create(Spec(6, kNet10, 8))});
  table.classifier().Publish(then + (1 << 21));
  EXPECT_EQ(PortOf(Ask(To(0x0a000001))), 8u);
}

TEST_F(FlowCacheTest, AFloodLeavesWhatIsInUse) {
  Write({Create(Spec(4, MatchOf({{Field::kIpv4Dst, 1, 0xffffffff}}), 7))});
  constexpr uint32_t kInUse = 32;
  uint32_t host = 0x14000000;
  uint64_t hits = 0, asked = 0, evictions = 0;
  for (int round = 0; round < 200; ++round) {
    for (uint32_t i = 0; i < kInUse; ++i, ++asked) hits += Remembers(To(0x0a000000 + i));
    for (int flood = 0; flood < 20; ++flood) {
      Ask(To(++host));
      evictions += counts.evictions;
    }
  }
  EXPECT_GT(hits, asked / 3);
  EXPECT_GT(evictions, 0u);
}

TEST_F(FlowCacheTest, WhatIsNoLongerUsedGivesWay) {
  Write({Create(Spec(4, MatchOf({{Field::kIpv4Dst, 1, 0xffffffff}}), 7))});
  for (uint32_t i = 0; i < 1000; ++i) AskTwice(To(0x0a000000 + i));
  constexpr int kRounds = 200;
  uint64_t hits = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (uint32_t i = 0; i < 16; ++i) hits += Remembers(To(0x14000000 + i)) && round >= kRounds / 2;
  }
  EXPECT_GT(hits, kRounds / 2 * 16 / 4);
}

TEST_F(FlowCacheTest, ABatchOfOneFlowTakesOnePlace) {
  std::array<PacketKey, kBatch> keys;
  keys.fill(To(0x0a000001));
  std::array<const ClassifierEntry*, kBatch> entries;
  reclaimer.Online(0);
  const TableView view = table.classifier().View();
  counts = cache.Lookup(table.classifier(), 0, 0, view, keys.data(), kBatch, entries.data());
  reclaimer.Offline(0);
  EXPECT_EQ(counts.misses, kBatch);
  EXPECT_EQ(counts.evictions, 0u);
}

TEST_F(FlowCacheTest, HasThePlacesThatWereAskedFor) {
  EXPECT_EQ(FlowCache(1).entry_count(), 4u);
  EXPECT_EQ(FlowCache(100).entry_count(), 128u);
  EXPECT_EQ(FlowCache(4096).entry_count(), 4096u);
}

}  // namespace
}  // namespace sluice
