#!/usr/bin/env python3
"""Draws the dashboard from real data into docs/dashboard.png: tests/metrics/picture/picture.py [SECONDS]

A real switch forwards while flows come and go and a port is switched off and on, a real Prometheus scrapes it, and Chromium draws the
dashboard's JSON with Grafana's own widgets. Run by hand: it needs chromium, npm and its registry, and the tools of tests/helm.
"""
import json
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import switch  # noqa: E402
from switch import chart  # noqa: E402

FILES = ("package.json", "package-lock.json", ".npmrc", "page.jsx")
BROWSER = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
           "--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=1", "--virtual-time-budget=20000")
WIDTH, HEIGHT = 1456, 2500


def bundle():
    """The folder with the page and Grafana's widgets, as one script and one style sheet."""
    folder = os.path.join(chart.BUILD, "dashboard-picture")
    os.makedirs(folder, exist_ok=True)
    for name in FILES:
        shutil.copy(os.path.join(HERE, name), folder)
    if not os.path.exists(os.path.join(folder, "node_modules")):
        chart.run("npm", "ci", "--ignore-scripts", "--prefer-offline", cwd=folder, timeout=900)
    chart.run("node_modules/.bin/esbuild", "page.jsx", "--bundle", "--minify", "--outfile=page.js", "--loader:.ttf=empty",
              '--define:process.env.NODE_ENV="production"', cwd=folder, timeout=300)
    return folder


def live(sluice, seconds):
    """Traffic is steady; what happens to it is not."""
    end = time.monotonic() + seconds
    steps = [("flow", "delete", "priority=10,ip,nw_dst=10.1.0.0/16", "--strict"), ("flow", "add", switch.FLOWS.split("\n")[0]), ("port", "enable", "off"), ("port", "disable", "off")]
    while time.monotonic() < end:
        for step in steps:
            time.sleep(seconds / 12)
            sluice.ctl(*step)


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    chart.need_tools()
    chart.need("prometheus", "chromium", "npm")
    built = bundle()
    with open(os.path.join(chart.CHART, "dashboards", "sluice.json")) as f:
        dashboard = json.load(f)
    rules = chart.one(chart.render(("production", []))[0], "PrometheusRule")["spec"]
    with tempfile.TemporaryDirectory() as folder:
        sluice = switch.Switch(folder, "{flows: 16, masks_per_table: 8}")
        prometheus = switch.Prometheus(folder, sluice.port, rules)
        with prometheus.running(), sluice.running():
            live(sluice, seconds)
            picture = {"dashboard": dashboard, "prometheus": prometheus.url, "seconds": seconds}
            for name in ("page.js", "page.css"):
                shutil.copy(os.path.join(built, name), folder)
            page = switch.write(folder, "index.html", '<!DOCTYPE html><meta charset="utf-8"><link rel="stylesheet" href="page.css"><div id="root"></div><script>window.picture = %s</script><script src="page.js"></script>'
                                % json.dumps(picture).replace("</", "<\\/"))
            out = os.path.join(chart.ROOT, "docs", "dashboard.png")
            chart.run(*BROWSER, "--user-data-dir=" + os.path.join(folder, "browser"), "--window-size=%d,%d" % (WIDTH, HEIGHT), "--screenshot=" + out, "file://" + page, timeout=120)
            print(out)


if __name__ == "__main__":
    main()
