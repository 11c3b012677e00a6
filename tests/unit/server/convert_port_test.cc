// Ports: every device there and back, and what is refused.

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/convert.h"
#include "tests/unit/server/convert_testing.h"

namespace sluice {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::BadRequestOf;
using ::testing::HasSubstr;

v1::PortSpec RingSpec() {
  v1::PortSpec spec;
  spec.set_name("p1");
  spec.mutable_ring();
  return spec;
}

absl::Status Convert(const v1::PortSpec& in, PortConfig& out) {
  ViolationList violations;
  PortConfigFromProto(in, Path("port"), violations, out);
  return violations.ToStatus();
}

TEST(PortTest, EveryDeviceComesBack) {
  std::vector<v1::PortSpec> specs(7, RingSpec());
  specs[0].mutable_tap()->set_interface("tap1");
  specs[1].mutable_interface()->set_interface("veth1");
  specs[2].mutable_pcap()->set_rx_file("/tmp/a.pcap");
  specs[2].mutable_pcap()->set_tx_file("/tmp/b.pcap");
  specs[2].mutable_pcap()->set_infinite_rx(true);
  specs[3].mutable_null()->set_rx_frame_bytes(64);
  specs[5].mutable_pci()->set_address("0000:03:00.0");
  specs[6].set_devargs("net_memif0,role=server");
  for (v1::PortSpec& in : specs) {
    in.set_number(65279);
    in.set_mtu(65535);
    in.set_rx_queues(2);
    in.set_disabled(true);
    in.set_no_receive(true);
    PortInfo port;
    ASSERT_TRUE(Convert(in, port.config).ok()) << Convert(in, port.config);
    EXPECT_FALSE(port.config.enabled);
    EXPECT_FALSE(port.config.receive);
    v1::Port out;
    PortToProto(port, &out);
    EXPECT_TRUE(MessageDifferencer::Equals(out.spec(), in)) << out.DebugString() << in.DebugString();
  }
}

TEST(PortTest, WhatIsLeftOutHasItsDefault) {
  PortConfig config;
  ASSERT_TRUE(Convert(RingSpec(), config).ok());
  EXPECT_EQ(config.number, 0u);
  EXPECT_EQ(config.mtu, 1500u);
  EXPECT_TRUE(config.enabled);
  EXPECT_TRUE(config.receive);
}

struct BadPort {
  const char* what;
  void (*change)(v1::PortSpec&);
  const char* field;
  const char* text;
};

class BadPortTest : public ::testing::TestWithParam<BadPort> {};

TEST_P(BadPortTest, NamesTheFieldAndWhatWouldBeRight) {
  v1::PortSpec in = RingSpec();
  GetParam().change(in);
  PortConfig config;
  const absl::Status status = Convert(in, config);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const google::rpc::BadRequest details = BadRequestOf(status);
  ASSERT_EQ(details.field_violations_size(), 1) << status;
  EXPECT_EQ(details.field_violations(0).field(), GetParam().field);
  EXPECT_THAT(details.field_violations(0).description(), HasSubstr(GetParam().text));
}

const BadPort kBadPorts[] = {
    {"NoName", [](v1::PortSpec& s) { s.clear_name(); }, "port.name", "1 to 31 of letters"},
    {"LongName", [](v1::PortSpec& s) { s.set_name(std::string(32, 'a')); }, "port.name", "1 to 31 of letters"},
    {"HugeName", [](v1::PortSpec& s) { s.set_name(std::string(1 << 20, 'a')); }, "port.name", "aaa...\""},
    {"BlankInName", [](v1::PortSpec& s) { s.set_name("a b"); }, "port.name", "\"a b\" is no port's name"},
    {"NewlineInName", [](v1::PortSpec& s) { s.set_name("a\nb"); }, "port.name", "\"a\\nb\""},
    {"Number", [](v1::PortSpec& s) { s.set_number(65280); }, "port.number", "1 to 65279"},
    {"SmallMtu", [](v1::PortSpec& s) { s.set_mtu(67); }, "port.mtu", "68 to 65535, or 0 for 1500"},
    {"LargeMtu", [](v1::PortSpec& s) { s.set_mtu(65536); }, "port.mtu", "68 to 65535"},
    {"Queues", [](v1::PortSpec& s) { s.set_rx_queues(129); }, "port.rx_queues", "1 to 128"},
    {"NoDevice", [](v1::PortSpec& s) { s.clear_device(); }, "port", "one of tap, interface, pcap"},
    {"LongInterface", [](v1::PortSpec& s) { s.mutable_tap()->set_interface(std::string(16, 'a')); }, "port.tap", "15"},
    {"SlashInInterface", [](v1::PortSpec& s) { s.mutable_interface()->set_interface("a/b"); }, "port.interface",
     "letters"},
    {"CommaInFile", [](v1::PortSpec& s) { s.mutable_pcap()->set_rx_file("a,b"); }, "port.pcap", "another name"},
    {"BadPci", [](v1::PortSpec& s) { s.mutable_pci()->set_address("eth0"); }, "port.pci", "0000:03:00.0"},
    {"NoDevargs", [](v1::PortSpec& s) { s.set_devargs(""); }, "port.devargs", "net_memif0"},
};
INSTANTIATE_TEST_SUITE_P(Ports, BadPortTest, ::testing::ValuesIn(kBadPorts),
                         [](const auto& test) { return std::string(test.param.what); });

TEST(PortChangeTest, AbsentStays) {
  ViolationList violations;
  Dataplane::PortChange change;
  v1::UpdatePortRequest in;
  PortChangeFromProto(in, violations, change);
  EXPECT_FALSE(change.enabled || change.receive || change.mtu);
  in.set_enabled(false);
  in.set_receive(true);
  in.set_mtu(9000);
  PortChangeFromProto(in, violations, change);
  EXPECT_EQ(change.enabled, false);
  EXPECT_EQ(change.receive, true);
  EXPECT_EQ(change.mtu, 9000u);
  EXPECT_TRUE(violations.empty());
  in.set_mtu(1);
  PortChangeFromProto(in, violations, change);
  EXPECT_THAT(std::string(violations.ToStatus().message()), HasSubstr("mtu: 1 is no MTU: 68 to 65535"));
}

TEST(PortToProtoTest, CountersAndState) {
  PortInfo port;
  port.config.name = "p1";
  port.link_up = true;
  port.link_speed_mbps = 10000;
  port.mac_address = "02:00:00:00:00:0a";
  port.driver = "net_ring";
  port.stats = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  v1::Port out;
  PortToProto(port, &out);
  EXPECT_TRUE(out.link_up());
  EXPECT_EQ(out.link_speed_mbps(), 10000u);
  EXPECT_EQ(out.mac_address(), "02:00:00:00:00:0a");
  EXPECT_EQ(out.driver(), "net_ring");
  EXPECT_EQ(out.numa_node(), -1);
  const v1::PortStats& stats = out.stats();
  EXPECT_EQ(stats.receive_packets(), 1u);
  EXPECT_EQ(stats.receive_bytes(), 2u);
  EXPECT_EQ(stats.transmit_packets(), 3u);
  EXPECT_EQ(stats.transmit_bytes(), 4u);
  EXPECT_EQ(stats.receive_missed(), 5u);
  EXPECT_EQ(stats.receive_errors(), 6u);
  EXPECT_EQ(stats.receive_no_buffers(), 7u);
  EXPECT_EQ(stats.transmit_drops().at("tx_full"), 8u);
  EXPECT_EQ(stats.transmit_drops().at("mtu"), 9u);
  EXPECT_EQ(stats.transmit_drops().at("down"), 10u);
  EXPECT_EQ(stats.transmit_drops().at("no_buffers"), 11u);
}

}  // namespace
}  // namespace sluice
