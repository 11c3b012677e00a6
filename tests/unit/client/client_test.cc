// The client library against a real switch: a sluiced of its own, without root
// or huge pages.

#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/bulk_load.h"
#include "client/daemon.h"
#include "client/flow_text.h"
#include "google/rpc/error_details.pb.h"

namespace sluice::client {
namespace {

using testing::HasSubstr;

// One switch for all tests, since it takes a second to start.
class ClientTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (std::filesystem::temp_directory_path() / "client-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const std::string config = absl::StrCat("api: {listen: [\"unix://", folder_, "/sock\"]}\nlimits: {flows: 30000}\n");
    auto daemon = Daemon::Start(SLUICED, folder_, config, folder_ + "/sock", [] { return false; });
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }
  static void TearDownTestSuite() {
    if (daemon_ != nullptr) EXPECT_TRUE(daemon_->Stop().ok());
    daemon_ = nullptr;
    std::filesystem::remove_all(folder_);
  }
  void SetUp() override { ASSERT_TRUE(client().DeleteMatchingFlows({}).ok()); }

  static Client& client() { return daemon_->client(); }

  static v1::FlowSpec Flow(const std::string& text) {
    absl::StatusOr<FlowText> flow = ParseFlow(text, {});
    EXPECT_TRUE(flow.ok()) << flow.status();
    return flow->spec;
  }

  static std::vector<std::string> List(const v1::FlowFilter& filter = {}) {
    std::vector<std::string> flows;
    EXPECT_TRUE(client()
                    .VisitFlows(filter,
                                [&](const v1::Flow& flow) {
                                  flows.push_back(FormatSpec(flow.spec()));
                                  return absl::OkStatus();
                                })
                    .ok());
    return flows;
  }

  static std::string folder_;
  static std::unique_ptr<Daemon> daemon_;
};
std::string ClientTest::folder_;
std::unique_ptr<Daemon> ClientTest::daemon_;

TEST_F(ClientTest, ErrorsNameTheField) {
  v1::CreateFlowRequest request;
  *request.mutable_flow() = Flow("tcp,tp_dst=80,actions=output:1");
  request.mutable_flow()->mutable_match()->mutable_fields()->DeleteSubrange(0, 1);  // the EtherType
  const absl::Status status = client().CreateFlow(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("flow.match.fields[1].field: "));
  const absl::optional<absl::Cord> payload = status.GetPayload(kStatusPayload);
  ASSERT_TRUE(payload.has_value());
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(std::string(*payload)));
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::BadRequest bad;
  ASSERT_TRUE(details.details(0).UnpackTo(&bad));
  // Each of them is told, and told once.
  for (const auto& violation : bad.field_violations()) {
    const std::string message(status.message());
    const size_t at = message.find(violation.description());
    EXPECT_NE(at, std::string::npos) << violation.DebugString();
    EXPECT_EQ(message.find(violation.description(), at + 1), std::string::npos) << message;
  }
  EXPECT_EQ(bad.field_violations_size(), 2) << bad.DebugString();
}

TEST_F(ClientTest, NobodyThere) {
  const absl::StatusOr<std::unique_ptr<Client>> nobody = Client::Connect("unix://" + folder_ + "/nobody");
  ASSERT_TRUE(nobody.ok());
  EXPECT_EQ((*nobody)->GetSwitch().status().code(), absl::StatusCode::kUnavailable);
  for (const std::string address : {"", "unix:", "nonsense"}) {
    EXPECT_EQ(Client::Connect(address).status().code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

TEST_F(ClientTest, VisitsEveryFlowOnceOverManyPages) {
  std::string text;
  constexpr int kCount = 2500;  // pages have 1,000
  for (int i = 0; i < kCount; ++i) absl::StrAppend(&text, "in_port=", i + 1, ",actions=", 1 + i % 9, "\n");
  BulkLoad load("text", text, {});
  ASSERT_TRUE(load.Check().ok());
  const absl::StatusOr<LoadResult> loaded = load.Send(
      client(), [](const std::string& error) { ADD_FAILURE() << error; }, [](uint64_t) {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->loaded, uint64_t{kCount});
  const std::vector<std::string> flows = List();
  ASSERT_EQ(flows.size(), size_t{kCount});
  EXPECT_EQ(flows[0], "priority=32768,in_port=1 actions=output:1") << "in the order of the lines";
  EXPECT_EQ(flows[kCount - 1],
            absl::StrCat("priority=32768,in_port=", kCount, " actions=output:", 1 + (kCount - 1) % 9));
  EXPECT_EQ(std::set<std::string>(flows.begin(), flows.end()).size(), size_t{kCount});

  v1::FlowFilter filter;
  filter.set_out_port(3);
  EXPECT_EQ(List(filter).size(), size_t{278});
  int seen = 0;
  const absl::Status stopped = client().VisitFlows(
      {}, [&](const v1::Flow&) { return ++seen == 1200 ? absl::CancelledError("enough") : absl::OkStatus(); });
  EXPECT_EQ(stopped.message(), "enough");
  EXPECT_EQ(seen, 1200);
}

TEST_F(ClientTest, WriterSaysWhichChangesFailed) {
  std::vector<uint64_t> failed;
  FlowWriterOptions options;
  options.max_items = 7;
  options.on_error = [&](uint64_t index, const absl::Status& error) {
    EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
    failed.push_back(index);
  };
  FlowWriter writer(client(), options);
  for (int i = 0; i < 100; ++i) {
    v1::BatchItem item;
    if (i % 10 == 3) {
      item.mutable_delete_()->mutable_key()->set_id(uint64_t{1} << 60);
    } else {
      *item.mutable_create()->mutable_flow() = Flow(absl::StrCat("in_port=", i + 1, ",actions=1"));
    }
    ASSERT_TRUE(writer.Add(std::move(item)).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_THAT(failed, testing::ElementsAre(3, 13, 23, 33, 43, 53, 63, 73, 83, 93));
  EXPECT_EQ(writer.succeeded(), 90u);
  EXPECT_EQ(writer.failed(), 10u);
  EXPECT_EQ(List().size(), 90u);
}

// Of equal lines the last wins, and older flows keep their place: also where a
// batch ends between them.
TEST_F(ClientTest, WriterKeepsTheOrder) {
  FlowWriterOptions options;
  options.max_items = 1;
  FlowWriter writer(client(), options);
  for (int i = 1; i <= 300; ++i) {
    v1::BatchItem item;
    item.mutable_create()->set_allow_existing(true);
    *item.mutable_create()->mutable_flow() = Flow(absl::StrCat("in_port=", 1 + i % 3, ",actions=", i));
    ASSERT_TRUE(writer.Add(std::move(item)).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_THAT(List(), testing::ElementsAre("priority=32768,in_port=2 actions=output:298",
                                           "priority=32768,in_port=3 actions=output:299",
                                           "priority=32768,in_port=1 actions=output:300"));
}

TEST_F(ClientTest, WriterHasSeveralCallsUnderWay) {
  FlowWriterOptions options;
  options.max_items = 50;
  options.calls_in_flight = 8;
  FlowWriter writer(client(), options);
  for (int i = 0; i < 20000; ++i) {
    v1::BatchItem item;
    *item.mutable_create()->mutable_flow() = Flow(absl::StrCat("in_port=", i + 1, ",actions=1"));
    ASSERT_TRUE(writer.Add(std::move(item)).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(writer.succeeded(), 20000u);
  EXPECT_EQ(List().size(), 20000u);
}

// Long flows: a batch ends before a message is too long for gRPC.
TEST_F(ClientTest, WriterKeepsMessagesShort) {
  std::string actions;
  for (int i = 0; i < 64; ++i) absl::StrAppend(&actions, i > 0 ? "," : "", "set_field:2001:db8::", i, "->ipv6_dst");
  FlowWriterOptions options;
  options.max_items = 10000;
  FlowWriter writer(client(), options);
  const v1::FlowSpec spec = Flow(absl::StrCat("ipv6,ipv6_src=2001:db8::1,actions=", actions));
  constexpr int kCount = 3000;
  ASSERT_GT(spec.ByteSizeLong() * kCount, size_t{4} << 20);
  for (int i = 0; i < kCount; ++i) {
    v1::BatchItem item;
    *item.mutable_create()->mutable_flow() = spec;
    item.mutable_create()->mutable_flow()->set_priority(i);
    ASSERT_TRUE(writer.Add(std::move(item)).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(List().size(), size_t{kCount});
}

TEST_F(ClientTest, WriterStopsWhenTheSwitchIsNotThere) {
  const absl::StatusOr<std::unique_ptr<Client>> nobody = Client::Connect("unix://" + folder_ + "/nobody");
  ASSERT_TRUE(nobody.ok());
  FlowWriterOptions options;
  options.max_items = 1;
  FlowWriter writer(**nobody, options);
  absl::Status status;
  for (int i = 0; i < 10 && status.ok(); ++i) status = writer.Add(v1::BatchItem());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(writer.Finish().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(writer.succeeded(), 0u);
}

TEST_F(ClientTest, LimitsAreReportedPerLine) {
  std::string text;
  for (int i = 0; i < 30005; ++i)
    absl::StrAppend(&text, "in_port=", 1 + i % 65279, ",priority=", i % 5, ",actions=1\n");
  BulkLoad load("text", text, {});
  ASSERT_TRUE(load.Check().ok());
  std::vector<std::string> errors;
  const absl::StatusOr<LoadResult> loaded = load.Send(
      client(), [&](const std::string& error) { errors.push_back(error); }, [](uint64_t) {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->loaded, 30000u);
  EXPECT_EQ(loaded->failed, 5u);
  ASSERT_EQ(errors.size(), 5u);
  EXPECT_THAT(errors[0], testing::StartsWith("text:30001: "));
  EXPECT_THAT(errors[4], testing::StartsWith("text:30005: "));
}

TEST(DaemonTest, ThatCannotStartSaysWhy) {
  std::string folder = (std::filesystem::temp_directory_path() / "client-test-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto daemon = Daemon::Start(SLUICED, folder, "nonsense: 1\n", folder + "/sock", [] { return false; });
  EXPECT_EQ(daemon.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(daemon.status().message(), testing::AllOf(HasSubstr("exit code 3"), HasSubstr("nonsense")));
  std::filesystem::remove_all(folder);
}

TEST(DaemonTest, ThatIsInterruptedEnds) {
  std::string folder = (std::filesystem::temp_directory_path() / "client-test-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string config = absl::StrCat("api: {listen: [\"unix://", folder, "/sock\"]}\n");
  const auto daemon = Daemon::Start(SLUICED, folder, config, folder + "/sock", [] { return true; });
  EXPECT_EQ(daemon.status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(folder + "/sock"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice::client
