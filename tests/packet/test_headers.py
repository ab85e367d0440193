#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""VLAN tags, IPv4 options, IPv6 extension headers and SCTP: balanced by the ports behind
them, and left in the packet as they came."""
import itertools
import sys

sys.dont_write_bytecode = True

from packets import (DR, DR_FAR, NAT4, NAT4_FAR, NAT6, NAT6_FAR, VIPS, Backend,  # noqa: E402
                     Tag, Tap, authentication, destination_options, fragment_header,
                     hop_by_hop, routing, set_up, to_vip)
from scapy.layers.l2 import ARP  # noqa: E402

Q, AD = 0x8100, 0x88a8
TAGS = {
    "802.1Q": (Tag(7),),
    "VLAN 0": (Tag(0, prio=5),),
    "VLAN 4095": (Tag(4095, prio=7),),
    "802.1ad": (Tag(9, type=AD),),
    "QinQ": (Tag(7, type=AD), Tag(8)),
    "QinQ with 8100 twice": (Tag(7, prio=3), Tag(0)),
    "802.1ad twice": (Tag(0, type=AD), Tag(0, type=AD)),
    "802.1ad inside": (Tag(1, type=Q), Tag(2, type=AD)),
}
EXTENSIONS = {
    "hop-by-hop": (hop_by_hop(),),
    "hop-by-hop of 64 bytes": (hop_by_hop(64),),
    "destination options": (destination_options(),),
    "destination options of 264 bytes": (destination_options(256 + 8),),
    "routing": (routing(),),
    "hop-by-hop, destination options": (hop_by_hop(), destination_options(16)),
    "hop-by-hop, routing, destination options": (hop_by_hop(24), routing(),
                                                 destination_options()),
    "fragment header of a whole packet": (hop_by_hop(), fragment_header(),
                                          destination_options()),
    "eight headers": (hop_by_hop(), destination_options(), routing(), destination_options(40),
                      routing(), destination_options(), destination_options(16), routing()),
}
AUTHENTICATED = {f"AH with {icv} bytes of ICV": (authentication(icv),)
                 for icv in (0, 4, 8, 12, 16, 20, 32, 64)}
AUTHENTICATED["hop-by-hop, AH, destination options"] = (hop_by_hop(), authentication(16),
                                                        destination_options())
AUTHENTICATED["AH twice"] = (authentication(4), authentication(12))

tap = Tap()
runner = set_up()


def sent(what, packet, backend):
    action = "TX" if backend.interface == "rl0" else "REDIRECT"
    tap.equal(runner.run(packet.build()),
              (action, action + "_BACKEND", backend.receives(packet).build()), what)


def stays(what, frame, verdict):
    frame = bytes(frame)
    tap.equal(runner.run(frame), (verdict.split("_")[0], verdict, frame), what)


def rows_of_tags():
    for (address, port, backend), protocol in itertools.product(VIPS, ("tcp", "udp")):
        for name, tags in TAGS.items():
            packet = to_vip(address, protocol, port or 4711).but(tags=tags)
            what = (f"case 11: {name}, {protocol} to {address} port {packet.dport} by "
                    f"{backend.forward}")
            sent(what, packet, backend)
            if address in ("192.0.2.1", "2001:db8::1", "192.0.2.3"):
                sent(f"{what}, padding", packet.but(payload=b"", padding=b"\xa5" * 18), backend)
                sent(f"{what}, odd", packet.but(payload=b"odd", padding=b"\xff"), backend)
                stays(f"case 12: {what}, TTL 1", packet.but(ttl=1).build(), "DROP_TTL")


def rows_of_tags_and_others():
    for name, tags in TAGS.items():
        packet = to_vip("192.0.2.1", "tcp").but(tags=tags)
        stays(f"{name}, another port", packet.but(dport=81).build(), "PASS_NOT_VIP")
        stays(f"{name}, another address", packet.but(destination="192.0.2.99").build(),
              "PASS_NOT_VIP")
        stays(f"{name}, ARP", bytes(packet.ether())[:-2] + b"\x08\x06" + bytes(ARP()),
              "PASS_NOT_IP")
        stays(f"{name}, a frame to many", packet.but(mac_destination="ff:ff:ff:ff:ff:ff").build(),
              "PASS_NOT_UNICAST")
        stays(f"{name}, version of the other family",
              packet.but(ip=(("version", 6),)).build(), "DROP_BAD_VERSION")
        stays(f"{name}, and one more", packet.but(tags=tags + (Tag(1),)).build()
              if len(tags) == 2 else packet.but(tags=tags + (Tag(1), Tag(2, type=AD))).build(),
              "PASS_MANY_TAGS")
    stays("five tags", to_vip("2001:db8::1", "udp").but(tags=(Tag(1),) * 5).build(),
          "PASS_MANY_TAGS")
    stays("two tags and no more", bytes(to_vip("2001:db8::1", "udp")
                                        .but(tags=(Tag(1), Tag(2))).ether()), "DROP_SHORT_IPV6")


def rows_of_options():
    for address, backend in (("192.0.2.1", NAT4), ("192.0.2.3", DR), ("192.0.2.4", NAT4_FAR)):
        for protocol, words in itertools.product(("tcp", "udp"), range(1, 11)):
            for tags in (), TAGS["QinQ"]:
                sent(f"case 9: ihl {5 + words}, {len(tags)} tags, {protocol} to {address}",
                     to_vip(address, protocol).but(options=words, tags=tags), backend)


def rows_of_extensions():
    for address, backend in (("2001:db8::1", NAT6), ("2001:db8::3", DR),
                             ("2001:db8::4", NAT6_FAR), ("2001:db8::5", DR_FAR)):
        for protocol, (name, headers) in itertools.product(("tcp", "udp"), EXTENSIONS.items()):
            packet = to_vip(address, protocol).but(extensions=headers)
            what = f"case 10: {name}, {protocol} to {address}"
            sent(what, packet, backend)
            sent(f"{what}, padding", packet.but(payload=b"", padding=b"\xa5" * 9), backend)
            sent(f"{what}, QinQ", packet.but(tags=TAGS["QinQ"], payload=b"odd"), backend)
            stays(f"case 12: {what}, hop limit 1", packet.but(ttl=1).build(), "DROP_TTL")
            stays(f"{what}, another port", packet.but(dport=9).build(), "PASS_NOT_VIP")


def rows_of_authentication():
    """dr leaves it valid; nat can't."""
    for protocol, (name, headers) in itertools.product(("tcp", "udp"), AUTHENTICATED.items()):
        for tags in (), TAGS["802.1Q"]:
            what = f"case 10: {name}, {len(tags)} tags, {protocol}"
            for address, backend in (("2001:db8::3", DR), ("2001:db8::5", DR_FAR)):
                sent(f"{what} to {address}",
                     to_vip(address, protocol).but(extensions=headers, tags=tags), backend)
            for address in ("2001:db8::1", "2001:db8::4"):
                stays(f"{what} to {address}",
                      to_vip(address, protocol).but(extensions=headers, tags=tags).build(),
                      "DROP_NAT_AUTHENTICATED")


def rows_of_chains_that_pass():
    """For every VIP, as the kernel may know what we do not; for no VIP too."""
    eight = EXTENSIONS["eight headers"]
    for address, protocol in itertools.product(("2001:db8::1", "2001:db8::3", "2001:db8::99"),
                                               ("tcp", "udp")):
        packet = to_vip(address, protocol)
        for name, headers, verdict in (
                ("nine headers", eight + (destination_options(),), "MANY_HEADERS"),
                ("nine headers, the last a fragment's", eight + (fragment_header(),),
                 "MANY_HEADERS"),
                ("twelve headers", (destination_options(),) * 12, "MANY_HEADERS"),
                ("segments left", (routing(1),), "SEGMENTS_LEFT"),
                ("hop-by-hop, 255 segments left", (hop_by_hop(), routing(255)), "SEGMENTS_LEFT"),
                ("ESP", ((50, bytes(15)),), "OTHER_PROTOCOL"),
                ("hop-by-hop, ESP", (hop_by_hop(), (50, bytes(15))), "OTHER_PROTOCOL"),
                ("mobility", ((135, bytes(7)),), "OTHER_PROTOCOL"),
                ("destination options, an unknown header",
                 (destination_options(), (253, bytes(7))), "OTHER_PROTOCOL"),
                ("no next header", ((59, bytes(7)),), "OTHER_PROTOCOL"),
                ("eight headers, no next header", eight + ((59, bytes(7)),), "OTHER_PROTOCOL"),
                ("two fragment headers", (fragment_header(), fragment_header()),
                 "OTHER_PROTOCOL"),
                ("fragment header, no next header", (fragment_header(), (59, bytes(7))),
                 "OTHER_PROTOCOL")):
            for tags in (), TAGS["QinQ"]:
                stays(f"case 10: {name}, {len(tags)} tags, {protocol} to {address}",
                      packet.but(extensions=headers, tags=tags).build(), "PASS_" + verdict)


def sent_in_pieces(what, pieces, expected, backend):
    action = "TX" if backend.interface == "rl0" else "REDIRECT"
    for number, (piece, out) in enumerate(zip(pieces, expected)):
        tap.equal(runner.run(piece), (action, action + "_BACKEND", out),
                  f"{what}, fragment {number}")


def pieces_behind(headers, packet, size, backend=None):
    """Frames of @packet's fragments, each with @headers before the fragment header."""
    whole = packet.build() if not backend else backend.receives(packet).build()
    start, l4 = packet.ip_at + 40, whole[packet.l4_at:]
    frames = []
    for at in range(0, len(l4), size):
        part = packet.but(extensions=headers + (fragment_header(at // 8, at + size < len(l4)),))
        part = part if not backend else backend.receives(part)
        frame = part.with_extensions(bytes(part.layers())[:40] + l4[at:at + size])
        frames.append(whole[:start - 40] + frame)
    return frames


def rows_of_fragments():
    """Tagged ones, and those with headers before the fragment header: test_fragments.py has
    the others."""
    for number, (address, backend) in enumerate((("2001:db8::1", NAT6), ("2001:db8::3", DR),
                                                 ("2001:db8::5", DR_FAR))):
        for protocol, tags in itertools.product(("tcp", "udp"), ((), TAGS["QinQ"])):
            packet = to_vip(address, protocol).but(tags=tags, payload=bytes(range(250)),
                                                   sport=5000 + number)
            for name, headers in (("hop-by-hop", (hop_by_hop(),)),
                                  ("three headers", (hop_by_hop(), routing(),
                                                     destination_options(24)))):
                sent_in_pieces(f"{name}, {len(tags)} tags, {protocol} to {address}",
                               pieces_behind(headers, packet, 96),
                               pieces_behind(headers, packet, 96, backend), backend)
    for tags in TAGS.values():
        packet = to_vip("192.0.2.1", "udp").but(tags=tags, payload=bytes(500))
        sent_in_pieces(f"{len(tags)} tags, IPv4", packet.pieces(77, 300),
                       NAT4.receives(packet).pieces(77, 300), NAT4)


def rows_of_sctp():
    backends = {"192.0.2.3": DR, "192.0.2.5": DR_FAR, "2001:db8::3": DR, "2001:db8::5": DR_FAR}
    for address, backend in backends.items():
        packet = to_vip(address, "sctp")
        stays(f"case 40: sctp to {address}, which has no such VIP", packet.build(), "PASS_NOT_VIP")
        runner.do("vip", address=address, protocol="sctp", port=80, vip=93, pool=backend.id)
        for length in (0, 1, 2, 3, 500, 1399):
            sent(f"sctp to {address}, {length} bytes", packet.but(payload=b"s" * length), backend)
        sent(f"sctp to {address}, padding", packet.but(padding=b"\xa5" * 7), backend)
        sent(f"sctp to {address}, QinQ", packet.but(tags=TAGS["QinQ"]), backend)
        if packet.is_ipv6:
            sent(f"sctp to {address}, extension headers",
                 packet.but(extensions=EXTENSIONS["eight headers"]), backend)
        else:
            sent(f"sctp to {address}, ihl 15", packet.but(options=10), backend)
        stays(f"sctp to {address}, another port", packet.but(dport=81).build(), "PASS_NOT_VIP")


def same_backend(what, flows, variants):
    """Each flow's variants go to the backend of its plain packet; and many backends get some."""
    wrong, used = [], set()
    for packet in flows:
        plain = runner.run(packet.build())[2][:6]
        used.add(plain)
        for name, changes in variants.items():
            found = runner.run(packet.but(**changes).build())
            if found[1] != "TX_BACKEND" or found[2][:6] != plain:
                wrong.append(f"port {packet.sport}, {name}: {found[1]} {found[2][:6].hex()} "
                             f"instead of {plain.hex()}")
    tap.ok(not wrong and len(used) > 8, f"{what}: {len(flows)} flows, {len(used)} backends",
           *wrong[:5])


def rows_of_agreement():
    backends = [Backend(100 + n, f"10.0.3.{n}", 0, "dr") for n in range(16)]
    for backend in backends:
        runner.do("backend", id=backend.id, address=backend.address, port=0, forward="dr")
        runner.do("nexthop", id=backend.id, ifindex=runner.ingress, destination=backend.mac,
                  source=backend.mac_source)
    runner.do("ring", pool=100, seed=7, vnodes=50, backends=[b.id for b in backends])
    variants = {name: {"tags": tags} for name, tags in TAGS.items()}
    padding = {"padding": {"padding": bytes(9)}}
    chains = {**EXTENSIONS, **AUTHENTICATED}
    for protocol in ("tcp", "udp", "sctp"):
        for address in ("192.0.2.100", "2001:db8::100"):
            runner.do("vip", address=address, protocol=protocol, port=80, vip=94, pool=100)
        flows = [to_vip("192.0.2.100", protocol).but(sport=20000 + n) for n in range(20)]
        same_backend(f"case 11: {protocol}, IPv4", flows, {**variants, **padding})
        same_backend(f"case 9: {protocol}", flows, {
            **{f"ihl {5 + words}": {"options": words} for words in range(1, 11)},
            **{f"QinQ, ihl {5 + words}": {"options": words, "tags": TAGS["QinQ"]}
               for words in range(1, 11)}})
        flows = [to_vip("2001:db8::100", protocol).but(sport=20000 + n) for n in range(20)]
        same_backend(f"case 11: {protocol}, IPv6", flows, {**variants, **padding})
        same_backend(f"case 10: {protocol}", flows, {
            **{name: {"extensions": headers} for name, headers in chains.items()},
            **{f"QinQ, {name}": {"extensions": headers, "tags": TAGS["QinQ"]}
               for name, headers in chains.items()}})


rows_of_tags()
rows_of_tags_and_others()
rows_of_options()
rows_of_extensions()
rows_of_authentication()
rows_of_chains_that_pass()
rows_of_fragments()
rows_of_sctp()
rows_of_agreement()
tap.finish()
