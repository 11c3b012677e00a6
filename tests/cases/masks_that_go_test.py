"""A mask that goes away takes every memory of itself along: no packet is looked up under another that took its place."""
import os
import sys

import api
import cases
from cases import lab, make, pcap

X = make.ipv4(make.UDP, make.udp(40000, 53, dst="203.0.113.9"), dst="203.0.113.9")
ROUTE, DNS, BARRED, VOICE = ("priority=10,ip,nw_dst=203.0.113.0/24,actions=output:2", "priority=20,udp,udp_dst=53,actions=output:3",
                             "priority=30,tcp,nw_src=192.0.2.0/25,actions=output:4", "priority=40,ip,ip_dscp=46,actions=drop")
WAYS = ("flow_cache_entries=4096 mask_cache_entries=0", "flow_cache_entries=0 mask_cache_entries=0", "flow_cache_entries=0 mask_cache_entries=256", "flow_cache_entries=4096 mask_cache_entries=256")
ROUNDS = 10000


class MasksThatGo(cases.unittest.TestCase):
    def test_another_takes_its_place(self):
        for way in WAYS:
            with cases.Live(sinks=[2, 3, 4]) as switch:
                switch.ctl("settings", "set", *way.split())
                switch.ctl("flow", "add", ROUTE, DNS, BARRED)
                switch.feed(1, [X] * 100)
                self.assertEqual(switch.sent(), {2: 0, 3: 100, 4: 0}, way)
                switch.ctl("flow", "delete", "--strict", DNS.split(",actions")[0])
                switch.ctl("flow", "add", VOICE)
                switch.feed(1, [X] * 100)
                self.assertEqual(switch.sent(), {2: 100, 3: 100, 4: 0}, way)
                switch.ctl("flow", "add", DNS)
                switch.feed(1, [X])
                self.assertEqual(switch.sent(), {2: 100, 3: 101, 4: 0}, way)
                self.assertEqual(switch.totals()[2], {}, way)

    def test_masks_come_and_go_under_traffic(self):
        """Nothing but the two flows that match ever gets a packet, and their counts, over all lives, are all packets."""
        with cases.Live(sinks=[2, 3, 4]) as switch, api.Api(switch) as client:
            switch.ctl("settings", "set", "mask_cache_entries=256")
            udp = {"eth_type": 0x0800, "ip_proto": 17}
            route = client.create(client.spec(10, 2, eth_type=0x0800, ipv4_dst=(0xCB007100, 0xFFFFFF00))).flow.id
            client.create(client.spec(30, 4, ipv4_src=(0xC0000200, 0xFFFFFF80), **{**udp, "ip_proto": 6}))
            path = os.path.join(switch.folder.name, "x.pcap")
            pcap.write(path, [X] * 64)
            counted = 0
            with switch.port(1, "--pcap-rx", path, "--infinite-rx"):
                lab.wait_for("packets", lambda: switch.counters()[0][0] > 0)
                for i in range(ROUNDS):
                    dns = client.create(client.spec(20, 3, udp_dst=53, **udp)).flow.id
                    # A mask that no packet matches takes the place that becomes free.
                    other = client.create(client.spec(40, eth_type=0x0800, ip_dscp=46) if i % 2 else client.spec(40, eth_type=0x0800, ip_ttl=7)).flow.id
                    counted += client.delete(dns).stats.packets
                    self.assertEqual(client.delete(other).stats.packets, 0)
            received, forwarded, drops = switch.totals()
            self.assertEqual((forwarded, drops), (received, {}))
            sent = switch.sent()
            self.assertEqual((sent[2] + sent[3], sent[4]), (received, 0))
            self.assertEqual((counted, client.delete(route).stats.packets), (sent[3], sent[2]))
            self.assertGreater(counted, 0)


reason = api.why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
cases.main()
