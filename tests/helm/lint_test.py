"""helm finds nothing wrong with the chart, with its defaults and with three sets of values."""
import chart


def main():
    chart.need_tools()
    for values in (None, *chart.VALUES):
        print(chart.run(chart.HELM, "lint", "--strict", chart.CHART, *chart.arguments(values)).stdout)
        rendered = chart.template(values).stdout
        assert "<no value>" not in rendered and "%!" not in rendered, "a template printed something wrong"
    refused = chart.run(chart.HELM, "template", "s", chart.CHART, "--kube-version", "1.26.0", check=False)
    assert refused.returncode and "1.27" in refused.stderr, "Kubernetes 1.26 has no stable gRPC probes"
    notes = chart.run(chart.HELM, "install", "--dry-run=client", "sluice", chart.CHART, "--set", "hostNetwork=true").stdout
    assert "WARNING: the API listens on port 9090 of every node" in notes, notes


if __name__ == "__main__":
    main()
