#include "client/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1::Flow FlowOf(uint64_t id, uint64_t packets, uint64_t bytes) {
  v1::Flow flow;
  flow.set_id(id);
  flow.mutable_stats()->set_packets(packets);
  flow.mutable_stats()->set_bytes(bytes);
  return flow;
}

std::vector<uint64_t> Ids(const std::vector<FlowDelta>& deltas) {
  std::vector<uint64_t> ids;
  for (const FlowDelta& delta : deltas) ids.push_back(delta.flow.id());
  return ids;
}

TEST(FlowDeltasTest, TheBusiestFirst) {
  FlowDeltas deltas(2, FlowDeltas::By::kPackets);
  for (uint64_t id = 1; id <= 5; ++id) deltas.Add(FlowOf(id, 1000, 1000));
  deltas.Finish();
  for (uint64_t id = 1; id <= 5; ++id) deltas.Add(FlowOf(id, 1000 + id * 7 % 5, 9000 - id));
  const std::vector<FlowDelta> best = deltas.Finish();
  EXPECT_THAT(Ids(best), ElementsAre(2, 4));
  EXPECT_EQ(best[0].packets, 4u);
  EXPECT_EQ(best[0].bytes, 7998u);
}

TEST(FlowDeltasTest, ByBytes) {
  FlowDeltas deltas(9, FlowDeltas::By::kBytes);
  deltas.Add(FlowOf(1, 1, 100));
  deltas.Add(FlowOf(2, 2, 90));
  EXPECT_THAT(Ids(deltas.Finish()), ElementsAre(1, 2));
}

TEST(FlowDeltasTest, IdleFlowsAreLeftOutAndResetOnesCountFromZero) {
  FlowDeltas deltas(9, FlowDeltas::By::kPackets);
  deltas.Add(FlowOf(1, 10, 10));
  deltas.Add(FlowOf(2, 50, 50));
  deltas.Finish();
  deltas.Add(FlowOf(1, 10, 10));
  deltas.Add(FlowOf(2, 3, 3));
  const std::vector<FlowDelta> best = deltas.Finish();
  EXPECT_THAT(Ids(best), ElementsAre(2));
  EXPECT_EQ(best[0].packets, 3u);
}

TEST(FlowDeltasTest, NothingIsKeptIfNoneIsWanted) {
  FlowDeltas deltas(0, FlowDeltas::By::kPackets);
  deltas.Add(FlowOf(1, 10, 10));
  EXPECT_THAT(deltas.Finish(), IsEmpty());
}

TEST(FormatRateTest, ThreeDigits) {
  const std::pair<double, const char*> cases[] = {{0, "0"},
                                                  {0.4, "0"},
                                                  {7, "7"},
                                                  {999.4, "999"},
                                                  {999.6, "1.00k"},
                                                  {9994, "9.99k"},
                                                  {9996, "10.0k"},
                                                  {99949, "99.9k"},
                                                  {99951, "100k"},
                                                  {999499, "999k"},
                                                  {14880952, "14.9M"},
                                                  {1e10, "10.0G"},
                                                  {1.234e13, "12.3T"},
                                                  {5e15, "5000T"}};
  for (const auto& [rate, text] : cases) EXPECT_EQ(FormatRate(rate), text) << rate;
}

// Two seconds of a switch.
class TopFrameTest : public ::testing::Test {
 protected:
  TopFrameTest() {
    before_.time = absl::FromUnixSeconds(1000);
    now_.time = absl::FromUnixSeconds(1002);
    for (TopReading* reading : {&before_, &now_}) {
      reading->info.set_version("1.2.3");
      reading->info.mutable_start_time()->set_seconds(940);
      v1::Port* port = reading->ports.add_ports();
      port->mutable_spec()->set_name("p1");
      port->mutable_spec()->set_number(4);
      reading->info.add_workers()->set_cpu(3);
    }
  }

  TopReading before_, now_;
};

TEST_F(TopFrameTest, RatesAreDifferencesASecond) {
  before_.info.mutable_totals()->set_received(1000);
  now_.info.mutable_totals()->set_received(5000);
  now_.info.mutable_totals()->set_forwarded(3000);
  (*before_.info.mutable_totals()->mutable_drops())["ttl"] = 500;
  (*now_.info.mutable_totals()->mutable_drops())["ttl"] = 500;
  (*now_.info.mutable_totals()->mutable_drops())["no_flow"] = 1000;
  now_.ports.mutable_ports(0)->mutable_stats()->set_receive_bytes(250000);
  now_.ports.mutable_ports(0)->mutable_stats()->set_receive_missed(8);
  (*now_.ports.mutable_ports(0)->mutable_stats()->mutable_transmit_drops())["mtu"] = 2;
  now_.info.mutable_workers(0)->set_busy_cycles(1);
  now_.info.mutable_workers(0)->set_idle_cycles(3);
  const std::string text = TopText({before_, now_, {}}, "unix:///x");
  EXPECT_THAT(text, HasSubstr("sluice 1.2.3 at unix:///x, up 1m2s; a second, over 2.0 s\n"
                              "received 2.00k, forwarded 1.50k, dropped 500 (no_flow 500)\n"));
  EXPECT_THAT(text, HasSubstr("   4  p1         0   1.00M       0       0  mtu 1, rx_missed 4\n"));
  EXPECT_THAT(text, HasSubstr("     0    3    25.0       0\n"));
  EXPECT_THAT(TopJson({before_, now_, {}}), HasSubstr(R"("received": 2000.000, "forwarded": 1500.000)"));
}

TEST_F(TopFrameTest, APortOfTheSameNameThatIsNewCountsFromZero) {
  before_.ports.mutable_ports(0)->mutable_stats()->set_receive_packets(1000);
  now_.ports.mutable_ports(0)->mutable_stats()->set_receive_packets(20);
  now_.ports.add_ports()->mutable_spec()->set_name("p2");
  now_.ports.mutable_ports(1)->mutable_stats()->set_receive_packets(40);
  const std::string json = TopJson({before_, now_, {}});
  EXPECT_THAT(json, HasSubstr(R"("name": "p1", "number": 4, "receive_packets": 10.000)"));
  EXPECT_THAT(json, HasSubstr(R"("name": "p2", "number": 0, "receive_packets": 20.000)"));
}

TEST_F(TopFrameTest, FlowsStandWithTheirText) {
  FlowDelta delta{FlowOf(12, 0, 0), 4, 1000};
  delta.flow.mutable_spec()->set_priority(9);
  EXPECT_THAT(TopText({before_, now_, {delta}}, "x"), HasSubstr("  12    2  4.00k  priority=9 actions=drop\n"));
  EXPECT_THAT(TopText({before_, now_, {}}, "x"), Not(HasSubstr("FLOW")));
}

}  // namespace
}  // namespace sluice::client
