"""A length is no EtherType: 802.3 frames have none but what SNAP with OUI 00-00-00 and a number from 0x0600 gives them.

Flows on "no EtherType" are written as 0x05ff; other numbers below 0x0600 are refused.
"""
import cases
from cases import make

BPDU = cases.hexed("0180c200000002000000000a00264242030000000000000000000000000000000000000000000000000000000000000000000000000000000000000000")[:60]
SNAP_IPV4 = cases.hexed("02000000000b02000000000a002caaaa03000000080045000024000a00004011f6bbc0000201c00002029c40003500104dbf6162636465666768")
SNAP_SMALL = cases.hexed("02000000000b02000000000a002caaaa03000000000345000024000a00004011f6bbc0000201c00002029c40003500104dbf6162636465666768")
SNAP_OTHER = make.eth(0x002C, make.snap(0x2000, SNAP_IPV4[22:], oui=b"\0\0\x0c"))
LONG, JUMBO = make.eth(0x05DC, make.llc(b"\0" * 1497)), make.eth(0x8870, b"\0" * 9000)


def tagged(frame):
    return frame[:12] + b"\x81\x00\x00\x05" + frame[12:]


class Llc(cases.unittest.TestCase):
    def test_who_has_an_ethertype(self):
        flows = ["priority=300,udp,udp_dst=53,actions=output:4", "priority=200,dl_type=0x8870,actions=output:5",
                 "priority=100,dl_dst=01:80:c2:00:00:00,actions=output:2", "priority=1,actions=output:3"]
        out = cases.replay(flows, (1, [BPDU, SNAP_IPV4, SNAP_SMALL, SNAP_OTHER, LONG, JUMBO, tagged(BPDU)]))
        self.assertEqual([out.sent[n] for n in (2, 3, 4, 5)], [[BPDU, tagged(BPDU)], [SNAP_SMALL, SNAP_OTHER, LONG], [SNAP_IPV4], [JUMBO]])

    def test_no_flow_on_an_ethertype_takes_those_without(self):
        """Not by the length, not by SNAP's number below 0x0600, not by what another organisation means by its own."""
        frames = [BPDU, SNAP_SMALL, SNAP_OTHER, LONG, make.eth(0x05FF, b"\0" * 46), make.eth(5, b"\xaa\xaa\x03\0\0"), make.eth(0, b"\0" * 46)]
        frames += [tagged(f) for f in frames]
        wants = ["dl_type=0x2000", "ip", "arp", "dl_type=0x0600", "dl_type=0xaaaa", "dl_type=0x4242"]
        flows = ["priority=%d,%s,actions=output:2" % (500 - i, want) for i, want in enumerate(wants)]
        out = cases.replay(flows + ["priority=9,dl_type=0x05ff,actions=output:3"], (1, frames))
        self.assertEqual((out.sent[2], out.sent[3]), ([], frames))

    def test_snap_is_looked_through(self):
        """ARP and IPv6 below it, under a tag, and written to without a change around it."""
        arp = make.eth(36, make.snap(0x0806, make.arp(1, "192.0.2.1", "192.0.2.2")))
        six = make.ip6(make.UDP, make.udp6(40000, 53))
        snap6, smallest = make.eth(8 + len(six), make.snap(0x86DD, six)), make.eth(54, make.snap(0x0600, b"\0" * 46))
        flows = ["arp,arp_tpa=192.0.2.2,actions=output:2", "udp6,tp_dst=53,actions=output:3", "dl_type=0x0600,actions=output:4", "udp,actions=mod_nw_dst:198.51.100.7,output:5"]
        frames = [arp, tagged(arp), snap6, smallest, SNAP_IPV4]
        out = cases.replay(flows, (1, frames))
        self.assertEqual([out.sent[n] for n in (2, 3, 4)], [[arp, tagged(arp)], [snap6], [smallest]])
        new, = out.sent[5]
        self.assertEqual((new[:22], new[38:42], len(new)), (SNAP_IPV4[:22], make.address("198.51.100.7"), len(SNAP_IPV4)))
        self.assertTrue(cases.checksums_are_right(new[:12] + new[20:]))

    def test_lengths_are_no_ethertypes_of_flows(self):
        with cases.Live() as switch:
            for number in ("0x0027", "0x0000", "0x05fe", "1500"):
                self.assertIn("dl_type", switch.refused("flow", "add", "dl_type=%s,actions=drop" % number), number)
            self.assertEqual(switch.flows(), [])
            for number in ("0x0600", "0x05ff"):
                switch.ctl("flow", "add", "dl_type=%s,actions=drop" % number)
            self.assertEqual(len(switch.flows()), 2)


cases.main()
