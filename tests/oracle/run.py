#!/usr/bin/env python3
"""Plays flow files on captures through Sluice and through Open vSwitch, and fails on every difference that is not listed.

    run.py --sluicectl PATH [--shared DIR] [--record] [--explain] [--only NAME] [--quick] [--all] [--needed]

Compared per flow file and capture: the frames that left each port, byte for byte and in order, and every flow's packets and
bytes. The flow files are flows/*.flows, with groups and meters beside them. The captures are:

generated  what make_capture.py makes, received on ports 1 and 2
shared     the captures of DIR/data/captures, merged in the order of their names, received on port 1

Sluice plays each flow file in bursts of 32 and of 1, with the flow cache and without (players.WAYS); --quick: in the first way only.

Open vSwitch is run by DIR/oracle/ovs_oracle.py. Without it the generated capture is compared with what Open vSwitch did when
it was last run (recorded/*.json, renewed by --record; with Open vSwitch at hand the record is checked too).

Flow files that unwired.txt names use what Sluice does not have yet, or show differences that nobody has judged; --all plays
them too.

differences.json lists where Sluice means to differ, and why. Of two kinds: frames that an entry selects are left out of its flow
files' runs, and played by themselves with the flow file that is to show the difference, where both must differ. Or, where only
counters differ, the entry names the flows whose packets or bytes are not compared, and each must differ in some run. So a
difference that is not listed fails, and so does one that is gone. Live, a flow that no frame hits fails too, unless the comment
before it says "never hit".

--needed plays the frames of every entry with each of its flow files, and fails on what the entry names for nothing: a flow file
in which none of its frames differs, a frame that differs in none of its flow files.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import re
import shutil
import tempfile

import make_capture
import pcap
from live_sluice import LiveSluice
from players import OpenVswitch, Refused, Result, Run, Sluice, WAYS, compare, first_differences, frames_of

HERE = os.path.dirname(os.path.abspath(__file__))


class Record:
    """What Open vSwitch did with the generated capture, one file a flow file. Of each frame's digest it keeps four hexadecimal
    digits, and of a port's the sum."""

    folder = os.path.join(HERE, "recorded")

    @staticmethod
    def inputs(run):
        """What the result depends on."""
        sha = hashlib.sha256()
        for kind in ("flows", "groups", "meters"):
            path = run.flows[: -len("flows")] + kind
            if os.path.exists(path):
                with open(path, "rb") as f:
                    sha.update(f.read())
        for _, data in run.frames:
            sha.update(data)
        return sha.hexdigest()[:16]

    @staticmethod
    def short(result):
        ports = {n: "%08x:%s" % (sum(digests) & 0xFFFFFFFF, "".join("%04x" % (d & 0xFFFF) for d in digests)) for n, digests in result.ports.items()}
        return Result({cookie: list(counters) for cookie, counters in sorted(result.flows.items(), key=lambda f: int(f[0], 16))}, ports)

    def path(self, run):
        return os.path.join(self.folder, os.path.basename(run.flows)[: -len(".flows")] + ".json")

    def write(self, runs, results):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        files = collections.defaultdict(dict)
        for run, result in zip(runs, results):
            files[self.path(run)][run.name] = {"inputs": self.inputs(run), **self.short(result)._asdict()}
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


def stem(run_or_path):
    path = run_or_path.flows if isinstance(run_or_path, Run) else run_or_path
    return os.path.basename(path)[: -len(".flows")]


class Plan:
    """The runs: per capture and flow file, all frames but the listed ones, and each entry's frames by themselves."""

    def __init__(self, captures, differences, only, left_out=(), each_entry=False):
        self.runs, self.captures, self.differences, self.only, self.each_entry = [], captures, differences, only, each_entry
        self.shown = set()  # the entries that select frames
        self.counted = collections.defaultdict(set)  # what differs, of the entries about counters
        for file in sorted(os.listdir(os.path.join(HERE, "flows"))):
            path = os.path.join(HERE, "flows", file)
            if file.endswith(".flows") and (not only or only in file) and stem(path) not in left_out:
                for capture in captures:
                    self._add(path, capture, *captures[capture])

    def _add(self, path, capture, rest, inputs):
        for i, difference in enumerate(self.differences):
            if stem(path) not in difference.get("flows", ()):
                continue
            mine = [f for f in rest if selects(difference, *f)]
            rest = [f for f in rest if not selects(difference, *f)]
            if mine and (self.each_entry or stem(path) == difference["shown_by"]):
                self.shown.add(i)
                self.runs.append(Run("%s on %s, difference %r" % (stem(path), capture, difference["id"]), path, mine, inputs, difference))
        if rest and not self.each_entry:
            self.runs.append(Run("%s on %s" % (stem(path), capture), path, rest, inputs))

    def less(self, run):
        """What of which flows is not compared: {cookie: "packets" or "bytes"}."""
        return {cookie: d["of"] for d in self.differences for cookie in d.get("counters", {}).get(stem(run), ())}

    def note(self, run, ours, theirs):
        """Remembers which of the listed counters do differ."""
        for cookie, of in self.less(run).items():
            at = 0 if of == "packets" else 1
            if cookie in ours.flows and cookie in theirs.flows and ours.flows[cookie][at] != theirs.flows[cookie][at]:
                self.counted[stem(run)].add(cookie)

    def not_shown(self):
        """Entries that select nothing and listed counters that are equal."""
        if self.only:
            return []
        lines = ["difference %r selects no frame" % d["id"] for i, d in enumerate(self.differences) if "frames" in d and i not in self.shown]
        for d in self.differences:
            for name, cookies in d.get("counters", {}).items():
                lines += ["difference %r: %s of flow %s in %s are equal" % (d["id"], d["of"], c, name) for c in cookies if c not in self.counted[name]]
        return lines


def never_hit(runs, results):
    """Flows that no frame hits, though nothing says that they should not be."""
    hits, allowed = collections.Counter(), set()
    for run, result in zip(runs, results):
        for cookie, counters in result.flows.items():
            hits[(run.flows, cookie)] += counters[0]
    for path in {run.flows for run in runs}:
        with open(path) as f:
            lines = f.read().splitlines()
        for before, line in zip(lines, lines[1:]):
            if before.startswith("#") and "never hit" in before:
                allowed.add((path, re.search(r"cookie=(0x[0-9a-f]+)", line).group(1)))
    return ["%s: flow %s is hit by no frame" % (stem(path), cookie) for (path, cookie), n in sorted(hits.items()) if n == 0 and (path, cookie) not in allowed]


def culprits(run, sluice, way, ovs, folder, less, most=5):
    """The first few frames (name, bytes) that differ when they are played alone."""
    found, pending = [], [run.frames]
    while pending and len(found) < most:
        part = run._replace(frames=pending.pop(0))
        if not compare(sluice.play(part, folder, way), ovs.play(part, folder), less):
            continue
        if len(part.frames) == 1:
            found.append(part.frames[0])
        else:
            middle = len(part.frames) // 2
            pending[:0] = [part.frames[:middle], part.frames[middle:]]
    return found


class Player:
    """Plays runs through Sluice, several at a time."""

    def __init__(self, sluice, folder):
        self.sluice, self.folder = sluice, folder

    def play(self, number, run, way):
        """What came of it, or why nothing did."""
        folder = os.path.join(self.folder, "sluice-%d-%d" % (number, WAYS.index(way)))
        try:
            return self.sluice.play(run, folder, way)
        except Refused as e:
            return e
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def show(self, number, run, way):
        """The bytes of the first difference, which takes another play."""
        folder = os.path.join(self.folder, "again")
        self.sluice.play(run, folder, way)
        return first_differences(frames_of(os.path.join(folder, "sluice")), frames_of(OpenVswitch.out(self.folder, number)))


def judge(plan, run, ours, theirs):
    """(lines to print, True if the run is as it should be)"""
    if isinstance(ours, Refused):
        return [str(ours)], False
    plan.note(run, ours, theirs)
    lines = compare(ours, theirs, plan.less(run))
    if run.difference is None:
        return lines, not lines
    return ["listed, but Open vSwitch does the same: take it off differences.json"] if not lines else [], bool(lines)


def ways_of(run, captures, quick):
    """Each flow file is played in all ways, half of them on each capture where there are two; listed differences show in one."""
    if quick or run.difference is not None:
        return WAYS[:1]
    if len(captures) == 1:
        return WAYS
    return WAYS[:2] if "on generated" in run.name else WAYS[2:]


def named_for_nothing(plan, sluice, live, folder):
    """The flow files and frames of differences.json that need not be there, in words."""
    differ, played = collections.defaultdict(set), collections.defaultdict(set)
    for run in plan.runs:
        found = culprits(run, sluice, WAYS[0], live, folder, plan.less(run), most=len(run.frames))
        print("%s: %s" % (run.name, ", ".join(name for name, _ in found) or "no difference"), flush=True)
        played[run.difference["id"]] |= {name for name, _ in run.frames}
        differ[run.difference["id"]] |= {name for name, _ in found}
        if found:
            differ[run.difference["id"]].add(stem(run))
    lines = []
    for difference in plan.differences:
        known = differ[difference["id"]]
        lines += ["difference %r names %s for nothing" % (difference["id"], name) for name in difference.get("flows", ()) if name not in known]
        lines += ["difference %r: frame %s differs nowhere" % (difference["id"], name) for name in sorted(played[difference["id"]] - known)]
    return lines


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--sluicectl", required=True)
    ap.add_argument("--shared", default=os.environ.get("SLUICE_SHARED", os.path.join(HERE, "..", "..", "..", "shared")))
    ap.add_argument("--record", action="store_true", help="renew recorded/ and end")
    ap.add_argument("--explain", action="store_true", help="find the first few frames that make a difference by themselves")
    ap.add_argument("--only", help="flow files whose name contains this")
    ap.add_argument("--all", action="store_true", help="flow files of unwired.txt too")
    ap.add_argument("--needed", action="store_true", help="only see whether differences.json names something for nothing")
    ap.add_argument("--quick", action="store_true", help="bursts of 32 with the flow cache only")
    args = ap.parse_args()

    with open(os.path.join(HERE, "differences.json")) as f:
        differences = json.load(f)
    captures = {"generated": (make_capture.frames(), [1, 2])}
    ovs, record = OpenVswitch(args.shared), Record()
    live = ovs.there()
    if live and not args.record:
        captures["shared"] = (shared_frames(os.path.join(args.shared, "data", "captures")), [1])
    elif args.record and not live:
        raise SystemExit("--record needs root, Open vSwitch and %s" % ovs.script)
    with open(os.path.join(HERE, "unwired.txt")) as f:
        unwired = [] if args.all else f.read().split()
    plan = Plan(captures, differences, args.only, unwired, args.needed)
    with tempfile.TemporaryDirectory(prefix="sluice-oracle-") as folder:
        if args.needed:
            with ovs.live() as alone, LiveSluice(args.sluicectl) as sluice:
                lines = named_for_nothing(plan, sluice, alone, folder)
            print("\n".join(lines))
            return 1 if lines else 0
        if args.record:
            record.write(plan.runs, ovs.finish(ovs.start(plan.runs, folder), plan.runs, folder))
            return 0
        try:
            with ovs.live() as alone:  # starts when it is first asked to play
                return play_all(args, plan, ovs if live else None, alone, record, folder)
        except Refused as e:
            raise SystemExit(str(e)) from e


def play_all(args, plan, ovs, alone, record, folder):
    failed, runs = 0, plan.runs
    player = Player(Sluice(args.sluicectl), folder)
    playing = ovs.start(runs, folder) if ovs else None
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        jobs = [(i, run, way, pool.submit(player.play, i, run, way)) for i, run in enumerate(runs) for way in ways_of(run, plan.captures, args.quick)]
    theirs = ovs.finish(playing, runs, folder) if ovs else [record.read(run) for run in runs]
    for i, run, way, ours in jobs:
        ours = ours.result()
        if not ovs and isinstance(ours, Result):
            ours = Record.short(ours)
        lines, good = judge(plan, run, ours, theirs[i])
        print("%s: %s, %s, %d frames" % ("ok" if good else "FAILED", run.name, way.name, len(run.frames) * len(run.inputs)))
        if not good:
            failed += 1
            if ovs and isinstance(ours, Result) and run.difference is None:
                lines += player.show(i, run, way)
                if args.explain:
                    lines += ["frame %s: %s" % (name, data[:80].hex()) for name, data in culprits(run, player.sluice, way, alone, folder, plan.less(run))]
            print("\n".join("    " + line for line in lines), flush=True)
    wrong = plan.not_shown() + never_hit(runs, theirs) if ovs else []
    for run, their in zip(runs, theirs) if ovs else ():
        if "on generated" in run.name and record.read(run) != Record.short(their):
            wrong.append("%s: Open vSwitch no longer does what is recorded" % run.name)
    print("".join("FAILED: %s\n" % line for line in wrong), end="")
    failed += len(wrong)
    print("%d runs of Sluice against %s, %d failed" % (len(jobs), "Open vSwitch" if ovs else "what Open vSwitch did when it was recorded", failed))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
