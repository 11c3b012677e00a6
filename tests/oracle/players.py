"""Plays flow files on captures through Sluice and through Open vSwitch, and says what came of it in the same words.

A flow file NAME.flows may have NAME.groups and NAME.meters beside it, all in ovs-ofctl's syntax; each of its flows has a cookie of
its own. What leaves a port is kept as a number a frame (see `digest`), since a run has thousands of frames and most are equal;
`frames_of` gives the bytes of the run that was played last in a folder.
"""
import array
import collections
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zlib

import pcap

PORTS = 4

# What to play: flows is a path, frames is [(name, bytes)], inputs the ports that receive them all, one after the other.
Run = collections.namedtuple("Run", "name flows frames inputs difference", defaults=(None,))
# What came of it: flows is {cookie: [packets, bytes]}, ports is {number: [digest]}.
Result = collections.namedtuple("Result", "flows ports")
# How Sluice is to look packets up.
Way = collections.namedtuple("Way", "name burst settings")

WAYS = (Way("bursts of 32", 32, ()), Way("bursts of 1, no flow cache", 1, ("flow_cache_entries=0",)),
        Way("bursts of 1", 1, ()), Way("bursts of 32, no flow cache", 32, ("flow_cache_entries=0",)))


class Refused(Exception):
    """The flows, groups or meters, or a run that did not come to its end; says which switch and why."""


def digest(frame):
    return zlib.crc32(frame, len(frame))


def beside(flows, kind):
    """The options for the file of groups or meters that belongs to a flow file."""
    path = flows[: -len("flows")] + kind
    return ["--" + kind, path] if os.path.exists(path) else []


def frames_of(folder):
    """{port: [frame]} of what a switch wrote."""
    return {str(n): pcap.read(os.path.join(folder, "port-%d.pcap" % n)) for n in range(1, PORTS + 1)}


def digests_of(folder):
    return {n: array.array("L", map(digest, frames)) for n, frames in frames_of(folder).items()}


class Sluice:
    """`sluicectl replay`: a sluiced for each run, without root."""

    def __init__(self, sluicectl):
        self.sluicectl = sluicectl

    def command(self, run, way, capture, out):
        command = [self.sluicectl, "replay", "--flows", run.flows, *beside(run.flows, "groups"), *beside(run.flows, "meters"),
                   "--ports", str(PORTS), "--out-dir", out, "--rx-burst", str(way.burst)]
        for setting in way.settings:
            command += ["--set", setting]
        for port in run.inputs:
            command += ["--in", "%d=%s" % (port, capture)]
        return command

    def play(self, run, folder, way=WAYS[0]):
        """Leaves what left the ports in FOLDER/sluice."""
        os.makedirs(folder, exist_ok=True)
        capture, out = os.path.join(folder, "in.pcap"), os.path.join(folder, "sluice")
        pcap.write(capture, [data for _, data in run.frames])
        shutil.rmtree(out, ignore_errors=True)
        command = self.command(run, way, capture, out)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode:
            raise Refused("Sluice: %s\n%s" % (" ".join(command), done.stdout))
        with open(os.path.join(out, "flows.json")) as f:
            report = json.load(f)
        self._check_sums(run, report)
        return Result({f["cookie"]: [f["packets"], f["bytes"]] for f in report["flows"]}, digests_of(out))

    @staticmethod
    def _check_sums(run, report):
        """Each frame is a hit or a miss of table 0. A miss of a later table is a hit of table 0 too, so with them it is bounds."""
        received, hits = len(run.frames) * len(run.inputs), sum(f["packets"] for f in report["flows"] if f["table"] == 0)
        malformed = report["drops"].get("malformed", 0)  # of these nothing is looked up
        one_table = all(f["table"] == 0 for f in report["flows"])
        if not (hits <= received - malformed <= hits + report["misses"]) or (one_table and hits + report["misses"] + malformed != received):
            raise Refused("Sluice: %d frames in, %d hits, %d misses and %d malformed counted" % (received, hits, report["misses"], malformed))


class OpenVswitch:
    """A private Open vSwitch, by DIR/oracle/ovs_oracle.py; needs root."""

    def __init__(self, shared):
        self.script = os.path.join(shared, "oracle", "ovs_oracle.py")

    def there(self):
        return os.path.exists(self.script) and shutil.which("ovs-vswitchd") is not None and os.geteuid() == 0

    def start(self, runs, folder):
        """Begins to play all runs in one Open vSwitch, since it takes longer to start than to forward; `finish` waits for it."""
        pairs = os.path.join(folder, "pairs")
        with open(pairs, "w") as f:
            for i, run in enumerate(runs):
                capture = os.path.join(folder, "in-%d.pcap" % i)
                pcap.write(capture, [data for _, data in run.frames])
                words = ["--flows", run.flows, *beside(run.flows, "groups"), *beside(run.flows, "meters")]
                words += ["--ports", str(PORTS), "--out", self.out(folder, i)]
                for port in run.inputs:
                    words += ["--in", "%d=%s" % (port, capture)]
                f.write(" ".join(words) + "\n")
        return subprocess.Popen([sys.executable, self.script, "--pairs", pairs], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    @staticmethod
    def out(folder, i):
        return os.path.join(folder, "ovs-%d" % i)

    def finish(self, process, runs, folder):
        said = process.communicate(timeout=900)[0]
        if process.returncode:
            raise Refused("Open vSwitch:\n" + said)
        return [Result(flows_of(self.out(folder, i)), digests_of(self.out(folder, i))) for i in range(len(runs))]

    def live(self):
        return LiveOpenVswitch(self.script)


class Lifeline:
    """A socket that says so when the other end has gone."""

    def __init__(self, socket):
        self.sendall, self.socket = socket.sendall, socket

    def recv(self, size):
        data = self.socket.recv(size)
        if not data:
            raise SystemExit("it has ended")
        return data


class LiveOpenVswitch:
    """One that stays, for runs that depend on what came of others. Use it in a `with` block."""

    def __init__(self, script):
        spec = importlib.util.spec_from_file_location("ovs_oracle", script)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.switch = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.switch is not None:
            self.switch.stop()
            self.switch = None

    def play(self, run, folder):
        """Leaves what left the ports in FOLDER/ovs."""
        if self.switch is None:
            self.switch = self.module.OpenVswitch()
            self.switch.control.s = Lifeline(self.switch.control.s)
        os.makedirs(folder, exist_ok=True)
        capture, out = os.path.join(folder, "ovs-in.pcap"), os.path.join(folder, "ovs")
        pcap.write(capture, [data for _, data in run.frames])
        words = ["--flows", run.flows, *beside(run.flows, "groups"), *beside(run.flows, "meters"), "--ports", str(PORTS), "--out", out]
        for port in run.inputs:
            words += ["--in", "%d=%s" % (port, capture)]
        try:
            self.switch.play(self.module.parser().parse_args(words))
        except SystemExit as e:
            raise Refused("Open vSwitch: %s" % e) from e
        return Result(flows_of(out), digests_of(out))


def flows_of(out):
    flows = {}
    with open(os.path.join(out, "flows.txt")) as f:
        for line in f:
            item = dict(p.split("=", 1) for p in line.replace(",", " ").split() if "=" in p)
            if "n_packets" in item:
                flows[item["cookie"]] = [int(item["n_packets"]), int(item["n_bytes"])]
    return flows


def compare(ours, theirs, less=None):
    """What differs, in words; nothing if nothing does. `less` is {cookie: "packets" or "bytes"}, what of which flows is not compared:
    with its packets a flow's bytes are not either."""
    lines = []
    for cookie in sorted(set(ours.flows) | set(theirs.flows), key=lambda c: int(c, 16)):
        a, b = ours.flows.get(cookie), theirs.flows.get(cookie)
        left = {"packets": 0, "bytes": 1}.get((less or {}).get(cookie), 2)
        if a is None or b is None or list(a)[:left] != list(b)[:left]:
            lines.append("flow %s: [packets, bytes] %s, Open vSwitch %s" % (cookie, a, b))
    for port in sorted(set(ours.ports) | set(theirs.ports)):
        a, b = ours.ports[port], theirs.ports[port]
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            lines.append("port %s: %d frames, Open vSwitch %d, first difference at frame %d" % (port, len(a), len(b), at + 1))
    return lines


def first_differences(ours, theirs):
    """The same for frames, with their bytes."""
    lines = []
    for port in sorted(ours):
        a, b = ours[port], theirs[port]
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        if at < max(len(a), len(b)):
            lines.append("port %s, frame %d:" % (port, at + 1))
            lines += ["  %s %s" % (who, frames[at].hex()) for who, frames in (("Sluice      ", a), ("Open vSwitch", b)) if at < len(frames)]
    return lines
