"""What a trace says of a packet is what the switch then does with it: every copy, byte for byte, and every flow that counts."""
import collections
import os
import random
import sys

import api
import cases
from cases import lab, make

import random_packets

FLOWS = os.path.join(cases.HERE, "..", "oracle", "flows")
FILES = ("10-router", "11-nat", "25-stacked-tags", "31-overlaps", "39-rewritten-on-the-way", "40-table-misses", "44-empty-action-sets", "59-router-in-tables", "62-extension-headers", "63-ipv6-nat")
SEED, RANDOM = 1, 1000
PORTS = 4


def packets():
    rng = random.Random(SEED)
    # Those that fit a port; replay's have no MTU.
    return [random_packets.packet(rng)[0] for _ in range(RANDOM)] + [data for _, data in make.frames() if len(data) <= 1500]


class Tracing:
    """The packets' ways as a switch with these flows tells them."""

    def __init__(self, client, frames):
        pb2 = client.made.trace_service_pb2
        traces = client.made.trace_service_pb2_grpc.TraceServiceStub(client.channel)
        self.sent = {n: [] for n in range(1, PORTS + 1)}
        self.hits, self.drops = collections.Counter(), collections.Counter()
        for frame in frames:
            way = traces.TracePacket(pb2.TracePacketRequest(in_port=1, frame=frame))
            for action in [a for table in way.tables for a in table.actions] + list(way.action_set):
                for output in action.outputs:
                    assert output.fate == pb2.OUTPUT_FATE_SENT, output
                    self.sent[output.port].append(output.frame)
            self.hits.update(table.flow.id for table in way.tables if table.HasField("flow"))
            if not way.forwarded:
                self.drops[way.drop_reason] += 1


class TraceEqualsReplay(cases.unittest.TestCase):
    def test_random_packets_through_flow_files(self):
        frames, compared = packets(), 0
        for name in FILES:
            with open(os.path.join(FLOWS, name + ".flows")) as f:
                flows = [line.strip() for line in f if line.strip() and not line.startswith("#")]
            with cases.Live(sinks=range(1, PORTS + 1)) as switch, api.Api(switch) as client:
                switch.ctl("flow", "add", *flows)
                told = Tracing(client, frames)
                hits = [told.hits[int(flow["id"])] for flow in switch.flows()]
                self.assertEqual(sum(packets for packets, _ in switch.counters()), 0, name)
                self.assertEqual(switch.totals()[0], 0, name)
            done = cases.replay(flows, (1, frames), ports=PORTS)
            self.assertEqual(told.sent, done.sent, name)
            self.assertEqual(hits, done.packets, name)
            self.assertEqual(dict(told.drops), done.drops, name)
            compared += sum(map(len, told.sent.values()))
        self.assertGreater(compared, 2 * RANDOM)


reason = api.why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
cases.main()
