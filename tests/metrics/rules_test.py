"""The chart's alert rules are valid, and each fires when it should and not otherwise: promtool with made-up series."""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helm"))
import chart  # noqa: E402

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "alerts_test.yaml")


def main():
    chart.need_tools()
    chart.need("promtool")
    rules = chart.one(chart.render(("production", []))[0], "PrometheusRule")["spec"]
    with open(TESTS) as f:
        tested = f.read()
    for rule in rules["groups"][0]["rules"]:
        assert "alertname: %s\n        exp_alerts" % rule["alert"] in tested, "no test lets %s fire" % rule["alert"]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rules.yaml"), "w") as out:
            json.dump(rules, out)
        shutil.copy(TESTS, folder)
        print(chart.run("promtool", "check", "rules", "rules.yaml", cwd=folder).stdout)
        print(chart.run("promtool", "test", "rules", os.path.basename(TESTS), cwd=folder).stdout)


if __name__ == "__main__":
    main()
