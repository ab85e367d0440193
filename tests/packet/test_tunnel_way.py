#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The whole way: what ringlb's program puts into ipip or gue, the backend's takes out, and the
packet is the client's again, byte for byte; also where a router on the way marked congestion."""
import sys

sys.dont_write_bytecode = True

from backend_packets import BackendRunner  # noqa: E402
from outer import SOURCE_IPV4, SOURCE_IPV6, set_sources  # noqa: E402
from packets import (Backend, Tag, Tap, authentication, destination_options,  # noqa: E402
                     hop_by_hop, routing, set_up, to_vip)

VIPS = ("192.0.2.100", "2001:db8::100")
BACKENDS = (Backend(20, "10.0.9.1", 0, "ipip"), Backend(21, "fd00:9::1", 0, "ipip"),
            Backend(22, "10.0.9.2", 6080, "gue"), Backend(23, "fd00:9::2", 6080, "gue"))
ECT0, CE = 2, 3

tap = Tap()
balancer = set_up()
receiver = BackendRunner()


def set_up_tunnels():
    set_sources(balancer)
    receiver.load(vips=list(VIPS), locals=[backend.address for backend in BACKENDS],
                  **{"from": [SOURCE_IPV4, SOURCE_IPV6]})
    for backend in BACKENDS:
        for number, address in enumerate(VIPS):
            for protocol in ("tcp", "udp", "sctp"):
                balancer.do("vip", address=address, protocol=protocol, port=backend.id,
                            vip=100 + 2 * backend.id + number, pool=backend.id)


def variants(packet):
    """Packets, each with what it is called."""
    for length in (0, 1, 2, 3, 40, 511, 1201, 1400):
        yield f"payload of {length}", packet.but(payload=bytes(i * 7 & 0xff for i in range(length)))
    yield "padding", packet.but(payload=b"", padding=b"\xa5" * 18)
    for tags in ((Tag(7),), (Tag(0, prio=5),), (Tag(7, type=0x88a8), Tag(8))):
        yield f"{len(tags)} tags", packet.but(tags=tags)
    if packet.is_ipv6:
        yield "extension headers", packet.but(extensions=(hop_by_hop(), routing(), authentication(),
                                                          destination_options(24)))
        for value in range(0, 256, 5):
            yield f"traffic class {value}", packet.but(ip=(("tc", value),))
    else:
        yield "ihl 15", packet.but(options=10)
        for value in range(0, 256, 5):
            yield f"tos {value}", packet.but(ip=(("tos", value),))
        for fields in ((("id", 0),), (("flags", "DF"),), (("flags", "DF"), ("id", 77))):
            yield f"{fields}", packet.but(ip=fields)


def frames(packet):
    for what, variant in variants(packet):
        yield what, variant.build(), variant.but(padding=b"").build()
    big = packet.but(payload=bytes(i * 7 & 0xff for i in range(3000)))
    for i, piece in enumerate(big.pieces(7000 + packet.dport)):
        yield f"fragment {i}", piece, piece


def way(frame, expected, verdict, backend):
    """What is wrong, in a word; empty if nothing is."""
    action, found, outer = balancer.run(frame)
    if (action, found) != ("TX", "TX_BACKEND"):
        return found
    action, found, inner = receiver.run(outer)
    if (action, found) != ("PASS", verdict):
        return found
    macs = bytes.fromhex((backend.mac + backend.mac_source).replace(":", ""))
    return "" if inner == macs + expected[12:] else "other bytes"


def rows_of_all(flags):
    for backend in BACKENDS:
        balancer.add_backend(backend, flags)
        for address in VIPS:
            for protocol in ("tcp", "udp", "sctp"):
                packet = to_vip(address, protocol, backend.id)
                wrong = []
                for what, frame, expected in frames(packet):
                    found = way(frame, expected, f"PASS_{backend.forward.upper()}", backend)
                    if found:
                        wrong.append(f"{what}: {found}")
                tap.ok(not wrong, f"{protocol} to {address} by {backend.forward} to "
                       f"{backend.address}, flags {flags}", *wrong[:5])


def mark(outer):
    """Set CE in the outer header, as a router does; where it was ECT(0)."""
    outer = bytearray(outer)
    if outer[14] >> 4 == 6:
        outer[15] |= CE << 4
    else:
        outer[15] |= CE
        check = int.from_bytes(outer[24:26], "big") - (CE - ECT0)
        outer[24:26] = (check % 0xffff).to_bytes(2, "big")
    return bytes(outer)


def rows_of_congestion():
    """A mark that a router made on the way is in the packet that the server sees."""
    for backend in BACKENDS:
        for address in VIPS:
            packet = to_vip(address, "tcp", backend.id)
            field = "tc" if packet.is_ipv6 else "tos"
            sent = packet.but(ip=((field, 0x28 | ECT0),)).build()
            expected = packet.but(ip=((field, 0x28 | CE),), mac_source=backend.mac_source,
                                  mac_destination=backend.mac).build()
            outer = mark(balancer.run(sent)[2])
            tap.equal(receiver.run(outer), ("PASS", f"PASS_{backend.forward.upper()}", expected),
                      f"to {address} by {backend.forward} to {backend.address}: marked on the way")


set_up_tunnels()
rows_of_all(0)
rows_of_all(1)
rows_of_congestion()
tap.finish()
