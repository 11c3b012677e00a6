"""Ports come and go while a ping runs on, idle connections keep Prometheus from nothing; the end leaves nothing behind, on SIGTERM as on SIGINT."""
import os
import signal
import socket
import subprocess
import urllib.request

import lab


def links(namespace=None):
    return (namespace.run if namespace else lab.sh)("ip", "-o", "link", "show")


def ports_come_and_go(switch, a):
    command = a.command("ping", "-q", "-i", "0.02", "-c", "250", "-W", "2", "203.0.113.2")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as ping:
        rounds = 0
        while ping.poll() is None:
            name = lab.tap(3)["tap"]["interface"]
            switch.ctl("port", "add", "p3", "--number", "3", "--tap", name)
            assert name in links(), "port 3 has no interface"
            switch.ctl("port", "disable", "p3")
            switch.ctl("port", "delete", "p3")
            assert name not in links(), "the interface of port 3 stays"
            rounds += 1
        out = ping.stdout.read()
    assert "250 received" in out, out
    print("port added and removed %d times; %s" % (rounds, out.strip().splitlines()[-2]))
    assert rounds > 1


def names_of_others_are_left_alone(switch):
    """The interface of a port goes, and its name goes to another: closing the port must not take that down."""
    name = lab.tap(4)["tap"]["interface"]
    switch.ctl("port", "add", "p4", "--number", "4", "--tap", name)
    lab.sh("ip", "link", "delete", name)
    lab.sh("ip", "tuntap", "add", "dev", name, "mode", "tap")
    try:
        lab.sh("ip", "link", "set", name, "up")
        switch.ctl("port", "delete", "p4")
        assert ",UP" in lab.sh("ip", "-o", "link", "show", "dev", name), "another's interface is down"
    finally:
        lab.sh("ip", "link", "delete", name)


def disabled_port_is_silent(switch, a):
    for change, expected in (("disable", " 0 received"), ("enable", " 1 received")):
        switch.ctl("port", change, "p2")
        out = lab.sh(*a.command("ping", "-c", "1", "-W", "1", "203.0.113.2"), check=False)
        assert expected in out, "after %s: %s" % (change, out)


def ends(switch, number):
    switch.process.send_signal(number)
    code = switch.process.wait(60)
    assert code == 0, "ended with %d on %s" % (code, number.name)
    assert not os.path.exists(switch.socket), "its socket stays"
    assert not os.path.exists("/var/run/dpdk/sluice-%d" % switch.process.pid), "DPDK's folder stays"


def idle_connections_keep_nobody_out():
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = "127.0.0.1:%d" % free.getsockname()[1]
    with lab.Switch([], metrics={"listen": address}), lab.contextlib.ExitStack() as idle:
        for _ in range(8):
            idle.enter_context(socket.create_connection(address.rsplit(":", 1)))
        with urllib.request.urlopen("http://%s/metrics" % address, timeout=15) as scrape:
            assert b"sluice_packets_received_total" in scrape.read()


def test(stack):
    idle_connections_keep_nobody_out()
    for number in (signal.SIGTERM, signal.SIGINT):
        with lab.contextlib.ExitStack() as inner:
            switch, a, b = lab.two_taps(inner)
            lab.connect(switch)
            lab.ping(a, "203.0.113.2")
            if number == signal.SIGTERM:
                ports_come_and_go(switch, a)
                names_of_others_are_left_alone(switch)
                disabled_port_is_silent(switch, a)
            assert a.interface in links(a)
            ends(switch, number)
            assert a.interface not in links(a) and b.interface not in links(b), "its interfaces stay"
    print("nothing is left behind")


lab.main(test)
