// Flow text that is refused: where, and in which words.

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "client/flow_text.h"

namespace sluice::client {
namespace {

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
        Bad{"udp,reset_counts,actions=", "5: reset_counts is for flows that are changed; flow modify takes it"},
        Bad{"delete in_port=1", "1: delete is a command of its own; expected a flow"},
        Bad{"ct_state=+trk,actions=", "1: field ct_state is not supported by this switch"},
        Bad{"conj_id=1,actions=", "1: field conj_id is not supported by this switch"},
        Bad{"reg8=1,actions=",
            "1: field reg8 is not supported by this switch, which has reg0 to reg7, of 32 bits each"},
        Bad{"xreg0=1,actions=",
            "1: field xreg0 is not supported by this switch, which has reg0 to reg7, of 32 bits each"},
        Bad{"ip,xxreg1=1,actions=",
            "4: field xxreg1 is not supported by this switch, which has reg0 to reg7, of 32 bits each"},
        Bad{"reg=1,actions=", "1: unknown field \"reg\"; did you mean \"reg0\"?"},
        Bad{"icmp6,nd_reserved=1,actions=", "7: field nd_reserved is not supported by this version"},
        Bad{"tun_id=1,actions=", "1: field tun_id is not supported by this version"},
        Bad{"tun_ipv6_src=::1,actions=", "1: field tun_ipv6_src is not supported by this version"},
        Bad{"tunnel_id=1,actions=", "1: field tunnel_id is not supported by this version"},
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
        Bad{"ip,nw_proto=1-5,actions=", "13: nw_proto takes no range; expected a value, or a range of ports"},
        Bad{"icmp,tp_src=1-5,actions=", "13: tp_src takes no range; expected a value, or a range of ports"},
        Bad{"tcp,tp_dst=2000-1000,actions=", "12: tp_dst: 2000-1000 ends below where it begins; expected 1000-2000"},
        Bad{"tcp,tp_dst=1-65536,actions=", "12: tp_dst: 1-65536 is out of range; expected 0 to 65535"},
        Bad{"udp,tp_dst=1000-2000/0xff00,actions=",
            "12: tp_dst: 1000-2000/0xff00 has a mask and a range; expected FIRST-LAST, or VALUE/MASK"},
        Bad{"udp,tp_src=1-,actions=",
            "12: tp_src: \"1-\" is not understood; expected a number or FIRST-LAST, 0 to 65535, decimal or 0x…"},
        Bad{"udp,tp_src=1-2-3,actions=",
            "12: tp_src: \"1-2-3\" is not understood; expected a number or FIRST-LAST, 0 to 65535, decimal or 0x…"},
        Bad{"udp,tp_src=-5,actions=",
            "12: tp_src: \"-5\" is not understood; expected a number, 0 to 65535, decimal or 0x…"},
        Bad{"ip,tp_dst=1-5,actions=",
            "4: tp_dst needs a protocol with ports; write tcp, udp or sctp (or tcp6, udp6, sctp6) too"},
        Bad{"udp,tcp_dst=1-5,actions=", "5: tcp_dst needs a TCP flow; write tcp or tcp6 too"},
        Bad{"tcp,tp_dst=1-5,tp_dst=1-6,actions=",
            "16: tp_dst contradicts tp_dst in column 5; expected one condition on tcp_dst"},
        Bad{"tcp,ip_frag=later,tp_dst=1-5,actions=",
            "19: tp_dst can match no later fragment, which has neither ports nor an ICMP type; expected another "
            "ip_frag, or no tp_dst"},
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
    SecondTag, BadFlow,
    testing::Values(
        Bad{"inner_vlan_vid=4096,actions=", "16: inner_vlan_vid: 4096 is out of range; expected 0 to 4095"},
        Bad{"inner_vlan_pcp=1/1,actions=",
            "16: inner_vlan_pcp takes no mask; expected a value, or no inner_vlan_pcp at all"},
        Bad{"inner_vlan_present=2,actions=", "20: inner_vlan_present: 2 is out of range; expected 0 to 1"},
        Bad{"inner_vlan_tci=,actions=",
            "1: inner_vlan_tci has no value; expected a number, 0 to 65535, decimal or 0x…"},
        Bad{"inner_vlan_vid=5,inner_vlan_tci=0x1006,actions=",
            "18: inner_vlan_tci contradicts inner_vlan_vid in column 1; expected one condition on the VLAN tag"},
        Bad{"inner_vlan_tci=0x0005,actions=",
            "1: inner_vlan_tci matches no packet: without a tag (bit 0x1000 of inner_vlan_tci zero) VID and PCP are "
            "zero; expected them to be zero, or the bit to be set"},
        Bad{"inner_vlan_vid=5,dl_vlan=0xffff,actions=",
            "1: inner_vlan_vid contradicts dl_vlan in column 18; expected no second VLAN tag where there is none at "
            "all"},
        Bad{"dl_vlan=1,actions=set_field:5->inner_vlan_vid",
            "32: set_field cannot write inner_vlan_vid; expected a writable field"}));

INSTANTIATE_TEST_SUITE_P(
    Fields, BadFlow,
    testing::Values(
        Bad{"mpls_label=5,actions=", "1: mpls_label needs an MPLS flow; write mpls or mplsm too"},
        Bad{"ip,mpls_ttl=5,actions=", "4: mpls_ttl needs an MPLS flow; write mpls or mplsm too"},
        Bad{"mpls,mpls_label=1048576,actions=", "17: mpls_label: 1048576 is out of range; expected 0 to 1048575"},
        Bad{"mpls,mpls_bos=2,actions=", "15: mpls_bos: 2 is out of range; expected 0 to 1"},
        Bad{"mpls,mpls_tc=1/1,actions=", "14: mpls_tc takes no mask; expected a value, or no mpls_tc at all"},
        Bad{"mpls,nw_dst=1.2.3.4,actions=", "6: nw_dst needs an IPv4 flow; write ip too"},
        Bad{"rarp,arp_sha=1:2:3:4:5:6,actions=", "6: arp_sha needs an ARP flow; write arp too"},
        Bad{"ip,ipv6_label=5,actions=", "4: ipv6_label needs an IPv6 flow; write ipv6 too"},
        Bad{"ipv6,ipv6_label=0x100000,actions=", "17: ipv6_label: 0x100000 is out of range; expected 0 to 1048575"},
        Bad{"udp,tcp_flags=syn,actions=", "5: tcp_flags needs a TCP flow; write tcp or tcp6 too"},
        Bad{"tcp,tcp_flags=,actions=",
            "5: tcp_flags has no value; expected names joined by | for all flags (syn|ack), each with + or - for some "
            "(+syn-ack), or VALUE/MASK, 0 to 0xfff"},
        Bad{"tcp,tcp_flags=syn|sin,actions=",
            "15: tcp_flags: \"syn|sin\" is not understood; expected names joined by | for all flags (syn|ack), each "
            "with + or - for some (+syn-ack), or VALUE/MASK, 0 to 0xfff"},
        Bad{"tcp,tcp_flags=+syn-syn,actions=", "15: tcp_flags: +syn-syn has syn twice; expected it once"},
        Bad{"tcp,tcp_flags=0x1000,actions=", "15: tcp_flags: 0x1000 is out of range; expected 0 to 4095"},
        Bad{"tcp,ip_frag=later,tcp_flags=syn,actions=",
            "19: tcp_flags can match no later fragment, which has neither ports nor an ICMP type; expected another "
            "ip_frag, or no tcp_flags"},
        Bad{"icmp6,nd_target=::1,actions=",
            "7: nd_target needs a flow of neighbour discovery; write icmp6,icmp_type=135,icmp_code=0 (or type 136) "
            "too"},
        Bad{"icmp6,icmp_type=135,icmp_code=1,nd_target=::1,actions=",
            "33: nd_target needs a flow of neighbour discovery; write icmp6,icmp_type=135,icmp_code=0 (or type 136) "
            "too"},
        Bad{"icmp6,icmp_type=136,nd_sll=1:2:3:4:5:6,actions=",
            "21: nd_sll needs a flow of neighbour solicitations; write icmp6,icmp_type=135,icmp_code=0 too"},
        Bad{"icmp6,icmp_type=135,nd_tll=1:2:3:4:5:6,actions=",
            "21: nd_tll needs a flow of neighbour advertisements; write icmp6,icmp_type=136,icmp_code=0 too"},
        Bad{"reg0=1-5,actions=", "6: reg0 takes no range; expected a value, or a range of ports"},
        Bad{"reg0=0x100000000,actions=", "6: reg0: 0x100000000 is out of range; expected 0 to 4294967295"},
        Bad{"metadata=x,actions=",
            "10: metadata: \"x\" is not understood; expected a number, 0 to 18446744073709551615, decimal or 0x…"}));

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
        Bad{"actions=set_field:1->xreg0", "22: field xreg0 is not supported by this switch"},
        Bad{"actions=set_field:1->tun_id", "22: field tun_id is not supported by this version"},
        Bad{"mpls,actions=set_field:1->mpls_bos", "27: set_field cannot write mpls_bos; expected a writable field"},
        Bad{"tcp,actions=set_field:1->tcp_flags", "26: set_field cannot write tcp_flags; expected a writable field"},
        Bad{"actions=set_field:1->mpls_ttl", "22: mpls_ttl needs an MPLS flow; write mpls or mplsm too"},
        Bad{"icmp6,icmp_type=136,actions=set_field:1:2:3:4:5:6->nd_sll",
            "52: nd_sll needs a flow of neighbour solicitations; write icmp6,icmp_type=135,icmp_code=0 too"},
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
        Bad{"tcp,actions=set_field:1-5->tcp_dst",
            "23: tcp_dst: \"1-5\" is not understood; expected a number, 0 to 65535, decimal or 0x…"},
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
        Bad{"actions=goto_table:255", "20: goto_table: 255 is out of range; expected 0 to 254"},
        Bad{"actions=goto_table", "9: goto_table has no value; expected a number, 0 to 254, decimal or 0x…"},
        Bad{"actions=write_actions", "9: write_actions has no actions; expected write_actions(ACTION,...)"},
        Bad{"actions=write_actions(output:2,bogus)", "32: unknown action \"bogus\""},
        Bad{"actions=clear_actions:1", "23: clear_actions takes no value"},
        Bad{"ip,actions=load:1->nw_src[0..32]",
            "27: \"[0..32]\" names no bits of nw_src; expected nw_src[] or bits from "
            "[0..31]"},
        Bad{"ip,actions=load:256->nw_src[0..7]", "17: 256 does not fit into 8 bits"},
        Bad{"ip,actions=load:1", "12: load has no \"->\"; expected load:VALUE->FIELD[BITS]"},
        Bad{"actions=load:1->nw_src[]", "17: ip_src needs an IPv4 flow; write ip too"},
        Bad{"ip,actions=load:1->in_port", "20: load cannot write in_port; expected a writable field"},
        Bad{"ip,actions=move:nw_src[0..7]->nw_dst[0..8]", "17: move: 8 bits do not go into 9"},
        Bad{"actions=move:nw_src[]->nw_dst[]", "14: ip_src needs an IPv4 flow; write ip too"},
        Bad{"actions=push_mpls:5", "19: push_mpls: 5 is out of range; expected 1536 to 65535"},
        Bad{"actions=controller(id=3)", "20: controller: id is not supported by this version"},
        Bad{"actions=controller(reason=hunger)",
            "27: controller: unknown reason \"hunger\"; expected action, no_match, action_set, group, invalid_ttl or "
            "packet_out"},
        Bad{"actions=controller(reason=no_match,size=5)",
            "36: controller: unknown option \"size\"; expected max_len or reason"},
        Bad{"actions=controller(max_len=65536)", "28: controller: 65536 is out of range; expected 0 to 65535"},
        Bad{"actions=set_mpls_label:5", "9: set_mpls_label needs an MPLS flow; write mpls or mplsm too"},
        Bad{"mpls,actions=set_mpls_tc:8", "26: set_mpls_tc: 8 is out of range; expected 0 to 7"},
        Bad{"ip,actions=load:1->NXM_OF_IP_TOS[1]",
            "34: \"[1]\" names no bits of NXM_OF_IP_TOS; expected NXM_OF_IP_TOS[] or bits from [2..7]"},
        Bad{"ip,actions=load:0xb9->NXM_OF_IP_TOS[]",
            "17: NXM_OF_IP_TOS: 0xb9 sets the two ECN bits; expected a multiple of 4 (mod_nw_ecn sets those)"},
        Bad{"dl_vlan=5,actions=load:1->vlan_tci[12]", "27: load cannot write vlan_tci; expected a writable field"},
        Bad{"actions=load:1->vlan_tci[0..3]",
            "17: vlan_vid needs a VLAN tag; write dl_vlan=…, vlan_tci=0x1000/0x1000 or, for an action, push_vlan "
            "before it"},
        Bad{"actions=exit", "9: action exit is not supported by this version"}));

}  // namespace
}  // namespace sluice::client
