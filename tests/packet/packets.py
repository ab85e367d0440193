# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the Python packet tests share: the runner, TAP output, packets built by scapy.

Packets are described once and built by scapy, checksums in full; what has to come out
is the same description with other fields, built again. Nothing is taken from bpf/.
"""
import atexit
import dataclasses
import json
import os
import subprocess
import sys

from scapy.config import conf

conf.ipv6_enabled = True
from scapy.layers.inet import IP, TCP, UDP, IPOption_NOP, fragment  # noqa: E402
from scapy.layers.inet6 import (IPv6, IPv6ExtHdrFragment, IPv6ExtHdrRouting,  # noqa: E402
                                PadN, fragment6)
from scapy.layers.l2 import Dot1Q, Ether  # noqa: E402
from scapy.layers.sctp import SCTP, SCTPChunkData  # noqa: E402
from scapy.packet import Raw  # noqa: E402

CLIENT_MAC = "02:00:00:00:0c:01"
OUR_MAC = "02:00:00:00:01:01"
ETHERNET_LEN = 14
# Metadata in front of a later fragment that was held and comes again, or for the last time.
HELD_AGAIN, HELD_FINAL = 0x72696e676c620a01, 0x72696e676c620a02
PROTOCOLS = {"tcp": 6, "udp": 17, "sctp": 132, "icmp": 1, "icmpv6": 58}
CHECK_IN = {"tcp": 16, "udp": 6, "sctp": 8}


class Runner:
    """build/tests/packet/packet_runner, one JSON line for each command."""

    def __init__(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        program = os.path.join(root, os.environ.get("B", "build"), "tests/packet/packet_runner")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        atexit.register(self.stop)
        self.ingress = self.ifindex("rl0")

    def stop(self):
        self.process.stdin.close()
        self.process.wait()

    def do(self, what, **fields):
        self.process.stdin.write(json.dumps({"do": what, **fields}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line.startswith("{") else {"error": line or "it ended"}
        if "error" in answer:
            raise RuntimeError(f"{what} {fields}: {answer['error']}")
        return answer

    def ifindex(self, name):
        return self.do("ifindex", name=name)["ifindex"]

    def shell(self, command):
        self.do("shell", command=f"({command}) >&2")

    def add_interface(self, name, mac):
        """A veth pair, both ends up; returns its ifindex."""
        self.shell(f"ip link add {name} address {mac} type veth peer name {name}-peer && "
                   f"ip link set {name} up && ip link set {name}-peer up")
        return self.ifindex(name)

    def add_backend(self, backend, flags=0):
        """A Backend, alone in its pool."""
        self.do("backend", id=backend.id, address=backend.address, port=backend.port,
                forward=backend.forward, flags=flags)
        self.do("nexthop", id=backend.id, ifindex=self.ifindex(backend.interface),
                destination=backend.mac, source=backend.mac_source)
        self.do("ring", pool=backend.id, seed=backend.id, vnodes=10, backends=[backend.id])

    def run(self, frame, ifindex=None, mark=0):
        """Returns action, verdict, frame."""
        answer = self.do("run", frame=frame.hex(), ifindex=ifindex or self.ingress, mark=mark)
        return answer["action"], answer["verdict"], bytes.fromhex(answer["frame"])

    def run_long(self, frame, linear=0):
        """The same in several buffers, the first of @linear bytes; None if the kernel can't."""
        answer = self.do("run_long", frame=frame.hex(), ifindex=self.ingress, linear=linear)
        if not answer:
            return None
        return answer["action"], answer["verdict"], bytes.fromhex(answer["frame"])


class Tap:
    """Test lines as `prove` reads them; the plan comes last."""

    def __init__(self):
        self.count = self.failed = 0

    def ok(self, passed, name, *details):
        self.count += 1
        self.failed += not passed
        print(f"{'' if passed else 'not '}ok {self.count} - {name}")
        for detail in () if passed else details:
            print(f"#   {detail}")

    def equal(self, found, expected, name):
        """Compare (action, verdict, frame) triples, or anything else."""
        if isinstance(found, tuple) and len(found) == 3:
            self.ok(found == expected, name, f"found    {found[0]} {found[1]} {found[2].hex()}",
                    f"expected {expected[0]} {expected[1]} {expected[2].hex()}")
        else:
            self.ok(found == expected, name, f"found    {found}", f"expected {expected}")

    def finish(self):
        print(f"1..{self.count}")
        sys.exit(self.failed > 0)


@dataclasses.dataclass(frozen=True)
class Tag:
    """A VLAN tag: 802.1Q, or 802.1ad with another `type`."""

    vlan: int
    prio: int = 0
    type: int = 0x8100


# IPv6 extension headers: protocol, and bytes behind the one that says what comes next.
def padding_options(length):
    """A header of @length bytes full of PadN."""
    room, options = length - 2, []
    while room:
        piece = min(room, 200)
        options.append(PadN(optdata=bytes(piece - 2)))
        room -= piece
    return bytes([length // 8 - 1]) + b"".join(bytes(option) for option in options)


def hop_by_hop(length=8):
    return 0, padding_options(length)


def destination_options(length=8):
    return 60, padding_options(length)


def routing(left=0):
    return 43, bytes(IPv6ExtHdrRouting(addresses=["2001:db8::77"], segleft=left))[1:]


def authentication(icv=12):
    """Its length is in words of four bytes, less two: RFC 4302, section 2.2."""
    return 51, bytes([(12 + icv) // 4 - 2, 0, 0]) + bytes.fromhex("00001234 00000007") \
        + b"\x5a" * icv


def fragment_header(offset=0, more=0, identification=0xcafe):
    return 44, bytes(IPv6ExtHdrFragment(offset=offset, m=more, id=identification))[1:]


@dataclasses.dataclass(frozen=True)
class Packet:
    """A TCP, UDP or SCTP packet in an Ethernet frame. `ip` and `l4` are fields for scapy."""

    protocol: str
    source: str
    destination: str
    sport: int
    dport: int
    ttl: int = 64
    options: int = 0  # IPv4 options, in words of four bytes
    extensions: tuple = ()  # of IPv6, as hop_by_hop() and others make them
    tags: tuple = ()  # the outermost first
    payload: bytes = b"ringlb"
    padding: bytes = b""
    mac_source: str = CLIENT_MAC
    mac_destination: str = OUR_MAC
    ip: tuple = ()
    l4: tuple = ()

    def but(self, **changes):
        return dataclasses.replace(self, **changes)

    @property
    def is_ipv6(self):
        return ":" in self.source

    @property
    def ip_at(self):
        return ETHERNET_LEN + 4 * len(self.tags)

    @property
    def l4_at(self):
        if self.is_ipv6:
            return self.ip_at + 40 + sum(1 + len(body) for _, body in self.extensions)
        return self.ip_at + 20 + 4 * self.options

    @property
    def check_at(self):
        return self.l4_at + CHECK_IN[self.protocol]

    def ether(self, layer3=None):
        """The Ethernet header and tags, before what @layer3 says, if it is not self's IP."""
        ether = Ether(src=self.mac_source, dst=self.mac_destination)
        own = 0x86dd if self.is_ipv6 else 0x0800
        types = [tag.type for tag in self.tags] + [layer3 or own]
        ether.type = types[0]
        for tag, inner in zip(self.tags, types[1:]):
            ether = ether / Dot1Q(vlan=tag.vlan, prio=tag.prio, type=inner)
        return ether

    def ip_layer(self):
        if self.is_ipv6:
            return IPv6(src=self.source, dst=self.destination, hlim=self.ttl,
                        **{"tc": 0x1c, "fl": 0x51ab3, **dict(self.ip)})
        return IP(src=self.source, dst=self.destination, ttl=self.ttl,
                  options=[IPOption_NOP()] * 4 * self.options,
                  **{"id": 0xbeef, "tos": 0x10, **dict(self.ip)})

    def layers(self):
        """IP and what is in it, without extension headers."""
        ip = self.ip_layer()
        if self.protocol == "tcp":
            fields = {"seq": 0x12345678, "ack": 0x9abcdef0, "flags": "PA", **dict(self.l4)}
            l4 = TCP(sport=self.sport, dport=self.dport, **fields)
        elif self.protocol == "udp":
            l4 = UDP(sport=self.sport, dport=self.dport, **dict(self.l4))
        else:
            return ip / SCTP(sport=self.sport, dport=self.dport, tag=0x5c7b) \
                / SCTPChunkData(data=self.payload)
        return ip / l4 / Raw(self.payload)

    def build(self):
        packet = bytes(self.layers())
        if self.extensions:
            packet = self.with_extensions(packet)
        return bytes(self.ether()) + packet + self.padding

    def with_extensions(self, packet):
        """Layer 4 checksums do not cover extension headers, so these come in afterwards."""
        protocols = [protocol for protocol, _ in self.extensions] + [PROTOCOLS[self.protocol]]
        chain = b"".join(bytes([after]) + body
                         for (_, body), after in zip(self.extensions, protocols[1:]))
        length = len(packet) - 40 + len(chain)
        return packet[:4] + length.to_bytes(2, "big") + bytes([protocols[0]]) + packet[7:40] \
            + chain + packet[40:]

    def pieces(self, ident, size=1400):
        """The frames of its fragments, each of at most @size bytes of IP."""
        ether, ip = self.ether(), self.layers()
        if self.is_ipv6:
            l4 = ip.payload
            ip.remove_payload()
            parts = fragment6(ip / IPv6ExtHdrFragment(id=ident) / l4, size)
        else:
            ip.id = ident
            parts = fragment(ip, size - 4 * self.options - 20)
        return [bytes(ether / part) + self.padding for part in parts]


@dataclasses.dataclass(frozen=True)
class Backend:
    """A backend alone in its pool; `id` is both. Its frames leave by `interface`."""

    id: int
    address: str
    port: int
    forward: str
    interface: str = "rl0"

    @property
    def mac(self):
        return f"02:00:00:00:0b:{self.id:02x}"

    @property
    def mac_source(self):
        return f"02:00:00:00:0a:{self.id:02x}"

    def receives(self, packet):
        """What @packet has to look like when it leaves for this backend."""
        packet = packet.but(mac_destination=self.mac, mac_source=self.mac_source)
        if self.forward == "nat":
            packet = packet.but(destination=self.address, dport=self.port or packet.dport,
                                ttl=packet.ttl - 1)
        return packet


NAT4 = Backend(1, "10.0.1.5", 8080, "nat")
NAT4_KEEP = Backend(2, "10.0.1.6", 0, "nat")
NAT6 = Backend(3, "fd00:1::5", 8443, "nat")
NAT6_KEEP = Backend(4, "fd00:1::6", 0, "nat")
DR = Backend(5, "10.0.1.7", 0, "dr")
NAT4_FAR = Backend(6, "10.0.2.8", 8080, "nat", "rl1")
NAT6_FAR = Backend(7, "fd00:2::8", 8443, "nat", "rl1")
DR_FAR = Backend(8, "10.0.2.9", 0, "dr", "rl1")
BACKENDS = (NAT4, NAT4_KEEP, NAT6, NAT6_KEEP, DR, NAT4_FAR, NAT6_FAR, DR_FAR)

# Address, port, backend; each of them for TCP and for UDP.
VIPS = (
    ("192.0.2.1", 80, NAT4), ("192.0.2.2", 0, NAT4_KEEP), ("192.0.2.2", 81, DR),
    ("192.0.2.3", 80, DR), ("192.0.2.4", 80, NAT4_FAR), ("192.0.2.5", 80, DR_FAR),
    ("2001:db8::1", 80, NAT6), ("2001:db8::2", 0, NAT6_KEEP), ("2001:db8::2", 81, DR),
    ("2001:db8::3", 80, DR), ("2001:db8::4", 80, NAT6_FAR), ("2001:db8::5", 80, DR_FAR),
)


def to_vip(address, protocol, port=80):
    """A packet of a client to a VIP."""
    source = "2001:db8:c::9" if ":" in address else "198.51.100.9"
    return Packet(protocol, source, address, 40321, port)


def set_up():
    """A runner with BACKENDS, VIPS and a second interface that may be redirected to."""
    runner = Runner()
    runner.do("egress", ifindex=runner.add_interface("rl1", "02:00:00:00:01:02"))
    for backend in BACKENDS:
        runner.add_backend(backend)
    for number, (address, port, backend) in enumerate(VIPS):
        for protocol in ("tcp", "udp"):
            runner.do("vip", address=address, protocol=protocol, port=port, vip=number,
                      pool=backend.id)
    return runner
