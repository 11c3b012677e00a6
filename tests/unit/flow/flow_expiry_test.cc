// Timeouts of the flow table, with a clock that stands still until it is moved.

#include <future>

#include "dataplane/flow/flow.h"
#include "dataplane/flow/flow_events.h"
#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

class FlowExpiryTest : public testing::Test {
 protected:
  static constexpr unsigned kWorkers = 2;

  uint64_t Add(FlowSpec spec, FlowTimeouts timeouts, bool allow_existing = false) {
    spec.timeouts = timeouts;
    return Write(CreateFlow{.spec = std::move(spec), .allow_existing = allow_existing}).flow.id;
  }
  FlowChangeResult Write(FlowChange change) { return Write(std::vector<FlowChange>{std::move(change)})[0]; }
  std::vector<FlowChangeResult> Write(const std::vector<FlowChange>& changes, BatchMode mode = BatchMode::kPerItem) {
    std::promise<std::vector<FlowChangeResult>> results;
    table_.Write(changes, mode, false, [&](std::vector<FlowChangeResult> r) { results.set_value(std::move(r)); });
    return results.get_future().get();
  }
  // Both clocks.
  void Pass(double seconds) {
    now_.unix_ns += static_cast<int64_t>(seconds * kSecond);
    now_.steady_ns += static_cast<int64_t>(seconds * kSecond);
  }
  void Hit(const PacketKey& key, unsigned worker = 0) {
    reclaimer_.Online(worker);
    const ClassifierEntry* entry = nullptr;
    table_.classifier().Lookup(worker, 0, table_.classifier().version(), &key, 1, &entry);
    ASSERT_NE(entry, nullptr);
    entry->Count(worker, 1, 60, now_.unix_ns);
    reclaimer_.Offline(worker);
  }
  bool Lives(uint64_t id) {
    table_.Housekeep();
    return table_.Get(id).ok();
  }
  uint64_t Removed(FlowRemoval reason) { return table_.removals()[static_cast<size_t>(reason)]; }

  FlowTime now_{.unix_ns = kStart, .steady_ns = 777 * kSecond};
  Reclaimer reclaimer_{kWorkers};
  FlowTable table_{kWorkers, {}, reclaimer_, HashKey::Random(), {}, [this] { return now_; }};
};

TEST_F(FlowExpiryTest, HardCountsFromCreation) {
  const uint64_t id = Add(Spec(1, kPort1, 2), {.hard = 10});
  for (int i = 0; i < 9; ++i) {
    Pass(1);
    Hit(kFromPort1);
    ASSERT_TRUE(Lives(id)) << i;
  }
  Pass(0.999);
  EXPECT_TRUE(Lives(id)) << "not before its time";
  Pass(0.252);
  EXPECT_FALSE(Lives(id)) << "packets or not";
  EXPECT_EQ(Removed(FlowRemoval::kHardTimeout), 1u);
  EXPECT_EQ(Removed(FlowRemoval::kIdleTimeout), 0u);
}

TEST_F(FlowExpiryTest, IdleCountsFromTheLastPacketOfAnyWorker) {
  const uint64_t id = Add(Spec(1, kPort1, 2), {.idle = 3});
  for (int i = 0; i < 20; ++i) {
    Pass(2.9);
    ASSERT_TRUE(Lives(id)) << i;
    Hit(kFromPort1, i % kWorkers);
  }
  Pass(2.99);
  EXPECT_TRUE(Lives(id));
  Pass(0.26);
  EXPECT_FALSE(Lives(id));
  EXPECT_EQ(Removed(FlowRemoval::kIdleTimeout), 1u);
}

TEST_F(FlowExpiryTest, IdleCountsFromCreationWithoutPackets) {
  const uint64_t id = Add(Spec(1, kPort1, 2), {.idle = 1});
  Pass(0.99);
  EXPECT_TRUE(Lives(id));
  Pass(0.26);
  EXPECT_FALSE(Lives(id));
}

TEST_F(FlowExpiryTest, TheLongestTimeoutAndNone) {
  const uint64_t longest = Add(Spec(1, kPort1, 2), {.idle = 65535, .hard = 65535});
  const uint64_t none = Add(Spec(1, kPort2, 2), {});
  Pass(65534.9);
  EXPECT_TRUE(Lives(longest));
  Pass(0.4);
  for (int i = 0; i < 3; ++i) table_.Housekeep();
  EXPECT_FALSE(Lives(longest));
  EXPECT_EQ(Removed(FlowRemoval::kHardTimeout), 1u) << "past both it is the hard one";
  EXPECT_TRUE(Lives(none));
}

// As Open vSwitch does: hard_age begins anew, idle_age does not.
TEST_F(FlowExpiryTest, AModificationRestartsTheHardTimeoutOnly) {
  const uint64_t hard = Add(Spec(1, kPort1, 2), {.hard = 10});
  const uint64_t idle = Add(Spec(1, kPort2, 2), {.idle = 10});
  Pass(6);
  EXPECT_EQ(Write(UpdateFlow{.key = hard, .actions = Output(3)}).flow.spec.timeouts.hard, 10);
  EXPECT_EQ(Write(UpdateFlow{.key = idle, .actions = Output(3)}).flow.spec.timeouts.idle, 10);
  EXPECT_EQ(table_.Get(hard)->modify_time, absl::FromUnixNanos(kStart + 6 * kSecond));
  EXPECT_EQ(table_.Get(hard)->create_time, absl::FromUnixNanos(kStart));
  Pass(4.3);
  EXPECT_TRUE(Lives(hard));
  EXPECT_FALSE(Lives(idle));
  Pass(6);
  EXPECT_FALSE(Lives(hard));
}

TEST_F(FlowExpiryTest, TimeoutsAreGivenAndTaken) {
  const uint64_t id = Add(Spec(1, kPort1, 2), {});
  EXPECT_EQ(table_.Get(id)->modify_time, absl::InfinitePast());
  Hit(kFromPort1);
  Pass(100);
  Write(UpdateFlow{.key = id, .actions = Output(2), .idle_timeout = 5});
  EXPECT_TRUE(Lives(id)) << "it runs from now on, not from the last packet";
  Pass(4.9);
  EXPECT_TRUE(Lives(id));
  Write(UpdateFlow{.key = id, .actions = Output(2), .idle_timeout = 0, .hard_timeout = 2});
  Pass(1.9);
  EXPECT_TRUE(Lives(id));
  Write(UpdateFlow{.key = id, .actions = Output(2), .hard_timeout = 0});
  Pass(100'000);
  EXPECT_TRUE(Lives(id));
  EXPECT_FALSE(table_.Get(id)->spec.timeouts.any());
  Write(UpdateFlow{.key = id, .actions = Output(2), .idle_timeout = 1000});
  Write(UpdateFlow{.key = id, .actions = Output(2), .idle_timeout = 1});
  Pass(1.3);
  EXPECT_FALSE(Lives(id)) << "a shorter one is as soon as that";
}

TEST_F(FlowExpiryTest, AnAddOfWhatExistsBringsItsOwnTimeouts) {
  const uint64_t id = Add(Spec(1, kPort1, 2), {.idle = 2, .hard = 60});
  Pass(1.9);
  EXPECT_EQ(Add(Spec(1, kPort1, 3), {.idle = 2}, /*allow_existing=*/true), id);
  EXPECT_EQ(table_.Get(id)->spec.timeouts.hard, 0);
  Pass(1.9);
  EXPECT_TRUE(Lives(id)) << "begun anew";
  EXPECT_EQ(Add(Spec(1, kPort1, 3), {}, true), id);
  Pass(1000);
  EXPECT_TRUE(Lives(id));
}

TEST_F(FlowExpiryTest, WhatIsTakenBackLeavesTimeoutsAsTheyWere) {
  const uint64_t id = Add(Spec(1, kPort1, 2), {.hard = 5});
  const uint64_t none = Add(Spec(1, kPort2, 2), {});
  Pass(3);
  FlowSpec timed = Spec(2, kNet10, 2);
  timed.timeouts = {.hard = 1};
  const auto results = Write({Create(timed), UpdateFlow{.key = id, .actions = Output(3), .hard_timeout = 1000},
                              UpdateFlow{.key = none, .actions = Output(3), .idle_timeout = 1}, DeleteFlow{.key = id},
                              DeleteFlow{.key = uint64_t{999}}},
                             BatchMode::kAllOrNothing);
  EXPECT_EQ(results[4].status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(table_.Get(id)->spec.timeouts.hard, 5);
  EXPECT_EQ(table_.Get(id)->modify_time, absl::FromUnixNanos(kStart));
  EXPECT_FALSE(table_.Get(none)->spec.timeouts.any());
  Pass(1.9);
  EXPECT_TRUE(Lives(id));
  Pass(0.4);
  EXPECT_FALSE(Lives(id));
  EXPECT_TRUE(Lives(none));
}

TEST_F(FlowExpiryTest, SettingTheClockNeitherKillsNorKeepsFlows) {
  for (const int64_t step : {3600, -3600}) {
    const uint64_t id = Add(Spec(1, kPort1, 2), {.idle = 10});
    Pass(6);
    Hit(kFromPort1);
    now_.unix_ns += step * kSecond;
    Pass(4.3);
    EXPECT_TRUE(Lives(id)) << "used 4.3 s ago; clock set by " << step;
    Pass(10.3);
    EXPECT_FALSE(Lives(id)) << "clock set by " << step;
  }
}

TEST_F(FlowExpiryTest, ADeletedFlowDoesNotExpire) {
  const uint64_t id = Add(Spec(1, kPort1, 2), {.idle = 1});
  reclaimer_.Online(0);  // nothing can be unlinked
  std::promise<void> done;
  const FlowChange change = DeleteFlow{.key = id};
  table_.Write({&change, 1}, BatchMode::kPerItem, false, [&](auto) { done.set_value(); });
  const uint64_t next = Add(Spec(1, kPort1, 2), {});
  Pass(5);
  table_.Housekeep();
  EXPECT_TRUE(table_.Get(next).ok());
  reclaimer_.Quiescent(0);
  reclaimer_.Offline(0);
  done.get_future().get();
  EXPECT_EQ(Removed(FlowRemoval::kIdleTimeout), 0u);
  EXPECT_EQ(Removed(FlowRemoval::kDelete), 1u);
}

TEST_F(FlowExpiryTest, ManyGoInSteps) {
  constexpr uint32_t kFlows = 50'000;
  std::vector<FlowChange> changes;
  for (uint32_t i = 0; i < kFlows; ++i) {
    CreateFlow create = Create(Spec(1, ToHost(i), 2));
    create.spec.timeouts.idle = 1;
    changes.push_back(create);
  }
  Write(changes);
  Pass(1.3);
  uint64_t before = table_.size();
  int steps = 0;
  for (; table_.size() > 0; ++steps) {
    table_.Housekeep();
    ASSERT_LE(before - table_.size(), 16'000u) << "one step took too many";
    before = table_.size();
  }
  EXPECT_LE(steps, 5);
  reclaimer_.Flush();
  EXPECT_EQ(Removed(FlowRemoval::kIdleTimeout), kFlows);
}

TEST_F(FlowExpiryTest, TimersAreUsedAgain) {
  for (int round = 0; round < 100; ++round) {
    for (uint32_t i = 0; i < 100; ++i) Add(Spec(1, ToHost(i), 2), {.hard = 1});
    Pass(1.3);
    table_.Housekeep();
    reclaimer_.Flush();
    ASSERT_EQ(table_.size(), 0u);
  }
  EXPECT_EQ(Removed(FlowRemoval::kHardTimeout), 10'000u);
}

}  // namespace
}  // namespace sluice
