#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/port/port_check.h"
#include "dataplane/port/port_config.h"

namespace sluice {
namespace {

using testing::HasSubstr;

PortConfig Port(PortDevice device) { return {.name = "p1", .device = std::move(device), .rx_queues = 2}; }

std::string Devargs(PortDevice device) { return DevargsOf(Port(std::move(device)), 7).value(); }

std::string Refusal(PortDevice device) {
  const absl::Status status = DevargsOf(Port(std::move(device)), 7).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(DevargsTest, ShortForms) {
  EXPECT_EQ(Devargs(TapDevice{}), "net_tap7,iface=p1");
  EXPECT_EQ(Devargs(TapDevice{"tap-a.b_c"}), "net_tap7,iface=tap-a.b_c");
  EXPECT_EQ(Devargs(InterfaceDevice{"veth0"}), "net_af_packet7,iface=veth0,qpairs=2,qdisc_bypass=1");
  EXPECT_EQ(Devargs(PcapDevice{"/a/in.pcap", "", false}), "net_pcap7,rx_pcap=/a/in.pcap");
  EXPECT_EQ(Devargs(PcapDevice{"", "out.pcap", false}), "net_pcap7,tx_pcap=out.pcap");
  EXPECT_EQ(Devargs(PcapDevice{"in.pcap", "out.pcap", true}),
            "net_pcap7,rx_pcap=in.pcap,tx_pcap=out.pcap,infinite_rx=1");
  EXPECT_EQ(Devargs(NullDevice{}), "net_null7,no-rx=1");
  EXPECT_EQ(Devargs(NullDevice{60}), "net_null7,size=60,copy=1");
  EXPECT_EQ(Devargs(RingDevice{}), "net_ring7");
  EXPECT_EQ(Devargs(PciDevice{"0000:03:00.0"}), "0000:03:00.0");
  EXPECT_EQ(Devargs(PciDevice{"af:1f.7"}), "0000:af:1f.7");
  EXPECT_EQ(Devargs(DevargsDevice{"net_memif0,role=server"}), "net_memif0,role=server");
}

TEST(DevargsTest, PcapWithoutFilesReceivesAndKeepsNothing) { EXPECT_EQ(Devargs(PcapDevice{}), "net_null7,no-rx=1"); }

TEST(DevargsTest, RingOfInterfaceHoldsJumboFrames) {
  PortConfig config = Port(InterfaceDevice{});
  config.mtu = 9000;
  EXPECT_EQ(DevargsOf(config, 7).value(),
            "net_af_packet7,iface=p1,qpairs=2,qdisc_bypass=1,blocksz=12288,framesz=12288,framecnt=256");
  config.mtu = 1950;
  EXPECT_THAT(DevargsOf(config, 7).value(), testing::Not(HasSubstr("framesz")));
  config.mtu = 1951;
  EXPECT_THAT(DevargsOf(config, 7).value(), HasSubstr("framesz=4096"));
}

TEST(DevargsTest, RefusalsSayWhatWouldBeRight) {
  EXPECT_THAT(Refusal(TapDevice{"sixteen-bytes-xx"}), HasSubstr("at most 15"));
  EXPECT_THAT(Refusal(TapDevice{"a/b"}), HasSubstr("'/'"));
  EXPECT_THAT(Refusal(TapDevice{"a,b"}), HasSubstr("','"));
  EXPECT_THAT(Refusal(TapDevice{".."}), HasSubstr("cannot name an interface"));
  EXPECT_THAT(Refusal(InterfaceDevice{"a b"}), HasSubstr("' '"));
  EXPECT_THAT(Refusal(InterfaceDevice{"\xd1\x8b"}), HasSubstr("holds a byte 0xd1;"));
  EXPECT_THAT(Refusal(PcapDevice{"a,b.pcap", "", false}), HasSubstr("rx_file \"a,b.pcap\""));
  EXPECT_THAT(Refusal(PcapDevice{"", "a[1].pcap", false}), HasSubstr("another name"));
  EXPECT_THAT(Refusal(PcapDevice{"", "", true}), HasSubstr("rx_file"));
  EXPECT_THAT(Refusal(PciDevice{"03:00"}), HasSubstr("0000:03:00.0"));
  EXPECT_THAT(Refusal(PciDevice{"0000:03:0g.0"}), HasSubstr("no PCI address"));
  EXPECT_THAT(Refusal(DevargsDevice{""}), HasSubstr("net_memif0"));
  EXPECT_THAT(Refusal(DevargsDevice{",iface=x"}), HasSubstr("device name"));
}

TEST(DevargsTest, PortNameThatIsTooLongForAnInterface) {
  PortConfig config{.name = "a-name-of-twenty-two-x", .device = TapDevice{}};
  EXPECT_THAT(DevargsOf(config, 1).status().message(), HasSubstr("name the interface apart"));
  EXPECT_TRUE(CheckPortConfig(config).ok());
}

TEST(PortCheckTest, NamesNumbersAndMtus) {
  const auto check = [](std::string name, uint32_t number, uint32_t mtu) {
    return CheckPortConfig({.name = std::move(name), .number = number, .device = NullDevice{}, .mtu = mtu}).code();
  };
  constexpr auto kOk = absl::StatusCode::kOk;
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(check("p", 0, 68), kOk);
  EXPECT_EQ(check("A.b_c-9", 65279, 65535), kOk);
  EXPECT_EQ(check(std::string(31, 'x'), 1, 1500), kOk);
  EXPECT_EQ(check("", 1, 1500), kBad);
  EXPECT_EQ(check(std::string(32, 'x'), 1, 1500), kBad);
  EXPECT_EQ(check("p 1", 1, 1500), kBad);
  EXPECT_EQ(check("p/1", 1, 1500), kBad);
  EXPECT_EQ(check("p\xc3\xa4", 1, 1500), kBad);
  EXPECT_EQ(check("p", 65280, 1500), kBad);
  EXPECT_EQ(check("p", 1, 67), kBad);
  EXPECT_EQ(check("p", 1, 65536), kBad);
}

}  // namespace
}  // namespace sluice
