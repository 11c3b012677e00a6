// Flow text, case by case: what is read, what it becomes, and where and how it
// is refused.

#include "client/flow_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::client {
namespace {

struct Good {
  const char* text;
  const char* canonical;  // as FormatSpec writes it
};

void PrintTo(const Good& good, std::ostream* out) { *out << good.text; }

class GoodFlow : public testing::TestWithParam<Good> {};

TEST_P(GoodFlow, BecomesCanonicalAndStaysIt) {
  const absl::StatusOr<FlowText> flow = ParseFlow(GetParam().text, {});
  ASSERT_TRUE(flow.ok()) << flow.status();
  EXPECT_EQ(FormatSpec(flow->spec), GetParam().canonical);
  const absl::StatusOr<FlowText> again = ParseFlow(GetParam().canonical, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->spec.DebugString(), flow->spec.DebugString());
}

INSTANTIATE_TEST_SUITE_P(
    Settings, GoodFlow,
    testing::Values(
        Good{"actions=drop", "priority=32768 actions=drop"}, Good{"actions=", "priority=32768 actions=drop"},
        Good{"priority=0,actions=1", "priority=0 actions=output:1"},
        Good{"priority=65535 actions=1", "priority=65535 actions=output:1"},
        Good{"priority=0x10,actions=1", "priority=16 actions=output:1"},
        Good{"priority:7,action=1", "priority=7 actions=output:1"},
        Good{"priority(7),actions=1", "priority=7 actions=output:1"},
        Good{"cookie=0xabc,actions=1", "cookie=0xabc, priority=32768 actions=output:1"},
        Good{"cookie=-1,actions=1", "cookie=0xffffffffffffffff, priority=32768 actions=output:1"},
        Good{"cookie=18446744073709551615,actions=1", "cookie=0xffffffffffffffff, priority=32768 actions=output:1"},
        Good{"table=3,actions=1", "table=3, priority=32768 actions=output:1"},
        Good{"table=255,actions=1", "priority=32768 actions=output:1"},
        Good{"idle_timeout=10,hard_timeout=0,actions=1", "idle_timeout=10, priority=32768 actions=output:1"},
        Good{"hard_timeout=65535,actions=1", "hard_timeout=65535, priority=32768 actions=output:1"},
        Good{" , in_port=1 ,, ip\t,actions=1 , ,", "priority=32768,ip,in_port=1 actions=output:1"},
        Good{"in_port=1,actions=2\r", "priority=32768,in_port=1 actions=output:2"},
        Good{"add in_port=1,actions=2", "priority=32768,in_port=1 actions=output:2"},
        Good{"check_overlap,reset_counts send_flow_rem no_packet_counts no_byte_counts importance=5 actions=1",
             "priority=32768 actions=output:1"},
        Good{" cookie=0x1, duration=1.2s, table=0, n_packets=1, n_bytes=2, idle_timeout=3, idle_age=3, hard_age=4, "
             "priority=10,ip,nw_dst=10.0.0.0/8 actions=output:1",
             "cookie=0x1, idle_timeout=3, priority=10,ip,nw_dst=10.0.0.0/8 actions=output:1"}));

INSTANTIATE_TEST_SUITE_P(
    Match, GoodFlow,
    testing::Values(
        Good{"in_port=1,actions=", "priority=32768,in_port=1 actions=drop"},
        Good{"in_port=0x10,actions=", "priority=32768,in_port=16 actions=drop"},
        Good{"eth actions=", "priority=32768 actions=drop"}, Good{"ip4,actions=", "priority=32768,ip actions=drop"},
        Good{"dl_type=2048,actions=", "priority=32768,ip actions=drop"},
        Good{"eth_type=0x800/0xffff,actions=", "priority=32768,ip actions=drop"},
        Good{"dl_type=0x05ff,actions=", "priority=32768,dl_type=0x05ff actions=drop"},
        Good{"dl_type=0x88CC,actions=", "priority=32768,dl_type=0x88cc actions=drop"},
        Good{"rarp,actions=", "priority=32768,rarp actions=drop"},
        Good{"mpls,actions=", "priority=32768,mpls actions=drop"},
        Good{"ip,tcp,actions=", "priority=32768,tcp actions=drop"},
        Good{"ip,nw_proto=6,actions=", "priority=32768,tcp actions=drop"},
        Good{"nw_proto=47,ip,actions=", "priority=32768,ip,nw_proto=47 actions=drop"},
        Good{"ipv6,ip_proto=0,actions=", "priority=32768,ipv6,nw_proto=0 actions=drop"},
        Good{"dl_type=0x86dd,nw_proto=58,actions=", "priority=32768,icmp6 actions=drop"},
        Good{"tp_dst=80,tcp,actions=", "priority=32768,tcp,tp_dst=80 actions=drop"},
        Good{"tcp6,tcp_src=0x50,actions=", "priority=32768,tcp6,tp_src=80 actions=drop"},
        Good{"udp,udp_dst=53/0xff,actions=", "priority=32768,udp,tp_dst=0x35/0xff actions=drop"},
        Good{"udp6,tp_src=81/0xfff0,actions=", "priority=32768,udp6,tp_src=0x50/0xfff0 actions=drop"},
        Good{"sctp6,tp_dst=0,actions=", "priority=32768,sctp6,tp_dst=0 actions=drop"},
        Good{"udp,tp_dst=0/0,actions=", "priority=32768,udp actions=drop"},
        Good{"tp_src=*,nw_src=*,in_port=*,dl_vlan=*,dl_type=*,actions=", "priority=32768 actions=drop"},
        Good{"icmp,icmp_type=8,icmp_code=0,actions=", "priority=32768,icmp,icmp_type=8,icmp_code=0 actions=drop"},
        Good{"icmp,tp_src=8,tp_dst=0,actions=", "priority=32768,icmp,icmp_type=8,icmp_code=0 actions=drop"},
        Good{"icmp6,icmp_type=135,icmp_code=0,actions=",
             "priority=32768,icmp6,icmpv6_type=135,icmpv6_code=0 actions=drop"},
        Good{"icmp6,icmpv6_type=135,tp_dst=0,actions=",
             "priority=32768,icmp6,icmpv6_type=135,icmpv6_code=0 actions=drop"},
        Good{"arp,nw_src=10.0.0.1,nw_dst=10.0.0.0/24,nw_proto=1,actions=",
             "priority=32768,arp,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.0/24 actions=drop"},
        Good{"arp,arp_op=0x100,arp_tpa=1.2.3.4/255.0.255.0,actions=",
             "priority=32768,arp,arp_op=256,arp_tpa=1.0.3.0/255.0.255.0 actions=drop"},
        Good{"ip,nw_src=10.1.2.3/8,actions=", "priority=32768,ip,nw_src=10.0.0.0/8 actions=drop"},
        Good{"ip,ip_src=10.1.2.3/32,actions=", "priority=32768,ip,nw_src=10.1.2.3 actions=drop"},
        Good{"ip,nw_dst=10.0.0.0/255.254.0.0,actions=", "priority=32768,ip,nw_dst=10.0.0.0/15 actions=drop"},
        Good{"ip,nw_dst=10.0.0.0/0,actions=", "priority=32768,ip actions=drop"},
        Good{"ipv6,ipv6_src=2001:DB8::1/32,actions=", "priority=32768,ipv6,ipv6_src=2001:db8::/32 actions=drop"},
        Good{"ipv6,ipv6_dst=2001:db8::1/ffff::ffff,actions=",
             "priority=32768,ipv6,ipv6_dst=2001::1/ffff::ffff actions=drop"},
        Good{"ipv6,ipv6_dst=::ffff:1.2.3.4,actions=", "priority=32768,ipv6,ipv6_dst=::ffff:1.2.3.4 actions=drop"},
        Good{"dl_src=1:2:3:4:5:A,actions=", "priority=32768,dl_src=01:02:03:04:05:0a actions=drop"},
        Good{"eth_dst=ff:ff:ff:ff:ff:ff/01:00:00:00:00:00,actions=",
             "priority=32768,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 actions=drop"},
        Good{"ip,nw_tos=0xb8,nw_ecn=3,nw_ttl=64,actions=",
             "priority=32768,ip,nw_tos=184,nw_ecn=3,nw_ttl=64 actions=drop"},
        Good{"ipv6,ip_dscp=46,ip_ecn=0,actions=", "priority=32768,ipv6,nw_tos=184,nw_ecn=0 actions=drop"},
        Good{"ip,ip_frag=no,actions=", "priority=32768,ip,nw_frag=no actions=drop"},
        Good{"ip,nw_frag=YES,actions=", "priority=32768,ip,nw_frag=yes actions=drop"},
        Good{"tcp,ip_frag=first,tp_dst=80,actions=", "priority=32768,tcp,nw_frag=first,tp_dst=80 actions=drop"},
        Good{"ip,ip_frag=later,actions=", "priority=32768,ip,nw_frag=later actions=drop"},
        Good{"udp,ip_frag=not_later,tp_dst=0,actions=", "priority=32768,udp,nw_frag=not_later,tp_dst=0 actions=drop"}));

INSTANTIATE_TEST_SUITE_P(
    Vlan, GoodFlow,
    testing::Values(Good{"dl_vlan=0,actions=", "priority=32768,dl_vlan=0 actions=drop"},
                    Good{"dl_vlan=4095,actions=", "priority=32768,dl_vlan=4095 actions=drop"},
                    Good{"dl_vlan=0xffff,actions=", "priority=32768,vlan_tci=0x0000/0x1000 actions=drop"},
                    Good{"dl_vlan=65535,actions=", "priority=32768,vlan_tci=0x0000/0x1000 actions=drop"},
                    Good{"dl_vlan_pcp=3,actions=", "priority=32768,dl_vlan_pcp=3 actions=drop"},
                    Good{"vlan_pcp=0,dl_vlan=10,actions=", "priority=32768,dl_vlan=10,dl_vlan_pcp=0 actions=drop"},
                    Good{"vlan_vid=4106,actions=", "priority=32768,dl_vlan=10 actions=drop"},
                    Good{"vlan_vid=0x100a/0x1fff,actions=", "priority=32768,dl_vlan=10 actions=drop"},
                    Good{"vlan_vid=0x1000/0x1000,actions=", "priority=32768,vlan_tci=0x1000/0x1000 actions=drop"},
                    Good{"vlan_vid=0,actions=", "priority=32768,vlan_tci=0x0000/0x1000 actions=drop"},
                    Good{"vlan_vid=0/0x1000,actions=", "priority=32768,vlan_tci=0x0000/0x1000 actions=drop"},
                    Good{"vlan_vid=0x1007/0x1002,actions=", "priority=32768,vlan_vid=0x1002/0x1002 actions=drop"},
                    Good{"vlan_vid=0x000a/0x0fff,actions=", "priority=32768,vlan_tci=0x000a/0x0fff actions=drop"},
                    Good{"vlan_tci=0,actions=", "priority=32768,vlan_tci=0x0000/0x1000 actions=drop"},
                    Good{"vlan_tci=0x0000/0x1fff,actions=", "priority=32768,vlan_tci=0x0000/0x1000 actions=drop"},
                    Good{"vlan_tci=0x1000/0x1000,actions=", "priority=32768,vlan_tci=0x1000/0x1000 actions=drop"},
                    Good{"vlan_tci=0x300a,actions=", "priority=32768,dl_vlan=10,dl_vlan_pcp=1 actions=drop"},
                    Good{"vlan_tci=0xf000/0xf000,actions=", "priority=32768,dl_vlan_pcp=7 actions=drop"},
                    Good{"vlan_tci=0x3000/0x3000,actions=", "priority=32768,vlan_tci=0x3000/0x3000 actions=drop"},
                    Good{"vlan_tci=0xe00a/0xe00f,actions=", "priority=32768,vlan_tci=0xe00a/0xe00f actions=drop"},
                    Good{"vlan_tci=0/0,actions=", "priority=32768 actions=drop"},
                    Good{"dl_vlan=10,vlan_tci=0x1000/0x1000,vlan_vid=0x100a,actions=",
                         "priority=32768,dl_vlan=10 actions=drop"}));

INSTANTIATE_TEST_SUITE_P(
    Actions, GoodFlow,
    testing::Values(
        Good{"actions=2 ,3  output:4", "priority=32768 actions=output:2,output:3,output:4"},
        Good{"actions=output(2),output=3,0x4", "priority=32768 actions=output:2,output:3,output:4"},
        Good{"actions=,1,,1,", "priority=32768 actions=output:1,output:1"},
        Good{"actions=Drop", "priority=32768 actions=drop"},
        Good{"actions=in_port,ALL,output:IN_PORT,output:all", "priority=32768 actions=IN_PORT,ALL,IN_PORT,ALL"},
        Good{"actions=mod_dl_src:1:2:3:4:5:6,mod_dl_dst=0:0:0:0:0:1,MOD_DL_DST(0:0:0:0:0:2)",
             "priority=32768 actions=set_field:01:02:03:04:05:06->eth_src,set_field:00:00:00:00:00:01->eth_dst,"
             "set_field:00:00:00:00:00:02->eth_dst"},
        Good{"actions=mod_vlan_vid:10,mod_vlan_pcp:3", "priority=32768 actions=mod_vlan_vid:10,mod_vlan_pcp:3"},
        Good{"dl_vlan=5,actions=set_vlan_vid:10,set_vlan_pcp:3",
             "priority=32768,dl_vlan=5 actions=set_field:4106->vlan_vid,set_field:3->vlan_pcp"},
        Good{"actions=strip_vlan,pop_vlan,strip_vlan()", "priority=32768 actions=pop_vlan,pop_vlan,pop_vlan"},
        Good{"actions=push_vlan:0x8100,set_field:4196->vlan_vid,1",
             "priority=32768 actions=push_vlan:0x8100,set_field:4196->vlan_vid,output:1"},
        Good{"actions=push_vlan:34984,set_field:7->vlan_pcp",
             "priority=32768 actions=push_vlan:0x88a8,set_field:7->vlan_pcp"},
        Good{"actions=push_vlan(0x8100,only_if_untagged),1",
             "priority=32768 actions=push_vlan(0x8100,only_if_untagged),output:1"},
        Good{"dl_vlan=5,actions=set_field:0x1001/0x1001->vlan_vid",
             "priority=32768,dl_vlan=5 actions=set_field:0x1001/0x1001->vlan_vid"},
        Good{"dl_vlan=5,actions=set_field:4196/0x1fff->vlan_vid",
             "priority=32768,dl_vlan=5 actions=set_field:4196->vlan_vid"},
        Good{"ip,actions=mod_nw_src:1.2.3.4,mod_nw_dst:5.6.7.8,mod_nw_tos:0xb8,mod_nw_ecn:2,mod_nw_ttl:9",
             "priority=32768,ip actions=set_field:1.2.3.4->ip_src,set_field:5.6.7.8->ip_dst,set_field:46->ip_dscp,"
             "set_field:2->nw_ecn,set_field:9->nw_ttl"},
        Good{"tcp,actions=mod_tp_src:1,mod_tp_dst:2",
             "priority=32768,tcp actions=set_field:1->tcp_src,set_field:2->tcp_dst"},
        Good{"udp6,actions=mod_tp_src:1,set_field:2->tp_dst",
             "priority=32768,udp6 actions=set_field:1->udp_src,set_field:2->udp_dst"},
        Good{"sctp,actions=mod_tp_dst:2,set_field:0x35->tp_src",
             "priority=32768,sctp actions=set_field:2->sctp_dst,set_field:53->sctp_src"},
        Good{"tcp,actions=set_field:80/0xff->tcp_dst", "priority=32768,tcp actions=set_field:0x50/0xff->tcp_dst"},
        Good{"ip,actions=set_field:1.2.3.0/24->nw_dst", "priority=32768,ip actions=set_field:1.2.3.0/24->ip_dst"},
        Good{"ip,actions=set_field:20->nw_tos,set_field:5->ip_dscp",
             "priority=32768,ip actions=set_field:5->ip_dscp,set_field:5->ip_dscp"},
        Good{"ipv6,actions=set_field:::1->ipv6_src,set_field:2001:db8::/32->ipv6_dst",
             "priority=32768,ipv6 actions=set_field:::1->ipv6_src,set_field:2001:db8::/32->ipv6_dst"},
        Good{"arp,actions=set_field:2->arp_op,set_field:1.1.1.1->arp_spa,set_field:2.2.2.2->arp_tpa",
             "priority=32768,arp actions=set_field:2->arp_op,set_field:1.1.1.1->arp_spa,set_field:2.2.2.2->arp_tpa"},
        Good{"icmp,actions=set_field:3->icmp_type,set_field:2->icmp_code",
             "priority=32768,icmp actions=set_field:3->icmp_type,set_field:2->icmp_code"},
        Good{"icmp6,actions=set_field:3->icmpv6_type,set_field:2->icmpv6_code",
             "priority=32768,icmp6 actions=set_field:3->icmpv6_type,set_field:2->icmpv6_code"},
        Good{"actions=set_field(1:2:3:4:5:6->eth_src),set_field(1:2:3:4:5:7)->dl_src",
             "priority=32768 actions=set_field:01:02:03:04:05:06->eth_src,set_field:01:02:03:04:05:07->eth_src"},
        Good{"ip,actions=dec_ttl,dec_ttl(),2", "priority=32768,ip actions=dec_ttl,dec_ttl,output:2"}));

struct Bad {
  const char* text;
  const char* error;  // behind "flow:1:"
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.text; }

class BadFlow : public testing::TestWithParam<Bad> {};

TEST_P(BadFlow, IsRefusedAtItsColumn) {
  const absl::StatusOr<FlowText> flow = ParseFlow(GetParam().text, {});
  ASSERT_FALSE(flow.ok()) << FormatSpec(flow->spec);
  EXPECT_EQ(flow.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(flow.status().message()), std::string("flow:1:") + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, BadFlow,
    testing::Values(
        Bad{"", "1: the flow has no actions; expected actions=…, or actions=drop"},
        Bad{"in_port=1", "10: the flow has no actions; expected actions=…, or actions=drop"},
        Bad{"in_port=1,actions", "11: actions has no value; expected actions=…"},
        Bad{"PRIORITY=1,actions=", "1: unknown field \"PRIORITY\"; did you mean \"priority\"?"},
        Bad{"ip,nw_dts=1.2.3.4,actions=", "4: unknown field \"nw_dts\"; did you mean \"nw_dst\"?"},
        Bad{"zebra=1,actions=", "1: unknown field \"zebra\""},
        Bad{"priority=65536,actions=", "10: priority: 65536 is out of range; expected 0 to 65535"},
        Bad{"priority=-1,actions=",
            "10: priority: \"-1\" is not understood; expected a number, 0 to 65535, decimal or 0x…"},
        Bad{"priority=010,actions=",
            "10: priority: \"010\" is not understood; expected a number, 0 to 65535, decimal or 0x…"},
        Bad{"priority,actions=", "1: priority has no value; expected a number, 0 to 65535, decimal or 0x…"},
        Bad{"table=256,actions=", "7: table: 256 is out of range; expected 0 to 255"},
        Bad{"cookie=abc,actions=",
            "8: cookie: \"abc\" is not understood; expected a number, 0 to 18446744073709551615, decimal or 0x…"},
        Bad{"cookie=1/1,actions=", "8: cookie=VALUE/MASK selects flows; expected cookie=VALUE in a flow to add"},
        Bad{"idle_timeout=65536,actions=", "14: idle_timeout: 65536 is out of range; expected 0 to 65535"},
        Bad{"out_port=1,actions=", "1: out_port selects flows; expected none in a flow"},
        Bad{"check_overlap=1,actions=", "15: check_overlap takes no value"},
        Bad{"delete in_port=1", "1: delete is a command of its own; expected a flow"},
        Bad{"ct_state=+trk,actions=", "1: field ct_state is not supported by this switch"},
        Bad{"conj_id=1,actions=", "1: field conj_id is not supported by this switch"},
        Bad{"reg0=1,actions=", "1: field reg0 is not supported by this version"},
        Bad{"tcp,tcp_flags=syn,actions=", "5: field tcp_flags is not supported by this version"},
        Bad{"icmp6,nd_target=::1,actions=", "7: field nd_target is not supported by this version"},
        Bad{"tun_id=1,actions=", "1: field tun_id is not supported by this version"},
        Bad{"in_port=(1,actions=", "1: in_port has no end; expected \")\" or a closing quote"}));

INSTANTIATE_TEST_SUITE_P(
    Conditions, BadFlow,
    testing::Values(
        Bad{"in_port=0,actions=", "9: in_port: \"0\" is no port; expected a port's number, 1 to 65279"},
        Bad{"in_port=65280,actions=", "9: in_port: \"65280\" is no port; expected a port's number, 1 to 65279"},
        Bad{"in_port=LOCAL,actions=", "9: in_port: \"LOCAL\" is no port; expected a port's number, 1 to 65279"},
        Bad{"in_port=1/1,actions=", "9: in_port: \"1/1\" is no port; expected a port's number, 1 to 65279"},
        Bad{"in_port=,actions=", "1: in_port: \"\" is no port; expected a port's number, 1 to 65279"},
        Bad{"in_port=1 in_port=2 actions=",
            "11: in_port contradicts in_port in column 1; expected one condition on in_port"},
        Bad{"ip=1,actions=", "4: ip takes no value"},
        Bad{"ip,ipv6,actions=", "4: ipv6 contradicts ip in column 1; expected one condition on eth_type"},
        Bad{"tcp,nw_proto=17,actions=", "5: nw_proto contradicts tcp in column 1; expected one condition on nw_proto"},
        Bad{"dl_type=0x0027,actions=",
            "9: dl_type: 0x0027 is a length, not a type; expected 0x0600 to 0xffff, or 0x05ff for frames without an "
            "EtherType"},
        Bad{"eth_type=0x800/0xff00,actions=", "10: eth_type takes no mask; expected a value, or no eth_type at all"},
        Bad{"nw_dst=10.0.0.1,actions=", "1: nw_dst needs an IPv4 flow; write ip too"},
        Bad{"ipv6,nw_dst=10.0.0.1,actions=", "6: nw_dst needs an IPv4 flow; write ip too"},
        Bad{"rarp,nw_src=1.2.3.4,actions=", "6: nw_src needs an IPv4 flow; write ip too"},
        Bad{"ip,ipv6_src=::1,actions=", "4: ipv6_src needs an IPv6 flow; write ipv6 too"},
        Bad{"ip,arp_op=1,actions=", "4: arp_op needs an ARP flow; write arp too"},
        Bad{"nw_tos=4,actions=", "1: nw_tos needs an IP flow; write ip or ipv6 too"},
        Bad{"ip,tp_dst=80,actions=",
            "4: tp_dst needs a protocol with ports; write tcp, udp or sctp (or tcp6, udp6, sctp6) too"},
        Bad{"udp,tcp_dst=80,actions=", "5: tcp_dst needs a TCP flow; write tcp or tcp6 too"},
        Bad{"icmp,icmpv6_type=1,actions=", "6: icmpv6_type needs an ICMPv6 flow; write icmp6 too"},
        Bad{"tcp,ip_frag=later,tp_dst=80,actions=",
            "19: tp_dst can match no later fragment, which has neither ports nor an ICMP type; expected another "
            "ip_frag, "
            "or no tp_dst"},
        Bad{"tcp,tp_dst=65536,actions=", "12: tp_dst: 65536 is out of range; expected 0 to 65535"},
        Bad{"tcp,tp_dst=http,actions=",
            "12: tp_dst: \"http\" is not understood; expected a number, 0 to 65535, decimal or 0x…"},
        Bad{"tcp,tp_dst=,actions=", "5: tp_dst has no value; expected a number, 0 to 65535, decimal or 0x…"},
        Bad{"tcp,tp_dst=80/0x10000,actions=", "12: tp_dst's mask: 0x10000 is out of range; expected 0 to 65535"},
        Bad{"tcp,tp_dst=80/,actions=", "12: tp_dst's mask has no value; expected a number, 0 to 65535, decimal or 0x…"},
        Bad{"ip,nw_proto=1/1,actions=", "13: nw_proto takes no mask; expected a value, or no nw_proto at all"},
        Bad{"ip,nw_tos=5,actions=",
            "11: nw_tos: 5 sets the two ECN bits; expected a multiple of 4 (nw_ecn matches the other two)"},
        Bad{"ip,ip_dscp=64,actions=", "12: ip_dscp: 64 is out of range; expected 0 to 63"},
        Bad{"ip,ip_frag=some,actions=",
            "12: ip_frag: \"some\" is not understood; expected no, yes, first, later or not_later"},
        Bad{"ip,nw_src=10.0.0,actions=",
            "11: nw_src: \"10.0.0\" is not understood; expected an IPv4 address, ADDRESS/LENGTH or ADDRESS/MASK"},
        Bad{"ip,nw_src=10.0.0.0/33,actions=", "11: nw_src: prefix length \"33\" is out of range; expected 0 to 32"},
        Bad{"ip,nw_src=10.0.0.0/,actions=",
            "11: nw_src: \"10.0.0.0/\" is not understood; expected an IPv4 address, ADDRESS/LENGTH or ADDRESS/MASK"},
        Bad{"ipv6,ipv6_src=1::2::3,actions=",
            "15: ipv6_src: \"1::2::3\" is not understood; expected an IPv6 address, ADDRESS/LENGTH or ADDRESS/MASK"},
        Bad{"ipv6,ipv6_src=::/129,actions=", "15: ipv6_src: prefix length \"129\" is out of range; expected 0 to 128"},
        Bad{"dl_src=01:02:03:04:05,actions=",
            "8: dl_src: \"01:02:03:04:05\" is not understood; expected a MAC address, 02:00:00:00:00:0a, or MAC/MASK"},
        Bad{"dl_src=01:02:03:04:05:06/24,actions=",
            "8: dl_src: \"01:02:03:04:05:06/24\" is not understood; expected a MAC address, 02:00:00:00:00:0a, or "
            "MAC/MASK"},
        Bad{"dl_vlan=4096,actions=",
            "9: dl_vlan: 4096 is out of range; expected 0 to 4095, or 0xffff for untagged frames"},
        Bad{"dl_vlan_pcp=8,actions=", "13: dl_vlan_pcp: 8 is out of range; expected 0 to 7"},
        Bad{"vlan_vid=10,actions=",
            "10: vlan_vid: 10 lacks the bit that says \"tagged\"; expected 4106, or dl_vlan=10"},
        Bad{"vlan_vid=0x2000,actions=", "10: vlan_vid: 0x2000 is out of range; expected 0 to 8191"},
        Bad{"dl_vlan=1,dl_vlan=2,actions=",
            "11: dl_vlan contradicts dl_vlan in column 1; expected one condition on the VLAN tag"},
        Bad{"dl_vlan=0xffff,dl_vlan_pcp=1,actions=",
            "16: dl_vlan_pcp contradicts dl_vlan in column 1; expected one condition on the VLAN tag"},
        Bad{"vlan_tci=0x000a/0x1fff,actions=",
            "1: vlan_tci matches no packet: without a tag (bit 0x1000 of vlan_tci zero) VID and PCP are zero; expected "
            "them to be zero, or the bit to be set"}));

INSTANTIATE_TEST_SUITE_P(
    Actions, BadFlow,
    testing::Values(
        Bad{"actions=drop,2", "9: drop stands beside other actions; expected drop alone"},
        Bad{"actions=2,drop", "11: drop stands beside other actions; expected drop alone"},
        Bad{"actions=outptu:1", "9: unknown action \"outptu\"; did you mean \"output\"?"},
        Bad{"actions=1,priority=5", "11: \"priority\" is no action; expected matches and options before actions="},
        Bad{"actions=0", "9: output: \"0\" is no port; expected a port's number, 1 to 65279"},
        Bad{"actions=output:65280", "16: output: \"65280\" is no port; expected a port's number, 1 to 65279"},
        Bad{"actions=output", "9: output: \"\" is no port; expected a port's number, 1 to 65279"},
        Bad{"actions=output:LOCAL", "16: output to LOCAL is not supported by this version"},
        Bad{"actions=output:NXM_NX_REG0[]", "16: output to NXM_NX_REG0[] is not supported by this version"},
        Bad{"actions=output(port=1,max_len=100)", "16: output to port=1,max_len=100 is not supported by this version"},
        Bad{"actions=\"eth0\"", "9: output: \"\"eth0\"\" is no port; expected a port's number, 1 to 65279"},
        Bad{"actions=1:2", "11: port 1 takes no value"}, Bad{"actions=strip_vlan:1", "20: strip_vlan takes no value"},
        Bad{"actions=mod_dl_src", "9: mod_dl_src has no value; expected a MAC address, 02:00:00:00:00:0a, or MAC/MASK"},
        Bad{"actions=mod_dl_src:1:2:3:4:5:6/ff:0:0:0:0:0",
            "20: mod_dl_src takes no mask; expected a value, or set_field"},
        Bad{"actions=mod_vlan_vid:4096", "22: mod_vlan_vid: 4096 is out of range; expected 0 to 4095"},
        Bad{"actions=mod_vlan_pcp:8", "22: mod_vlan_pcp: 8 is out of range; expected 0 to 7"},
        Bad{"actions=push_vlan:0x9100", "19: push_vlan: \"0x9100\" is no VLAN EtherType; expected 0x8100 or 0x88a8"},
        Bad{"actions=push_vlan(0x8100,often)", "19: push_vlan: \"often\" is not understood; expected only_if_untagged"},
        Bad{"actions=mod_nw_src:1.2.3.4", "9: mod_nw_src needs an IPv4 flow; write ip too"},
        Bad{"arp,actions=mod_nw_src:1.2.3.4", "13: mod_nw_src needs an IPv4 flow; write ip too"},
        Bad{"ip,actions=mod_nw_tos:5",
            "23: mod_nw_tos: 5 sets the two ECN bits; expected a multiple of 4 (mod_nw_ecn sets those)"},
        Bad{"ip,actions=mod_tp_dst:5",
            "12: mod_tp_dst needs a protocol with ports; write tcp, udp or sctp (or tcp6, udp6, sctp6) in the match"},
        Bad{"actions=dec_ttl", "9: dec_ttl needs an IP flow; write ip or ipv6 too"},
        Bad{"ip,actions=dec_ttl(1,2)", "20: dec_ttl with controller ids is not supported by this version"},
        Bad{"actions=set_field:1", "9: set_field has no \"->\"; expected set_field:VALUE[/MASK]->FIELD"},
        Bad{"actions=set_field:1->foo_bar", "22: unknown field \"foo_bar\""},
        Bad{"actions=set_field:1->eth_scr", "22: unknown field \"eth_scr\"; did you mean \"eth_src\"?"},
        Bad{"actions=set_field:1->reg0", "22: field reg0 is not supported by this version"},
        Bad{"actions=set_field:1->ct_mark", "22: field ct_mark is not supported by this switch"},
        Bad{"actions=set_field:0x800->eth_type", "26: set_field cannot write eth_type; expected a writable field"},
        Bad{"ip,actions=set_field:6->nw_proto", "25: set_field cannot write nw_proto; expected a writable field"},
        Bad{"actions=set_field:1->dl_vlan",
            "22: set_field cannot write dl_vlan; expected mod_vlan_vid, or set_field to vlan_vid"},
        Bad{"dl_vlan=1,actions=set_field:0x1001->vlan_tci",
            "37: set_field cannot write vlan_tci; expected a writable field"},
        Bad{"actions=set_field:1.2.3.4->ip_dst", "28: ip_dst needs an IPv4 flow; write ip too"},
        Bad{"udp,actions=set_field:80->tcp_dst", "27: tcp_dst needs a TCP flow; write tcp or tcp6 too"},
        Bad{"ip,actions=set_field:1.2.3.4/24->ip_dst",
            "22: set_field: 1.2.3.4/24 has bits outside its mask; expected 1.2.3.0/24"},
        Bad{"ip,actions=set_field:0.0.0.0/0->ip_dst",
            "22: set_field writes no bit of ip_dst; expected a mask other than 0"},
        Bad{"ip,actions=set_field:1/1->nw_ttl", "22: nw_ttl takes no mask; expected all of nw_ttl"},
        Bad{"dl_vlan=5,actions=set_field:100->vlan_vid",
            "29: set_field: 100 lacks vlan_vid's bit 0x1000, which says \"tagged\"; expected 4196"},
        Bad{"dl_vlan=5,actions=set_field:100/0xfff->vlan_vid",
            "29: set_field: 100/0xfff lacks vlan_vid's bit 0x1000, which says \"tagged\"; expected 4196/0x1fff"},
        Bad{"actions=set_field:4196->vlan_vid",
            "25: vlan_vid needs a VLAN tag; write dl_vlan=…, vlan_tci=0x1000/0x1000 or, for an action, push_vlan "
            "before it"},
        Bad{"actions=set_field(1:2:3:4:5:6->eth_src", "9: set_field has no end; expected \")\" or a closing quote"},
        Bad{"actions=resubmit(,1)", "9: action resubmit is not supported by this switch"},
        Bad{"actions=1,bundle_load(x)", "11: action bundle_load is not supported by this switch"},
        Bad{"actions=goto_table:1", "9: action goto_table is not supported by this version"},
        Bad{"actions=NORMAL", "9: action NORMAL is not supported by this version"},
        Bad{"ip,actions=load:1->NXM_OF_IP_DST[]", "12: action load is not supported by this version"}));

// The issue with these is not how they are written.
TEST(FlowText, RefusesByNameWhatThisSwitchWillNeverDo) {
  for (const std::string action :
       {"ct(commit)", "learn(table=1)", "conjunction(1,1/2)", "resubmit:1", "bundle(eth_src,0)", "bundle_load(eth_src)",
        "multipath(eth_src)", "note:aa.bb", "sample(probability=1)"}) {
    const absl::StatusOr<FlowText> flow = ParseFlow("in_port=1,actions=" + action, {});
    EXPECT_THAT(flow.status().message(), testing::HasSubstr("is not supported by this switch")) << action;
  }
}

TEST(FlowText, NamesSourceAndLine) {
  TextOptions options;
  options.source = "flows.txt";
  options.line = 17;
  EXPECT_EQ(ParseFlow("ip,tp_dst=1,actions=", options).status().message(),
            "flows.txt:17:4: tp_dst needs a protocol with ports; write tcp, udp or sctp (or tcp6, udp6, sctp6) too");
}

TEST(FlowText, KnowsPortsByName) {
  TextOptions options;
  options.port_names = [](absl::string_view name) {
    return name == "left" || name == "a b" ? std::optional<uint32_t>(7) : std::nullopt;
  };
  const absl::StatusOr<FlowText> flow =
      ParseFlow("in_port=left,actions=output:left,left,output:\"a b\",\"a b\"", options);
  ASSERT_TRUE(flow.ok()) << flow.status();
  EXPECT_EQ(FormatSpec(flow->spec), "priority=32768,in_port=7 actions=output:7,output:7,output:7,output:7");
  EXPECT_EQ(ParseFlow("in_port=right,actions=", options).status().message(),
            "flow:1:9: in_port: \"right\" is no port; expected a port's number, 1 to 65279, or the name of a port of "
            "this switch");
}

// Numbers as the API wants them, not only text that reads the same.
TEST(FlowText, FillsTheMessages) {
  const absl::StatusOr<FlowText> flow = ParseFlow(
      "cookie=5,table=1,priority=9,tcp,dl_src=02:00:00:00:00:0a,nw_dst=192.0.2.0/24,tp_dst=80,"
      "actions=mod_vlan_vid:7,set_field:192.0.2.1->ip_src,in_port,3",
      {});
  ASSERT_TRUE(flow.ok()) << flow.status();
  const v1::FlowSpec& spec = flow->spec;
  EXPECT_EQ(spec.cookie(), 5u);
  EXPECT_EQ(spec.table_id(), 1u);
  EXPECT_EQ(spec.priority(), 9u);
  ASSERT_EQ(spec.match().fields_size(), 5);
  const auto& fields = spec.match().fields();
  EXPECT_EQ(fields[0].field(), v1::FIELD_ETH_SRC);
  EXPECT_EQ(fields[0].value(), 0x02000000000aull);
  EXPECT_FALSE(fields[0].has_mask());
  EXPECT_EQ(fields[1].field(), v1::FIELD_ETH_TYPE);
  EXPECT_EQ(fields[1].value(), 0x0800u);
  EXPECT_EQ(fields[2].field(), v1::FIELD_IPV4_DST);
  EXPECT_EQ(fields[2].value(), 0xc0000200u);
  EXPECT_EQ(fields[2].mask(), 0xffffff00u);
  EXPECT_EQ(fields[3].field(), v1::FIELD_IP_PROTO);
  EXPECT_EQ(fields[3].value(), 6u);
  EXPECT_EQ(fields[4].field(), v1::FIELD_TCP_DST);
  EXPECT_EQ(fields[4].value(), 80u);
  ASSERT_EQ(spec.actions_size(), 5);
  EXPECT_EQ(spec.actions(0).push_vlan().tpid(), 0x8100u);
  EXPECT_TRUE(spec.actions(0).push_vlan().only_if_untagged());
  EXPECT_EQ(spec.actions(1).set_field().field(), v1::FIELD_VLAN_VID);
  EXPECT_EQ(spec.actions(1).set_field().value(), 7u);
  EXPECT_EQ(spec.actions(2).set_field().value(), 0xc0000201u);
  EXPECT_EQ(spec.actions(3).output().reserved(), v1::RESERVED_PORT_IN_PORT);
  EXPECT_EQ(spec.actions(4).output().port(), 3u);
}

TEST(FlowText, WritesWideFieldsAsBytes) {
  const absl::StatusOr<FlowText> flow = ParseFlow("ipv6,ipv6_src=2001:db8::/32,actions=", {});
  ASSERT_TRUE(flow.ok()) << flow.status();
  const v1::FieldMatch& source = flow->spec.match().fields(1);
  EXPECT_EQ(source.wide_value(), std::string("\x20\x01\x0d\xb8", 4) + std::string(12, '\0'));
  EXPECT_EQ(source.wide_mask(), std::string(4, '\xff') + std::string(12, '\0'));
  EXPECT_EQ(source.value(), 0u);
}

TEST(FlowText, SelectsFlows) {
  TextOptions options;
  options.use = TextUse::kSelect;
  absl::StatusOr<FlowText> text =
      ParseFlow("table=1,priority=5,cookie=0xf3/0xf0,out_port=4,ip,nw_dst=10.0.0.0/8", options);
  ASSERT_TRUE(text.ok()) << text.status();
  v1::FlowFilter filter = ToFilter(*text);
  EXPECT_EQ(filter.table_id(), 1u);
  EXPECT_EQ(filter.priority(), 5u);
  EXPECT_EQ(filter.cookie(), 0xf0u);
  EXPECT_EQ(filter.cookie_mask(), 0xf0u);
  EXPECT_EQ(filter.out_port(), 4u);
  EXPECT_EQ(filter.match().fields_size(), 2);

  text = ParseFlow("", options);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(ToFilter(*text).ByteSizeLong(), 0u) << "everything";
  EXPECT_EQ(ToKey(*text).identity().priority(), kDefaultPriority);

  text = ParseFlow("cookie=7", options);
  ASSERT_TRUE(text.ok());
  filter = ToFilter(*text);
  EXPECT_EQ(filter.cookie(), 7u);
  EXPECT_EQ(filter.cookie_mask(), ~uint64_t{0});
  EXPECT_FALSE(filter.has_priority());
  EXPECT_FALSE(filter.has_table_id());

  EXPECT_EQ(ParseFlow("ip,actions=drop", options).status().message(),
            "flow:1:4: actions select no flows; expected a match alone");
}

// As `ovs-ofctl mod-flows`: the masked cookie selects, the other is the new one.
TEST(FlowText, ChangesFlowsByCookie) {
  TextOptions options;
  options.use = TextUse::kChange;
  const absl::StatusOr<FlowText> text = ParseFlow("cookie=1/-1,cookie=2,actions=drop", options);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(ToFilter(*text).cookie(), 1u);
  EXPECT_EQ(ToFilter(*text).cookie_mask(), ~uint64_t{0});
  EXPECT_TRUE(text->has_cookie);
  EXPECT_EQ(text->spec.cookie(), 2u);
}

TEST(FlowText, FilesHaveCommentsAndBlankLines) {
  std::vector<std::string> seen;
  const absl::Status status = ForEachFlowLine("# head\n\n  in_port=1,actions=2 # tail\r\n\t\nip,actions=\"a#b\"\nlast",
                                              [&](absl::string_view line, int number) {
                                                seen.push_back(std::to_string(number) + "|" + std::string(line));
                                                return absl::OkStatus();
                                              });
  EXPECT_TRUE(status.ok());
  EXPECT_THAT(seen, testing::ElementsAre("3|  in_port=1,actions=2 ", "5|ip,actions=\"a#b\"", "6|last"));
}

TEST(FlowText, PrintsCounters) {
  v1::Flow flow;
  flow.set_id(12);
  flow.mutable_spec()->set_priority(10);
  flow.mutable_stats()->set_packets(3);
  flow.mutable_stats()->set_bytes(180);
  flow.mutable_create_time()->set_seconds(1000);
  EXPECT_EQ(FormatFlow(flow, false, 1010), "n_packets=3, n_bytes=180, priority=10 actions=drop");
  flow.mutable_stats()->mutable_last_used_time()->set_seconds(1004);
  flow.mutable_spec()->set_cookie(255);
  EXPECT_EQ(
      FormatFlow(flow, true, 1010.5),
      "id=12, cookie=0xff, duration=10.500s, table=0, n_packets=3, n_bytes=180, idle_age=6, priority=10 actions=drop");
  for (const bool wide : {false, true}) {
    const absl::StatusOr<FlowText> text = ParseFlow(FormatFlow(flow, wide, 1010), {});
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(text->spec.cookie(), 255u);
    EXPECT_EQ(text->spec.priority(), 10u);
  }
}

TEST(FlowText, PrintsMasks) {
  v1::Match mask;
  const auto add = [&](v1::Field field, uint64_t bits) {
    v1::FieldMatch* match = mask.add_fields();
    match->set_field(field);
    match->set_value(bits);
    match->set_mask(bits);
  };
  add(v1::FIELD_IN_PORT, 0xffffffff);
  add(v1::FIELD_ETH_SRC, 0xffffff000000);
  add(v1::FIELD_VLAN_PRESENT, 1);
  add(v1::FIELD_IPV4_DST, 0xff000000);
  add(v1::FIELD_IP_FRAG, 1);
  add(v1::FIELD_TCP_DST, 0xfff0);
  EXPECT_EQ(FormatMask(mask), "in_port,dl_src/ff:ff:ff:00:00:00,vlan_tci/0x1000,nw_dst/8,nw_frag/1,tp_dst/0xfff0");
}

}  // namespace
}  // namespace sluice::client
