"""Whatever covers an address is renewed when the address is written, whether the flow names the protocol or not.

ICMPv6 is covered, ICMP is not; UDP over IPv6 never leaves with zero; a first fragment holds the checksum of the whole datagram; a
later one holds none, and its payload stays as it came. A datagram that is put together again verifies.
"""
import struct

import cases
from cases import make

ECHO_IN = cases.hexed("02000000000b02000000000a86dd60000000000c3a4020010db800010000000000000000000120010db80001000000000000000000028000456f0001000170696e67")
ECHO_OUT = cases.hexed("02000000000b02000000000a86dd60000000000c3a4020010db800010000000000000000000120010db8000200000000000000000007800045690001000170696e67")
FIRST_IN = cases.hexed("02000000000b02000000000a86dd6000000000182c4020010db800010000000000000000000120010db8000100000000000000000002 11000001000012349c40003500203af51111111111111111")
FIRST_OUT = cases.hexed("02000000000b02000000000a86dd6000000000182c4020010db800010000000000000000000120010db8000200000000000000000007 11000001000012349c40003500203aef1111111111111111")
LATER_IN = cases.hexed("02000000000b02000000000a86dd6000000000182c4020010db800010000000000000000000120010db8000100000000000000000002110000100000123411111111111111111111111111111111")
LATER_OUT = cases.hexed("02000000000b02000000000a86dd6000000000182c4020010db800010000000000000000000120010db8000200000000000000000007110000100000123411111111111111111111111111111111")
OLD6, NEW6, OLD4, NEW4 = "2001:db8:1::2", "2001:db8:2::7", "198.51.100.2", "203.0.113.7"


def datagram6(dst):
    """The UDP datagram whose checksum is zero once it goes to NEW6, with the payload that makes it so."""
    data = make.udp6(40000, 53, b"\0\0abcd", dst=NEW6)
    return make.udp6(40000, 53, data[6:8] + b"abcd", dst=dst)


class Checksums(cases.unittest.TestCase):
    FLOWS6 = ["priority=100,ipv6,actions=set_field:%s->ipv6_dst,output:2" % NEW6]
    FLOWS4 = ["priority=100,ip,actions=mod_nw_dst:%s,output:2" % NEW4]

    def test_ipv6(self):
        zero_in, zero_out = (make.ipv6(make.UDP, datagram6(dst), dst=dst) for dst in (OLD6, NEW6))
        self.assertEqual(zero_out[60:62], b"\xff\xff")
        out = cases.replay(self.FLOWS6, (1, [ECHO_IN, zero_in, FIRST_IN, LATER_IN]))
        self.assertEqual(out.sent[2], [ECHO_OUT, zero_out, FIRST_OUT, LATER_OUT])

    def test_ipv4(self):
        echo, data = make.icmp(8, 0), make.udp(40000, 53, b"\x11" * 40, dst=OLD4)
        new = make.udp(40000, 53, b"\x11" * 40, dst=NEW4)
        frames = [make.ipv4(make.ICMP, echo, dst=OLD4), make.ipv4(make.UDP, data, dst=OLD4), make.ipv4(make.UDP, data[:24], dst=OLD4, frag=0x2000), make.ipv4(make.UDP, data[24:], dst=OLD4, frag=3)]
        expected = [make.ipv4(make.ICMP, echo, dst=NEW4), make.ipv4(make.UDP, new, dst=NEW4), make.ipv4(make.UDP, new[:24], dst=NEW4, frag=0x2000), make.ipv4(make.UDP, data[24:], dst=NEW4, frag=3)]
        out = cases.replay(self.FLOWS4, (1, frames))
        self.assertEqual(out.sent[2], expected)
        self.assertEqual(expected[2][34:] + expected[3][34:], make.ip4(make.UDP, new, dst=NEW4)[20:], "put together it is the new datagram")

    def test_of_every_transport_and_header(self):
        """Both addresses, all transports, behind every extension header, whole and in parts; the protocol is never named."""
        flows = ["priority=100,ipv6,actions=set_field:2001:db8:aa::1->ipv6_src,set_field:%s->ipv6_dst,output:2" % NEW6, "priority=100,ip,actions=mod_nw_src:203.0.113.1,mod_nw_dst:%s,output:2" % NEW4]
        old6, new6 = {"dst": OLD6}, {"src": "2001:db8:aa::1", "dst": NEW6}
        old4, new4 = {"dst": OLD4}, {"src": "203.0.113.1", "dst": NEW4}
        frames, expected = [], []
        for ends4, ends6, into in ((old4, old6, frames), (new4, new6, expected)):
            for proto, data in ((make.TCP, make.tcp(1, 2, **ends4)), (make.UDP, make.udp(1, 2, **ends4)), (make.SCTP, make.sctp(1, 2)), (make.ICMP, make.icmp(8, 0)), (253, b"\x11" * 30)):
                into += [make.ipv4(proto, data, **ends4), make.ipv4(proto, data, options=b"\1" * 8, **ends4), make.ipv4(proto, b"\x22" * 24, frag=0x2004, **ends4)]
            for proto, data in ((make.TCP, make.tcp6(1, 2, **ends6)), (make.UDP, make.udp6(1, 2, **ends6)), (make.SCTP, make.sctp(1, 2)), (make.ICMPV6, make.icmp6(128, 0, **ends6)), (253, b"\x11" * 30)):
                into.append(make.ipv6(proto, data, **ends6))
                into += [make.ipv6(kind, make.option6(proto) + data, **ends6) for kind in (make.HOP_BY_HOP, make.DESTINATION)]
                into.append(make.ipv6(make.FRAGMENT, make.frag6(proto, 0) + data, **ends6))
                into.append(make.ipv6(make.FRAGMENT, make.frag6(proto, 1) + data, **ends6))
                into.append(make.ipv6(make.FRAGMENT, make.frag6(proto, 24) + b"\x22" * 24, **ends6))
        out = cases.replay(flows, (1, frames))
        self.assertEqual(out.sent[2], expected)

    def test_neighbour_discovery(self):
        """A solicitation's checksum covers the addresses of the packet as well as its own target."""
        def ask(**ends):
            return make.ipv6(make.ICMPV6, make.icmp6(135, 0, b"\0" * 4 + make.address("2001:db8:1::9") + make.nd_option(1, make.MAC_A), **ends), hops=255, **ends)

        out = cases.replay(self.FLOWS6, (1, [ask(dst="ff02::1:ff00:9")]))
        self.assertEqual(out.sent[2], [ask(dst=NEW6)])

    def test_a_checksum_that_was_wrong_stays_wrong(self):
        """By as much as before: the switch vouches for nothing."""
        good = make.ipv4(make.TCP, make.tcp(1, 2, dst=OLD4), dst=OLD4)
        bad = good[:50] + struct.pack("!H", struct.unpack_from("!H", good, 50)[0] ^ 0x0101) + good[52:]
        out = cases.replay(self.FLOWS4, (1, [good, bad]))
        self.assertTrue(cases.checksums_are_right(out.sent[2][0]))
        self.assertFalse(cases.checksums_are_right(out.sent[2][1]))


cases.main()
