"""An IP header that contradicts its own length has no fields: nothing that names one matches, nothing beyond the frame is read, and it is counted.

Such a packet still has its EtherType, so a flow on that takes it, unchanged even where its actions would write IP fields.
"""
import cases
from cases import make

BAD4 = [
    cases.hexed("02000000000b02000000000a08004b000028000100004006e4bfc0000201c0000202010101010101010101010101010101010101010101010101"),
    make.ipv4(make.TCP, make.tcp(40000, 80), dst="192.0.2.2", ihl=4),
    make.ipv4(make.TCP, make.tcp(40000, 80), dst="192.0.2.2", length=10),
    make.ipv4(make.TCP, make.tcp(40000, 80, b""), dst="192.0.2.2", length=60),
    make.ipv4(make.TCP, make.tcp(40000, 80), dst="192.0.2.2", version=6),
]
# Every header length that cannot be, total lengths to either side, other versions, headers cut anywhere.
MORE4 = [make.ipv4(make.TCP, make.tcp(40000, 80), ihl=n) for n in (0, 1, 2, 3)] + [make.eth(0x0800, make.ip4(make.TCP, b"", ihl=n)) for n in (6, 10, 15)]
MORE4 += [make.ipv4(make.TCP, make.tcp(40000, 80), length=n) for n in (0, 1, 19, 66, 67, 1500, 65535)]
MORE4 += [make.ipv4(make.TCP, make.tcp(40000, 80), version=n) for n in (0, 5, 7, 15)]
MORE4 += [make.eth(0x0800, make.ip4(make.TCP, make.tcp(40000, 80)))[: 14 + n] for n in (0, 1, 9, 19, 20, 30)]
BAD6 = [make.ipv6(make.TCP, make.tcp6(40000, 80), length=n) for n in (46, 1000, 65535)] + [make.ipv6(make.TCP, make.tcp6(40000, 80), version=n) for n in (0, 4, 5, 15)]
BAD6 += [make.eth(0x86DD, make.ip6(make.TCP, make.tcp6(40000, 80)))[: 14 + n] for n in (0, 1, 6, 39, 40, 50)]
TAG = b"\x81\x00\x00\x05"


def tagged(frame):
    return frame[:12] + TAG + frame[12:]


class Lengths(cases.unittest.TestCase):
    def check(self, flows, frames):
        """All leave by the last flow, which names no IP field."""
        for form in frames, [tagged(f) for f in frames]:
            out = cases.replay(flows + ["priority=1,actions=output:3"], (1, form))
            self.assertEqual((out.sent[2], out.sent[4], out.sent[3]), ([], [], form))
            self.assertEqual(out.packets, [0] * len(flows) + [len(form)])
            self.assertEqual(out.malformed, len(form))

    def test_ipv4(self):
        self.check(["priority=200,tcp,tcp_dst=80,actions=output:2", "priority=150,ip,nw_dst=192.0.2.2,actions=output:4"], BAD4)

    def test_ipv4_in_every_way(self):
        wants = ["tcp,tp_src=0/0x1", "ip,nw_src=0.0.0.0/1", "ip,nw_src=128.0.0.0/1", "ip,nw_proto=0", "ip,nw_proto=6", "ip,nw_ttl=0", "ip,nw_ttl=64", "ip,nw_tos=0", "ip,nw_ecn=0", "ip,nw_frag=no", "ip,nw_frag=not_later"]
        self.check(["priority=%d,%s,actions=output:2" % (500 - i, want) for i, want in enumerate(wants)], BAD4 + MORE4)

    def test_ipv6_in_every_way(self):
        wants = ["tcp6,tp_dst=80", "ipv6,ipv6_src=::/1", "ipv6,ipv6_dst=2000::/3", "ipv6,nw_proto=6", "ipv6,nw_ttl=64", "ipv6,nw_ttl=0", "ipv6,nw_tos=0", "ipv6,nw_frag=no"]
        self.check(["priority=%d,%s,actions=output:2" % (500 - i, want) for i, want in enumerate(wants)], BAD6)

    def test_the_ethertype_stays_and_nothing_is_written(self):
        out = cases.replay(["ip,actions=mod_nw_dst:203.0.113.9,mod_nw_tos:32,output:2", "ipv6,actions=set_field:2001:db8::9->ipv6_src,output:4"], (1, BAD4 + MORE4 + BAD6))
        self.assertEqual((out.sent[2], out.sent[4]), (BAD4 + MORE4, BAD6))

    def test_the_least_that_is_right(self):
        """Beside those that are refused: all that is just long enough."""
        four = [make.ipv4(make.TCP, make.tcp(40000, 80, b""), options=b"\1" * n) for n in range(0, 44, 4)]
        six = [make.ipv6(make.TCP, make.tcp6(40000, 80, b""))]
        out = cases.replay(["tcp,tp_dst=80,actions=output:2", "tcp6,tp_dst=80,actions=output:2"], (1, four + six))
        self.assertEqual((out.sent[2], out.malformed), (four + six, 0))


cases.main()
