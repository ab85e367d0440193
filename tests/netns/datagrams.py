#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""UDP datagrams that do not fit in a packet, and who answered them.

    datagrams.py serve NAME PORT...
        answer each datagram with NAME, a line feed and the datagram from there on, from the
        address that it was sent to
    datagrams.py ask ORDER SOURCE ADDRESS PORT LENGTH FIRST COUNT
        one of LENGTH bytes from each of COUNT source ports; prints "SOURCE-PORT NAME" for
        each, NAME being "-" if there was no answer or a wrong one. ORDER says how the
        fragments leave: "kernel" leaves that to it; "reverse": the last one first; "mixed":
        those of many datagrams at random, both of at most MTU bytes (1500)
"""
import os
import random
import select
import socket
import sys

# More fragments of others amid those of a datagram, and Linux gives it up (ipfrag_max_dist).
AT_ONCE = 60
TIMEOUT_S = 4
MTU = int(os.environ.get("MTU", "1500"))
SO_RCVBUFFORCE = 33
IPV6_RECVPKTINFO = 49
IPV6_PKTINFO = 50
SEED = 20240229


def payload(port, length):
    return bytes((port + i * 7 + i // 256) & 0xff for i in range(length))


def serve(name, ports):
    sockets = []
    for port in ports:
        server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
        server.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        server.bind(("::", port))
        sockets.append(server)
    print("ready", flush=True)
    label = name.encode() + b"\n"
    while True:
        for server in select.select(sockets, [], [])[0]:
            data, control, _, peer = server.recvmsg(65536, 256)
            # Not bound to the interface: a VIP is on lo.
            control = [(level, kind, info[:16] + bytes(4)) for level, kind, info in control
                       if kind == IPV6_PKTINFO]
            server.sendmsg([label + data[len(label):]], control, 0, peer)


def pieces(source, port, to, to_port, data, ident):
    """The IP packets of its fragments."""
    from scapy.config import conf
    conf.ipv6_enabled = True
    from scapy.layers.inet import IP, UDP, fragment
    from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
    from scapy.packet import Raw
    udp = UDP(sport=port, dport=to_port) / Raw(data)
    if ":" in source:
        parts = fragment6(IPv6(src=source, dst=to) / IPv6ExtHdrFragment(id=ident) / udp, MTU)
    else:
        parts = fragment(IP(src=source, dst=to, id=ident) / udp, MTU - 20)
    return [bytes(part) for part in parts]


def ask(order, source, address, to_port, length, first, count):
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    raw = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
    rng = random.Random(SEED)
    at_once = max(1, AT_ONCE // (length // MTU + 1))
    for start in range(first, first + count, at_once):
        flows, out = {}, []
        for port in range(start, min(start + at_once, first + count)):
            flows[port] = socket.socket(family, socket.SOCK_DGRAM)
            flows[port].setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20)
            flows[port].bind((source, port))
            flows[port].connect((address, to_port))
            data = payload(port, length)
            if order == "kernel":
                flows[port].send(data)
            else:
                out += reversed(pieces(source, port, address, to_port, data, port))
        if order == "mixed":
            rng.shuffle(out)
        for packet in out:
            raw.sendto(packet, (address, 0))
        for port, flow in flows.items():
            print(port, answer(flow, payload(port, length)))
            flow.close()


def answer(flow, sent):
    flow.settimeout(TIMEOUT_S)
    try:
        got = flow.recv(65536)
    except OSError:
        return "-"
    name, end, _ = got.partition(b"\n")
    right = end and got[len(name) + 1:] == sent[len(name) + 1:] and len(got) == len(sent)
    return name.decode() if right else "-"


def main(what, *arguments):
    if what == "serve":
        serve(arguments[0], [int(port) for port in arguments[1:]])
    else:
        ask(*arguments[:3], *(int(number) for number in arguments[3:]))


main(*sys.argv[1:])
