#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server and a client that speak as much of QUIC as a load balancer sees: headers and
connection ids. What they say is not encrypted.

    quic.py serve NAME SERVER-ID PORT
        Takes connections and answers NAME to each packet of one that it has; to any
        other "reset". Its connection ids are configuration 0 of the QUIC-LB draft.
    quic.py talk SOURCE ADDRESS PORT FIRST CONNECTIONS MOVES
        Opens connections one after the other and sends MOVES packets on each, always
        from another source port: FIRST, and then up. One line a connection: who took it,
        its id, and how many of the answers came from there, were resets, or did not come.
    quic.py stream SOURCE ADDRESS PORT FIRST CONNECTIONS
        The same, on and on until SIGTERM; the line is printed then.
"""
import os
import signal
import socket
import struct
import sys
import time

VERSION_1 = struct.pack(">I", 1)
INITIAL, HANDSHAKE = 0, 2
CID_LEN = 8
TIMEOUT_S = 4
PAUSE_S = 0.02
PORTS = 10000
RESET = b"reset"


def long_header(kind, destination, source):
    return (bytes((0xc0 | kind << 4,)) + VERSION_1 + bytes((len(destination),)) + destination +
            bytes((len(source),)) + source)


def short_header(destination):
    return b"\x40" + destination


def read_long(packet):
    """Type, destination and source connection id."""
    end = 6 + packet[5]
    return packet[0] >> 4 & 3, packet[6:end], packet[end + 1:end + 1 + packet[end]]


class Server:
    def __init__(self, name, server_id, port):
        self.name, self.server_id = name.encode(), bytes.fromhex(server_id)
        self.connections = set()
        self.socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
        self.socket.bind(("::", port))

    def answer(self, packet):
        if not packet[0] & 0x80:
            return self.name if packet[1:1 + CID_LEN] in self.connections else RESET
        kind, destination, source = read_long(packet)
        if kind == INITIAL:
            nonce = os.urandom(CID_LEN - 1 - len(self.server_id))
            destination = bytes((CID_LEN - 1,)) + self.server_id + nonce
            self.connections.add(destination)
        elif destination not in self.connections:
            return RESET
        return long_header(kind, source, destination) + self.name

    def serve(self):
        print("ready", flush=True)
        while True:
            packet, [(level, kind, info)], _, client = self.socket.recvmsg(2048, 256)
            # From the address that was asked; the interface is left to the routes.
            info = info[:16] + bytes(4)
            self.socket.sendmsg([self.answer(packet)], [(level, kind, info)], 0, client)


def ports_from(first):
    while True:
        yield from range(first, first + PORTS)


class Connection:
    def __init__(self, source, address, port, ports):
        self.source, self.peer, self.ports = source, (address, port), ports
        self.same = self.reset = self.lost = 0
        self.backend, self.cid = "-", b""

    def ask(self, packet):
        """The answer to a packet from a source port that is new, or b""."""
        family = socket.AF_INET6 if ":" in self.source else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.bind((self.source, next(self.ports)))
            one.settimeout(TIMEOUT_S)
            one.sendto(packet, self.peer)
            try:
                return one.recv(2048)
            except TimeoutError:
                return b""

    def open(self):
        own = os.urandom(CID_LEN)
        # A made-up id that looks like one of a server's, as they may.
        made_up = b"\x00" + b"\x01\x02" + os.urandom(CID_LEN - 3)
        answer = self.ask(long_header(INITIAL, made_up, own) + b"hello")
        if not answer or not answer[0] & 0x80:
            return False
        _, _, self.cid = read_long(answer)
        self.backend = answer[6 + len(own) + 1 + len(self.cid):].decode()
        answer = self.ask(long_header(HANDSHAKE, self.cid, own) + b"finished")
        return answer.endswith(self.backend.encode())

    def move(self):
        answer = self.ask(short_header(self.cid) + os.urandom(20))
        if answer == self.backend.encode():
            self.same += 1
        elif answer:
            self.reset += 1
        else:
            self.lost += 1

    def __str__(self):
        return (f"{self.backend} {self.cid.hex() or '-'} same {self.same} reset {self.reset} "
                f"lost {self.lost}")


def open_connections(source, address, port, first, number):
    ports = ports_from(int(first))
    connections = [Connection(source, address, int(port), ports) for _ in range(int(number))]
    for connection in connections:
        if not connection.open():
            connection.reset += 1
    return connections


def talk(source, address, port, first, number, moves):
    for connection in open_connections(source, address, port, first, number):
        for _ in range(int(moves)):
            connection.move()
        print(connection)


def stream(source, address, port, first, number):
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    connections = open_connections(source, address, port, first, number)
    print("open", flush=True)
    while not stopped:
        for connection in connections:
            connection.move()
        time.sleep(PAUSE_S)
    for connection in connections:
        print(connection)


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "serve":
        Server(arguments[0], arguments[1], int(arguments[2])).serve()
    elif command == "talk":
        talk(*arguments)
    else:
        stream(*arguments)
