#!/usr/bin/env python3
"""Makes frames of every kind that the flow files look at, well-formed and not: make_capture.py OUT.pcap

frames() gives them with a name each, by which differences.json calls them. Always the same bytes. Addresses are from the
documentation ranges. Checksums are right unless the name says otherwise.
"""
import ipaddress
import struct
import sys

import pcap

MAC_A, MAC_B, MAC_C = (bytes.fromhex("02000000000" + c) for c in "abc")
BROADCAST = b"\xff" * 6
TCP, UDP, SCTP, ICMP, ICMPV6 = 6, 17, 132, 1, 58
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, NO_NEXT, DESTINATION = 0, 43, 44, 51, 59, 60
TEXT = b"the quick brown fox jumps"  # an odd number of bytes: checksums must pad


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def address(text):
    return ipaddress.ip_address(text).packed


def eth(kind, payload, dst=MAC_B, src=MAC_A, tags=()):
    """tags: (TPID, TCI), outermost first. `kind`: EtherType or 802.3 length."""
    return dst + src + b"".join(struct.pack("!HH", *t) for t in tags) + struct.pack("!H", kind) + payload


def llc(body, header=b"\x42\x42\x03"):
    return header + body


def snap(pid, payload, oui=b"\0\0\0"):
    return b"\xaa\xaa\x03" + oui + struct.pack("!H", pid) + payload


def arp(op, spa, tpa, sha=MAC_A, tha=b"\0" * 6, hw=1, proto=0x0800, hlen=6, plen=4):
    return struct.pack("!HHBBH", hw, proto, hlen, plen, op) + sha + address(spa) + tha + address(tpa)


def ip4(proto, payload, src="192.0.2.1", dst="198.51.100.2", ttl=64, tos=0, frag=0, options=b"", ihl=None, length=None, version=4, ident=7):
    header_bytes = 20 + len(options)
    fields = [version << 4 | (header_bytes // 4 if ihl is None else ihl), tos, header_bytes + len(payload) if length is None else length,
              ident, frag, ttl, proto, 0]
    header = struct.pack("!BBHHHBBH", *fields) + address(src) + address(dst) + options
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def ip6(proto, payload, src="2001:db8:1::1", dst="2001:db8:2::2", hops=64, traffic_class=0, label=0, length=None, version=6):
    first = version << 28 | traffic_class << 20 | label
    return struct.pack("!IHBB", first, len(payload) if length is None else length, proto, hops) + address(src) + address(dst) + payload


def option6(next_header, body=b"\x01\x04\0\0\0\0"):
    """A hop-by-hop or destination options header; by default 8 bytes of padding options."""
    return struct.pack("!BB", next_header, (len(body) + 2) // 8 - 1) + body


def frag6(next_header, offset_and_more, ident=0x1234):
    return struct.pack("!BBHI", next_header, 0, offset_and_more, ident)


def with_checksum(src, dst, proto, data, at):
    pseudo = address(src) + address(dst) + (struct.pack("!HH", proto, len(data)) if "." in src else struct.pack("!IHH", len(data), 0, proto))
    value = checksum(pseudo + data)
    if proto == UDP and value == 0:
        value = 0xFFFF
    return data[:at] + struct.pack("!H", value) + data[at + 2 :]


def udp(sport, dport, payload=TEXT, src="192.0.2.1", dst="198.51.100.2", no_checksum=False):
    data = struct.pack("!HHHH", sport, dport, 8 + len(payload), 0) + payload
    return data if no_checksum else with_checksum(src, dst, UDP, data, 6)


def tcp(sport, dport, payload=TEXT, src="192.0.2.1", dst="198.51.100.2", flags=0x18, options=b""):
    """flags: all twelve bits, the reserved ones and NS included."""
    words = 5 + len(options) // 4
    data = struct.pack("!HHIIHHHH", sport, dport, 1000, 2000, words << 12 | flags, 8192, 0, 0) + options + payload
    return with_checksum(src, dst, TCP, data, 16)


def sctp(sport, dport, payload=b"\x03\0\0\x10" + b"\0" * 12):
    header = struct.pack("!HHI", sport, dport, 0x01020304)
    return header + struct.pack("<I", crc32c(header + b"\0" * 4 + payload)) + payload


def icmp(kind, code, rest=b"\0\1\0\2" + TEXT):
    data = struct.pack("!BBH", kind, code, 0) + rest
    return data[:2] + struct.pack("!H", checksum(data)) + data[4:]


def icmp6(kind, code, rest=b"\0\1\0\2" + TEXT, src="2001:db8:1::1", dst="2001:db8:2::2"):
    return with_checksum(src, dst, ICMPV6, struct.pack("!BBH", kind, code, 0) + rest, 2)


def label(value, tc=0, bottom=True, ttl=64):
    """An entry of an MPLS label stack."""
    return struct.pack("!I", value << 12 | tc << 9 | bottom << 8 | ttl)


def mpls(labels, payload, kind=0x8847, **kw):
    return eth(kind, b"".join(labels) + payload, **kw)


def nd_option(kind, body):
    """A neighbour discovery option; its length counts words of 8 bytes."""
    return struct.pack("!BB", kind, (len(body) + 2) // 8) + body


def neighbour(kind, target, options=b"", flags=0, hops=255, code=0, **kw):
    """A solicitation (135) or an advertisement (136)."""
    body = struct.pack("!I", flags << 29) + address(target) + options
    ends = {"src": kw.get("src", "2001:db8:1::1"), "dst": kw.get("dst", "2001:db8:2::2")}
    return ipv6(ICMPV6, icmp6(kind, code, body, **ends), hops=hops, **ends)


def ipv4(proto, payload, tags=(), dst_mac=MAC_B, **kw):
    return eth(0x0800, ip4(proto, payload, **kw), dst=dst_mac, tags=tags)


def ipv6(proto, payload, tags=(), **kw):
    return eth(0x86DD, ip6(proto, payload, **kw), tags=tags)


def udp6(sport, dport, payload=TEXT, src="2001:db8:1::1", dst="2001:db8:2::2"):
    return udp(sport, dport, payload, src, dst)


def tcp6(sport, dport, payload=TEXT, src="2001:db8:1::1", dst="2001:db8:2::2", flags=0x18):
    return tcp(sport, dport, payload, src, dst, flags)


def ethernet_frames():
    plain = ip4(UDP, udp(40000, 53))
    yield "udp", eth(0x0800, plain)
    yield "broadcast", eth(0x0800, plain, dst=BROADCAST)
    yield "multicast", eth(0x0800, plain, dst=bytes.fromhex("01005e000001"))
    yield "from-c", eth(0x0800, plain, src=MAC_C)
    yield "to-c", eth(0x0800, plain, dst=MAC_C)
    yield "experimental", eth(0x88B5, b"\x11" * 46)
    yield "header-only", eth(0x88B5, b"")
    yield "ipv4-header-only", eth(0x0800, b"")
    yield "bpdu", eth(38, llc(b"\0" * 43), dst=bytes.fromhex("0180c2000000"))
    yield "snap-ipv4", eth(8 + len(plain), snap(0x0800, plain))
    yield "snap-arp", eth(36, snap(0x0806, arp(1, "192.0.2.1", "192.0.2.2")))
    yield "snap-small-pid", eth(8 + len(plain), snap(0x0003, plain))
    yield "snap-other-oui", eth(8 + len(plain), snap(0x0800, plain, oui=b"\0\0\x0c"))
    yield "snap-cut", eth(5, b"\xaa\xaa\x03\0\0")
    yield "length-1500", eth(1500, llc(b"\0" * 1497))
    yield "type-0x05ff", eth(0x05FF, b"\0" * 46)
    yield "type-0x0600", eth(0x0600, b"\0" * 46)
    yield "jumbo", ipv4(UDP, udp(40000, 53, b"\x5a" * 8900))


def vlan_frames():
    plain = ip4(UDP, udp(40000, 53))
    for name, tags in (
        ("vid-5", [(0x8100, 5)]), ("vid-5-dei", [(0x8100, 0x1005)]), ("vid-0-pcp-1", [(0x8100, 0x2000)]), ("vid-0", [(0x8100, 0)]),
        ("vid-100-pcp-7", [(0x8100, 0xE064)]), ("vid-4094", [(0x8100, 4094)]), ("vid-4095-pcp-3", [(0x8100, 0x6FFF)]),
        ("vid-9-pcp-5", [(0x8100, 0xA009)]), ("service-vid-20", [(0x88A8, 20)]), ("two-tags", [(0x88A8, 0x2014), (0x8100, 5)]), ("two-customer-tags", [(0x8100, 0x6064), (0x8100, 0x2005)]),
        ("three-tags", [(0x88A8, 20), (0x8100, 100), (0x8100, 5)]), ("old-tpid", [(0x9100, 5)]),
    ):
        yield "vlan-" + name, eth(0x0800, plain, tags=tags)
    yield "vlan-arp", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2"), dst=BROADCAST, tags=[(0x8100, 5)])
    yield "vlan-ipv6", ipv6(UDP, udp6(40000, 53), tags=[(0x8100, 0xA005)])
    yield "vlan-two-tags-ipv6", ipv6(TCP, tcp6(40000, 443), tags=[(0x88A8, 20), (0x8100, 5)])
    yield "vlan-tcp", ipv4(TCP, tcp(40000, 80), tags=[(0x8100, 200)])
    yield "vlan-bpdu", eth(38, llc(b"\0" * 43), dst=bytes.fromhex("0180c2000000"), tags=[(0x8100, 5)])
    yield "vlan-snap", eth(8 + len(plain), snap(0x0800, plain), tags=[(0x8100, 5)])
    yield "vlan-cut", MAC_B + MAC_A + b"\x81\x00\x00"
    yield "vlan-tag-only", MAC_B + MAC_A + b"\x81\x00\x00\x05"
    yield "vlan-second-cut", MAC_B + MAC_A + b"\x81\x00\x00\x05\x81\x00\x00"


def arp_frames():
    yield "arp-request", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2"), dst=BROADCAST)
    yield "arp-request-other", eth(0x0806, arp(1, "192.0.2.1", "203.0.113.77"), dst=BROADCAST)
    yield "arp-reply", eth(0x0806, arp(2, "192.0.2.2", "192.0.2.1", sha=MAC_B, tha=MAC_A), dst=MAC_A, src=MAC_B)
    yield "arp-gratuitous", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.1"), dst=BROADCAST)
    yield "arp-rarp", eth(0x8035, arp(3, "0.0.0.0", "0.0.0.0"), dst=BROADCAST)
    yield "arp-op-3", eth(0x0806, arp(3, "192.0.2.1", "192.0.2.2"))
    yield "arp-op-257", eth(0x0806, arp(257, "192.0.2.1", "192.0.2.2"))
    yield "arp-probe", eth(0x0806, arp(1, "0.0.0.0", "192.0.2.9"), dst=BROADCAST)
    yield "arp-padded", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2") + b"\xee" * 18, dst=BROADCAST)
    yield "arp-bad-hw", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2", hw=6))
    yield "arp-bad-proto", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2", proto=0x0801))
    yield "arp-bad-hlen", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2", hlen=8))
    yield "arp-bad-plen", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2", plen=16))
    yield "arp-cut", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2")[:27])


def ipv4_frames():
    yield "tcp-syn", ipv4(TCP, tcp(40000, 80, b"", flags=2, options=b"\x02\x04\x05\xb4"))
    yield "tcp-data", ipv4(TCP, tcp(40000, 80))
    yield "tcp-reply", ipv4(TCP, tcp(80, 40000, src="198.51.100.2", dst="192.0.2.1"), src="198.51.100.2", dst="192.0.2.1", dst_mac=MAC_A)
    yield "tcp-padded", ipv4(TCP, tcp(40000, 80, b"")) + b"\xaa" * 6
    yield "tcp-long-tail", ipv4(TCP, tcp(40000, 8080)) + b"\xaa" * 300
    yield "tcp-port-0", ipv4(TCP, tcp(0, 0))
    yield "tcp-cut", ipv4(TCP, tcp(40000, 80, b"")[:12])
    yield "tcp-offset-4", ipv4(TCP, struct.pack("!HHIIBBHHH", 40000, 80, 1, 1, 0x40, 0x10, 8192, 0, 0))
    yield "tcp-offset-beyond", ipv4(TCP, struct.pack("!HHIIBBHHH", 40000, 80, 1, 1, 0xF0, 0x10, 8192, 0, 0))
    yield "udp-no-checksum", ipv4(UDP, udp(40000, 53, no_checksum=True))
    yield "udp-bad-checksum", ipv4(UDP, udp(40000, 53, no_checksum=True)[:6] + b"\x12\x34" + TEXT)
    yield "udp-port-0", ipv4(UDP, udp(0, 0))
    yield "udp-cut", ipv4(UDP, b"\x9c\x40\x00\x35\x00\x08")
    yield "udp-length-beyond", ipv4(UDP, struct.pack("!HHHH", 40000, 53, 500, 0) + TEXT)
    yield "udp-length-4", ipv4(UDP, struct.pack("!HHHH", 40000, 53, 4, 0) + TEXT)
    for port in (1000, 1023, 1024, 2047, 5353, 65535):
        yield "udp-to-%d" % port, ipv4(UDP, udp(40000, port))
    yield "sctp", ipv4(SCTP, sctp(5000, 36412))
    yield "sctp-cut", ipv4(SCTP, sctp(5000, 36412)[:10])
    for kind, code in ((8, 0), (0, 0), (3, 1), (3, 3), (5, 1), (11, 0)):
        yield "icmp-%d-%d" % (kind, code), ipv4(ICMP, icmp(kind, code))
    yield "icmp-cut", ipv4(ICMP, b"\x08\0\0\0")
    yield "gre", ipv4(47, b"\0\0\x65\x58" + b"\0" * 40)
    yield "proto-0", ipv4(0, b"\0" * 40)
    yield "proto-255", ipv4(255, b"\0" * 40)
    for ttl in (255, 2, 1, 0):
        yield "ttl-%d" % ttl, ipv4(UDP, udp(40000, 53), ttl=ttl)
    for tos in (0xB8, 0xB9, 0x03, 0x02, 0xFC, 0x20):
        yield "tos-%#04x" % tos, ipv4(UDP, udp(40000, 53), tos=tos)
    for dst in ("10.0.0.1", "10.1.0.1", "10.1.1.1", "10.1.1.129", "0.0.0.0", "255.255.255.255", "203.0.113.64", "224.0.0.1"):
        yield "to-" + dst, ipv4(UDP, udp(40000, 53, dst=dst), dst=dst)
    for src in ("10.9.8.7", "0.0.0.0", "0.1.2.3", "172.16.5.5"):
        yield "from-" + src, ipv4(UDP, udp(40000, 53, src=src), src=src)
    yield "options", ipv4(UDP, udp(40000, 53), options=b"\x94\x04\0\0\1\1\1\0")
    yield "options-like-a-port", ipv4(UDP, udp(40000, 9999), options=b"\x94\x04\0\x35\0\0\0\0")
    yield "options-40", ipv4(TCP, tcp(40000, 80), options=b"\1" * 40)
    yield "udp-checksum-ffff", ipv4(UDP, udp(40000, 53, _payload_for_zero_sum()))


def _payload_for_zero_sum():
    """A payload with which the UDP checksum comes out as 0, to be sent as 0xffff."""
    data = struct.pack("!HHHH", 40000, 53, 10, 0)
    pseudo = address("192.0.2.1") + address("198.51.100.2") + struct.pack("!HH", UDP, 10)
    return struct.pack("!H", checksum(pseudo + data))


def bad_ipv4_frames():
    good = ip4(TCP, tcp(40000, 80), dst="192.0.2.2")
    kw = {"dst": "192.0.2.2"}
    yield "bad-ihl-11", ipv4(TCP, b"\1" * 24, ihl=11, length=40, **kw)
    yield "bad-ihl-4", ipv4(TCP, tcp(40000, 80), ihl=4, **kw)
    yield "bad-ihl-beyond", eth(0x0800, ip4(TCP, b"", ihl=15, **kw))
    yield "bad-length-10", ipv4(TCP, tcp(40000, 80), length=10, **kw)
    yield "bad-length-beyond", ipv4(TCP, tcp(40000, 80), length=200, **kw)
    yield "bad-version-6", ipv4(TCP, tcp(40000, 80), version=6, **kw)
    yield "bad-version-5", ipv4(TCP, tcp(40000, 80), version=5, **kw)
    yield "bad-cut-header", eth(0x0800, good[:19])
    yield "bad-checksum", eth(0x0800, good[:10] + b"\x12\x34" + good[12:])
    yield "bad-vlan-length", ipv4(TCP, tcp(40000, 80), tags=[(0x8100, 5)], length=200, **kw)


def ipv4_fragments():
    datagram = udp(40000, 53, b"\x22" * 40)
    yield "frag-first", ipv4(UDP, datagram[:24], frag=0x2000)
    yield "frag-middle", ipv4(UDP, datagram[24:40], frag=0x2003)
    yield "frag-last", ipv4(UDP, datagram[40:], frag=0x0005)
    yield "frag-last-like-ports", ipv4(UDP, b"\x9c\x40\x00\x35" + b"\x22" * 12, frag=0x0003)
    yield "frag-last-zeros", ipv4(UDP, b"\0" * 16, frag=0x0003)
    yield "frag-first-short", ipv4(UDP, datagram[:4], frag=0x2000)
    yield "frag-tcp-first", ipv4(TCP, tcp(40000, 80, b"\x33" * 20), frag=0x2000)
    yield "frag-tcp-last", ipv4(TCP, b"\x33" * 40, frag=0x0005)
    yield "frag-icmp-last", ipv4(ICMP, b"\0" * 8, frag=0x0001)
    yield "frag-dont", ipv4(UDP, datagram, frag=0x4000)
    yield "frag-vlan-last", ipv4(UDP, b"\x22" * 8, frag=0x0005, tags=[(0x8100, 5)])


def ipv6_frames():
    yield "v6-udp", ipv6(UDP, udp6(40000, 53))
    yield "v6-tcp", ipv6(TCP, tcp6(40000, 443))
    yield "v6-tcp-cut", ipv6(TCP, tcp6(40000, 443, b"")[:14])
    yield "v6-udp-port-0", ipv6(UDP, udp6(0, 0))
    yield "v6-sctp", ipv6(SCTP, sctp(5000, 36412))
    yield "v6-padded", ipv6(UDP, udp6(40000, 53)) + b"\xaa" * 20
    for src, dst in (("fe80::1", "ff02::1"), ("2001:db8:1::1", "2001:db8:2:0:1::5"), ("2001:db8:ffff::1", "2001:db8:2::2"), ("::", "::1")):
        yield "v6-%s-to-%s" % (src, dst), ipv6(UDP, udp6(40000, 5353, src=src, dst=dst), src=src, dst=dst)
    for kind, code in ((1, 4), (128, 0), (129, 0), (133, 0), (134, 0)):
        yield "v6-icmp-%d-%d" % (kind, code), ipv6(ICMPV6, icmp6(kind, code))
    target = b"\0" * 4 + address("2001:db8:2::2")
    yield "v6-neighbour-solicitation", ipv6(ICMPV6, icmp6(135, 0, target + b"\1\1" + MAC_A), hops=255)
    yield "v6-neighbour-advertisement", ipv6(ICMPV6, icmp6(136, 0, target + b"\2\1" + MAC_B), hops=255)
    yield "v6-neighbour-cut", ipv6(ICMPV6, icmp6(135, 0, target[:10]), hops=255)
    yield "v6-neighbour-bad-option", ipv6(ICMPV6, icmp6(135, 0, target + b"\1\0" + MAC_A), hops=255)
    yield "v6-icmp-cut", ipv6(ICMPV6, b"\x80\0\0\0")
    for hops in (255, 2, 1, 0):
        yield "v6-hops-%d" % hops, ipv6(UDP, udp6(40000, 53), hops=hops)
    for traffic_class in (0xB8, 0xB9, 0x03, 0x02):
        yield "v6-class-%#04x" % traffic_class, ipv6(UDP, udp6(40000, 53), traffic_class=traffic_class, label=0x12345)
    yield "v6-no-next", ipv6(NO_NEXT, b"")
    yield "v6-gre", ipv6(47, b"\0\0\x65\x58" + b"\0" * 20)


def ipv6_extensions():
    datagram = udp6(40000, 53)
    yield "v6-hop-by-hop", ipv6(HOP_BY_HOP, option6(UDP) + datagram)
    yield "v6-destination", ipv6(DESTINATION, option6(UDP, b"\1\x0c" + b"\0" * 12) + datagram)
    routing = struct.pack("!BBBBI", UDP, 2, 0, 0, 0) + address("2001:db8:9::9")
    yield "v6-routing", ipv6(ROUTING, routing + datagram)
    yield "v6-authentication", ipv6(AUTHENTICATION, struct.pack("!BBHII", UDP, 1, 0, 1, 1) + datagram)
    yield "v6-chain", ipv6(HOP_BY_HOP, option6(DESTINATION) + option6(ROUTING) + struct.pack("!BBBBI", UDP, 0, 4, 0, 0) + datagram)
    yield "v6-hop-by-hop-cut", ipv6(HOP_BY_HOP, option6(UDP)[:1])
    yield "v6-hop-by-hop-beyond", ipv6(HOP_BY_HOP, struct.pack("!BB", UDP, 20) + b"\0" * 30)
    yield "v6-hop-by-hop-nothing", ipv6(HOP_BY_HOP, b"")
    yield "v6-esp", ipv6(50, b"\0" * 24)
    yield "v6-bad-length-beyond", ipv6(UDP, datagram, length=400)
    yield "v6-bad-length-short", ipv6(UDP, datagram, length=4)
    yield "v6-bad-version-4", ipv6(UDP, datagram, version=4)
    yield "v6-bad-cut-header", eth(0x86DD, ip6(UDP, b"")[:39])


def ipv6_fragments():
    datagram = udp6(40000, 53, b"\x22" * 40)
    yield "v6-frag-first", ipv6(FRAGMENT, frag6(UDP, 1) + datagram[:24])
    yield "v6-frag-middle", ipv6(FRAGMENT, frag6(UDP, 24 | 1) + datagram[24:40])
    yield "v6-frag-last", ipv6(FRAGMENT, frag6(UDP, 40) + datagram[40:])
    yield "v6-frag-last-like-ports", ipv6(FRAGMENT, frag6(UDP, 24) + b"\x9c\x40\x00\x35" + b"\x22" * 12)
    yield "v6-frag-atomic", ipv6(FRAGMENT, frag6(UDP, 0) + udp6(40000, 53))
    yield "v6-frag-behind-options", ipv6(HOP_BY_HOP, option6(FRAGMENT) + frag6(TCP, 1) + tcp6(40000, 443))
    yield "v6-frag-then-options", ipv6(FRAGMENT, frag6(DESTINATION, 0) + option6(UDP) + udp6(40000, 53))
    yield "v6-frag-first-options", ipv6(FRAGMENT, frag6(DESTINATION, 1) + option6(UDP) + udp6(40000, 53))
    yield "v6-frag-cut", ipv6(FRAGMENT, frag6(UDP, 1)[:5])
    yield "v6-frag-icmp-last", ipv6(FRAGMENT, frag6(ICMPV6, 8) + b"\0" * 8)


def stacked_tag_frames():
    plain = ip4(UDP, udp(40000, 53))
    for name, tags in (
        ("s-and-c", [(0x88A8, 0x601E), (0x8100, 0xA064)]), ("s-and-s", [(0x88A8, 30), (0x88A8, 21)]), ("c-and-c", [(0x8100, 30), (0x8100, 5)]),
        ("priority-and-c", [(0x8100, 0x4000), (0x8100, 7)]), ("c-and-priority", [(0x8100, 7), (0x8100, 0x4000)]), ("dei", [(0x88A8, 0x101E), (0x8100, 0x1005)]),
        ("old-and-c", [(0x9100, 30), (0x8100, 5)]), ("four", [(0x88A8, 31), (0x8100, 100), (0x8100, 5), (0x8100, 6)]),
    ):
        yield "stacked-" + name, eth(0x0800, plain, tags=tags)
    tags = [(0x88A8, 30), (0x8100, 5)]
    yield "stacked-tcp", ipv4(TCP, tcp(40000, 80), tags=tags)
    yield "stacked-arp", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2"), dst=BROADCAST, tags=tags)
    yield "stacked-icmp6", ipv6(ICMPV6, icmp6(128, 0), tags=tags)
    yield "stacked-frag-last", ipv4(UDP, b"\x22" * 8, frag=0x0005, tags=tags)
    yield "stacked-bpdu", eth(38, llc(b"\0" * 43), dst=bytes.fromhex("0180c2000000"), tags=tags)
    yield "stacked-experimental", eth(0x88B5, b"\x11" * 46, tags=tags)


def station_frames():
    """Stations that speak with each other, for switches that learn or know them."""
    stations = {n: bytes.fromhex("0200000001%02x" % n) for n in (1, 2, 3, 4)}
    for n, mac in stations.items():
        yield "station-%d-hello" % n, eth(0x88B5, bytes([n]) * 46, dst=BROADCAST, src=mac)
        yield "station-%d-hello-vid-5" % n, eth(0x88B5, bytes([n]) * 46, dst=BROADCAST, src=mac, tags=[(0x8100, 5)])
    for n, m in ((1, 2), (2, 1), (1, 3), (3, 4), (4, 4)):
        yield "station-%d-to-%d" % (n, m), eth(0x88B6, bytes([n, m]) * 23, dst=stations[m], src=stations[n])
        yield "station-%d-to-%d-vid-5" % (n, m), eth(0x88B6, bytes([n, m]) * 23, dst=stations[m], src=stations[n], tags=[(0x8100, 5)])
    yield "station-1-to-2-vid-6", eth(0x88B6, b"\x12" * 46, dst=stations[2], src=stations[1], tags=[(0x8100, 6)])
    yield "station-1-to-2-vid-0", eth(0x88B6, b"\x12" * 46, dst=stations[2], src=stations[1], tags=[(0x8100, 0x6000)])
    yield "station-1-to-9", eth(0x88B6, b"\x19" * 46, dst=bytes.fromhex("020000000109"), src=stations[1])


def more_arp_frames():
    yield "arp-same-sender", eth(0x0806, arp(1, "192.0.2.3", "192.0.2.4", sha=MAC_C), dst=BROADCAST, src=MAC_C)
    yield "arp-other-sender", eth(0x0806, arp(1, "192.0.2.1", "192.0.2.2", sha=MAC_C), dst=BROADCAST)
    yield "arp-reply-to-c", eth(0x0806, arp(2, "192.0.2.4", "192.0.2.3", sha=MAC_B, tha=MAC_C), dst=MAC_C, src=MAC_B)
    yield "arp-known-target", eth(0x0806, arp(1, "10.0.0.1", "10.0.0.2", tha=MAC_B))
    yield "arp-broadcast-target", eth(0x0806, arp(1, "10.0.0.1", "10.0.0.2", tha=BROADCAST))
    yield "arp-no-sender", eth(0x0806, arp(2, "10.0.0.1", "10.0.0.2", sha=b"\0" * 6, tha=MAC_A))
    yield "arp-op-0", eth(0x0806, arp(0, "192.0.2.1", "192.0.2.2"))
    yield "arp-op-255", eth(0x0806, arp(255, "192.0.2.1", "192.0.2.2"))


def mpls_frames():
    inner4, inner6 = ip4(UDP, udp(40000, 53)), ip6(UDP, udp6(40000, 53))
    web = ip4(TCP, tcp(40000, 80), ttl=33)
    yield "mpls-ipv4", mpls([label(100, 3)], inner4)
    yield "mpls-ipv6", mpls([label(200, 5, ttl=9)], inner6)
    yield "mpls-tcp", mpls([label(100, 0, ttl=77)], web)
    yield "mpls-two", mpls([label(100, 1, False, 30), label(200, 6, True, 40)], inner4)
    yield "mpls-two-ipv6", mpls([label(300, 1, False, 30), label(200, 6, True, 40)], inner6)
    yield "mpls-three", mpls([label(16, 7, False), label(100, 0, False), label(200)], inner4)
    yield "mpls-four", mpls([label(16, 0, False), label(17, 0, False), label(18, 0, False), label(19)], inner4)
    for ttl in (255, 2, 1, 0):
        yield "mpls-ttl-%d" % ttl, mpls([label(100, 0, True, ttl)], inner4)
    for value in (0, 1, 2, 3, 15, 16, 0x7FFFF, 0xFFFFF):
        yield "mpls-label-%d" % value, mpls([label(value)], inner6 if value == 2 else inner4)
    for tc in (1, 4, 7):
        yield "mpls-tc-%d" % tc, mpls([label(500, tc)], inner4)
    yield "mpls-multicast", mpls([label(100, 2)], inner4, kind=0x8848, dst=bytes.fromhex("01005e000001"))
    yield "mpls-multicast-two", mpls([label(100, 2, False), label(200)], inner4, kind=0x8848)
    yield "mpls-vlan", mpls([label(100, 3)], inner4, tags=[(0x8100, 0x6005)])
    yield "mpls-vlan-two", mpls([label(100, 3, False), label(200)], inner4, tags=[(0x8100, 5)])
    yield "mpls-two-tags", mpls([label(100, 3)], inner4, tags=[(0x88A8, 30), (0x8100, 5)])
    yield "mpls-arp", mpls([label(700)], arp(1, "192.0.2.1", "192.0.2.2"))
    yield "mpls-pseudowire", mpls([label(800)], b"\0\0\0\0" + eth(0x0800, inner4, dst=MAC_C))
    yield "mpls-frag-last", mpls([label(100)], ip4(UDP, b"\x22" * 16, frag=0x0003))
    yield "mpls-expired-inside", mpls([label(100)], ip4(UDP, udp(40000, 53), ttl=1))
    yield "mpls-nothing-inside", mpls([label(100)], b"")
    yield "mpls-bad-inside", mpls([label(100)], ip4(UDP, udp(40000, 53), version=5))
    yield "mpls-no-bottom", mpls([label(100, 0, False), label(200, 0, False)], b"")
    yield "mpls-cut", mpls([], b"\0\6\x41")
    yield "mpls-second-cut", mpls([label(100, 0, False)], b"\0\6")
    yield "mpls-none", mpls([], b"")


def neighbour_frames():
    target, other = "2001:db8:2::2", "2001:db8:1:0:a:b:c:d"
    source, destination = nd_option(1, MAC_A), nd_option(2, MAC_B)
    nonce = nd_option(14, b"\5" * 6)
    yield "nd-ask", neighbour(135, target, source, dst="ff02::1:ff00:2")
    yield "nd-ask-other", neighbour(135, other, nd_option(1, MAC_C), dst="ff02::1:ff0c:d")
    yield "nd-ask-without", neighbour(135, target)
    yield "nd-ask-unspecified", neighbour(135, target, src="::", dst="ff02::1:ff00:2")
    yield "nd-ask-nonce-first", neighbour(135, target, nonce + source)
    yield "nd-ask-nonce-last", neighbour(135, target, source + nonce)
    yield "nd-ask-long-option", neighbour(135, target, nd_option(14, b"\5" * 22) + source)
    yield "nd-ask-with-target-option", neighbour(135, target, destination)
    yield "nd-ask-twice", neighbour(135, target, source + nd_option(1, MAC_C))
    yield "nd-ask-zero", neighbour(135, target, nd_option(1, b"\0" * 6))
    yield "nd-answer", neighbour(136, target, destination, flags=3)
    yield "nd-answer-other", neighbour(136, other, nd_option(2, MAC_C), flags=6)
    yield "nd-answer-without", neighbour(136, target, flags=3)
    yield "nd-answer-with-source-option", neighbour(136, target, source)
    yield "nd-answer-both", neighbour(136, target, source + destination)
    yield "nd-hops-64", neighbour(135, target, source, hops=64)
    yield "nd-code-1", neighbour(135, target, source, code=1)
    yield "nd-cut-option", neighbour(135, target, source[:5])
    yield "nd-option-beyond", neighbour(135, target, struct.pack("!BB", 1, 4) + MAC_A)
    yield "nd-vlan", eth(0x86DD, neighbour(135, target, source)[14:], tags=[(0x8100, 5)])
    yield "nd-redirect", ipv6(ICMPV6, icmp6(137, 0, b"\0" * 4 + address(target) + address(other) + destination), hops=255)
    yield "nd-router-ask", ipv6(ICMPV6, icmp6(133, 0, b"\0" * 4 + source), hops=255)


def tcp_flag_frames():
    for name, flags in (
        ("none", 0), ("fin", 1), ("syn", 2), ("rst", 4), ("psh", 8), ("ack", 0x10), ("urg", 0x20), ("ece", 0x40), ("cwr", 0x80), ("ns", 0x100),
        ("syn-ack", 0x12), ("fin-ack", 0x11), ("rst-ack", 0x14), ("ecn-syn", 0xC2), ("xmas", 0x29), ("all", 0xFFF), ("reserved", 0x800),
    ):
        yield "tcp-flags-" + name, ipv4(TCP, tcp(40000, 22, b"", flags=flags))
    for name, flags in (("syn", 2), ("syn-ack", 0x12), ("ack", 0x10), ("fin-ack", 0x11)):
        yield "v6-tcp-flags-" + name, ipv6(TCP, tcp6(40000, 22, b"", flags=flags))
    yield "tcp-flags-first", ipv4(TCP, tcp(40000, 22, b"\x33" * 20, flags=0x12), frag=0x2000)


def more_ip_frames():
    for value in (0, 1, 0xABCDE, 0xFFFFF):
        yield "v6-label-%#x" % value, ipv6(UDP, udp6(40000, 53), label=value)
    yield "v6-label-tcp", ipv6(TCP, tcp6(40000, 443), label=0xABC00, traffic_class=0x28)
    for kind, code in ((3, 4), (4, 0), (12, 1), (13, 0), (255, 255)):
        yield "icmp-more-%d-%d" % (kind, code), ipv4(ICMP, icmp(kind, code))
    yield "icmp-error", ipv4(ICMP, icmp(3, 3, b"\0" * 4 + ip4(UDP, udp(40000, 53))[:28]), src="198.51.100.2", dst="192.0.2.1")
    for kind, code in ((2, 0), (3, 0), (4, 1), (131, 0), (143, 0)):
        yield "v6-icmp-more-%d-%d" % (kind, code), ipv6(ICMPV6, icmp6(kind, code))
    for sport, dport in ((2905, 2905), (36412, 5000), (0, 0), (65535, 1)):
        yield "sctp-%d-%d" % (sport, dport), ipv4(SCTP, sctp(sport, dport))
    yield "v6-sctp-2905", ipv6(SCTP, sctp(2905, 2905))
    yield "sctp-frag-first", ipv4(SCTP, sctp(5000, 36412), frag=0x2000)
    yield "sctp-frag-last", ipv4(SCTP, b"\x44" * 16, frag=0x0004)
    for proto in (2, 50, 51, 89):
        yield "proto-%d" % proto, ipv4(proto, b"\x11\x22" * 12)
    for port in (67, 4789, 6081):
        yield "udp-service-%d" % port, ipv4(UDP, udp(port + 1, port))
    for sport, dport in ((1024, 8080), (1, 1), (65535, 65535), (443, 51000), (8888, 22)):
        yield "tcp-%d-%d" % (sport, dport), ipv4(TCP, tcp(sport, dport))
    for dst in ("10.0.0.0", "10.128.1.2", "10.255.255.255", "172.31.255.1", "192.168.1.77"):
        yield "to-" + dst, ipv4(TCP, tcp(40000, 80, dst=dst), dst=dst)
    for dst in ("2001:db8:2:3::4", "2001:db8:a::1", "64:ff9b::c000:201", "fd00::1", "2001:db8:2:3:ffff:ffff:ffff:ffff"):
        yield "v6-to-" + dst, ipv6(UDP, udp6(40000, 53, dst=dst), dst=dst)


def more_extension_frames():
    web = tcp6(40000, 443)
    yield "v6-options-tcp", ipv6(HOP_BY_HOP, option6(TCP) + web)
    yield "v6-options-icmp", ipv6(DESTINATION, option6(ICMPV6) + icmp6(128, 0))
    yield "v6-options-long", ipv6(HOP_BY_HOP, option6(TCP, b"\1\x7c" + b"\0" * 124) + web)
    yield "v6-options-neighbour", ipv6(HOP_BY_HOP, option6(ICMPV6) + icmp6(135, 0, b"\0" * 4 + address("2001:db8:2::2") + nd_option(1, MAC_A)), hops=255)
    yield "v6-options-no-next", ipv6(DESTINATION, option6(NO_NEXT))
    yield "v6-options-frag-last", ipv6(DESTINATION, option6(FRAGMENT) + frag6(TCP, 16) + b"\x33" * 24)
    yield "v6-frag-tcp-first", ipv6(FRAGMENT, frag6(TCP, 1) + tcp6(40000, 443, b"\x33" * 20))
    yield "v6-frag-tcp-last", ipv6(FRAGMENT, frag6(TCP, 40) + b"\x33" * 20)
    yield "v6-frag-icmp-first", ipv6(FRAGMENT, frag6(ICMPV6, 1) + icmp6(128, 0))
    yield "v6-frag-atomic-tcp", ipv6(FRAGMENT, frag6(TCP, 0) + tcp6(40000, 443))
    yield "v6-frag-atomic-vlan", ipv6(FRAGMENT, frag6(UDP, 0) + udp6(40000, 53), tags=[(0x8100, 5)])
    yield "v6-two-fragment-headers", ipv6(FRAGMENT, frag6(FRAGMENT, 0) + frag6(UDP, 0) + udp6(40000, 53))


def frames():
    """(name, bytes) of every frame, in order; names are unique."""
    parts = (ethernet_frames, vlan_frames, arp_frames, ipv4_frames, bad_ipv4_frames, ipv4_fragments, ipv6_frames, ipv6_extensions, ipv6_fragments,
             stacked_tag_frames, station_frames, more_arp_frames, mpls_frames, neighbour_frames, tcp_flag_frames, more_ip_frames, more_extension_frames)
    found = [f for part in parts for f in part()]
    assert len({name for name, _ in found}) == len(found), "two frames of one name"
    return found


if __name__ == "__main__":
    pcap.write(sys.argv[1], [data for _, data in frames()])
