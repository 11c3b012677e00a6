#include "dataplane/flow/statistics.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

// A flow's counters without the flow.
struct Counted {
  explicit Counted(CounterPools& pools) { index.pools = &pools; }
  ~Counted() { index.pools->Free(index); }
  FlowStats Total() const { return Sum(index, line); }
  void Hit(unsigned worker, uint64_t packets, int64_t now = 1) {
    Count(index, line, worker, packets, 100 * packets, now);
  }

  CounterIndex index;
  CounterLine line;
};

TEST(StatisticsTest, TheFirstWorkerOwnsTheFlowsOwnSlot) {
  CounterPools pools(4);
  Counted flow(pools);
  flow.Hit(2, 5);
  EXPECT_EQ(flow.line.first.packets, 5u);
  EXPECT_EQ(flow.index.directory, nullptr) << "one worker takes no more than that";
  flow.Hit(0, 1);
  flow.Hit(3, 2);
  flow.Hit(2, 4);
  EXPECT_EQ(flow.line.first.packets, 9u);
  EXPECT_EQ(flow.line.spill.packets, 0u);
  EXPECT_EQ(flow.Total().packets, 12u);
  EXPECT_EQ(flow.Total().bytes, 1200u);
}

TEST(StatisticsTest, LastUsedIsTheLatest) {
  CounterPools pools(3);
  Counted flow(pools);
  EXPECT_EQ(flow.Total().last_used, absl::InfinitePast());
  flow.Hit(0, 1, 50);
  flow.Hit(1, 1, 70);
  flow.Hit(2, 1, 60);
  EXPECT_EQ(flow.Total().last_used, absl::FromUnixNanos(70));
}

TEST(StatisticsTest, WithThePoolDryNothingIsLost) {
  CounterPools pools(2);
  std::vector<std::unique_ptr<Counted>> flows;
  for (int i = 0; i < 3000; ++i) flows.push_back(std::make_unique<Counted>(pools));
  uint64_t spilt = 0;
  for (auto& flow : flows) {
    flow->Hit(0, 1);
    flow->Hit(1, 10);
    spilt += flow->line.spill.packets;
    EXPECT_EQ(flow->Total().packets, 11u);
  }
  EXPECT_GT(spilt, 0u) << "the pool was not dry";
  for (int round = 0; round < 4; ++round) {
    pools.Refill();
    for (auto& flow : flows) flow->Hit(1, 100, 9);
  }
  for (auto& flow : flows) {
    EXPECT_EQ(flow->Total().packets, 411u);
    EXPECT_EQ(flow->Total().bytes, 41100u);
    EXPECT_EQ(flow->Total().last_used, absl::FromUnixNanos(9));
    EXPECT_NE(flow->index.directory, nullptr) << "it took a slot when there were some again";
  }
}

// Workers race for the first slot and for the directory.
TEST(StatisticsTest, RacingWorkersLoseNothing) {
  constexpr unsigned kWorkers = 4;
  constexpr int kFlows = 2000;
  CounterPools pools(kWorkers);
  std::vector<std::unique_ptr<Counted>> flows;
  for (int i = 0; i < kFlows; ++i) flows.push_back(std::make_unique<Counted>(pools));
  std::atomic<bool> counting = true;
  std::vector<std::jthread> workers;
  for (unsigned worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      for (int round = 0; round < 5; ++round) {
        for (auto& flow : flows) flow->Hit(worker, worker + 1);
      }
    });
  }
  std::jthread control([&] {
    uint64_t before = 0;
    while (counting) {
      pools.Refill();
      uint64_t now = 0;
      for (auto& flow : flows) now += flow->Total().packets;
      EXPECT_GE(now, before) << "a sum never goes backwards";
      before = now;
    }
  });
  workers.clear();
  counting = false;
  control.join();
  for (auto& flow : flows) ASSERT_EQ(flow->Total().packets, 5u * (1 + 2 + 3 + 4));
}

TEST(StatisticsTest, ResettingMovesTheBase) {
  CounterPools pools(2);
  Counted flow(pools);
  flow.Hit(0, 3, 5);
  flow.Hit(1, 4, 6);
  ResetBase(flow.index, flow.line);
  EXPECT_EQ(flow.Total().packets, 0u);
  EXPECT_EQ(flow.Total().bytes, 0u);
  EXPECT_EQ(flow.line.first.packets, 3u) << "the slot is its worker's";
  EXPECT_EQ(flow.Total().last_used, absl::FromUnixNanos(6));
  flow.Hit(1, 2);
  EXPECT_EQ(flow.Total().packets, 2u);
}

TEST(StatisticsTest, SlotsOfFreedFlowsAreUsedAgain) {
  CounterPools pools(2);
  for (int i = 0; i < 5000; ++i) {
    Counted flow(pools);
    flow.Hit(0, 1);
    flow.Hit(1, 1);
    EXPECT_EQ(flow.Total().packets, 2u);
    if (i % 100 == 0) pools.Refill();
  }
}

class FlowStatisticsTest : public FlowTest {};

TEST_F(FlowStatisticsTest, HousekeepingFillsThePools) {
  constexpr uint32_t kFlows = 2500;
  std::vector<FlowChange> creates;
  for (uint32_t i = 0; i < kFlows; ++i) creates.push_back(Create(Spec(5, ToHost(i), 1)));
  Write(creates);
  for (int round = 0; round < 4; ++round) {
    for (uint32_t i = 0; i < kFlows; ++i) {
      Hit(ToHost(i).value, 0, 1, 60);
      Hit(ToHost(i).value, 1, 1, 60);
    }
    table.Housekeep();
  }
  for (const FlowInfo& info : table.List({}, 0, kFlows)) EXPECT_EQ(info.stats.packets, 8u);
  const FlowTable::DeletedSum sum = DeleteMatching({});
  EXPECT_EQ(sum.count, kFlows);
  EXPECT_EQ(sum.stats.packets, 8u * kFlows);
}

TEST_F(FlowStatisticsTest, AResetThatIsUndoneChangesNothing) {
  const uint64_t id = Add(Spec(5, kPort1, 1));
  Hit(kFromPort1, 0, 7, 700);
  Write({UpdateFlow{.key = id, .actions = {}, .reset_stats = true}, DeleteFlow{uint64_t{99}}},
        BatchMode::kAllOrNothing);
  EXPECT_EQ(StatsOf(id).packets, 7u);
}

}  // namespace
}  // namespace sluice
