"""No fragment, first, later and any fragment are different things in both IP versions, and a flow on them that is read back is the same flow.

An IPv6 packet whose fragment header says that it is whole is no fragment, and has its ports.
"""
import cases
from cases import make

UDP4, UDP6 = make.udp(40000, 53, b"\x22" * 40), make.udp6(40000, 53, b"\x22" * 40)
FRAMES = {
    "W4": make.ipv4(make.UDP, UDP4), "F4": make.ipv4(make.UDP, UDP4[:24], frag=0x2000), "M4": make.ipv4(make.UDP, UDP4[24:40], frag=0x2003), "L4": make.ipv4(make.UDP, UDP4[40:], frag=0x0005),
    "W6": make.ipv6(make.UDP, UDP6), "F6": make.ipv6(make.FRAGMENT, make.frag6(make.UDP, 1) + UDP6[:24]), "M6": make.ipv6(make.FRAGMENT, make.frag6(make.UDP, 25) + UDP6[24:40]),
    "L6": make.ipv6(make.FRAGMENT, make.frag6(make.UDP, 24) + UDP6[24:]), "A6": make.ipv6(make.FRAGMENT, make.frag6(make.UDP, 0) + UDP6),
}
KINDS = {
    "no": {"W4", "W6", "A6"}, "yes": {"F4", "M4", "L4", "F6", "M6", "L6"}, "first": {"F4", "F6"}, "later": {"M4", "L4", "M6", "L6"},
    "not_later": {"W4", "W6", "A6", "F4", "F6"},
}


class FragmentKinds(cases.unittest.TestCase):
    def test_each_selects_its_own(self):
        names = {data: name for name, data in FRAMES.items()}
        for kind, expected in KINDS.items():
            out = cases.replay(["priority=100,ip,nw_frag=%s,actions=output:2" % kind, "priority=100,ipv6,nw_frag=%s,actions=output:2" % kind], (1, list(FRAMES.values())))
            self.assertEqual({names[frame] for frame in out.sent[2]}, expected, kind)
            self.assertEqual(out.misses, len(FRAMES) - len(expected), kind)

    def test_a_whole_packet_with_a_fragment_header_keeps_its_ports(self):
        out = cases.replay(["udp6,tp_dst=53,nw_frag=no,actions=output:2"], (1, [FRAMES["A6"]]))
        self.assertEqual(out.sent[2], [FRAMES["A6"]])

    def test_what_is_listed_is_the_same_flow(self):
        with cases.Live(sinks=[2]) as switch:
            for kind, expected in KINDS.items():
                switch.ctl("flow", "delete")
                switch.ctl("flow", "add", "priority=100,ip,nw_frag=%s,actions=output:2" % kind)
                switch.feed(1, list(FRAMES.values()))
                before = switch.flows()
                self.assertEqual(int(before[0]["stats"]["packets"]), len([n for n in expected if n[1] == "4"]), kind)
                switch.ctl("flow", "add", switch.ctl("flow", "list").strip())
                after = switch.flows()
                self.assertEqual([(f["id"], f["spec"], f["stats"]["packets"]) for f in after], [(f["id"], f["spec"], f["stats"]["packets"]) for f in before], kind)


cases.main()
