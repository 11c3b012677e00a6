// Packets through groups and meters, with the flow cache and without, and groups
// that change beside running workers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/group/group_graph.h"
#include "tests/support/packet_builder.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kMac = 0x020000000042;

Bytes Udp(uint16_t dst = 53, uint8_t ttl = 64, uint8_t tos = 0) {
  return PacketBuilder().Ipv4({.tos = tos, .ttl = ttl}).Udp({.dst = dst}).Payload("payload").PadTo(60).Build();
}

Action ToGroup(uint32_t id) { return {.type = ActionType::kGroup, .port = id}; }
Action ToMeter(uint32_t id) { return {.type = ActionType::kMeter, .port = id}; }
BucketSpec Bucket(uint32_t id, ActionList actions) { return {.id = id, .actions = std::move(actions)}; }
BucketSpec Watching(uint32_t id, uint32_t port, ActionList actions) {
  return {.id = id, .watch_port = port, .actions = std::move(actions)};
}

Bytes WithDestination(Bytes frame) {
  for (int i = 0; i < 6; ++i) frame[static_cast<size_t>(i)] = static_cast<uint8_t>(kMac >> (40 - 8 * i));
  return frame;
}

class GroupsTest : public testing::TestWithParam<bool> {
 protected:
  GroupsTest() {
    for (uint32_t number = 1; number <= 4; ++number) switch_.AddPort(number);
    if (!GetParam()) switch_.engine().SetFlowCache(0);
    free_before_ = FreeBuffers();
  }
  void TearDown() override {
    EXPECT_TRUE(switch_.Conserves());
    EXPECT_EQ(FreeBuffers(), free_before_);
  }
  GroupTable& groups() { return switch_.engine().groups(); }
  void Must(const GroupSpec& spec) { ASSERT_TRUE(groups().Update(spec, true).ok()); }
  std::vector<Bytes> Sent(uint32_t port) { return switch_.port(port).TakeSent(); }

  TestSwitch switch_;
  unsigned free_before_;
};

TEST_P(GroupsTest, AllCopiesToEachBucketAndWhatFollowsSeesThePacketAsItWas) {
  Must({.id = 1,
        .type = GroupType::kAll,
        .buckets = {Bucket(0, {SetTo(Field::kEthDst, kMac), OutputTo(2)}), Bucket(1, {OutputTo(3)})}});
  switch_.AddFlow({}, {ToGroup(1), OutputTo(4)});
  const Bytes frame = Udp();
  switch_.Receive(1, {frame, frame});
  EXPECT_THAT(Sent(2), ElementsAre(WithDestination(frame), WithDestination(frame)));
  EXPECT_THAT(Sent(3), ElementsAre(frame, frame));
  EXPECT_THAT(Sent(4), ElementsAre(frame, frame));
  const GroupInfo info = *groups().Get(1);
  EXPECT_EQ(info.count, (PacketCount{2, 120}));
  EXPECT_THAT(info.bucket_counts, ElementsAre(PacketCount{2, 120}, PacketCount{2, 120}));
}

TEST_P(GroupsTest, ABucketIsAnActionSet) {
  // Written the wrong way round; of two outputs the last counts.
  Must({.id = 1,
        .type = GroupType::kIndirect,
        .buckets = {Bucket(0, {OutputTo(3), OutputTo(2), SetTo(Field::kEthDst, kMac)})}});
  switch_.AddFlow({}, {ToGroup(1)});
  const Bytes frame = Udp();
  switch_.Receive(1, {frame});
  EXPECT_THAT(Sent(2), ElementsAre(WithDestination(frame)));
  EXPECT_THAT(Sent(3), IsEmpty());
}

TEST_P(GroupsTest, WithoutOutputOrGroupOrLiveBucketItIsADropOfItsOwnKind) {
  Must({.id = 1, .type = GroupType::kIndirect, .buckets = {Bucket(0, {SetTo(Field::kEthDst, kMac)})}});
  Must({.id = 2, .type = GroupType::kFailover, .buckets = {Watching(0, 77, {OutputTo(2)})}});
  Must({.id = 3, .type = GroupType::kSelect, .buckets = {{.id = 0, .weight = 0, .actions = {OutputTo(2)}}}});
  for (uint16_t group = 1; group <= 4; ++group) switch_.AddFlow(MatchOf({{Field::kUdpDst, group}}), {ToGroup(group)});
  for (uint16_t group = 1; group <= 4; ++group) switch_.Receive(1, {Udp(group)});
  EXPECT_EQ(switch_.Drops(DropReason::kActionDrop), 1u);
  EXPECT_EQ(switch_.Drops(DropReason::kNoLiveBucket), 2u);
  EXPECT_EQ(switch_.Drops(DropReason::kNoSuchGroup), 1u);
}

TEST_P(GroupsTest, FailoverTakesTheFirstBucketWhosePortIsThereEnabledAndLinked) {
  Must({.id = 1,
        .type = GroupType::kFailover,
        .buckets = {Watching(0, 2, {OutputTo(2)}), Watching(1, 3, {OutputTo(3)}), Watching(2, 4, {OutputTo(4)})}});
  switch_.AddFlow({}, {ToGroup(1)});
  const auto sent_to = [&] {
    switch_.Receive(1, {Udp()});
    for (uint32_t port = 2; port <= 4; ++port) {
      if (!Sent(port).empty()) return port;
    }
    return 0u;
  };
  EXPECT_EQ(sent_to(), 2u);
  switch_.engine().SetLink(2, false);
  EXPECT_EQ(sent_to(), 3u);
  ASSERT_TRUE(switch_.engine().SetState(3, {.enabled = false}).ok());
  EXPECT_EQ(sent_to(), 4u);
  ASSERT_TRUE(switch_.engine().SetState(3, {}).ok());
  EXPECT_EQ(sent_to(), 3u);
  switch_.engine().SetLink(2, true);
  EXPECT_EQ(sent_to(), 2u);
  // And by a group.
  Must({.id = 2, .type = GroupType::kFailover, .buckets = {Watching(0, 2, {OutputTo(2)})}});
  Must({.id = 1,
        .type = GroupType::kFailover,
        .buckets = {{.id = 0, .watch_group = 2, .actions = {ToGroup(2)}}, Bucket(1, {OutputTo(4)})}});
  EXPECT_EQ(sent_to(), 2u);
  switch_.engine().SetLink(2, false);
  EXPECT_EQ(sent_to(), 4u);
}

TEST_P(GroupsTest, FlowsStayWhereTheyAreWhenABucketDiesAndComeBack) {
  Must({.id = 1,
        .type = GroupType::kSelect,
        .buckets = {Watching(10, 2, {OutputTo(2)}), Watching(11, 3, {OutputTo(3)}), Watching(12, 4, {OutputTo(4)})}});
  switch_.AddFlow({}, {ToGroup(1)});
  const auto places = [&] {
    std::map<uint16_t, uint32_t> found;
    for (uint16_t flow = 0; flow < 300; ++flow) {
      switch_.Receive(1, {Udp(flow)});
      for (uint32_t port = 2; port <= 4; ++port) {
        if (!Sent(port).empty()) found[flow] = port;
      }
    }
    return found;
  };
  const std::map<uint16_t, uint32_t> before = places();
  std::map<uint32_t, int> shares;
  for (const auto& [flow, port] : before) ++shares[port];
  for (uint32_t port = 2; port <= 4; ++port) EXPECT_NEAR(shares[port], 100, 40);
  switch_.engine().SetLink(3, false);
  const std::map<uint16_t, uint32_t> without = places();
  for (const auto& [flow, port] : before) EXPECT_TRUE(port == 3 ? without.at(flow) != 3 : without.at(flow) == port);
  switch_.engine().SetLink(3, true);
  EXPECT_EQ(places(), before);
}

TEST_P(GroupsTest, ChainsCountAndChangeOnEachWayDown) {
  Must({.id = 2, .type = GroupType::kAll, .buckets = {Bucket(0, {OutputTo(2)}), Bucket(1, {OutputTo(3)})}});
  Must({.id = 1,
        .type = GroupType::kAll,
        .buckets = {Bucket(0, {SetTo(Field::kEthDst, kMac), ToGroup(2)}), Bucket(1, {ToGroup(2)})}});
  switch_.AddFlow({}, {ToGroup(1), OutputTo(4)});
  const Bytes frame = Udp();
  switch_.Receive(1, {frame});
  EXPECT_THAT(Sent(2), ElementsAre(WithDestination(frame), frame));
  EXPECT_THAT(Sent(3), ElementsAre(WithDestination(frame), frame));
  EXPECT_THAT(Sent(4), ElementsAre(frame));
  EXPECT_EQ(groups().Get(2)->count.packets, 2u);
}

TEST_P(GroupsTest, ATtlThatEndsEndsItsBucketOnly) {
  Must({.id = 1,
        .type = GroupType::kAll,
        .buckets = {Bucket(0, {Of(ActionType::kDecTtl), OutputTo(2)}), Bucket(1, {OutputTo(3)})}});
  switch_.AddFlow({}, {ToGroup(1), OutputTo(4)});
  switch_.Receive(1, {Udp(53, 1)});
  EXPECT_THAT(Sent(2), IsEmpty());
  EXPECT_THAT(Sent(3), SizeIs(1));
  EXPECT_THAT(Sent(4), SizeIs(1));
}

TEST_P(GroupsTest, AnActionSetsGroupBeatsItsOutput) {
  Must({.id = 1, .type = GroupType::kIndirect, .buckets = {Bucket(0, {OutputTo(3)})}});
  switch_.AddFlow({}, {Deferred(ToGroup(1)), Deferred(OutputTo(2))});
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Sent(2), IsEmpty());
  EXPECT_THAT(Sent(3), SizeIs(1));
}

TEST_P(GroupsTest, ChangesCountOnAndDeletionLeavesTheFlow) {
  Must({.id = 1, .type = GroupType::kIndirect, .buckets = {Bucket(7, {OutputTo(2)})}});
  const uint64_t flow = switch_.AddFlow({}, {ToGroup(1)});
  switch_.Receive(1, {Udp()});
  Must({.id = 1, .type = GroupType::kAll, .buckets = {Bucket(8, {OutputTo(4)}), Bucket(7, {OutputTo(3)})}});
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Sent(3), SizeIs(1));
  const GroupInfo last = *groups().Delete(1);
  EXPECT_EQ(last.count.packets, 2u);
  EXPECT_EQ(last.bucket_counts.at(0).packets, 1u);
  EXPECT_EQ(last.bucket_counts.at(1).packets, 2u);
  switch_.Receive(1, {Udp()});
  EXPECT_EQ(switch_.Drops(DropReason::kNoSuchGroup), 1u);
  EXPECT_EQ(switch_.StatsOf(flow).packets, 3u);
}

TEST_P(GroupsTest, AMetersDropEndsTheWayAndLaterFlowsDoNotCount) {
  ASSERT_TRUE(switch_.engine().meters().Create({.id = 1, .bands = {{.rate = 1, .burst = 3}}}).ok());
  const uint64_t first = switch_.AddFlow({}, {ToMeter(1), ToMeter(9), Deferred(OutputTo(2)), GoTo(1)});
  const uint64_t second = switch_.AddFlowTo(1, {}, {OutputTo(3)});
  for (int i = 0; i < 10; ++i) switch_.Receive(1, {Udp()});
  const uint64_t passed = Sent(3).size();
  // More than the burst only if this took seconds.
  EXPECT_GE(passed, 3u);
  EXPECT_LE(passed, 9u);
  EXPECT_EQ(Sent(2).size(), passed);
  EXPECT_EQ(switch_.Drops(DropReason::kMeter), 10 - passed);
  EXPECT_EQ(switch_.StatsOf(first).packets, 10u);
  EXPECT_EQ(switch_.StatsOf(second).packets, passed);
  EXPECT_EQ(switch_.engine().meters().Get(1)->band_counts.at(0).packets, 10 - passed);
}

TEST_P(GroupsTest, AMeterMarks) {
  ASSERT_TRUE(switch_.engine()
                  .meters()
                  .Create({.id = 1, .bands = {{.type = BandType::kRemark, .rate = 1, .burst = 1, .prec_level = 1}}})
                  .ok());
  switch_.AddFlow({}, {ToMeter(1), OutputTo(2)});
  constexpr uint8_t kAf11 = 10 << 2 | 1, kAf12 = 12 << 2 | 1;  // ECN stays
  switch_.Receive(1, {Udp(53, 64, kAf11), Udp(53, 64, kAf11)});
  EXPECT_THAT(Sent(2), ElementsAre(Udp(53, 64, kAf11), Udp(53, 64, kAf12)));
}

INSTANTIATE_TEST_SUITE_P(FlowCache, GroupsTest, testing::Bool());

class GroupTableTest : public testing::Test {
 protected:
  absl::Status Put(uint32_t id, const std::vector<uint32_t>& next, uint32_t watch = 0) {
    GroupSpec spec{.id = id, .type = GroupType::kAll, .hash_fields = {}, .buckets = {}};
    for (const uint32_t group : next) {
      spec.buckets.push_back({.id = static_cast<uint32_t>(spec.buckets.size()), .actions = {ToGroup(group)}});
    }
    if (watch != 0) spec.buckets.push_back({.id = 99, .watch_group = watch, .actions = {}});
    return groups_.Update(spec, true).status();
  }

  Reclaimer reclaimer_{1};
  GroupTable groups_{1, 30, reclaimer_};
};

TEST_F(GroupTableTest, RefusesLoopsAndNamesThem) {
  EXPECT_THAT(Put(1, {1}).message(), HasSubstr("1 -> 1"));
  EXPECT_TRUE(Put(1, {2}).ok());  // that do not exist yet
  EXPECT_TRUE(Put(2, {3}).ok());
  const absl::Status loop = Put(3, {5, 1});
  EXPECT_EQ(loop.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(loop.message(), HasSubstr("3 -> 1 -> 2 -> 3"));
  EXPECT_EQ(groups_.size(), 2u);
  EXPECT_EQ(Put(3, {}, 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Put(3, {5}).ok());
}

TEST_F(GroupTableTest, RefusesWhatIsTooDeepOrTooWide) {
  for (uint32_t id = 1; id < kMaxGroupDepth; ++id) ASSERT_TRUE(Put(id + 1, {id}).ok()) << id;
  EXPECT_THAT(Put(kMaxGroupDepth + 1, {kMaxGroupDepth}).message(), HasSubstr("more than 16"));
  // Lengthened at the other end.
  EXPECT_FALSE(Put(1, {20}).ok());
  ASSERT_TRUE(Put(21, std::vector<uint32_t>(64, 22)).ok());
  EXPECT_THAT(Put(22, std::vector<uint32_t>(64, 23)).message(), HasSubstr("more than 4096"));
  EXPECT_TRUE(Put(22, std::vector<uint32_t>(63, 23)).ok());
}

TEST_F(GroupTableTest, HasALimit) {
  for (uint32_t id = 1; id <= 30; ++id) ASSERT_TRUE(Put(id, {}).ok());
  EXPECT_EQ(Put(31, {}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Put(30, {}).ok());
}

// The bucket changes all the time; every packet goes to the one or to the other.
TEST(GroupThreadsTest, ChangesBesideRunningWorkersLoseNothing) {
  TestSwitch test_switch(2);
  test_switch.AddPort(1, {.rx_queues = 2});
  test_switch.AddPort(2).KeepNothing();
  test_switch.AddPort(3).KeepNothing();
  GroupTable& groups = test_switch.engine().groups();
  const auto to = [&](uint32_t port) {
    return GroupSpec{.id = 1, .type = GroupType::kSelect, .buckets = {Bucket(port, {OutputTo(port)})}};
  };
  ASSERT_TRUE(groups.Create(to(2)).ok());
  const uint64_t flow = test_switch.AddFlow({}, {ToGroup(1)});
  test_switch.engine().Start();
  std::atomic<bool> stop{false};
  std::thread changes([&] {
    for (uint32_t i = 0; !stop; ++i) ASSERT_TRUE(groups.Update(to(2 + i % 2), false).ok());
  });
  constexpr uint64_t kFrames = 10'000;
  for (uint64_t i = 0; i < kFrames; ++i) {
    test_switch.port(1).Deliver(Udp(static_cast<uint16_t>(i)), static_cast<uint16_t>(i % 2));
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (test_switch.engine().Totals().received < kFrames && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  stop = true;
  changes.join();
  const PacketTotals totals = test_switch.engine().Totals();
  EXPECT_EQ(totals.forwarded, kFrames);
  EXPECT_EQ(test_switch.StatsOf(flow).packets, kFrames);
  EXPECT_EQ(groups.Delete(1)->count.packets, kFrames);
}

}  // namespace
}  // namespace sluice
