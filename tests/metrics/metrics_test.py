"""A real Prometheus scrapes a real switch with traffic; every expression of dashboard and alerts is answered with data.

The switch is full, drops for every reason and has a port that is down, so that the alerts fire for real.
"""
import json
import math
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import switch  # noqa: E402
from switch import chart  # noqa: E402

# Short, so that the test is. "Down" needs the switch to end, and "missed" a device that outruns the workers.
SETS = ["prometheusRule.%s=1s" % key for key in ("downFor", "portDownFor", "for")]
FIRE = {"SluicePortDown", "SluicePacketsDropped", "SluicePacketsWithoutFlow", "SluiceTransmitDrops", "SluiceFlowsNearlyFull", "SluiceMasksNearlyFull"}
REASONS = {"no_flow", "action_drop", "ttl", "no_such_port", "output_to_ingress", "malformed"}


def check_format(scrape):
    """promtool's linter: names, units, HELP, counters that end in _total."""
    done = chart.run("promtool", "check", "metrics", stdin=scrape, check=False)
    assert done.returncode == 0 and not (done.stdout + done.stderr).strip(), done.stdout + done.stderr
    samples = re.findall(r"^(\w+)", scrape, re.M)
    print("%d samples of %d metrics, all of them clean" % (len(samples), len(set(samples))))


def check_traffic(scrape):
    """All that the frames are made for happens."""
    dropped = {reason: float(v) for reason, v in re.findall(r'^sluice_packets_dropped_total\{reason="(\w+)"\} (\S+)', scrape, re.M)}
    silent = [reason for reason in REASONS if not dropped.get(reason)]
    assert not silent, "no drops for the reasons %s: %s" % (silent, dropped)
    lost = {(port, reason) for port, reason, v in re.findall(r'^sluice_port_transmit_dropped_packets_total\{port="(\w+)",reason="(\w+)"\} (\S+)', scrape, re.M) if float(v)}
    assert {("off", "down"), ("small", "mtu")} <= lost, lost


def dashboard_expressions(dashboard):
    """(where, expression) of all panels and variables, with what Grafana would put in for its own words."""
    for panel in dashboard["panels"]:
        assert panel["type"] == "row" or panel["targets"], panel["title"]
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "10s").replace("$job", ".*").replace("$node", ".*")
            assert "$" not in expression, expression
            yield panel["title"], expression
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            yield "variable " + variable["name"], 'count by (%s) (%s)' % (label, metric.replace("$job", ".*"))


def check_dashboard(prometheus, dashboard):
    silent, asked = [], 0
    for where, expression in dashboard_expressions(dashboard):
        asked += 1
        series = prometheus.query(expression)
        if not series or all(math.isnan(value) for _, value in series):
            silent.append("%s: %s" % (where, expression))
    assert not silent, "no data for\n" + "\n".join(silent)
    print("%d expressions of the dashboard have data" % asked)


def check_alerts(prometheus, rules):
    """The left side of each alert's comparison has data, whether it fires or not."""
    for rule in rules["groups"][0]["rules"]:
        expression, compared = re.subn(r" (==|>) [\d.]+$", "", rule["expr"])
        assert compared == 1, rule["expr"]
        assert prometheus.query(expression), "%s: no data for %s" % (rule["alert"], expression)
    switch.wait_for("alerts", lambda: prometheus.firing() >= FIRE, 30)
    assert prometheus.firing() == FIRE, prometheus.firing() ^ FIRE
    print("firing: " + " ".join(sorted(FIRE)))


def main():
    chart.need_tools()
    chart.need("prometheus", "promtool")
    for program in (chart.SLUICED, chart.SLUICECTL):
        if not os.path.exists(program):
            chart.skip("no %s: build it first" % program)
    rules = chart.one(chart.render(("production", SETS))[0], "PrometheusRule")["spec"]
    with open(os.path.join(chart.CHART, "dashboards", "sluice.json")) as f:
        dashboard = json.load(f)
    with tempfile.TemporaryDirectory() as folder:
        sluice = switch.Switch(folder)
        prometheus = switch.Prometheus(folder, sluice.port, rules)
        with prometheus.running():
            with sluice.running():
                switch.wait_for("ten seconds of samples", lambda: any(v >= 10 for _, v in prometheus.query("count_over_time(sluice_start_time_seconds[1m])")), 40)
                check_format(sluice.scrape())
                check_traffic(sluice.scrape())
                check_dashboard(prometheus, dashboard)
                check_alerts(prometheus, rules)
            switch.wait_for("SluiceDown", lambda: "SluiceDown" in prometheus.firing(), 30)
            print("firing after the end of the switch: SluiceDown")


if __name__ == "__main__":
    main()
