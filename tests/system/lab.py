"""What the system tests are made of: network namespaces, a running sluiced, and traffic between the namespaces.

Everything has a name of its own, so that tests may run side by side, and goes away with its `with` block or exit stack.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("SLUICE_BUILD", os.path.join(HERE, "..", "..", "build", "release"))
SLUICED, SLUICECTL = os.path.join(BUILD, "server", "sluiced"), os.path.join(BUILD, "client", "sluicectl")
SKIPPED = 77
PEER = (sys.executable, os.path.join(HERE, "peer.py"))
# The kernel sends IPv6 router solicitations whenever it likes, and tests count packets.
NO_IPV6 = 'f=/proc/sys/net/ipv6/conf/$1/disable_ipv6; [ ! -e "$f" ] || echo 1 > "$f"'


def sh(*command, check=True, timeout=120):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout)
    if check and done.returncode:
        raise RuntimeError("%s: exit code %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout


def why_not():
    """What this machine lacks for network namespaces with TAP interfaces; None if nothing."""
    if os.geteuid() != 0:
        return "not root"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun"
    name = "sl%d-try" % os.getpid()
    try:
        sh("ip", "netns", "add", name)
        sh("ip", "netns", "del", name)
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except (RuntimeError, OSError) as e:
        return str(e).strip()
    return None


def main(test):
    """Runs test(stack) as a CTest test: exit code 0, 1 or, where the machine can't, 77."""
    reason = why_not()
    if reason:
        print("skipped: " + reason)
        sys.exit(SKIPPED)
    with contextlib.ExitStack() as stack:
        test(stack)
    print("passed")


def wait_for(what, condition, seconds=10):
    """Polls until condition() is true, and gives its value back."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("%s: not within %g s" % (what, seconds))
        time.sleep(0.05)


class Namespace:
    """A network namespace with at most one interface, which has an IPv4 address."""

    def __init__(self, letter):
        self.name = "sl%d-%s" % (os.getpid(), letter)

    def __enter__(self):
        sh("ip", "netns", "add", self.name)
        self.ip("link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        sh("ip", "netns", "del", self.name, check=False)

    def ip(self, *args):
        return self.run("ip", *args)

    def take(self, interface, address):
        """Moves an interface of ours in and brings it up."""
        sh("ip", "link", "set", interface, "netns", self.name)
        self.configure(interface, address)

    def configure(self, interface, address):
        self.run("sh", "-c", NO_IPV6, "sh", interface)
        self.ip("address", "add", address, "dev", interface)
        self.ip("link", "set", interface, "up")

    def command(self, *args):
        # Not `ip netns exec`, which remounts / and so can't be used in a chroot.
        return ("nsenter", "--net=/run/netns/" + self.name) + args

    def run(self, *args, **kw):
        return sh(*self.command(*args), **kw)

    def peer(self, *args, **kw):
        """Runs a traffic helper inside; see peer.py."""
        return self.run(*PEER, *map(str, args), **kw)

    def counter(self, interface, name):
        link = json.loads(self.ip("-s", "-j", "link", "show", "dev", interface))[0]["stats64"]
        return link[name[:2]][name[3:]]

    @contextlib.contextmanager
    def background(self, *args):
        """The same, beside us; ended with its block."""
        process = subprocess.Popen(self.command(*PEER, *map(str, args)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(10)
            process.stdout.close()


class Switch:
    """A sluiced of its own, on a private socket."""

    def __init__(self, ports, **config):
        self.ports, self.config = ports, config

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-test-")
        self.socket = os.path.join(self.folder.name, "sock")
        config = {"api": {"listen": ["unix://" + self.socket]}, "ports": self.ports, **self.config}
        path = os.path.join(self.folder.name, "sluiced.yaml")
        with open(path, "w") as f:
            json.dump(config, f)  # JSON is YAML
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        self.process = subprocess.Popen([SLUICED, "--config", path], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            wait_for("sluiced answers", self._answers, 30)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if kind:
            self.log.seek(0)
            print("sluiced said:\n" + self.log.read())
        self.log.close()
        self.folder.cleanup()

    def _answers(self):
        if self.process.poll() is not None:
            raise AssertionError("sluiced ended with %d" % self.process.returncode)
        return os.path.exists(self.socket) and subprocess.run(self._command("info"), capture_output=True).returncode == 0

    def _command(self, *args):
        return [SLUICECTL, "--address", "unix://" + self.socket, *args]

    def ctl(self, *args):
        return sh(*self._command(*args))

    def json(self, *args):
        return json.loads(sh(*self._command("-o", "json", *args)))

    def cpu_seconds(self):
        fields = open("/proc/%d/stat" % self.process.pid).read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tap(number):
    """A TAP port and its interface's name, which is no other test's."""
    name = "sl%d-%d" % (os.getpid() % 1000000, number)
    return {"name": "p%d" % number, "number": number, "tap": {"interface": name}}


def two_taps(stack, **config):
    """(switch, a, b): a switch whose TAP ports 1 and 2 are in namespaces a (203.0.113.1) and b (203.0.113.2). No flows."""
    a, b = stack.enter_context(Namespace("a")), stack.enter_context(Namespace("b"))
    ports = [tap(1), tap(2)]
    switch = stack.enter_context(Switch(ports, **config))
    for namespace, port, address in ((a, ports[0], "203.0.113.1/24"), (b, ports[1], "203.0.113.2/24")):
        namespace.interface = port["tap"]["interface"]
        namespace.take(namespace.interface, address)
    return switch, a, b


def connect(switch):
    switch.ctl("flow", "add", "in_port=1,actions=output:2")
    switch.ctl("flow", "add", "in_port=2,actions=output:1")


def ping(namespace, address, count=5, interval=0.05):
    """Average round trip in microseconds; fails if any answer is missing."""
    out = namespace.run("ping", "-q", "-c", str(count), "-i", str(interval), "-W", "2", address)
    if "%d received" % count not in out:
        raise AssertionError(out)
    return float(out.rsplit("= ", 1)[1].split("/")[1]) * 1000


def tcp(client, server, address, megabytes=4):
    """Sends that much through one TCP connection and back; fails if it does not come back as it went."""
    with server.background("tcp-echo", address, 5001) as process:
        assert process.stdout.readline() == "ready\n"
        return client.peer("tcp-check", address, 5001, megabytes).strip()
