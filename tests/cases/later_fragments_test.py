"""A later fragment has no ports, no TCP flags and no ICMP type: payload bytes are never taken for them, nor is their absence taken for zeros.

A first fragment has its ports. Later fragments of IPv6 have the protocol 44, of IPv4 that of the datagram.
"""
import cases
from cases import make

FIRST = cases.hexed("02000000000b02000000000a08004500002c123420004011c489c0000201c00002029c4000350028ed5911111111111111111111111111111111")
LATER = cases.hexed("02000000000b02000000000a080045000024123400034011e48ec0000201c00002029c400035222222222222222222222222")
# Eight bytes that would be ports, an ICMP type or a whole UDP header; and zeros.
LIKE_PORTS, ZEROS = b"\x00\x35\x00\x35\x00\x10\x00\x00" + b"\x22" * 8, b"\0" * 16
PROTOCOLS = {"tcp": make.TCP, "udp": make.UDP, "sctp": make.SCTP, "icmp": make.ICMP}
PROTOCOLS6 = {"tcp6": make.TCP, "udp6": make.UDP, "sctp6": make.SCTP, "icmp6": make.ICMPV6}


def wanting(protocol):
    """Matches on what only a header has: the value that the payload seems to hold, zero, masked zeros, all ports there are but one."""
    if protocol.startswith("icmp"):
        return ["icmp_type=0", "icmp_code=53", "icmp_type=0,icmp_code=0"]
    wants = [field + value for field in ("tp_src", "tp_dst") for value in ("=53", "=0", "=0/0x8000", "=1-65535", "=0-65534")]
    return wants + (["tcp_flags=0/0x2", "tcp_flags=0x000"] if protocol.startswith("tcp") else [])


class LaterFragments(cases.unittest.TestCase):
    FLOWS = ["priority=200,udp,udp_dst=53,actions=drop", "priority=150,udp,udp_dst=0,actions=output:4", "priority=100,ip,actions=output:2"]

    def test_of_a_datagram_whose_port_is_refused(self):
        once = cases.replay(self.FLOWS, (1, [FIRST, LATER]))
        self.assertEqual(once.sent[2], [LATER])
        self.assertEqual((once.packets, once.drops), ([1, 0, 1], {"action_drop": 1}))
        warm = cases.replay(self.FLOWS, (1, [FIRST, LATER] + [LATER, FIRST] * 1000))
        self.assertEqual(warm.sent[2], [LATER] * 1001)
        self.assertEqual(warm.packets, [1001, 0, 1001])

    def check(self, names, fragment, plain):
        for payload in LIKE_PORTS, ZEROS:
            frames = [fragment(proto, payload) for proto in names.values()]
            flows = ["priority=%d,%s,%s,actions=output:4" % (500 - i, name, want) for i, (name, want) in enumerate((n, w) for n in names for w in wanting(n))]
            out = cases.replay(flows + ["priority=10,%s,nw_frag=later,actions=output:2" % plain, "priority=1,actions=output:3"], (1, frames * 3))
            self.assertEqual((out.sent[2], out.sent[3], out.sent[4]), (frames * 3, [], []))
            self.assertEqual(sum(out.packets[:-2]), 0, out.packets)

    def test_of_every_protocol(self):
        self.check(PROTOCOLS, lambda proto, payload: make.ipv4(proto, payload, frag=0x2003), "ip")
        self.check(PROTOCOLS, lambda proto, payload: make.ipv4(proto, payload, frag=0x0001, options=b"\x94\x04\0\0"), "ip")
        self.check(PROTOCOLS6, lambda proto, payload: make.ipv6(make.FRAGMENT, make.frag6(proto, 24) + payload), "ipv6")

    def test_have_their_protocol(self):
        frames = [make.ipv4(make.UDP, ZEROS, frag=3), make.ipv4(make.ICMP, ZEROS, frag=3), make.ipv6(make.FRAGMENT, make.frag6(make.UDP, 24) + ZEROS)]
        out = cases.replay(["udp,actions=output:2", "icmp,actions=output:3", "udp6,actions=output:5", "ipv6,nw_proto=44,actions=output:4"], (1, frames))
        self.assertEqual([out.sent[n] for n in (2, 3, 4, 5)], [frames[0:1], frames[1:2], frames[2:3], []])

    def test_first_fragments_have_their_ports(self):
        frames = [make.ipv4(make.UDP, make.udp(40000, 53), frag=0x2000), make.ipv6(make.FRAGMENT, make.frag6(make.UDP, 1) + make.udp6(40000, 53))]
        out = cases.replay(["udp,tp_dst=53,actions=output:2", "udp6,tp_dst=53,actions=output:3"], (1, frames))
        self.assertEqual((out.sent[2], out.sent[3]), (frames[:1], frames[1:]))


cases.main()
