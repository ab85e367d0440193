#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets to VIPs by ipip and gue: what leaves, byte for byte, and the verdict."""
import sys

sys.dont_write_bytecode = True

from outer import SEED, wrap  # noqa: E402
from packets import (ETHERNET_LEN, HELD_AGAIN, Backend, Tag, Tap, authentication,  # noqa: E402
                     destination_options, hop_by_hop, routing, set_up, to_vip)

GUE_PORT = 6080
VIPS = ("192.0.2.100", "2001:db8::100")
BACKENDS = tuple(Backend(20 + i, address, port, forward, interface)
                 for i, (address, forward, port, interface) in enumerate((
                     ("10.0.9.1", "ipip", 0, "rl0"), ("fd00:9::1", "ipip", 0, "rl0"),
                     ("10.0.9.2", "gue", GUE_PORT, "rl0"), ("fd00:9::2", "gue", GUE_PORT, "rl0"),
                     ("10.0.9.3", "ipip", 0, "rl1"), ("fd00:9::3", "gue", GUE_PORT, "rl1"))))

tap = Tap()
runner = set_up()


def set_up_encap():
    """Each backend has a VIP of both families, on its own port: 1000 and its id."""
    runner.do("encap", seed=SEED, source_ipv4="198.18.0.0", hosts_ipv4="0.0.255.255",
              source_ipv6="100::", hosts_ipv6="::ffff:ffff:ffff:ffff")
    for backend in BACKENDS:
        runner.do("backend", id=backend.id, address=backend.address, port=backend.port,
                  forward=backend.forward)
        runner.do("nexthop", id=backend.id, ifindex=runner.ifindex(backend.interface),
                  destination=backend.mac, source=backend.mac_source)
        runner.do("ring", pool=backend.id, seed=backend.id, vnodes=10, backends=[backend.id])
        for number, address in enumerate(VIPS):
            for protocol in ("tcp", "udp"):
                runner.do("vip", address=address, protocol=protocol, port=1000 + backend.id,
                          vip=100 + 2 * backend.id + number, pool=backend.id)


def name_of(packet, backend):
    inner = "6" if packet.is_ipv6 else "4"
    outer = "6" if ":" in backend.address else "4"
    return f"{packet.protocol} {inner} in {outer} by {backend.forward}"


def sent(what, packet, backend, **how):
    """@packet has to leave for @backend inside an outer header as scapy builds it."""
    action = "TX" if backend.interface == "rl0" else "REDIRECT"
    tap.equal(runner.run(packet.build()), (action, action + "_BACKEND", wrap(packet, backend, **how)),
              f"{name_of(packet, backend)}{what}")


def each():
    for backend in BACKENDS:
        for address in VIPS:
            for protocol in ("tcp", "udp"):
                yield to_vip(address, protocol, 1000 + backend.id), backend


def rows_of_each_combination():
    for packet, backend in each():
        sent("", packet, backend)


def rows_of_lengths():
    """Ethernet padding is no part of the inner packet, and goes."""
    for packet, backend in each():
        for length in (0, 1, 2, 3, 7, 8, 9, 255, 1399, 1400):
            payload = bytes(i * 7 & 0xff for i in range(length))
            sent(f", payload of {length}", packet.but(payload=payload), backend)
        for length in (1, 2, 6, 18, 46):
            sent(f", Ethernet padding of {length}",
                 packet.but(payload=b"", padding=b"\xa5" * length), backend)


def rows_of_headers():
    """Tags stay in front of the outer header; options and extension headers are inner ones."""
    for packet, backend in each():
        for tags in (Tag(7),), (Tag(0, prio=5),), (Tag(7, type=0x88a8), Tag(8)), (Tag(1), Tag(2)):
            for length in (0, 1, 700):
                sent(f", {len(tags)} tags, payload of {length}",
                     packet.but(tags=tags, payload=b"t" * length), backend)
            sent(f", {len(tags)} tags, Ethernet padding",
                 packet.but(tags=tags, payload=b"", padding=b"\xa5" * 18), backend)
        if packet.is_ipv6:
            for headers in ((hop_by_hop(), destination_options(24)), (authentication(),),
                            (routing(),) * 8):
                sent(f", {len(headers)} extension headers", packet.but(extensions=headers), backend)
        else:
            sent(", ihl 15", packet.but(options=10), backend)


def rows_of_fragments():
    """Each by itself, and all with the outer source of their flow: the later ones too, which
    do not say by themselves which that is."""
    for ident, (packet, backend) in enumerate(each(), 7000):
        action = "TX" if backend.interface == "rl0" else "REDIRECT"
        packet = packet.but(payload=bytes(i * 7 & 0xff for i in range(3000)))
        for i, piece in enumerate(packet.pieces(ident)):
            # The last one as if it had come too early and been held.
            tap.equal(runner.run(piece, mark=HELD_AGAIN if i == 2 else 0),
                      (action, action + "_BACKEND",
                       wrap(packet, backend, inner=piece[ETHERNET_LEN:])),
                      f"{name_of(packet, backend)}, fragment {i}")
    tap.equal(runner.do("fragments")["entries"], 0, "complete datagrams are forgotten")


set_up_encap()
rows_of_each_combination()
rows_of_lengths()
rows_of_headers()
rows_of_fragments()
tap.finish()
