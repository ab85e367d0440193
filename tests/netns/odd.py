#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""UDP datagrams that no kernel would send.

    odd.py SOURCE ADDRESS PORT TTL-COUNT LENGTH-COUNT
        so many with TTL 1, and with a length field of less than a UDP header
"""
import socket
import sys

from scapy.layers.inet import IP, UDP

source, address, port, ttl_count, length_count = sys.argv[1:]
sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for number in range(int(ttl_count)):
    packet = IP(src=source, dst=address, ttl=1) / UDP(sport=31000 + number, dport=int(port))
    sender.sendto(bytes(packet), (address, 0))
for number in range(int(length_count)):
    packet = IP(src=source, dst=address) / UDP(sport=32000 + number, dport=int(port), len=4)
    sender.sendto(bytes(packet), (address, 0))
