"""No packet vanishes: traffic both ways over TAP while flows come and go at random; then all counters must add up exactly.

What the kernel says it handed over and got back is compared with what the ports counted, that with what the workers counted,
and that with what the flows counted in all their lives. SLUICE_SOAK_SECONDS says for how long; 10 by default.
"""
import os
import random
import time

import lab

SECONDS = float(os.environ.get("SLUICE_SOAK_SECONDS", "10"))
PORTS = range(7000, 7016)
MATCHES = ["in_port=%d,udp,tp_dst=%d" % (i, p) for i in (1, 2) for p in PORTS]
ACTIONS = ["output:1", "output:2", "output:1,output:2", "all", "drop", "in_port", "dec_ttl,output:2", "output:9", "set_field:1->nw_ttl,dec_ttl,output:1"]


class Churn:
    """Adds, changes and deletes flows at random, and keeps the sum of what deleted flows had counted."""

    def __init__(self, switch, seed):
        self.switch, self.random, self.there, self.changes, self.deleted_packets = switch, random.Random(seed), set(), 0, 0

    def step(self):
        match, priority = self.random.choice(MATCHES), self.random.choice([100, 200])
        flow, self.changes = "priority=%d,%s" % (priority, match), self.changes + 1
        if flow in self.there and self.random.random() < 0.6:
            self.there.remove(flow)
            self.deleted_packets += deleted_packets(self.switch.json("flow", "delete", "--strict", flow))
        else:
            self.there.add(flow)
            self.switch.ctl("flow", "add", flow + ",actions=" + self.random.choice(ACTIONS))


def deleted_packets(reply):
    return int(reply["stats"]["packets"])


def settled(switch):
    """Totals once nothing moves any more."""
    before = switch.json("info")["totals"]
    while True:
        time.sleep(0.5)
        after = switch.json("info")["totals"]
        if after == before:
            return after
        before = after


def check(what, left, right):
    print("%-60s %9d %9d" % (what, left, right))
    assert left == right, what


def test(stack):
    switch, a, b = lab.two_taps(stack)
    switch.ctl("flow", "add", "priority=1000,arp,actions=all")
    for action, port in zip(ACTIONS, PORTS):
        switch.ctl("flow", "add", "priority=50,udp,tp_dst=%d,actions=%s" % (port, action))
    seed = random.SystemRandom().getrandbits(32)
    print("%g seconds, seed %d" % (SECONDS, seed))
    churn, end = Churn(switch, seed), time.monotonic() + SECONDS
    with a.background("udp", "203.0.113.2", SECONDS, *PORTS) as one, b.background("udp", "203.0.113.1", SECONDS, *PORTS) as two:
        while time.monotonic() < end:
            churn.step()
        one.wait(30)
        two.wait(30)
    totals = settled(switch)
    ports = {p["spec"]["number"]: {k: int(v) for k, v in p["stats"].items() if k != "transmit_drops"} for p in switch.json("port", "list")["ports"]}
    flows = switch.json("flow", "list")["flows"]
    received, drops = int(totals["received"]), {k: int(v) for k, v in totals["drops"].items()}
    print("%d flow changes, drops %s" % (churn.changes, drops))
    for number, namespace in ((1, a), (2, b)):
        check("port %d: read from the interface, received" % number, namespace.counter(namespace.interface, "tx_packets"), ports[number]["receive_packets"])
        got = namespace.counter(namespace.interface, "rx_packets") + namespace.counter(namespace.interface, "rx_dropped")
        check("port %d: sent, arrived at the interface" % number, ports[number]["transmit_packets"], got)
    check("received by ports, by workers", sum(p["receive_packets"] for p in ports.values()), received)
    check("received, forwarded and dropped", received, int(totals["forwarded"]) + sum(drops.values()))
    check("received, hits of all flows ever and misses", received, sum(int(f["stats"]["packets"]) for f in flows) + churn.deleted_packets + drops["no_flow"])
    assert received > 100 * SECONDS and churn.changes >= 5, "too little happened to mean anything"
    assert all(drops[reason] for reason in ("no_flow", "action_drop", "ttl", "output_to_ingress", "no_such_port")), drops


lab.main(test)
