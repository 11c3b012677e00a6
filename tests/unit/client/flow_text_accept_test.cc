// Flow text that is read, and what it becomes.

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "client/flow_text.h"

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
        Good{"check_overlap send_flow_rem no_packet_counts no_byte_counts importance=5 actions=1",
             "priority=32768 actions=output:1"},
        Good{" cookie=0x1, duration=1.2s, table=0, n_packets=1, n_bytes=2, idle_timeout=3, idle_age=3, hard_age=4, "
             "priority=10,ip,nw_dst=10.0.0.0/8 actions=output:1",
             "cookie=0x1, idle_timeout=3, priority=10,ip,nw_dst=10.0.0.0/8 actions=output:1"}));

INSTANTIATE_TEST_SUITE_P(
    Ranges, GoodFlow,
    testing::Values(Good{"tcp,tp_dst=1000-2000,actions=", "priority=32768,tcp,tp_dst=1000-2000 actions=drop"},
                    Good{"udp6,tp_src=0x1-0x64,tp_dst=5-6,actions=",
                         "priority=32768,udp6,tp_src=1-100,tp_dst=5-6 actions=drop"},
                    Good{"tcp,tcp_src=0-65534,tcp_dst=1-65535,actions=",
                         "priority=32768,tcp,tp_src=0-65534,tp_dst=1-65535 actions=drop"},
                    Good{"sctp,sctp_dst=7-12,sctp_src=80/0xf0,actions=",
                         "priority=32768,sctp,tp_src=0x50/0xf0,tp_dst=7-12 actions=drop"},
                    Good{"udp,udp_dst=7-12,tp_dst=0x7-0xc,actions=", "priority=32768,udp,tp_dst=7-12 actions=drop"},
                    // What a mask can say.
                    Good{"tcp,tp_dst=80-80,actions=", "priority=32768,tcp,tp_dst=80 actions=drop"},
                    Good{"tcp,tp_dst=0-0,actions=", "priority=32768,tcp,tp_dst=0 actions=drop"},
                    Good{"tcp,tp_dst=1024-2047,actions=", "priority=32768,tcp,tp_dst=0x400/0xfc00 actions=drop"},
                    Good{"tcp,tp_dst=32768-65535,actions=", "priority=32768,tcp,tp_dst=0x8000/0x8000 actions=drop"},
                    Good{"tcp,tp_dst=0-65535,actions=", "priority=32768,tcp actions=drop"}));

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
        Good{"mplsm,mpls_label=0x10,mpls_bos=1,mpls_tc=3,mpls_ttl=9,actions=",
             "priority=32768,mplsm,mpls_label=16,mpls_tc=3,mpls_bos=1,mpls_ttl=9 actions=drop"},
        Good{"arp,arp_tha=1:2:3:4:5:6/ff:0:0:0:0:0,arp_sha=1:2:3:4:5:6,actions=",
             "priority=32768,arp,arp_sha=01:02:03:04:05:06,arp_tha=01:00:00:00:00:00/ff:00:00:00:00:00 actions=drop"},
        Good{"ipv6,ipv6_label=5,actions=", "priority=32768,ipv6,ipv6_label=0x00005 actions=drop"},
        Good{"ipv6,ipv6_label=5/0xff,actions=", "priority=32768,ipv6,ipv6_label=0x5/0xff actions=drop"},
        Good{"tcp,tcp_flags=-ack+syn,actions=", "priority=32768,tcp,tcp_flags=+syn-ack actions=drop"},
        Good{"tcp,tcp_flags=ack|syn|ack,actions=", "priority=32768,tcp,tcp_flags=syn|ack actions=drop"},
        Good{"tcp6,tcp_flags=0x912,actions=", "priority=32768,tcp6,tcp_flags=syn|ack|ns|[800] actions=drop"},
        Good{"tcp,tcp_flags=0,actions=", "priority=32768,tcp,tcp_flags=0 actions=drop"},
        Good{"tcp,tcp_flags=0/0x17,actions=", "priority=32768,tcp,tcp_flags=-fin-syn-rst-ack actions=drop"},
        Good{"icmp6,icmp_type=135,nd_sll=1:2:3:4:5:6,nd_target=2001:db8::/32,icmp_code=0,actions=",
             "priority=32768,icmp6,icmpv6_type=135,icmpv6_code=0,nd_target=2001:db8::/32,nd_sll=01:02:03:04:05:06 "
             "actions=drop"},
        Good{"metadata=5,reg7=0x10/0xf0,reg0=0,actions=",
             "priority=32768,metadata=0x5,reg0=0x0,reg7=0x10/0xf0 actions=drop"},
        Good{"inner_vlan_vid=5,actions=", "priority=32768,inner_vlan_vid=5 actions=drop"},
        Good{"inner_vlan_vid=0x5/0xf,inner_vlan_pcp=0,dl_vlan=7,actions=",
             "priority=32768,dl_vlan=7,inner_vlan_vid=0x5/0xf,inner_vlan_pcp=0 actions=drop"},
        Good{"inner_vlan_tci=0xb064,vlan_tci=0x1000/0x1000,actions=",
             "priority=32768,inner_vlan_vid=100,inner_vlan_pcp=5 actions=drop"},
        Good{"inner_vlan_tci=0x9000/0x9000,actions=", "priority=32768,inner_vlan_tci=0x9000/0x9000 actions=drop"},
        Good{"dl_vlan=7,inner_vlan_present=0,actions=", "priority=32768,dl_vlan=7,inner_vlan_present=0 actions=drop"},
        Good{"inner_vlan_tci=0/0x1fff,actions=", "priority=32768,inner_vlan_present=0 actions=drop"},
        Good{"dl_vlan=0xffff,inner_vlan_tci=0,actions=", "priority=32768,vlan_tci=0x0000/0x1000 actions=drop"},
        Good{"vlan_tci=5/0xfff,inner_vlan_present=1,actions=",
             "priority=32768,dl_vlan=5,inner_vlan_present=1 actions=drop"},
        Good{"inner_vlan_vid=*,actions=", "priority=32768 actions=drop"},
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

INSTANTIATE_TEST_SUITE_P(
    Parts, GoodFlow,
    testing::Values(
        Good{"mpls,actions=set_mpls_label:5,set_mpls_tc:1,set_mpls_ttl:3",
             "priority=32768,mpls actions=set_field:5->mpls_label,set_field:1->mpls_tc,set_field:3->mpls_ttl"},
        Good{"actions=controller(reason=no_match,max_len=128),controller(max_len=65535,reason=packet_out)",
             "priority=32768 actions=controller(reason=no_match,max_len=128),controller(reason=packet_out)"},
        Good{"actions=controller(reason=action),controller(reason=action,max_len=9),controller()",
             "priority=32768 actions=CONTROLLER:65535,CONTROLLER:9,CONTROLLER:65535"},
        Good{"ip,nw_ttl=1,actions=controller(reason=invalid_ttl),write_actions(controller(reason=group))",
             "priority=32768,ip,nw_ttl=1 "
             "actions=controller(reason=invalid_ttl),write_actions(controller(reason=group))"},
        Good{"ip,actions=set_field:1/1->nw_ttl", "priority=32768,ip actions=set_field:0x1/0x1->nw_ttl"},
        Good{"mpls,actions=load:0x3->OXM_OF_MPLS_LABEL[18..19]",
             "priority=32768,mpls actions=set_field:0xc0000/0xc0000->mpls_label"},
        Good{"ip,actions=load:0xb8->NXM_OF_IP_TOS[],load:0x3->NXM_OF_IP_TOS[2..3]",
             "priority=32768,ip actions=set_field:46->ip_dscp,set_field:0x3/0x3->ip_dscp"},
        Good{"actions=write_metadata:0xff/0xf0,write_metadata:7/0,output:2",
             "priority=32768 actions=set_field:0xf0/0xf0->metadata,output:2"},
        Good{"actions=move:NXM_OF_IN_PORT[]->NXM_NX_REG1[16..31],output:NXM_OF_IN_PORT[]",
             "priority=32768 actions=move:in_port[0..15]->reg1[16..31],output:in_port[0..15]"},
        Good{"ip,actions=move:NXM_OF_IP_TOS[4..7]->NXM_NX_REG0[0..3]",
             "priority=32768,ip actions=move:ip_dscp[2..5]->reg0[0..3]"},
        Good{"dl_vlan=5,actions=load:0xa->NXM_OF_VLAN_TCI[4..7],load:3->vlan_tci[13..15]",
             "priority=32768,dl_vlan=5 actions=set_field:0x10a0/0x10f0->vlan_vid,set_field:3->vlan_pcp"},
        Good{"dl_vlan=5,ip,actions=move:NXM_OF_VLAN_TCI[12..13]->NXM_OF_VLAN_TCI[14..15]",
             "priority=32768,ip,dl_vlan=5 actions=move:vlan_tci[12..13]->vlan_pcp[1..2]"}));

}  // namespace
}  // namespace sluice::client
