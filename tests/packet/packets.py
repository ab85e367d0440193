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
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402

CLIENT_MAC = "02:00:00:00:0c:01"
OUR_MAC = "02:00:00:00:01:01"
ETHERNET_LEN = 14


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

    def run(self, frame, ifindex=None):
        """Returns action, verdict, frame."""
        answer = self.do("run", frame=frame.hex(), ifindex=ifindex or self.ingress)
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
class Packet:
    """A TCP or UDP packet in an Ethernet frame. `ip` and `l4` are fields for scapy."""

    protocol: str
    source: str
    destination: str
    sport: int
    dport: int
    ttl: int = 64
    options: int = 0  # IPv4 options, in words of four bytes
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
    def l4_at(self):
        return ETHERNET_LEN + (40 if self.is_ipv6 else 20 + 4 * self.options)

    @property
    def check_at(self):
        return self.l4_at + (16 if self.protocol == "tcp" else 6)

    def layers(self):
        ether = Ether(src=self.mac_source, dst=self.mac_destination)
        if self.is_ipv6:
            ip = IPv6(src=self.source, dst=self.destination, hlim=self.ttl, tc=0x1c, fl=0x51ab3,
                      **dict(self.ip))
        else:
            ip = IP(src=self.source, dst=self.destination, ttl=self.ttl, id=0xbeef, tos=0x10,
                    options=[IPOption_NOP()] * 4 * self.options, **dict(self.ip))
        if self.protocol == "tcp":
            fields = {"seq": 0x12345678, "ack": 0x9abcdef0, "flags": "PA", **dict(self.l4)}
            l4 = TCP(sport=self.sport, dport=self.dport, **fields)
        else:
            l4 = UDP(sport=self.sport, dport=self.dport, **dict(self.l4))
        return ether / ip / l4 / Raw(self.payload)

    def build(self):
        return bytes(self.layers()) + self.padding

    def pieces(self, ident, size=1400):
        """The frames of its fragments, each of at most @size bytes of IP."""
        frame = self.layers()
        ether, ip = Ether(src=self.mac_source, dst=self.mac_destination), frame.payload
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
        runner.do("backend", id=backend.id, address=backend.address, port=backend.port,
                  forward=backend.forward)
        runner.do("nexthop", id=backend.id, ifindex=runner.ifindex(backend.interface),
                  destination=backend.mac, source=backend.mac_source)
        runner.do("ring", pool=backend.id, seed=backend.id, vnodes=10, backends=[backend.id])
    for number, (address, port, backend) in enumerate(VIPS):
        for protocol in ("tcp", "udp"):
            runner.do("vip", address=address, protocol=protocol, port=port, vip=number,
                      pool=backend.id)
    return runner
