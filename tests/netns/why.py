#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hold what `why` says against the live program, in the load balancer's namespace.

Usage: why.py SOCKET INTERFACE FLOWS CLIENT4 CLIENT6 PROTO/VIP/PORT[/CID]... [--see NAME...]

For flows to each VIP, in turn: ask why; have the program on INTERFACE handle one such packet
(BPF_PROG_RUN, so nothing else is about); see that the counters which grew are those that were
named, each by one, and that the frame leaves for the MAC address that was named. The TCP flags
vary; a client may be ADDRESS@PORT; a CID is the connection id of QUIC packets. Each NAME must have been among the counters. Prints one line for each thing that differs.
"""
import collections
import ipaddress
import json
import os
import random
import socket
import subprocess
import sys
import tempfile

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

ACTIONS = {"ABORTED": 0, "DROP": 1, "PASS": 2, "TX": 3, "REDIRECT": 4}
# What else comes to an interface meanwhile: ARP, neighbour discovery.
NOISE = {"verdict PASS_NOT_IP", "verdict PASS_NOT_UNICAST", "verdict PASS_OTHER_PROTOCOL"}
KINDS = ("S", "A", "A", "PA")


class Daemon:
    def __init__(self, path):
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(path)
        self.file = stream.makefile("rw")

    def ask(self, command, **members):
        self.file.write(json.dumps({"command": command, **members}) + "\n")
        self.file.flush()
        answer = json.loads(self.file.readline())
        if not answer["ok"]:
            sys.exit(f"{command} {members}: {answer['error']}")
        return answer["result"]

    def counts(self):
        stats, counts = self.ask("stats"), {}
        for kind, members in (("verdict", "verdicts"), ("flows", "flows"), ("quic", "quic")):
            for one in stats[members]:
                counts[f"{kind} {one['name']}"] = one["packets"]
        for one in stats["vips"]:
            counts[f"vip {one['vip']}"] = one["packets"]
        for one in stats["backends"]:
            counts[f"backend {one['pool']} {one['name']}"] = one["packets"]
        return counts


class Program:
    def __init__(self, interface):
        link = json.loads(subprocess.check_output(["ip", "-j", "link", "show", interface]))[0]
        self.id, self.mac = link["xdp"]["prog"]["id"], link["address"]
        self.dir = tempfile.TemporaryDirectory()
        self.ifindex = link["ifindex"]

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def run(self, frame):
        """One packet: what became of it, and the frame afterwards."""
        with open(self.path("in"), "wb") as file:
            file.write(frame)
        with open(self.path("ctx"), "wb") as file:
            file.write(b"".join(n.to_bytes(4, sys.byteorder)
                                for n in (0, len(frame), 0, self.ifindex, 0, 0)))
        said = json.loads(subprocess.check_output(
            ["bpftool", "-j", "prog", "run", "id", str(self.id), "data_in", self.path("in"),
             "data_out", self.path("out"), "ctx_in", self.path("ctx"), "ctx_out", "/dev/null"]))
        with open(self.path("out"), "rb") as file:
            return said["retval"], file.read()


def payload_of(cid):
    """Of a datagram: a QUIC packet with a short header, or what is none."""
    return b"\x40" + bytes.fromhex(cid) + bytes(20) if cid else b"\xc0" + b"x" * 20


def build(program, proto, source, to, flags, cid):
    version = IPv6 if ":" in to[0] else IP
    transport = TCP(sport=source[1], dport=to[1], flags=flags) if proto == "tcp" else \
        UDP(sport=source[1], dport=to[1]) / payload_of(cid)
    return bytes(Ether(src="02:00:00:00:00:99", dst=program.mac) /
                 version(src=source[0], dst=to[0]) / transport)


def endpoint(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def same_outer(outer, frame):
    """Are these the outer addresses, and ports, of @frame?"""
    packet = Ether(frame).payload
    got = {"source": packet.src, "destination": packet.dst}
    if "source_port" in outer:
        got |= {"source_port": packet[UDP].sport, "destination_port": packet[UDP].dport}
    return got == outer


def case_of(answer, proto, flags):
    kind = "syn" if proto == "tcp" and flags == "S" else "later"
    return next(case for case in answer["cases"] if case["packet"] in ("any", kind))


def named(answer, case, interface):
    """The counters that the packet is to raise. A reply has but one of several verdicts."""
    verdict = next((one["verdict"] for one in case.get("verdicts", [])
                    if one["interface"] == interface), None)
    names = set()
    for one in case["counters"]:
        if one["kind"] == "backend":
            names.add(f"backend {answer['pool']} {one['name']}")
        elif one["kind"] != "verdict" or verdict in (None, one["name"]):
            names.add(f"{one['kind']} {one['name']}")
    return names


class Check:
    def __init__(self, path, interface):
        self.daemon, self.program, self.interface = Daemon(path), Program(interface), interface
        self.seen, self.wrong, self.packets = collections.Counter(), 0, 0

    def differs(self, what, *details):
        self.wrong += 1
        if self.wrong < 10:
            print(what, *details)

    def packet(self, proto, source, to, flags, cid):
        answer = self.daemon.ask("why", protocol=proto, source=endpoint(*source),
                                 destination=endpoint(*to), **({"quic_cid": cid} if cid else {}))
        case = case_of(answer, proto, flags)
        before = self.daemon.counts()
        retval, out = self.program.run(build(self.program, proto, source, to, flags, cid))
        after = self.daemon.counts()
        grown = {name: after[name] - before[name] for name in after
                 if after[name] != before[name] and name not in NOISE}
        what = f"{proto} {endpoint(*source)} > {endpoint(*to)} {flags}:"
        wanted = named(answer, case, self.interface)
        self.packets += 1
        self.seen.update(name.split()[-1] for name in grown)
        self.seen.update([f"by-{case.get('by')}", case["outcome"]])
        if case["outcome"] == "reply":
            if len(grown) != 1 or not set(grown) <= wanted:
                self.differs(what, grown, "not one of", wanted)
            return
        if grown != dict.fromkeys(wanted, 1):
            self.differs(what, "grew", grown, "named", wanted)
        verdict = next(name for name in wanted if name.startswith("verdict")).split()[1]
        if retval != ACTIONS[verdict.split("_")[0]]:
            self.differs(what, "action", retval, "for", verdict)
        if case["outcome"] == "sent" and out[:6].hex(":") != case["mac"]:
            self.differs(what, "went to", out[:6].hex(":"), "not to", case["mac"])
        if "outer" in case and not same_outer(case["outer"], out):
            self.differs(what, "outer", case["outer"], "of", out.hex())


def main():
    arguments = sys.argv[1:]
    must = []
    if "--see" in arguments:
        at = arguments.index("--see")
        arguments, must = arguments[:at], arguments[at + 1:]
    path, interface, flows, client4, client6, *vips = arguments
    check, dice = Check(path, interface), random.Random(5)
    for number in range(int(flows)):
        proto, vip, port, *cid = vips[number % len(vips)].split("/")
        version = ipaddress.ip_address(vip).version
        source, _, given = (client6 if version == 6 else client4).partition("@")
        source = (source, int(given or dice.randrange(1024, 65536)))
        # The same flow again: what was remembered of it counts then.
        for _ in range(3):
            check.packet(proto, source, (vip, int(port)), dice.choice(KINDS),
                         cid[0] if cid else None)
    print(f"{check.packets} packets, {check.wrong} differ;", dict(check.seen))
    missing = [name for name in must if not check.seen[name]]
    if missing:
        print("never seen:", *missing)
    sys.exit(bool(check.wrong or missing))


main()
