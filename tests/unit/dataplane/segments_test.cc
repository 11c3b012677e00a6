// Frames in several buffers come out as they would from one, wherever they were cut.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "dataplane/worker/prepare.h"
#include "tests/support/packet_builder.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;

// Rewrites something in every layer, so that each must be found.
ActionList RewriteEverything() {
  return {SetTo(Field::kEthDst, 0x020000000077),
          SetTo(Field::kVlanVid, 77),
          SetTo(Field::kIpv4Dst, 0xc6336407),
          SetTo(Field::kIpv6Dst, 77),
          SetTo(Field::kIpDscp, 7),
          SetTo(Field::kUdpDst, 777),
          SetTo(Field::kTcpDst, 777),
          SetTo(Field::kSctpDst, 777),
          SetTo(Field::kIcmpv6Type, 77),
          SetTo(Field::kArpTpa, 0xc6336407),
          Of(ActionType::kDecTtl),
          OutputTo(2)};
}

std::vector<Bytes> Frames() {
  const Bytes payload(100, 0xab);
  return {
      PacketBuilder().Vlan({.vid = 5}).Vlan({.vid = 6}).Ipv4().Udp().Payload(payload).Build(),
      PacketBuilder().Vlan({.vid = 5}).Ipv4({.options = Bytes(8, 1)}).Tcp().Payload(payload).Build(),
      PacketBuilder().Ipv4().Sctp().Payload(payload).Build(),
      PacketBuilder().Ipv6().HopByHop({.size = 16}).Fragment({.more = true}).Udp().Payload(payload).Build(),
      PacketBuilder().Ipv6().DestinationOptions({.size = 64}).Icmpv6().Payload(payload).Build(),
      PacketBuilder().Snap().Ipv4({.more_fragments = true}).Udp().Payload(payload).Build(),
  };
}

class SegmentsTest : public testing::Test {
 protected:
  SegmentsTest() {
    switch_.AddPort(1);
    switch_.AddPort(2);
    free_before_ = FreeBuffers();
  }
  void TearDown() override {
    EXPECT_TRUE(switch_.Conserves());
    EXPECT_EQ(FreeBuffers(), free_before_);
  }

  std::vector<Bytes> SendCut(const Bytes& frame, std::vector<size_t> cuts) {
    switch_.port(1).Deliver(MemoryFrame{.bytes = frame, .cuts = std::move(cuts)});
    switch_.Run();
    return switch_.port(2).TakeSent();
  }

  TestSwitch switch_;
  unsigned free_before_;
};

TEST_F(SegmentsTest, CutAnywhere) {
  switch_.AddFlow({}, RewriteEverything());
  for (const Bytes& frame : Frames()) {
    const std::vector<Bytes> whole = SendCut(frame, {});
    ASSERT_THAT(whole, SizeIs(1));
    ASSERT_NE(whole[0], frame);
    for (size_t cut = 0; cut <= frame.size(); ++cut) {
      ASSERT_THAT(SendCut(frame, {cut}), ElementsAreArray(whole)) << "cut at " << cut << " of " << ToHex(frame);
    }
  }
}

TEST_F(SegmentsTest, CutIntoManySmallPieces) {
  switch_.AddFlow({}, RewriteEverything());
  for (const Bytes& frame : Frames()) {
    const std::vector<Bytes> whole = SendCut(frame, {});
    for (size_t piece = 1; piece <= 9; ++piece) {
      std::vector<size_t> cuts;
      for (size_t at = piece; at < frame.size(); at += piece) cuts.push_back(at);
      ASSERT_THAT(SendCut(frame, cuts), ElementsAreArray(whole)) << "pieces of " << piece;
    }
  }
}

TEST_F(SegmentsTest, MatchesWhatLiesBehindTheCut) {
  const uint64_t flow = switch_.AddFlow(MatchOf({{Field::kUdpDst, 53}}), {OutputTo(2)});
  const Bytes frame = PacketBuilder().Ipv4().Udp({.dst = 53}).Payload("query").Build();
  for (size_t cut = 0; cut <= frame.size(); ++cut) SendCut(frame, {cut});
  EXPECT_EQ(switch_.StatsOf(flow).packets, frame.size() + 1);
}

TEST_F(SegmentsTest, JumboKeepsItsBytes) {
  switch_.AddFlow({}, {Action{.type = ActionType::kPushVlan, .tpid = 0x8100}, OutputTo(2), OutputTo(2)});
  ASSERT_TRUE(switch_.engine().SetState(2, {.mtu = 9000}).ok());
  Bytes payload;
  for (int i = 0; i < 8900; ++i) payload.push_back(static_cast<uint8_t>(i * 7));
  const Bytes frame = PacketBuilder().Ipv4().Udp().Payload(payload).Build();
  Bytes tagged = frame;
  tagged.insert(tagged.begin() + 12, {0x81, 0, 0, 0});
  EXPECT_THAT(SendCut(frame, {2000, 4000, 6000, 8000}), ElementsAre(tagged, tagged));
  EXPECT_EQ(switch_.engine().StatsOf(1)->receive_bytes, frame.size());
}

TEST_F(SegmentsTest, ShorterThanAnEthernetHeaderInPieces) {
  switch_.AddFlow({}, {OutputTo(2)});
  EXPECT_THAT(SendCut(Bytes(13, 1), {1, 2}), IsEmpty());
  EXPECT_EQ(switch_.Drops(DropReason::kMalformed), 1u);
}

// A chain of extension headers that no buffer holds.
TEST_F(SegmentsTest, HeadersBeyondOneBuffer) {
  switch_.AddFlow({}, {OutputTo(2)});
  switch_.AddFlow(MatchOf({{Field::kUdpDst, 53}}), {OutputTo(3)});
  ASSERT_TRUE(switch_.engine().SetState(2, {.mtu = 9000}).ok());
  const Bytes frame =
      PacketBuilder().Ipv6().DestinationOptions({.size = 2040}).DestinationOptions({.size = 2040}).Udp().Build();
  EXPECT_THAT(SendCut(frame, {1000, 2000, 3000}), IsEmpty());
  EXPECT_EQ(switch_.Drops(DropReason::kNoBuffers), 1u);
}

TEST_F(SegmentsTest, DeviceWithoutSegmentsGetsOneBuffer) {
  switch_.AddPort(3, {.takes_segments = false, .max_frame = kTestBufferBytes}, {.mtu = 9000});
  switch_.AddFlow({}, {OutputTo(3)});
  const Bytes fits(2000, 1);
  switch_.port(1).Deliver(MemoryFrame{.bytes = fits, .cuts = {500, 700}});
  switch_.port(1).Deliver(MemoryFrame{.bytes = Bytes(kTestBufferBytes + 1, 1), .cuts = {1500}});
  switch_.Run();
  EXPECT_THAT(switch_.port(3).TakeSent(), ElementsAre(fits));
  EXPECT_THAT(switch_.port(3).SentSegments(), ElementsAre(1u));
  EXPECT_EQ(switch_.engine().StatsOf(3)->drop_mtu, 1u);
}

TEST_F(SegmentsTest, PullFillsTheFirstSegment) {
  rte_mbuf* first = rte_pktmbuf_alloc(TestPool());
  rte_mbuf* second = rte_pktmbuf_alloc(TestPool());
  rte_pktmbuf_append(first, 100);
  rte_pktmbuf_append(second, kTestBufferBytes);
  ASSERT_EQ(rte_pktmbuf_chain(first, second), 0);
  EXPECT_TRUE(PullIntoFirst(first));
  EXPECT_EQ(first->data_len, kTestBufferBytes);
  EXPECT_EQ(first->pkt_len, kTestBufferBytes + 100u);
  EXPECT_EQ(first->nb_segs, 2);
  const char* reason = nullptr;
  EXPECT_EQ(rte_mbuf_check(first, 1, &reason), 0) << reason;
  EXPECT_FALSE(PullIntoFirst(first));
  rte_pktmbuf_free(first);
}

}  // namespace
}  // namespace sluice
