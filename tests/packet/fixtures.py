# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What test_fixtures.py needs to run another balancer's test cases: the cases themselves, the
configurations that they assume in ringlb's terms, and encapsulated frames taken apart.

fixtures/README.md says where the cases come from and what their fields mean.
"""
import dataclasses
import ipaddress
import json
import os
import socket
import struct
import tempfile

from packets import Runner

HERE = os.path.dirname(os.path.abspath(__file__))
OUR_MAC = "02:00:00:00:00:00"
GATEWAY_MAC = "00:00:de:ad:be:af"
SOURCES = ("172.16.0.0/16", "100::/64")
GUE_PORT = 9886
DONT_FRAGMENT = 0x4000
ETHERTYPES = (b"\x08\x00", b"\x86\xdd")
# A seed decides which flows are whose. With these no row agrees by chance alone, and in
# udp-migration-1 all flows are those of the real that goes down.
SEED = 1
SEEDS = {"tpr": 11, "tpr-gue": 11, "udp-stable-rt": 8, "udp-migration-1": 1503}

V4 = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
V6 = ("fc00::1", "fc00::2", "fc00::3")
NAMES = {address: f"v4-{address[-1]}" for address in V4}
NAMES.update({f"fc00::{n}": f"v6-{n}" for n in range(1, 9)})
SERVER_IDS = {"10.0.0.1": "0303fe", "10.0.0.2": "0303ff", "10.0.0.3": "030401",
              "fc00::1": "030400", "fc00::2": "030402", "fc00::3": "030403"}


def read_cases():
    """All cases by set, each in the order in which it runs."""
    sets = {}
    with open(os.path.join(HERE, "fixtures/packets.jsonl"), encoding="ascii") as lines:
        for line in lines:
            case = json.loads(line)
            case["input"] = bytes.fromhex(case["input"])
            case["output"] = bytes.fromhex(case["output"]) if "output" in case else case["input"]
            sets.setdefault(case["set"], []).append(case)
    return sets


@dataclasses.dataclass(frozen=True)
class Pool:
    """`reals` get new flows; `others` only what names them."""

    name: str
    reals: tuple
    others: tuple = ()
    quic: bool = False
    down: tuple = ()

    def lines(self, forward):
        yield f"  - name: {self.name}"
        yield f"    forward: {forward}"
        if forward == "gue":
            yield f"    gue_port: {GUE_PORT}"
            yield "    gue_checksum: full"
        yield "    backends:"
        for address in self.reals + self.others:
            weight = 1 if address in self.reals else 0
            # Version 2 of their connection ids begins with the bits 10: 100 and 101.
            ids = ', quic_id: "4:{0},5:{0}"'.format(SERVER_IDS[address]) if self.quic else ""
            yield (f'      - {{name: {NAMES[address]}, address: "{address}", weight: {weight}'
                   f"{ids}}}")


@dataclasses.dataclass(frozen=True)
class Vip:
    address: str
    protocol: str
    port: int
    pool: Pool

    def has(self, address, protocol, port):
        return (address in ipaddress.ip_network(self.address) and
                self.protocol == protocol and self.port in (0, port))


WEB4, WEB6 = Pool("web4", V4), Pool("web6", V6)
QUIC4, QUIC6 = Pool("quic4", V4, V6, True), Pool("quic6", V6, V4, True)
MIGRATION = Pool("migration", V4, down=("10.0.0.1",))
NOBODY = Pool("nobody", ())
BASE = (
    Vip("10.200.1.1", "udp", 80, WEB4), Vip("10.200.1.1", "tcp", 80, WEB4),
    Vip("10.200.1.2", "tcp", 0, WEB4), Vip("10.200.1.4", "tcp", 0, WEB4),
    Vip("10.200.1.3", "tcp", 80, WEB6), Vip("fc00:1::1", "tcp", 80, WEB6),
    Vip("10.200.1.5", "udp", 443, QUIC4), Vip("fc00:1::2", "udp", 443, QUIC6),
    Vip("10.200.1.6", "udp", 80, MIGRATION), Vip("10.200.1.99", "tcp", 80, NOBODY),
    Vip("fc00:1::11", "udp", 80, NOBODY),
)


def prefix_vips():
    """Four prefixes, each with two reals of its own."""
    for n, (protocol, port) in enumerate((("tcp", 0), ("tcp", 443), ("udp", 0), ("udp", 443))):
        reals = (f"fc00::{2 * n + 1}", f"fc00::{2 * n + 2}")
        yield Vip(f"fc00:{n + 1}::/96", protocol, port, Pool(f"prefix{n + 1}", reals))


def decap_vips():
    return (Vip("10.200.1.1", "udp", 80, WEB4), Vip("fc00:1::1", "tcp", 80, WEB6),
            Vip("10.200.1.2", "udp", 80, WEB6))


def stable_vips():
    return BASE + (Vip("fc00:1::9", "udp", 80, WEB6), Vip("10.200.1.90", "udp", 80, WEB4))


MIXED = [Pool(f"mixed{n}", V4 + V6) for n in range(1, 5)]


def migration_vips():
    return tuple(Vip(f"10.200.1.{n + 1}", protocol, 80, MIXED[n])
                 for n, protocol in enumerate(("udp", "udp", "udp", "tcp")))


# Forwarding and VIPs of each set; udp-migration-2 goes on where udp-migration-1 ended.
SETS = {
    "base": ("ipip", BASE), "gue": ("gue", BASE), "tpr": ("ipip", BASE), "tpr-gue": ("gue", BASE),
    "cidr-vip": ("gue", tuple(prefix_vips())), "lpm-src": ("gue", BASE),
    "icmp-too-big": ("ipip", BASE), "icmp-too-big-origin-gue": ("gue", BASE),
    "decap-stats": ("gue", decap_vips()), "xpop-decap": ("gue", decap_vips()),
    "egress-decap": ("gue", decap_vips()), "udp-stable-rt": ("gue", stable_vips()),
    "udp-migration-1": ("gue", migration_vips()),
    "healthcheck": ("ipip", BASE), "healthcheck-gue": ("gue", BASE),
}


def config_text(forward, vips, seed=SEED):
    lines = [f"seed: {seed}", "interfaces: [{name: rl0}]", "encap:",
             f"  source_ipv4: {SOURCES[0]}", f'  source_ipv6: "{SOURCES[1]}"', "pools:"]
    for pool in dict.fromkeys(vip.pool for vip in vips):
        lines += pool.lines(forward)
    lines.append("vips:")
    for vip in vips:
        lines.append(f'  - {{address: "{vip.address}", protocol: {vip.protocol}, '
                     f"port: {vip.port}, pool: {vip.pool.name}}}")
    return "\n".join(lines) + "\n"


class Set:
    """A data plane that the daemon's core has set up, and what its rows have shown."""

    def __init__(self, name):
        self.forward, self.vips = SETS[name]
        self.reals = {}  # by name of the row: where its packet went
        self.runner = Runner()
        # The other end keeps quiet, for the program is attached here. All backends are behind
        # one gateway, as there.
        for command in ("sysctl -qw net.ipv6.conf.rl0-peer.disable_ipv6=1",
                        f"ip link set rl0 address {OUR_MAC}", "ip addr add 10.99.0.1/24 dev rl0",
                        "ip addr add fd99::1/64 dev rl0 nodad",
                        f"ip neigh add 10.99.0.2 lladdr {GATEWAY_MAC} dev rl0",
                        f"ip neigh add fd99::2 lladdr {GATEWAY_MAC} dev rl0",
                        "ip route add default via 10.99.0.2", "ip route add default via fd99::2"):
            self.runner.shell(command)
        with tempfile.TemporaryDirectory() as state:
            path = os.path.join(state, "ringlb.yaml")
            with open(path, "w", encoding="ascii") as file:
                file.write(config_text(self.forward, self.vips, SEEDS.get(name, SEED)))
            self.runner.do("daemon", config=path, state=state)
        for pool in dict.fromkeys(vip.pool for vip in self.vips):
            for address in pool.down:
                self.take_down(pool, address)

    def take_down(self, pool, address):
        self.runner.do("down", pool=pool.name, backend=NAMES[address])

    def pool_of(self, packet):
        """The pool of the VIP that an IP packet, or the one that it quotes, is for."""
        destination, protocol, port = read_destination(packet)
        for vip in self.vips:
            if vip.has(destination, protocol, port):
                return vip.pool
        return NOBODY


def read_destination(packet):
    """Address, protocol and port."""
    if packet[0] >> 4 == 4:
        address, protocol, l4 = packet[16:20], packet[9], packet[(packet[0] & 15) * 4:]
    else:
        address, protocol, l4 = packet[24:40], packet[6], packet[40:]
    port = struct.unpack(">H", l4[2:4])[0]
    return ipaddress.ip_address(address), {6: "tcp", 17: "udp"}.get(protocol, ""), port


def checksum(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


@dataclasses.dataclass(frozen=True)
class Encapsulated:
    """A frame with an outer header, but for what the fixtures' README says to mask: it is
    `wrong` in words if it is not what it must be."""

    macs: bytes
    family: int
    tos: int
    length: int
    id: int
    fragment: int
    label: int
    protocol: int
    ttl: int
    destination: str
    port: int
    inner: bytes
    wrong: str

    def but(self, **changes):
        return dataclasses.replace(self, **changes)


def read_udp(packet, source, destination):
    """Destination port, what is inside, and what is wrong."""
    sport, dport, length, check = struct.unpack(">4H", packet[:8])
    pseudo = source + destination + struct.pack(">II", length, 17)
    wrong = ""
    if length != len(packet):
        wrong = f"UDP length is {length}"
    elif checksum(pseudo + packet) not in (0, 0xffff) or not check:
        wrong = f"UDP checksum is {check:#06x}"
    elif sport < 49152:
        wrong = f"UDP source port is {sport}"
    return dport, packet[8:], wrong


def outer_of(inner, real, forward):
    """What ringlb must put around @inner; its flow label may be any."""
    over_ipv6, of_ipv6 = ":" in real, inner[0] >> 4 == 6
    ident, fragment = (0, DONT_FRAGMENT) if of_ipv6 else struct.unpack(">HH", inner[4:8])
    if over_ipv6 or fragment & DONT_FRAGMENT:
        ident = 0
    header = 40 if over_ipv6 else 20
    gue = forward == "gue"
    return Encapsulated(
        macs=bytes.fromhex((GATEWAY_MAC + OUR_MAC).replace(":", "")) + ETHERTYPES[over_ipv6],
        family=header, tos=(inner[0] << 4 | inner[1] >> 4) & 0xff if of_ipv6 else inner[1],
        length=header + 8 * gue + len(inner), id=ident,
        fragment=0 if over_ipv6 else fragment & DONT_FRAGMENT, label=0,
        protocol=17 if gue else 41 if of_ipv6 else 4, ttl=64, destination=real,
        port=GUE_PORT if gue else 0, inner=inner, wrong="")


def read_outer(frame):
    """The outer header of @frame, which has one."""
    packet = frame[14:]
    if frame[12:14] == b"\x08\x00":
        _, tos, length, ident, fragment, ttl, protocol = struct.unpack(">BBHHHBB", packet[:10])
        source, destination, header, label = packet[12:16], packet[16:20], 20, 0
        wrong = "" if checksum(packet[:20]) == 0 else "IPv4 checksum"
    else:
        word, length, protocol, ttl = struct.unpack(">IHBB", packet[:8])
        tos, label, ident, fragment = word >> 20 & 0xff, word & 0xfffff, 0, 0
        source, destination, header, wrong = packet[8:24], packet[24:40], 40, ""
        length += header
    if ipaddress.ip_address(source) not in ipaddress.ip_network(SOURCES[header == 40]):
        wrong = wrong or f"source is {ipaddress.ip_address(source)}"
    port, inner = 0, packet[header:]
    if protocol == socket.IPPROTO_UDP:
        port, inner, wrong_udp = read_udp(inner, source, destination)
        wrong = wrong or wrong_udp
    return Encapsulated(frame[:14], header, tos, length, ident, fragment, label, protocol, ttl,
                        str(ipaddress.ip_address(destination)), port, inner, wrong)
