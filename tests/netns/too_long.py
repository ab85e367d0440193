#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Datagrams of a length, without DF in IPv4, until one is answered: prints who did.

Usage: too_long.py ADDRESS PORT LENGTH
"""
import socket
import sys

ATTEMPTS = 20
WAIT_S = 0.5
# linux/in.h, linux/in6.h: what is too long for the way, as far as it is known, is fragmented.
IP_MTU_DISCOVER, IPV6_MTU_DISCOVER = 10, 23
PMTUDISC_DONT = 0

address, port, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if ":" in address:
    client = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    client.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DONT)
else:
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_DONT)
client.settimeout(WAIT_S)
for _ in range(ATTEMPTS):
    client.sendto(bytes(length), (address, port))
    try:
        print(client.recv(64).decode().strip())
        break
    except TimeoutError:
        pass
