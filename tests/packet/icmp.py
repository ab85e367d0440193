# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ICMP and ICMPv6 messages for the packet tests, their checksums summed in full by scapy."""
import dataclasses

from packets import Packet, Raw
from scapy.layers.inet import ICMP
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest,
                                ICMPv6PacketTooBig, ICMPv6ParamProblem, ICMPv6TimeExceeded)

ROUTERS = {False: "203.0.113.77", True: "2001:db8:77::1"}
# Errors by what they mean: of ICMP and ICMPv6, without what is quoted.
ERRORS = {
    False: {
        "port unreachable": ICMP(type=3, code=3),
        "too big": ICMP(type=3, code=4, nexthopmtu=1400),
        "time exceeded": ICMP(type=11, code=0),
        "reassembly time exceeded": ICMP(type=11, code=1),
        "parameter problem": ICMP(type=12, ptr=9),
    },
    True: {
        "port unreachable": ICMPv6DestUnreach(code=4),
        "too big": ICMPv6PacketTooBig(mtu=1280),
        "time exceeded": ICMPv6TimeExceeded(),
        "reassembly time exceeded": ICMPv6TimeExceeded(code=1),
        "parameter problem": ICMPv6ParamProblem(ptr=6),
    },
}


@dataclasses.dataclass(frozen=True)
class Message(Packet):
    """An ICMP message; ports and l4 mean nothing. `head` is scapy's ICMP layer."""

    head: object = None

    def layers(self):
        return self.ip_layer() / self.head.copy() / Raw(self.payload)


def message(source, destination, head, payload, **fields):
    protocol = "icmpv6" if ":" in source else "icmp"
    return Message(protocol, source, destination, 0, 0, payload=payload, head=head, **fields)


def echo(source, destination, payload=b"ringlb", ident=0x1234, sequence=7, **fields):
    if ":" in source:
        head = ICMPv6EchoRequest(id=ident, seq=sequence)
    else:
        head = ICMP(type=8, id=ident, seq=sequence)
    return message(source, destination, head, payload, **fields)


def answer_to(request):
    """The frame that answers @request: all the same, but for what an answer has of its own."""
    head = request.head.copy()
    if request.is_ipv6:
        head = ICMPv6EchoReply(id=head.id, seq=head.seq)
    else:
        head.type = 0
    return request.but(source=request.destination, destination=request.source, head=head, ttl=64,
                       mac_source=request.mac_destination, mac_destination=request.mac_source)


def quoted(packet, cut=None):
    """The bytes of @packet as an error quotes them: all, or @cut bytes behind its IP headers."""
    whole = packet.build()[packet.ip_at:]
    return whole if cut is None else whole[:packet.l4_at - packet.ip_at + cut]


def error(packet, kind="port unreachable", cut=8, source=None, **fields):
    """What a router has to tell the sender of @packet."""
    return message(source or ROUTERS[packet.is_ipv6], packet.source, ERRORS[packet.is_ipv6][kind],
                   quoted(packet, cut), **fields)


def turned(packet, ttl=57):
    """@packet's flow the other way round, as the other end sends it; on its way for a while."""
    return packet.but(source=packet.destination, destination=packet.source, sport=packet.dport,
                      dport=packet.sport, ttl=ttl)
