"""IPv4 options stand before the ports and in the header's checksum, and stay as they are when addresses and ports are written."""
import cases
from cases import make

ALERT_IN = cases.hexed("02000000000b02000000000a08004700002c0001000040115eb7c0000201c000020294040000010101009c40003500104dbf6162636465666768")
ALERT_OUT = cases.hexed("02000000000b02000000000a08004700002c000100004011f67ec0000201c633640794040000010101009c4000350010e5866162636465666768")
LIKE_A_PORT = cases.hexed("02000000000b02000000000a08004700002c0001000040116083c0000201c000020294040035000000009c40270f001026e56162636465666768")


class Options(cases.unittest.TestCase):
    def test_ports_behind_options(self):
        out = cases.replay(["priority=200,udp,udp_dst=53,actions=mod_nw_dst:198.51.100.7,output:2", "priority=100,udp,actions=output:3"], (1, [ALERT_IN, LIKE_A_PORT]))
        self.assertEqual((out.sent[2], out.sent[3], out.packets), ([ALERT_OUT], [LIKE_A_PORT], [1, 1]))

    def test_of_every_length_and_protocol(self):
        """Options that look like ports 53, of 4 to 40 bytes, before each transport."""
        frames, expected = [], []
        for size in range(4, 44, 4):
            options = b"\x00\x35" * (size // 2)
            for data in make.udp(40000, 9999), make.tcp(40000, 9999):
                proto = make.UDP if data[4:6] != b"\0\0" else make.TCP
                frames.append(make.ipv4(proto, data, options=options))
                body = {"src": "192.0.2.1", "dst": "203.0.113.7"}
                new = make.udp(1053, 9999, **body) if proto == make.UDP else make.tcp(1053, 9999, **body)
                expected.append(make.ipv4(proto, new, options=options, **body))
        flows = ["priority=200,udp,tp_dst=53,actions=output:4", "priority=200,udp,tp_src=53,actions=output:4", "priority=200,tcp,tp_dst=53,actions=output:4", "priority=200,tcp,tp_src=53,actions=output:4",
                 "priority=100,udp,tp_src=40000,actions=mod_nw_dst:203.0.113.7,mod_tp_src:1053,output:2", "priority=100,tcp,tp_src=40000,actions=mod_nw_dst:203.0.113.7,mod_tp_src:1053,output:2"]
        out = cases.replay(flows, (1, frames))
        self.assertEqual(out.sent[2], expected)
        self.assertTrue(all(map(cases.checksums_are_right, out.sent[2])))
        self.assertEqual(out.packets[:4], [0, 0, 0, 0])

    def test_icmp_behind_options(self):
        frames = [make.ipv4(make.ICMP, make.icmp(8, 0), options=b"\0\0\0\0" * n) for n in (1, 5, 10)]
        out = cases.replay(["priority=200,icmp,icmp_type=0,actions=output:4", "priority=100,icmp,icmp_type=8,actions=set_field:0->icmp_type,output:2"], (1, frames))
        self.assertEqual(out.sent[2], [make.ipv4(make.ICMP, make.icmp(0, 0), options=b"\0\0\0\0" * n) for n in (1, 5, 10)])


cases.main()
