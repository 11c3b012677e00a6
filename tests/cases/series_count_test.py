"""The number of metric series depends on what the switch is made of, never on how many flows or packets there are; what is gone leaves none behind."""
import os
import re
import socket
import sys
import time
import urllib.request

import api
import cases
from cases import lab, make, pcap

FLOWS, PORTS = 50000, 1000
LABELS = {"port", "reason", "worker", "table", "method", "code", "version", "dpdk", "group", "meter", "band", "le", "quantile", "state"}


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return "127.0.0.1:%d" % free.getsockname()[1]


class Series(cases.unittest.TestCase):
    def scrape(self, address):
        begin = time.monotonic()
        with urllib.request.urlopen("http://%s/metrics" % address, timeout=30) as reply:
            text = reply.read().decode()
        self.assertLess(time.monotonic() - begin, 1, "a scrape of %d bytes" % len(text))
        self.assertLess(len(text), 1 << 20)
        return {line.rsplit(" ", 1)[0] for line in text.splitlines() if line and not line.startswith("#")}, text

    def check_names(self, series, text):
        kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
        for one in series:
            name, labels = re.match(r"(\w+)(?:\{(.*)\})?$", one).groups()
            self.assertTrue(name.startswith(("sluice_", "exposer_", "process_")), name)
            self.assertEqual(kinds.get(name) == "counter", name.endswith("_total"), name)
            self.assertIsNone(re.search(r"_(ms|us|milliseconds|microseconds|kb|megabytes|percent)(_|$)", name), name)
            if name.startswith("sluice_"):
                self.assertLessEqual(set(re.findall(r"(\w+)=\"", labels or "")), LABELS, one)

    def load(self, client):
        pb2 = client.service_pb2
        flows = [client.spec(100, 2, eth_type=0x0800, ip_proto=17, ipv4_src=0x0A000000 + i, udp_src=1 + i % 60000, udp_dst=7) for i in range(FLOWS)]
        for at in range(0, FLOWS, 5000):
            reply = client.flows.BatchWrite(pb2.BatchWriteRequest(mode=pb2.BATCH_MODE_ALL_OR_NOTHING, items=[pb2.BatchItem(create=pb2.CreateFlowRequest(flow=f)) for f in flows[at : at + 5000]]))
            self.assertEqual(reply.failed_count, 0)

    def test_flows_with_traffic_and_ports_that_come_and_go(self):
        address = free_address()
        with cases.Live(sinks=[2], metrics={"listen": address}) as switch, api.Api(switch) as client:
            with switch.port(1, "--null"):
                self.scrape(address)  # from now on there is one request by each method at least
                switch.ctl("flow", "list"), switch.ctl("flow", "delete")
                before, text = self.scrape(address)
            self.check_names(before, text)
            self.load(client)
            packet = make.udp(1, 7, b"")
            frames = [make.eth(0x0800, make.ip4(make.UDP, (1 + i % 60000).to_bytes(2, "big") + packet[2:6] + b"\0\0", src="10.0.%d.%d" % (i >> 8, i & 255))) for i in range(FLOWS)]
            path = os.path.join(switch.folder.name, "all.pcap")
            pcap.write(path, frames)
            with switch.port(1, "--pcap-rx", path):
                lab.wait_for("all flows have a packet", lambda: switch.totals()[1] == FLOWS, 60)
                during, _ = self.scrape(address)
            switch.ctl("flow", "delete")
            after, _ = self.scrape(address)
            for name, now in (("with flows", during), ("without flows", after)):
                self.assertLessEqual(abs(len(now) - len(before)), 10, "%s: %s" % (name, sorted(now ^ before)[:20]))
            self.come_and_go(client)
            end, _ = self.scrape(address)
            self.assertLessEqual(abs(len(end) - len(after)), 10, sorted(end ^ after)[:20])
            self.assertFalse([one for one in end if "gone" in one], "series of ports that are gone")

    def come_and_go(self, client):
        pb2 = client.made.port_service_pb2
        for i in range(PORTS):
            spec = pb2.PortSpec(name="gone-%d" % i, number=5 + i % 20, null=pb2.NullDevice())
            client.ports.CreatePort(pb2.CreatePortRequest(port=spec))
            client.ports.DeletePort(pb2.DeletePortRequest(key=pb2.PortKey(name=spec.name)))


reason = api.why_not()
if reason:
    print("skipped: " + reason)
    sys.exit(lab.SKIPPED)
cases.main()
