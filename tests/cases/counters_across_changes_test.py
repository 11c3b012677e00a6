"""Counters, id and age of a flow stay through every change of its actions; only a reset that is asked for begins anew. No packet misses a flow that is being changed."""
import os
import sys

import api
import cases
from cases import lab, make, pcap

FRAME = make.ipv4(make.UDP, make.udp(40000, 7, b"\0" * 18))
FLOW = "priority=100,udp,udp_dst=7,actions=output:%d"


class AcrossChanges(cases.unittest.TestCase):
    def update(self, client, flow_id, port, **kw):
        action = client.flow_pb2.Action(output=client.flow_pb2.OutputAction(port=port))
        return client.flows.UpdateFlow(client.service_pb2.UpdateFlowRequest(key=client.service_pb2.FlowKey(id=flow_id), actions=[action], **kw)).flow

    def test_modify_replace_and_reset(self):
        with cases.Live(sinks=[2, 3]) as switch, api.Api(switch) as client:
            switch.ctl("flow", "add", FLOW % 2)
            first, = switch.flows()
            switch.feed(1, [FRAME] * 10)
            switch.ctl("flow", "modify", FLOW.replace("priority=100,", "") % 3)
            switch.feed(1, [FRAME] * 5)
            switch.ctl("flow", "add", FLOW % 3)
            switch.feed(1, [FRAME] * 5)
            self.assertEqual((switch.counters(), switch.sent()), ([(20, 1200)], {2: 10, 3: 10}))
            kept = self.update(client, int(first["id"]), 3)
            self.assertEqual((kept.stats.packets, kept.stats.bytes), (20, 1200))
            self.update(client, int(first["id"]), 3, reset_stats=True)
            self.assertEqual(switch.counters(), [(0, 0)])
            switch.feed(1, [FRAME])
            self.assertEqual(switch.counters(), [(1, 60)])
            last, = switch.flows()
            self.assertEqual([last[key] for key in ("id", "create_time")], [first[key] for key in ("id", "create_time")])

    def test_every_way_of_changing(self):
        """By id, by identity, by match, strictly, by file, in a batch: all keep the counters."""
        with cases.Live(sinks=[2, 3]) as switch, api.Api(switch) as client:
            switch.ctl("flow", "add", FLOW % 2)
            flow_id, fed = int(switch.flows()[0]["id"]), 0
            path = os.path.join(switch.folder.name, "flows")
            with open(path, "w") as f:
                f.write(FLOW % 3 + "\n" + FLOW % 2 + "\n" + FLOW % 3 + "\n")
            item = client.service_pb2.BatchItem(create=client.service_pb2.CreateFlowRequest(flow=client.spec(100, 2, eth_type=0x0800, ip_proto=17, udp_dst=7), allow_existing=True))
            changes = [lambda: self.update(client, flow_id, 3), lambda: switch.ctl("flow", "modify", "--strict", FLOW % 2), lambda: switch.ctl("flow", "modify", "udp,actions=output:3"),
                       lambda: switch.ctl("flow", "add-file", path), lambda: client.flows.BatchWrite(client.service_pb2.BatchWriteRequest(items=[item], mode=client.service_pb2.BATCH_MODE_ALL_OR_NOTHING))]
            for change in changes:
                switch.feed(1, [FRAME] * 3)
                fed += 3
                change()
                self.assertEqual(switch.counters(), [(fed, fed * 60)])
                self.assertEqual(int(switch.flows()[0]["id"]), flow_id)

    def test_under_traffic(self):
        with cases.Live(sinks=[2, 3]) as switch, api.Api(switch) as client:
            switch.ctl("flow", "add", FLOW % 2)
            flow_id = int(switch.flows()[0]["id"])
            path = os.path.join(switch.folder.name, "endless.pcap")
            pcap.write(path, [FRAME] * 64)
            last = 0
            with switch.port(1, "--pcap-rx", path, "--infinite-rx"):
                lab.wait_for("packets", lambda: switch.counters()[0][0] > 0)
                for i in range(100):
                    packets = self.update(client, flow_id, 2 + i % 2).stats.packets
                    self.assertGreaterEqual(packets, last, "a count went backwards")
                    last = packets
            received, forwarded, drops = switch.totals()
            sent = switch.sent()
            self.assertEqual((forwarded, drops, sent[2] + sent[3]), (received, {}, received))
            self.assertEqual(switch.counters(), [(received, received * 60)])
            self.assertTrue(sent[2] and sent[3], sent)


reason = api.why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
cases.main()
