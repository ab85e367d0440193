#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ipip and gue packets look like on the way.

    outers.py DEV COUNT

Prints "ready", then for the first COUNT of them that carry UDP from a new source port, in the
order of those ports, "PORT SOURCE > DESTINATION", the latter two with ports if it is gue.
"""
import ipaddress
import socket
import struct
import sys

UDP, IPIP, IPV6 = 17, 4, 41
GUE_PORT = 6080
TIMEOUT_S = 20


def read_ip(packet):
    """Source, destination, protocol, and what is inside."""
    if packet[0] >> 4 == 4:
        source, destination = packet[12:16], packet[16:20]
        protocol, inside = packet[9], packet[(packet[0] & 15) * 4:]
    else:
        source, destination = packet[8:24], packet[24:40]
        protocol, inside = packet[6], packet[40:]
    return ipaddress.ip_address(source), ipaddress.ip_address(destination), protocol, inside


def endpoint(address, port):
    if not port:
        return str(address)
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def describe(packet):
    """Source port of the UDP packet inside and a line, or None."""
    source, destination, protocol, inside = read_ip(packet)
    ports = 0, 0
    if protocol == UDP:
        ports, inside = struct.unpack_from(">HH", inside), inside[8:]
        if ports[1] != GUE_PORT:
            return None
    elif protocol not in (IPIP, IPV6):
        return None
    protocol, inside = read_ip(inside)[2:]
    if protocol != UDP:
        return None
    port = struct.unpack_from(">H", inside)[0]
    return port, f"{endpoint(source, ports[0])} > {endpoint(destination, ports[1])}"


def main(dev, count):
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    receiver.bind((dev, 3))
    receiver.settimeout(TIMEOUT_S)
    print("ready", flush=True)
    seen = {}
    while len(seen) < count:
        frame = receiver.recv(65536)
        found = describe(frame[14:]) if frame[12:14] in (b"\x08\x00", b"\x86\xdd") else None
        if found:
            seen.setdefault(*found)
    for port in sorted(seen):
        print(port, seen[port])


main(sys.argv[1], int(sys.argv[2]))
