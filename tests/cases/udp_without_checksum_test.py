"""UDP over IPv4 that was sent without a checksum stays without one, and a checksum that comes out as zero is sent as ffff."""
import struct

import cases
from cases import make

NONE_IN = cases.hexed("02000000000b02000000000a080045000020000500004011f6c4c0000201c00002029c400035000c000061626364")
NONE_OUT = cases.hexed("02000000000b02000000000a0800450000200005000040118e8cc0000201c63364079c4014e9000c000061626364")
ZERO_IN = cases.hexed("02000000000b02000000000a080045000020000500004011f6c4c0000201c00002029c400035000c7cecff0b6364")
ZERO_OUT = cases.hexed("02000000000b02000000000a0800450000200005000040118e8cc0000201c63364079c4014e9000cffffff0b6364")
# Every field that the checksum covers: (what writes it, its new value in the packet).
WRITES = [("mod_nw_src:203.0.113.1", {"src": "203.0.113.1"}), ("mod_nw_dst:203.0.113.2", {"dst": "203.0.113.2"}), ("set_field:0.0.0.77/0.0.0.255->ip_dst", {"dst": "198.51.100.77"}),
          ("mod_tp_src:1", {"sport": 1}), ("mod_tp_dst:5353", {"dport": 5353}), ("mod_nw_src:203.0.113.1,mod_tp_dst:5353", {"src": "203.0.113.1", "dport": 5353})]


def datagram(payload, sport=40000, dport=53, src="192.0.2.1", dst="198.51.100.2", tags=(), **kw):
    return make.ipv4(make.UDP, make.udp(sport, dport, payload, src, dst, **kw), tags, src=src, dst=dst)


def payload_for_zero(**values):
    """With it the checksum of that datagram comes out as zero."""
    frame = datagram(b"\0\0xy", **values)
    return struct.pack("!H", struct.unpack_from("!H", frame, 40)[0]) + b"xy"


class UdpChecksum(cases.unittest.TestCase):
    FLOWS = ["priority=100,udp,actions=mod_nw_dst:198.51.100.7,mod_tp_dst:5353,output:2"]

    def test_none_any_and_zero(self):
        any_in = make.ipv4(make.UDP, make.udp(40000, 53, b"abcd", dst="192.0.2.2"), dst="192.0.2.2")
        any_out = make.ipv4(make.UDP, make.udp(40000, 5353, b"abcd", dst="198.51.100.7"), dst="198.51.100.7")
        out = cases.replay(self.FLOWS, (1, [NONE_IN, any_in, ZERO_IN]))
        self.assertEqual(out.sent[2], [NONE_OUT, any_out, ZERO_OUT])
        self.assertTrue(all(map(cases.checksums_are_right, out.sent[2])))

    def test_of_every_field(self):
        """Each write by itself, on packets without a checksum, with one, and with one that becomes zero; tagged too."""
        flows = ["priority=9,udp,dl_src=02:00:00:00:01:%02x,actions=%s,output:2" % (i, write) for i, (write, _) in enumerate(WRITES)]
        frames, expected = [], []
        for i, (_, values) in enumerate(WRITES):
            for payload, kw in ((b"", {}), (b"odd", {}), (b"odd", {"no_checksum": True}), (payload_for_zero(**values), {})):
                for tags in (), [(0x8100, 5)]:
                    for values_of, into in (({}, frames), (values, expected)):
                        frame = datagram(payload, tags=tags, **values_of, **kw)
                        into.append(frame[:6] + bytes.fromhex("0200000001%02x" % i) + frame[12:])
        out = cases.replay(flows, (1, frames))
        self.assertEqual(out.sent[2], expected)
        untagged = [f for f in out.sent[2] if f[12:14] == b"\x08\x00"]
        self.assertTrue(all(map(cases.checksums_are_right, untagged)))
        sums = [f[40:42] for f in untagged]
        self.assertEqual((sums.count(b"\0\0"), sums.count(b"\xff\xff")), (len(WRITES), len(WRITES)))


cases.main()
