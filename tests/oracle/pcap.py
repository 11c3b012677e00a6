"""Capture files: reads pcap (either byte order, micro- or nanoseconds) and pcapng, writes pcap. Ethernet frames only."""
import struct

ETHERNET = 1
HEADER_BYTES = 24  # of a pcap file
PCAP_ORDERS = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
PCAPNG = b"\x0a\x0d\x0d\x0a"


class NotEthernet(Exception):
    pass


def read(path):
    """The frames of a file, in order, as captured."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:4] == PCAPNG:
        return list(_read_pcapng(path, data))
    if data[:4] not in PCAP_ORDERS:
        raise ValueError("%s: neither pcap nor pcapng" % path)
    return list(_read_pcap(path, data, PCAP_ORDERS[data[:4]]))


def write(path, frames):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, ETHERNET))
        for frame in frames:
            f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def _check_link(path, link):
    if link != ETHERNET:
        raise NotEthernet("%s: link type %d" % (path, link))


def _read_pcap(path, data, order):
    _check_link(path, struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF)
    at = HEADER_BYTES
    while at + 16 <= len(data):
        size = struct.unpack_from(order + "I", data, at + 8)[0]
        yield data[at + 16 : at + 16 + size]
        at += 16 + size


def _read_pcapng(path, data):
    at, order = 0, "<"
    while at + 12 <= len(data):
        if data[at : at + 4] == PCAPNG:  # a section: its byte order comes before anything else of it
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, size = struct.unpack_from(order + "II", data, at)
        if kind == 1:  # interface
            _check_link(path, struct.unpack_from(order + "H", data, at + 8)[0])
        elif kind == 6:  # enhanced packet
            captured = struct.unpack_from(order + "I", data, at + 20)[0]
            yield data[at + 28 : at + 28 + captured]
        elif kind == 3:  # simple packet
            original = struct.unpack_from(order + "I", data, at + 8)[0]
            yield data[at + 12 : at + 12 + min(original, size - 16)]
        at += size
