"""A packet whose TTL is 1 or 0 goes no further when it is to be decremented, and is counted; copies sent before stay sent.

It is a hit of its flow all the same.
"""
import cases
from cases import make


def udp4(ttl):
    return make.ipv4(make.UDP, make.udp(40000, 53), ttl=ttl)


def udp6(hops):
    return make.ipv6(make.UDP, make.udp6(40000, 53), hops=hops)


class ExpiredTtl(cases.unittest.TestCase):
    def test_both_versions(self):
        flows = ["priority=100,ip,actions=dec_ttl,output:2", "priority=90,ipv6,actions=dec_ttl,output:2"]
        out = cases.replay(flows, (1, [udp4(64), udp4(2), udp4(1), udp4(0), udp6(64), udp6(1), udp6(0)]))
        self.assertEqual(out.sent[2], [udp4(63), udp4(1), udp6(63)])
        self.assertEqual((out.drops, out.packets), ({"ttl": 4}, [4, 3]))

    def test_every_ttl(self):
        """255 is decremented like any other; 0 never leaves."""
        out = cases.replay(["ip,actions=dec_ttl,output:2", "ipv6,actions=dec_ttl,output:3"], (1, [f(n) for n in range(256) for f in (udp4, udp6)]))
        self.assertEqual(out.sent[2], [udp4(n - 1) for n in range(2, 256)])
        self.assertEqual(out.sent[3], [udp6(n - 1) for n in range(2, 256)])
        self.assertEqual(out.drops, {"ttl": 4})

    def test_twice_and_between_copies(self):
        flows = ["ip,actions=output:2,dec_ttl,output:3,dec_ttl,output:4"]
        out = cases.replay(flows, (1, [udp4(n) for n in (0, 1, 2, 3)]))
        self.assertEqual([out.sent[n] for n in (2, 3, 4)], [[udp4(n) for n in (0, 1, 2, 3)], [udp4(1), udp4(2)], [udp4(1)]])
        self.assertEqual(out.drops, {}, "who was sent once is forwarded")

    def test_written_before(self):
        out = cases.replay(["ip,actions=mod_nw_ttl:1,dec_ttl,output:2", "ipv6,actions=mod_nw_ttl:2,dec_ttl,output:3"], (1, [udp4(64), udp6(1)]))
        self.assertEqual((out.sent[2], out.sent[3], out.drops), ([], [udp6(1)], {"ttl": 1}))

    def test_where_a_header_is_broken(self):
        """There is no TTL, so the packet goes no further; what was sent stays sent."""
        broken = make.ipv4(make.UDP, make.udp(1, 2), version=5, ttl=64)
        out = cases.replay(["ip,actions=output:2,dec_ttl,output:3", "ipv6,actions=dec_ttl,output:3"], (1, [broken, make.eth(0x86DD, b"\x60" + b"\0" * 30)]))
        self.assertEqual((out.sent[2], out.sent[3], out.drops), ([broken], [], {"ttl": 1}))


cases.main()
