// NORMAL: what a switch that learns does with frames, alone and in lists.

#include "dataplane/worker/normal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kA = 0x02000000000a, kB = 0x02000000000b, kAll = 0xffffffffffff;
constexpr int kNoTag = -1;

// VLAN's TCI, or kNoTag.
Bytes FrameFrom(uint64_t source, uint64_t destination, int tci = kNoTag, uint16_t tpid = 0x8100) {
  Bytes frame;
  const auto add = [&frame](uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) frame.push_back(static_cast<uint8_t>(value >> 8 * i));
  };
  add(destination, 6);
  add(source, 6);
  if (tci != kNoTag) {
    add(tpid, 2);
    add(static_cast<uint64_t>(tci), 2);
  }
  add(0x88b5, 2);
  frame.resize(64);
  return frame;
}

class NormalTest : public testing::Test {
 protected:
  NormalTest() {
    for (uint32_t number = 1; number <= 4; ++number) switch_.AddPort(number);
  }
  void TearDown() override { EXPECT_TRUE(switch_.Conserves()); }

  void AddNormal() { switch_.AddFlow({}, {Of(ActionType::kOutputNormal)}); }
  // The ports that the frame left, each once.
  std::vector<uint32_t> WaysOf(uint32_t in_port, const Bytes& frame) {
    switch_.Receive(in_port, {frame});
    std::vector<uint32_t> ways;
    for (uint32_t number = 1; number <= 4; ++number) {
      for (const Bytes& sent : switch_.port(number).TakeSent()) {
        EXPECT_EQ(sent, frame);
        ways.push_back(number);
      }
    }
    return ways;
  }

  TestSwitch switch_;
};

TEST_F(NormalTest, FloodsWhatItDoesNotKnowAndSendsToWhereItDoes) {
  AddNormal();
  EXPECT_THAT(WaysOf(1, FrameFrom(kA, kB)), ElementsAre(2, 3, 4));
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA)), ElementsAre(1));
  EXPECT_THAT(WaysOf(1, FrameFrom(kA, kB)), ElementsAre(2));
  EXPECT_THAT(WaysOf(1, FrameFrom(kA, kAll)), ElementsAre(2, 3, 4));
  EXPECT_THAT(WaysOf(1, FrameFrom(kA, 0x01005e000001)), ElementsAre(2, 3, 4));
}

TEST_F(NormalTest, KnowsFromOnePacketOfABurstToTheNext) {
  AddNormal();
  switch_.Receive(1, {FrameFrom(kA, kAll), FrameFrom(kB, kA), FrameFrom(kA, kB)});
  EXPECT_EQ(switch_.port(2).SentCount(), 1u);
  EXPECT_EQ(switch_.Drops(DropReason::kOutputToIngress), 2u);
}

TEST_F(NormalTest, FollowsAStationThatMoves) {
  AddNormal();
  WaysOf(1, FrameFrom(kA, kAll));
  EXPECT_THAT(WaysOf(3, FrameFrom(kB, kA)), ElementsAre(1));
  WaysOf(2, FrameFrom(kA, kAll));
  EXPECT_THAT(WaysOf(3, FrameFrom(kB, kA)), ElementsAre(2));
  EXPECT_EQ(switch_.engine().macs().Info().moved, 1u);
}

TEST_F(NormalTest, VlansAreApartAndPriorityTagsAreNone) {
  AddNormal();
  WaysOf(1, FrameFrom(kA, kAll, 5));
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA, 5)), ElementsAre(1));
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA, 0xe005)), ElementsAre(1));
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA, 5, 0x88a8)), ElementsAre(1));
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA, 6)), ElementsAre(1, 3, 4));
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA)), ElementsAre(1, 3, 4));
  WaysOf(3, FrameFrom(kA, kAll, 0x6000));
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA)), ElementsAre(3));
}

TEST_F(NormalTest, GroupsAreNotLearned) {
  AddNormal();
  WaysOf(1, FrameFrom(kA | 0x010000000000, kB));
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA | 0x010000000000)), ElementsAre(1, 3, 4));
}

TEST_F(NormalTest, KeepsReservedAddressesToItselfAndLearnsNothingThere) {
  AddNormal();
  for (const uint64_t reserved :
       {0x0180c2000000, 0x0180c200000e, 0x0180c200000f, 0x01000ccccccc, 0x01000cccccc7, 0x00e02b000004}) {
    EXPECT_THAT(WaysOf(1, FrameFrom(kA, reserved)), IsEmpty()) << std::hex << reserved;
  }
  EXPECT_EQ(switch_.Drops(DropReason::kReservedAddress), 6u);
  EXPECT_EQ(switch_.engine().macs().Info().entries, 0u);
  EXPECT_THAT(WaysOf(1, FrameFrom(kA, 0x0180c2000010)), ElementsAre(2, 3, 4));
  EXPECT_THAT(WaysOf(1, FrameFrom(kA, 0x01000cccccc8)), ElementsAre(2, 3, 4));
}

TEST_F(NormalTest, DisabledPortsGetNothingAndWhatIsBehindThemIsUnknown) {
  AddNormal();
  WaysOf(1, FrameFrom(kA, kAll));
  ASSERT_TRUE(switch_.engine().SetState(1, {.enabled = false}).ok());
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA)), ElementsAre(3, 4));
  ASSERT_TRUE(switch_.engine().SetState(1, {}).ok());
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA)), ElementsAre(1));
}

TEST_F(NormalTest, TheRewrittenFrameCounts) {
  switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {SetTo(Field::kEthSrc, kB), Of(ActionType::kOutputNormal)});
  switch_.AddFlow(MatchOf({{Field::kInPort, 2}}), {SetTo(Field::kEthDst, kB), Of(ActionType::kOutputNormal)});
  switch_.Receive(1, {FrameFrom(kA, kAll)});
  for (uint32_t number = 2; number <= 4; ++number) switch_.port(number).TakeSent();
  switch_.Receive(2, {FrameFrom(0x02000000000c, kA)});
  EXPECT_THAT(switch_.port(1).TakeSent(), ElementsAre(FrameFrom(0x02000000000c, kB)));
  EXPECT_EQ(switch_.engine().macs().List({.mac = kA}, switch_.engine().NowSeconds()).size(), 0u);
}

TEST_F(NormalTest, ATagThatIsPushedIsTheVlan) {
  switch_.AddFlow({}, {Action{.type = ActionType::kPushVlan, .tpid = 0x8100}, SetTo(Field::kVlanVid, 9),
                       Of(ActionType::kOutputNormal)});
  switch_.Receive(1, {FrameFrom(kA, kAll)});
  const auto macs = switch_.engine().macs().List({}, switch_.engine().NowSeconds());
  ASSERT_EQ(macs.size(), 1u);
  EXPECT_EQ(macs[0].vlan, 9u);
}

TEST_F(NormalTest, StandsBesideOtherOutputsAndInActionSets) {
  switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {OutputTo(4), Of(ActionType::kOutputNormal), OutputTo(3)});
  switch_.AddFlow(MatchOf({{Field::kInPort, 2}}), {Deferred(Of(ActionType::kOutputNormal))});
  EXPECT_THAT(WaysOf(1, FrameFrom(kA, kAll)), ElementsAre(2, 3, 3, 4, 4));
  EXPECT_THAT(WaysOf(2, FrameFrom(kB, kA)), ElementsAre(1));
}

TEST_F(NormalTest, ARemovedPortTakesItsStationsWithIt) {
  AddNormal();
  WaysOf(4, FrameFrom(kA, kAll));
  WaysOf(1, FrameFrom(kB, kAll));
  switch_.RemovePort(4);
  const auto macs = switch_.engine().macs().List({}, switch_.engine().NowSeconds());
  ASSERT_EQ(macs.size(), 1u);
  EXPECT_EQ(macs[0].mac, kB);
  switch_.AddPort(4);
  EXPECT_THAT(WaysOf(2, FrameFrom(0x02000000000c, kA)), ElementsAre(1, 3, 4));
}

}  // namespace
}  // namespace sluice
