#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets that are longer than the way to their backend allows: the ICMP error that the client
gets in the name of the VIP, byte for byte, and when it gets none."""
import os
import sys

sys.dont_write_bytecode = True

from scapy.layers.inet import ICMP, IP  # noqa: E402
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6  # noqa: E402
from scapy.packet import Raw  # noqa: E402

from icmp import error, turned  # noqa: E402
from outer import SEED, wrap  # noqa: E402
from packets import (HELD_AGAIN, Backend, Tag, Tap, destination_options,  # noqa: E402
                     hop_by_hop, set_up, to_vip)

MTU = 1500
VIPS = ("192.0.2.100", "2001:db8::100")
BACKENDS = (Backend(20, "10.0.9.1", 0, "ipip"), Backend(21, "fd00:9::1", 0, "ipip", "rl1"),
            Backend(22, "10.0.9.2", 6080, "gue"), Backend(23, "fd00:9::2", 6080, "gue"),
            Backend(24, "10.0.9.3", 0, "dr", "rl1"), Backend(25, "10.0.9.4", 8080, "nat"),
            Backend(26, "fd00:9::4", 0, "nat"))
IPIP, IPIP6 = BACKENDS[:2]
DONT_FRAGMENT = (("flags", "DF"),)
QINQ = (Tag(7, type=0x88a8), Tag(8, prio=3))
# What comes before the packet in the frame: RFC 2003, RFC 2473, and a UDP header.
OVERHEAD = {"dr": (0, 0), "nat": (0, 0), "ipip": (20, 40), "gue": (28, 48)}

tap = Tap()
runner = set_up()


def fits(backend, mtu=MTU):
    return mtu - OVERHEAD[backend.forward][":" in backend.address]


def set_up_backends():
    """Each backend has a VIP of both families, nat of its own, on port 1000 and its id."""
    runner.do("encap", seed=SEED, source_ipv4="198.18.0.0", hosts_ipv4="0.0.255.255",
              source_ipv6="100::", hosts_ipv6="::ffff:ffff:ffff:ffff")
    for backend in BACKENDS:
        runner.do("backend", id=backend.id, address=backend.address, port=backend.port,
                  forward=backend.forward)
        runner.do("nexthop", id=backend.id, ifindex=runner.ifindex(backend.interface),
                  destination=backend.mac, source=backend.mac_source)
        runner.do("mtu", id=backend.id, mtu=MTU)
        runner.do("ring", pool=backend.id, seed=backend.id, vnodes=10, backends=[backend.id])
        for number, address in enumerate(VIPS):
            for protocol in ("tcp", "udp"):
                runner.do("vip", address=address, protocol=protocol, port=1000 + backend.id,
                          vip=100 + 2 * backend.id + number, pool=backend.id)


def packet_of(address, protocol, backend, length, **changes):
    """A packet of @length bytes, IPv4 with DF."""
    packet = to_vip(address, protocol, 1000 + backend.id)
    packet = packet.but(payload=b"", ip=() if packet.is_ipv6 else DONT_FRAGMENT)
    packet = packet.but(**changes)
    headers = len(packet.but(padding=b"").build()) - packet.ip_at
    return packet.but(payload=bytes(i * 7 + i // 256 & 0xff for i in range(length - headers)))


def answer(packet, mtu, inner=None, quoted=None):
    """The ICMP error about @packet, or its bytes @inner, as the RFCs have it."""
    inner = inner or packet.but(padding=b"").build()[packet.ip_at:]
    ether = packet.but(mac_source=packet.mac_destination,
                       mac_destination=packet.mac_source).ether()
    if packet.is_ipv6:
        return bytes(ether / IPv6(src=packet.destination, dst=packet.source, hlim=64)
                     / ICMPv6PacketTooBig(mtu=mtu) / Raw(inner[:quoted or 1280 - 48]))
    return bytes(ether / IP(src=packet.destination, dst=packet.source, ttl=64, tos=0xc0, id=0,
                            flags="DF")
                 / ICMP(type=3, code=4, nexthopmtu=mtu) / Raw(inner[:quoted or 576 - 28]))


def run(frame, full=0, **how):
    runner.do("answers", full=full)
    return runner.run(frame, **how)


def refused(what, packet, mtu, verdict="TX_TOO_BIG"):
    tap.equal(run(packet.build()), ("TX", verdict, answer(packet, mtu)), what)


def dropped(what, packet, verdict, full=0):
    frame = packet.build()
    tap.equal(run(frame, full), ("DROP", verdict, frame), what)


def sent(what, packet, backend):
    action = "TX" if backend.interface == "rl0" else "REDIRECT"
    expected = wrap(packet, backend) if backend.forward in ("ipip", "gue") \
        else backend.receives(packet).build()
    tap.equal(run(packet.build()), (action, action + "_BACKEND", expected), what)


def each():
    for backend in BACKENDS:
        for address in VIPS:
            if backend.forward == "nat" and (":" in address) != (":" in backend.address):
                continue
            for protocol in ("tcp", "udp"):
                packet = to_vip(address, protocol)
                yield (f"{protocol} {'6' if packet.is_ipv6 else '4'} by {backend.forward} to "
                       f"{backend.address}", address, protocol, backend)


def rows_of_each_combination():
    for name, address, protocol, backend in each():
        most = fits(backend)
        sent(f"{name}: {most} bytes fit", packet_of(address, protocol, backend, most), backend)
        for length in (most + 1, most + 2, 1500 + (most == 1500), 1514, 1700):
            refused(f"case 5: {name}: {length} bytes do not",
                    packet_of(address, protocol, backend, length), most)


def rows_of_the_field_case():
    """Numbers as they are in the case, and not from this file's own arithmetic."""
    refused("case 1: 1500 bytes of IPv4 with DF by ipip: 1480",
            packet_of(VIPS[0], "tcp", IPIP, 1500), 1480)
    sent("case 1: 1480 bytes pass", packet_of(VIPS[0], "tcp", IPIP, 1480), IPIP)
    refused("case 1: 1500 bytes of IPv6 in IPv6: 1460",
            packet_of(VIPS[1], "tcp", IPIP6, 1500), 1460)
    sent("case 1: 1460 bytes pass", packet_of(VIPS[1], "tcp", IPIP6, 1460), IPIP6)


def rows_of_headers():
    """Tags stay; padding is no part of the packet; options are quoted like the rest."""
    for name, address, protocol, backend in each():
        most = fits(backend)
        for tags in (Tag(7),), (Tag(0, prio=5),), QINQ:
            packet = packet_of(address, protocol, backend, most, tags=tags)
            sent(f"{name}: {len(tags)} tags, fits", packet, backend)
            refused(f"{name}: {len(tags)} tags", packet.but(payload=packet.payload + b"1"), most)
        for padding in (1, 4, 60):
            packet = packet_of(address, protocol, backend, most, padding=b"\xa5" * padding)
            if backend.forward in ("ipip", "gue"):
                sent(f"{name}: padding of {padding}, fits", packet, backend)
            refused(f"{name}: padding of {padding}",
                    packet.but(payload=packet.payload + b"1"), most)
        more = {"extensions": (hop_by_hop(), destination_options(24))} if ":" in address \
            else {"options": 10}
        packet = packet_of(address, protocol, backend, most + 1, tags=QINQ, **more)
        refused(f"{name}: {' '.join(more)}", packet, most)


def rows_without_df():
    """Nobody can fragment these here, so their senders are told all the same."""
    for name, address, protocol, backend in each():
        if ":" in address:
            continue
        packet = packet_of(address, protocol, backend, fits(backend) + 1, ip=())
        refused(f"{name}: without DF", packet, fits(backend), "TX_TOO_BIG_NO_DF")


def rows_of_small_mtus():
    """What is told is never less than every link has to carry. An odd number is quoted whole."""
    for mtu, most in ((600, 580), (88, 68), (87, 68), (70, 68)):
        runner.do("mtu", id=IPIP.id, mtu=mtu)
        length = max(mtu - 20, 28) + 1
        packet = packet_of(VIPS[0], "udp", IPIP, length)
        refused(f"MTU {mtu}, IPv4, {length} bytes", packet, most)
    for mtu, most in ((1321, 1301), (1320, 1300), (1300, 1280), (1299, 1280), (1100, 1280)):
        runner.do("mtu", id=IPIP.id, mtu=mtu)
        packet = packet_of(VIPS[1], "udp", IPIP, mtu - 20 + 1)
        refused(f"case 1: MTU {mtu}, IPv6", packet, most)
    runner.do("mtu", id=IPIP.id, mtu=0)
    sent("an MTU that is not known", packet_of(VIPS[0], "udp", IPIP, 1700), IPIP)
    runner.do("mtu", id=IPIP.id, mtu=MTU)


def rows_of_senders():
    """RFC 1122, section 3.2.2, and RFC 4443, section 2.4."""
    for sources, packet, most in (
            (("0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "224.0.0.1", "239.1.2.3",
              "240.0.0.1", "255.255.255.255"), packet_of(VIPS[0], "udp", IPIP, 1500), 1480),
            (("::", "::1", "ff02::1", "ff0e::7"), packet_of(VIPS[1], "udp", IPIP, 1500), 1480)):
        for source in sources:
            dropped(f"from {source}", packet.but(source=source), "DROP_TOO_BIG_SENDER")
        for source in ("1.0.0.1", "126.255.255.255", "128.0.0.1", "223.255.255.255"), \
                ("::2", "::1:0:0", "fe80::1", "fec0::1", "100::"):
            for one in source if (":" in source[0]) == packet.is_ipv6 else ():
                refused(f"from {one}", packet.but(source=one), most)


def rows_of_icmp():
    """No error is answered: one that is itself too long for the way is dropped."""
    for address in VIPS:
        err = error(turned(packet_of(address, "udp", IPIP, 1500)), cut=None)
        most = 1480 - (48 if err.is_ipv6 else 28)
        dropped(f"an ICMP error of 1481 bytes to {address}",
                err.but(payload=err.payload[:most + 1]), "DROP_TOO_BIG_ERROR")
        tap.equal(run(err.but(payload=err.payload[:most]).build())[1], "TX_BACKEND",
                  f"an ICMP error of 1480 bytes to {address}")


def rows_of_fragments():
    """The first is answered, and tells of the whole datagram by its ports."""
    for ident, (name, address, protocol, backend) in enumerate(each(), 7000):
        if backend.forward not in ("ipip", "gue"):
            continue
        packet = to_vip(address, protocol, 1000 + backend.id).but(payload=bytes(4000))
        pieces = packet.pieces(ident, 1500)
        found = run(pieces[0])
        tap.equal(found, ("TX", "TX_TOO_BIG" if packet.is_ipv6 else "TX_TOO_BIG_NO_DF",
                          answer(packet, fits(backend), inner=pieces[0][14:])),
                  f"{name}: first fragment")
        tap.equal(run(pieces[1], mark=HELD_AGAIN), ("DROP", "DROP_TOO_BIG_FRAGMENT", pieces[1]),
                  f"{name}: later fragment")
    runner.do("forget")


def rows_of_several_buffers():
    """Only what is in the first is quoted; the others go."""
    for length in (3500, 4200, 9000):
        for address, quoted in ((VIPS[0], 548), (VIPS[1], 1232)):
            for tags in (), QINQ:
                packet = packet_of(address, "udp", IPIP, length, tags=tags)
                runner.do("answers", full=0)
                found = runner.run_long(packet.build())
                tap.equal(found, ("TX", "TX_TOO_BIG", answer(packet, 1480)),
                          f"{length} bytes to {address}, {len(tags)} tags")
                for linear in (100, 101, 200):
                    runner.do("answers", full=0)
                    found = runner.run_long(packet.build(), linear)
                    if found:
                        tap.equal(found, ("TX", "TX_TOO_BIG", answer(
                            packet, 1480, quoted=min(quoted, linear - packet.ip_at))),
                                  f"{length} bytes to {address}, {linear} in the first buffer")
    packet = packet_of(VIPS[0], "udp", IPIP, 1500, padding=bytes(5000))
    runner.do("answers", full=0)
    tap.equal(runner.run_long(packet.build()), ("TX", "TX_TOO_BIG", answer(packet, 1480)),
              "5,000 bytes of padding")


def rows_of_the_limit():
    for address in VIPS:
        packet = packet_of(address, "udp", IPIP, 1500)
        dropped(f"to {address}: an empty bucket", packet, "DROP_TOO_BIG_RATE", full=10000)
        tap.equal(run(packet.build(), 50)[1], "TX_TOO_BIG", f"to {address}: a bucket half full")
        dropped(f"to {address}: one with a bad source is told apart",
                packet.but(source="ff02::1" if packet.is_ipv6 else "224.0.0.1"),
                "DROP_TOO_BIG_SENDER", full=10000)
        sent(f"to {address}: what fits needs none", packet_of(address, "udp", IPIP, 1480), IPIP)
    frame = packet_of(VIPS[0], "udp", IPIP, 1500).build()
    # Each processor has a bucket of its own.
    os.sched_setaffinity(runner.process.pid, {min(os.sched_getaffinity(runner.process.pid))})
    runner.do("answers", full=0)
    flood = runner.do("flood", frame=frame.hex(), ifindex=runner.ingress, times=3000)
    counts = flood["counts"]
    answered = counts.get("TX_TOO_BIG", 0)
    # One a millisecond comes back meanwhile, the first within the first one.
    tap.ok(100 <= answered <= 100 + flood["ms"] + 1, "about 100 at once are answered", flood)
    tap.equal(answered + counts.get("DROP_TOO_BIG_RATE", 0), 3000, "and the others are counted")


set_up_backends()
rows_of_each_combination()
rows_of_the_field_case()
rows_of_headers()
rows_without_df()
rows_of_small_mtus()
rows_of_senders()
rows_of_icmp()
rows_of_fragments()
rows_of_several_buffers()
rows_of_the_limit()
tap.finish()
