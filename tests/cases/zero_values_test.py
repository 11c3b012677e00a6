"""Zero is a value like any other: not "not given", not "not there". For packets, and in what is listed."""
import re

import cases
from cases import make

REQUEST = cases.hexed("02000000000b02000000000a080045000020000200004001f6d7c0000201c00002020800192d0001000170696e67")
REPLY = cases.hexed("02000000000b02000000000a080045000020000300004001f6d6c0000201c00002020000212d0001000170696e67")
LATER = cases.hexed("02000000000b02000000000a08004500001c000400014001f6d8c0000201c00002020000000000000000")
# A match on zero, a packet that has the zero, one that has another value there, one that has not got the field.
UDP, ARP = make.ipv4(make.UDP, make.udp(40000, 53)), make.eth(0x0806, make.arp(1, "192.0.2.1", "192.0.2.2"))
FIELDS = [
    ("udp,tp_src=0", make.ipv4(make.UDP, make.udp(0, 53)), UDP, make.ipv4(make.UDP, b"\0" * 8, frag=3)),
    ("tcp,tp_dst=0", make.ipv4(make.TCP, make.tcp(1, 0)), make.ipv4(make.TCP, make.tcp(1, 1)), make.ipv4(make.TCP, b"\0" * 20, frag=3)),
    ("sctp,tp_dst=0", make.ipv4(make.SCTP, make.sctp(1, 0)), make.ipv4(make.SCTP, make.sctp(1, 1)), make.ipv4(make.SCTP, b"\0" * 12, frag=3)),
    ("ip,nw_tos=0", UDP, make.ipv4(make.UDP, make.udp(1, 2), tos=32), ARP),
    ("ip,nw_ecn=0", UDP, make.ipv4(make.UDP, make.udp(1, 2), tos=1), ARP),
    ("ip,nw_ttl=0", make.ipv4(make.UDP, make.udp(1, 2), ttl=0), UDP, ARP),
    ("ip,nw_src=0.0.0.0", make.ipv4(make.UDP, make.udp(1, 2, src="0.0.0.0"), src="0.0.0.0"), UDP, ARP),
    ("ipv6,ipv6_dst=::", make.ipv6(make.UDP, make.udp6(1, 2, dst="::"), dst="::"), make.ipv6(make.UDP, make.udp6(1, 2)), UDP),
    ("icmp,icmp_code=0", REPLY, make.ipv4(make.ICMP, make.icmp(3, 1)), LATER),
    ("icmp6,icmp_type=0", make.ipv6(make.ICMPV6, make.icmp6(0, 0)), make.ipv6(make.ICMPV6, make.icmp6(128, 0)), make.ipv6(make.FRAGMENT, make.frag6(make.ICMPV6, 8) + b"\0" * 8)),
    ("dl_vlan=0", make.eth(0x0800, UDP[14:], tags=[(0x8100, 0x2000)]), make.eth(0x0800, UDP[14:], tags=[(0x8100, 1)]), UDP),
    ("dl_vlan_pcp=0", make.eth(0x0800, UDP[14:], tags=[(0x8100, 5)]), make.eth(0x0800, UDP[14:], tags=[(0x8100, 0x2005)]), UDP),
    ("arp,arp_op=0", make.eth(0x0806, make.arp(0, "192.0.2.1", "192.0.2.2")), ARP, make.eth(0x0806, make.arp(0, "192.0.2.1", "192.0.2.2", hlen=8))),
    ("arp,arp_spa=0.0.0.0", make.eth(0x0806, make.arp(1, "0.0.0.0", "192.0.2.2")), ARP, make.eth(0x0806, make.arp(1, "0.0.0.0", "192.0.2.2", hw=6))),
    ("dl_src=00:00:00:00:00:00", make.eth(0x88B5, b"", src=b"\0" * 6), UDP, None),
]


def zeros(match):
    """How many fields of a match are zero."""
    return len(re.findall(r"=(0|0x0|0\.0\.0\.0|::|00:00:00:00:00:00)(?=,|$)", match))


class ZeroValues(cases.unittest.TestCase):
    def test_icmp_type_and_protocol(self):
        flows = ["priority=200,icmp,icmp_type=0,actions=output:2", "priority=150,ip,nw_proto=0,actions=output:5", "priority=100,icmp,actions=output:3", "priority=50,ip,actions=output:4"]
        tcp, protocol_0 = make.ipv4(make.TCP, make.tcp(0, 80)), make.ipv4(0, b"\0" * 20)
        out = cases.replay(flows, (1, [REQUEST, REPLY, LATER, tcp, protocol_0]))
        self.assertEqual([out.sent[n] for n in (2, 3, 4, 5)], [[REPLY], [REQUEST, LATER], [tcp], [protocol_0]])

    def test_every_field_for_which_zero_has_a_meaning(self):
        for match, zero, other, absent in FIELDS:
            frames = [f for f in (other, zero, absent, zero, other) if f is not None]
            out = cases.replay(["priority=9,%s,actions=output:2" % match], (1, frames))
            self.assertEqual(out.sent[2], [zero, zero], match)

    def test_what_is_listed(self):
        """Zeros stand where they were set, and nowhere else."""
        with cases.Live() as switch:
            texts = [match for match, _, _, _ in FIELDS] + ["ip,nw_proto=0", "icmp,icmp_type=0", "udp", "ip", "arp", "icmp", ""]
            for i, text in enumerate(texts):
                switch.ctl("flow", "add", "cookie=%#x,priority=%d,%sactions=drop" % (i + 1, i, text + "," if text else ""))
            before = switch.flows()
            self.assertEqual([f["spec"].get("priority", 0) for f in before], list(range(len(texts))))
            for flow, line in zip(before, switch.ctl("flow", "list").splitlines()):
                match = re.sub(r"^.*priority=\d+,?", "", line.split(" actions=")[0])
                self.assertEqual(zeros(match), zeros(texts[flow["spec"].get("priority", 0)]), line)
                switch.ctl("flow", "add", line)
            self.assertEqual([(f["id"], f["spec"]) for f in switch.flows()], [(f["id"], f["spec"]) for f in before])


cases.main()
