# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the packet tests of the backend share: its runner, and tunnelled packets by scapy."""
import atexit
import os
import subprocess

from packets import Runner, Tap  # noqa: F401 (Tap is for the tests)
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

VIP4, VIP6 = "192.0.2.1", "2001:db8::1"
LOCAL4, LOCAL6 = "10.0.0.5", "fd00::5"
LB4, LB6 = "10.0.0.1", "fd00::1"
CLIENT4, CLIENT6 = "198.51.100.9", "2001:db8:c::9"
GUE_PORT = 6080
IPIP, IPV6 = 4, 41

LB_MAC, OUR_MAC = "02:00:00:00:01:01", "02:00:00:00:0b:01"

# What the tests load unless they say otherwise.
SETTINGS = {
    "gue_port": GUE_PORT, "mss": 1400, "ipip": True, "gue": True,
    "vips": [VIP4, VIP6], "locals": [LOCAL4, LOCAL6], "from": [],
}


class BackendRunner(Runner):
    """build/tests/packet/backend_runner, one JSON line for each command."""

    def __init__(self):  # pylint: disable=super-init-not-called
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        program = os.path.join(root, os.environ.get("B", "build"), "tests/packet/backend_runner")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        atexit.register(self.stop)
        self.load()

    def load(self, **changes):
        self.do("load", **{**SETTINGS, **changes})

    def run(self, frame, ifindex=None):
        answer = self.do("run", frame=bytes(frame).hex())
        return answer["action"], answer["verdict"], bytes.fromhex(answer["frame"])

    def clamp(self, frame):
        answer = self.do("clamp", frame=bytes(frame).hex())
        return answer["verdict"], bytes.fromhex(answer["frame"])

    def port(self):
        return self.do("port")["port"]


def ether(tags=()):
    """Tags are (TPID, VLAN id), the outermost first."""
    frame = Ether(src=LB_MAC, dst=OUR_MAC)
    for tpid, vlan in tags:
        frame /= (Dot1AD if tpid == 0x88a8 else Dot1Q)(vlan=vlan, prio=5)
    return frame


def inner(family, ecn=0, **fields):
    """A client's packet to a VIP."""
    tcp = TCP(sport=40321, dport=80, flags="PA", seq=1, ack=2) / Raw(b"GET / HTTP/1.0\r\n\r\n")
    if family == 4:
        return IP(**{"src": CLIENT4, "dst": VIP4, "ttl": 57, "id": 0xbeef, "tos": 0x28 | ecn,
                     **fields}) / tcp
    return IPv6(**{"src": CLIENT6, "dst": VIP6, "hlim": 57, "tc": 0x28 | ecn, "fl": 0x51ab3,
                   **fields}) / tcp


def number_of(packet):
    return IPIP if isinstance(packet, IP) else IPV6


def outer(family, protocol, ecn=0, **fields):
    if family == 4:
        return IP(**{"src": LB4, "dst": LOCAL4, "ttl": 62, "id": 0, "proto": protocol,
                     "tos": 0x10 | ecn, **fields})
    return IPv6(**{"src": LB6, "dst": LOCAL6, "hlim": 62, "nh": protocol, "tc": 0x10 | ecn,
                   **fields})


def ipip(family, packet, **fields):
    """@packet, which is from scapy, in an outer header of @family."""
    return outer(family, number_of(packet), **fields) / Raw(bytes(packet))


def gue(family, packet, variant=1, port=GUE_PORT, header=None, checksum=None, **fields):
    """Variant 0 has a header of its own: version 0, no length, protocol, no flags."""
    if header is None:
        header = b"" if variant == 1 else bytes([0, number_of(packet), 0, 0])
    udp = UDP(sport=50123, dport=port)
    if checksum is not None:
        udp.chksum = checksum
    return outer(family, 17, **fields) / udp / Raw(header + bytes(packet))
