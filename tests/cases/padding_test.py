"""What stands behind an IP packet's own length is no payload: in no checksum, and no reason not to look at the packet.

It is carried on as it came, whatever its length.
"""
import cases
from cases import make

PADDED_IN = cases.hexed("02000000000b02000000000a080045000028000100004006f6cbc0000201c00002029c4000500000000100000000501004008b3e0000aaaaaaaaaaaa")
PADDED_OUT = cases.hexed("02000000000b02000000000a080045000028000100004006 8e93c0000201c63364079c401f900000000100000000501004 0003c60000") + b"\xaa" * 6


class Padding(cases.unittest.TestCase):
    FLOWS = ["priority=100,tcp,actions=mod_nw_dst:198.51.100.7,mod_tp_dst:8080,output:2"]

    def test_short_and_long(self):
        tail = make.ipv4(make.TCP, make.tcp(40000, 80, b"abcdef", dst="192.0.2.2"), dst="192.0.2.2")
        tail += b"\xaa" * (400 - len(tail))
        out = cases.replay(self.FLOWS, (1, [PADDED_IN, tail]))
        ends = {"src": "192.0.2.1", "dst": "198.51.100.7"}
        expected = make.ipv4(make.TCP, make.tcp(40000, 8080, b"abcdef", **ends), **ends)
        self.assertEqual(out.sent[2], [PADDED_OUT, expected + b"\xaa" * (400 - len(expected))])
        self.assertEqual((out.packets, out.bytes, out.malformed), ([2], [460], 0))

    def test_of_every_kind(self):
        """Odd and even tails behind odd and even payloads, both IP versions, tagged and not, with and without UDP's checksum."""
        flows = ["udp,actions=mod_nw_src:203.0.113.1,mod_tp_dst:5353,output:2", "tcp,actions=mod_nw_src:203.0.113.1,mod_tp_dst:5353,output:2",
                 "udp6,actions=set_field:2001:db8::99->ipv6_src,set_field:5353->udp_dst,output:2", "icmp6,actions=set_field:2001:db8::99->ipv6_src,output:2"]
        frames, expected = [], []

        def add(before, after):
            for tail in b"", b"\xee", b"\xee" * 6, b"\xff" * 341:
                frames.append(before + tail)
                expected.append(after + tail)

        four, six = {"src": "203.0.113.1"}, {"src": "2001:db8::99"}
        for payload in b"", b"x", b"xy", b"xyz" * 5:
            for tags in (), ((0x8100, 5),):
                add(make.ipv4(make.UDP, make.udp(1, 53, payload), tags), make.ipv4(make.UDP, make.udp(1, 5353, payload, **four), tags, **four))
                add(make.ipv4(make.UDP, make.udp(1, 53, payload, no_checksum=True), tags), make.ipv4(make.UDP, make.udp(1, 5353, payload, no_checksum=True), tags, **four))
                add(make.ipv4(make.TCP, make.tcp(1, 80, payload), tags), make.ipv4(make.TCP, make.tcp(1, 5353, payload, **four), tags, **four))
                add(make.ipv6(make.UDP, make.udp6(1, 53, payload), tags), make.ipv6(make.UDP, make.udp6(1, 5353, payload, **six), tags, **six))
                add(make.ipv6(make.ICMPV6, make.icmp6(128, 0, payload), tags), make.ipv6(make.ICMPV6, make.icmp6(128, 0, payload, **six), tags, **six))
        out = cases.replay(flows, (1, frames))
        self.assertEqual(out.sent[2], expected)
        self.assertEqual(out.malformed, 0)


cases.main()
