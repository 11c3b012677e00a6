// Packets to controllers and from them, through memory ports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "dataplane/group/group_table.h"
#include "tests/support/packet_builder.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kNewMac = 0x02000000aa01;

Bytes Udp(uint16_t dst = 53, size_t size = 60) {
  return PacketBuilder().Ipv4({.ttl = 64}).Udp({.dst = dst}).Payload("payload").PadTo(size).Build();
}

Action ToController(uint32_t max_len = 0) { return {.type = ActionType::kController, .port = max_len}; }

struct Taken {
  PuntedPacket packet;
  Bytes bytes;
};

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() {
    for (uint32_t number = 1; number <= 3; ++number) switch_.AddPort(number);
    free_before_ = FreeBuffers();
  }
  void TearDown() override {
    const PacketTotals totals = switch_.engine().Totals();
    uint64_t drops = 0;
    for (const uint64_t n : totals.drops) drops += n;
    EXPECT_EQ(totals.received + totals.injected, totals.forwarded + drops);
    EXPECT_EQ(FreeBuffers(), free_before_);
  }

  std::vector<Taken> Take() {
    std::vector<Taken> taken;
    switch_.engine().TakePackets(1000, [&](const PuntedPacket& packet, std::span<const uint8_t> bytes) {
      taken.push_back({packet, Bytes(bytes.begin(), bytes.end())});
    });
    return taken;
  }
  std::vector<Bytes> Sent(uint32_t port) { return switch_.port(port).TakeSent(); }
  absl::StatusOr<Dataplane::Sent> Send(const Bytes& bytes, uint32_t in_port, ActionList actions) {
    return switch_.Send(bytes, in_port, std::move(actions));
  }

  TestSwitch switch_;
  unsigned free_before_;
};

TEST_F(ControllerTest, WithoutListenersItIsADropAndOtherOutputsGoOn) {
  switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {ToController()});
  switch_.AddFlow(MatchOf({{Field::kInPort, 2}}), {ToController(), OutputTo(3), ToController()});
  switch_.Receive(1, {Udp()});
  switch_.Receive(2, {Udp()});
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(switch_.Drops(DropReason::kNoController), 1u);
  EXPECT_THAT(Sent(3), SizeIs(1));
  EXPECT_EQ(switch_.engine().Totals().forwarded, 1u);
}

TEST_F(ControllerTest, ACopyTellsWhatIsKnownOfThePacket) {
  switch_.engine().ListenForPackets(true);
  switch_.AddFlow({}, {SetTo(Field::kMetadata, 0x77), SetTo(Field::kReg0, 5), GoTo(4)});
  const uint64_t flow = switch_.AddFlowTo(4, {}, {ToController(20)});
  const Bytes frame = Udp(53, 100);
  switch_.Receive(2, {frame});
  const std::vector<Taken> taken = Take();
  ASSERT_THAT(taken, SizeIs(1));
  const PuntedPacket& packet = taken[0].packet;
  EXPECT_EQ(taken[0].bytes, Bytes(frame.begin(), frame.begin() + 20));
  EXPECT_EQ(packet.length, 100u);
  EXPECT_EQ(packet.in_port, 2u);
  EXPECT_EQ(packet.table_id, 4u);
  EXPECT_EQ(packet.flow_id, flow);
  EXPECT_EQ(packet.metadata, 0x77u);
  EXPECT_EQ(packet.registers[0], 5u);
  EXPECT_EQ(packet.reason, PuntReason::kAction);
  EXPECT_GT(packet.time_unix_ns, 1'500'000'000'000'000'000);
  EXPECT_EQ(switch_.engine().Totals().forwarded, 1u);
}

TEST_F(ControllerTest, EachStandsInTheListWhereItStands) {
  switch_.engine().ListenForPackets(true);
  switch_.AddFlow({}, {ToController(), SetTo(Field::kEthDst, kNewMac), ToController(), OutputTo(2)});
  const Bytes frame = Udp();
  switch_.Receive(1, {frame});
  const std::vector<Taken> taken = Take();
  ASSERT_THAT(taken, SizeIs(2));
  EXPECT_EQ(taken[0].bytes, frame);
  EXPECT_THAT(Sent(2), ElementsAre(taken[1].bytes));
  EXPECT_NE(taken[1].bytes, frame);
}

TEST_F(ControllerTest, InTheActionSetItIsAnOutputOfWhichTheLastCounts) {
  switch_.engine().ListenForPackets(true);
  const Action set_mac = Deferred(SetTo(Field::kEthDst, kNewMac));
  switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {Deferred(OutputTo(2)), Deferred(ToController(20)), set_mac});
  switch_.AddFlow(MatchOf({{Field::kInPort, 2}}), {Deferred(ToController()), Deferred(OutputTo(3))});
  switch_.Receive(1, {Udp()});
  switch_.Receive(2, {Udp()});
  const std::vector<Taken> taken = Take();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].packet.reason, PuntReason::kActionSet);
  EXPECT_EQ(taken[0].packet.in_port, 1u);
  EXPECT_THAT(taken[0].bytes, SizeIs(20));
  EXPECT_EQ(Bytes(taken[0].bytes.begin(), taken[0].bytes.begin() + 6), (Bytes{0x02, 0, 0, 0, 0xaa, 0x01}));
  EXPECT_THAT(Sent(2), IsEmpty());
  EXPECT_THAT(Sent(3), SizeIs(1));
}

TEST_F(ControllerTest, ABucketSendsToItAndWhatFollowsTheGroupIsForAnotherReason) {
  switch_.engine().ListenForPackets(true);
  GroupSpec group{.id = 7, .type = GroupType::kAll};
  group.buckets.push_back({.id = 0, .actions = {ToController()}});
  group.buckets.push_back({.id = 1, .actions = {SetTo(Field::kEthDst, kNewMac), ToController()}});
  group.buckets.push_back({.id = 2, .actions = {OutputTo(2)}});
  ASSERT_TRUE(switch_.engine().groups().Create(group).ok());
  switch_.AddFlow({}, {{.type = ActionType::kGroup, .port = 7}, ToController()});
  const Bytes frame = Udp();
  switch_.Receive(1, {frame});
  const std::vector<Taken> taken = Take();
  ASSERT_THAT(taken, SizeIs(3));
  EXPECT_EQ(taken[0].packet.reason, PuntReason::kGroup);
  EXPECT_EQ(taken[0].bytes, frame);
  EXPECT_EQ(taken[1].packet.reason, PuntReason::kGroup);
  EXPECT_NE(taken[1].bytes, frame);
  EXPECT_EQ(taken[2].packet.reason, PuntReason::kAction);
  EXPECT_EQ(taken[2].bytes, frame);
  EXPECT_THAT(Sent(2), ElementsAre(frame));
}

TEST_F(ControllerTest, AnActionsOwnReasonGoesBeforeHowThePacketGotThere) {
  switch_.engine().ListenForPackets(true);
  const Action expired{.type = ActionType::kController, .reason = PuntReason::kInvalidTtl};
  GroupSpec group{.id = 7, .type = GroupType::kIndirect};
  group.buckets.push_back({.id = 0, .actions = {expired}});
  ASSERT_TRUE(switch_.engine().groups().Create(group).ok());
  switch_.AddFlow({}, {expired, {.type = ActionType::kGroup, .port = 7}, ToController(), Deferred(expired)});
  switch_.Receive(1, {Udp()});
  std::vector<PuntReason> reasons;
  for (const Taken& taken : Take()) reasons.push_back(taken.packet.reason);
  EXPECT_THAT(reasons, ElementsAre(PuntReason::kInvalidTtl, PuntReason::kInvalidTtl, PuntReason::kAction,
                                   PuntReason::kInvalidTtl));
}

TEST_F(ControllerTest, APacketOutsOwnListHasAReasonAndTheTablesBehindItTheirs) {
  switch_.engine().ListenForPackets(true);
  switch_.AddFlow({}, {ToController()});
  ASSERT_TRUE(Send(Udp(), 1, {ToController(), GoTo(0)}).ok());
  std::vector<PuntReason> reasons;
  for (const Taken& taken : Take()) reasons.push_back(taken.packet.reason);
  EXPECT_THAT(reasons, ElementsAre(PuntReason::kPacketOut, PuntReason::kAction));
}

TEST_F(ControllerTest, ChainsOfBuffersComeWhole) {
  switch_.engine().ListenForPackets(true);
  switch_.AddFlow({}, {ToController()});
  const Bytes frame = Udp(53, 6000);
  switch_.port(1).Deliver(MemoryFrame{.bytes = frame, .cuts = {2000, 4000}});
  switch_.Run();
  const std::vector<Taken> taken = Take();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].bytes, frame);
}

TEST_F(ControllerTest, AMissGoesToControllersIfItsTableSaysSo) {
  switch_.AddFlow(MatchOf({{Field::kInPort, 2}}), {GoTo(3)});
  switch_.flows().SetMissPolicy(0, MissPolicy::kController);
  switch_.flows().SetMissPolicy(3, MissPolicy::kController);
  switch_.Receive(1, {Udp()});
  EXPECT_EQ(switch_.Drops(DropReason::kNoController), 1u);
  switch_.engine().ListenForPackets(true);
  switch_.Receive(1, {Udp()});
  switch_.Receive(2, {Udp()});
  const std::vector<Taken> taken = Take();
  ASSERT_THAT(taken, SizeIs(2));
  EXPECT_EQ(taken[0].packet.reason, PuntReason::kNoMatch);
  EXPECT_EQ(taken[0].packet.table_id, 0u);
  EXPECT_EQ(taken[0].packet.flow_id, 0u);
  EXPECT_EQ(taken[1].packet.table_id, 3u);
  EXPECT_EQ(switch_.Drops(DropReason::kNoFlow), 0u);
}

TEST_F(ControllerTest, AFullQueueIsCountedAndAPacketForControllersOnlyIsDropped) {
  switch_.engine().ListenForPackets(true);
  switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {ToController()});
  switch_.AddFlow(MatchOf({{Field::kInPort, 2}}), {ToController(), OutputTo(3)});
  const Bytes frame = Udp(53, 2000);
  for (int i = 0; i < 30; ++i) switch_.Receive(1, std::vector<Bytes>(20, frame));
  const uint64_t lost = switch_.Drops(DropReason::kControllerQueue);
  EXPECT_GT(lost, 0u);
  switch_.Receive(2, {frame});
  EXPECT_EQ(switch_.Drops(DropReason::kControllerQueue), lost);
  const WorkerInfo worker = switch_.engine().Workers().at(0);
  EXPECT_EQ(worker.punts_lost, lost + 1);
  EXPECT_EQ(worker.punted, 600 - lost);
  EXPECT_THAT(Take(), SizeIs(600 - lost));
}

TEST_F(ControllerTest, SendsAPacketByItsActionsAndCountsItApart) {
  const auto sent = Send(Udp(), 0, {SetTo(Field::kUdpDst, 99), OutputTo(2), OutputTo(3)});
  ASSERT_TRUE(sent.ok()) << sent.status();
  EXPECT_TRUE(sent->forwarded);
  EXPECT_THAT(Sent(2), ElementsAre(Udp(99)));
  EXPECT_THAT(Sent(3), SizeIs(1));
  const PacketTotals totals = switch_.engine().Totals();
  EXPECT_EQ(totals.received, 0u);
  EXPECT_EQ(totals.injected, 1u);
  EXPECT_EQ(totals.forwarded, 1u);
  EXPECT_EQ(switch_.engine().StatsOf(2)->receive_packets, 0u);
}

TEST_F(ControllerTest, SaysWhyAPacketWasNotSent) {
  EXPECT_EQ(Send(Udp(), 0, {})->cause, DropReason::kActionDrop);
  EXPECT_EQ(Send(Udp(), 0, {OutputTo(9)})->cause, DropReason::kNoSuchPort);
  EXPECT_EQ(Send(Udp(), 2, {OutputTo(2)})->cause, DropReason::kOutputToIngress);
  EXPECT_EQ(Send(Udp(), 0, {Of(ActionType::kOutputInPort)})->cause, DropReason::kNoSuchPort);
  EXPECT_EQ(Send(Bytes(5), 0, {OutputTo(2)})->cause, DropReason::kMalformed);
  EXPECT_EQ(Send(Udp(), 9, {OutputTo(2)}).status().code(), absl::StatusCode::kNotFound);
  for (uint32_t port = 1; port <= 3; ++port) EXPECT_THAT(Sent(port), IsEmpty());
}

TEST_F(ControllerTest, FromNoPortNothingGoesBackWhereverThatIsSaid) {
  const ActionList in_port = {Of(ActionType::kOutputInPort)};
  const ActionList by_register = {SetTo(Field::kReg0, 0xfff8),
                                  {.type = ActionType::kOutputField, .field = Field::kReg0, .bits = 32}};
  for (const ActionList& actions : {in_port, by_register}) {
    const auto sent = Send(Udp(), 0, actions);
    ASSERT_TRUE(sent.ok()) << sent.status();
    EXPECT_FALSE(sent->forwarded);
    EXPECT_EQ(sent->cause, DropReason::kNoSuchPort);
    const auto back = Send(Udp(), 2, actions);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(back->forwarded);
    EXPECT_THAT(Sent(2), ElementsAre(Udp()));
  }
}

TEST_F(ControllerTest, AllPortsAreAllButTheOneItCountsAs) {
  EXPECT_TRUE(Send(Udp(), 0, {Of(ActionType::kOutputAll)})->forwarded);
  EXPECT_TRUE(Send(Udp(), 1, {Of(ActionType::kOutputFlood)})->forwarded);
  EXPECT_TRUE(Send(Udp(), 1, {Of(ActionType::kOutputInPort)})->forwarded);
  EXPECT_THAT(Sent(1), SizeIs(2));
  EXPECT_THAT(Sent(2), SizeIs(2));
  EXPECT_THAT(Sent(3), SizeIs(2));
}

TEST_F(ControllerTest, NormalLearnsOnlyFromPacketsThatCountAsAPorts) {
  EXPECT_TRUE(Send(Udp(), 0, {Of(ActionType::kOutputNormal)})->forwarded);
  EXPECT_EQ(switch_.engine().macs().Info().entries, 0u);
  EXPECT_TRUE(Send(Udp(), 2, {Of(ActionType::kOutputNormal)})->forwarded);
  EXPECT_EQ(switch_.engine().macs().Info().entries, 1u);
  EXPECT_THAT(Sent(1), SizeIs(2));
  EXPECT_THAT(Sent(2), SizeIs(1));
  Sent(3);
}

TEST_F(ControllerTest, LeadsAPacketThroughTheTables) {
  const uint64_t first = switch_.AddFlow(MatchOf({{Field::kInPort, 1}, {Field::kUdpDst, 99}}), {OutputTo(2), GoTo(7)});
  const uint64_t later = switch_.AddFlowTo(7, {}, {OutputTo(3)});
  EXPECT_TRUE(Send(Udp(), 1, {SetTo(Field::kUdpDst, 99), GoTo(0)})->forwarded);
  EXPECT_EQ(Send(Udp(), 0, {GoTo(0)})->cause, DropReason::kNoFlow);
  EXPECT_TRUE(Send(Udp(), 0, {GoTo(7)})->forwarded);
  EXPECT_EQ(switch_.StatsOf(first).packets, 1u);
  EXPECT_EQ(switch_.StatsOf(later).packets, 2u);
  EXPECT_THAT(Sent(2), ElementsAre(Udp(99)));
  EXPECT_THAT(Sent(3), SizeIs(2));
}

TEST_F(ControllerTest, ASentPacketMayComeBack) {
  switch_.engine().ListenForPackets(true);
  switch_.AddFlow({}, {ToController()});
  EXPECT_TRUE(Send(Udp(), 0, {GoTo(0)})->forwarded);
  const std::vector<Taken> taken = Take();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].packet.in_port, 0u);
}

TEST_F(ControllerTest, LongPacketsLieInChainsOfBuffers) {
  ASSERT_TRUE(switch_.engine().SetState(2, {.mtu = 9000}).ok());
  const Bytes frame = Udp(53, 8000);
  EXPECT_TRUE(Send(frame, 0, {OutputTo(2)})->forwarded);
  EXPECT_THAT(Sent(2), ElementsAre(frame));
}

TEST_F(ControllerTest, WithoutBuffersItIsRefused) {
  std::vector<rte_mbuf*> hoard;
  TakeAllBuffersBut(0, hoard);
  EXPECT_EQ(Send(Udp(), 0, {OutputTo(2)}).status().code(), absl::StatusCode::kResourceExhausted);
  ReturnBuffers(hoard);
}

}  // namespace
}  // namespace sluice
