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
import re
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


def prefixes(first, last, bits=16):
    """(value, mask) of which a range of ports is made up."""
    while first <= last:
        size = 1
        while first % (2 * size) == 0 and first + 2 * size - 1 <= last:
            size *= 2
        yield first, (1 << bits) - size
        first += size


def for_ovs(flows, path):
    """The flow file that says the same without ranges of ports, which Open vSwitch has not: `flows` itself, or written to `path`."""
    with open(flows) as f:
        lines = f.read().splitlines()
    expanded, wanted = lines, re.compile(r"\b(tp_src|tp_dst)=(\d+)-(\d+)")
    while any(wanted.search(line) for line in expanded):
        expanded = [new for line in expanded for new in _without_range(line, wanted.search(line))]
    if expanded == lines:
        return flows
    with open(path, "w") as f:
        f.write("\n".join(expanded) + "\n")
    return path


def _without_range(line, found):
    if line.startswith("#") or not found:
        return [line]
    return ["%s%s=%#x/%#x%s" % (line[: found.start()], found[1], value, mask, line[found.end() :]) for value, mask in prefixes(int(found[2]), int(found[3]))]


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
                flows = for_ovs(run.flows, os.path.join(folder, "for-ovs-%d.flows" % i))
                words = ["--flows", flows, *beside(run.flows, "groups"), *beside(run.flows, "meters")]
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


class Ended(SystemExit):
    """The other end of a socket has gone, or is about to."""


class Lifeline:
    """A socket that says so when the other end has gone."""

    def __init__(self, socket):
        self.sendall, self.socket = socket.sendall, socket

    def recv(self, size):
        try:
            data = self.socket.recv(size)
        except ConnectionError:
            data = b""
        if not data:
            raise Ended("it has ended")
        return data


class LiveOpenVswitch:
    """One that stays, for runs that depend on what came of others. Use it in a `with` block.

    The first run sets it up as any; those after it keep the ports and the files of what leaves them, so that they take a
    tenth of the time. They have the ports 1 to PORTS and receive at ports that the first run had."""

    BURST = 32

    def __init__(self, script):
        self.script, self.module, self.switch = script, None, None
        self.has = set()  # "groups", "meters": what is there from the run before

    def _start(self):
        spec = importlib.util.spec_from_file_location("ovs_oracle", self.script)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.switch = self.module.OpenVswitch()
        self.switch.control.s = Lifeline(self.switch.control.s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.switch is not None:
            self.switch.stop()
            self.switch = None

    def play(self, run, folder):
        """Leaves what left the ports in FOLDER/ovs."""
        os.makedirs(folder, exist_ok=True)
        out = os.path.join(folder, "ovs")
        try:
            if self.switch is None:
                self._start()
                self._play_first(run, folder, out)
            else:
                self._play_next(run, folder, out)
        except (SystemExit, ConnectionError) as e:
            if self.switch is not None and self._is_over(isinstance(e, Ended)):
                self.__exit__()  # the next run starts another
            raise Refused("Open vSwitch: %s" % e) from e
        return Result(flows_of(out), digests_of(out))

    def _is_over(self, expected):
        """One that ends closes its sockets first; without waiting for it the next run would find it still there."""
        try:
            return self.switch.procs[-1].wait(10 if expected else 0) is not None
        except subprocess.TimeoutExpired:
            return False

    def _play_first(self, run, folder, out):
        """With no flows, for the ports."""
        nothing = os.path.join(folder, "nothing.flows")
        with open(nothing, "w"):
            pass
        words = ["--flows", nothing, "--ports", str(PORTS), "--out", out]
        self.switch.play(self.module.parser().parse_args(words))
        self._play_next(run, folder, out)

    def _tx(self, port):
        return self.switch.path("tx-1-%d.pcap" % port)

    def _play_next(self, run, folder, out):
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        self._load(run, folder)
        before = {n: os.path.getsize(self._tx(n)) for n in range(1, PORTS + 1)}
        sent = self.switch.received()
        for port in run.inputs:
            for at in range(0, len(run.frames), self.BURST):
                burst = run.frames[at : at + self.BURST]
                self.switch.control.call("netdev-dummy/receive", "p%d" % port, *[data.hex() for _, data in burst])
                sent += len(burst)
                self.switch.drain(sent)
        self.switch.control.call("revalidator/purge")
        with open(os.path.join(out, "flows.txt"), "w") as f:
            f.write(self.switch.ofctl("dump-flows", "--no-names"))
        for n, size in before.items():
            with open(self._tx(n), "rb") as sent_so_far, open(os.path.join(out, "port-%d.pcap" % n), "wb") as f:
                header = sent_so_far.read(pcap.HEADER_BYTES)
                sent_so_far.seek(max(size, pcap.HEADER_BYTES))
                f.write((header or self.module.EMPTY) + sent_so_far.read())

    def _load(self, run, folder):
        """In one go where there are flows only."""
        if self.has:
            self.switch.ofctl("del-flows")
        for kind in self.has:
            self.switch.ofctl("del-" + kind)
        self.has = {kind for kind in ("groups", "meters") if beside(run.flows, kind)}
        if "groups" in self.has:
            self.switch.ofctl("add-groups", beside(run.flows, "groups")[1])
        if "meters" in self.has:
            with open(beside(run.flows, "meters")[1]) as f:
                for line in f.read().split("\n"):
                    if line.strip():
                        self.switch.ofctl("add-meter", line.strip())
        every = os.path.join(folder, "after-others.flows")
        with open(for_ovs(run.flows, os.path.join(folder, "for-ovs.flows"))) as flows, open(every, "w") as f:
            f.write("delete\n" + flows.read())
        self.switch.ofctl("add-flows", every)


def flows_of(out):
    """The counters of each cookie's flows, which are several where a range was taken apart."""
    flows = {}
    with open(os.path.join(out, "flows.txt")) as f:
        for line in f:
            item = dict(p.split("=", 1) for p in line.replace(",", " ").split() if "=" in p)
            if "n_packets" in item:
                before = flows.get(item["cookie"], [0, 0])
                flows[item["cookie"]] = [before[0] + int(item["n_packets"]), before[1] + int(item["n_bytes"])]
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
