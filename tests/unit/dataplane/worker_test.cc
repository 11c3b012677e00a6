// The packet loop on ports in memory, a round at a time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/packet_builder.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;

Bytes Udp(uint16_t dst = 53, std::string_view payload = "payload") {
  return PacketBuilder().Ipv4().Udp({.dst = dst}).Payload(payload).PadTo(60).Build();
}

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    for (uint32_t number = 1; number <= 4; ++number) switch_.AddPort(number);
    free_before_ = FreeBuffers();
  }
  void TearDown() override {
    EXPECT_TRUE(switch_.Conserves());
    EXPECT_EQ(FreeBuffers(), free_before_);
  }

  std::vector<Bytes> Sent(uint32_t port) { return switch_.port(port).TakeSent(); }
  PortStats Stats(uint32_t port) { return *switch_.engine().StatsOf(port); }
  uint64_t Forwarded() { return switch_.engine().Totals().forwarded; }

  TestSwitch switch_;
  unsigned free_before_;
};

TEST_F(WorkerTest, ForwardsUnchangedAndCounts) {
  const uint64_t flow = switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {OutputTo(2)});
  const Bytes a = Udp(1);
  const Bytes b = Udp(2, std::string(1400, 'x'));
  switch_.Receive(1, {a, b});
  EXPECT_THAT(Sent(2), ElementsAre(a, b));
  EXPECT_EQ(switch_.StatsOf(flow).packets, 2u);
  EXPECT_EQ(switch_.StatsOf(flow).bytes, a.size() + b.size());
  EXPECT_NE(switch_.StatsOf(flow).last_used, absl::InfinitePast());
  EXPECT_EQ(Stats(1).receive_packets, 2u);
  EXPECT_EQ(Stats(1).receive_bytes, a.size() + b.size());
  EXPECT_EQ(Stats(2).transmit_packets, 2u);
  EXPECT_EQ(Stats(2).transmit_bytes, a.size() + b.size());
  const PacketTotals totals = switch_.engine().Totals();
  EXPECT_EQ(totals.received, 2u);
  EXPECT_EQ(totals.forwarded, 2u);
}

TEST_F(WorkerTest, LastUsedIsNow) {
  const uint64_t flow = switch_.AddFlow({}, {OutputTo(2)});
  const absl::Time before = absl::Now();
  switch_.Receive(1, {Udp()});
  const absl::Time used = switch_.StatsOf(flow).last_used;
  EXPECT_GT(used, before - absl::Milliseconds(50));
  EXPECT_LT(used, absl::Now() + absl::Milliseconds(50));
}

// More than a burst, of flows that take turns: grouping them must not reorder.
TEST_F(WorkerTest, KeepsOrderAcrossFlows) {
  std::vector<uint64_t> flows;
  for (uint16_t port = 0; port < 40; ++port) {
    flows.push_back(switch_.AddFlow(MatchOf({{Field::kUdpDst, port}}), {OutputTo(2 + port % 2)}));
  }
  std::vector<Bytes> frames;
  std::vector<Bytes> even;
  std::vector<Bytes> odd;
  for (int i = 0; i < 400; ++i) {
    const auto port = static_cast<uint16_t>(i * 7 % 40);
    frames.push_back(Udp(port, std::to_string(i)));
    (port % 2 == 0 ? even : odd).push_back(frames.back());
  }
  switch_.Receive(1, frames);
  EXPECT_THAT(Sent(2), ElementsAreArray(even));
  EXPECT_THAT(Sent(3), ElementsAreArray(odd));
  for (const uint64_t flow : flows) EXPECT_EQ(switch_.StatsOf(flow).packets, 10u);
}

TEST_F(WorkerTest, CopiesForEveryOutputAsThePacketIsThen) {
  switch_.AddFlow({}, {OutputTo(2), SetTo(Field::kEthDst, 0x020000000099), OutputTo(3), OutputTo(2), OutputTo(4)});
  const Bytes frame = Udp();
  Bytes changed = frame;
  changed[5] = 0x99;
  switch_.Receive(1, {frame});
  EXPECT_THAT(Sent(2), ElementsAre(frame, changed));
  EXPECT_THAT(Sent(3), ElementsAre(changed));
  EXPECT_THAT(Sent(4), ElementsAre(changed));
  EXPECT_EQ(Forwarded(), 1u);
}

TEST_F(WorkerTest, SameFrameManyTimesToOnePort) {
  switch_.AddFlow({}, ActionList(64, OutputTo(2)));
  const Bytes frame = Udp();
  switch_.Receive(1, {frame, frame});
  EXPECT_THAT(Sent(2), ElementsAreArray(std::vector<Bytes>(128, frame)));
}

TEST_F(WorkerTest, ActionsBehindTheLastOutputHaveNoEffect) {
  switch_.AddFlow({}, {OutputTo(2), SetTo(Field::kEthDst, 1), Of(ActionType::kPopVlan), Of(ActionType::kDecTtl)});
  const Bytes frame = PacketBuilder().Vlan({.vid = 7}).Ipv4({.ttl = 1}).Udp().PadTo(64).Build();
  switch_.Receive(1, {frame});
  EXPECT_THAT(Sent(2), ElementsAre(frame));
  EXPECT_EQ(Forwarded(), 1u);
}

TEST_F(WorkerTest, OutputToIngressIsDropped) {
  const uint64_t flow = switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {OutputTo(1)});
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Sent(1), IsEmpty());
  EXPECT_EQ(switch_.Drops(DropReason::kOutputToIngress), 1u);
  EXPECT_EQ(switch_.StatsOf(flow).packets, 1u);
}

TEST_F(WorkerTest, OutputInPortSendsBack) {
  switch_.AddFlow({}, {Of(ActionType::kOutputInPort)});
  const Bytes frame = Udp();
  switch_.Receive(3, {frame});
  EXPECT_THAT(Sent(3), ElementsAre(frame));
  EXPECT_EQ(Forwarded(), 1u);
}

TEST_F(WorkerTest, OutputAllSparesIngressAndDisabledPorts) {
  switch_.AddFlow({}, {Of(ActionType::kOutputAll)});
  ASSERT_TRUE(switch_.engine().SetState(4, {.enabled = false}).ok());
  const Bytes frame = Udp();
  switch_.Receive(1, {frame});
  EXPECT_THAT(Sent(1), IsEmpty());
  EXPECT_THAT(Sent(2), ElementsAre(frame));
  EXPECT_THAT(Sent(3), ElementsAre(frame));
  EXPECT_THAT(Sent(4), IsEmpty());
  EXPECT_EQ(Stats(4).drop_down, 0u);
}

TEST_F(WorkerTest, OutputAllWithNoOtherPort) {
  switch_.AddFlow({}, {Of(ActionType::kOutputAll)});
  for (uint32_t number = 2; number <= 4; ++number) {
    ASSERT_TRUE(switch_.engine().SetState(number, {.enabled = false}).ok());
  }
  switch_.Receive(1, {Udp()});
  EXPECT_EQ(switch_.Drops(DropReason::kOutputToIngress), 1u);
}

TEST_F(WorkerTest, OutputAllThenMore) {
  switch_.AddFlow({}, {Of(ActionType::kOutputAll), SetTo(Field::kEthSrc, 5), Of(ActionType::kOutputInPort)});
  const Bytes frame = Udp();
  switch_.Receive(1, {frame});
  for (uint32_t number = 2; number <= 4; ++number) EXPECT_THAT(Sent(number), ElementsAre(frame));
  EXPECT_THAT(Sent(1), SizeIs(1));
}

TEST_F(WorkerTest, FirstCauseCounts) {
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 1}}), {OutputTo(99), OutputTo(1)});
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 2}}), {OutputTo(1), OutputTo(99)});
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 3}}), {OutputTo(99), Of(ActionType::kDecTtl), OutputTo(2)});
  Bytes expiring = PacketBuilder().Ipv4({.ttl = 1}).Udp({.dst = 3}).PadTo(60).Build();
  switch_.Receive(1, {Udp(1), Udp(2), expiring});
  EXPECT_EQ(switch_.Drops(DropReason::kNoSuchPort), 2u);
  EXPECT_EQ(switch_.Drops(DropReason::kOutputToIngress), 1u);
  EXPECT_EQ(switch_.Drops(DropReason::kTtl), 0u);
}

TEST_F(WorkerTest, OneOutputThatWorksIsForwarding) {
  switch_.AddFlow({}, {OutputTo(99), OutputTo(2), OutputTo(1)});
  const Bytes frame = Udp();
  switch_.Receive(1, {frame});
  EXPECT_THAT(Sent(2), ElementsAre(frame));
  EXPECT_EQ(Forwarded(), 1u);
  EXPECT_EQ(switch_.Drops(DropReason::kNoSuchPort), 0u);
}

TEST_F(WorkerTest, NoFlowAndNoOutput) {
  const uint64_t drop = switch_.AddFlow(MatchOf({{Field::kUdpDst, 1}}), {});
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 2}}), {SetTo(Field::kEthDst, 1), Of(ActionType::kDecTtl)});
  switch_.Receive(1, {Udp(1), Udp(2), Udp(3)});
  EXPECT_EQ(switch_.Drops(DropReason::kActionDrop), 2u);
  EXPECT_EQ(switch_.Drops(DropReason::kNoFlow), 1u);
  EXPECT_EQ(switch_.StatsOf(drop).packets, 1u);
}

TEST_F(WorkerTest, DecTtl) {
  switch_.AddFlow({}, {Of(ActionType::kDecTtl), OutputTo(2)});
  const auto with_ttl = [](uint8_t ttl) { return PacketBuilder().Ipv4({.ttl = ttl}).Udp().PadTo(60).Build(); };
  const auto with_limit = [](uint8_t limit) {
    return PacketBuilder().Ipv6({.hop_limit = limit}).Udp().PadTo(80).Build();
  };
  switch_.Receive(1, {with_ttl(64), with_ttl(2), with_ttl(1), with_ttl(0), with_limit(64), with_limit(1), with_limit(0),
                      PacketBuilder().Arp().PadTo(60).Build()});
  EXPECT_THAT(Sent(2), ElementsAre(with_ttl(63), with_ttl(1), with_limit(63)));
  EXPECT_EQ(switch_.Drops(DropReason::kTtl), 5u);
}

TEST_F(WorkerTest, ExpiryAfterACopyKeepsTheCopy) {
  switch_.AddFlow({}, {OutputTo(2), Of(ActionType::kDecTtl), OutputTo(3)});
  const Bytes frame = PacketBuilder().Ipv4({.ttl = 1}).Udp().PadTo(60).Build();
  switch_.Receive(1, {frame});
  EXPECT_THAT(Sent(2), ElementsAre(frame));
  EXPECT_THAT(Sent(3), IsEmpty());
  EXPECT_EQ(Forwarded(), 1u);
  EXPECT_EQ(switch_.Drops(DropReason::kTtl), 0u);
}

TEST_F(WorkerTest, ShortFramesAreMalformed) {
  switch_.AddFlow({}, {OutputTo(2)});
  switch_.Receive(1, {Bytes(1, 0), Bytes(13, 0xff), Bytes(14, 0xff)});
  EXPECT_THAT(Sent(2), ElementsAre(Bytes(14, 0xff)));
  EXPECT_EQ(switch_.Drops(DropReason::kMalformed), 2u);
  EXPECT_EQ(switch_.engine().Totals().malformed, 2u);
  EXPECT_EQ(Stats(1).receive_bytes, 28u);
}

// Nothing that no flow looks at is parsed.
TEST_F(WorkerTest, MalformedHeadersThatNoFlowLooksAtAreForwarded) {
  switch_.AddFlow(MatchOf({{Field::kEthType, 0x0800}}), {OutputTo(2)});
  const Bytes frame = PacketBuilder().Ipv4({.total_length = 1000}).Udp().PadTo(60).Build();
  switch_.Receive(1, {frame});
  EXPECT_THAT(Sent(2), ElementsAre(frame));
  EXPECT_EQ(switch_.engine().Totals().malformed, 0u);
}

TEST_F(WorkerTest, MalformedHeadersAreCountedAndForwarded) {
  switch_.AddFlow({}, {OutputTo(2)});
  switch_.AddFlow(MatchOf({{Field::kIpProto, 6}}), {OutputTo(3)});
  const Bytes frame = PacketBuilder().Ipv4({.total_length = 1000}).Udp().PadTo(60).Build();
  switch_.Receive(1, {frame});
  EXPECT_THAT(Sent(2), ElementsAre(frame));
  EXPECT_EQ(switch_.engine().Totals().malformed, 1u);
  EXPECT_EQ(Forwarded(), 1u);
}

TEST_F(WorkerTest, StrippedTagIsPutBack) {
  const uint64_t flow = switch_.AddFlow(MatchOf({{Field::kVlanVid, 5}}), {OutputTo(2)});
  const Bytes tagged = PacketBuilder().Vlan({.vid = 5, .pcp = 3}).Ipv4().Udp().PadTo(64).Build();
  Bytes bare = tagged;
  bare.erase(bare.begin() + 12, bare.begin() + 16);
  switch_.port(1).Deliver(MemoryFrame{.bytes = bare, .stripped_tci = 0x6005});
  switch_.Run();
  EXPECT_THAT(Sent(2), ElementsAre(tagged));
  EXPECT_EQ(switch_.StatsOf(flow).bytes, tagged.size());
}

TEST_F(WorkerTest, PushFindsRoomWhereThereIsNone) {
  ActionList actions(40, Action{.type = ActionType::kPushVlan, .tpid = 0x8100});
  actions.push_back(OutputTo(2));
  switch_.AddFlow({}, actions);
  const Bytes frame = Udp();
  switch_.port(1).Deliver(frame);
  switch_.port(1).Deliver(MemoryFrame{.bytes = frame, .headroom = 3});
  switch_.Run();
  Bytes pushed = frame;
  for (int i = 0; i < 40; ++i) pushed.insert(pushed.begin() + 12, {0x81, 0, 0, 0});
  EXPECT_THAT(Sent(2), ElementsAre(pushed, pushed));
}

TEST_F(WorkerTest, PushOnlyIfUntagged) {
  switch_.AddFlow({}, {Action{.type = ActionType::kPushVlan, .only_if_untagged = true, .tpid = 0x8100},
                       SetTo(Field::kVlanVid, 9), OutputTo(2)});
  const Bytes tagged = PacketBuilder().Vlan({.vid = 9}).Ipv4().Udp().PadTo(64).Build();
  Bytes bare = tagged;
  bare.erase(bare.begin() + 12, bare.begin() + 16);
  switch_.Receive(1, {tagged, bare});
  EXPECT_THAT(Sent(2), ElementsAre(tagged, tagged));
}

TEST_F(WorkerTest, MtuCountsNeitherHeaderNorTags) {
  switch_.AddFlow({}, {OutputTo(2)});
  const auto frame = [](size_t payload, int tags) {
    PacketBuilder builder;
    for (int i = 0; i < tags; ++i) builder.Vlan({.vid = 1});
    return builder.EtherType(0x88b5).Payload(Bytes(payload, 1)).Build();
  };
  switch_.Receive(1, {frame(1500, 0), frame(1501, 0), frame(1500, 1), frame(1501, 1), frame(1500, 2), frame(1501, 2)});
  EXPECT_THAT(Sent(2), ElementsAre(frame(1500, 0), frame(1500, 1), frame(1500, 2)));
  EXPECT_EQ(Stats(2).drop_mtu, 3u);
  EXPECT_EQ(Forwarded(), 6u);
  ASSERT_TRUE(switch_.engine().SetState(2, {.mtu = 1501}).ok());
  switch_.Receive(1, {frame(1501, 0)});
  EXPECT_THAT(Sent(2), SizeIs(1));
}

TEST_F(WorkerTest, DisabledPortNeitherSendsNorReceives) {
  switch_.AddFlow({}, {OutputTo(2)});
  ASSERT_TRUE(switch_.engine().SetState(2, {.enabled = false}).ok());
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Sent(2), IsEmpty());
  EXPECT_EQ(Stats(2).drop_down, 1u);
  EXPECT_EQ(Forwarded(), 1u);
  switch_.Receive(2, {Udp()});
  EXPECT_EQ(switch_.port(2).Waiting(), 1u);
  ASSERT_TRUE(switch_.engine().SetState(2, {.enabled = true}).ok());
  switch_.Run();
  EXPECT_EQ(switch_.port(2).Waiting(), 0u);
  EXPECT_EQ(switch_.Drops(DropReason::kOutputToIngress), 1u);
}

TEST_F(WorkerTest, PortThatDoesNotReceiveStillSends) {
  switch_.AddFlow({}, {OutputTo(2)});
  ASSERT_TRUE(switch_.engine().SetState(2, {.receive = false}).ok());
  switch_.Receive(2, {Udp()});
  EXPECT_EQ(switch_.port(2).Waiting(), 1u);
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Sent(2), SizeIs(1));
  ASSERT_TRUE(switch_.engine().SetState(2, {}).ok());
  switch_.Run();
  EXPECT_EQ(Stats(2).receive_packets, 1u);
}

TEST_F(WorkerTest, FullDeviceDropsTheRest) {
  switch_.AddFlow({}, {OutputTo(2)});
  switch_.port(2).SetRoom(3);
  std::vector<Bytes> frames;
  for (int i = 0; i < 10; ++i) frames.push_back(Udp(53, std::to_string(i)));
  switch_.Receive(1, frames);
  EXPECT_THAT(Sent(2), ElementsAre(frames[0], frames[1], frames[2]));
  EXPECT_EQ(Stats(2).transmit_packets, 3u);
  EXPECT_EQ(Stats(2).transmit_bytes, 180u);
  EXPECT_EQ(Stats(2).drop_tx_full, 7u);
  EXPECT_EQ(Forwarded(), 10u);
}

TEST_F(WorkerTest, RemovedPortIsUnknownAndKeepsItsCounts) {
  switch_.AddFlow({}, {OutputTo(2)});
  switch_.Receive(1, {Udp()});
  Sent(2);
  EXPECT_EQ(switch_.RemovePort(2).transmit_packets, 1u);
  switch_.Receive(1, {Udp()});
  EXPECT_EQ(switch_.Drops(DropReason::kNoSuchPort), 1u);
  switch_.AddPort(2);
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Sent(2), SizeIs(1));
  EXPECT_EQ(Stats(2).transmit_packets, 1u);
}

TEST_F(WorkerTest, HighestPortNumber) {
  switch_.AddPort(kMaxPortNumber);
  switch_.AddFlow({}, {OutputTo(kMaxPortNumber)});
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Sent(kMaxPortNumber), SizeIs(1));
}

TEST_F(WorkerTest, NumberAndCountOfPortsAreLimited) {
  for (uint32_t number = 5; number <= Dataplane::kMaxPorts; ++number) switch_.AddPort(number);
  MemoryPort port(TestPool());
  EXPECT_EQ(switch_.engine().Attach(port, 100, {}).code(), absl::StatusCode::kResourceExhausted);
  switch_.RemovePort(32);
  EXPECT_EQ(switch_.engine().Attach(port, 4, {}).code(), absl::StatusCode::kAlreadyExists);
}

// A flow that two versions of the table have; what it counts goes on.
TEST_F(WorkerTest, ModifyLosesNothing) {
  const uint64_t flow = switch_.AddFlow({}, {OutputTo(2)});
  switch_.Receive(1, std::vector<Bytes>(10, Udp()));
  const FlowChange change = UpdateFlow{.key = flow, .actions = {OutputTo(3)}};
  switch_.flows().Write({&change, 1}, BatchMode::kPerItem, false, [](auto) {});
  switch_.Receive(1, std::vector<Bytes>(5, Udp()));
  EXPECT_THAT(Sent(2), SizeIs(10));
  EXPECT_THAT(Sent(3), SizeIs(5));
  EXPECT_EQ(switch_.StatsOf(flow).packets, 15u);
  EXPECT_EQ(switch_.DeleteFlow(flow).packets, 15u);
}

TEST_F(WorkerTest, EmptyPoolLosesCopiesOnly) {
  switch_.AddFlow({}, {OutputTo(2), OutputTo(3)});
  std::vector<rte_mbuf*> hoard;
  switch_.port(1).Deliver(Udp());
  TakeAllBuffersBut(1, hoard);
  switch_.Run();
  ReturnBuffers(hoard);
  EXPECT_THAT(Sent(2), IsEmpty());
  EXPECT_THAT(Sent(3), SizeIs(1));
  EXPECT_EQ(Stats(2).drop_no_buffers, 1u);
  EXPECT_EQ(Forwarded(), 1u);
}

TEST_F(WorkerTest, EmptyPoolAndAPushWithoutRoom) {
  switch_.AddFlow({}, {Action{.type = ActionType::kPushVlan, .tpid = 0x8100}, OutputTo(2)});
  std::vector<rte_mbuf*> hoard;
  switch_.port(1).Deliver(MemoryFrame{.bytes = Udp(), .headroom = 0});
  TakeAllBuffersBut(1, hoard);
  switch_.Run();
  ReturnBuffers(hoard);
  EXPECT_EQ(switch_.Drops(DropReason::kNoBuffers), 1u);
}

}  // namespace
}  // namespace sluice
