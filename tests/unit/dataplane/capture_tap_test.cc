// Captures through memory ports: what they see, and that nothing else changes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/unit/dataplane/capture_testing.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(CaptureTapTest, NothingIsTakenBeforeAndAfter) {
  switch_.AddFlow({}, {OutputTo(2)});
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Take(), IsEmpty());
  const auto capture = Start();
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Take(), SizeIs(2));
  switch_.engine().StopCapture(*capture);
  captures_.clear();
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_THAT(Sent(2), SizeIs(3));
}

TEST_F(CaptureTapTest, InIsAsReceivedAndOutIsAsSent) {
  // One flow that a header of its list says all of, one that goes through the pipeline.
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 1}}), {SetTo(Field::kEthDst, kNewMac), OutputTo(2)});
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 2}}), {OutputTo(3), SetTo(Field::kEthDst, kNewMac), OutputTo(2)});
  Start();
  const int64_t before = absl::GetCurrentTimeNanos();
  switch_.Receive(1, {Udp(1), Udp(2, 200)});
  const std::vector<Taken> taken = Take();
  EXPECT_THAT(
      SeenOf(taken),
      ElementsAre(Seen{CapturePoint::kReceived, 1, Udp(1)}, Seen{CapturePoint::kReceived, 1, Udp(2, 200)},
                  Seen{CapturePoint::kSent, 2, WithNewMac(Udp(1))},
                  Seen{CapturePoint::kSent, 2, WithNewMac(Udp(2, 200))}, Seen{CapturePoint::kSent, 3, Udp(2, 200)}));
  EXPECT_THAT(Sent(2), ElementsAre(WithNewMac(Udp(1)), WithNewMac(Udp(2, 200))));
  EXPECT_THAT(Sent(3), ElementsAre(Udp(2, 200)));
  for (const Taken& each : taken) {
    EXPECT_EQ(each.packet.length, each.bytes.size());
    EXPECT_EQ(each.packet.flow_id, 0u);
    EXPECT_GT(each.packet.time_unix_ns, before - 1'000'000'000);
    EXPECT_LT(each.packet.time_unix_ns, before + 60'000'000'000);
  }
}

TEST_F(CaptureTapTest, APortAndDirectionsSelect) {
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 1}}), {OutputTo(2)});
  const auto in = Start({.port = 1, .sent = false, .dropped = false});
  const auto out = Start({.port = 2, .received = false, .dropped = false});
  const auto dropped = Start({.port = 1, .received = false, .sent = false});
  const auto other = Start({.port = 3});
  switch_.Receive(1, {Udp(1), Udp(9)});
  std::map<uint64_t, std::vector<Seen>> seen;
  for (const Taken& each : Take()) seen[each.packet.capture_id].push_back(each.seen());
  EXPECT_THAT(seen[in->id()],
              ElementsAre(Seen{CapturePoint::kReceived, 1, Udp(1)}, Seen{CapturePoint::kReceived, 1, Udp(9)}));
  EXPECT_THAT(seen[out->id()], ElementsAre(Seen{CapturePoint::kSent, 2, Udp(1)}));
  EXPECT_THAT(seen[dropped->id()], ElementsAre(Seen{CapturePoint::kDropped, 1, Udp(9)}));
  EXPECT_THAT(seen[other->id()], IsEmpty());
  EXPECT_THAT(seen, SizeIs(4));
}

TEST_F(CaptureTapTest, TagsThatADeviceTookOutAndSegmentsAreInTheBytes) {
  switch_.AddFlow({}, {OutputTo(2)});
  Start();
  const Bytes tagged = PacketBuilder().Vlan({.vid = 5}).Ipv4().Udp().PadTo(300).Build();
  Bytes without = tagged;
  without.erase(without.begin() + 12, without.begin() + 16);
  switch_.port(1).Deliver(MemoryFrame{.bytes = without, .stripped_tci = 5});
  switch_.port(1).Deliver(MemoryFrame{.bytes = tagged, .cuts = {20, 100}});
  switch_.Run();
  EXPECT_THAT(TakeSeen(),
              ElementsAre(Seen{CapturePoint::kReceived, 1, tagged}, Seen{CapturePoint::kReceived, 1, tagged},
                          Seen{CapturePoint::kSent, 2, tagged}, Seen{CapturePoint::kSent, 2, tagged}));
  EXPECT_THAT(Sent(2), ElementsAre(tagged, tagged));
}

TEST_F(CaptureTapTest, OnlySoManyBytesAreKept) {
  switch_.AddFlow({}, {OutputTo(2)});
  Start({.port = 1, .snap_length = 40});
  switch_.Receive(1, {Udp(1, 300), Bytes(30, 7)});
  const std::vector<Taken> taken = Take();
  ASSERT_THAT(taken, SizeIs(2));
  const Bytes whole = Udp(1, 300);
  EXPECT_EQ(taken[0].bytes, Bytes(whole.begin(), whole.begin() + 40));
  EXPECT_EQ(taken[0].packet.length, 300u);
  EXPECT_EQ(taken[1].bytes, Bytes(30, 7));
  EXPECT_THAT(Sent(2), ElementsAre(whole, Bytes(30, 7)));
}

TEST_F(CaptureTapTest, AFilterSeesThePacketAsItIsThere) {
  switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {SetTo(Field::kEthDst, kNewMac), OutputTo(2)});
  Match range;
  MatchOn(range, Field::kEthType, 0x0800, absl::Uint128Max());
  MatchOn(range, Field::kIpProto, 17, absl::Uint128Max());
  MatchOnRange(range, Field::kUdpDst, {100, 199});
  const auto ports = Start({.filter = range});
  const auto mac = Start({.filter = MatchOf({{Field::kEthDst, kNewMac}})});
  const auto in_port = Start({.filter = MatchOf({{Field::kInPort, 1}})});
  switch_.Receive(1, {Udp(99), Udp(100), Udp(199), Udp(200), Bytes(10, 1)});
  std::map<uint64_t, std::vector<Seen>> seen;
  for (const Taken& each : Take()) seen[each.packet.capture_id].push_back(each.seen());
  EXPECT_THAT(seen[ports->id()],
              ElementsAre(Seen{CapturePoint::kReceived, 1, Udp(100)}, Seen{CapturePoint::kReceived, 1, Udp(199)},
                          Seen{CapturePoint::kSent, 2, WithNewMac(Udp(100))},
                          Seen{CapturePoint::kSent, 2, WithNewMac(Udp(199))}));
  EXPECT_THAT(seen[mac->id()], SizeIs(4));
  for (const Seen& each : seen[mac->id()]) EXPECT_EQ(each.point, CapturePoint::kSent);
  // Of what goes out it is not known, and what has no header matches nothing.
  EXPECT_THAT(seen[in_port->id()], SizeIs(4));
  for (const Seen& each : seen[in_port->id()]) EXPECT_EQ(each.point, CapturePoint::kReceived);
}

TEST_F(CaptureTapTest, AFilterSeesHeadersInSegmentsThatNoFlowLooksAt) {
  switch_.AddFlow({}, {OutputTo(2)});
  const auto capture = Start({.port = 1, .filter = MatchOf({{Field::kEthType, 0x0800}, {Field::kUdpDst, 53}})});
  switch_.port(1).Deliver(MemoryFrame{.bytes = Udp(53, 100), .cuts = {14, 30, 36}});
  switch_.port(1).Deliver(MemoryFrame{.bytes = Udp(54, 100), .cuts = {14, 30, 36}});
  switch_.Run();
  EXPECT_THAT(TakeSeen(), ElementsAre(Seen{CapturePoint::kReceived, 1, Udp(53, 100)}));
  EXPECT_THAT(Sent(2), ElementsAre(Udp(53, 100), Udp(54, 100)));
}

TEST_F(CaptureTapTest, PacketsOfControllersGoOutAndAreDropped) {
  Start();
  ASSERT_TRUE(Inject(Udp(1), 0, {OutputTo(2)})->forwarded);
  EXPECT_THAT(TakeSeen(), ElementsAre(Seen{CapturePoint::kSent, 2, Udp(1)}));
  ASSERT_FALSE(Inject(Udp(2), 3, {OutputTo(3)})->forwarded);
  ASSERT_FALSE(Inject(Udp(3), 0, {})->forwarded);
  const std::vector<Taken> taken = Take();
  EXPECT_THAT(SeenOf(taken),
              ElementsAre(Seen{CapturePoint::kDropped, 3, Udp(2)}, Seen{CapturePoint::kDropped, 0, Udp(3)}));
  EXPECT_EQ(taken[0].packet.drop_reason, DropReason::kOutputToIngress);
  EXPECT_EQ(taken[1].packet.drop_reason, DropReason::kActionDrop);
}

TEST_F(CaptureTapTest, AFlowSeesWhatItMatchesBeforeItsActions) {
  const uint64_t first = switch_.AddFlow(MatchOf({{Field::kUdpDst, 1}}),
                                         {SetTo(Field::kEthDst, kNewMac), SetTo(Field::kMetadata, 7), GoTo(3)});
  const uint64_t second = switch_.AddFlowTo(3, {}, {SetTo(Field::kIpTtl, 9), OutputTo(2)});
  const uint64_t simple =
      switch_.AddFlow(MatchOf({{Field::kUdpDst, 2}}), {SetTo(Field::kEthDst, kNewMac), OutputTo(2)});
  const auto of_first = Start({.flow_id = first}), of_second = Start({.flow_id = second}),
             of_simple = Start({.flow_id = simple});
  const auto of_metadata = Start({.flow_id = second, .filter = MatchOf({{Field::kMetadata, 7}, {Field::kInPort, 1}})});
  const auto of_other = Start({.flow_id = second, .filter = MatchOf({{Field::kMetadata, 8}})});
  switch_.Receive(1, {Udp(1), Udp(2), Udp(1), Udp(3)});
  std::map<uint64_t, std::vector<Seen>> seen;
  for (const Taken& each : Take()) {
    seen[each.packet.capture_id].push_back(each.seen());
    EXPECT_EQ(each.packet.flow_id, each.packet.capture_id == of_first->id()    ? first
                                   : each.packet.capture_id == of_simple->id() ? simple
                                                                               : second);
  }
  const Seen at_first{CapturePoint::kMatched, 1, Udp(1)}, at_second{CapturePoint::kMatched, 1, WithNewMac(Udp(1))};
  EXPECT_THAT(seen[of_first->id()], ElementsAre(at_first, at_first));
  EXPECT_THAT(seen[of_second->id()], ElementsAre(at_second, at_second));
  EXPECT_THAT(seen[of_simple->id()], ElementsAre(Seen{CapturePoint::kMatched, 1, Udp(2)}));
  EXPECT_THAT(seen[of_metadata->id()], ElementsAre(at_second, at_second));
  EXPECT_THAT(seen[of_other->id()], IsEmpty());
  EXPECT_EQ(switch_.StatsOf(second).packets, 2u);
}

TEST_F(CaptureTapTest, AFullRingIsCountedAndForwardsAllTheSame) {
  switch_.AddFlow({}, {OutputTo(2)});
  const auto capture = Start();
  constexpr unsigned kFrames = 5000;
  for (unsigned i = 0; i < kFrames / 50; ++i) switch_.Receive(1, std::vector<Bytes>(50, Udp(53, 1000)));
  const size_t taken = Take().size();
  EXPECT_GT(taken, 3000u);
  EXPECT_GT(capture->missed(), 3000u);
  EXPECT_EQ(taken + capture->missed(), 2 * kFrames);
  EXPECT_THAT(Sent(2), SizeIs(kFrames));
  EXPECT_EQ(Stats(2).transmit_packets, kFrames);
  // There is room again.
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(TakeSeen(), ElementsAre(Seen{CapturePoint::kReceived, 1, Udp()}, Seen{CapturePoint::kSent, 2, Udp()}));
}

// Frames that neither went out nor had room in the ring are missed once, as lost.
TEST_F(CaptureTapTest, WhatADeviceDoesNotTakeIsNotMissedAsSent) {
  switch_.AddFlow({}, {OutputTo(2)});
  switch_.port(2).SetRoom(0);
  const auto capture = Start({.port = 2});
  constexpr unsigned kFrames = 5000;
  for (unsigned i = 0; i < kFrames / 50; ++i) switch_.Receive(1, std::vector<Bytes>(50, Udp(53, 1000)));
  const std::vector<Taken> taken = Take();
  for (const Taken& each : taken) ASSERT_EQ(each.packet.point, CapturePoint::kLost);
  EXPECT_GT(capture->missed(), 0u);
  EXPECT_EQ(taken.size() + capture->missed(), kFrames);
  switch_.port(2).SetRoom(SIZE_MAX);
}

TEST_F(CaptureTapTest, CountersAndBytesAreTheSameWithAndWithoutIt) {
  const auto play = [](TestSwitch& of, bool captures) {
    for (uint32_t number = 1; number <= 3; ++number) of.AddPort(number);
    of.AddFlow(MatchOf({{Field::kUdpDst, 1}}), {Of(ActionType::kDecTtl), OutputTo(2)});
    of.AddFlow(MatchOf({{Field::kUdpDst, 2}}), {Of(ActionType::kOutputAll)});
    const uint64_t flow = of.AddFlow(MatchOf({{Field::kUdpDst, 3}}),
                                     {{.type = ActionType::kPushVlan, .tpid = 0x8100}, OutputTo(3), GoTo(1)});
    std::vector<std::shared_ptr<const Capture>> running;
    if (captures)
      running = {*of.engine().StartCapture({}),
                 *of.engine().StartCapture({.flow_id = flow, .filter = MatchOf({{Field::kUdpDst, 3}})})};
    for (uint16_t i = 0; i < 200; ++i)
      of.Receive(1 + i % 3, {Udp(i % 5, 60 + i, static_cast<uint8_t>(i % 4)), Bytes(i % 20, 1)});
    const unsigned taken = of.engine().TakeCaptured([](const CapturedPacket&, std::span<const uint8_t>) {});
    EXPECT_EQ(taken > 400, captures);
    for (const auto& capture : running) of.engine().StopCapture(*capture);
    std::vector<uint64_t> counters;
    const PacketTotals totals = of.engine().Totals();
    counters.insert(counters.end(), {totals.received, totals.forwarded, totals.malformed});
    counters.insert(counters.end(), std::begin(totals.drops), std::end(totals.drops));
    for (uint32_t number = 1; number <= 3; ++number) {
      const PortStats stats = *of.engine().StatsOf(number);
      counters.insert(counters.end(), {stats.receive_packets, stats.receive_bytes, stats.transmit_packets,
                                       stats.transmit_bytes, stats.drop_down});
    }
    counters.push_back(of.StatsOf(flow).packets);
    counters.push_back(of.StatsOf(flow).bytes);
    return counters;
  };
  TestSwitch with, without;
  const auto counters = play(with, true);
  EXPECT_EQ(counters, play(without, false));
  EXPECT_EQ(counters.front(), 400u);
  for (uint32_t number = 1; number <= 3; ++number) {
    const std::vector<Bytes> sent = with.port(number).TakeSent();
    EXPECT_THAT(sent, testing::Not(IsEmpty()));
    EXPECT_THAT(without.port(number).TakeSent(), ElementsAreArray(sent));
  }
}

TEST_F(CaptureTapTest, ItIsOverWithItsPortAndKeepsWhatItHas) {
  switch_.AddFlow({}, {OutputTo(2)});
  switch_.AddPort(4);
  const auto of_port = Start({.port = 4}), of_all = Start();
  switch_.Receive(4, {Udp()});
  EXPECT_FALSE(of_port->over());
  switch_.RemovePort(4);
  EXPECT_TRUE(of_port->over());
  EXPECT_FALSE(of_all->over());
  std::map<uint64_t, size_t> seen;
  for (const Taken& each : Take()) ++seen[each.packet.capture_id];
  EXPECT_EQ(seen[of_port->id()], 1u);
  EXPECT_EQ(seen[of_all->id()], 2u);
  // The port of that number is another one.
  switch_.AddPort(4);
  switch_.Receive(4, {Udp()});
  for (const Taken& each : Take()) EXPECT_EQ(each.packet.capture_id, of_all->id());
  switch_.RemovePort(4);
}

TEST_F(CaptureTapTest, AnEndedCaptureIsOverAfterTheWorkersAndGetsNoMore) {
  const auto capture = Start();
  switch_.Receive(1, {Udp()});
  switch_.engine().EndCapture(*capture);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!capture->over() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(capture->over());
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(TakeSeen(), ElementsAre(Seen{CapturePoint::kReceived, 1, Udp()}, Seen{CapturePoint::kDropped, 1, Udp()}));
}

TEST_F(CaptureTapTest, SoManyAtATimeAndOfPortsThatAre) {
  EXPECT_TRUE(absl::IsNotFound(switch_.engine().StartCapture({.port = 9}).status()));
  for (unsigned i = 0; i < Dataplane::kMaxCaptures; ++i) Start({.port = 1});
  EXPECT_TRUE(absl::IsResourceExhausted(switch_.engine().StartCapture({}).status()));
  switch_.Receive(1, {Udp()});
  EXPECT_THAT(Take(), SizeIs(2 * Dataplane::kMaxCaptures));
  switch_.engine().StopCapture(*captures_.back());
  captures_.pop_back();
  Start({.port = 1});
}

}  // namespace
}  // namespace sluice
