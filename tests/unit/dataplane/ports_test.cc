// The dataplane as the server uses it, on devices that need no privileges.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <numeric>
#include <set>
#include <thread>

#include "dataplane/dataplane.h"
#include "tests/support/packet_builder.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kNoSnap = 262144;

void WriteCapture(const std::string& file, const std::vector<Bytes>& frames, int link = DLT_EN10MB) {
  pcap_t* format = pcap_open_dead(link, kNoSnap);
  pcap_dumper_t* out = pcap_dump_open(format, file.c_str());
  ASSERT_NE(out, nullptr) << pcap_geterr(format);
  for (const Bytes& frame : frames) {
    const auto size = static_cast<bpf_u_int32>(frame.size());
    const pcap_pkthdr header{.ts = {}, .caplen = size, .len = size};
    pcap_dump(reinterpret_cast<u_char*>(out), &header, frame.data());
  }
  pcap_dump_close(out);
  pcap_close(format);
}

std::vector<Bytes> ReadCapture(const std::string& file) {
  char reason[PCAP_ERRBUF_SIZE];
  pcap_t* in = pcap_open_offline(file.c_str(), reason);
  EXPECT_NE(in, nullptr) << reason;
  std::vector<Bytes> frames;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  while (in != nullptr && pcap_next_ex(in, &header, &bytes) == 1) {
    EXPECT_EQ(header->caplen, header->len);
    frames.emplace_back(bytes, bytes + header->caplen);
  }
  if (in != nullptr) pcap_close(in);
  return frames;
}

bool WaitUntil(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

size_t Entries(const char* folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// EAL starts once a process, so the tests share a dataplane and leave it empty.
class PortsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    DataplaneConfig config;
    config.packet_buffers = 65536;  // the memory asked for must do for many, too
    config.worker_count = 2;
    auto started = Dataplane::Start(config);
    ASSERT_TRUE(started.ok()) << started.status();
    dataplane_ = started->release();
    char folder[] = "/tmp/sluice-ports-XXXXXX";
    folder_ = mkdtemp(folder);
  }
  static void TearDownTestSuite() {
    delete dataplane_;
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override {
    for (const PortInfo& port : dataplane_->ListPorts()) EXPECT_TRUE(dataplane_->RemovePort(port.config.number).ok());
    std::promise<void> deleted;
    dataplane_->flows().DeleteMatching({}, [&](auto) { deleted.set_value(); });
    deleted.get_future().get();
  }

  static std::string File(const std::string& name) { return folder_ + "/" + name; }

  static PortInfo Add(const std::string& name, PortDevice device, uint32_t number = 0, uint32_t mtu = 1500) {
    const absl::StatusOr<PortInfo> info =
        dataplane_->AddPort({.name = name, .number = number, .device = std::move(device), .mtu = mtu});
    EXPECT_TRUE(info.ok()) << info.status();
    return info.value_or(PortInfo{});
  }
  static absl::Status Refused(PortDevice device, PortConfig config = {.name = "refused"}) {
    config.device = std::move(device);
    const size_t before = dataplane_->ListPorts().size();
    const absl::Status status = dataplane_->AddPort(config).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(dataplane_->ListPorts().size(), before);
    return status;
  }
  static void AddFlow(uint32_t in_port, uint32_t out_port) {
    CreateFlow create;
    MatchOn(create.spec.match, Field::kInPort, in_port, absl::Uint128Max());
    create.spec.actions = {{.type = ActionType::kOutput, .port = out_port}};
    const FlowChange change = create;
    dataplane_->flows().Write({&change, 1}, BatchMode::kPerItem, false,
                              [](auto results) { EXPECT_TRUE(results[0].status.ok()); });
  }
  static uint64_t Received(uint32_t number) { return dataplane_->GetPort(number)->stats.receive_packets; }

  static inline Dataplane* dataplane_ = nullptr;
  static inline std::string folder_;
};

std::vector<Bytes> SomeFrames(size_t n) {
  std::vector<Bytes> frames;
  for (size_t i = 0; i < n; ++i) {
    frames.push_back(PacketBuilder().Ipv4().Udp().Payload(Bytes(i * 13 % 1400, static_cast<uint8_t>(i))).Build());
  }
  return frames;
}

TEST_F(PortsTest, StartsOnceAndKnowsWhereItIs) {
  EXPECT_EQ(Dataplane::Start({}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(dataplane_->environment().dpdk_version, HasSubstr("DPDK"));
  EXPECT_GT(dataplane_->environment().tsc_hz, 0u);
  EXPECT_FALSE(dataplane_->environment().huge_pages);
  EXPECT_THAT(dataplane_->Workers(), SizeIs(2));
}

TEST_F(PortsTest, CaptureToCaptureByteForByte) {
  std::vector<Bytes> frames = SomeFrames(500);
  WriteCapture(File("in.pcap"), frames);
  AddFlow(1, 2);
  Add("out", PcapDevice{.tx_file = File("out.pcap")}, 2);
  Add("in", PcapDevice{.rx_file = File("in.pcap")}, 1);
  ASSERT_TRUE(WaitUntil([] { return Received(1) == 500; }));
  const PacketTotals totals = dataplane_->Totals();
  EXPECT_EQ(totals.received,
            totals.forwarded + std::accumulate(std::begin(totals.drops), std::end(totals.drops), 0ull));
  const PortInfo out = dataplane_->RemovePort(2).value();
  EXPECT_EQ(out.stats.transmit_packets, 500u);
  EXPECT_EQ(out.driver, "net_pcap");
  EXPECT_THAT(ReadCapture(File("out.pcap")), ElementsAreArray(frames));
}

TEST_F(PortsTest, JumboFramesThroughCaptures) {
  std::vector<Bytes> frames;
  for (const size_t size : {2176, 2177, 9014, 16128}) frames.push_back(Bytes(size, 0x55));
  // Longer than the driver writes of a chained frame without cutting it.
  frames.push_back(Bytes(16129, 0x55));
  WriteCapture(File("jumbo.pcap"), frames);
  AddFlow(1, 2);
  Add("out", PcapDevice{.tx_file = File("jumbo-out.pcap")}, 2, 65535);
  Add("in", PcapDevice{.rx_file = File("jumbo.pcap")}, 1, 65535);
  ASSERT_TRUE(WaitUntil([] { return Received(1) == 5; }));
  EXPECT_EQ(dataplane_->RemovePort(2)->stats.drop_mtu, 1u);
  frames.pop_back();
  EXPECT_THAT(ReadCapture(File("jumbo-out.pcap")), ElementsAreArray(frames));
}

TEST_F(PortsTest, ReceiveIsHeldBackUntilWanted) {
  WriteCapture(File("held.pcap"), SomeFrames(10));
  PortConfig config{.name = "held", .number = 1, .device = PcapDevice{.rx_file = File("held.pcap")}, .receive = false};
  ASSERT_TRUE(dataplane_->AddPort(config).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(Received(1), 0u);
  EXPECT_TRUE(dataplane_->UpdatePort(1, {.receive = true})->config.receive);
  EXPECT_TRUE(WaitUntil([] { return Received(1) == 10; }));
}

TEST_F(PortsTest, InfiniteCaptureToNull) {
  WriteCapture(File("loop.pcap"), SomeFrames(20));
  AddFlow(1, 2);
  Add("sink", NullDevice{}, 2);
  Add("loop", PcapDevice{.rx_file = File("loop.pcap"), .infinite_rx = true}, 1);
  EXPECT_TRUE(WaitUntil([] { return dataplane_->GetPort(2)->stats.transmit_packets > 1000; }));
  EXPECT_EQ(dataplane_->GetPort(2)->stats.receive_packets, 0u);
}

TEST_F(PortsTest, NullMakesFramesOfZeros) {
  AddFlow(1, 2);
  Add("out", PcapDevice{.tx_file = File("zeros.pcap")}, 2);
  Add("null", NullDevice{.rx_frame_bytes = 60}, 1);
  ASSERT_TRUE(WaitUntil([] { return dataplane_->GetPort(2)->stats.transmit_packets > 0; }));
  ASSERT_TRUE(dataplane_->RemovePort(1).ok());
  ASSERT_TRUE(dataplane_->RemovePort(2).ok());
  const std::vector<Bytes> frames = ReadCapture(File("zeros.pcap"));
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames[0], Bytes(60, 0));
}

TEST_F(PortsTest, RingGivesBackWhatItGets) {
  const std::vector<Bytes> frames = SomeFrames(100);
  WriteCapture(File("ring.pcap"), frames);
  AddFlow(1, 2);
  AddFlow(2, 3);
  Add("out", PcapDevice{.tx_file = File("ring-out.pcap")}, 3);
  Add("ring", RingDevice{}, 2);
  Add("in", PcapDevice{.rx_file = File("ring.pcap")}, 1);
  ASSERT_TRUE(WaitUntil([] { return dataplane_->GetPort(3)->stats.transmit_packets == 100; }));
  ASSERT_TRUE(dataplane_->RemovePort(3).ok());
  EXPECT_THAT(ReadCapture(File("ring-out.pcap")), ElementsAreArray(frames));
}

TEST_F(PortsTest, NumbersAndNames) {
  EXPECT_EQ(Add("a", NullDevice{}).config.number, 1u);
  EXPECT_EQ(Add("c", NullDevice{}, 3).config.number, 3u);
  EXPECT_EQ(Add("b", NullDevice{}).config.number, 2u);
  EXPECT_EQ(Add("max", NullDevice{}, 65279).config.number, 65279u);
  EXPECT_EQ(Add("d", NullDevice{}).config.number, 4u);
  EXPECT_EQ(*dataplane_->PortNumber("max"), 65279u);
  EXPECT_EQ(dataplane_->PortNumber("none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Refused(NullDevice{}, {.name = "a"}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Refused(NullDevice{}, {.name = "z", .number = 3}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Refused(NullDevice{}, {.name = "z z"}).code(), absl::StatusCode::kInvalidArgument);
  std::vector<uint32_t> numbers;
  for (const PortInfo& port : dataplane_->ListPorts()) numbers.push_back(port.config.number);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 65279));
  EXPECT_EQ(dataplane_->RemovePort(77).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(dataplane_->UpdatePort(77, {}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(dataplane_->GetPort(77).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PortsTest, InfoTellsTheDevice) {
  const PortInfo info = Add("n", NullDevice{});
  EXPECT_EQ(info.driver, "net_null");
  EXPECT_TRUE(info.link_up);
  EXPECT_THAT(info.mac_address, testing::MatchesRegex("([0-9a-f]{2}:){5}[0-9a-f]{2}"));
  EXPECT_EQ(info.config.rx_queues, 2u);
  EXPECT_EQ(Add("p", PcapDevice{.tx_file = File("x.pcap")}).config.rx_queues, 1u);
}

TEST_F(PortsTest, UpdateChangesWhatIsGiven) {
  Add("n", NullDevice{}, 1);
  const PortInfo info = dataplane_->UpdatePort(1, {.enabled = false, .mtu = 9000}).value();
  EXPECT_FALSE(info.config.enabled);
  EXPECT_TRUE(info.config.receive);
  EXPECT_EQ(info.config.mtu, 9000u);
  EXPECT_EQ(dataplane_->UpdatePort(1, {.mtu = 67}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(dataplane_->GetPort(1)->config.mtu, 9000u);
}

TEST_F(PortsTest, AtMostThirtyTwo) {
  for (unsigned i = 0; i < Dataplane::kMaxPorts; ++i) Add("p" + std::to_string(i), NullDevice{});
  EXPECT_EQ(Refused(NullDevice{}).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(PortsTest, RefusalsGiveTheReasonAndDisturbNobody) {
  WriteCapture(File("alive.pcap"), SomeFrames(5));
  AddFlow(1, 2);
  Add("out", PcapDevice{.tx_file = File("alive-out.pcap")}, 2);
  WriteCapture(File("cooked.pcap"), {Bytes(60, 0)}, DLT_LINUX_SLL);
  WriteCapture(File("empty.pcap"), {});
  WriteCapture(File("big.pcap"), {Bytes(3000, 0)});
  WriteCapture(File("many.pcap"), std::vector<Bytes>(70000, Bytes(60, 0)));
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  const auto expect = [&](PortDevice device, absl::StatusCode code, const std::string& text) {
    const absl::Status status = Refused(std::move(device));
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(status.message(), HasSubstr(text));
  };
  expect(PcapDevice{.rx_file = "/none/in.pcap"}, kPrecondition, "/none/in.pcap: No such file or directory");
  expect(PcapDevice{.tx_file = "/none/out.pcap"}, kPrecondition, "/none/out.pcap: No such file or directory");
  expect(PcapDevice{.tx_file = folder_}, kPrecondition, "Is a directory");
  expect(PcapDevice{.rx_file = "/etc/passwd"}, kPrecondition, "unknown file format");
  expect(PcapDevice{.rx_file = File("cooked.pcap")}, kPrecondition, "LINUX_SLL");
  expect(PcapDevice{.rx_file = File("empty.pcap"), .infinite_rx = true}, absl::StatusCode::kInvalidArgument,
         "no frame");
  expect(PcapDevice{.rx_file = File("big.pcap"), .infinite_rx = true}, kPrecondition, "3000 bytes");
  expect(PcapDevice{.rx_file = File("many.pcap"), .infinite_rx = true}, absl::StatusCode::kResourceExhausted, "70000");
  expect(DevargsDevice{"net_pcap5,rx_pcap=" + File("many.pcap") + ",infinite_rx=1"},
         absl::StatusCode::kResourceExhausted, "70000");
  expect(DevargsDevice{"net_nonsense0,a=b"}, absl::StatusCode::kInvalidArgument, "net_nonsense");
  expect(DevargsDevice{"net_null0,nonsense=1"}, kPrecondition, "net_null");
  expect(NullDevice{.rx_frame_bytes = 9000}, absl::StatusCode::kInvalidArgument, "9000 bytes do not fit");
  expect(PciDevice{"0000:03:00.0"}, kPrecondition, "eal.pci");
  PortConfig queues{.name = "queues", .rx_queues = 2};
  EXPECT_THAT(Refused(PcapDevice{.rx_file = File("alive.pcap")}, queues).message(), HasSubstr("at most 1"));
  Add("in", PcapDevice{.rx_file = File("alive.pcap")}, 1);
  EXPECT_TRUE(WaitUntil([] { return dataplane_->GetPort(2)->stats.transmit_packets == 5; }));
}

TEST_F(PortsTest, DevargsThatAreInUse) {
  Add("a", DevargsDevice{"net_null0,no-rx=1"}, 1);
  EXPECT_EQ(Refused(DevargsDevice{"net_null0,no-rx=1"}).code(), absl::StatusCode::kAlreadyExists);
  Add("b", NullDevice{});
  ASSERT_TRUE(dataplane_->RemovePort(1).ok());
  Add("c", DevargsDevice{"net_null0,no-rx=1"}, 1);
}

TEST_F(PortsTest, ComeAndGoAThousandTimesUnderTrafficWithoutLeaks) {
  WriteCapture(File("traffic.pcap"), SomeFrames(10));
  AddFlow(1, 2);
  Add("in", PcapDevice{.rx_file = File("traffic.pcap"), .infinite_rx = true}, 1);
  size_t files = 0;
  size_t threads = 0;
  for (int round = 0; round < 1000; ++round) {
    PortDevice device = NullDevice{};
    if (round % 10 == 1) device = RingDevice{};
    if (round % 10 == 2) device = PcapDevice{.tx_file = File("churn.pcap")};
    const absl::StatusOr<PortInfo> added = dataplane_->AddPort({.name = "churn", .number = 2, .device = device});
    ASSERT_TRUE(added.ok()) << "round " << round << ": " << added.status();
    ASSERT_TRUE(dataplane_->RemovePort(2).ok());
    if (round == 20) {
      files = Entries("/proc/self/fd");
      threads = Entries("/proc/self/task");
    }
  }
  EXPECT_EQ(Entries("/proc/self/fd"), files);
  EXPECT_EQ(Entries("/proc/self/task"), threads);
  // Buffers that leaked would be missing here.
  WriteCapture(File("most.pcap"), std::vector<Bytes>(64000, Bytes(60, 0)));
  Add("most", PcapDevice{.rx_file = File("most.pcap"), .infinite_rx = true}, 2);
  EXPECT_GT(Received(1), 0u);
}

TEST(DropReasonTest, NamesAreDistinct) {
  std::set<std::string> names;
  for (int i = 0; i < kDropReasonCount; ++i) names.insert(DropReasonName(static_cast<DropReason>(i)));
  EXPECT_THAT(names, SizeIs(kDropReasonCount));
  EXPECT_STREQ(DropReasonName(DropReason::kOutputToIngress), "output_to_ingress");
}

TEST(StartTest, RefusesWhatCannotBe) {
  EXPECT_THAT(Dataplane::Start({.rx_burst = 33}).status().message(), HasSubstr("1 to 32"));
  EXPECT_THAT(Dataplane::Start({.packet_buffer_bytes = 65408}).status().message(), HasSubstr("packet_buffer_bytes"));
  const absl::Status cpu = Dataplane::Start({.worker_cpus = {7999}}).status();
  EXPECT_EQ(cpu.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(cpu.message(), HasSubstr("allowed to use the CPUs"));
  const absl::Status memory = Dataplane::Start({.packet_buffers = 1 << 24, .packet_buffer_bytes = 65407}).status();
  EXPECT_EQ(memory.code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace sluice
