"""What the first packet has not is remembered with its answer: packets that have it get an answer of their own, whichever comes first.

Of tags, of the tag behind a popped one, of IP below another EtherType, of ports behind a fragment, of labels.
"""
import cases
from cases import make

PLAIN = make.ip4(make.UDP, make.udp(40000, 53))
UNTAGGED, TAGGED = make.eth(0x0800, PLAIN), make.eth(0x0800, PLAIN, tags=[(0x8100, 10)])
# (flow that takes the second only, flow that takes both, first, second)
PAIRS = [
    ("vlan_vid=0x1000/0x1000", "", UNTAGGED, TAGGED),
    ("dl_vlan_pcp=0", "", UNTAGGED, TAGGED),
    ("vlan_tci=0/0x1000", "", TAGGED, UNTAGGED),
    ("dl_vlan=0", "", UNTAGGED, make.eth(0x0800, PLAIN, tags=[(0x8100, 0)])),
    ("ip", "", make.eth(0x88B5, PLAIN), UNTAGGED),
    ("arp", "", make.eth(0x0800, make.arp(1, "192.0.2.1", "192.0.2.2")), make.eth(0x0806, make.arp(1, "192.0.2.1", "192.0.2.2"))),
    ("udp,tp_dst=53", "ip", make.ipv4(make.UDP, make.udp(40000, 53)[:16], frag=0x2003), make.ipv4(make.UDP, make.udp(40000, 53)[:16], frag=0x2000)),
    ("ip,nw_frag=no", "ip", make.ipv4(make.UDP, make.udp(40000, 53), frag=0x2000), UNTAGGED),
    ("tcp,tp_dst=80", "ip", make.ipv4(make.UDP, make.tcp(40000, 80)), make.ipv4(make.TCP, make.tcp(40000, 80))),
    ("icmp,icmp_type=0", "ip", make.ipv4(make.ICMP, make.icmp(0, 0)[:3]), make.ipv4(make.ICMP, make.icmp(0, 0))),
    ("ipv6,nw_ttl=64", "ipv6", make.ipv6(make.UDP, make.udp6(1, 2), version=4), make.ipv6(make.UDP, make.udp6(1, 2))),
]


class TaggedAfterUntagged(cases.unittest.TestCase):
    FLOWS = ["priority=110,in_port=1,dl_vlan=10,actions=output:2", "priority=100,in_port=1,actions=output:3"]

    def test_untagged_first_and_tagged_first(self):
        for frames in ([UNTAGGED] * 100 + [TAGGED] * 100 + [UNTAGGED] * 100, [TAGGED] * 100 + [UNTAGGED] * 200):
            out = cases.replay(self.FLOWS, (1, frames))
            self.assertEqual((out.sent[2], out.sent[3], out.packets), ([TAGGED] * 100, [UNTAGGED] * 200, [100, 200]))

    def test_whatever_the_one_has_and_the_other_has_not(self):
        with cases.Live(sinks=[2, 3]) as switch:
            for narrow, wide, first, second in PAIRS:
                for frames in [first] * 40 + [second] * 40 + [first, second] * 20, [second] * 40 + [first] * 40 + [second, first] * 20:
                    switch.ctl("flow", "delete")
                    switch.ctl("flow", "add", "priority=20,%s,actions=output:2" % narrow, "priority=10,%sactions=output:3" % (wide + "," if wide else ""))
                    switch.feed(1, frames)
                    self.assertEqual([packets for packets, _ in switch.counters()], [60, 60], narrow)


cases.main()
