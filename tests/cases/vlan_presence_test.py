"""No tag, a tag with VID 0, any tag and no condition on tags are four things, for packets, in what is listed, and in the API.

In flow text vlan_vid has OpenFlow's presence bit 0x1000; dl_vlan and the API's VLAN ids have none and end at 4095.
"""
import sys

import api
import cases
from cases import lab, make

PLAIN = make.ip4(make.UDP, make.udp(40000, 53))


def tag(tci):
    return make.eth(0x0800, PLAIN, tags=[(0x8100, tci)])


UNTAGGED = make.eth(0x0800, PLAIN)


class VlanPresence(cases.unittest.TestCase):
    def test_packets(self):
        frames = [UNTAGGED, tag(0x2000), tag(5), tag(0x1005)]
        out = cases.replay(["priority=300,vlan_tci=0x0000/0x1000,actions=output:2", "priority=200,dl_vlan=0,actions=output:3", "priority=100,vlan_vid=0x1000/0x1000,actions=output:4"], (1, frames))
        self.assertEqual([out.sent[n] for n in (2, 3, 4)], [frames[:1], frames[1:2], frames[2:]])

    def test_every_form_of_the_condition(self):
        """Who of untagged, VID 0 and VID 5 is taken."""
        frames = [UNTAGGED] + [tag(0)] * 10 + [tag(5)] * 100  # the count says who
        with cases.Live(sinks=[2]) as switch:
            for match, expected in (("vlan_tci=0x0000/0x1000", "n"), ("vlan_tci=0x0000/0x1fff", "n"), ("vlan_tci=0", "n"), ("vlan_vid=0", "n"), ("dl_vlan=0xffff", "n"), ("dl_vlan=0", "0"), ("vlan_vid=0x1000", "0"),
                                    ("dl_vlan=5", "5"), ("vlan_vid=0x1005", "5"), ("vlan_vid=0x1000/0x1000", "05"), ("dl_vlan_pcp=0", "05"), ("vlan_tci=0/0x0fff", "n0"), ("vlan_tci=0x1000/0x1000", "05"), ("dl_type=0x0800", "n05")):
                switch.ctl("flow", "delete")
                switch.ctl("flow", "add", "priority=9,%s,actions=output:2" % match)
                switch.feed(1, frames)
                taken = switch.counters()[0][0]
                self.assertEqual("".join(name for name, count in zip("n05", (1, 10, 100)) if taken // count % 10), expected, match)
                self.assertEqual(set(str(taken)) - set("01"), set(), match)

    def test_a_pushed_tag_holds_the_vid_alone(self):
        for vid in (0, 1, 100, 4095):
            out = cases.replay(["priority=100,actions=push_vlan:0x8100,set_field:%d->vlan_vid,output:2" % (0x1000 | vid)], (1, [UNTAGGED]), ways=[cases.CACHED])
            self.assertEqual(out.sent[2], [tag(vid)])

    def test_vids_beyond_4095_are_refused(self):
        with cases.Live() as switch, api.Api(switch) as client:
            for vid in (4096, 4196, 0xFFFF):
                code, text = client.error(client.create, client.spec(1, vlan_vid=vid))
                self.assertEqual(code, "INVALID_ARGUMENT", text)
                code, text = client.error(client.create, client.spec(1, vlan_vid=(vid, vid)))
                self.assertEqual(code, "INVALID_ARGUMENT", text)
            for text in ("dl_vlan=4096", "dl_vlan=4196", "vlan_vid=8192"):
                self.assertIn("vlan", switch.refused("flow", "add", text + ",actions=drop"))
            self.assertEqual(switch.flows(), [])

    def test_lengths_are_refused_as_ethertypes(self):
        with cases.Live() as switch, api.Api(switch) as client:
            for number in (0, 0x27, 0x05FE):
                code, text = client.error(client.create, client.spec(1, eth_type=number))
                self.assertEqual(code, "INVALID_ARGUMENT", text)
            self.assertEqual(switch.flows(), [])

    def test_what_is_read_back(self):
        with cases.Live() as switch:
            texts = ["priority=4,vlan_tci=0x0000/0x1000 actions=drop", "priority=3,dl_vlan=0 actions=drop", "priority=2,vlan_tci=0x1000/0x1000 actions=drop", "priority=1 actions=drop"]
            for text in texts:
                switch.ctl("flow", "add", text)
            matches = [f["spec"].get("match", {}).get("fields", []) for f in switch.flows()]
            self.assertEqual(len({str(m) for m in matches}), 4, matches)
            self.assertEqual(matches[3], [])
            listed = switch.ctl("flow", "list").splitlines()
            for line in listed:
                switch.ctl("flow", "add", line)
            self.assertEqual(len(switch.flows()), 4, "what is listed is not what was added:\n" + "\n".join(listed))


reason = api.why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
cases.main()
