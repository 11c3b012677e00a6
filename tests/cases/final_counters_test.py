"""The count that a delete gives back is complete to the last packet, whichever workers counted, and is counted once. Who watches is told the same.

As many workers as there are CPUs, four at most, each with a port of its own; the flow is deleted as soon as the last frame was sent.
"""
import os
import sys

import api
import cases
from cases import lab, make, pcap

FRAMES, SIZE = 250001, 60
FRAME = make.ipv4(make.UDP, make.udp(40000, 7, b"\0" * 18))
OTHER = make.ipv4(make.UDP, make.udp(40000, 8, b"\0" * 18))
DELETE = {"by id": lambda client, switch, flow: client.delete(flow.id).stats, "by match": lambda client, switch, flow: deleted_by_match(switch)}


def deleted_by_match(switch):
    """What the command says, which uses the deletion by filter."""
    words = switch.ctl("flow", "delete", "udp,udp_dst=7").split()
    return cases.collections.namedtuple("Stats", "packets bytes")(int(words[words.index("packets,") - 1]), int(words[words.index("bytes") - 1]))


def capture(path, frame):
    """A file of FRAMES frames; written whole, since it is long."""
    pcap.write(path, [frame])
    with open(path, "rb") as f:
        head, record = f.read(24), f.read()
    with open(path, "wb") as f:
        f.write(head + record * FRAMES)


def removals(client):
    """The flows whose removal a watch tells, as they come. Ends with the client."""
    watch = client.flows.WatchFlows(client.service_pb2.WatchFlowsRequest())
    next(watch)  # it is under way
    return (event.removed.flow for message in watch for event in message.events if event.WhichOneof("event") == "removed")


class FinalCounters(cases.unittest.TestCase):
    def test_of_all_workers(self):
        workers = min(4, len(os.sched_getaffinity(0)))
        with cases.Live(sinks=[20], workers=workers) as switch, api.Api(switch) as client:
            path = os.path.join(switch.folder.name, "many.pcap")
            self.assertEqual(len(FRAME), SIZE)
            capture(path, FRAME)
            removed = removals(client)
            for how, delete in DELETE.items():
                flow = client.create(client.spec(100, 20, eth_type=0x0800, ip_proto=17, udp_dst=7)).flow
                self.assertEqual((flow.stats.packets, flow.stats.bytes), (0, 0), "a new flow starts with something")
                before, sent = switch.totals()[0], switch.sent()[20]
                with cases.contextlib.ExitStack() as ports:
                    for number in range(1, workers + 1):
                        ports.enter_context(switch.port(number, "--pcap-rx", path))
                    lab.wait_for("all is sent", lambda: switch.sent()[20] - sent == workers * FRAMES, 60)
                    stats = delete(client, switch, flow)
                self.assertEqual((stats.packets, stats.bytes), (workers * FRAMES, workers * FRAMES * SIZE), how)
                told = next(removed)
                self.assertEqual((told.id, told.stats.packets, told.stats.bytes), (flow.id, stats.packets, stats.bytes), how)
                received, _, drops = switch.totals()
                self.assertEqual((received - before, drops), (workers * FRAMES, {}), how)
            busy = [w for w in switch.json("info")["workers"] if int(w.get("busy_cycles", 0))]
            self.assertEqual(len(busy), workers, "a worker got nothing")

    def test_while_packets_go_on(self):
        """Deleted and added again under traffic: all lives together, and the misses between, are all that was received."""
        with cases.Live(sinks=[20]) as switch, api.Api(switch) as client:
            path = os.path.join(switch.folder.name, "endless.pcap")
            pcap.write(path, [FRAME] * 60 + [OTHER] * 4)
            spec, counted = client.spec(100, 20, eth_type=0x0800, ip_proto=17, udp_dst=7), 0
            removed = removals(client)
            with switch.port(1, "--pcap-rx", path, "--infinite-rx"):
                lab.wait_for("packets", lambda: switch.totals()[0] > 0)
                for _ in range(500):
                    flow = client.create(spec).flow
                    stats = client.delete(flow.id).stats
                    self.assertEqual(stats.bytes, stats.packets * SIZE)
                    told = next(removed)
                    self.assertEqual((told.id, told.stats.packets), (flow.id, stats.packets))
                    counted += stats.packets
            received, forwarded, drops = switch.totals()
            self.assertEqual((counted, forwarded + drops["no_flow"]), (forwarded, received))
            self.assertGreater(counted, 0)


reason = api.why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
cases.main()
