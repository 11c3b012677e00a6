// The daemon as a process: what it says and how it ends.

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sluice/v1/flow_service.grpc.pb.h"
#include "sluice/v1/packet_service.grpc.pb.h"
#include "sluice/v1/port_service.grpc.pb.h"
#include "sluice/v1/switch_service.grpc.pb.h"
#include "tests/integration/child_process.h"
#include "tests/integration/http.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Sanitizer builds on a busy machine are slow; the daemon knows, and gives itself more time to end.
constexpr absl::Duration kStart = absl::Seconds(60);
#ifdef SLUICE_SANITIZED
constexpr absl::Duration kEnd = absl::Seconds(20);
#else
constexpr absl::Duration kEnd = absl::Seconds(5);
#endif

std::string Binary() { return absl::StrCat(std::getenv("SLUICE_BUILD"), "/server/sluiced"); }

class SluicedTest : public ::testing::Test {
 protected:
  SluicedTest() {
    folder_ = ::testing::TempDir() + "/sluiced-test-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) abort();
    socket_ = "unix://" + folder_ + "/api.sock";
  }
  ~SluicedTest() override { std::filesystem::remove_all(folder_); }

  // The configuration's file, which listens on the socket of the test.
  std::string Config(const std::string& rest, const std::string& name = "sluiced.yaml") {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "api: {listen: [\"" << socket_ << "\"]}\n" << rest;
    return path;
  }

  // Runs to its end; the last line must hold the words.
  void Ends(int code, const std::vector<std::string>& options, const std::string& words) {
    std::vector<std::string> arguments = {Binary()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    ChildProcess child(arguments);
    EXPECT_EQ(child.Wait(kStart), code) << child.Output();
    std::vector<std::string> lines = absl::StrSplit(child.Output(), '\n', absl::SkipEmpty());
    ASSERT_FALSE(lines.empty());
    EXPECT_THAT(lines.back(), HasSubstr(words));
    if (code != 0) EXPECT_THAT(lines.back(), StartsWith("sluiced: "));
  }

  template <typename Service>
  std::unique_ptr<typename Service::Stub> Stub() {
    return Service::NewStub(grpc::CreateChannel(socket_, grpc::InsecureChannelCredentials()));
  }

  std::string folder_;
  std::string socket_;
};

TEST_F(SluicedTest, HelpAndVersion) {
  Ends(0, {"--version"}, "sluiced 0.1.0");
  Ends(0, {"--help"}, "text or json");
}

TEST_F(SluicedTest, ABadCommandLineIsExitCode2) {
  Ends(2, {"--no-such-option"}, "--no-such-option");
  Ends(2, {"--check-config"}, "--config");
  Ends(2, {"--listen", "nowhere"}, "\"nowhere\" is no address to listen on");
  Ends(2, {"--metrics-listen", "unix:///a"}, "metrics cannot listen on unix:///a");
  Ends(2, {"--log-format", "xml"}, "xml");
  Ends(2, {"word"}, "word");
}

TEST_F(SluicedTest, ABadConfigurationIsExitCode3) {
  const std::string unknown = Config("workers:\n  conut: 2\n");
  Ends(3, {"--config", unknown}, unknown + ":3:3: unknown key \"workers.conut\"");
  Ends(3, {"--check-config", "--config", unknown}, unknown + ":3:3: unknown key \"workers.conut\"");
  Ends(3, {"--config", folder_ + "/none.yaml"}, "none.yaml: cannot be read: No such file or directory");
  Ends(3, {"--config", Config("ports: [{name: p1, pci: {address: eth0}}]\n")}, ":2:25: \"eth0\" is no PCI address");
  Ends(3, {"--config", Config("ports: [{name: p1, devargs: no_such_driver}]\n")}, "no_such_driver");
}

TEST_F(SluicedTest, ARightConfigurationIsCheckedWithoutStarting) {
  const std::string config = Config("ports: [{name: p1, tap: {}}]\nmemory: {huge_pages: demand}\n");
  Ends(0, {"--check-config", "--config", config}, config + ": ok");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/api.sock"));
}

TEST_F(SluicedTest, MissingHugePagesAreExitCode5) {
  Ends(5, {"--config", Config("memory: {huge_pages: demand, megabytes: 1000000}\n")}, "huge pages");
}

TEST_F(SluicedTest, AnAddressInUseIsExitCode6) {
  ChildProcess first({Binary(), "--config", Config("metrics: {listen: \"127.0.0.1:0\"}\n"), "--listen", socket_,
                      "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(first.WaitForOutput("ready", kStart)) << first.Output();
  const auto after = [&first](const std::string& text) {
    const std::string output = first.Output();
    return output.substr(output.find(text) + text.size());
  };
  const std::string tcp = after(socket_ + ", ");
  const std::string address = tcp.substr(0, tcp.find('\n'));
  const std::string url = after("metrics on ");
  const std::string metrics = url.substr(7, url.find("/metrics") - 7);
  const std::string config = Config("", "second.yaml");

  Ends(6, {"--config", config}, "cannot listen on " + socket_ + ": another process serves it");
  Ends(6, {"--config", config, "--listen", address}, "cannot listen on " + address + ": Address already in use");
  Ends(6, {"--config", config, "--listen", "unix://" + folder_ + "/b.sock", "--metrics-listen", metrics},
       "cannot listen on " + metrics + ": Address already in use");
  Ends(6, {"--config", config, "--listen", "unix:///no/such/folder/a.sock"}, "/no/such/folder: No such file");
  v1::GetSwitchResponse response;
  grpc::ClientContext context;
  EXPECT_TRUE(Stub<v1::SwitchService>()->GetSwitch(&context, {}, &response).ok()) << "the first is undisturbed";
}

TEST_F(SluicedTest, ASocketThatWasLeftBehindIsTakenOver) {
  const std::string config = Config("");
  {
    ChildProcess first({Binary(), "--config", config});
    ASSERT_TRUE(first.WaitForOutput("ready", kStart)) << first.Output();
    first.Signal(SIGKILL);
    EXPECT_EQ(first.Wait(kEnd), -SIGKILL);
  }
  ASSERT_TRUE(std::filesystem::exists(folder_ + "/api.sock"));
  ChildProcess second({Binary(), "--config", config});
  EXPECT_TRUE(second.WaitForOutput("ready", kStart)) << second.Output();
}

TEST_F(SluicedTest, APortThatDoesNotOpenLeavesTheRestUp) {
  ChildProcess child({Binary(), "--config",
                      Config("ports:\n- {name: bad, number: 1, pcap: {rx_file: /no/such.pcap}}\n"
                             "- {name: good, number: 2, ring: {}}\n")});
  ASSERT_TRUE(child.WaitForOutput("ready", kStart)) << child.Output();
  EXPECT_THAT(child.Output(), AllOf(HasSubstr("error port bad: "), HasSubstr("/no/such.pcap"),
                                    HasSubstr("port good (2)"), HasSubstr("ready: sluiced 0.1.0, 1 ports, 1 workers")));
  v1::ListPortsResponse ports;
  grpc::ClientContext context;
  ASSERT_TRUE(Stub<v1::PortService>()->ListPorts(&context, {}, &ports).ok());
  ASSERT_EQ(ports.ports_size(), 1);
  EXPECT_EQ(ports.ports(0).spec().name(), "good");
}

TEST_F(SluicedTest, LogsAreJsonLinesWhereThatIsAsked) {
  ChildProcess child({Binary(), "--config", Config(""), "--log-format", "json"});
  ASSERT_TRUE(child.WaitForOutput("ready", kStart)) << child.Output();
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait(kEnd), 0);
  const std::vector<std::string> lines = absl::StrSplit(child.Output(), '\n', absl::SkipEmpty());
  EXPECT_GE(lines.size(), 3u);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, AllOf(StartsWith("{\"time\":\""), HasSubstr("\",\"level\":\""), HasSubstr("\",\"message\":\""),
                            EndsWith("\"}")));
  }
}

// The bytes of grpc.health.v1's answers.
constexpr char kServing[] = "\x08\x01";
constexpr char kNotServing[] = "\x08\x02";

// An open stream of grpc.health.v1.Health/Watch on "".
class HealthWatch {
 public:
  explicit HealthWatch(const std::string& address)
      : stub_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        call_(stub_.PrepareCall(&context_, "/grpc.health.v1.Health/Watch", &queue_)) {
    call_->StartCall(nullptr);
    Done();
    const grpc::Slice empty("");
    call_->WriteLast(grpc::ByteBuffer(&empty, 1), grpc::WriteOptions(), nullptr);
    Done();
  }

  // Empty: the stream has ended.
  std::string Next() {
    grpc::ByteBuffer buffer;
    call_->Read(&buffer, nullptr);
    std::string bytes;
    if (!Done()) return bytes;
    std::vector<grpc::Slice> slices;
    buffer.Dump(&slices);
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    return bytes;
  }

  grpc::Status Finish() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
    Done();
    return status;
  }

 private:
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

TEST_F(SluicedTest, SigtermEndsItInOrder) {
  ChildProcess child(
      {Binary(), "--config", Config("ports: [{name: r, ring: {}}]\nmetrics: {listen: \"127.0.0.1:0\"}\n")});
  ASSERT_TRUE(child.WaitForOutput("ready", kStart)) << child.Output();
  HealthWatch watch(socket_);
  ASSERT_EQ(watch.Next(), kServing);
  v1::BatchWriteRequest batch;
  for (int i = 0; i < 1000; ++i) batch.add_items()->mutable_create()->mutable_flow()->set_priority(i);
  v1::BatchWriteResponse written;
  grpc::ClientContext context;
  ASSERT_TRUE(Stub<v1::FlowService>()->BatchWrite(&context, batch, &written).ok());

  const absl::Time start = absl::Now();
  child.Signal(SIGTERM);
  EXPECT_EQ(watch.Next(), kNotServing) << "health turns first";
  EXPECT_EQ(watch.Next(), "") << "then the stream ends";
  EXPECT_FALSE(watch.Finish().ok());
  EXPECT_EQ(child.Wait(kEnd), 0) << child.Output();
  EXPECT_LT(absl::Now() - start, kEnd);
  EXPECT_THAT(child.Output(), AllOf(HasSubstr("signal 15: ending"), HasSubstr("info ended")));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/api.sock"));
}

TEST_F(SluicedTest, SigtermEndsStreams) {
  ChildProcess child({Binary(), "--config", Config("")});
  ASSERT_TRUE(child.WaitForOutput("ready", kStart)) << child.Output();
  const auto stub = Stub<v1::FlowService>();
  grpc::ClientContext reading, silent, sending;
  const auto packets = Stub<v1::PacketService>();
  const auto sender = packets->SendPackets(&sending);
  v1::SendPacketsRequest packet;
  packet.mutable_packet()->set_data(std::string(60, '\x02'));
  v1::SendPacketsResponse answer;
  ASSERT_TRUE(sender->Write(packet) && sender->Read(&answer));
  v1::WatchFlowsRequest request;
  request.set_send_current(true);
  const auto reader = stub->WatchFlows(&reading, request);
  const auto never_read = stub->WatchFlows(&silent, request);
  v1::WatchFlowsResponse message;
  ASSERT_TRUE(reader->Read(&message));
  const absl::Time start = absl::Now();
  child.Signal(SIGTERM);
  while (reader->Read(&message)) {
  }
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the switch is ending");
  // Now, since a client that looks when the switch has gone may find a broken pipe first.
  EXPECT_FALSE(sender->Read(&answer));
  EXPECT_EQ(sender->Finish().error_message(), "the switch is ending");
  EXPECT_EQ(child.Wait(kEnd), 0) << child.Output();
  EXPECT_LT(absl::Now() - start, kEnd);
  silent.TryCancel();
  while (never_read->Read(&message)) {
  }
  EXPECT_FALSE(never_read->Finish().ok());
}

TEST_F(SluicedTest, ASecondSignalEndsItAtOnce) {
  ChildProcess child({Binary(), "--config", Config("")});
  ASSERT_TRUE(child.WaitForOutput("ready", kStart)) << child.Output();
  HealthWatch watch(socket_);  // keeps the first from being over at once
  ASSERT_EQ(watch.Next(), kServing);
  child.Signal(SIGTERM);
  ASSERT_TRUE(child.WaitForOutput("signal 15: ending", kEnd));
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait(absl::Milliseconds(900)), -SIGINT) << child.Output();
}

TEST_F(SluicedTest, ASignalDuringStartEndsItInOrder) {
  const std::string config = Config("ports: [{name: r, ring: {}}, {name: s, ring: {}}]\n");
  for (const int after_ms : {20, 50, 100, 200, 400, 800}) {
    ChildProcess child({Binary(), "--config", config});
    absl::SleepFor(absl::Milliseconds(after_ms));
    const absl::Time start = absl::Now();
    child.Signal(SIGTERM);
    const int code = child.Wait(kStart);
    // Before main has run, a signal does what it does to every process.
    EXPECT_TRUE(code == 0 || (code == -SIGTERM && child.Output().empty())) << code << child.Output();
    EXPECT_LT(absl::Now() - start, kEnd) << after_ms;
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/api.sock"));
  }
}

TEST_F(SluicedTest, WithoutAConfigurationTheDefaultsRun) {
  ChildProcess child({Binary(), "--listen", socket_, "--metrics-listen", "127.0.0.1:0", "--log-level", "info"});
  ASSERT_TRUE(child.WaitForOutput("ready", kStart)) << child.Output();
  EXPECT_THAT(child.Output(), HasSubstr("0 ports, 1 workers"));
  const std::string output = child.Output();
  const size_t at = output.find("http://");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(HttpGet(output.substr(at, output.find('\n', at) - at)), HasSubstr("sluice_start_time_seconds 1"));
}

}  // namespace
}  // namespace sluice
