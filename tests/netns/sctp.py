#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""SCTP packets for kernels without SCTP: by raw sockets, one packet each way.

    sctp.py serve NAME                               answer NAME, from the address asked
    sctp.py ask SOURCE ADDRESS PORT FIRST-LAST       print "SOURCE-PORT NAME" for each

A packet whose CRC32c is wrong is nobody's. Source: RFC 9260, sections 3.1, 6.8 and A.
"""
import ipaddress
import select
import socket
import struct
import sys
import time

SCTP = 132
TAG = 0x52494E47
TIMEOUT_S = 4


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def build(source_port, port, data):
    """A common header and one DATA chunk."""
    chunk = struct.pack("!BBHIHHI", 0, 3, 16 + len(data), 1, 0, 0, 0) + data
    chunk += b"\0" * (-len(chunk) % 4)
    head = struct.pack("!HHI", source_port, port, TAG)
    return head + struct.pack("<I", crc32c(head + b"\0\0\0\0" + chunk)) + chunk


def read(packet):
    """Source port, port, data; None of what is not whole."""
    if len(packet) < 28 or packet[8:12] != struct.pack(
            "<I", crc32c(packet[:8] + b"\0\0\0\0" + packet[12:])):
        return None
    source_port, port = struct.unpack_from("!HH", packet)
    length = struct.unpack_from("!H", packet, 14)[0]
    return source_port, port, packet[28:12 + length]


def open_raw(family):
    raw = socket.socket(family, socket.SOCK_RAW, SCTP)
    if family == socket.AF_INET6:
        raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    return raw


def receive(raw):
    """Payload, address of the sender, our address; both as text."""
    packet, ancillary, _, sender = raw.recvmsg(2048, 256)
    if raw.family == socket.AF_INET:
        return packet[(packet[0] & 15) * 4:], sender[0], socket.inet_ntoa(packet[16:20])
    own = [data[:16] for _, kind, data in ancillary if kind == socket.IPV6_PKTINFO][0]
    return packet, sender[0], socket.inet_ntop(socket.AF_INET6, own)


def send(raw, packet, own, to):
    if raw.family == socket.AF_INET:
        info = (socket.IPPROTO_IP, 8, struct.pack("=I4s4s", 0, socket.inet_aton(own), bytes(4)))
    else:
        info = (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO,
                struct.pack("=16sI", socket.inet_pton(socket.AF_INET6, own), 0))
    raw.sendmsg([packet], [info], 0, (to, 0))


def serve(name):
    raws = [open_raw(socket.AF_INET), open_raw(socket.AF_INET6)]
    print("ready", flush=True)
    while True:
        for raw in select.select(raws, [], [])[0]:
            packet, client, own = receive(raw)
            found = read(packet)
            if found and found[2] == b"ask":
                send(raw, build(found[1], found[0], name.encode()), own, client)


def ask(source, address, port, ports):
    first, last = (int(end) for end in ports.split("-"))
    raw = open_raw(socket.AF_INET6 if ":" in address else socket.AF_INET)
    address = str(ipaddress.ip_address(address))
    names = {}
    for number in range(first, last + 1):
        send(raw, build(number, int(port), b"ask"), source, address)
    end = time.monotonic() + TIMEOUT_S
    while len(names) < last + 1 - first and time.monotonic() < end:
        if not select.select([raw], [], [], end - time.monotonic())[0]:
            break
        packet, sender, _ = receive(raw)
        found = read(packet)
        if found and sender == address and found[0] == int(port):
            names[found[1]] = found[2].decode()
    for number in range(first, last + 1):
        print(number, names.get(number, "-"))
    return 0 if len(names) == last + 1 - first else 1


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    sys.exit(ask(*sys.argv[2:]))
