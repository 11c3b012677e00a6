"""Two namespaces behind TAP ports: ping, TCP, and VLAN tags that stay as they are."""
import lab

FRAME = "02000000000b02000000000a" + "%s" + "88b5" + "5a" * 46


def vlan_kept(a, b):
    frames = [FRAME % tags for tags in ("", "81006064", "81000005", "88a80014" + "81000005")]
    with b.background("receive", b.interface, 60) as receiver:
        assert receiver.stdout.readline() == "ready\n"
        a.peer("send", a.interface, *frames)
        for sent in frames:
            received = receiver.stdout.readline().strip()
            assert received == sent, "sent %s, received %s" % (sent, received)
    print("frames with no tag, one tag and two tags arrived byte for byte")


def test(stack):
    switch, a, b = lab.two_taps(stack)
    assert lab.sh(*a.command("ping", "-c", "1", "-W", "1", "203.0.113.2"), check=False).count(" 0 received"), "forwards without a flow"
    lab.connect(switch)
    print("ping: %.0f us" % lab.ping(a, "203.0.113.2"))
    print("TCP: " + lab.tcp(a, b, "203.0.113.2"))
    vlan_kept(a, b)
    # A flow of higher priority takes the connection away, and its deletion gives it back.
    switch.ctl("flow", "add", "priority=40000,icmp,actions=drop")
    assert lab.sh(*a.command("ping", "-c", "1", "-W", "1", "203.0.113.2"), check=False).count(" 0 received"), "drop does not drop"
    switch.ctl("flow", "delete", "icmp")
    lab.ping(a, "203.0.113.2")


lab.main(test)
