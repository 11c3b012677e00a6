// A trace against what the switch then does with the same packet, and what it
// says of the way there.

#include "dataplane/worker/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/support/packet_builder.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Fate = TracedOutput::Fate;

Bytes Udp(uint16_t dst = 53, uint8_t ttl = 64, size_t size = 60) {
  return PacketBuilder().Ipv4({.dst = "192.0.2.2", .ttl = ttl}).Udp({.dst = dst}).PadTo(size).Build();
}

class TracerTest : public testing::Test {
 protected:
  TracerTest() {
    for (uint32_t number = 1; number <= 4; ++number) switch_.AddPort(number);
    free_before_ = FreeBuffers();
  }
  void TearDown() override { EXPECT_EQ(FreeBuffers(), free_before_); }

  TraceResult MustTrace(uint32_t in_port, const Bytes& frame) {
    absl::StatusOr<TraceResult> result = Trace(switch_.engine(), switch_.flows(), TestPool(), in_port, frame);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : TraceResult{};
  }

  TestSwitch switch_;
  unsigned free_before_;
};

// By port, in their order.
std::map<uint32_t, std::vector<Bytes>> SentBy(const TraceResult& result) {
  std::map<uint32_t, std::vector<Bytes>> sent;
  const auto take = [&](const std::vector<TracedAction>& actions) {
    for (const TracedAction& action : actions) {
      for (const TracedOutput& output : action.outputs) {
        if (output.fate == Fate::kSent) sent[output.port].push_back(output.frame);
      }
    }
  };
  for (const TracedTable& table : result.tables) take(table.actions);
  take(result.action_set);
  return sent;
}

TEST_F(TracerTest, SaysWhatWonAndWhatItBeat) {
  const uint64_t low = switch_.AddFlow({}, {}, 1);
  const uint64_t high = switch_.AddFlow(MatchOf({{Field::kUdpDst, 53}}), {OutputTo(2)}, 9);
  const uint64_t middle = switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {OutputTo(3)}, 5);
  switch_.AddFlow(MatchOf({{Field::kInPort, 2}}), {OutputTo(3)}, 7);
  const TraceResult result = MustTrace(1, Udp());
  ASSERT_THAT(result.tables, SizeIs(1));
  std::vector<uint64_t> ids;
  for (const FlowInfo& flow : result.tables[0].flows) ids.push_back(flow.id);
  EXPECT_THAT(ids, ElementsAre(high, middle, low));
  // Behind the first mask nothing could be better.
  EXPECT_THAT(result.tables[0].masks, ElementsAre(MatchOf({{Field::kUdpDst, 53}}).mask));
  EXPECT_TRUE(result.forwarded);
  EXPECT_THAT(SentBy(result), ElementsAre(testing::Pair(2, ElementsAre(Udp()))));
}

TEST_F(TracerTest, ShowsTheFrameBehindEachAction) {
  switch_.AddFlow({}, {SetTo(Field::kUdpDst, 54), OutputTo(2), Of(ActionType::kDecTtl), GoTo(3)});
  switch_.AddFlowTo(3, MatchOf({{Field::kUdpDst, 54}}), {OutputTo(3), SetTo(Field::kUdpDst, 55)});
  const TraceResult result = MustTrace(1, Udp());
  ASSERT_THAT(result.tables, SizeIs(2));
  const std::vector<TracedAction>& first = result.tables[0].actions;
  ASSERT_THAT(first, SizeIs(4));
  EXPECT_NE(first[0].after, Udp());
  EXPECT_EQ(first[1].after, first[0].after);
  ASSERT_THAT(first[1].outputs, SizeIs(1));
  EXPECT_EQ(first[1].outputs[0].frame, first[0].after);
  EXPECT_NE(first[2].after, first[1].after);
  EXPECT_EQ(GetField(result.tables[1].key, Field::kUdpDst), 54u);
  EXPECT_EQ(GetField(result.tables[1].key, Field::kIpTtl), 63u);
  const std::vector<TracedAction>& second = result.tables[1].actions;
  ASSERT_THAT(second, SizeIs(2));
  EXPECT_TRUE(second[0].carried_out);
  EXPECT_FALSE(second[1].carried_out);  // nobody sees it
  EXPECT_EQ(second[1].after, second[0].after);
}

TEST_F(TracerTest, CarriesOutTheActionSet) {
  switch_.AddFlow({}, {Deferred(OutputTo(2)), Deferred(Of(ActionType::kDecTtl)), GoTo(1)});
  const TraceResult result = MustTrace(1, Udp(53, 9));
  ASSERT_THAT(result.tables, SizeIs(2));
  EXPECT_THAT(result.tables[1].flows, IsEmpty());
  ASSERT_THAT(result.action_set, SizeIs(2));
  EXPECT_EQ(result.action_set[0].action.type, ActionType::kDecTtl);
  EXPECT_THAT(SentBy(result), ElementsAre(testing::Pair(2, SizeIs(1))));
}

TEST_F(TracerTest, SaysWhyCopiesAndPacketsAreLost) {
  switch_.engine().SetState(2, {.enabled = false}).IgnoreError();
  switch_.engine().SetState(3, {.mtu = 68}).IgnoreError();
  switch_.AddFlow({}, {OutputTo(2), OutputTo(3), OutputTo(1), OutputTo(77)});
  const TraceResult result = MustTrace(1, Udp(53, 64, 200));
  const std::vector<TracedAction>& actions = result.tables.at(0).actions;
  ASSERT_THAT(actions, SizeIs(4));
  ASSERT_THAT(actions[0].outputs, SizeIs(1));
  EXPECT_EQ(actions[0].outputs[0].fate, Fate::kDown);
  ASSERT_THAT(actions[1].outputs, SizeIs(1));
  EXPECT_EQ(actions[1].outputs[0].fate, Fate::kMtu);
  EXPECT_THAT(actions[2].outputs, IsEmpty());
  switch_.flows().DeleteMatching({}, [](FlowTable::DeletedSum) {});
  switch_.Run();
  EXPECT_EQ(MustTrace(1, Udp()).drop_reason, DropReason::kNoFlow);
  EXPECT_EQ(MustTrace(1, Bytes(13)).drop_reason, DropReason::kMalformed);
  EXPECT_EQ(MustTrace(1, {}).drop_reason, DropReason::kMalformed);
  switch_.AddFlow({}, {Of(ActionType::kDecTtl), OutputTo(4)});
  EXPECT_EQ(MustTrace(1, Udp(53, 1)).drop_reason, DropReason::kTtl);
  EXPECT_FALSE(MustTrace(1, Udp(53, 1)).forwarded);
}

TEST_F(TracerTest, ChangesAndCountsNothing) {
  const uint64_t flow = switch_.AddFlow({}, {OutputTo(2)});
  for (int i = 0; i < 3; ++i) MustTrace(1, Udp());
  EXPECT_EQ(switch_.StatsOf(flow).packets, 0u);
  EXPECT_EQ(switch_.flows().Table(0).lookups, 0u);
  EXPECT_EQ(switch_.engine().Totals().forwarded, 0u);
  EXPECT_EQ(switch_.engine().StatsOf(2)->transmit_packets, 0u);
  EXPECT_THAT(switch_.port(2).TakeSent(), IsEmpty());
}

TEST_F(TracerTest, TakesLongFrames) {
  switch_.AddFlow({}, {OutputTo(2)});
  switch_.engine().SetState(2, {.mtu = 9000}).IgnoreError();
  const Bytes frame = Udp(53, 64, 9000);
  EXPECT_THAT(SentBy(MustTrace(1, frame))[2], ElementsAre(frame));
}

TEST_F(TracerTest, NamesWhatIsMissing) {
  EXPECT_EQ(Trace(switch_.engine(), switch_.flows(), TestPool(), 9, Udp()).status(),
            absl::NotFoundError("there is no port 9"));
  std::vector<rte_mbuf*> hoard;
  TakeAllBuffersBut(0, hoard);
  const absl::StatusOr<TraceResult> result = Trace(switch_.engine(), switch_.flows(), TestPool(), 1, Udp());
  EXPECT_TRUE(absl::IsResourceExhausted(result.status()));
  ReturnBuffers(hoard);
}

TEST_F(TracerTest, HasAnEndWhateverThereIsToTell) {
  ActionList rewrites(63, SetTo(Field::kUdpDst, 54));
  rewrites.push_back(OutputTo(2));
  switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), rewrites, 3000);
  for (uint16_t priority = 1; priority <= 1500; ++priority) switch_.AddFlow({}, {}, priority);
  const TraceResult result = MustTrace(1, Udp());
  ASSERT_THAT(result.tables, SizeIs(1));
  EXPECT_THAT(result.tables[0].flows, SizeIs(1000));
  EXPECT_EQ(result.tables[0].flows_left_out, 501u);
  EXPECT_THAT(result.tables[0].actions, SizeIs(64));

  const Bytes jumbo = Udp(53, 64, 65'535);
  const absl::Status status = Trace(switch_.engine(), switch_.flows(), TestPool(), 1, jumbo).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), testing::HasSubstr("65535 bytes"));
}

TEST_F(TracerTest, TheCopyOfAMissIsNoActions) {
  switch_.engine().ListenForPackets(true);
  switch_.flows().SetMissPolicy(1, MissPolicy::kController);
  Action later = OutputTo(2);
  later.deferred = true;
  switch_.AddFlow({}, {later, GoTo(1)});
  const TraceResult result = MustTrace(1, Udp());
  ASSERT_THAT(result.action_set, SizeIs(1));
  EXPECT_FALSE(result.action_set[0].to_controllers);
  EXPECT_TRUE(result.forwarded);
  switch_.engine().ListenForPackets(false);
}

// Also through the index of masks, and with chains of ranges.
TEST_F(TracerTest, TheWinnerIsTheLookups) {
  std::mt19937 random(1);
  std::map<uint64_t, uint32_t> outputs;
  for (int i = 0; i < 400; ++i) {
    Match match;
    const auto first = static_cast<uint16_t>(random() % 40), last = static_cast<uint16_t>(40 + random() % 40);
    if (i % 4 == 0) {
      MatchOnRange(match, Field::kUdpDst, {first, last});
    } else {
      const absl::uint128 mask = random() % 0x10000;
      MatchOn(match, Field::kUdpDst, random() & mask, mask);
    }
    const auto port = static_cast<uint32_t>(2 + random() % 3);
    switch_.AddFlow(match, {OutputTo(port)}, static_cast<uint16_t>(random() % 50));
  }
  for (uint16_t dst = 0; dst < 300; ++dst) {
    const Bytes frame = Udp(dst);
    const TraceResult result = MustTrace(1, frame);
    switch_.Receive(1, {frame});
    const auto traced = SentBy(result);
    for (uint32_t port = 2; port <= 4; ++port) {
      const auto sent = traced.find(port);
      EXPECT_EQ(switch_.port(port).TakeSent(), sent == traced.end() ? std::vector<Bytes>() : sent->second) << dst;
    }
  }
}

}  // namespace
}  // namespace sluice
