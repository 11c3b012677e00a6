// What captures see of packets that are dropped, or that a port loses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "dataplane/group/group_table.h"
#include "dataplane/meter/meter_table.h"
#include "tests/unit/dataplane/capture_testing.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

}  // namespace
}  // namespace sluice
