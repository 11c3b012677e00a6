// Captures through memory ports: every point where a packet is seen, and that
// nothing else changes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "dataplane/group/group_table.h"
#include "dataplane/meter/meter_table.h"
#include "tests/support/packet_builder.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {

void PrintTo(CapturePoint point, std::ostream* out) { *out << "point " << static_cast<int>(point); }

namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kNewMac = 0x02000000aa01;

Bytes Udp(uint16_t dst = 53, size_t size = 60, uint8_t ttl = 64) {
  return PacketBuilder().Ipv4({.ttl = ttl}).Udp({.dst = dst}).Payload("payload").PadTo(size).Build();
}

// What SetTo(kEthDst, kNewMac) makes of a frame.
Bytes WithNewMac(Bytes frame) {
  const Bytes mac{0x02, 0, 0, 0, 0xaa, 0x01};
  std::copy(mac.begin(), mac.end(), frame.begin());
  return frame;
}

// As tests write down what they expect: where, at which port, and the bytes.
struct Seen {
  CapturePoint point;
  uint32_t port;
  Bytes bytes;

  friend bool operator==(const Seen&, const Seen&) = default;
};
void PrintTo(const Seen& seen, std::ostream* out) {
  *out << "point " << static_cast<int>(seen.point) << " port " << seen.port << " " << ToHex(seen.bytes);
}

struct Taken {
  CapturedPacket packet;
  Bytes bytes;

  Seen seen() const { return {packet.point, packet.port, bytes}; }
};

std::vector<Seen> SeenOf(const std::vector<Taken>& taken) {
  std::vector<Seen> seen;
  for (const Taken& each : taken) seen.push_back(each.seen());
  return seen;
}

class CaptureTapTest : public testing::Test {
 protected:
  explicit CaptureTapTest(unsigned workers = 1) : free_before_((TestPool(), FreeBuffers())), switch_(workers) {}
  void SetUp() override {
    for (uint32_t number = 1; number <= 3; ++number) switch_.AddPort(number);
  }
  void TearDown() override {
    const PacketTotals totals = switch_.engine().Totals();
    uint64_t drops = 0;
    for (const uint64_t n : totals.drops) drops += n;
    EXPECT_EQ(totals.received + totals.injected, totals.forwarded + drops);
    for (const auto& capture : captures_) switch_.engine().StopCapture(*capture);
    // Nobody captures any more, and what is left of it is gone.
    switch_.Receive(1, {Udp()});
    EXPECT_THAT(Take(), IsEmpty());
    for (uint32_t number = 1; number <= 3; ++number) switch_.port(number).TakeSent();
    EXPECT_EQ(FreeBuffers(), free_before_);
  }

  std::shared_ptr<const Capture> Start(const CaptureSpec& spec = {}) {
    auto capture = switch_.engine().StartCapture(spec);
    if (!capture.ok()) {
      ADD_FAILURE() << capture.status();
      std::abort();
    }
    captures_.push_back(*capture);
    return *capture;
  }
  std::vector<Taken> Take() {
    std::vector<Taken> taken;
    const unsigned n = switch_.engine().TakeCaptured([&](const CapturedPacket& packet, std::span<const uint8_t> bytes) {
      EXPECT_EQ(packet.kept, bytes.size());
      taken.push_back({packet, Bytes(bytes.begin(), bytes.end())});
    });
    EXPECT_EQ(n, taken.size());
    return taken;
  }
  std::vector<Seen> TakeSeen() { return SeenOf(Take()); }
  std::vector<Bytes> Sent(uint32_t port) { return switch_.port(port).TakeSent(); }
  PortStats Stats(uint32_t port) { return *switch_.engine().StatsOf(port); }
  // Has the first worker carry it out meanwhile.
  absl::StatusOr<Dataplane::Sent> Inject(const Bytes& bytes, uint32_t in_port, ActionList actions) {
    const PacketToSend packet{std::string(bytes.begin(), bytes.end()), in_port, std::move(actions)};
    std::atomic<bool> stop{false};
    std::thread worker([&] {
      while (!stop) switch_.engine().worker(0).RunOnce();
    });
    const auto sent = switch_.engine().SendPacket(packet);
    stop = true;
    worker.join();
    return sent;
  }

  const unsigned free_before_;
  TestSwitch switch_;
  std::vector<std::shared_ptr<const Capture>> captures_;
};

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

// Ways to lose a packet, and what is captured of it.
TEST_F(CaptureTapTest, EveryDropTellsItsReasonAndTheFrame) {
  switch_.engine().ListenForPackets(false);
  ASSERT_TRUE(switch_.engine()
                  .groups()
                  .Create({.id = 2,
                           .type = GroupType::kFailover,
                           .buckets = {{.id = 0, .watch_port = 77, .actions = {OutputTo(2)}}}})
                  .ok());
  ASSERT_TRUE(switch_.engine().meters().Create({.id = 1, .bands = {{.rate = 1, .burst = 1}}}).ok());
  ActionList full(1026, Deferred(SetTo(Field::kIpTtl, 9)));
  const Action to_group9{.type = ActionType::kGroup, .port = 9}, to_group2{.type = ActionType::kGroup, .port = 2};
  const std::vector<std::pair<ActionList, DropReason>> ways = {
      {{}, DropReason::kActionDrop},
      {{OutputTo(1)}, DropReason::kOutputToIngress},
      {{OutputTo(77)}, DropReason::kNoSuchPort},
      {{to_group9}, DropReason::kNoSuchGroup},
      {{to_group2}, DropReason::kNoLiveBucket},
      {{{.type = ActionType::kController}}, DropReason::kNoController},
      {full, DropReason::kActionSetFull},
      {{{.type = ActionType::kMeter, .port = 1}, OutputTo(2)}, DropReason::kMeter},
      // Dropped as it is then.
      {{SetTo(Field::kEthDst, kNewMac), OutputTo(3), OutputTo(77)}, DropReason::kActionDrop},
  };
  for (size_t i = 0; i < ways.size(); ++i) switch_.AddFlow(MatchOf({{Field::kUdpDst, i}}), ways[i].first);
  // The meter's one packet.
  switch_.Receive(1, {Udp(7)});
  Start({.received = false, .sent = false});
  for (size_t i = 0; i + 1 < ways.size(); ++i) {
    SCOPED_TRACE(i);
    const uint64_t before = switch_.Drops(ways[i].second);
    switch_.Receive(1, {Udp(static_cast<uint16_t>(i))});
    const std::vector<Taken> taken = Take();
    ASSERT_THAT(SeenOf(taken), ElementsAre(Seen{CapturePoint::kDropped, 1, Udp(static_cast<uint16_t>(i))}));
    EXPECT_EQ(taken[0].packet.drop_reason, ways[i].second);
    EXPECT_EQ(switch_.Drops(ways[i].second), before + 1);
  }
  // With an output it is no drop.
  switch_.Receive(1, {Udp(static_cast<uint16_t>(ways.size() - 1))});
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(CaptureTapTest, DropsOfTheFirstStagesAndOfSimpleLists) {
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 1}}), {Of(ActionType::kDecTtl), OutputTo(2)});
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 2}}), {Of(ActionType::kDecTtl), OutputTo(2), OutputTo(3)});
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 3}}), {Of(ActionType::kOutputNormal)});
  Start({.received = false, .sent = false});
  const Bytes runt(13, 1);
  const Bytes reserved = PacketBuilder({.dst = "01:80:c2:00:00:00"}).Ipv4().Udp({.dst = 3}).Build();
  const Bytes long_headers =
      PacketBuilder().Ipv6().DestinationOptions({.size = 2040}).DestinationOptions({.size = 2040}).Udp().Build();
  switch_.Receive(1, {runt, Udp(9), Udp(1, 60, 1), Udp(2, 60, 1), reserved});
  switch_.port(1).Deliver(MemoryFrame{.bytes = long_headers, .cuts = {1000, 2000, 3000}});
  switch_.Run();
  std::vector<std::pair<DropReason, Bytes>> drops;
  for (const Taken& each : Take()) {
    EXPECT_EQ(each.packet.point, CapturePoint::kDropped);
    EXPECT_EQ(each.packet.port, 1u);
    drops.emplace_back(each.packet.drop_reason, each.bytes);
  }
  EXPECT_THAT(drops, ElementsAre(std::pair(DropReason::kMalformed, runt), std::pair(DropReason::kNoFlow, Udp(9)),
                                 std::pair(DropReason::kTtl, Udp(1, 60, 1)), std::pair(DropReason::kTtl, Udp(2, 60, 1)),
                                 std::pair(DropReason::kReservedAddress, reserved),
                                 std::pair(DropReason::kNoBuffers, long_headers)));
}

TEST_F(CaptureTapTest, WhatAPortLosesIsSeenThere) {
  switch_.AddPort(4, {}, {.enabled = false});
  switch_.AddPort(5, {}, {.mtu = 100});
  switch_.AddFlow({}, {OutputTo(4), OutputTo(5), OutputTo(2)});
  switch_.port(2).SetRoom(1);
  Start({.received = false});
  switch_.Receive(1, {Udp(1, 200), Udp(2, 60), Udp(3, 60)});
  std::map<uint32_t, std::vector<std::pair<PortLoss, Bytes>>> lost;
  std::vector<Seen> sent;
  for (const Taken& each : Take()) {
    if (each.packet.point == CapturePoint::kSent) {
      sent.push_back(each.seen());
    } else {
      EXPECT_EQ(each.packet.point, CapturePoint::kLost);
      lost[each.packet.port].emplace_back(each.packet.loss, each.bytes);
    }
  }
  EXPECT_THAT(lost[4], ElementsAre(std::pair(PortLoss::kDown, Udp(1, 200)), std::pair(PortLoss::kDown, Udp(2)),
                                   std::pair(PortLoss::kDown, Udp(3))));
  EXPECT_THAT(lost[5], ElementsAre(std::pair(PortLoss::kMtu, Udp(1, 200))));
  EXPECT_THAT(lost[2], ElementsAre(std::pair(PortLoss::kTxFull, Udp(2)), std::pair(PortLoss::kTxFull, Udp(3))));
  EXPECT_THAT(lost, SizeIs(3));
  EXPECT_THAT(sent, ElementsAre(Seen{CapturePoint::kSent, 2, Udp(1, 200)}, Seen{CapturePoint::kSent, 5, Udp(2)},
                                Seen{CapturePoint::kSent, 5, Udp(3)}));
  EXPECT_EQ(Stats(2).drop_tx_full, 2u);
  EXPECT_EQ(Stats(2).transmit_packets, 1u);
  EXPECT_EQ(Stats(4).drop_down, 3u);
  EXPECT_EQ(Stats(5).drop_mtu, 1u);
  for (const uint32_t number : {4u, 5u}) switch_.RemovePort(number);
}

TEST_F(CaptureTapTest, WithoutBuffersACopyIsLostAtItsPort) {
  switch_.AddFlow({}, {OutputTo(2), OutputTo(3)});
  Start({.received = false});
  switch_.port(1).Deliver(Udp());
  std::vector<rte_mbuf*> hoard;
  TakeAllBuffersBut(1, hoard);
  switch_.Run();
  ReturnBuffers(hoard);
  const std::vector<Taken> taken = Take();
  EXPECT_THAT(SeenOf(taken), ElementsAre(Seen{CapturePoint::kLost, 2, Udp()}, Seen{CapturePoint::kSent, 3, Udp()}));
  EXPECT_EQ(taken.front().packet.loss, PortLoss::kNoBuffers);
  EXPECT_EQ(Stats(2).drop_no_buffers, 1u);
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

// Two workers, and a port with one transmit queue.
class CaptureHandOverTest : public CaptureTapTest {
 protected:
  CaptureHandOverTest() : CaptureTapTest(2) {}
  void SetUp() override {
    switch_.AddPort(1, {.rx_queues = 2});
    switch_.AddPort(2, {.tx_queues = 1});
    switch_.AddPort(3);
    switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {OutputTo(2)});
  }
};

TEST_F(CaptureHandOverTest, WhatIsHandedOverIsSeenOnce) {
  Start({.port = 2});
  switch_.port(1).Deliver(Udp(1), 0);
  switch_.port(1).Deliver(Udp(2), 1);
  switch_.Run();
  std::vector<Bytes> sent;
  for (const Taken& each : Take()) {
    EXPECT_EQ(each.packet.point, CapturePoint::kSent);
    EXPECT_EQ(each.packet.port, 2u);
    sent.push_back(each.bytes);
  }
  EXPECT_THAT(sent, testing::UnorderedElementsAre(Udp(1), Udp(2)));
  EXPECT_THAT(Sent(2), SizeIs(2));
}

TEST_F(CaptureHandOverTest, WhatTheRingBetweenWorkersDoesNotTakeIsLostAtThePort) {
  Start({.port = 2});
  const unsigned owner = switch_.engine().Workers()[0].rx_queues == 2 ? 0 : 1;
  const uint16_t queue = owner == 0 ? 1 : 0;
  for (int i = 0; i < 2000; ++i) switch_.port(1).Deliver(Udp(53), queue);
  while (switch_.engine().worker(1 - owner).RunOnce() != 0) continue;
  const uint64_t full = Stats(2).drop_tx_full;
  EXPECT_GT(full, 0u);
  while (switch_.engine().worker(owner).RunOnce() != 0) continue;
  std::map<CapturePoint, uint64_t> seen;
  for (const Taken& each : Take()) ++seen[each.packet.point];
  EXPECT_EQ(seen[CapturePoint::kLost], full);
  EXPECT_EQ(seen[CapturePoint::kSent], Sent(2).size());
  EXPECT_EQ(seen[CapturePoint::kLost] + seen[CapturePoint::kSent], 2000u);
}

// Captures come and go, and are drained, while workers run.
TEST(CaptureThreadsTest, ComeAndGoWhileWorkersRun) {
  TestPool();
  TestSwitch of(2);
  of.AddPort(1, {.rx_queues = 2});
  MemoryPort& out = of.AddPort(2, {.tx_queues = 1});
  const uint64_t flow = of.AddFlow({}, {OutputTo(2)});
  of.engine().Start();
  const auto of_all = *of.engine().StartCapture({});
  std::atomic<bool> stop{false};
  std::thread traffic([&] {
    for (unsigned i = 0; !stop; ++i) {
      for (uint16_t queue = 0; queue < 2; ++queue) of.port(1).Deliver(Udp(static_cast<uint16_t>(i)), queue);
      if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::map<uint64_t, uint64_t> seen;
  std::atomic<bool> drained{false};
  std::thread drainer([&] {
    while (!drained) {
      of.engine().TakeCaptured([&](const CapturedPacket& packet, std::span<const uint8_t> bytes) {
        ++seen[packet.capture_id];
        EXPECT_EQ(bytes.size(), 60u);
      });
    }
  });
  for (int i = 0; i < 50; ++i) {
    const auto of_port = *of.engine().StartCapture({.port = 2});
    const auto of_flow = *of.engine().StartCapture({.flow_id = flow, .filter = MatchOf({{Field::kEthType, 0x0800}})});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    of.engine().StopCapture(*of_port);
    of.engine().EndCapture(*of_flow);
    of.engine().StopCapture(*of_flow);
  }
  stop = true;
  traffic.join();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while ((of.port(1).Waiting() != 0 ||
          out.SentCount() + of.engine().StatsOf(2)->drop_tx_full != of.engine().Totals().received) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(of.Conserves());
  const uint64_t received = of.engine().Totals().received;
  // Each packet was received, and was sent or lost.
  of.engine().EndCapture(*of_all);
  while (!of_all->over() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  drained = true;
  drainer.join();
  of.engine().TakeCaptured([&](const CapturedPacket& packet, std::span<const uint8_t>) { ++seen[packet.capture_id]; });
  EXPECT_GT(received, 0u);
  EXPECT_EQ(seen[of_all->id()] + of_all->missed(), 2 * received);
  EXPECT_GT(seen[of_all->id()], 0u);
  EXPECT_GT(seen.size(), 50u);
  of.engine().StopCapture(*of_all);
}

}  // namespace
}  // namespace sluice
