#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Print "SOURCE DESTINATION MSS" of each SYN that passes an interface, until it is killed.

Usage: mss.py INTERFACE        (says "ready" when it looks)
"""
import socket
import sys

from scapy.layers.inet import TCP
from scapy.layers.inet6 import IPv6  # noqa: F401 # or it would not be told from raw bytes
from scapy.layers.l2 import Ether

ETH_P_ALL = 3

raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
raw.bind((sys.argv[1], 0))
print("ready", flush=True)
while True:
    frame = Ether(raw.recv(65535))
    if TCP in frame and frame[TCP].flags & 2:
        layer = frame.payload
        print(layer.src, layer.dst, dict(frame[TCP].options).get("MSS"), flush=True)
