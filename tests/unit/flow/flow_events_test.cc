// Every removed flow leaves one event, whoever removed it and whatever raced.

#include "dataplane/flow/flow_events.h"

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

constexpr uint32_t kHosts = 2000;
constexpr int kRounds = 40;

class FlowEventsTest : public testing::Test {
 protected:
  std::vector<std::shared_ptr<const FlowEvent>> Events(uint64_t after) {
    reclaimer_.Flush();
    const FlowEvents::Reading reading = table_.events().After(after, ~size_t{0} >> 1);
    EXPECT_EQ(reading.missed, 0u);
    return reading.events;
  }
  void CreateAll() {
    std::vector<FlowChange> changes;
    for (uint32_t host = 0; host < kHosts; ++host) {
      CreateFlow create = Create(Spec(1, ToHost(host), 2));
      create.allow_existing = true;
      create.spec.timeouts.hard = static_cast<uint16_t>(1 + host % 3);
      changes.push_back(std::move(create));
    }
    table_.Write(changes, BatchMode::kPerItem, false, [](auto) {});
  }
  // While it is not told to stop.
  void DeleteSome(uint32_t seed) {
    std::mt19937 random(seed);
    while (!stop_) {
      const FlowChange change = DeleteFlow{IdentityOf(Spec(1, ToHost(random() % kHosts), 2))};
      table_.Write({&change, 1}, BatchMode::kPerItem, false, [](auto) {});
      if (random() % 50 == 0) {
        table_.DeleteMatching({.match = MatchOf({{Field::kIpv4Dst, random() % 16, 15}})}, [](auto) {});
      }
      std::this_thread::yield();
    }
  }

  std::atomic<int64_t> now_ = 1'000'000'000;
  std::atomic<bool> stop_ = false;
  Reclaimer reclaimer_{1};
  FlowTable table_{1,          {.kept_events = 10'000'000},
                   reclaimer_, HashKey::Random(),
                   {},         [this] { return FlowTime{.unix_ns = now_, .steady_ns = now_}; }};
};

TEST_F(FlowEventsTest, OneRemovalEachWhateverRaces) {
  const uint64_t start = table_.StartWatch().sequence;
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([this] { DeleteSome(1); });
    threads.emplace_back([this] { DeleteSome(2); });
    threads.emplace_back([this] {
      while (!stop_) table_.Housekeep();
    });
    for (int round = 0; round < kRounds; ++round) {
      CreateAll();
      for (int i = 0; i < 5; ++i) {
        now_ += 700'000'000;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
    stop_ = true;
  }
  std::map<uint64_t, int> alive;
  uint64_t sequence = start, commit = 0;
  std::array<uint64_t, kFlowRemovalCount> removed{};
  for (const auto& event : Events(start)) {
    ASSERT_EQ(event->sequence, ++sequence);
    ASSERT_GE(event->commit, commit) << "in the order of commits";
    commit = event->commit;
    if (event->kind == FlowEventKind::kCreated) ASSERT_EQ(alive[event->flow.id]++, 0);
    if (event->kind == FlowEventKind::kModified) ASSERT_EQ(alive[event->flow.id], 1);
    if (event->kind == FlowEventKind::kRemoved) {
      ASSERT_EQ(alive[event->flow.id], 1) << "removed twice, or never there";
      alive[event->flow.id] = 2;
      ++removed[static_cast<size_t>(event->reason)];
    }
  }
  EXPECT_EQ(removed, table_.removals());
  EXPECT_GT(removed[static_cast<size_t>(FlowRemoval::kHardTimeout)], 0u);
  EXPECT_GT(removed[static_cast<size_t>(FlowRemoval::kDelete)], 0u);
  uint64_t there = 0;
  for (const auto& [id, state] : alive) there += state == 1;
  EXPECT_EQ(there, table_.size()) << "a flow went without an event";
}

TEST_F(FlowEventsTest, EventsAreKeptForAWhileAfterTheLastWatcher) {
  table_.Write(std::vector<FlowChange>{Create(Spec(1, kPort1, 2))}, BatchMode::kPerItem, false, [](auto) {});
  EXPECT_EQ(table_.events().last(), 1u) << "counted, not kept";
  EXPECT_EQ(table_.events().After(0, 9).missed, 1u);
  const uint64_t start = table_.StartWatch().sequence;
  table_.EndWatch();
  table_.Write(std::vector<FlowChange>{Create(Spec(1, kPort2, 2))}, BatchMode::kPerItem, false, [](auto) {});
  now_ += FlowEvents::kMemory - 1;
  table_.Housekeep();
  EXPECT_EQ(Events(start).size(), 1u);
  now_ += 1;
  table_.Housekeep();
  EXPECT_EQ(table_.events().After(start, 9).missed, 1u);
}

}  // namespace
}  // namespace sluice
