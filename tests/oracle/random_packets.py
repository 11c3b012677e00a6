"""Random well-formed packets of few addresses, ports and labels, so that flows made of one packet's fields hit others too.

packet(rng) gives a frame and its fields as a flow without prior rewriting sees them: {name in flow text: number}, where
"kind" says what is behind Ethernet and tags (ip, ipv6, arp, mpls or other), "tags" the VLAN tags' (VID, PCP), outermost first,
"frag" no, first or later. A field that the packet does not have is not there.

Of an MPLS stack the bottom label says what is below: IPv4 if it is even, else IPv6.
"""
import ipaddress

import make_capture as make

MACS = [make.MAC_A, make.MAC_B, make.MAC_C, bytes.fromhex("020000000101"), bytes.fromhex("020000000102")]
TO_MANY = [make.BROADCAST, bytes.fromhex("01005e000001"), bytes.fromhex("333300000001")]
IPV4 = ["192.0.2.1", "192.0.2.2", "192.0.2.77", "198.51.100.2", "10.1.1.1", "10.1.2.3", "10.200.0.1", "203.0.113.64", "224.0.0.1"]
IPV6 = ["2001:db8:1::1", "2001:db8:2::2", "2001:db8:2:3::4", "2001:db8:ffff::1", "fe80::1", "ff02::1", "fd00::5"]
PORTS = [1, 22, 53, 80, 443, 1024, 8080, 40000, 65535]
VIDS, LABELS = [0, 5, 6, 100, 4094], [16, 17, 100, 101, 500, 501, 1048574, 1048575]
TTLS, CLASSES = [255, 64, 64, 64, 64, 2, 1], [0, 0, 0xB8, 0xB9, 0x03, 0x20]
TCP_FLAGS = [0x02, 0x12, 0x10, 0x18, 0x11, 0x14, 0x29, 0xC2]


def number(data):
    return int.from_bytes(data, "big")


def address(text):
    return int(ipaddress.ip_address(text))


def transport(rng, version, src, dst, fields):
    """The payload of an IP packet, with its protocol."""
    kind = rng.choice(["udp", "udp", "tcp", "tcp", "sctp", "icmp", "other"])
    body = bytes(rng.choice(b"abcdefgh") for _ in range(rng.choice([0, 1, 11, 25, 40])))
    if kind == "other":
        fields["nw_proto"] = rng.choice([47, 50, 89, 253])
        return b"\x11\x22" * 12
    if kind == "icmp":
        return icmp(rng, version, src, dst, fields)
    sport, dport = rng.choice(PORTS), rng.choice(PORTS)
    fields.update(nw_proto={"udp": make.UDP, "tcp": make.TCP, "sctp": make.SCTP}[kind], tp_src=sport, tp_dst=dport)
    if kind == "udp":
        return make.udp(sport, dport, body, src, dst, no_checksum=version == 4 and rng.random() < 0.1)
    if kind == "tcp":
        fields["tcp_flags"] = rng.choice(TCP_FLAGS)
        return make.tcp(sport, dport, body, src, dst, flags=fields["tcp_flags"], options=rng.choice([b"", b"\1\1\1\1"]))
    return make.sctp(sport, dport)


def icmp(rng, version, src, dst, fields):
    if version == 4:
        kind, code = rng.choice([(8, 0), (0, 0), (3, 1), (3, 3), (11, 0)])
        fields.update(nw_proto=make.ICMP, icmp_type=kind, icmp_code=code)
        return make.icmp(kind, code)
    kind, code = rng.choice([(128, 0), (129, 0), (1, 4), (3, 0), (135, 0), (135, 0), (136, 0)])
    fields.update(nw_proto=make.ICMPV6, icmp_type=kind, icmp_code=code)
    if kind not in (135, 136):
        return make.icmp6(kind, code, src=src, dst=dst)
    target, mac = rng.choice(IPV6), rng.choice(MACS)
    fields["nd_target"] = address(target)
    option = b""
    if rng.random() < 0.7:
        fields["nd_sll" if kind == 135 else "nd_tll"] = number(mac)
        option = make.nd_option(kind - 134, mac)
    return make.icmp6(kind, code, b"\0" * 4 + make.address(target) + option, src, dst)


def ports_gone(fields):
    for name in ("tp_src", "tp_dst", "tcp_flags", "icmp_type", "icmp_code", "nd_target", "nd_sll", "nd_tll"):
        fields.pop(name, None)


def ipv4(rng, fields):
    src, dst, ttl, tos = rng.choice(IPV4[:7]), rng.choice(IPV4), rng.choice(TTLS), rng.choice(CLASSES)
    fields.update(kind="ip", nw_src=address(src), nw_dst=address(dst), nw_ttl=ttl, ip_dscp=tos >> 2, nw_ecn=tos & 3, frag="no")
    payload, frag = transport(rng, 4, src, dst, fields), 0
    if rng.random() < 0.15:
        fields["frag"] = rng.choice(["first", "later"])
        frag = 0x2000 if fields["frag"] == "first" else rng.choice([0x2003, 0x0005])
        if fields["frag"] == "later":
            ports_gone(fields)
    return make.ip4(fields["nw_proto"], payload, src, dst, ttl=ttl, tos=tos, frag=frag, options=rng.choice([b"", b"", b"", b"\x94\x04\0\0"]))


def ipv6(rng, fields, atomic):
    src, dst, ttl, tos = rng.choice(IPV6), rng.choice(IPV6), rng.choice(TTLS), rng.choice(CLASSES)
    label = rng.choice([0, 0, 0x12345, 0xABCDE])
    fields.update(kind="ipv6", ipv6_src=address(src), ipv6_dst=address(dst), nw_ttl=ttl, ip_dscp=tos >> 2, nw_ecn=tos & 3, ipv6_label=label, frag="no")
    payload = transport(rng, 6, src, dst, fields)
    proto, chance = fields["nw_proto"], rng.random()
    if chance < 0.15:
        payload = make.option6(proto) + payload
        proto = rng.choice([make.HOP_BY_HOP, make.DESTINATION])
    elif chance < 0.3:
        kind = rng.choice(["first", "later"] + ["no"] * atomic)
        payload = make.frag6(proto, {"first": 1, "later": 24, "no": 0}[kind]) + payload
        proto, fields["frag"] = make.FRAGMENT, kind
        if kind == "later":
            ports_gone(fields)
            fields["nw_proto"] = make.FRAGMENT
    return make.ip6(proto, payload, src, dst, ttl, tos, label)


def arp(rng, fields):
    op, spa, tpa, sha, tha = rng.choice([1, 1, 2]), rng.choice(IPV4[:7]), rng.choice(IPV4[:7]), rng.choice(MACS), rng.choice(MACS + [b"\0" * 6])
    fields.update(kind="arp", arp_op=op, arp_spa=address(spa), arp_tpa=address(tpa), arp_sha=number(sha), arp_tha=number(tha))
    return make.arp(op, spa, tpa, sha, tha)


def mpls(rng, fields):
    inner = {}
    even = rng.random() < 0.6
    payload = ipv4(rng, inner) if even else ipv6(rng, inner, False)
    stack, depth = [], rng.choice([1, 1, 1, 2, 3])
    for i in range(depth):
        bottom = i == depth - 1
        value = rng.choice([v for v in LABELS if not bottom or v % 2 != even])
        stack.append((value, rng.choice([0, 3, 7]), bottom, rng.choice(TTLS)))
    fields.update(kind="mpls", below=inner, mpls_label=stack[0][0], mpls_tc=stack[0][1], mpls_bos=int(stack[0][2]), mpls_ttl=stack[0][3])
    return b"".join(make.label(*entry) for entry in stack) + payload


def packet(rng, atomic=False):
    """`atomic`: IPv6 packets whose fragment header says that they are whole are among them."""
    fields = {"tags": [(rng.choice(VIDS), rng.choice([0, 0, 1, 5, 7])) for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]}
    src, dst = rng.choice(MACS), rng.choice(MACS + MACS + TO_MANY)
    fields.update(dl_src=number(src), dl_dst=number(dst))
    kind = rng.choice(["ip"] * 8 + ["ipv6"] * 6 + ["arp"] * 2 + ["mpls"] * 4 + ["other"])
    if kind == "ip":
        fields["dl_type"], payload = 0x0800, ipv4(rng, fields)
    elif kind == "ipv6":
        fields["dl_type"], payload = 0x86DD, ipv6(rng, fields, atomic)
    elif kind == "arp":
        fields["dl_type"], payload = 0x0806, arp(rng, fields)
    elif kind == "mpls":
        fields["dl_type"], payload = rng.choice([0x8847, 0x8847, 0x8848]), mpls(rng, fields)
    else:
        fields["dl_type"], payload = rng.choice([0x88B5, 0x88CC]), bytes([rng.randrange(256)]) * 46
        fields["kind"] = "other"
    tags = [(0x88A8 if i == 0 and len(fields["tags"]) == 2 and rng.random() < 0.5 else 0x8100, pcp << 13 | vid) for i, (vid, pcp) in enumerate(fields["tags"])]
    return make.eth(fields["dl_type"], payload, dst, src, tags), fields
