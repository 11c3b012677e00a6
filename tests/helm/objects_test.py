"""The rendered objects are valid Kubernetes objects and say what the chart promises."""
import json

import chart

CAPABILITIES = ["NET_ADMIN", "NET_RAW", "IPC_LOCK"]


def check_validators():
    """A validator that lets everything pass would pass every test."""
    rendered = chart.template("embedded").stdout
    wrong = (("terminationGracePeriodSeconds:", "terminationGracePeriod:"), ("containerPort: 9090", "containerPort: many"),
             ("imagePullPolicy: IfNotPresent", "imagePullPolicy: 7"), ("sizeLimit: 16Mi", "sizeLimit: sixteen"), ("kind: Service\n", "kind: Servce\n"))
    assert all(right in rendered for right, _ in wrong)
    for (_, text), (_, problems) in zip(wrong, chart.validate(*(rendered.replace(*pair) for pair in wrong))):
        assert problems, "the validators do not see " + text


def check_security(found, root, capabilities):
    pod = chart.one(found, "DaemonSet")["spec"]["template"]["spec"]
    context = chart.container_of(found)["securityContext"]
    assert context["privileged"] is False and context["allowPrivilegeEscalation"] is False and context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {"drop": ["ALL"], "add": capabilities}, context
    assert pod["securityContext"].get("runAsNonRoot", False) is not root and pod["securityContext"]["runAsUser"] == (0 if root else 10001)
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False and chart.one(found, "ServiceAccount")["automountServiceAccountToken"] is False


def check_probes(found, probe):
    container = chart.container_of(found)
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        for key, value in probe.items():
            assert container[name][key] == value, (name, container[name])
    if "grpc" in probe:
        listen = "0.0.0.0:%d" % probe["grpc"]["port"]
        assert listen in chart.config_of(found), "the probe asks a port that nobody listens on"


def check_huge_pages(found, resource, amount, medium):
    resources = chart.container_of(found)["resources"]
    assert resources["requests"] == resources["limits"], "no Guaranteed pod: %s" % resources
    assert resources["limits"][resource] == amount, resources
    volumes = {v["name"]: v for v in chart.one(found, "DaemonSet")["spec"]["template"]["spec"]["volumes"]}
    assert volumes["hugepages"] == {"name": "hugepages", "emptyDir": {"medium": medium}}
    assert "huge_pages: demand" in chart.config_of(found)


def checksum(found):
    return chart.one(found, "DaemonSet")["spec"]["template"]["metadata"]["annotations"]["checksum/config"]


def main():
    chart.need_tools()
    check_validators()
    renderings = [(values, []) for values in (None, *chart.VALUES)]
    changes = ["config.workers.rx_burst=16", "api.tcp.port=9999", "prometheusRule.enabled=true", "api.tcp.enabled=false", "hostNetwork=true"]
    *rendered, burst, port, rule, no_tcp, host_network = chart.render(*renderings, *(("embedded", [change]) for change in changes))
    found = dict(zip((values for values, _ in renderings), rendered))
    kinds = {values: sorted(o["kind"] for o in objects) for values, objects in found.items()}
    core = ["ConfigMap", "DaemonSet", "NetworkPolicy", "Service", "ServiceAccount"]
    assert kinds[None] == kinds["embedded"] == core, kinds
    assert kinds["production"] == sorted(core + ["PodMonitor", "PrometheusRule"]), kinds
    assert kinds["everything"] == sorted(core + ["ConfigMap", "PodMonitor", "PrometheusRule"]), kinds
    # A change of the configuration restarts the pods; no other does.
    assert checksum(found["embedded"]) not in (checksum(burst), checksum(port)) and checksum(found["embedded"]) == checksum(rule)

    check_security(found["embedded"], False, CAPABILITIES)
    check_security(found["production"], True, CAPABILITIES)
    check_security(found["everything"], True, CAPABILITIES + ["BPF", "PERFMON"])
    check_probes(found["embedded"], {"grpc": {"port": 9090}})
    check_probes(found["everything"], {"exec": {"command": ["sluicectl", "info"]}})
    check_probes(no_tcp, {"exec": {"command": ["sluicectl", "info"]}})
    assert "hugepages" not in json.dumps(found["embedded"]) and "huge_pages: never" in chart.config_of(found["embedded"])
    check_huge_pages(found["production"], "hugepages-2Mi", "2048Mi", "HugePages-2Mi")
    check_huge_pages(found["everything"], "hugepages-1Gi", "2048Mi", "HugePages-1Gi")
    assert chart.container_of(found["production"])["resources"]["limits"]["cpu"] == "3"
    assert "/dev/net/tun" in json.dumps(found["embedded"]) and "/dev/net/tun" not in json.dumps(found["production"])
    assert chart.one(host_network, "DaemonSet")["spec"]["template"]["spec"]["hostNetwork"] is True
    dashboard = next(o for o in found["everything"] if "sluice.json" in o.get("data", {}))
    assert json.loads(dashboard["data"]["sluice.json"])["uid"] == "sluice"


if __name__ == "__main__":
    main()
