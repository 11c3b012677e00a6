"""The order in which masks are tried follows their use; the flow that is chosen follows priorities alone."""
import os

import cases
from cases import lab, make, pcap

BUSY = make.ipv4(make.TCP, make.tcp(40000, 80, dst="203.0.113.9"), dst="203.0.113.9")
DNS = make.ipv4(make.UDP, make.udp(40000, 53, dst="203.0.113.9"), dst="203.0.113.9")
BARRED = make.ipv4(make.UDP, make.udp(40000, 53, src="192.0.2.66", dst="203.0.113.9"), src="192.0.2.66", dst="203.0.113.9")
FLOWS = ["priority=10,ip,nw_dst=203.0.113.0/24,actions=output:3", "priority=20,udp,udp_dst=53,actions=output:2", "priority=30,ip,nw_src=192.0.2.66,actions=drop"]
MANY = 1000000


class PriorityOverUse(cases.unittest.TestCase):
    def test_a_million_packets_of_the_lowest(self):
        for equal in "oldest", "any":
            with cases.Live(sinks=[2, 3]) as switch:
                # Without a flow cache each packet uses the masks.
                switch.ctl("settings", "set", "flow_cache_entries=0", "resort_seconds=0.1", "equal_priority=" + equal)
                switch.ctl("flow", "add", *FLOWS)
                path = os.path.join(switch.folder.name, "busy.pcap")
                pcap.write(path, [BUSY] * 1000)
                with switch.port(1, "--pcap-rx", path, "--infinite-rx"):
                    lab.wait_for("a million packets", lambda: switch.counters()[0][0] >= MANY, 120)
                    lab.time.sleep(0.25)  # two orderings
                switch.fed = switch.totals()[0]
                many = switch.counters()[0][0]
                self.assertEqual((switch.fed, switch.sent()[3]), (many, many))
                switch.feed(1, [DNS])
                switch.feed(1, [BARRED])
                self.assertEqual([packets for packets, _ in switch.counters()], [many, 1, 1])
                self.assertEqual((switch.sent()[2], switch.totals()[2]), (1, {"action_drop": 1}))

    def test_use_changes_the_order_among_equals_and_no_answer(self):
        """Flows of one priority that are disjoint: their masks change places by their use, and every packet keeps its flow."""
        flows = ["priority=10,ip,nw_src=10.0.0.%d/255.255.255.%d,actions=output:2" % (i & m, m) for i, m in ((1, 255), (2, 254), (4, 252), (8, 248))]
        flows += ["priority=20,udp,udp_dst=53,nw_src=10.0.0.8/255.255.255.248,actions=output:3", "priority=1,actions=output:4"]
        frames = [make.ipv4(make.UDP, make.udp(1, port, src="10.0.0.%d" % i), src="10.0.0.%d" % i) for i in (1, 2, 5, 9, 200) for port in (53, 54)]
        with cases.Live(sinks=[2, 3, 4]) as switch:
            switch.ctl("settings", "set", "resort_seconds=0", "equal_priority=any")
            switch.ctl("flow", "add", *flows)
            switch.feed(1, frames)
            expected, orders = switch.sent(), set()
            self.assertEqual(expected, {2: 7, 3: 1, 4: 2})
            for setting in "flow_cache_entries=0", "mask_cache_entries=1024", "flow_cache_entries=4096":
                switch.ctl("settings", "set", setting)
                for favourite in frames[1::2]:
                    switch.feed(1, [favourite] * 200)
                    switch.ctl("mask", "resort")
                    orders.add(str([line.split()[-1] for line in switch.ctl("mask", "list").splitlines()[1:]]))
                    before = switch.sent()
                    switch.feed(1, frames)
                    after = switch.sent()
                    self.assertEqual({n: after[n] - before[n] for n in after}, expected, (setting, favourite.hex()))
            self.assertGreater(len(orders), 2, "the order hardly changed: %s" % orders)


cases.main()
