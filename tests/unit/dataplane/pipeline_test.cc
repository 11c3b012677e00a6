// Packets on their way through several tables, with the flow cache and without.

#include "dataplane/worker/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/packet_builder.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint32_t kServer = 0xc0000202, kBackend = 0x0a000007;

std::string Address(uint32_t ip) {
  return absl::StrCat(ip >> 24, ".", ip >> 16 & 255, ".", ip >> 8 & 255, ".", ip & 255);
}

Bytes Udp(uint16_t dst = 53, uint8_t ttl = 64) {
  return PacketBuilder()
      .Ipv4({.dst = Address(kServer), .ttl = ttl})
      .Udp({.dst = dst})
      .Payload("payload")
      .PadTo(60)
      .Build();
}

class PipelineTest : public testing::TestWithParam<bool> {
 protected:
  PipelineTest() {
    for (uint32_t number = 1; number <= 4; ++number) switch_.AddPort(number);
    if (!GetParam()) switch_.engine().SetFlowCache(0);
    free_before_ = FreeBuffers();
  }
  void TearDown() override {
    EXPECT_TRUE(switch_.Conserves());
    EXPECT_EQ(FreeBuffers(), free_before_);
  }

  std::vector<Bytes> Sent(uint32_t port) { return switch_.port(port).TakeSent(); }
  uint64_t Packets(uint64_t flow) { return switch_.StatsOf(flow).packets; }
  // Twice, so that the second is answered from memory.
  void ReceiveTwice(const Bytes& frame) {
    switch_.Receive(1, {frame});
    switch_.Receive(1, {frame});
  }

  TestSwitch switch_;
  unsigned free_before_;
};

TEST_P(PipelineTest, GoesOnInTheTableThatIsNamedAndCountsEachFlow) {
  const uint64_t first = switch_.AddFlow({}, {GoTo(7)});
  const uint64_t skipped = switch_.AddFlowTo(1, {}, {OutputTo(4)});
  const uint64_t udp = switch_.AddFlowTo(7, MatchOf({{Field::kUdpDst, 53}}), {OutputTo(2), GoTo(254)}, 200);
  const uint64_t rest = switch_.AddFlowTo(7, {}, {OutputTo(3)});
  const uint64_t last = switch_.AddFlowTo(254, {}, {OutputTo(3)});
  const Bytes dns = Udp(53), other = Udp(54);
  ReceiveTwice(dns);
  ReceiveTwice(other);
  EXPECT_THAT(Sent(2), ElementsAre(dns, dns));
  EXPECT_THAT(Sent(3), ElementsAre(dns, dns, other, other));
  EXPECT_THAT(Sent(4), IsEmpty());
  EXPECT_EQ(Packets(first), 4u);
  EXPECT_EQ(Packets(skipped), 0u);
  EXPECT_EQ(Packets(udp), 2u);
  EXPECT_EQ(Packets(rest), 2u);
  EXPECT_EQ(Packets(last), 2u);
  EXPECT_EQ(switch_.StatsOf(last).bytes, 2 * dns.size());
}

// Sixty-four kinds of packets over three tables, each table with a flow a kind.
TEST_P(PipelineTest, KeepsTheOrderOfArrivalWhateverTheWay) {
  constexpr uint16_t kKinds = 64;
  std::vector<uint64_t> flows;
  for (uint16_t kind = 0; kind < kKinds; ++kind) {
    const Match match = MatchOf({{Field::kUdpDst, kind}});
    if (kind % 3 == 0) {
      switch_.AddFlow(match, {OutputTo(2)});
      continue;
    }
    switch_.AddFlow(match, {GoTo(1)});
    switch_.AddFlowTo(1, match, {GoTo(2)});
    flows.push_back(switch_.AddFlowTo(2, match, {OutputTo(2)}));
  }
  std::vector<Bytes> frames;
  for (int i = 0; i < 640; ++i) frames.push_back(Udp(static_cast<uint16_t>(i * 7 % kKinds)));
  switch_.Receive(1, frames);
  EXPECT_THAT(Sent(2), ElementsAreArray(frames));
  for (const uint64_t flow : flows) EXPECT_EQ(Packets(flow), 10u);
}

TEST_P(PipelineTest, ALaterTableSeesThePacketAsItThenIs) {
  switch_.AddFlow({}, {SetTo(Field::kIpv4Dst, kBackend), SetTo(Field::kUdpDst, 5353), GoTo(1)});
  switch_.AddFlowTo(1, MatchOf({{Field::kIpv4Dst, kServer}}), {OutputTo(4)}, 300);
  const uint64_t rewritten =
      switch_.AddFlowTo(1, MatchOf({{Field::kIpv4Dst, kBackend}, {Field::kUdpDst, 5353}}), {OutputTo(2)});
  ReceiveTwice(Udp());
  EXPECT_THAT(Sent(4), IsEmpty());
  EXPECT_THAT(Sent(2), SizeIs(2));
  EXPECT_EQ(Packets(rewritten), 2u);
}

TEST_P(PipelineTest, APushedTagIsMatchedAndAPoppedOneUncoversTheNext) {
  switch_.AddFlow(MatchOf({{Field::kInPort, 1}}),
                  {Action{.type = ActionType::kPushVlan, .tpid = 0x8100}, SetTo(Field::kVlanVid, 12), GoTo(1)});
  switch_.AddFlow(MatchOf({{Field::kInPort, 3}}), {Of(ActionType::kPopVlan), GoTo(1)});
  const uint64_t twelve = switch_.AddFlowTo(1, MatchOf({{Field::kVlanVid, 12}}), {OutputTo(2)});
  const uint64_t nine = switch_.AddFlowTo(1, MatchOf({{Field::kVlanVid, 9}}), {OutputTo(2)});
  ReceiveTwice(Udp());
  switch_.Receive(3,
                  {PacketBuilder().Vlan({.vid = 5}).Vlan({.vid = 9}).Vlan({.vid = 1}).Ipv4().Udp().PadTo(70).Build()});
  EXPECT_EQ(Packets(twelve), 2u);
  EXPECT_EQ(Packets(nine), 1u);
  EXPECT_THAT(Sent(2), SizeIs(3));
}

TEST_P(PipelineTest, AMissIsDroppedUnlessTheTableSaysOtherwise) {
  switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {GoTo(3)});
  const uint64_t fifth = switch_.AddFlowTo(5, {}, {OutputTo(2)});
  ReceiveTwice(Udp());
  EXPECT_EQ(switch_.Drops(DropReason::kNoFlow), 2u);
  switch_.flows().SetMissPolicy(3, MissPolicy::kContinue);
  switch_.flows().SetMissPolicy(4, MissPolicy::kContinue);
  ReceiveTwice(Udp());
  EXPECT_EQ(Packets(fifth), 2u);
  EXPECT_THAT(Sent(2), SizeIs(2));
  // Also in the first table.
  switch_.Receive(2, {Udp()});
  EXPECT_EQ(switch_.Drops(DropReason::kNoFlow), 3u);
  for (uint8_t table = 0; table < 3; ++table) switch_.flows().SetMissPolicy(table, MissPolicy::kContinue);
  switch_.Receive(3, {Udp()});
  EXPECT_EQ(Packets(fifth), 3u);
  EXPECT_EQ(switch_.flows().Table(4).lookups, 3u);
  EXPECT_EQ(switch_.flows().Table(4).matches, 0u);
}

TEST_P(PipelineTest, BehindTheLastTableThereIsNoOther) {
  switch_.AddFlow({}, {GoTo(254)});
  switch_.flows().SetMissPolicy(254, MissPolicy::kContinue);
  ReceiveTwice(Udp());
  EXPECT_EQ(switch_.Drops(DropReason::kNoFlow), 2u);
}

TEST_P(PipelineTest, WhatWasSentBeforeAMissStaysSent) {
  switch_.AddFlow({}, {OutputTo(2), GoTo(1)});
  switch_.AddFlowTo(1, MatchOf({{Field::kUdpDst, 1}}), {OutputTo(3)});
  const Bytes frame = Udp();
  ReceiveTwice(frame);
  EXPECT_THAT(Sent(2), ElementsAre(frame, frame));
  EXPECT_EQ(switch_.engine().Totals().forwarded, 2u);
  EXPECT_EQ(switch_.Drops(DropReason::kNoFlow), 0u);
}

TEST_P(PipelineTest, TheActionSetIsCarriedOutAtTheEnd) {
  switch_.AddFlow({}, {Deferred(OutputTo(2)), Deferred(SetTo(Field::kIpv4Dst, kBackend)), OutputTo(4), GoTo(1)});
  // It still has its address here.
  switch_.AddFlowTo(1, MatchOf({{Field::kIpv4Dst, kServer}}),
                    {Deferred(OutputTo(3)), Deferred(Of(ActionType::kDecTtl))});
  const Bytes frame = Udp();
  ReceiveTwice(frame);
  EXPECT_THAT(Sent(4), ElementsAre(frame, frame));
  EXPECT_THAT(Sent(2), IsEmpty());
  const Bytes changed =
      PacketBuilder().Ipv4({.dst = Address(kBackend), .ttl = 63}).Udp({.dst = 53}).Payload("payload").PadTo(60).Build();
  EXPECT_THAT(Sent(3), ElementsAre(changed, changed));
}

// A list without an output of its own still changes what the set sends.
TEST_P(PipelineTest, WhatALaterTableWritesIsInWhatTheSetSends) {
  switch_.AddFlow({}, {Deferred(OutputTo(2)), GoTo(1)});
  switch_.AddFlowTo(1, {}, {SetTo(Field::kIpv4Dst, kBackend), Of(ActionType::kDecTtl)});
  ReceiveTwice(Udp());
  const Bytes changed =
      PacketBuilder().Ipv4({.dst = Address(kBackend), .ttl = 63}).Udp({.dst = 53}).Payload("payload").PadTo(60).Build();
  EXPECT_THAT(Sent(2), ElementsAre(changed, changed));
}

TEST_P(PipelineTest, WhatAListWritesBehindItsDeferredActionsIsInWhatTheSetSends) {
  switch_.AddFlow({}, {OutputTo(3), Deferred(OutputTo(2)), SetTo(Field::kIpTtl, 9)});
  ReceiveTwice(Udp());
  EXPECT_THAT(Sent(3), ElementsAre(Udp(), Udp()));
  EXPECT_THAT(Sent(2), ElementsAre(Udp(53, 9), Udp(53, 9)));
}

// The output is the list's last action, but not the packet's.
TEST_P(PipelineTest, TheSetStillHasThePacketAfterALastOutput) {
  switch_.AddFlow({}, {Deferred(OutputTo(2)), OutputTo(3)});
  ReceiveTwice(Udp());
  EXPECT_THAT(Sent(3), ElementsAre(Udp(), Udp()));
  EXPECT_THAT(Sent(2), ElementsAre(Udp(), Udp()));
}

TEST_P(PipelineTest, ClearedActionsAreNotCarriedOut) {
  switch_.AddFlow({}, {Deferred(OutputTo(2)), GoTo(1)});
  switch_.AddFlowTo(1, MatchOf({{Field::kUdpDst, 1}}), {Of(ActionType::kClearActions)}, 200);
  switch_.AddFlowTo(1, {}, {Of(ActionType::kClearActions), Deferred(OutputTo(3))});
  ReceiveTwice(Udp(1));
  ReceiveTwice(Udp(2));
  EXPECT_THAT(Sent(2), IsEmpty());
  EXPECT_THAT(Sent(3), SizeIs(2));
  EXPECT_EQ(switch_.Drops(DropReason::kActionDrop), 2u);
}

TEST_P(PipelineTest, TheSetOfOnePacketIsNotTheNextOnes) {
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 1}}), {Deferred(OutputTo(2))});
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 2}}), {Deferred(SetTo(Field::kIpTtl, 9))});
  switch_.Receive(1, {Udp(1), Udp(2), Udp(1), Udp(2)});
  EXPECT_THAT(Sent(2), ElementsAre(Udp(1), Udp(1)));
  EXPECT_EQ(switch_.Drops(DropReason::kActionDrop), 2u);
}

// As in Open vSwitch.
TEST_P(PipelineTest, ExpiryEndsTheWayButNotTheSet) {
  switch_.AddFlow({}, {OutputTo(2), Deferred(OutputTo(3)), Of(ActionType::kDecTtl), GoTo(1)});
  const uint64_t behind = switch_.AddFlowTo(1, {}, {OutputTo(4)});
  ReceiveTwice(Udp(53, 1));
  EXPECT_THAT(Sent(2), SizeIs(2));
  EXPECT_THAT(Sent(3), SizeIs(2));
  EXPECT_EQ(Packets(behind), 0u);
}

TEST_P(PipelineTest, ExpiryInTheSetEndsIt) {
  switch_.AddFlow({}, {Deferred(OutputTo(2)), Deferred(Of(ActionType::kDecTtl))});
  ReceiveTwice(Udp(53, 1));
  EXPECT_THAT(Sent(2), IsEmpty());
  EXPECT_EQ(switch_.Drops(DropReason::kTtl), 2u);
}

// As in Open vSwitch.
TEST_P(PipelineTest, AMissEndsTheWayButNotTheSet) {
  switch_.AddFlow({}, {Deferred(OutputTo(2)), GoTo(1)});
  ReceiveTwice(Udp());
  EXPECT_THAT(Sent(2), SizeIs(2));
  EXPECT_EQ(switch_.Drops(DropReason::kNoFlow), 0u);
}

TEST_P(PipelineTest, APacketWithTooFullASetIsDropped) {
  ActionList actions{Deferred(OutputTo(2))};
  actions.resize(1025, Deferred(SetTo(Field::kIpTtl, 9)));
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 1}}), actions);
  actions.push_back(Deferred(SetTo(Field::kIpTtl, 9)));
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 2}}), actions);
  ReceiveTwice(Udp(1));
  ReceiveTwice(Udp(2));
  EXPECT_THAT(Sent(2), ElementsAre(Udp(1, 9), Udp(1, 9)));
  EXPECT_EQ(switch_.Drops(DropReason::kActionSetFull), 2u);
}

TEST_P(PipelineTest, ThePacketThatIsLostForWantOfABufferIsNotSentByTheSet) {
  ActionList actions(40, Action{.type = ActionType::kPushVlan, .tpid = 0x8100});
  actions.push_back(Deferred(OutputTo(2)));
  std::rotate(actions.begin(), actions.end() - 1, actions.end());
  switch_.AddFlow({}, actions);
  std::vector<rte_mbuf*> hoard;
  TakeAllBuffersBut(1, hoard);
  switch_.Receive(1, {Udp()});
  ReturnBuffers(hoard);
  EXPECT_THAT(Sent(2), IsEmpty());
  EXPECT_EQ(switch_.Drops(DropReason::kNoBuffers), 1u);
}

TEST_P(PipelineTest, MovesBitsBetweenFields) {
  switch_.AddFlow(
      {}, {Action{.type = ActionType::kMoveField,
                  .field = Field::kIpv4Src,
                  .source_bit = 0,
                  .destination_bit = 8,
                  .bits = 16,
                  .destination = Field::kIpv4Dst},
           // Of what was just written.
           Action{.type = ActionType::kMoveField, .field = Field::kIpv4Dst, .bits = 16, .destination = Field::kUdpDst},
           OutputTo(2)});
  switch_.Receive(1, {PacketBuilder()
                          .Ipv4({.src = "10.11.12.13", .dst = Address(kServer)})
                          .Udp({.src = 99, .dst = 53})
                          .PadTo(60)
                          .Build()});
  const uint32_t dst = (kServer & 0xff0000ff) | 0x0c0d00;
  EXPECT_THAT(Sent(2), ElementsAre(PacketBuilder()
                                       .Ipv4({.src = "10.11.12.13", .dst = Address(dst)})
                                       .Udp({.src = 99, .dst = static_cast<uint16_t>(dst & 0xffff)})
                                       .PadTo(60)
                                       .Build()));
}

// A later fragment has no ports: what is not there is not zero.
TEST_P(PipelineTest, MovesNothingFromAFieldThatIsNotThere) {
  switch_.AddFlow(
      {}, {SetTo(Field::kReg0, 2),
           Action{.type = ActionType::kMoveField, .field = Field::kUdpSrc, .bits = 16, .destination = Field::kReg0},
           Action{.type = ActionType::kOutputField, .field = Field::kReg0, .bits = 32}});
  const Bytes later = PacketBuilder().Ipv4({.fragment_offset = 3, .protocol = 17}).Payload("payload").PadTo(60).Build();
  const Bytes whole = PacketBuilder().Ipv4().Udp({.src = 3}).PadTo(60).Build();
  switch_.Receive(1, {later, whole});
  EXPECT_THAT(Sent(2), ElementsAre(later));
  EXPECT_THAT(Sent(3), ElementsAre(whole));
}

TEST_P(PipelineTest, OutputsToThePortThatAFieldNames) {
  switch_.AddFlow({}, {Action{.type = ActionType::kOutputField, .field = Field::kUdpDst, .source_bit = 4, .bits = 12}});
  switch_.Receive(1, {Udp(0x2f), Udp(0x30), Udp(0x1f), Udp(0x0f), Udp(0xfff0)});
  EXPECT_THAT(Sent(2), ElementsAre(Udp(0x2f)));
  EXPECT_THAT(Sent(3), ElementsAre(Udp(0x30)));
  EXPECT_EQ(switch_.Drops(DropReason::kOutputToIngress), 1u);
  EXPECT_EQ(switch_.Drops(DropReason::kNoSuchPort), 2u);
}

TEST_P(PipelineTest, OutputsToReservedPortsThatAFieldNames) {
  switch_.AddFlow({}, {Action{.type = ActionType::kOutputField, .field = Field::kUdpDst, .bits = 16}});
  switch_.Receive(1, {Udp(0xfff8), Udp(0xfffb), Udp(0xfffc), Udp(0xfffe), Udp(0xff00)});
  EXPECT_THAT(Sent(1), ElementsAre(Udp(0xfff8)));
  for (const int port : {2, 3, 4}) EXPECT_THAT(Sent(port), ElementsAre(Udp(0xfffb), Udp(0xfffc)));
  EXPECT_EQ(switch_.Drops(DropReason::kNoSuchPort), 2u);
}

TEST_P(PipelineTest, RegistersGoWithThePacketAndNoFurther) {
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 1}}),
                  {SetTo(Field::kReg3, 7), SetTo(Field::kMetadata, 0x100000000), GoTo(1)}, 200);
  switch_.AddFlow({}, {GoTo(1)});
  switch_.AddFlowTo(1, MatchOf({{Field::kReg3, 7}, {Field::kMetadata, 0x100000000}}), {OutputTo(2)});
  switch_.AddFlowTo(1, MatchOf({{Field::kReg3, 0}}), {OutputTo(3)});
  for (int round = 0; round < 2; ++round) {
    switch_.Receive(1, {Udp(1), Udp(2), Udp(1)});
    switch_.Receive(1, {Udp(2), Udp(1), Udp(2)});
  }
  EXPECT_THAT(Sent(2), ElementsAreArray(std::vector<Bytes>(6, Udp(1))));
  EXPECT_THAT(Sent(3), ElementsAreArray(std::vector<Bytes>(6, Udp(2))));
}

TEST_P(PipelineTest, PutsBitsIntoRegistersAndOutputsToThem) {
  switch_.AddFlow({}, {Action{.type = ActionType::kMoveField,
                              .field = Field::kUdpDst,
                              .destination_bit = 16,
                              .bits = 4,
                              .destination = Field::kReg0},
                       Action{.type = ActionType::kOutputField, .field = Field::kReg0, .source_bit = 16, .bits = 16}});
  switch_.Receive(1, {Udp(0x12), Udp(0x34)});
  EXPECT_THAT(Sent(2), ElementsAre(Udp(0x12)));
  EXPECT_THAT(Sent(4), ElementsAre(Udp(0x34)));
}

TEST_P(PipelineTest, ALabelHidesWhatIsBelowUntilItIsPopped) {
  const Action push{.type = ActionType::kPushMpls, .tpid = 0x8847}, pop{.type = ActionType::kPopMpls, .tpid = 0x0800};
  switch_.AddFlow({}, {push, SetTo(Field::kMplsLabel, 99), GoTo(1)});
  switch_.AddFlowTo(1, MatchOf({{Field::kUdpDst, 53}}), {OutputTo(4)}, 300);
  switch_.AddFlowTo(1, MatchOf({{Field::kEthType, 0x8847}, {Field::kMplsLabel, 99}}), {OutputTo(3), pop, GoTo(2)});
  switch_.AddFlowTo(2, MatchOf({{Field::kUdpDst, 53}}), {Of(ActionType::kDecTtl), OutputTo(2)});
  ReceiveTwice(Udp());
  EXPECT_THAT(Sent(4), IsEmpty());
  const std::vector<Bytes> labelled = Sent(3);
  ASSERT_THAT(labelled, SizeIs(2));
  EXPECT_EQ(labelled[0].size(), Udp().size() + 4);
  EXPECT_EQ(Bytes(labelled[0].begin() + 12, labelled[0].begin() + 18), (Bytes{0x88, 0x47, 0x00, 0x06, 0x31, 64}));
  EXPECT_THAT(Sent(2), ElementsAre(Udp(53, 63), Udp(53, 63)));
}

TEST_P(PipelineTest, WhereThereIsNoLabelItsTimeIsOverToo) {
  switch_.AddFlow({}, {OutputTo(3), Of(ActionType::kDecMplsTtl), OutputTo(2)});
  ReceiveTwice(Udp());
  EXPECT_THAT(Sent(3), SizeIs(2));
  EXPECT_THAT(Sent(2), IsEmpty());
}

TEST_P(PipelineTest, ALabelsTimeIsOverAtOne) {
  const Action push{.type = ActionType::kPushMpls, .tpid = 0x8847};
  switch_.AddFlow({}, {OutputTo(3), push, SetTo(Field::kMplsTtl, 2), Of(ActionType::kDecMplsTtl), OutputTo(2),
                       Of(ActionType::kDecMplsTtl), OutputTo(4)});
  ReceiveTwice(Udp());
  EXPECT_THAT(Sent(3), SizeIs(2));
  EXPECT_THAT(Sent(2), SizeIs(2));
  EXPECT_THAT(Sent(4), IsEmpty());
}

// More flows than a burst's statistics have room for.
TEST_P(PipelineTest, CountsEveryFlowOfALongWay) {
  constexpr uint16_t kKinds = 32;
  constexpr uint8_t kTables = 8;
  std::vector<uint64_t> flows;
  for (uint16_t kind = 0; kind < kKinds; ++kind) {
    for (uint8_t table = 0; table < kTables; ++table) {
      ActionList actions =
          table + 1 < kTables ? ActionList{GoTo(static_cast<uint8_t>(table + 1))} : ActionList{OutputTo(2)};
      flows.push_back(switch_.AddFlowTo(table, MatchOf({{Field::kUdpDst, kind}}), actions));
    }
  }
  std::vector<Bytes> frames;
  for (uint16_t i = 0; i < 10 * kKinds; ++i) frames.push_back(Udp(i % kKinds));
  switch_.Receive(1, frames);
  EXPECT_THAT(Sent(2), ElementsAreArray(frames));
  for (const uint64_t flow : flows) EXPECT_EQ(Packets(flow), 10u);
}

INSTANTIATE_TEST_SUITE_P(All, PipelineTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "FlowCache" : "NoFlowCache"; });

}  // namespace
}  // namespace sluice
