"""sluiced accepts the configuration that the chart renders."""
import os
import tempfile

import chart


def check(config):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sluice.yaml")
        with open(path, "w") as out:
            out.write(config)
        return chart.run(chart.SLUICED, "--config", path, "--check-config", check=False)


def main():
    chart.need_tools()
    if not os.path.exists(chart.SLUICED):
        chart.skip("no %s: build it first" % chart.SLUICED)
    renderings = [(values, []) for values in (None, *chart.VALUES)]
    for (values, _), objects in zip(renderings, chart.render(*renderings)):
        config = chart.config_of(objects)
        done = check(config)
        assert done.returncode == 0, "%s:\n%s\n%s" % (values, config, done.stderr)
        print("%s: accepted" % (values or "defaults"))
        # It is read to the end: what follows the last line is still refused.
        assert check(config + "\nporst: []\n").returncode == 3


if __name__ == "__main__":
    main()
