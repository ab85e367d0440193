#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""QUIC packets whose connection id names another backend than their hash does: what that
backend gets, byte for byte, from whatever address and port the client sends."""
import sys

sys.dont_write_bytecode = True

from packets import BACKENDS, DR, DR_FAR, NAT4, NAT4_FAR, NAT4_KEEP, NAT6, NAT6_FAR  # noqa: E402
from packets import Tap, set_up, to_vip  # noqa: E402

tap = Tap()
runner = set_up()

VERSION_1 = bytes.fromhex("00000001")
TOKEN_AND_LENGTH = bytes.fromhex("004496")
NONCE = bytes.fromhex("5eed5eed5eed")
ENCRYPTED = bytes(range(40))

# VIPs of pools whose only backend is `by_hash`; their ids name `by_id`.
PAIRS = (
    ("192.0.2.61", NAT4, NAT4_FAR), ("192.0.2.62", NAT4_FAR, NAT4), ("192.0.2.63", DR, DR_FAR),
    ("192.0.2.64", DR_FAR, DR), ("192.0.2.65", DR, NAT4_KEEP), ("2001:db8::61", NAT6, NAT6_FAR),
    ("2001:db8::62", NAT6_FAR, NAT6), ("2001:db8::63", DR, NAT6), ("2001:db8::64", NAT6, DR),
)
CONFIG, LEN = 2, 3
QUIC = LEN << 4 * CONFIG


def server_id(backend):
    return bytes((0xc0, 0, backend.id))


def connection_id(backend):
    """As a server writes it that describes its length in the low five bits."""
    octets = server_id(backend) + NONCE
    return bytes((CONFIG << 5 | len(octets),)) + octets


def short(backend):
    return b"\x5c" + connection_id(backend) + ENCRYPTED


def long_header(kind, backend):
    cid = connection_id(backend)
    return (bytes((0xc0 | kind << 4,)) + VERSION_1 + bytes((len(cid),)) + cid + b"\x00" +
            TOKEN_AND_LENGTH + ENCRYPTED)


def add_vips():
    for number, (address, by_hash, _) in enumerate(PAIRS):
        runner.do("vip", address=address, protocol="udp", port=443, vip=100 + number,
                  pool=by_hash.id, quic=QUIC)
        for backend in BACKENDS:
            runner.do("quic_id", pool=by_hash.id, config=CONFIG,
                      octets=server_id(backend).hex(), backend=backend.id)


def sent_by(backend):
    return "TX" if backend.interface == "rl0" else "REDIRECT"


def reaches(what, packet, backend):
    action = sent_by(backend)
    expected = backend.receives(packet).build()
    tap.equal(runner.run(packet.build()), (action, f"{action}_BACKEND", expected), what)


def clients(address):
    """The same client before and after its port, then its address, changed."""
    first = to_vip(address, "udp", 443)
    moved = "2001:db8:d::77" if first.is_ipv6 else "203.0.113.77"
    yield "first port", first
    yield "other port", first.but(sport=51515)
    yield "other address", first.but(source=moved, sport=1024)
    yield "no UDP checksum", first.but(l4=(("chksum", 0),)) if not first.is_ipv6 else first
    yield "padded", first.but(padding=bytes(7))


def rows_of_fragments(vip, owner, named):
    """The first has the connection id; the rest follow it, whatever they begin with."""
    whole = to_vip(vip, "udp", 443).but(payload=short(named) + bytes(80))
    pieces = whole.pieces(77, 80)
    tap.ok(len(pieces) > 2, f"{vip}: pieces of a datagram")
    for number, piece in enumerate(pieces):
        _, verdict, found = runner.run(piece)
        tap.equal((verdict, found[:6].hex(":")), (f"{sent_by(named)}_BACKEND", named.mac),
                  f"{vip}: fragment {number}")
    if whole.is_ipv6:
        return
    # No octet of the datagram is here: what looks like it is the frame's padding.
    empty = whole.but(payload=b"", padding=short(named), ip=(("flags", "MF"),),
                      l4=(("len", 100), ("chksum", 0)))
    _, verdict, found = runner.run(empty.build())
    tap.equal((verdict, found[:6].hex(":")), (f"{sent_by(owner)}_BACKEND", owner.mac),
              f"{vip}: padding of a fragment is no connection id")


add_vips()
for vip, owner, named in PAIRS:
    for client, sent in clients(vip):
        where = f"{vip}, {client}"
        reaches(f"{where}: short header", sent.but(payload=short(named)), named)
        reaches(f"{where}: Handshake", sent.but(payload=long_header(2, named)), named)
        reaches(f"{where}: Initial", sent.but(payload=long_header(0, named)), owner)
        reaches(f"{where}: 0-RTT", sent.but(payload=long_header(1, named)), owner)
        unknown = short(named).replace(server_id(named), b"\xc0\x01\x00")
        reaches(f"{where}: unknown id", sent.but(payload=unknown), owner)
for vip, owner, named in PAIRS:
    rows_of_fragments(vip, owner, named)
tap.finish()
