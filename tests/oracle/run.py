#!/usr/bin/env python3
"""Plays flow files on captures through Sluice and through Open vSwitch, and fails on every difference that is not listed.

    run.py --sluicectl PATH [--shared DIR] [--rx-burst N] [--record] [--explain] [--only NAME]

Compared per flow file and capture: the frames that left each port, byte for byte and in order, and every flow's packets and
bytes. The flow files are flows/*.flows, in which each flow has a cookie of its own. The captures are:

generated  what make_capture.py makes, received on ports 1 and 2
shared     the captures of DIR/data/captures, merged in the order of their names, received on port 1

Open vSwitch is run by DIR/oracle/ovs_oracle.py. Without it the generated capture is compared with what Open vSwitch did when
it was last run (recorded/*.json, renewed by --record; with Open vSwitch at hand the record is checked too).

differences.json lists where Sluice means to differ, and why: frames that an entry selects are left out of its flow files' runs,
and played by themselves with the flow file that is to show the difference, where both must differ. So a difference that is
not listed fails, and so does one that is gone.
"""
import argparse
import collections
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

import make_capture
import pcap

HERE = os.path.dirname(os.path.abspath(__file__))
PORTS = 4

# What to play: frames is [(name, bytes)], inputs the ports that receive them all, one after the other.
Run = collections.namedtuple("Run", "name flows frames inputs difference")
# What came of it: flows is {cookie: [packets, bytes]}, ports is {number: [frame]}, a frame being bytes or its digest.
Result = collections.namedtuple("Result", "flows ports")


def digest(frame):
    return frame if isinstance(frame, str) else "%d-%08x" % (len(frame), zlib.crc32(frame))


def digests(result):
    return {"flows": result.flows, "ports": {n: [digest(f) for f in frames] for n, frames in result.ports.items()}}


def read_ports(folder):
    return {str(n): pcap.read(os.path.join(folder, "port-%d.pcap" % n)) for n in range(1, PORTS + 1)}


class Sluice:
    def __init__(self, sluicectl, rx_burst):
        self.command = [sluicectl, "replay"] + (["--rx-burst", str(rx_burst)] if rx_burst else [])

    def play(self, run, folder):
        capture, out = os.path.join(folder, "in.pcap"), os.path.join(folder, "sluice")
        pcap.write(capture, [data for _, data in run.frames])
        shutil.rmtree(out, ignore_errors=True)
        command = self.command + ["--flows", run.flows, "--ports", str(PORTS), "--out-dir", out]
        for port in run.inputs:
            command += ["--in", "%d=%s" % (port, capture)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode:
            raise SystemExit("%s\n%s" % (" ".join(command), done.stdout))
        with open(os.path.join(out, "flows.json")) as f:
            report = json.load(f)
        flows = {f["cookie"]: [f["packets"], f["bytes"]] for f in report["flows"]}
        received, counted = len(run.frames) * len(run.inputs), sum(f[0] for f in flows.values())
        if counted + report["misses"] != received:
            raise SystemExit("%s: %d frames in, %d hits and %d misses counted" % (run.name, received, counted, report["misses"]))
        return Result(flows, read_ports(out))


class OpenVswitch:
    def __init__(self, shared):
        self.script = os.path.join(shared, "oracle", "ovs_oracle.py")

    def there(self):
        return os.path.exists(self.script) and shutil.which("ovs-vswitchd") and os.geteuid() == 0

    def play(self, runs, folder):
        """All runs in one Open vSwitch, since it takes longer to start than to forward."""
        pairs, outs = os.path.join(folder, "pairs"), []
        with open(pairs, "w") as f:
            for i, run in enumerate(runs):
                capture, out = os.path.join(folder, "in-%d.pcap" % i), os.path.join(folder, "ovs-%d" % i)
                pcap.write(capture, [data for _, data in run.frames])
                inputs = " ".join("--in %d=%s" % (port, capture) for port in run.inputs)
                f.write("--flows %s %s --ports %d --out %s\n" % (run.flows, inputs, PORTS, out))
                outs.append(out)
        done = subprocess.run([sys.executable, self.script, "--pairs", pairs], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit("Open vSwitch refused a run:\n" + done.stdout)
        return [Result(self._flows(out), read_ports(out)) for out in outs]

    @staticmethod
    def _flows(out):
        flows = {}
        with open(os.path.join(out, "flows.txt")) as f:
            for line in f:
                item = dict(p.split("=", 1) for p in line.replace(",", " ").split() if "=" in p)
                if "n_packets" in item:
                    flows[item["cookie"]] = [int(item["n_packets"]), int(item["n_bytes"])]
        return flows


class Record:
    """What Open vSwitch did with the generated capture, one file a flow file."""

    folder = os.path.join(HERE, "recorded")

    @staticmethod
    def inputs(run):
        """What the result depends on."""
        sha = hashlib.sha256(open(run.flows, "rb").read())
        for _, data in run.frames:
            sha.update(data)
        return sha.hexdigest()[:16]

    def path(self, run):
        return os.path.join(self.folder, os.path.basename(run.flows)[: -len(".flows")] + ".json")

    def write(self, runs, results):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        files = collections.defaultdict(dict)
        for run, result in zip(runs, results):
            files[self.path(run)][run.name] = {"inputs": self.inputs(run), **digests(result)}
        for path, content in files.items():
            with open(path, "w") as f:
                json.dump(content, f, separators=(",", ":"))
                f.write("\n")

    def read(self, run):
        try:
            with open(self.path(run)) as f:
                item = json.load(f)[run.name]
        except (OSError, KeyError):
            item = {"inputs": None}
        if item["inputs"] != self.inputs(run):
            raise SystemExit("%s: flows, frames or differences have changed since Open vSwitch was recorded: run.py --record" % run.name)
        return Result(item["flows"], item["ports"])


def shared_frames(folder):
    frames = []
    for name in sorted(os.listdir(folder)):
        if name.endswith((".pcap", ".pcapng", ".cap")):
            try:
                frames += [("%s#%d" % (name, i), data) for i, data in enumerate(pcap.read(os.path.join(folder, name)), 1)]
            except pcap.NotEthernet as e:
                print("left out: %s" % e)
    return frames


def selects(difference, name, frame):
    """True if an entry of differences.json means this frame.

    "frames" are patterns for its name. "bytes", where the entry has them, say which hexadecimal digits must stand at which
    offset: a "." stands for any digit, and with a "!" before them they must not stand there.
    """
    if not any(fnmatch.fnmatchcase(name, pattern) for pattern in difference["frames"]):
        return False
    for at, wanted in difference.get("bytes", {}).items():
        digits = wanted.lstrip("!")
        found = frame[int(at) :].hex()[: len(digits)]
        equal = len(found) == len(digits) and all(w in (".", f) for w, f in zip(digits, found))
        if equal == wanted.startswith("!"):
            return False
    return True


def plan(captures, differences, only):
    """The runs: per capture and flow file, all frames but the listed ones, and each entry's frames by themselves."""
    runs, shown = [], set()
    for file in sorted(os.listdir(os.path.join(HERE, "flows"))):
        stem, path = file[: -len(".flows")], os.path.join(HERE, "flows", file)
        if only and only not in stem:
            continue
        for capture, (frames, inputs) in captures.items():
            rest = frames
            for i, difference in enumerate(differences):
                if stem not in difference["flows"]:
                    continue
                mine = [f for f in rest if selects(difference, *f)]
                rest = [f for f in rest if not selects(difference, *f)]
                if mine and stem == difference["shown_by"]:
                    shown.add(i)
                    runs.append(Run("%s on %s, difference %r" % (stem, capture, difference["id"]), path, mine, inputs, difference))
            runs.append(Run("%s on %s" % (stem, capture), path, rest, inputs, None))
    return runs, [] if only else [d["id"] for i, d in enumerate(differences) if i not in shown]


def compare(ours, theirs):
    """What differs, in words; nothing if nothing does."""
    lines = []
    for cookie in sorted(set(ours.flows) | set(theirs.flows), key=lambda c: int(c, 16)):
        a, b = ours.flows.get(cookie), theirs.flows.get(cookie)
        if a != b:
            lines.append("flow %s: [packets, bytes] %s, Open vSwitch %s" % (cookie, a, b))
    for port in sorted(set(ours.ports) | set(theirs.ports)):
        a, b = ours.ports[port], theirs.ports[port]
        if list(map(digest, a)) == list(map(digest, b)):
            continue
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if digest(x) != digest(y)), min(len(a), len(b)))
        lines.append("port %s: %d frames, Open vSwitch %d, first difference at frame %d" % (port, len(a), len(b), at + 1))
        for who, frames in (("Sluice      ", a), ("Open vSwitch", b)):
            if at < len(frames):
                lines.append("  %s %s" % (who, frames[at] if isinstance(frames[at], str) else frames[at].hex()))
    return lines


def culprits(run, sluice, ovs, folder, most=5):
    """The first few frames that differ when they are played alone."""
    found, pending = [], [run.frames]
    while pending and len(found) < most:
        part = run._replace(frames=pending.pop(0))
        if not compare(sluice.play(part, folder), ovs.play([part], folder)[0]):
            continue
        if len(part.frames) == 1:
            found.append(part.frames[0])
        else:
            middle = len(part.frames) // 2
            pending[:0] = [part.frames[:middle], part.frames[middle:]]
    return ["  frame %s: %s" % (name, data[:80].hex()) for name, data in found]


def judge(run, ours, theirs):
    """(lines to print, True if the run is as it should be)"""
    lines = compare(ours, theirs)
    if run.difference is None:
        return lines, not lines
    return ["listed, but Open vSwitch does the same: take it off differences.json"] if not lines else [], bool(lines)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--sluicectl", required=True)
    ap.add_argument("--shared", default=os.environ.get("SLUICE_SHARED", os.path.join(HERE, "..", "..", "..", "shared")))
    ap.add_argument("--rx-burst", type=int, default=0, help="frames taken from a port at a time; default: the switch's own")
    ap.add_argument("--record", action="store_true", help="renew recorded/ and end")
    ap.add_argument("--explain", action="store_true", help="find the first few frames that make a difference by themselves")
    ap.add_argument("--only", help="flow files whose name contains this")
    args = ap.parse_args()

    with open(os.path.join(HERE, "differences.json")) as f:
        differences = json.load(f)
    captures = {"generated": (make_capture.frames(), [1, 2])}
    ovs, record = OpenVswitch(args.shared), Record()
    live = ovs.there()
    if live:
        captures["shared"] = (shared_frames(os.path.join(args.shared, "data", "captures")), [1])
    elif args.record:
        raise SystemExit("--record needs root, Open vSwitch and %s" % ovs.script)
    runs, not_shown = plan(captures, differences, args.only)
    sluice = Sluice(args.sluicectl, args.rx_burst)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="sluice-oracle-") as folder:
        recorded = [r for r in runs if "on generated" in r.name]
        if live:
            theirs = ovs.play(runs, folder)
            if args.record:
                record.write(recorded, [t for r, t in zip(runs, theirs) if r in recorded])
                return 0
        else:
            runs, theirs = recorded, [record.read(r) for r in recorded]
        for run, their in zip(runs, theirs):
            lines, good = judge(run, sluice.play(run, folder), their)
            if live and run in recorded and digests(record.read(run)) != digests(their):
                lines, good = lines + ["Open vSwitch no longer does what is recorded"], False
            print("%s: %s, %d frames" % ("ok" if good else "FAILED", run.name, len(run.frames) * len(run.inputs)))
            if not good:
                failed += 1
                if args.explain and live and run.difference is None and lines:
                    lines += culprits(run, sluice, ovs, folder)
                print("\n".join("    " + line for line in lines), flush=True)
    for identity in not_shown if live else ():
        failed += 1
        print("FAILED: difference %r selects no frame" % identity)
    print("%d runs against %s, %d failed" % (len(runs), "Open vSwitch" if live else "what Open vSwitch did when it was recorded", failed))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
