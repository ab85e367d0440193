#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets to VIPs by ipip and gue: what leaves, byte for byte, and the verdict."""
import struct
import sys

sys.dont_write_bytecode = True

from outer import set_sources, wrap  # noqa: E402
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
    set_sources(runner)
    for backend in BACKENDS:
        runner.add_backend(backend)
        for number, address in enumerate(VIPS):
            for protocol in ("tcp", "udp", "sctp"):
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


def each(protocols=("tcp", "udp")):
    for backend in BACKENDS:
        for address in VIPS:
            for protocol in protocols:
                yield to_vip(address, protocol, 1000 + backend.id), backend


def rows_of_each_combination():
    for packet, backend in each(("tcp", "udp", "sctp")):
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
            for words in range(1, 11):
                sent(f", ihl {5 + words}", packet.but(options=words), backend)


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


def all_sent(what, packet, backend, changes, **how):
    """One row for all of them: what differs, and the packet."""
    wrong = []
    for value, changed in changes:
        action = "TX" if backend.interface == "rl0" else "REDIRECT"
        found = runner.run(changed.build())
        if found != (action, action + "_BACKEND", wrap(changed, backend, **how)):
            wrong.append(f"{value}: {found[1]} {found[2].hex()}")
    tap.ok(not wrong, f"{name_of(packet, backend)}{what}", *wrong[:5])


def rows_of_traffic_class():
    """DSCP and ECN, all of them, are those of the inner packet: RFC 6040, section 4.1."""
    for packet, backend in each(("tcp",)):
        field = "tc" if packet.is_ipv6 else "tos"
        all_sent(", each DSCP and ECN", packet, backend,
                 ((value, packet.but(ip=((field, value),))) for value in range(256)))


def rows_of_identification():
    """DF is the inner one, and with it there is no identification outside."""
    for packet, backend in each(("udp",)):
        if packet.is_ipv6:
            continue
        idents = (0, 1, 0xff, 0x100, 0x1234, 0x8000, 0xffff)
        for flags in (0, "DF"):
            all_sent(f", {flags or 'no DF'}, each identification", packet, backend,
                     ((ident, packet.but(ip=(("id", ident), ("flags", flags))))
                      for ident in idents))
        for flags in ("evil", "evil+DF"):
            sent(f", flags {flags}", packet.but(ip=(("flags", flags),)), backend)


def rows_of_full_checksum():
    """gue_checksum: full; tests/packet/test_outer_csum.c has all lengths."""
    for packet, backend in each(("udp",)):
        if backend.forward != "gue":
            continue
        runner.add_backend(backend, flags=1)
        all_sent(", full checksum", packet, backend,
                 ((length, packet.but(payload=bytes(i * 31 & 0xff for i in range(length))))
                  for length in (0, 1, 2, 3, 4, 255, 511, 512, 1399, 1400)), checksum=True)
        sent(", full checksum, no inner one", packet.but(l4=(("chksum", 0),)), backend,
             checksum=True)
        sent(", full checksum, a wrong inner one", packet.but(l4=(("chksum", 0x4242),)), backend,
             checksum=True)
        runner.add_backend(backend)


def rows_of_cuts():
    """What is cut short is never encapsulated, and stays as it came."""
    for packet, backend in each(("tcp", "udp", "sctp")):
        for what, changed in (("", packet), (", QinQ", packet.but(tags=(Tag(7, type=0x88a8), Tag(8)))),
                              (", with options", packet.but(extensions=(hop_by_hop(), routing()))
                               if packet.is_ipv6 else packet.but(options=10))):
            frame, wrong = changed.build(), []
            for length in range(ETHERNET_LEN, len(frame)):
                action, verdict, after = runner.run(frame[:length])
                if action != "DROP" or after != frame[:length]:
                    wrong.append(f"{length} bytes: {verdict}")
            tap.ok(not wrong, f"{name_of(packet, backend)}{what}, cut at each length", *wrong[:5])


def rows_of_lengths_that_agree():
    """The IP header's length decides: each one that leaves all of layer 4's header."""
    for packet, backend in each(("tcp",)):
        whole = packet.but(payload=bytes(range(60)))
        frame, at = whole.build(), whole.ip_at
        header = 40 if packet.is_ipv6 else 0
        wrong = []
        for end in range(whole.l4_at + 20, len(frame)):
            field = at + (4 if packet.is_ipv6 else 2)
            shorter = bytearray(frame)
            struct.pack_into(">H", shorter, field, end - at - header)
            inner = bytes(shorter[at:end])
            found = runner.run(bytes(shorter))
            if found[1:] != (found[0] + "_BACKEND", wrap(whole, backend, inner=inner)):
                wrong.append(f"{end} bytes: {found[1]}")
        tap.ok(not wrong, f"{name_of(packet, backend)}, each length with the rest as padding",
               *wrong[:5])


set_up_encap()
rows_of_each_combination()
rows_of_lengths()
rows_of_headers()
rows_of_fragments()
rows_of_traffic_class()
rows_of_identification()
rows_of_full_checksum()
rows_of_cuts()
rows_of_lengths_that_agree()
tap.finish()
