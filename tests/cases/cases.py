"""What the field cases are made of: frames, a replay of captures in several ways, and a running switch that is fed frames.

None of it needs root. Each case is a unittest with a name of its own; main() runs those of a file.
"""
import collections
import contextlib
import json
import os
import struct
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "system"), os.path.join(HERE, "..", "oracle")]
import lab  # noqa: E402
import make_capture as make  # noqa: E402
import pcap  # noqa: E402

# How packets are looked up: (frames a burst, settings).
CACHED, ONE_BY_ONE = (32, ()), (1, ("flow_cache_entries=0",))
WAYS = (CACHED, ONE_BY_ONE)

# What came of a replay. sent: {port: [frame]}; packets and bytes: of the flows, in the order in which they stand; drops: those that happened.
Outcome = collections.namedtuple("Outcome", "sent packets bytes drops misses malformed texts")


def hexed(text):
    return bytes.fromhex("".join(text.split()))


def replay(flows, *inputs, ports=5, ways=WAYS):
    """Plays (port, frames) one after another, in each way; all ways must do the same, and that comes back."""
    outcomes = [_replay("\n".join(flows) + "\n", inputs, ports, way) for way in ways]
    for way, outcome in zip(ways[1:], outcomes[1:]):
        assert outcome == outcomes[0], "%s does otherwise than %s:\n%s\n%s" % (way, ways[0], outcome, outcomes[0])
    return outcomes[0]


def _replay(flows, inputs, ports, way):
    burst, settings = way
    with tempfile.TemporaryDirectory(prefix="sluice-case-") as folder:
        with open(os.path.join(folder, "flows"), "w") as f:
            f.write(flows)
        command = [lab.SLUICECTL, "replay", "--flows", os.path.join(folder, "flows"), "--ports", str(ports), "--rx-burst", str(burst), "--out-dir", os.path.join(folder, "out")]
        for setting in settings:
            command += ["--set", setting]
        for i, (port, frames) in enumerate(inputs):
            path = os.path.join(folder, "in-%d" % i)
            pcap.write(path, frames)
            command += ["--in", "%d=%s" % (port, path)]
        lab.sh(*command)
        with open(os.path.join(folder, "out", "flows.json")) as f:
            report = json.load(f)
        sent = {n: pcap.read(os.path.join(folder, "out", "port-%d.pcap" % n)) for n in range(1, ports + 1)}
    drops = {reason: n for reason, n in report["drops"].items() if n}
    return Outcome(sent, [f["packets"] for f in report["flows"]], [f["bytes"] for f in report["flows"]], drops, report["misses"], report["malformed"], [f["flow"] for f in report["flows"]])


class Live(lab.Switch):
    """A running switch that can be fed frames. Ports that only send take all and keep nothing."""

    def __init__(self, sinks=(), workers=1, **config):
        ports = [{"name": "p%d" % n, "number": n, "null": {}} for n in sinks]
        super().__init__(ports, workers={"count": workers, "idle": "adaptive"}, **config)
        self.fed, self.inputs = 0, 0

    def totals(self):
        totals = self.json("stats")["totals"]
        drops = {reason: int(n) for reason, n in totals.get("drops", {}).items() if int(n)}
        return int(totals.get("received", 0)), int(totals.get("forwarded", 0)), drops

    def accounted(self, frames):
        received, forwarded, drops = self.totals()
        assert received <= frames, "%d frames received, of %d" % (received, frames)
        return received == frames == forwarded + sum(drops.values())

    def feed(self, number, frames):
        """Receives them on a port that is there for so long, and waits until each is accounted for."""
        self.feed_all([(number, frames)])

    def feed_all(self, inputs):
        """The same, on several ports at once."""
        with contextlib.ExitStack() as ports:
            for number, frames in inputs:
                self.inputs += 1
                path = os.path.join(self.folder.name, "feed-%d.pcap" % self.inputs)
                pcap.write(path, frames)
                ports.enter_context(self.port(number, "--pcap-rx", path))
                self.fed += len(frames)
            lab.wait_for("%d frames are accounted for" % self.fed, lambda: self.accounted(self.fed), 60)

    @contextlib.contextmanager
    def port(self, number, *device):
        name = "x%d" % number
        self.ctl("port", "add", name, "--number", str(number), *device)
        try:
            yield name
        finally:
            self.ctl("port", "delete", name)

    def sent(self):
        """{port: frames sent} of the ports that are there."""
        return {port["spec"]["number"]: int(port["stats"].get("transmit_packets", 0)) for port in self.json("port", "list")["ports"]}

    def flows(self):
        return self.json("flow", "list")["flows"]

    def counters(self):
        """(packets, bytes) of the flows, by their age."""
        return [(int(f["stats"].get("packets", 0)), int(f["stats"].get("bytes", 0))) for f in self.flows()]

    def refused(self, *args):
        """What a command says that must fail."""
        try:
            self.ctl(*args)
        except RuntimeError as e:
            return str(e)
        raise AssertionError("%s was not refused" % (args,))


def checksums_are_right(frame):
    """True if the checksums of IP, of its transport and of ICMP hold; UDP over IPv4 may have none. Whole packets without VLAN tags."""
    kind, packet = struct.unpack_from("!H", frame, 12)[0], frame[14:]
    if kind == 0x0800:
        header, length = (packet[0] & 15) * 4, struct.unpack_from("!H", packet, 2)[0]
        if make.checksum(packet[:header]):
            return False
        proto, segment = packet[9], packet[header:length]
        pseudo = packet[12:20] + struct.pack("!HH", proto, len(segment))
    else:
        proto, at, length = packet[6], 40, 40 + struct.unpack_from("!H", packet, 4)[0]
        while proto in (make.HOP_BY_HOP, make.ROUTING, make.DESTINATION, make.FRAGMENT):
            proto, at = packet[at], at + (8 if proto == make.FRAGMENT else 8 + packet[at + 1] * 8)
        segment = packet[at:length]
        pseudo = packet[8:40] + struct.pack("!IHH", len(segment), 0, proto)
    if proto == make.UDP and segment[6:8] == b"\0\0":
        return kind == 0x0800
    if proto == make.ICMP:
        pseudo = b""
    return proto not in (make.TCP, make.UDP, make.ICMP, make.ICMPV6) or make.checksum(pseudo + segment) == 0


def main():
    unittest.main(argv=sys.argv[:1], verbosity=2)
