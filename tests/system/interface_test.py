"""Ports on existing interfaces, through AF_PACKET on veth pairs: ping always, TCP once the far end fills checksums itself."""
import os

import lab


def veth(stack, namespace, number, address):
    """A veth pair with one end in the namespace; gives the port on the other end."""
    near, far = "sl%d-%d" % (os.getpid() % 1000000, number), "far%d" % number
    lab.sh("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", namespace.name)
    stack.callback(lab.sh, "ip", "link", "del", near, check=False)
    lab.sh("sh", "-c", lab.NO_IPV6, "sh", near)
    # The kernel goes on living on this end too: it must not answer for an address that is this machine's elsewhere.
    lab.sh("sh", "-c", "echo 8 > /proc/sys/net/ipv4/conf/$1/arp_ignore", "sh", near)
    lab.sh("ip", "link", "set", near, "up")
    namespace.configure(far, address)
    namespace.interface = far
    return {"name": "p%d" % number, "number": number, "interface": {"interface": near}}


def test(stack):
    a, b = stack.enter_context(lab.Namespace("a")), stack.enter_context(lab.Namespace("b"))
    ports = [veth(stack, a, 1, "203.0.113.1/24"), veth(stack, b, 2, "203.0.113.2/24")]
    switch = stack.enter_context(lab.Switch(ports))
    lab.connect(switch)
    print("ping: %.0f us" % lab.ping(a, "203.0.113.2"))
    for namespace in (a, b):
        namespace.run("ethtool", "-K", namespace.interface, "tx", "off")
    print("TCP: " + lab.tcp(a, b, "203.0.113.2", megabytes=2))


lab.main(test)
