"""Wrong values are refused, by the schema or by the templates, and the message names what is wrong."""
import chart

# Values, what of them is wrong, and words of the message.
SCHEMA = [
    (None, "imgae.repository=x", "imgae"),
    (None, "config.workers.cout=2", "cout"),
    (None, "config.workers.count=0", "minimum"),
    (None, "config.workers.idle=lazy", "idle"),
    (None, "config.workers.rx_burst=64", "rx_burst"),
    (None, "config.workers.flow_cache_entries=16777217", "flow_cache_entries"),
    (None, "config.classifier.pruned_from=1", "pruned_from"),
    (None, "config.classifier.equal_priority=newest", "equal_priority"),
    (None, "config.classifier.mask_cache_entries=1048577", "mask_cache_entries"),
    (None, "config.classifier.resort_seconds=86401", "resort_seconds"),
    (None, "config.limits.masks_per_table=8193", "masks_per_table"),
    (None, "api.tcp.port=99999", "/api/tcp/port"),
    (None, "api.tcp.address=localhost", "/api/tcp/address"),
    (None, "metrics.podMonitor.interval=15", "interval"),
    (None, "hugePages.size=4Mi", "/hugePages/size"),
    (None, "hugePages.megabytes=1023", "multipleOf"),
    (None, "resources.limits.memory=lots", "memory"),
    (None, "resources.limits.hugepages-2Mi=1Gi", "hugepages-2Mi"),
    (None, "extraCapabilities={ALL}", "extraCapabilities"),
    (None, "probes.type=http", "/probes/type"),
    (None, "prometheusRule.tableFullRatio=90", "tableFullRatio"),
    (None, "securityContext.privileged=true", "securityContext"),
    ("embedded", "config.ports[0].tap=null", "ports/0"),
    ("embedded", "config.ports[0].devargs=net_null0", "ports/0"),
    ("embedded", "config.ports[0].name=two words", "ports/0/name"),
    ("embedded", "config.ports[0].tap.interface=longer-than-15-bytes", "interface"),
]
TEMPLATES = [
    (None, "extraCapabilities={BPF}", "extraCapabilities needs runAsRoot"),
    (None, "probes.type=grpc,api.tcp.enabled=false", "probes.type grpc needs api.tcp.enabled"),
    (None, "config.workers.cpus={2,3,4}", "names 3 CPUs for 1 workers"),
    (None, "pinning.enabled=true", "pinning needs resources.requests equal to resources.limits"),
    ("production", "resources.limits.cpu=3500m,resources.requests.cpu=3500m", "a whole number of CPUs"),
    ("production", "config.workers.count=3", "pinning needs 4 CPUs"),
    ("everything", "hugePages.megabytes=1536", "multiple of 1024"),
]


def main():
    chart.need_tools()
    for values, assignments, words in SCHEMA + TEMPLATES:
        done = chart.template(values, [assignments], check=False)
        assert done.returncode, "%s was accepted" % assignments
        assert words in done.stderr, "%s: no %r in %s" % (assignments, words, done.stderr)
    print("%d refused" % len(SCHEMA + TEMPLATES))


if __name__ == "__main__":
    main()
