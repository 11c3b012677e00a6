#!/usr/bin/env python3
"""Plays random flows on random packets through Sluice and through Open vSwitch, and shows the least that differs.

    random_pairs.py --sluicectl PATH [--shared DIR] [--seed N] [--pairs N] [--without RULE ...] [--less FEATURE ...] [--keep DIR]

Pair i of seed N is that of seed N+i with one pair, so that each can be played again by itself. Sluice plays each in one of its ways
(players.WAYS), Open vSwitch in its only one; frames, their order and all counters must be the same. What Open vSwitch is
known to do otherwise is kept out by rules (random_flows.RULES); --without lets it in again.

A difference is made smaller by leaving out packets, flows and actions for as long as it stays, and then printed.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import players
import random_flows
from live_sluice import LiveSluice, why_not as why_not_live

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
AHEAD = 2  # pairs that Sluice plays while Open vSwitch plays another


class Table:
    """Plays pairs through both."""

    def __init__(self, sluice, ovs, folder):
        self.sluice, self.ovs, self.folder = sluice, ovs, folder
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())

    def begin(self, pair, way, name="pair"):
        """Lets Sluice play, of which most is waiting; `end` says what came of it."""
        folder = os.path.join(self.folder, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        run = players.Run(name, pair.write(os.path.join(folder, "random")), pair.frames, [1, 2])
        return pair, run, folder, self.pool.submit(self.sluice.play, run, folder, way)

    def differs(self, pair, way):
        return self.end(*self.begin(pair, way))

    def end(self, pair, run, folder, ours):
        """What differs, in words; "refused" lines where a switch takes no part."""
        try:
            theirs = self.ovs.play(run, folder)
        except players.Refused as e:
            ours.exception()
            return ["refused: %s" % e]
        try:
            ours = ours.result()
        except players.Refused as e:
            return ["refused: %s" % e]
        less = {cookie: "bytes" for cookie in ours.flows} if pair.recirculates() else {}
        lines = players.compare(ours, theirs, less if "recirculated-bytes" not in self.without else {})
        if lines:
            lines += players.first_differences(players.frames_of(os.path.join(folder, "sluice")), players.frames_of(os.path.join(folder, "ovs")))
        return lines

    without = ()


def kind_of(lines):
    """What must stay the same while a pair is made smaller: who refuses and why, but for paths, which differ each time."""
    return bool(lines) and (re.sub(r"/\S+", "", lines[0].split("\n")[-2 if lines[0].endswith("\n") else -1]) if lines[0].startswith("refused") else "differs")


def smaller(items, still):
    """A part of the list with which `still` is true as with the whole: halves, quarters and so on are left out for as long as that goes."""
    size = max(1, len(items) // 2)
    while True:
        at = 0
        while at < len(items):
            part = items[:at] + items[at + size :]
            if still(part):
                items = part
            else:
                at += size
        if size == 1:
            return items
        size = max(1, size // 2)


def minimised(pair, table, way, wanted):
    """The pair with as little in it as makes the same kind of difference."""
    make = random_flows.Pair

    def still(frames=None, flows=None, groups=None):
        smaller_pair = make(frames if frames is not None else pair.frames, flows if flows is not None else pair.flows, groups if groups is not None else pair.groups, pair.meters)
        return kind_of(table.differs(smaller_pair, way)) == wanted

    pair.frames = smaller(pair.frames, lambda frames: still(frames=frames))
    pair.flows = smaller(pair.flows, lambda flows: still(flows=flows))
    for flow in pair.flows:
        for part in ("actions", "match"):
            before = getattr(flow, part)

            def part_does(items):
                setattr(flow, part, items)
                return still()

            setattr(flow, part, smaller(before, part_does))
    pair.groups = smaller(pair.groups, lambda groups: still(groups=groups))
    return pair


def show(seed, way, pair, lines):
    print("seed %d, %s:" % (seed, way.name))
    print("".join("    %s\n" % line for i, flow in enumerate(pair.flows, 1) for line in [flow.text(i)]), end="")
    print("".join("    %s\n" % line for line in pair.groups + pair.meters), end="")
    print("".join("    %s %s\n" % frame for frame in [(name, data.hex()) for name, data in pair.frames]), end="")
    print("\n".join("  " + line for line in lines), flush=True)


def play(args, sluice, ovs, folder):
    table, failed, ended, hits = Table(sluice, ovs, folder), 0, 0, 0
    table.without = args.without
    begun = collections.deque()
    for seed in range(args.seed, args.seed + args.pairs + AHEAD):
        if seed < args.seed + args.pairs:
            rng = random.Random(seed)
            way = rng.choice(players.WAYS)
            begun.append((seed, way, table.begin(random_flows.Generator(rng, args.without, args.less).pair(), way, "seed-%d" % seed)))
        if seed < args.seed + AHEAD:
            continue
        now, way, playing = begun.popleft()
        pair, run, folder, _ = playing
        lines = table.end(*playing)
        if not lines:
            hits += sum(counters[0] > 0 for counters in players.flows_of(os.path.join(folder, "ovs")).values())
        elif lines == ["refused: Open vSwitch: it has ended"]:
            ended += 1
            print("seed %d, %s: Open vSwitch crashed" % (now, way.name), flush=True)
        else:
            failed += 1
            if args.keep:
                shutil.copytree(folder, os.path.join(args.keep, run.name), dirs_exist_ok=True)
            if not args.as_found:
                pair = minimised(pair, table, way, kind_of(lines))
                lines = table.differs(pair, way)
            show(now, way, pair, lines)
        shutil.rmtree(folder)
    print("seeds %d to %d: %d pairs of which %d differ; %d more crashed Open vSwitch; %d flows were hit" % (args.seed, args.seed + args.pairs - 1, args.pairs, failed, ended, hits))
    return failed, args.pairs - failed - ended, hits


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--sluicectl", required=True)
    ap.add_argument("--shared", default=os.environ.get("SLUICE_SHARED", os.path.join(HERE, "..", "..", "..", "shared")))
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--pairs", type=int, default=100)
    ap.add_argument("--without", action="append", default=[], choices=sorted(random_flows.RULES), help="leave this rule out")
    ap.add_argument("--less", action="append", default=[], choices=random_flows.FEATURES, help="flows that do not use this")
    ap.add_argument("--as-found", action="store_true", help="make no difference smaller")
    ap.add_argument("--keep", metavar="DIR", help="keep what differs here, as found")
    args = ap.parse_args()
    ovs = players.OpenVswitch(args.shared)
    if not ovs.there():
        print("skipped: needs root, Open vSwitch and %s" % ovs.script)
        return SKIPPED
    if missing := why_not_live():
        print("skipped: " + missing)
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="sluice-random-") as folder, ovs.live() as live, LiveSluice(args.sluicectl) as sluice:
        failed, agreed, hits = play(args, sluice, live, folder)
    # Pairs whose packets hit nothing would agree about nothing, and those that Open vSwitch did not live through agree about as much.
    return 1 if failed or hits < 3 * agreed or agreed < args.pairs * 0.99 else 0


if __name__ == "__main__":
    raise SystemExit(main())
