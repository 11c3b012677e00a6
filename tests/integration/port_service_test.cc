// PortService as a client sees it, and packets through ports made by it.

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/api_fixture.h"
#include "tests/support/packet_builder.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ports = v1::PortService::Stub;
using testing::kIpv4;
using testing::MatchBuilder;
using testing::Output;

class PortServiceTest : public ApiTest {
 protected:
  grpc::Status Create(const v1::PortSpec& spec) {
    v1::CreatePortRequest request;
    *request.mutable_port() = spec;
    v1::CreatePortResponse response;
    return Call(*ports_, &Ports::CreatePort, request, &response);
  }

  v1::Port Get(uint32_t number) {
    v1::GetPortRequest request;
    request.mutable_key()->set_number(number);
    v1::GetPortResponse response;
    EXPECT_TRUE(Call(*ports_, &Ports::GetPort, request, &response).ok());
    return response.port();
  }
};

TEST_F(PortServiceTest, CreateReadUpdateDelete) {
  const v1::Port first = MustCreatePort(Ring("r1"));
  const v1::Port ninth = MustCreatePort(Ring("r9", 9));
  const v1::Port second = MustCreatePort(Ring("r2"));
  EXPECT_EQ(first.spec().number(), 1u);
  EXPECT_EQ(second.spec().number(), 2u) << "the lowest free number";
  EXPECT_EQ(ninth.spec().number(), 9u);
  EXPECT_TRUE(first.spec().has_ring());
  EXPECT_EQ(first.spec().mtu(), 1500u);
  EXPECT_GE(first.spec().rx_queues(), 1u);
  EXPECT_EQ(first.driver(), "net_ring");

  v1::ListPortsResponse list;
  ASSERT_TRUE(Call(*ports_, &Ports::ListPorts, {}, &list).ok());
  std::vector<std::string> names;
  for (const v1::Port& port : list.ports()) names.push_back(port.spec().name());
  EXPECT_THAT(names, ElementsAre("r1", "r2", "r9"));

  v1::UpdatePortRequest update;
  update.mutable_key()->set_name("r9");
  update.set_enabled(false);
  update.set_receive(false);
  update.set_mtu(9000);
  v1::UpdatePortResponse updated;
  const grpc::Status status = Call(*ports_, &Ports::UpdatePort, update, &updated);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(updated.port().spec().disabled());
  EXPECT_TRUE(updated.port().spec().no_receive());
  EXPECT_EQ(updated.port().spec().mtu(), 9000u);
  EXPECT_TRUE(Get(9).spec().disabled());

  v1::DeletePortRequest remove;
  remove.mutable_key()->set_name("r9");
  v1::DeletePortResponse removed;
  ASSERT_TRUE(Call(*ports_, &Ports::DeletePort, remove, &removed).ok());
  EXPECT_EQ(removed.port().spec().number(), 9u);
  EXPECT_EQ(Call(*ports_, &Ports::DeletePort, remove, &removed).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Call(*ports_, &Ports::UpdatePort, update, &updated).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(PortServiceTest, AnOpenPortIsNotTakenTwice) {
  MustCreatePort(Ring("r1", 5));
  EXPECT_EQ(Create(Ring("r1")).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(Create(Ring("r2", 5)).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  MustCreatePort(Ring("r2"));
}

TEST_F(PortServiceTest, BadRequestsNameTheField) {
  v1::PortSpec bad_name = Ring("a b");
  v1::PortSpec no_device = Ring("a");
  no_device.clear_device();
  v1::PortSpec bad_pci = Ring("a");
  bad_pci.mutable_pci()->set_address("eth0");
  for (const auto& [spec, field] :
       {std::pair{bad_name, "port.name"}, std::pair{no_device, "port"}, std::pair{bad_pci, "port.pci"}}) {
    const grpc::Status status = Create(spec);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(BadRequestOf(status).field_violations(0).field(), field);
  }
  v1::GetPortResponse response;
  const grpc::Status status = Call(*ports_, &Ports::GetPort, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadRequestOf(status).field_violations(0).field(), "key");
}

TEST_F(PortServiceTest, ADeviceThatDoesNotOpenSaysWhyAndDisturbsNobody) {
  MustCreatePort(Ring("r1"));
  v1::PortSpec no_file = Ring("c");
  no_file.mutable_pcap()->set_rx_file("/no/such.pcap");
  const grpc::Status status = Create(no_file);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("/no/such.pcap"));
  v1::PortSpec no_driver = Ring("d");
  no_driver.set_devargs("no_such_driver0");
  EXPECT_EQ(Create(no_driver).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  MustCreatePort(Ring("r2"));
  EXPECT_EQ(Get(1).spec().name(), "r1");
}

// Ports come and go while others read: no call fails but those that must.
TEST_F(PortServiceTest, PortsComeAndGoWhileOthersRead) {
  std::thread reader([this] {
    for (int i = 0; i < 50; ++i) {
      v1::ListPortsResponse list;
      EXPECT_TRUE(Call(*ports_, &Ports::ListPorts, {}, &list).ok());
      v1::GetSwitchResponse info;
      EXPECT_TRUE(Call(*switch_, &v1::SwitchService::Stub::GetSwitch, {}, &info).ok());
    }
  });
  for (int i = 0; i < 10; ++i) {
    MustCreatePort(Ring("come", 20));
    v1::DeletePortRequest remove;
    remove.mutable_key()->set_number(20);
    v1::DeletePortResponse removed;
    EXPECT_TRUE(Call(*ports_, &Ports::DeletePort, remove, &removed).ok());
  }
  reader.join();
}

// A capture with these frames.
void WriteCapture(const std::string& path, const std::vector<Bytes>& frames) {
  std::ofstream file(path, std::ios::binary);
  const auto word = [&file](uint32_t value) { file.write(reinterpret_cast<const char*>(&value), sizeof value); };
  for (uint32_t value : {0xa1b2c3d4u, 0x00040002u, 0u, 0u, 65535u, 1u}) word(value);
  for (const Bytes& frame : frames) {
    const auto size = static_cast<uint32_t>(frame.size());
    for (uint32_t value : {0u, 0u, size, size}) word(value);
    file.write(reinterpret_cast<const char*>(frame.data()), size);
  }
}

std::vector<Bytes> ReadCapture(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<Bytes> frames;
  file.ignore(24);
  uint32_t header[4];
  while (file.read(reinterpret_cast<char*>(header), sizeof header)) {
    Bytes frame(header[2]);
    file.read(reinterpret_cast<char*>(frame.data()), static_cast<std::streamsize>(frame.size()));
    frames.push_back(frame);
  }
  return frames;
}

// A capture of three kinds of frames, a hundred of each, from port 1; a pcap port 2 as sink.
class CaptureTest : public PortServiceTest {
 protected:
  static constexpr uint64_t kEach = 100;

  CaptureTest() {
    std::vector<Bytes> frames;
    for (uint64_t i = 0; i < kEach; ++i) frames.insert(frames.end(), {dns_, other_, arp_});
    WriteCapture(in_, frames);
    before_ = Totals();
    v1::PortSpec sink = Ring("out", 2);
    sink.mutable_pcap()->set_tx_file(out_);
    MustCreatePort(sink);
    v1::PortSpec source = Ring("in", 1);
    source.mutable_pcap()->set_rx_file(in_);
    source.set_no_receive(true);
    MustCreatePort(source);
  }

  v1::PacketTotals Totals() {
    v1::GetSwitchResponse response;
    EXPECT_TRUE(Call(*switch_, &v1::SwitchService::Stub::GetSwitch, {}, &response).ok());
    return response.totals();
  }

  // Lets port 1 receive, and waits until all frames have gone their way.
  v1::PacketTotals Play() {
    v1::UpdatePortRequest go;
    go.mutable_key()->set_number(1);
    go.set_receive(true);
    v1::UpdatePortResponse going;
    EXPECT_TRUE(Call(*ports_, &Ports::UpdatePort, go, &going).ok());
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    v1::PacketTotals after;
    do {
      absl::SleepFor(absl::Milliseconds(5));
      after = Totals();
    } while (after.received() < before_.received() + 3 * kEach && absl::Now() < deadline);
    return after;
  }

  v1::FlowStats StatsOf(const v1::Flow& flow) {
    v1::GetFlowRequest request;
    *request.mutable_key() = KeyOf(flow.id());
    v1::GetFlowResponse response;
    EXPECT_TRUE(Call(*flows_, &v1::FlowService::Stub::GetFlow, request, &response).ok());
    return response.flow().stats();
  }

  const std::string in_ = test_server_.folder() + "/in.pcap";
  const std::string out_ = test_server_.folder() + "/out.pcap";
  const Bytes dns_ = PacketBuilder().Ipv4().Udp({.dst = 53}).Payload("query").PadTo(60).Build();
  const Bytes other_ = PacketBuilder().Ipv4().Udp({.dst = 54}).Payload("other").PadTo(90).Build();
  const Bytes arp_ = PacketBuilder().Arp().PadTo(60).Build();
  v1::PacketTotals before_;
};

TEST_F(CaptureTest, PacketsAreForwardedAndCounted) {
  const v1::Flow to_2 = MustCreate(UdpFlow(100, 53));
  v1::FlowSpec drop;
  *drop.mutable_match() = MatchBuilder().EthType(kIpv4).match();
  MustCreate(drop);
  const v1::PacketTotals after = Play();
  EXPECT_EQ(after.received() - before_.received(), 3 * kEach);
  EXPECT_EQ(after.forwarded() - before_.forwarded(), kEach);
  for (const char* reason : {"action_drop", "no_flow"}) {
    EXPECT_EQ(after.drops().at(reason) - before_.drops().at(reason), kEach) << reason;
  }
  EXPECT_EQ(StatsOf(to_2).packets(), kEach);
  EXPECT_EQ(StatsOf(to_2).bytes(), kEach * 60);
  EXPECT_GE(StatsOf(to_2).last_used_time().seconds(), to_2.create_time().seconds());
  EXPECT_EQ(Get(1).stats().receive_packets(), 3 * kEach);
  EXPECT_EQ(Get(2).stats().transmit_packets(), kEach);
  EXPECT_EQ(Get(2).stats().transmit_bytes(), kEach * 60);

  v1::DeletePortRequest close;
  close.mutable_key()->set_number(2);
  v1::DeletePortResponse closed;
  ASSERT_TRUE(Call(*ports_, &Ports::DeletePort, close, &closed).ok());
  EXPECT_EQ(closed.port().stats().transmit_packets(), kEach);
  EXPECT_EQ(ReadCapture(out_), std::vector<Bytes>(kEach, dns_));
}

TEST_F(CaptureTest, ADeletesAnswerHoldsTheFinalCounters) {
  const v1::Flow dns = MustCreate(UdpFlow(100, 53));
  const v1::Flow other = MustCreate(UdpFlow(100, 54));
  const v1::Flow unused = MustCreate(UdpFlow(100, 55));
  Play();
  EXPECT_FALSE(StatsOf(unused).has_last_used_time());
  v1::BatchWriteRequest batch;
  *batch.add_items()->mutable_delete_()->mutable_key() = KeyOf(other.id());
  v1::BatchWriteResponse written;
  ASSERT_TRUE(Call(*flows_, &v1::FlowService::Stub::BatchWrite, batch, &written).ok());
  EXPECT_EQ(written.results(0).stats().packets(), kEach);
  EXPECT_EQ(written.results(0).stats().bytes(), kEach * 90);
  v1::DeleteFlowRequest remove;
  *remove.mutable_key() = KeyOf(dns.id());
  v1::DeleteFlowResponse removed;
  ASSERT_TRUE(Call(*flows_, &v1::FlowService::Stub::DeleteFlow, remove, &removed).ok());
  EXPECT_EQ(removed.flow().stats().packets(), kEach);
  EXPECT_EQ(removed.flow().stats().bytes(), kEach * 60);
}

TEST_F(CaptureTest, DeletingByFilterAddsUpTheCounters) {
  MustCreate(UdpFlow(100, 53));
  MustCreate(UdpFlow(100, 54));
  MustCreate(UdpFlow(50, 55));
  Play();
  v1::DeleteMatchingFlowsRequest request;
  request.mutable_filter()->set_priority(100);
  request.mutable_filter()->set_out_port(2);
  v1::DeleteMatchingFlowsResponse sum;
  ASSERT_TRUE(Call(*flows_, &v1::FlowService::Stub::DeleteMatchingFlows, request, &sum).ok());
  EXPECT_EQ(sum.deleted_count(), 2u);
  EXPECT_EQ(sum.stats().packets(), 2 * kEach);
  EXPECT_EQ(sum.stats().bytes(), kEach * 150);
}

}  // namespace
}  // namespace sluice
