"""SIGTERM ends the daemon in order and in time, whatever streams are open and whatever is under way; a second one ends it at once.

Health turns NOT_SERVING first, streams end, the process ends with 0 within 5 seconds; its socket, its DPDK folder and its files in the
mounts of huge pages are gone. A second signal does not wait: the process then ends by that signal.
"""
import os
import queue
import signal
import subprocess
import sys
import threading
import time

import api
import cases
from cases import lab, make, pcap

IN_TIME = 5
FRAME = make.ipv4(make.UDP, make.udp(40000, 7, b"\0" * 18))


def huge_page_files():
    found = set()
    with open("/proc/mounts") as mounts:
        for line in mounts:
            if line.split()[2] == "hugetlbfs":
                found |= {os.path.join(line.split()[1], name) for name in os.listdir(line.split()[1])}
    return found


class Shutdown(cases.unittest.TestCase):
    def setUp(self):
        self.files = huge_page_files()

    def busy_switch(self, stack):
        """One with flows, under traffic."""
        folder = stack.enter_context(cases.tempfile.TemporaryDirectory(prefix="sluice-case-"))
        path = os.path.join(folder, "endless.pcap")
        pcap.write(path, [FRAME] * 64)
        switch = stack.enter_context(cases.Live(sinks=[2]))
        switch.ctl("port", "add", "endless", "--number", "1", "--pcap-rx", path, "--infinite-rx")
        flows = os.path.join(folder, "flows")
        with open(flows, "w") as f:
            f.write("".join("priority=9,udp,udp_dst=%d,actions=output:2\n" % n for n in range(1, 1001)))
        switch.ctl("flow", "add-file", flows)
        lab.wait_for("packets", lambda: switch.totals()[1] > 0)
        return switch

    def nothing_stays(self, switch):
        self.assertFalse(os.path.exists(switch.socket), "its socket stays")
        self.assertFalse(os.path.exists("/var/run/dpdk/sluice-%d" % switch.process.pid), "its DPDK folder stays")
        self.assertFalse(os.path.exists(os.path.join(switch.folder.name, "core")))
        self.assertEqual(huge_page_files() - self.files, set())

    def watch(self, client):
        """What a watch of the health says, one after the other, and then the code that it ends with."""
        seen = queue.Queue()

        def follow():
            names = client.made.health_pb2.HealthCheckResponse.ServingStatus
            try:
                for reply in client.health.Watch(client.made.health_pb2.HealthCheckRequest()):
                    seen.put(names.Name(reply.status))
                seen.put("OK")
            except client.made.grpc.RpcError as e:
                seen.put(e.code().name)

        threading.Thread(target=follow, daemon=True).start()
        return seen

    def half_sent(self, client):
        """A request that begins and never ends: the code that it ends with."""
        pb2, seen, silence = client.service_pb2, queue.Queue(), threading.Event()
        call = client.channel.stream_unary("/sluice.v1.FlowService/BatchWrite", request_serializer=lambda r: r.SerializeToString(), response_deserializer=pb2.BatchWriteResponse.FromString)

        def never_ending():
            silence.wait(60)
            yield pb2.BatchWriteRequest()

        future = call.future(never_ending())
        future.add_done_callback(lambda done: seen.put(done.code().name))
        return seen, silence

    def long_batches(self, client):
        """60,000 flows, as many in a batch as are allowed, one batch after the other in a thread: how the last one ends."""
        pb2, seen = client.service_pb2, queue.Queue()
        items = [pb2.BatchItem(create=pb2.CreateFlowRequest(flow=client.spec(7, 2, eth_type=0x0800, ip_proto=17, udp_src=1 + i % 65535, ipv4_src=i))) for i in range(60000)]
        requests = [pb2.BatchWriteRequest(items=items[at : at + 10000], mode=pb2.BATCH_MODE_ALL_OR_NOTHING) for at in range(0, 60000, 10000)]

        def write():
            try:
                for request in requests:
                    client.flows.BatchWrite(request)
                seen.put("OK")
            except client.made.grpc.RpcError as e:
                seen.put(e.code().name)

        return threading.Thread(target=write, daemon=True), seen

    def test_with_streams_open(self):
        with cases.contextlib.ExitStack() as stack:
            switch = self.busy_switch(stack)
            client = stack.enter_context(api.Api(switch))
            health = self.watch(client)
            self.assertEqual(health.get(timeout=10), "SERVING")
            half, silence = self.half_sent(client)
            batch, written = self.long_batches(client)
            batch.start()
            time.sleep(0.05)  # they take far longer
            begin = time.monotonic()
            switch.process.send_signal(signal.SIGTERM)
            self.assertEqual(health.get(timeout=IN_TIME), "NOT_SERVING")
            self.assertEqual(switch.process.wait(IN_TIME), 0)
            self.assertLess(time.monotonic() - begin, IN_TIME)
            self.assertEqual(health.get(timeout=IN_TIME), "UNAVAILABLE")
            self.assertEqual(half.get(timeout=IN_TIME), "UNAVAILABLE")
            self.assertEqual(written.get(timeout=IN_TIME), "UNAVAILABLE")
            silence.set()
            self.nothing_stays(switch)

    def test_twice(self):
        with cases.contextlib.ExitStack() as stack:
            switch = self.busy_switch(stack)
            client = stack.enter_context(api.Api(switch))
            health = self.watch(client)
            self.assertEqual(health.get(timeout=10), "SERVING")
            switch.process.send_signal(signal.SIGTERM)
            self.assertEqual(health.get(timeout=IN_TIME), "NOT_SERVING")
            begin = time.monotonic()
            switch.process.send_signal(signal.SIGTERM)
            self.assertIn(switch.process.wait(IN_TIME), (0, -signal.SIGTERM))
            self.assertLess(time.monotonic() - begin, 1)

    def test_while_it_starts(self):
        with cases.tempfile.TemporaryDirectory(prefix="sluice-case-") as folder:
            config = os.path.join(folder, "sluiced.yaml")
            with open(config, "w") as f:
                f.write('api: {listen: ["unix://%s/sock"]}\nports: [{name: a, ring: {}}, {name: b, "null": {}}]\n' % folder)
            for after in (0.05, 0.1, 0.15, 0.2, 0.3, 0.5):
                log = os.path.join(folder, "log")
                with open(log, "w") as out:
                    process = subprocess.Popen([lab.SLUICED, "--config", config], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
                time.sleep(after)
                process.send_signal(signal.SIGTERM)
                begin = time.monotonic()
                code = process.wait(30)
                # Before the program itself runs, a signal does what it does to every process.
                self.assertTrue(code == 0 or (code == -signal.SIGTERM and not os.path.getsize(log)), (after, code))
                self.assertLess(time.monotonic() - begin, IN_TIME)
                self.assertFalse(os.path.exists(folder + "/sock"), after)
                self.assertFalse(os.path.exists("/var/run/dpdk/sluice-%d" % process.pid), after)


reason = api.why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
cases.main()
