"""Of flows of one priority that match, the one that was added first wins: on every worker, cached or not, whatever was used more, and after a restart.

Who does not want such flows can have them refused as they are added.
"""
import os
import sys

import api
import cases
from cases import lab, make, pcap

WIDE, NARROW = "priority=200,in_port=1,udp,udp_dst=67,actions=output:2", "priority=200,in_port=1,udp,udp_dst=67,dl_vlan=4094,actions=output:3"
PLAIN = make.ip4(make.UDP, make.udp(68, 67))
UNTAGGED, TAGGED = make.eth(0x0800, PLAIN), make.eth(0x0800, PLAIN, tags=[(0x8100, 4094)])


def spread(frame, count):
    """The same in other flows of packets: sources differ."""
    return [frame[:6] + make.MAC_A[:4] + (i % 251).to_bytes(2, "big") + frame[12:] for i in range(count)]


class EqualPriorities(cases.unittest.TestCase):
    def test_the_older_wins(self):
        frames = [f for i in range(100) for f in spread(TAGGED, 10)] + [UNTAGGED] * 10
        for flows, taken in (([WIDE, NARROW], (1010, 0)), ([NARROW, WIDE], (10, 1000))):
            out = cases.replay(flows, (1, frames))
            self.assertEqual((len(out.sent[2]), len(out.sent[3])), taken)

    def test_the_older_of_many(self):
        """Ten flows of ten masks: each in turn the oldest."""
        wants = ["udp", "in_port=1", "ip", "dl_src=%s" % make.MAC_A.hex(":"), "ip,nw_dst=198.51.100.0/24", "ip,nw_src=192.0.2.1", "udp,udp_src=68", "udp,udp_dst=67", "ip,nw_ttl=64", "ip,nw_frag=no"]
        for first in range(len(wants)):
            order = wants[first:] + wants[:first]
            out = cases.replay(["priority=7,%s,actions=output:%d" % (want, 2 if i == 0 else 3) for i, want in enumerate(order)], (1, [UNTAGGED] * 40))
            self.assertEqual((len(out.sent[2]), len(out.sent[3])), (40, 0), order[0])

    def queues(self, folder, frames):
        """A port with two receive queues, so that two workers get the frames."""
        names = []
        for i in (0, 1):
            names.append(os.path.join(folder, "queue-%d.pcap" % i))
            pcap.write(names[-1], frames[i::2])
        return ("--devargs", "net_pcap_two,rx_pcap=%s,rx_pcap=%s" % tuple(names), "--rx-queues", "2")

    def rounds(self, switch):
        """What becomes of a thousand tagged frames and ten others, again and again, as caches and orders change."""
        for change in ((), ("settings", "set", "flow_cache_entries=0"), ("settings", "set", "flow_cache_entries=1024"), ("mask", "resort"), ("settings", "set", "mask_cache_entries=256"), ("settings", "set", "pruning=false"), ("mask", "resort")):
            if change:
                switch.ctl(*change)
            before = switch.sent()
            switch.fed += 1010
            with switch.port(1, *self.queues(switch.folder.name, spread(TAGGED, 1000) + [UNTAGGED] * 10)):
                lab.wait_for("1010 frames are accounted for", lambda: switch.accounted(switch.fed), 30)
            after = switch.sent()
            yield change, (after[2] - before[2], after[3] - before[3])

    def test_on_two_workers_and_after_a_restart(self):
        cpus = len(os.sched_getaffinity(0))
        for _ in range(2):
            with cases.Live(sinks=[2, 3], workers=min(2, cpus)) as switch:
                switch.ctl("flow", "add", WIDE, NARROW)
                for change, taken in self.rounds(switch):
                    self.assertEqual(taken, (1010, 0), change)
                if cpus > 1:
                    busy = [w for w in switch.json("info")["workers"] if int(w.get("rx_queues", 0)) or int(w.get("busy_cycles", 0))]
                    self.assertGreater(len(busy), 1, "one worker got all")

    def test_overlaps_can_be_refused(self):
        with cases.Live() as switch, api.Api(switch) as client:
            ports = {"in_port": 1, "eth_type": 0x0800, "ip_proto": 17, "udp_dst": 67}
            first = client.create(client.spec(200, 2, **ports)).flow
            request = client.spec(200, 3, vlan_vid=4094, **ports)
            code, text = client.error(lambda: client.create(request, check_overlap=True))
            self.assertEqual(code, "ALREADY_EXISTS", text)
            self.assertIn("flow %d" % first.id, text)
            self.assertEqual(len(switch.flows()), 1)
            for other in client.spec(201, 3, vlan_vid=4094, **ports), client.spec(200, 3, **{**ports, "udp_dst": 68}):
                client.create(other, check_overlap=True)
            client.create(request)
            self.assertEqual(len(switch.flows()), 4)


reason = api.why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
cases.main()
