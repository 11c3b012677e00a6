// The syntax is ovs-ofctl's, and ovs-ofctl itself says so: `parse-flows` prints
// what it has understood. Skipped where it is not installed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "client/flow_text.h"
#include "tests/unit/client/random_flow.h"

namespace sluice::client {
namespace {

// What parse-flows prints for each line, or less than a line each if it refuses
// one.
std::vector<std::string> OvsParse(const std::vector<std::string>& lines) {
  const std::string path = testing::TempDir() + "/flow_text_ovs_" + std::to_string(getpid());
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << "\n";
  file.close();
  std::vector<std::string> parsed;
  FILE* pipe = popen(("ovs-ofctl -O OpenFlow15 parse-flows " + path + " 2>/dev/null").c_str(), "r");
  char* line = nullptr;
  size_t size = 0;
  while (getline(&line, &size, pipe) > 0) {
    std::string text(line);
    if (const size_t at = text.find(": ADD "); at != std::string::npos) parsed.push_back(text.substr(at + 6));
  }
  free(line);
  pclose(pipe);
  unlink(path.c_str());
  return parsed;
}

class FlowTextOvs : public testing::Test {
 protected:
  void SetUp() override {
    if (system("ovs-ofctl --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "ovs-ofctl is not installed";
  }
};

// Flows that both take, and take for the same.
const std::vector<std::string> kBoth = {
    "in_port=1,actions=output:2",
    "in_port:1,action=2",
    "in_port(1) actions=2 ,3  output:4",
    ",in_port=1,, ip , actions=1,",
    "actions=drop",
    "actions=",
    "ip,actions=DROP",
    "priority=0x10,ip,actions=Output:1",
    "table=255,actions=1",
    "cookie=0x1, duration=1.2s, n_packets=1, n_bytes=2, idle_age=3, hard_age=4, priority=10,ip actions=output:1",
    "dl_type=0x05ff,actions=1",
    "dl_type=2048,actions=1",
    "eth_type=0x800/0xffff,actions=1",
    "dl_type=0x800,nw_proto=6,tp_dst=80,actions=1",
    "tp_dst=80,tcp,actions=1",
    "ip,tcp,tcp_dst=80,actions=1",
    "tcp,tp_dst=81/0xfff0,actions=1",
    "tcp6,tcp_src=0x50/0xf0,actions=1",
    "udp,udp_src=53,actions=1",
    "udp6,tp_dst=53,actions=1",
    "sctp,sctp_dst=9,actions=1",
    "sctp6,tp_src=9,actions=1",
    "udp,tp_dst=0/0,actions=1",
    "ip4,nw_dst=10.0.0.1/8,actions=1",
    "ip,nw_dst=10.0.0.0/255.0.255.0,actions=1",
    "ip,ip_src=10.0.0.0/0,actions=1",
    "nw_src=*,actions=1",
    "arp,nw_src=10.0.0.1,nw_dst=10.0.0.0/24,actions=1",
    "arp,nw_proto=1,actions=1",
    "arp,arp_spa=10.0.0.1,arp_op=1,actions=1",
    "rarp,actions=1",
    "mpls,actions=1",
    "dl_vlan=10,actions=1",
    "dl_vlan=10,dl_vlan_pcp=3,actions=1",
    "vlan_pcp=3,actions=1",
    "vlan_vid=0x100a,actions=1",
    "vlan_vid=0x100a/0x1fff,actions=1",
    "vlan_vid=0x1000/0x1000,actions=1",
    "vlan_vid=0/0x1000,actions=1",
    "vlan_vid=0x1002/0x1002,actions=1",
    "vlan_vid=10/0xfff,actions=1",
    "vlan_tci=0x1000/0x1000,actions=1",
    "vlan_tci=0x0000/0x1000,actions=1",
    "vlan_tci=0x0fff/0x0fff,actions=1",
    "vlan_tci=0x300a,actions=1",
    "vlan_tci=0xf000/0xf000,actions=1",
    "dl_src=1:2:3:4:5:6,actions=1",
    "dl_dst=01:02:03:04:05:06/ff:ff:ff:00:00:00,actions=1",
    "eth_src=AA:BB:CC:DD:EE:FF,actions=1",
    "ip,nw_tos=252,nw_ecn=3,nw_ttl=64,actions=1",
    "ipv6,ip_dscp=63,ip_ecn=1,actions=1",
    "ip,ip_frag=no,actions=1",
    "ipv6,nw_frag=YES,actions=1",
    "ip,ip_frag=first,actions=1",
    "ip,ip_frag=later,actions=1",
    "udp,ip_frag=not_later,tp_dst=53,actions=1",
    "icmp,icmp_type=8,icmp_code=0,actions=1",
    "icmp,tp_src=3,actions=1",
    "icmp6,icmpv6_type=8,icmpv6_code=0,actions=1",
    "icmp6,icmp_type=8,icmp_code=0,actions=1",
    "ipv6,ipv6_src=2001:db8::/32,ipv6_dst=2001:db8::1/ffff::ffff,actions=1",
    "ipv6,ipv6_src=::ffff:1.2.3.4,nw_proto=0,actions=1",
    "ipv6,ipv6_label=5,actions=1",
    "ipv6,ipv6_label=0x12345/0xff0ff,actions=set_field:0xfffff->ipv6_label,1",
    "mpls,mpls_label=1048575,mpls_tc=7,mpls_bos=0,mpls_ttl=255,actions=1",
    "mplsm,mpls_label=0x10,actions=set_field:7->mpls_label,set_field:1->mpls_tc,set_field:9->mpls_ttl,1",
    "dl_type=0x8847,mpls_bos=1,dl_vlan=3,actions=1",
    "arp,arp_sha=1:2:3:4:5:6,arp_tha=ff:ff:ff:ff:ff:ff/01:00:00:00:00:00,actions=1",
    "arp,actions=set_field:1:2:3:4:5:6->arp_sha,set_field:01:00:00:00:00:00/01:00:00:00:00:00->arp_tha",
    "tcp,tcp_flags=+syn-ack,actions=1",
    "tcp,tcp_flags=syn|ack,actions=1",
    "tcp6,tcp_flags=-fin-syn-rst+ns,actions=1",
    "tcp,tcp_flags=0x12,actions=1",
    "tcp,tcp_flags=18/0x1f,actions=1",
    "tcp,tcp_flags=0,actions=1",
    "tcp,tcp_flags=*,actions=1",
    "tcp,tcp_flags=0/0,actions=1",
    "tcp,tcp_flags=0xfff,actions=1",
    "tcp,tcp_flags=+[200]-[400]+[800],actions=1",
    "tcp,tcp_flags=fin|syn|rst|psh|ack|urg|ece|cwr|ns|[200]|[400]|[800],actions=1",
    "icmp6,icmp_type=135,icmp_code=0,nd_target=2001:db8::1,nd_sll=1:2:3:4:5:6,actions=1",
    "icmp6,icmpv6_type=136,nd_tll=1:2:3:4:5:6/ff:ff:ff:00:00:00,nd_target=fe80::/10,actions=1",
    "nd_target=::1,icmp_type=136,icmp6,actions=1",
    "icmp6,icmp_type=135,actions=set_field:fe80::1->nd_target,set_field:1:2:3:4:5:6->nd_sll,1",
    "icmp6,icmp_type=136,actions=set_field:fe80::/64->nd_target,set_field:1:2:3:4:5:6->nd_tll,1",
    "metadata=5,actions=set_field:0xffffffffffffffff->metadata,1",
    "metadata=0x50/0xf0,actions=set_field:0x10/0xff->metadata,1",
    "metadata=18446744073709551615,actions=1",
    "reg0=0,reg1=1,reg2=0x2,reg3=3,reg4=0x4/0xc,reg5=5,reg6=6,reg7=4294967295,actions=1",
    "actions=set_field:5->reg0,set_field:0x1/0x1->reg7,1",
    "reg0=*,actions=1",
    "ip,actions=in_port,ALL,output:IN_PORT",
    "actions=mod_dl_src:1:2:3:4:5:6,mod_dl_dst=01:02:03:04:05:06,1",
    "dl_vlan=5,actions=mod_vlan_vid:10,mod_vlan_pcp:3,1",
    "dl_vlan=5,actions=set_vlan_vid:10,set_vlan_pcp:3,1",
    "dl_vlan=5,actions=strip_vlan,1",
    "actions=push_vlan:0x8100,set_field:4196->vlan_vid,1",
    "actions=push_vlan:34984,set_field:3->vlan_pcp,1",
    "dl_vlan=5,actions=set_field:0x1001/0x1001->vlan_vid",
    "ip,actions=mod_nw_src:1.2.3.4,mod_nw_dst:5.6.7.8,mod_nw_tos:0x10,mod_nw_ecn:2",
    "tcp,actions=mod_tp_src:10,mod_tp_dst:11",
    "udp6,actions=mod_tp_dst:10",
    "sctp,actions=mod_tp_dst:10,set_field:3->sctp_src",
    "ip,actions=dec_ttl,dec_ttl(),1",
    "ip,actions=set_field:1.2.3.0/24->nw_dst",
    "tcp,actions=set_field:0x50/0xf0->tcp_dst",
    "ip,actions=set_field:5->ip_dscp,set_field:2->ip_ecn,set_field:64->nw_ttl",
    "arp,actions=set_field:2->arp_op,set_field:1.1.1.1->arp_spa",
    "icmp6,actions=set_field:3->icmpv6_type,set_field:2->icmpv6_code",
    "ipv6,actions=set_field:::1->ipv6_src,set_field:2001:db8::/32->ipv6_dst",
    "actions=set_field(1:2:3:4:5:6->eth_src)",
    "actions=controller,controller:64",
    "actions=controller(max_len=64)",
    "actions=controller(reason=no_match)",
    "actions=controller(reason=invalid_ttl,max_len=1)",
    "actions=controller(max_len=65535,reason=packet_out)",
    "actions=controller(reason=action_set),controller(reason=group),controller(reason=action)",
};

// Lines that both refuse.
const std::vector<std::string> kNeither = {
    "in_port=1",
    "in_port=1,actions",
    "in_port=1;actions=2",
    "priority=65536,actions=1",
    "priority=-1,actions=1",
    "PRIORITY=1,actions=1",
    "priority=1.5,actions=1",
    "foo=1,actions=1",
    "cookie=abc,actions=1",
    "cookie=0x1/0x1,actions=1",
    "table=256,actions=1",
    "idle_timeout=65536,actions=1",
    "out_port=1,actions=1",
    "in_port=1/1,actions=1",
    "in_port=eth0,actions=1",
    "in_port,actions=1",
    "eth_type=0x800/0xff00,actions=1",
    "dl_type=0x10000,actions=1",
    "dl_vlan=10/0xff,actions=1",
    "vlan_tci=0x10000,actions=1",
    "dl_src=01:02:03:04:05:06/24,actions=1",
    "dl_src=01:02:03:04:05,actions=1",
    "dl_src=0x010203040506,actions=1",
    "ip,nw_src=any,actions=1",
    "ip,nw_dst=10.0.0.0/33,actions=1",
    "ip,nw_dst=10.0.0,actions=1",
    "ip,nw_src=1.2.3.4/,actions=1",
    "ipv6,ipv6_src=1::2::3,actions=1",
    "ipv6,ipv6_src=::/129,actions=1",
    "ip,nw_tos=256,actions=1",
    "ip,ip_frag=3,actions=1",
    "ip,nw_proto=256,actions=1",
    "ip,nw_proto=1/1,actions=1",
    "icmp_type=3/3,actions=1",
    "tcp,tp_dst=65536,actions=1",
    "tcp,tp_dst=http,actions=1",
    "udp,tp_dst= 53,actions=1",
    "actions=drop,2",
    "actions=2,drop",
    "actions=foo",
    "actions=controller(reason=hunger)",
    "actions=controller(max_len=65536)",
    "actions=controller(size=5)",
    "actions=output",
    "actions=1)",
    "actions=output:65280",
    "actions=1,priority=5",
    "actions=1 actions=2",
    "actions=mod_dl_src",
    "actions=push_vlan:0x9100",
    "actions=mod_vlan_vid:4096",
    "actions=mod_vlan_pcp:8",
    "ip,actions=mod_nw_tos:5",
    "ip,actions=mod_nw_ecn:4",
    "ip,actions=mod_nw_ttl:256",
    "ip,actions=mod_tp_dst:10",
    "actions=mod_nw_src:1.2.3.4",
    "actions=dec_ttl",
    "actions=set_field:1",
    "actions=set_field:1->foo",
    "ip,actions=set_field:6->nw_proto",
    "actions=set_field:1.2.3.4->ip_dst",
    "udp,actions=set_field:80->tcp_dst",
    "mpls,mpls_label=5/0xff,actions=1",
    "mpls,mpls_ttl=1/1,actions=1",
    "mpls,actions=set_field:1->mpls_bos",
    "actions=set_field:1->mpls_label",
    "arp,arp_sha=1:2:3:4:5,actions=1",
    "ipv6,ipv6_label=0x100000000,actions=1",
    "tcp,tcp_flags=0x1000,actions=1",
    "tcp,tcp_flags=0x2/0xffff,actions=1",
    "tcp,tcp_flags=+syn+syn,actions=1",
    "tcp,tcp_flags=+SYN,actions=1",
    "tcp,tcp_flags=+syn|ack,actions=1",
    "tcp,tcp_flags=|syn,actions=1",
    "tcp,tcp_flags=syn+ack,actions=1",
    "tcp,tcp_flags=+,actions=1",
    "tcp,actions=set_field:2->tcp_flags",
    "ip,actions=set_field:3->ipv6_label",
    "icmp6,icmp_type=136,actions=set_field:1:2:3:4:5:6->nd_sll",
    "icmp6,icmp_type=128,actions=set_field:::1->nd_target",
    "icmp6,icmp_type=135,icmp_code=1,actions=set_field:::1->nd_target",
    "icmp6,icmp_type=135,nd_target=1.2.3.4,actions=1",
    "reg0=0x100000000,actions=1",
    "reg16=1,actions=1",
    "metadata=0x10000000000000000,actions=1",
    "actions=set_field:4196->vlan_vid",
};

TEST_F(FlowTextOvs, BothUnderstandTheSame) {
  std::vector<std::string> ours;
  for (const std::string& line : kBoth) {
    const absl::StatusOr<FlowText> flow = ParseFlow(line, {});
    ASSERT_TRUE(flow.ok()) << line << "\n" << flow.status();
    v1::FlowSpec spec = flow->spec;
    // mod_vlan_vid onto a tag needs no push, and ovs-ofctl knows no conditional one.
    for (int i = spec.actions_size(); i-- > 0;) {
      if (spec.actions(i).push_vlan().only_if_untagged()) spec.mutable_actions()->DeleteSubrange(i, 1);
    }
    ours.push_back(FormatSpec(spec));
  }
  const std::vector<std::string> as_written = OvsParse(kBoth);
  ASSERT_EQ(as_written.size(), kBoth.size()) << "refused: " << kBoth[as_written.size()];
  const std::vector<std::string> through_us = OvsParse(ours);
  ASSERT_EQ(through_us.size(), ours.size()) << "refused: " << ours[through_us.size()];
  for (size_t i = 0; i < kBoth.size(); ++i) EXPECT_EQ(through_us[i], as_written[i]) << kBoth[i] << "\n" << ours[i];
}

TEST_F(FlowTextOvs, BothRefuse) {
  for (const std::string& line : kNeither) {
    EXPECT_FALSE(ParseFlow(line, {}).ok()) << line;
    EXPECT_THAT(OvsParse({line}), testing::IsEmpty()) << line;
  }
}

// Open vSwitch reads what we write, and we read what it writes, to the same
// flow: for flows of every field and action that both have.
TEST_F(FlowTextOvs, RandomFlowsSurviveTheWayThroughOvs) {
  RandomFlow flows(31415, {.for_ovs = true});
  std::vector<v1::FlowSpec> specs;
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) {
    specs.push_back(flows.Next());
    texts.push_back(FormatSpec(specs.back()));
  }
  const std::vector<std::string> printed = OvsParse(texts);
  ASSERT_EQ(printed.size(), texts.size()) << "refused: " << texts[printed.size()];
  for (size_t i = 0; i < specs.size(); ++i) {
    const absl::StatusOr<FlowText> read = ParseFlow(printed[i], {});
    ASSERT_TRUE(read.ok()) << texts[i] << "\n" << printed[i] << "\n" << read.status();
    v1::FlowSpec spec = specs[i];
    if (spec.cookie() == ~uint64_t{0}) spec.set_cookie(0);  // ovs-ofctl does not print this one
    ASSERT_EQ(read->spec.DebugString(), spec.DebugString()) << texts[i] << "\n" << printed[i];
  }
}

}  // namespace
}  // namespace sluice::client
