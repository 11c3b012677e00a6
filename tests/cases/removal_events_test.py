"""Flows that live for a few seconds leave exactly one removal event each, with final counters that add up to the packets sent.

4,000 a second with idle timeouts, each hit by a few packets; SLUICE_SOAK_SECONDS says for how long, 3 by default.
"""
import os
import struct
import sys
import threading
import time

import api
import cases
from cases import lab, make, pcap

SECONDS = int(float(os.environ.get("SLUICE_SOAK_SECONDS", "3")))
A_SECOND, PACKETS, IDLE = 4000, 3, 3
FRAME = make.ipv4(make.UDP, make.udp(40000, 7, b"\0" * 18))
SOURCE = 14 + 12  # where the source address stands


def frame(source):
    return FRAME[:SOURCE] + struct.pack("!I", source) + FRAME[SOURCE + 4 :]


class Watcher(threading.Thread):
    """Counts what a watch says."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.call = client.flows.WatchFlows(client.service_pb2.WatchFlowsRequest())
        next(self.call)  # it is under way
        self.client, self.removed, self.missed, self.twice, self.reasons, self.packets = client, set(), 0, 0, set(), 0

    def run(self):
        try:
            for message in self.call:
                for event in message.events:
                    self.take(event)
        except self.client.made.grpc.RpcError:
            pass  # cancelled

    def take(self, event):
        kind = event.WhichOneof("event")
        if kind == "missed":
            self.missed += 1
        if kind == "removed":
            flow = event.removed.flow
            self.twice += flow.id in self.removed
            self.removed.add(flow.id)
            self.reasons.add(event.removed.reason)
            self.packets += flow.stats.packets


class RemovalEvents(cases.unittest.TestCase):
    def test_one_each_and_all_packets(self):
        with cases.Live(sinks=[2]) as switch, api.Api(switch) as client:
            pb2, watcher, made = client.service_pb2, Watcher(client), set()
            watcher.start()
            begin = time.monotonic()
            for second in range(SECONDS):
                first = second * A_SECOND
                batch = pb2.BatchWriteRequest()
                for source in range(first, first + A_SECOND):
                    spec = client.spec(9, 2, eth_type=0x0800, ipv4_src=source)
                    spec.idle_timeout.seconds = IDLE
                    batch.items.add().create.flow.CopyFrom(spec)
                made |= {result.flow_id for result in client.flows.BatchWrite(batch).results}
                switch.feed(1, [frame(source) for source in range(first, first + A_SECOND)] * PACKETS)
                time.sleep(max(0.0, begin + second + 1 - time.monotonic()))
            lab.wait_for("every flow goes", lambda: len(watcher.removed) >= len(made), 30)
            time.sleep(0.5)  # none comes twice
            taken = time.monotonic() - begin
            watcher.call.cancel()
            received, _, drops = switch.totals()
            with open("/proc/%d/stat" % switch.process.pid) as stat:
                cpu = sum(int(n) for n in stat.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")
            print("%d flows, %d removal events, %d packets sent, %d in final counters, %.0f s, %.1f s of CPU" % (len(made), len(watcher.removed) + watcher.twice, received, watcher.packets, taken, cpu))
            self.assertEqual((watcher.removed, watcher.twice, watcher.missed), (made, 0, 0))
            self.assertEqual(watcher.reasons, {pb2.FLOW_REMOVED_REASON_IDLE_TIMEOUT})
            self.assertEqual(len(made), SECONDS * A_SECOND)
            self.assertEqual(watcher.packets + drops.get("no_flow", 0), received)
            self.assertGreaterEqual(watcher.packets, len(made), "hardly a flow was hit")


reason = api.why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
cases.main()
