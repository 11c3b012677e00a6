#!/usr/bin/env python3
"""Builds the image and runs it as the chart's pod would: same user, capabilities, mounts, seccomp and configuration.

    tests/image/image_test.py [--rootfs DIR] [--ccache DIR] [--skip-build]

Run by hand, as root: it takes a quarter of an hour, most of it the build. Needs buildah, podman, runc and jq (tools/install-deps
image), and the chart's tools in the build folder (ctest -R deploy_tools). --rootfs is a Debian 12 minbase as debootstrap makes it;
without it one is made. --ccache is a folder that keeps compiled objects between builds. The base image gets this machine's package
sources, so that the build reaches what the machine reaches.
"""
import argparse
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("helm", "system"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))
import chart  # noqa: E402
import lab  # noqa: E402

WORK = os.path.join(chart.BUILD, "image")
STORAGE = ("--root", os.path.join(WORK, "storage"), "--runroot", os.path.join(WORK, "run"))
IMAGE, BASE = "localhost/sluice:test", "localhost/debian:bookworm-slim"
RUNTIME = ("--runtime", os.path.join(HERE, "runc-like-kubelet"), "--cgroup-manager", "cgroupfs")
# Not every machine lets podman raise limits.
LIMITS = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096")
POD_USER = 10001
HEALTH = ("node", os.path.join(HERE, "health.mjs"))


def show(*command, **kw):
    print("+ " + " ".join(command), flush=True)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **kw)


def make_base(rootfs):
    os.makedirs(WORK, exist_ok=True)
    if rootfs is None:
        rootfs = os.path.join(WORK, "rootfs")
        if not os.path.exists(os.path.join(rootfs, "etc", "debian_version")):
            show("debootstrap", "--variant=minbase", "bookworm", rootfs)
    context = os.path.join(WORK, "base")
    shutil.rmtree(context, ignore_errors=True)
    apt = os.path.join(context, "apt")
    shutil.copytree("/etc/apt", apt, symlinks=True, ignore=shutil.ignore_patterns("auth.conf*"))
    with open(os.path.join(context, "Dockerfile"), "w") as out:
        out.write('FROM scratch\nADD rootfs.tar /\nADD apt /etc/apt\nCMD ["/bin/bash"]\n')
    show("tar", "-C", rootfs, "--exclude=./var/cache/apt/archives/*.deb", "--exclude=./dev/*", "--exclude=./etc/apt", "-cf", os.path.join(context, "rootfs.tar"), ".")
    show("buildah", *STORAGE, "bud", "--isolation", "chroot", "-t", BASE, context)


def build(ccache):
    volume = ["--volume", os.path.abspath(ccache) + ":/root/.cache/ccache"] if ccache else []
    show("buildah", *STORAGE, "bud", "--isolation", "chroot", "--layers", "--pull-never", *volume, "--build-arg", "BASE=" + BASE, "-t", IMAGE, chart.ROOT)


def image_megabytes(name):
    return round(json.loads(podman("image", "inspect", name))[0]["Size"] / 1e6)


def podman(*args, check=True, timeout=120):
    return lab.sh("podman", *STORAGE, *RUNTIME, *args, check=check, timeout=timeout)


class Pod:
    """The chart's container in a network namespace."""

    def __init__(self, namespace, objects, folder):
        self.namespace, self.folder = namespace, folder
        self.spec = chart.one(objects, "DaemonSet")["spec"]["template"]["spec"]
        self.container = self.spec["containers"][0]
        self.config = chart.config_of(objects)
        self.name = "sluice-%d" % os.getpid()

    def mounts(self):
        """What the kubelet would mount, from the pod's volumes."""
        volumes = {v["name"]: v for v in self.spec["volumes"]}
        for mount in self.container["volumeMounts"]:
            volume = volumes[mount["name"]]
            if "configMap" in volume:
                source = os.path.join(self.folder, "config")
                os.makedirs(source)
                with open(os.path.join(source, "sluice.yaml"), "w") as out:
                    out.write(self.config)
            elif "hostPath" in volume:
                source = volume["hostPath"]["path"]
                assert stat.S_ISCHR(os.stat(source).st_mode), source
            elif volume["emptyDir"]["medium"].startswith("HugePages"):
                source = "/dev/hugepages"
            else:
                source = os.path.join(self.folder, mount["name"])
                os.makedirs(source)
                os.chown(source, 0, self.spec["securityContext"].get("fsGroup", 0))
                os.chmod(source, 0o2777)
            yield "%s:%s%s" % (source, mount["mountPath"], ":ro" if mount.get("readOnly") else "")

    def start(self):
        security, pod = self.container["securityContext"], self.spec["securityContext"]
        args = ["--network", "ns:/run/netns/" + self.namespace.name, "--user", "%d:%d" % (pod["runAsUser"], pod["runAsGroup"])]
        if "fsGroup" in pod:
            args += ["--group-add", str(pod["fsGroup"])]
        args += ["--cap-drop=" + c for c in security["capabilities"]["drop"]] + ["--cap-add=" + c for c in security["capabilities"]["add"]]
        args += ["--security-opt=no-new-privileges"] if not security["allowPrivilegeEscalation"] else []
        args += ["--read-only", "--read-only-tmpfs=false"] if security["readOnlyRootFilesystem"] else []
        for mount in self.mounts():
            args += ["-v", mount]
        podman("run", "--pull=never", "--detach", "--name", self.name, *LIMITS, *args, IMAGE, *self.container["args"])

    def logs(self):
        done = subprocess.run(("podman", *STORAGE, *RUNTIME, "logs", self.name), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.stdout

    def exec(self, *command):
        return podman("exec", self.name, *command)

    def state(self):
        return json.loads(podman("inspect", self.name))[0]["State"]

    def capabilities(self):
        """Effective capabilities of the switch, as a set of bits."""
        with open("/proc/%d/status" % self.state()["Pid"]) as f:
            return {int(bits, 16) for bits in re.findall(r"^Cap(?:Prm|Eff|Bnd):\s*(\w+)", f.read(), re.M)}

    def serving(self):
        if not self.state()["Running"]:
            raise AssertionError("the container ended:\n" + self.logs())
        port = self.container["ports"][0]["containerPort"]
        done = subprocess.run(self.namespace.command(*HEALTH, "127.0.0.1:%d" % port), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode == 0

    def stop(self):
        """Seconds that SIGTERM took."""
        before = time.monotonic()
        podman("stop", "--time", "60", self.name)
        took = time.monotonic() - before
        assert self.state()["ExitCode"] == 0, "exit code %d\n%s" % (self.state()["ExitCode"], self.logs())
        return took

    def remove(self):
        podman("rm", "--force", "--time", "1", self.name, check=False)


def scrape(namespace, port):
    code = "import sys, urllib.request; sys.stdout.write(urllib.request.urlopen('http://127.0.0.1:%d/metrics', timeout=5).read().decode())" % port
    return namespace.run(sys.executable, "-c", code)


def forward(pod, namespace, a, b):
    """A ping through the switch by flows that sluicectl sets in the container; packets that the metrics then show."""
    for letter, peer, interface in ((1, a, "p1"), (2, b, "p2")):
        namespace.ip("link", "set", interface, "netns", peer.name)
        peer.configure(interface, "10.9.0.%d/24" % letter)
    pod.exec("sluicectl", "flow", "add", "priority=1,in_port=1,actions=output:2")
    pod.exec("sluicectl", "flow", "add", "priority=1,in_port=2,actions=output:1")
    pings = a.run("ping", "-c", "10", "-i", "0.05", "-w", "10", "10.9.0.2")
    print(pings.strip().split("\n")[-2])
    assert "10 received" in pings, pings
    metrics = scrape(namespace, pod.container["ports"][1]["containerPort"])
    received = {port: float(value) for port, value in re.findall(r'^sluice_port_receive_packets_total\{port="(\w+)"\} (\S+)', metrics, re.M)}
    print("received: %s" % received)
    assert received["p1"] >= 10 and received["p2"] >= 10, metrics
    print(pod.exec("sluicectl", "flow", "list").strip())


def scenario(title, sets, bits):
    print("=== " + title)
    objects = chart.render(("embedded", sets))[0]
    with tempfile.TemporaryDirectory() as folder, lab.Namespace("sw") as namespace, lab.Namespace("a") as a, lab.Namespace("b") as b:
        os.chmod(folder, 0o755)
        pod = Pod(namespace, objects, folder)
        try:
            before = time.monotonic()
            pod.start()
            lab.wait_for("the health service", pod.serving, 30)
            print("SERVING after %.1f s" % (time.monotonic() - before))
            assert pod.capabilities() == {bits}, "capabilities %s" % [hex(c) for c in pod.capabilities()]
            forward(pod, namespace, a, b)
            took = pod.stop()
            print("SIGTERM to the end: %.2f s" % took)
            assert took < 5
        finally:
            pod.remove()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rootfs")
    parser.add_argument("--ccache")
    parser.add_argument("--skip-build", action="store_true")
    options = parser.parse_args()
    reason = lab.why_not()
    if reason:
        chart.skip(reason)
    chart.need("buildah", "podman", "runc", "jq", group="image")
    chart.need_tools()
    if not options.skip_build:
        make_base(options.rootfs)
        build(options.ccache)
    print("image: %d MB, of which the base %d MB" % (image_megabytes(IMAGE), image_megabytes(BASE)))
    three = sum(1 << bit for bit in (12, 13, 14))  # NET_ADMIN, NET_RAW, IPC_LOCK
    scenario("user %d" % POD_USER, [], three)
    scenario("root", ["runAsRoot=true"], three)
    print("passed")


if __name__ == "__main__":
    main()
