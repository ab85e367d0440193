#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames that lie in several buffers: rewritten in the first, the others as they came. What
goes on in another buffer before the headers end is left to the kernel."""
import sys

sys.dont_write_bytecode = True

from outer import set_sources, wrap  # noqa: E402
from packets import (DR, NAT4, NAT6, Backend, Tag, Tap, destination_options,  # noqa: E402
                     hop_by_hop, set_up, to_vip)

LENGTHS = (3300, 3500, 4200, 8900, 9000)
QINQ = (Tag(7, type=0x88a8), Tag(8))
IPIP = Backend(30, "10.0.9.1", 0, "ipip")
GUE = Backend(31, "10.0.9.2", 6080, "gue")
GUE6 = Backend(32, "fd00:9::2", 6080, "gue")

tap = Tap()
runner = set_up()


def packet_of(address, protocol, length, **changes):
    payload = bytes(i * 7 + i // 256 & 0xff for i in range(length))
    return to_vip(address, protocol).but(payload=payload, **changes)


def sent(what, packet, expected, linear=0):
    found = runner.run_long(packet.build(), linear)
    if found is None:
        return
    tap.equal(found, ("TX", "TX_BACKEND", expected), what)


def rows_of_lengths():
    for address, backend in (("192.0.2.1", NAT4), ("2001:db8::1", NAT6), ("192.0.2.3", DR),
                             ("2001:db8::3", DR)):
        for protocol in ("tcp", "udp"):
            for length in LENGTHS:
                for tags in (), QINQ:
                    packet = packet_of(address, protocol, length, tags=tags)
                    sent(f"{protocol} to {address}, {length} bytes, {len(tags)} tags", packet,
                         backend.receives(packet).build())
            packet = packet_of(address, protocol, 100, padding=bytes(5000))
            sent(f"{protocol} to {address}, 5,000 bytes of padding", packet,
                 backend.receives(packet).build())


def rows_of_encapsulation():
    set_sources(runner)
    for backend in (IPIP, GUE, GUE6):
        runner.add_backend(backend)
        runner.do("vip", address="192.0.2.100", protocol="udp", port=backend.id, vip=95,
                  pool=backend.id)
    for length in LENGTHS:
        for backend in IPIP, GUE:
            for tags in (), QINQ:
                packet = packet_of("192.0.2.100", "udp", length, dport=backend.id, tags=tags)
                sent(f"{backend.forward}, {length} bytes, {len(tags)} tags", packet,
                     wrap(packet, backend))


def rows_of_outer_checksums():
    """They are over bytes that the program does not see, of odd lengths too."""
    runner.add_backend(GUE, flags=1)
    for backend in GUE, GUE6:
        for length in LENGTHS + tuple(range(3600, 3608)) + (16320, 16400, 20001, 39000):
            for tags in (), QINQ:
                packet = packet_of("192.0.2.100", "udp", length, dport=backend.id, tags=tags)
                sent(f"gue to {backend.address}, {length} bytes, {len(tags)} tags", packet,
                     wrap(packet, backend, checksum=True))
    # Where the first buffer ends makes no difference, as long as it has all headers.
    for backend in GUE, GUE6:
        packet = packet_of("192.0.2.100", "udp", 1200, dport=backend.id)
        frame, expected, wrong = packet.build(), wrap(packet, backend, checksum=True), []
        for linear in range(packet.l4_at + 8, len(frame)):
            found = runner.run_long(frame, linear)
            if found is None:
                break
            if found != ("TX", "TX_BACKEND", expected):
                wrong.append(f"{linear} bytes: {found[1]}")
        else:
            tap.ok(not wrong, f"gue to {backend.address}, split at each place", *wrong[:5])


def rows_of_truncation():
    """The IP header tells of more than all buffers have."""
    for address in ("192.0.2.1", "2001:db8::3"):
        frame = packet_of(address, "udp", 8000).build()
        for cut in (1, 2, 100, 4000):
            frame = frame[:-cut]
            tap.equal(runner.run_long(frame), ("DROP", "DROP_BAD_IP_LENGTH", frame),
                      f"udp to {address}, {cut} bytes cut off")


def rows_of_splits():
    """Each length of the first buffer that cuts through the headers."""
    for address, backend, changes in (
            ("192.0.2.1", NAT4, {}), ("192.0.2.3", DR, {"options": 10, "tags": QINQ}),
            ("2001:db8::1", NAT6, {}),
            ("2001:db8::3", DR, {"extensions": (hop_by_hop(), destination_options(16)),
                                 "tags": QINQ})):
        for protocol, header in (("tcp", 20), ("udp", 8)):
            packet = packet_of(address, protocol, 200, **changes)
            frame, wrong = packet.build(), []
            expected = backend.receives(packet).build()
            for linear in range(14, len(frame)):
                found = runner.run_long(frame, linear)
                if found is None:
                    break
                whole = linear >= packet.l4_at + header
                if found != (("TX", "TX_BACKEND", expected) if whole else
                             ("PASS", "PASS_SPLIT", frame)):
                    wrong.append(f"{linear} bytes: {found[1]}")
            else:
                tap.ok(not wrong, f"{protocol} to {address}: split after 14 to {linear} bytes",
                       *wrong)


rows_of_lengths()
rows_of_encapsulation()
rows_of_outer_checksums()
rows_of_truncation()
rows_of_splits()
tap.finish()
