#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The way into a tunnel, made independently of ringlb: packets for VIPs that come in by one
interface leave by another in an outer header. Prints a line when it is ready.

Usage: tunnel.py IN OUT KIND SOURCE DESTINATION MAC VIP...

KIND is ipip, gue (variant 1) or gue0 (variant 0), the latter two with /PORT if it is not
6080, and each with @VLAN for a tag. SOURCE and DESTINATION are the outer addresses, MAC is
that of the next hop.
"""
import ipaddress
import socket
import struct
import sys

PACKET_HOST = 0
ETHERTYPES = {4: 0x0800, 6: 0x86dd}
PROTOCOLS = {4: 4, 6: 41}  # of IP in IP
GUE_PORT = 6080
SO_RCVBUFFORCE = 33  # asm-generic/socket.h
MTU = 1500


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def udp(source, destination, port, payload):
    length = 8 + len(payload)
    header = struct.pack("!HHHH", 49152 + checksum(payload[12:40]) % 16384, port, length, 0)
    if source.version == 4:
        return header + payload  # RFC 768: no checksum
    pseudo = source.packed + destination.packed + struct.pack("!II", length, 17)
    return header[:6] + struct.pack("!H", checksum(pseudo + header + payload) or 0xffff) + payload


def ip(source, destination, protocol, payload):
    if source.version == 6:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + source.packed + \
            destination.packed + payload
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0) + \
        source.packed + destination.packed
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def encapsulate(kind, port, source, destination, packet):
    protocol = PROTOCOLS[packet[0] >> 4]
    if kind == "gue0":
        packet = bytes([0, protocol, 0, 0]) + packet
    if kind != "ipip":
        packet, protocol = udp(source, destination, port, packet), 17
    return ip(source, destination, protocol, packet)


def inner_packet(frame, vips):
    """The packet in @frame if it is for a VIP, without padding."""
    packet = frame[14:]
    version = packet[0] >> 4 if packet else 0
    if ETHERTYPES.get(version) != int.from_bytes(frame[12:14], "big"):
        return None
    destination = packet[16:20] if version == 4 else packet[24:40]
    if destination not in vips:
        return None
    length = int.from_bytes(packet[2:4], "big") if version == 4 else \
        40 + int.from_bytes(packet[4:6], "big")
    return packet[:length]


def main():
    came, leaves, kind, source, destination, mac, *vips = sys.argv[1:]
    kind, _, vlan = kind.partition("@")
    kind, _, port = kind.partition("/")
    source, destination = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    vips = {ipaddress.ip_address(vip).packed for vip in vips}
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    receiver.bind((came, 3))
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind((leaves, 0))
    head = bytes.fromhex(mac.replace(":", "")) + sender.getsockname()[4]
    if vlan:
        head += struct.pack("!HH", 0x8100, int(vlan))
    head += struct.pack("!H", ETHERTYPES[source.version])
    print("ready", flush=True)
    while True:
        frame, address = receiver.recvfrom(65536)
        packet = inner_packet(frame, vips) if address[2] == PACKET_HOST else None
        if not packet:
            continue
        packet = encapsulate(kind, int(port or GUE_PORT), source, destination, packet)
        # A router would say so; here it is just lost, as where ICMP is filtered.
        if len(packet) <= MTU:
            sender.send(head + packet)


main()
