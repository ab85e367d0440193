#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fragments to VIPs: the later ones go where the first one went, byte for byte.

What comes out is what scapy makes of the rewritten datagram, cut in the same places.
Replies of nat backends are in test_replies.py.
"""
import sys

sys.dont_write_bytecode = True

from packets import (CLIENT_MAC, DR, HELD_AGAIN, HELD_FINAL, NAT4, NAT6, OUR_MAC,  # noqa: E402
                     PROTOCOLS, VIPS, Tag, Tap, authentication, destination_options,
                     hop_by_hop, routing, set_up, to_vip)
from scapy.layers.inet import ICMP, IP, fragment  # noqa: E402
from scapy.layers.inet6 import (ICMPv6EchoRequest, IPv6, IPv6ExtHdrFragment,  # noqa: E402
                                fragment6)
from scapy.layers.l2 import Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402

tap = Tap()
runner = set_up()

ETHER = Ether(src=CLIENT_MAC, dst=OUR_MAC)
LIFE_S = 30
UNKNOWN = HELD_AGAIN + 2
# One VIP of each family and forward mode.
SAMPLES = ("192.0.2.1", "192.0.2.3", "2001:db8::1", "2001:db8::3")
idents = iter(range(1000, 60000))


def backend_of(address, port=80):
    of_vip = {vip_port: backend for vip, vip_port, backend in VIPS if vip == address}
    return of_vip.get(port) or of_vip[0]


def remembered():
    return runner.do("fragments")["entries"]


def datagram(address, protocol, length=3000, port=80, **changes):
    data = bytes(i * 7 & 0xff for i in range(length))
    return to_vip(address, protocol, port).but(payload=data, **changes)


def sent(what, frames, packet, backend, ident, size=1400):
    """@frames, in their order, have to come out as fragments of what @backend receives."""
    action = "TX" if backend.interface == "rl0" else "REDIRECT"
    all_in, all_out = packet.pieces(ident, size), backend.receives(packet).pieces(ident, size)
    wrong = []
    for frame in frames:
        expected = (action, action + "_BACKEND", all_out[all_in.index(frame)])
        found = runner.run(frame)
        if found != expected:
            wrong += [f"piece {all_in.index(frame)}: found {found[1]} {found[2].hex()}",
                      f"expected {expected[1]} {expected[2].hex()}"]
    tap.ok(not wrong, what, *wrong)


def ends(what, frame, verdict, mark=0):
    """@frame ends here, unchanged. What is held is dropped, having been copied."""
    action = verdict.split("_")[0].replace("HOLD", "DROP")
    tap.equal(runner.run(frame, mark=mark), (action, verdict, frame), what)


def rows_of_pieces():
    for address in ("192.0.2.1", "2001:db8::1"):
        whole = datagram(address, "udp")
        first, check = whole.pieces(7)[0], whole.build()[whole.check_at:][:2]
        tap.equal(first[whole.check_at + 8 * whole.is_ipv6:][:2], check,
                  f"scapy's first piece to {address} has the checksum of the whole")


def rows_of_each_vip():
    for address, port, backend in VIPS:
        for protocol in ("tcp", "udp"):
            packet, ident = datagram(address, protocol, port=port or 4321), next(idents)
            sent(f"{protocol} to {address} port {port}, three pieces", packet.pieces(ident),
                 packet, backend, ident)
    tap.equal(remembered(), 0, "nothing is remembered of complete datagrams")


def rows_of_shapes():
    for address in SAMPLES:
        backend = backend_of(address)
        for length, size in ((1400, 1400), (60000, 1500), (65000, 576), (1300, 1288)):
            packet, ident = datagram(address, "udp", length), next(idents)
            pieces = packet.pieces(ident, size)
            sent(f"{length} bytes to {address} in {len(pieces)} pieces", pieces, packet, backend,
                 ident, size)
        packet, ident = datagram(address, "udp", padding=b"\xa5" * 9), next(idents)
        sent(f"padded pieces to {address}", packet.pieces(ident), packet, backend, ident)
        packet, ident = datagram(address, "udp", l4=(("chksum", 0),)), next(idents)
        sent(f"no checksum, to {address}", packet.pieces(ident), packet, backend, ident)
        for options in () if ":" in address else (1, 10):
            packet, ident = datagram(address, "tcp", options=options), next(idents)
            sent(f"{options} words of IPv4 options, to {address}", packet.pieces(ident), packet,
                 backend, ident)
    tap.equal(remembered(), 0, "nothing is remembered of complete datagrams")


def rows_of_orders():
    for address in SAMPLES:
        for first, *order in ((0, 3, 2, 1), (0, 2, 1, 3), (0, 3, 1, 2)):
            packet, ident = datagram(address, "udp", 4500), next(idents)
            pieces = packet.pieces(ident)
            sent(f"to {address}, the pieces {first}, {order}",
                 [pieces[i] for i in (first, *order)], packet, backend_of(address), ident)


def rows_without_first():
    for address in SAMPLES:
        first, middle, last = datagram(address, "udp").pieces(next(idents))
        ends(f"a later fragment to {address}", middle, "HOLD_FRAGMENT")
        ends(f"the last fragment to {address}", last, "HOLD_FRAGMENT")
        runner.run(first)
        tap.equal(runner.run(middle)[1], "TX_BACKEND", f"to {address}, after the first")
        tap.equal(remembered(), 1, "it is remembered until its last piece")
        runner.do("age", seconds=LIFE_S - 2)
        tap.equal(runner.run(middle)[1], "TX_BACKEND", f"to {address}, almost too late")
        runner.do("age", seconds=3)
        ends(f"to {address}, too late", last, "HOLD_FRAGMENT")
        runner.run(first)
        tap.equal([runner.run(one)[1] for one in (middle, last)], ["TX_BACKEND"] * 2,
                  f"to {address}, the first again")
        tap.equal(remembered(), 0, f"to {address}, complete")


def rows_of_held():
    for address in SAMPLES:
        packet, ident = datagram(address, "udp"), next(idents)
        first, middle, last = packet.pieces(ident)
        for one in (middle, last):
            ends(f"a later fragment to {address} comes again", one, "DROP_FRAGMENT_NO_FIRST",
                 HELD_AGAIN)
            ends(f"a later fragment to {address} comes for the last time", one,
                 "DROP_FRAGMENT_NO_FIRST", HELD_FINAL)
            ends(f"a later fragment to {address} with other metadata", one, "HOLD_FRAGMENT",
                 UNKNOWN)
        runner.run(first)
        ends(f"to {address} for the last time, though the first is there", middle,
             "DROP_FRAGMENT_NO_FIRST", HELD_FINAL)
        out = backend_of(address).receives(packet).pieces(ident)
        tap.equal(runner.run(middle, mark=HELD_AGAIN), ("TX", "TX_BACKEND", out[1]),
                  f"to {address} again, after the first")
        tap.equal(runner.run(last, mark=UNKNOWN), ("TX", "TX_BACKEND", out[2]),
                  f"to {address} after the first, with other metadata")
        whole = to_vip(address, "udp")
        tap.equal(runner.run(whole.build(), mark=HELD_FINAL),
                  ("TX", "TX_BACKEND", backend_of(address).receives(whole).build()),
                  f"a whole packet to {address} with such metadata")
    for address in ("192.0.2.99", "2001:db8::99"):
        later = datagram(address, "udp").pieces(next(idents))[1]
        ends(f"a later fragment to {address} is not held", later, "PASS_FRAGMENT")


def rows_of_ttl():
    for address in SAMPLES:
        packet, ident = datagram(address, "udp", ttl=1), next(idents)
        first, middle, _ = packet.pieces(ident)
        ends(f"first with TTL 1 to {address}", first, "DROP_TTL")
        runner.run(packet.but(ttl=2).pieces(ident)[0])
        ends(f"later with TTL 1 to {address}", middle, "DROP_TTL")
        sent(f"later with TTL 2 to {address}", packet.but(ttl=2).pieces(ident)[1:],
             packet.but(ttl=2), backend_of(address), ident)


def rows_of_headers():
    """RFC 1858, RFC 7112: the layer 4 header is in the first fragment and in no other."""
    for address in ("192.0.2.1", "2001:db8::1"):
        packet = datagram(address, "tcp", 100)
        for size in (8, 16):
            ends(f"{size} bytes of TCP header first, to {address}",
                 cut(packet, next(idents), 0, size), "DROP_FRAGMENT_HEADER")
        long = packet.but(l4=(("options", [("NOP", None)] * 20),))
        ends(f"a TCP header of 40 bytes cut after 24, to {address}",
             cut(long, next(idents), 0, 24), "DROP_FRAGMENT_HEADER")
        ident = next(idents)
        runner.run(cut(packet, ident, 0, 24))
        for offset in (8, 16):
            ends(f"TCP from byte {offset}, to {address}", cut(packet, ident, offset, 16),
                 "DROP_FRAGMENT_HEADER")
            ends(f"TCP from byte {offset} without a first, to {address}",
                 cut(packet, ident + 1, offset, 16), "DROP_FRAGMENT_HEADER")
        tap.equal(runner.run(cut(packet, ident, 24, 16))[1], "TX_BACKEND",
                  f"TCP from byte 24, to {address}")
        packet, ident = datagram(address, "udp", 100), next(idents)
        found = [runner.run(cut(packet, ident, offset, 8))[1] for offset in (0, 8, 16)]
        tap.equal(found, ["TX_BACKEND"] * 3, f"UDP in pieces of 8 bytes, to {address}")
        ends(f"4 bytes of UDP header first, to {address}", cut(packet, next(idents), 0, 4),
             "DROP_FRAGMENT_HEADER")
        runner.do("forget")


def cut(packet, ident, offset, size):
    """The @size bytes of layer 4 from @offset on, as a fragment that is not the last."""
    l4 = packet.build()[packet.l4_at:][offset:offset + size]
    if packet.is_ipv6:
        ip = (IPv6(src=packet.source, dst=packet.destination) /
              IPv6ExtHdrFragment(id=ident, m=1, offset=offset // 8,
                                 nh=PROTOCOLS[packet.protocol]))
    else:
        ip = IP(src=packet.source, dst=packet.destination, id=ident, flags="MF",
                frag=offset // 8, proto=PROTOCOLS[packet.protocol])
    return bytes(ETHER / ip / Raw(l4))


def pieces6(packet, ident, outside, size=1400):
    """Like packet.pieces(), but for IPv6 with extension headers: the first @outside of them
    are in each fragment, the others in what is cut up."""
    frame = packet.build()
    header = packet.ip_at + 40 + sum(1 + len(body) for _, body in packet.extensions[:outside])
    # Where the header before the fragment header says what follows.
    next_at = packet.ip_at + 6 if not outside else \
        header - 1 - len(packet.extensions[outside - 1][1])
    payload, frames = frame[header:], []
    for at in range(0, len(payload), size // 8 * 8):
        piece = payload[at:at + size // 8 * 8]
        more = at + len(piece) < len(payload)
        part = bytearray(frame[:header])
        part[packet.ip_at + 4:packet.ip_at + 6] = \
            (header - packet.ip_at - 40 + 8 + len(piece)).to_bytes(2, "big")
        part[next_at] = 44
        frames.append(bytes(part) + bytes([frame[next_at], 0]) + (at + more).to_bytes(2, "big")
                      + ident.to_bytes(4, "big") + piece)
    return frames


def rows_of_extension_headers():
    chains = {
        "hop-by-hop": ((hop_by_hop(),), 1),
        "destination options inside": ((destination_options(16),), 0),
        "both": ((hop_by_hop(24), destination_options()), 1),
        "routing and options": ((hop_by_hop(), routing(), destination_options(264)), 2),
    }
    for address in ("2001:db8::1", "2001:db8::3"):
        for what, (extensions, outside) in chains.items():
            for order in ((0, 1, 2), (0, 2, 1)):
                packet, ident = datagram(address, "udp", extensions=extensions), next(idents)
                out = backend_of(address).receives(packet)
                pieces, expected = pieces6(packet, ident, outside), pieces6(out, ident, outside)
                tap.equal([runner.run(pieces[i]) for i in order],
                          [("TX", "TX_BACKEND", expected[i]) for i in order],
                          f"{what}, to {address}, the pieces {order}")
        packet = datagram(address, "udp", extensions=(destination_options(64),))
        for size in (8, 24, 56, 64):
            ends(f"the first fragment to {address} ends in its headers, after {size} bytes",
                 pieces6(packet, next(idents), 0, size)[0], "DROP_FRAGMENT_HEADER")
        ends(f"the same to another address than {address}",
             pieces6(packet.but(destination="2001:db8::99"), next(idents), 0, 24)[0],
             "PASS_SHORT_PORTS")
        later = pieces6(packet, next(idents), 0)[1]
        ends(f"a later fragment to {address}, its next header an extension", later,
             "HOLD_FRAGMENT")
    # What is behind the headers is not ours: the kernel gets all of it.
    packet = datagram("2001:db8::1", "udp", extensions=(destination_options(16),))
    first, *rest = pieces6(packet, next(idents), 0)
    at = packet.ip_at + 40 + 8  # the options' own next header
    first = first[:at] + b"\x3a" + first[at + 1:]
    ends("ICMPv6 behind destination options, first", first, "PASS_FRAGMENT")
    for one in rest:
        ends("ICMPv6 behind destination options, later", one, "PASS_FRAGMENT")
    # nat cannot keep an authentication header valid; dr need not.
    for address, verdict in (("2001:db8::1", "DROP_NAT_AUTHENTICATED"),
                             ("2001:db8::3", "TX_BACKEND")):
        packet = datagram(address, "udp", extensions=(authentication(),))
        tap.equal([runner.run(one)[1] for one in pieces6(packet, next(idents), 0)],
                  [verdict] * 3, f"fragments with an authentication header to {address}")
    runner.do("forget")


def rows_of_tags():
    for address in SAMPLES:
        for tags in ((Tag(7),), (Tag(7, type=0x88a8), Tag(8))):
            packet, ident = datagram(address, "udp", tags=tags), next(idents)
            sent(f"{len(tags)} VLAN tags, to {address}", packet.pieces(ident), packet,
                 backend_of(address), ident)


def rows_of_sctp():
    # Not where nat changes the port, which the checksum covers.
    for number, address in enumerate(("192.0.2.2", "192.0.2.3", "2001:db8::2", "2001:db8::3")):
        runner.do("vip", address=address, protocol="sctp", port=80, vip=50 + number,
                  pool=backend_of(address).id)
        packet, ident = datagram(address, "sctp"), next(idents)
        sent(f"SCTP to {address}", packet.pieces(ident), packet, backend_of(address), ident)
        ends(f"SCTP to {address}, over its header", cut(packet, next(idents), 8, 16),
             "DROP_FRAGMENT_HEADER")
        ends(f"8 bytes of SCTP first, to {address}", cut(packet, next(idents), 0, 8),
             "DROP_FRAGMENT_HEADER")
    tap.equal(remembered(), 0, "nothing is remembered of complete datagrams")


def rows_of_keys():
    """Identifications count together with the addresses, and for IPv4 with the protocol."""
    one, two = datagram("192.0.2.1", "udp"), datagram("192.0.2.3", "udp")
    three, four = one.but(source="198.51.100.77"), datagram("192.0.2.1", "tcp")
    five, six = datagram("2001:db8::1", "udp"), datagram("2001:db8::3", "udp")
    packets = (one, two, three, four, five, six)
    for i in range(3):
        for packet in packets:
            sent(f"piece {i} of {packet.protocol} {packet.source} > {packet.destination}, "
                 "all with one identification", [packet.pieces(4242)[i]], packet,
                 backend_of(packet.destination), 4242)
    # The same again for another flow, to another backend.
    for address, port in (("192.0.2.2", 81), ("192.0.2.2", 4000), ("2001:db8::2", 81),
                          ("2001:db8::2", 4000)):
        packet = datagram(address, "udp", port=port)
        sent(f"an identification that is used again, to {address} port {port}",
             packet.pieces(555), packet, backend_of(address, port), 555)
    packet = datagram("2001:db8::1", "udp")
    for other in (0x1004242, 0x42420000, 4242 + 65536):
        runner.run(packet.pieces(4242)[0])
        ends(f"IPv6 identification {other:#x} is not 4242", packet.pieces(other)[1],
             "HOLD_FRAGMENT")
    runner.do("forget")


def rows_of_backends_gone():
    for address, gone in (("192.0.2.1", NAT4), ("2001:db8::3", DR), ("2001:db8::1", NAT6)):
        first, middle, last = datagram(address, "udp").pieces(next(idents))
        runner.run(first)
        tap.equal(runner.run(middle)[1], "TX_BACKEND", f"to {address}, the backend is there")
        # Its id goes to another one and comes back.
        other = "192.0.2.77" if "." in gone.address else "2001:db8:77::1"
        for owner in (other, gone.address):
            runner.do("backend", id=gone.id, address=owner, port=gone.port,
                      forward=gone.forward)
            runner.do("nexthop", id=gone.id, ifindex=runner.ingress, destination=gone.mac,
                      source=gone.mac_source)
            ends(f"to {address}, the backend is another one", last, "DROP_FRAGMENT_NO_BACKEND")
    runner.do("forget")


def atomic(packet):
    """RFC 6946: @packet with a fragment header in front of all of it."""
    whole = packet.layers()
    header = IPv6ExtHdrFragment(id=9, m=0, offset=0, nh=PROTOCOLS[packet.protocol])
    l4 = Raw(packet.build()[packet.l4_at:])
    whole.remove_payload()
    return bytes(Ether(src=packet.mac_source, dst=packet.mac_destination) / whole / header / l4)


def rows_of_atomic_fragments():
    for address in ("2001:db8::1", "2001:db8::3"):
        for protocol in ("udp", "tcp"):
            packet = datagram(address, protocol, 64)
            tap.equal(runner.run(atomic(packet)),
                      ("TX", "TX_BACKEND", atomic(backend_of(address).receives(packet))),
                      f"atomic fragment of {protocol} to {address}")
    tap.equal(remembered(), 0, "nothing is remembered of atomic fragments")


def rows_of_others():
    for address in ("192.0.2.99", "2001:db8::99"):
        first, middle, last = datagram(address, "udp").pieces(next(idents))
        ends(f"first fragment to {address}", first, "PASS_NOT_VIP")
        ends(f"later fragment to {address}", middle, "PASS_FRAGMENT")
        ends(f"last fragment to {address}", last, "PASS_FRAGMENT")
    tap.equal(remembered(), 0, "nothing is remembered of others' fragments")
    # The address of a VIP, but another port: somebody's who must not wait for us.
    for address in SAMPLES:
        for protocol in ("tcp", "udp"):
            first, *rest = datagram(address, protocol, port=81).pieces(next(idents))
            ends(f"first fragment of {protocol} to {address}, not the VIP's port", first,
                 "PASS_NOT_VIP")
            for one in rest:
                ends(f"later fragment of {protocol} to {address}, not the VIP's port", one,
                     "PASS_FRAGMENT")
    tap.equal(remembered(), 0, "nothing is remembered of complete datagrams")
    big = Raw(bytes(2000))
    for kind, first, parts in (
            ("ICMP", "PASS_FRAGMENT", fragment(IP(dst="192.0.2.1") / ICMP() / big, 800)),
            ("ICMPv6", "PASS_FRAGMENT", fragment6(IPv6(dst="2001:db8::1") / IPv6ExtHdrFragment(id=3) /
                                                  ICMPv6EchoRequest(data=bytes(2000)), 900)),
            ("GRE", "PASS_OTHER_PROTOCOL", fragment(IP(dst="192.0.2.1", proto=47) / big, 800))):
        for number, part in enumerate(parts):
            ends(f"fragment {number} of {kind} to a VIP's address", bytes(ETHER / part),
                 "PASS_FRAGMENT" if number else first)
    tap.equal(remembered(), 0, "nothing is remembered of other protocols")


def rows_of_whole_packets():
    for address, port, backend in VIPS:
        for protocol in ("tcp", "udp"):
            packet = to_vip(address, protocol, port or 4321).but(ip=() if ":" in address else
                                                                 (("flags", "DF"),))
            action = "TX" if backend.interface == "rl0" else "REDIRECT"
            tap.equal(runner.run(packet.build()),
                      (action, action + "_BACKEND", backend.receives(packet).build()),
                      f"a whole {protocol} packet to {address} port {port}")
    tap.equal(remembered(), 0, "nothing is remembered of whole packets")


rows_of_pieces()
rows_of_each_vip()
rows_of_shapes()
rows_of_orders()
rows_without_first()
rows_of_held()
rows_of_ttl()
rows_of_headers()
rows_of_extension_headers()
rows_of_tags()
rows_of_sctp()
rows_of_keys()
rows_of_backends_gone()
rows_of_atomic_fragments()
rows_of_others()
rows_of_whole_packets()
tap.finish()
