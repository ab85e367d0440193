#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""UDP sockets that hear of each other's absence by ICMP.

    icmp.py serve PORT...
        answer each datagram, from a socket that is connected to its sender and from the
        address that it was sent to, again and again until the other end refuses it; prints
        "SOURCE-PORT refused", or "SOURCE-PORT silent" if that takes too long
    icmp.py leave SOURCE ADDRESS PORT FIRST COUNT
        a datagram from each of COUNT source ports, whose sockets are closed after an answer
    icmp.py knock SOURCE ADDRESS PORT FIRST COUNT
        the same where nobody listens: prints "SOURCE-PORT refused" or "SOURCE-PORT silent"
"""
import select
import socket
import sys
import time

TIMEOUT_S = 5
EVERY_S = 0.05
IPV6_RECVPKTINFO = 49
IPV6_PKTINFO = 50


def open_server(address, port):
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
    server.bind((address, port))
    return server


def accept(server, port):
    """A socket of the next datagram's flow, and until when it is tried."""
    _, control, _, peer = server.recvmsg(2048, 256)
    own = [info[:16] for _, kind, info in control if kind == IPV6_PKTINFO][0]
    flow = open_server(socket.inet_ntop(socket.AF_INET6, own), port)
    flow.connect(peer)
    return flow, time.monotonic() + TIMEOUT_S


def is_over(flow, end):
    """Send once more; what there is to say in the end."""
    try:
        flow.send(b"answer")
    except ConnectionRefusedError:
        return "refused"
    return "silent" if time.monotonic() > end else None


def serve(ports):
    servers = {open_server("::", port): port for port in ports}
    flows = {}
    print("ready", flush=True)
    while True:
        for server in select.select(list(servers), [], [], EVERY_S)[0]:
            flow, end = accept(server, servers[server])
            flows[flow] = end
        for flow, end in list(flows.items()):
            over = is_over(flow, end)
            if over:
                print(flow.getpeername()[1], over, flush=True)
                del flows[flow]
                flow.close()


def ask(source, address, port, number):
    """What comes of a datagram: an answer, or that nobody is there."""
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as flow:
        flow.settimeout(TIMEOUT_S)
        flow.bind((source, number))
        flow.connect((address, port))
        flow.send(b"ask")
        try:
            return flow.recv(2048).decode()
        except ConnectionRefusedError:
            return "refused"
        except TimeoutError:
            return "silent"


def main(what, *arguments):
    if what == "serve":
        serve([int(port) for port in arguments])
    source, address, port, first, count = arguments
    for number in range(int(first), int(first) + int(count)):
        found = ask(source, address, int(port), number)
        if what == "knock":
            print(number, found)
        elif found != "answer":
            sys.exit(f"{number}: {found}")


main(*sys.argv[1:])
