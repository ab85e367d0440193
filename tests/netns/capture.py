#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is in a pcapng file of `ringlb capture`: one line a frame, with

    PACKET in|out|- VERDICT|in INTERFACE SOURCE:PORT DESTINATION:PORT

Blocks are taken apart by the letter of the format, frames by scapy.
"""
import re
import struct
import sys

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

SECTION, INTERFACE, FRAME = 0x0A0D0D0A, 1, 6
NAME, RESOLUTION, COMMENT, FLAGS = 2, 9, 1, 2


def blocks(data):
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length % 4 or length < 12 or at + length > len(data):
            sys.exit(f"block at {at} has length {length}")
        if struct.unpack_from("<I", data, at + length - 4)[0] != length:
            sys.exit(f"block at {at} ends with another length than it begins with")
        yield kind, data[at + 8:at + length - 4]
        at += length


def options(data):
    at, found = 0, {}
    while True:
        code, length = struct.unpack_from("<HH", data, at)
        if not code:
            if at + 4 != len(data):
                sys.exit("something follows the end of options")
            return found
        found[code] = data[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def ends(frame):
    packet = Ether(frame)
    ip = packet.getlayer(IPv6) or packet.getlayer(IP)
    if not ip:
        return "- -"
    port = packet.getlayer(TCP) or packet.getlayer(UDP)
    return f"{ip.src}:{port.sport if port else 0} {ip.dst}:{port.dport if port else 0}"


def frame_line(body, names):
    number, high, low, len_, full = struct.unpack_from("<IIIII", body)
    if not 1.7e9 < ((high << 32) + low) / 1e9 < 4e9:
        sys.exit(f"time {high} {low} is not of these days")
    if len_ > full:
        sys.exit(f"{len_} bytes of a frame of {full}")
    about = options(body[20 + (len_ + 3) // 4 * 4:])
    packet, what = re.match(r"packet (\d+): (as it came in|[A-Z_0-9]+)",
                            about[COMMENT].decode()).groups()
    direction = {1: "in", 2: "out"}.get(int.from_bytes(about.get(FLAGS, b""), "little"), "-")
    return (f"{packet} {direction} {'in' if what.startswith('as') else what} {names[number]} "
            f"{ends(body[20:20 + len_])}")


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    names = []
    for kind, body in blocks(data):
        if kind == SECTION:
            if struct.unpack_from("<IHHq", body) != (0x1A2B3C4D, 1, 0, -1):
                sys.exit("not a section of version 1.0")
        elif kind == INTERFACE:
            about = options(body[8:])
            if about[RESOLUTION] != b"\x09":
                sys.exit("times are not in nanoseconds")
            names.append(about[NAME].decode())
        elif kind == FRAME:
            print(frame_line(body, names))
        else:
            sys.exit(f"block of type {kind}")


main()
