#!/usr/bin/env python3
"""Traffic inside a network namespace, for the system tests.

    peer.py tcp-echo ADDRESS PORT            sends back what it gets, until it is ended
    peer.py tcp-check ADDRESS PORT MEGABYTES sends that much and compares what comes back
    peer.py udp ADDRESS SECONDS PORT...      datagrams to these ports in turn; prints how many
    peer.py send INTERFACE HEX...            sends frames as they are
    peer.py receive INTERFACE SECONDS        prints frames of EtherType 0x88b5 as they come in, tags included
"""
import os
import select
import socket
import struct
import sys
import threading
import time

ALL, SOL_PACKET, PACKET_AUXDATA, OUTGOING = 0x0003, 263, 8, 4
EXPERIMENTAL = 0x88B5
VLAN_VALID, VLAN_TPID_VALID = 0x10, 0x40


def tcp_echo(address, port):
    server = socket.create_server((address, int(port)))
    print("ready", flush=True)
    while True:
        connection, _ = server.accept()
        while data := connection.recv(1 << 16):
            connection.sendall(data)
        connection.close()


def tcp_check(address, port, megabytes):
    connection = socket.create_connection((address, int(port)), timeout=30)
    sent = os.urandom(1 << 20) * int(megabytes)
    writer = threading.Thread(target=lambda: (connection.sendall(sent), connection.shutdown(socket.SHUT_WR)))
    begin = time.monotonic()
    writer.start()
    received = bytearray()
    while data := connection.recv(1 << 16):
        received += data
    writer.join()
    if received != sent:
        sys.exit("sent %d bytes, got %d other ones back" % (len(sent), len(received)))
    print("%d MB there and back in %.2f s" % (int(megabytes), time.monotonic() - begin))


def udp(address, seconds, *ports):
    sender, sent, end = socket.socket(type=socket.SOCK_DGRAM), 0, time.monotonic() + float(seconds)
    targets = [(address, int(p)) for p in ports]
    while time.monotonic() < end:
        for i in range(64):
            try:
                sender.sendto(b"%d" % sent, targets[sent % len(targets)])
                sent += 1
            except (ConnectionRefusedError, BlockingIOError, OSError):
                pass  # an answer of "nobody there" to a datagram before, or a full queue
        time.sleep(0.001)
    print(sent)


def packet_socket(interface):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    s.bind((interface, ALL))
    return s


def send(interface, *frames):
    s = packet_socket(interface)
    for frame in frames:
        s.send(bytes.fromhex(frame))


def receive(interface, seconds):
    s = packet_socket(interface)
    s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    print("ready", flush=True)
    end = time.monotonic() + float(seconds)
    while (left := end - time.monotonic()) > 0:
        if not select.select([s], [], [], left)[0]:
            break
        frame, ancillary, _, address = s.recvmsg(1 << 16, 1024)
        if address[2] == OUTGOING:
            continue
        for _, _, data in ancillary:  # the kernel takes the outer tag out of the frame and hands it over beside it
            status, _, _, _, _, tci, tpid = struct.unpack_from("IIIHHHH", data)
            if status & VLAN_VALID:
                frame = frame[:12] + struct.pack("!HH", tpid if status & VLAN_TPID_VALID else 0x8100, tci) + frame[12:]
        if struct.pack("!H", EXPERIMENTAL) in frame[12:26]:
            print(frame.hex(), flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
