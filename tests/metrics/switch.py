"""A real switch with real traffic and a real Prometheus that scrapes it, on free loopback ports."""
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helm"))
import chart  # noqa: E402

JOB, NODE = "net/sluice", "node-a"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=10) as reply:
        return reply.read().decode()


def wait_for(what, condition, seconds=20):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("%s: not within %g s" % (what, seconds))
        time.sleep(0.1)


@contextlib.contextmanager
def background(folder, name, *command):
    """A program beside us, its output in FOLDER/NAME.log; ended by SIGTERM, at once if it must."""
    with open(os.path.join(folder, name + ".log"), "w") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ipv4(destination, ttl=64, payload=26, version=4):
    header = struct.pack("!BBHHHBBH4s4s", version << 4 | 5, 0, 28 + payload, 0, 0, ttl, 17, 0, bytes([10, 0, 0, 1]), bytes(destination))
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xffff) + (total >> 16)
    header = header[:10] + struct.pack("!H", 0xffff & ~(total + (total >> 16))) + header[12:]
    return bytes.fromhex("020000000002020000000001") + b"\x08\x00" + header + struct.pack("!HHHH", 1000, 2000, 8 + payload, 0) + bytes(payload)


# Frames for every way through the switch; see FLOWS.
FRAMES = [
    *[ipv4((10, 1, 0, i)) for i in range(16)],  # forwarded
    *[ipv4((10, 2, 0, 1), ttl=1)] * 2,  # dropped: ttl
    *[ipv4((10, 3, 0, 1))] * 2,  # dropped: action_drop
    *[ipv4((10, 4, 0, 1))] * 2,  # dropped: no_such_port
    *[ipv4((10, 5, 0, 1))] * 2,  # dropped: output_to_ingress
    *[ipv4((10, 6, 0, 1))] * 2,  # lost at a port that is down
    *[ipv4((10, 7, 0, 1), payload=900)] * 2,  # lost at a port with a small MTU
    *[ipv4((10, 8, 0, 1))] * 2,  # dropped: no_flow
    *[ipv4((10, 9, 0, 1), version=6)],  # malformed, and no_flow
    *[b"\x02\x00\x00"],  # dropped: malformed
]
FLOWS = """\
priority=10,ip,nw_dst=10.1.0.0/16,actions=output:2
priority=20,ip,nw_dst=10.2.0.0/16,actions=dec_ttl,output:2
priority=30,ip,nw_dst=10.3.0.0/16,actions=drop
priority=40,ip,nw_dst=10.4.0.0/16,actions=output:99
priority=50,ip,nw_dst=10.5.0.0/16,actions=output:1
priority=60,ip,nw_dst=10.6.0.0/16,actions=output:3
priority=70,ip,nw_dst=10.7.0.0/16,actions=output:4
priority=5,udp,tp_dst=53,actions=output:2
priority=4,arp,actions=output:2
priority=3,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,actions=drop
"""
# As many as there are flows and masks.
FULL = "{flows: 10, masks_per_table: 4}"
CONFIG = """\
api: {{listen: ["unix://{folder}/api.sock"]}}
metrics: {{listen: "127.0.0.1:{metrics}"}}
limits: {limits}
ports:
  - {{name: in, number: 1, pcap: {{rx_file: "{folder}/in.pcap", infinite_rx: true}}}}
  - {{name: out, number: 2, null: {{}}}}
  - {{name: off, number: 3, null: {{}}, enabled: false}}
  - {{name: small, number: 4, null: {{}}, mtu: 500}}
"""


def write(folder, name, content):
    with open(os.path.join(folder, name), "wb" if isinstance(content, bytes) else "w") as out:
        out.write(content)
    return os.path.join(folder, name)


def capture():
    records = [struct.pack("<IIII", 0, 0, len(f), len(f)) + f for f in FRAMES]
    return struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + b"".join(records)


class Switch:
    """sluiced with pcap and null ports, as any user can run it."""

    def __init__(self, folder, limits=FULL):
        self.folder, self.port, self.limits = folder, free_port(), limits
        self.url = "http://127.0.0.1:%d/metrics" % self.port
        self.log = os.path.join(folder, "sluiced.log")

    def scrape(self):
        try:
            return get(self.url)
        except (urllib.error.URLError, ConnectionError):
            return None

    def ctl(self, *args):
        return chart.run(chart.SLUICECTL, "--address", "unix://%s/api.sock" % self.folder, *args).stdout

    @contextlib.contextmanager
    def running(self):
        write(self.folder, "in.pcap", capture())
        config = write(self.folder, "sluice.yaml", CONFIG.format(folder=self.folder, metrics=self.port, limits=self.limits))
        with background(self.folder, "sluiced", chart.SLUICED, "--config", config) as process:
            def up():
                assert process.poll() is None, open(self.log).read()
                return self.scrape()
            wait_for("/metrics", up)
            self.ctl("flow", "add-file", write(self.folder, "flows.txt", FLOWS))
            yield process


class Prometheus:
    """Scrapes the switch every second under the labels that the chart's PodMonitor gives it, and evaluates the chart's rules."""

    def __init__(self, folder, target, rules):
        self.folder, self.port = folder, free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        write(folder, "rules.yaml", json.dumps(rules))
        self.config = write(folder, "prometheus.yaml", json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{"job_name": JOB, "static_configs": [{"targets": ["127.0.0.1:%d" % target], "labels": {"node": NODE}}]}]}))

    def running(self):
        return background(self.folder, "prometheus", "prometheus", "--config.file=" + self.config, "--storage.tsdb.path=" + os.path.join(self.folder, "tsdb"),
                          "--web.listen-address=127.0.0.1:%d" % self.port)

    def ask(self, path, **parameters):
        try:
            return json.loads(get("%s/api/v1/%s?%s" % (self.url, path, urllib.parse.urlencode(parameters))))["data"]
        except urllib.error.HTTPError as e:
            raise AssertionError("%s: %s" % (parameters, e.read().decode())) from e
        except (urllib.error.URLError, ConnectionError):
            return None

    def query(self, expression):
        """Series as (labels, value)."""
        data = self.ask("query", query=expression)
        return [(s["metric"], float(s["value"][1])) for s in data["result"]] if data else []

    def firing(self):
        data = self.ask("alerts")
        return {a["labels"]["alertname"] for a in data["alerts"] if a["state"] == "firing"} if data else set()
