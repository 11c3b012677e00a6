// The parts of a replay that need no switch: its input, its balance, its report.

#include "client/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "client/bulk_load.h"
#include "client/capture.h"

namespace sluice::client {
namespace {

using testing::HasSubstr;

TEST(Replay, ReadsInputs) {
  const std::string path = testing::TempDir() + "replay_test_" + std::to_string(getpid()) + "=odd name.pcap";
  ASSERT_TRUE(JoinCaptures({}, path).ok());
  const absl::StatusOr<ReplayInput> input = ParseReplayInput("3=" + path);
  std::filesystem::remove(path);
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->port, 3u);
  EXPECT_EQ(input->path, path);
  EXPECT_EQ(input->capture.frames, 0u);
  for (const std::string text : {"", "3", "=x", "0=x", "x=y", "65280=x", "1=", "-1=x"}) {
    EXPECT_THAT(ParseReplayInput(text).status().message(), HasSubstr("expected PORT=CAPTURE")) << text;
  }
  EXPECT_EQ(ParseReplayInput("1=/no/such/file").status().message(), "/no/such/file: No such file or directory");
}

v1::PacketTotals Totals(uint64_t received, uint64_t forwarded, uint64_t no_flow, uint64_t ttl) {
  v1::PacketTotals totals;
  totals.set_received(received);
  totals.set_forwarded(forwarded);
  (*totals.mutable_drops())["no_flow"] = no_flow;
  (*totals.mutable_drops())["ttl"] = ttl;
  return totals;
}

TEST(Replay, EveryPacketIsAccountedFor) {
  EXPECT_TRUE(CheckConservation(Totals(10, 7, 2, 1), 10).ok());
  EXPECT_TRUE(CheckConservation(Totals(0, 0, 0, 0), 0).ok());
  const absl::Status lost = CheckConservation(Totals(10, 6, 2, 1), 10);
  EXPECT_EQ(lost.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(lost.message(), HasSubstr("10 frames in the captures, 10 received, 6 forwarded, 3 dropped"));
  EXPECT_FALSE(CheckConservation(Totals(10, 8, 2, 1), 10).ok()) << "one too many";
  EXPECT_FALSE(CheckConservation(Totals(9, 6, 2, 1), 10).ok()) << "one was not received";
}

TEST(Replay, ReportsFlowsAndDrops) {
  ReplayResult result;
  result.totals = Totals(10, 7, 2, 1);
  result.totals.set_malformed(4);
  v1::Flow flow;
  flow.mutable_spec()->set_priority(10);
  flow.mutable_spec()->set_cookie(0x1f);
  flow.mutable_spec()->add_actions()->mutable_output()->set_port(2);
  flow.mutable_stats()->set_packets(7);
  flow.mutable_stats()->set_bytes(420);
  result.flows = {flow, flow};
  const std::string one =
      R"(  {"table": 0, "cookie": "0x1f", "priority": 10, "flow": "priority=10 actions=output:2", "packets": 7, "bytes": 420})";
  EXPECT_EQ(ReplayJson(result), "{\"flows\": [\n" + one + ",\n" + one +
                                    "\n], \"groups\": [\n\n], \"meters\": [\n\n], \"misses\": 2, \"malformed\": 4, "
                                    "\"drops\": {\"no_flow\": 2, \"ttl\": 1}}\n");
}

TEST(BulkLoad, FindsEveryErrorBeforeAnythingIsSent) {
  const std::string text =
      "in_port=1,actions=2\n# no flow\nin_port=1,actions=outptu:2\n\nip,nw_dst=10.0.0.0/8,actions=drop\nip\n";
  BulkLoad load("flows.txt", text, {});
  EXPECT_EQ(load.Check().message(),
            "flows.txt:3:19: unknown action \"outptu\"; did you mean \"output\"?\n"
            "flows.txt:6:3: the flow has no actions; expected actions=…, or actions=drop");
  const std::string many(10000, '\n');
  BulkLoad empty("flows.txt", many, {});
  EXPECT_TRUE(empty.Check().ok());
  EXPECT_EQ(empty.flow_count(), 0u);
  std::string wrong;
  for (int i = 0; i < 25; ++i) wrong += "x\n";
  BulkLoad hopeless("flows.txt", wrong, {});
  EXPECT_THAT(hopeless.Check().message(), HasSubstr("\nand 5 more errors"));
  EXPECT_EQ(ReadText("/no/such/file").status().message(), "/no/such/file: No such file or directory");
}

}  // namespace
}  // namespace sluice::client
