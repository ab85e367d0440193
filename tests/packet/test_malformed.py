#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets that are cut short or contradict themselves: the verdict, and nothing sent.

Whatever the verdict, the frame stays as it came, as no such packet is ever rewritten.
"""
import sys

sys.dont_write_bytecode = True

from packets import (ETHERNET_LEN, VIPS, Tag, Tap, destination_options,  # noqa: E402
                     hop_by_hop, routing, set_up, to_vip)

tap = Tap()
runner = set_up()

# One IPv4 and one IPv6 VIP of nat and of dr each.
ADDRESSES = ("192.0.2.1", "2001:db8::1", "192.0.2.3", "2001:db8::3")
PROTOCOLS = ("tcp", "udp")
IP_AT = ETHERNET_LEN
EXTENSIONS = (hop_by_hop(), destination_options(24), routing(), destination_options())


def stays(what, frame, verdict):
    frame = bytes(frame)
    tap.equal(runner.run(frame), (verdict.split("_")[0], verdict, frame), what)


def put(frame, at, value, size=1):
    """@frame with @value at the offset @at."""
    return frame[:at] + value.to_bytes(size, "big") + frame[at + size:]


def each_packet(**changes):
    for address in ADDRESSES:
        for protocol in PROTOCOLS:
            yield f"{protocol} to {address}", to_vip(address, protocol).but(**changes)


def cut_l4(packet, frame, l4_len):
    """@frame, its IP header telling of the first @l4_len bytes of layer 4 only."""
    length = packet.l4_at + l4_len - packet.ip_at - (40 if packet.is_ipv6 else 0)
    return put(frame[:packet.l4_at + l4_len], packet.ip_at + (4 if packet.is_ipv6 else 2),
               length, 2)


def verdict_of_cut(packet, length):
    """What a frame cut to @length is, its IP length telling of more."""
    if length < packet.ip_at:
        return "DROP_SHORT_TAG"
    if packet.is_ipv6:
        return "DROP_SHORT_IPV6" if length < packet.ip_at + 40 else "DROP_BAD_IP_LENGTH"
    if length < packet.l4_at:
        return "DROP_SHORT_IPV4"
    return "DROP_BAD_IP_LENGTH"


def every_cut(what, packet):
    frame, wrong = packet.build(), []
    for length in range(ETHERNET_LEN, len(frame)):
        verdict = verdict_of_cut(packet, length)
        found = runner.run(frame[:length])
        if found != ("DROP", verdict, frame[:length]):
            wrong.append(f"{length} bytes: {found[1]} instead of {verdict}")
    tap.ok(not wrong, f"{what}: cut after 14 to {len(frame) - 1} bytes", *wrong)


def verdict_of_l4(packet, l4_len):
    """What a packet is whose IP header tells of only @l4_len bytes of layer 4."""
    if l4_len < 4:
        return "PASS_SHORT_PORTS"
    if packet.protocol == "sctp":
        return "DROP_SHORT_SCTP"
    if packet.protocol == "udp":
        return "DROP_SHORT_UDP" if l4_len < 8 else "DROP_BAD_UDP_LENGTH"
    return "DROP_SHORT_TCP" if l4_len < 20 else "DROP_BAD_TCP_OFFSET"


def every_l4_length(what, packet, l4_end):
    """Lengths that agree, with and without Ethernet padding where the rest would have been.

    From the end of the IPv4 or IPv6 header on, so extension headers are cut too.
    """
    whole, wrong = packet.build(), []
    first = packet.ip_at + 40 - packet.l4_at if packet.is_ipv6 else 0
    for l4_len in range(first, l4_end):
        verdict = verdict_of_l4(packet, l4_len)
        for padding in (b"", b"\0" * 46, whole[packet.l4_at + l4_len:]):
            frame = cut_l4(packet, whole, l4_len) + padding
            found = runner.run(frame)
            if found != (verdict.split("_")[0], verdict, frame):
                wrong.append(f"{l4_len} and {len(padding)}: {found[1]} instead of {verdict}")
    tap.ok(not wrong, f"{what}: layer 4 of {first} to {l4_end - 1} bytes", *wrong)


def rows_of_cuts():
    for what, packet in each_packet():
        every_cut(what, packet)
        every_cut(what + ", no payload", packet.but(payload=b""))
    for words in (1, 5, 10):
        every_cut(f"tcp with {words} words of IPv4 options",
                  to_vip("192.0.2.1", "tcp").but(options=words))
        every_cut(f"udp by dr with {words} words of IPv4 options",
                  to_vip("192.0.2.3", "udp").but(options=words))
    for what, packet in each_packet(payload=b"x" * 12):
        every_cut(what + ", 802.1Q", packet.but(tags=(Tag(7),)))
        every_cut(what + ", QinQ", packet.but(tags=(Tag(7, type=0x88a8), Tag(0, 5))))
        if packet.is_ipv6:
            every_cut(what + ", extension headers", packet.but(extensions=EXTENSIONS))
            every_cut(what + ", QinQ, extension headers",
                      packet.but(extensions=EXTENSIONS, tags=(Tag(7), Tag(8))))
        else:
            every_cut(what + ", 802.1Q, ihl 15", packet.but(tags=(Tag(7),), options=10))
    every_cut("tcp to nobody", to_vip("192.0.2.99", "tcp"))
    every_cut("udp to nobody", to_vip("2001:db8::99", "udp"))


def rows_of_l4_lengths():
    for what, packet in each_packet(payload=b"x" * 12):
        every_l4_length(what, packet, 20)
    for options in (4, 40):
        for address in ADDRESSES:
            packet = to_vip(address, "tcp").but(l4=(("options", [("NOP", None)] * options),))
            every_l4_length(f"tcp to {address}, {options} bytes of options", packet, 20 + options)
    for words in (1, 10):
        packet = to_vip("192.0.2.1", "udp").but(options=words, payload=b"x" * 12)
        every_l4_length(f"udp with {words} words of IPv4 options", packet, 20)
    for tags in (), (Tag(7),), (Tag(7, type=0x88a8), Tag(8)):
        for what, packet in each_packet(payload=b"x" * 12):
            what += f", {len(tags)} tags"
            if packet.is_ipv6:
                packet = packet.but(extensions=EXTENSIONS)
                what += ", extension headers"
            every_l4_length(what, packet.but(tags=tags), 20)
    for address in ("192.0.2.3", "2001:db8::3"):
        runner.do("vip", address=address, protocol="sctp", port=80, vip=92, pool=5)
        every_l4_length(f"sctp to {address}", to_vip(address, "sctp"), 12)


def rows_of_versions():
    for what, packet in each_packet(payload=b"x" * 40):
        frame = packet.build()
        right = 6 if packet.is_ipv6 else 4
        for version in range(16):
            if version != right:
                stays(f"{what}, version {version}",
                      put(frame, IP_AT, version << 4 | frame[IP_AT] & 15), "DROP_BAD_VERSION")
        swapped = put(frame, 12, 0x0800 if packet.is_ipv6 else 0x86dd, 2)
        stays(f"{what}, EtherType of the other", swapped, "DROP_BAD_VERSION")


def rows_of_ipv4_lengths():
    for what, packet in each_packet(payload=b""):
        frame = packet.build()
        if packet.is_ipv6:
            continue
        for ihl in range(5):
            stays(f"{what}, ihl {ihl}", put(frame, IP_AT, 0x40 | ihl), "DROP_BAD_IHL")
        short = frame[:IP_AT + 24]
        for ihl in (7, 10, 15):
            stays(f"{what}, ihl {ihl} beyond the frame", put(short, IP_AT, 0x40 | ihl),
                  "DROP_SHORT_IPV4")
        for length in (0, 1, 19):
            stays(f"{what}, total length {length}", put(frame, IP_AT + 2, length, 2),
                  "DROP_BAD_IP_LENGTH")
        for more in (1, 2, 1000):
            stays(f"{what}, total length beyond by {more}",
                  put(frame, IP_AT + 2, len(frame) - IP_AT + more, 2), "DROP_BAD_IP_LENGTH")
        stays(f"{what}, total length 65535", put(frame, IP_AT + 2, 65535, 2),
              "DROP_BAD_IP_LENGTH")
        frame = packet.but(options=3).build()
        for length in (20, 31):
            stays(f"{what}, 12 bytes of options, total length {length}",
                  put(frame, IP_AT + 2, length, 2), "DROP_BAD_IP_LENGTH")
        stays(f"{what}, total length of a header only",
              put(packet.build(), IP_AT + 2, 20, 2), "PASS_SHORT_PORTS")


def rows_of_ipv6_lengths():
    for what, packet in each_packet():
        frame = packet.build()
        if not packet.is_ipv6:
            continue
        for more in (1, 2, 1000):
            stays(f"{what}, payload length beyond by {more}",
                  put(frame, IP_AT + 4, len(frame) - IP_AT - 40 + more, 2), "DROP_BAD_IP_LENGTH")
        for length in (65535, 65535 - 39, 65535 - 40):
            stays(f"{what}, payload length {length}", put(frame, IP_AT + 4, length, 2),
                  "DROP_BAD_IP_LENGTH")
        stays(f"{what}, payload length 0", put(frame, IP_AT + 4, 0, 2), "PASS_SHORT_PORTS")


def rows_of_l4_headers():
    for what, packet in each_packet():
        frame = packet.build()
        l4_len = len(frame) - packet.l4_at
        if packet.protocol == "udp":
            for length in (0, 1, 7, l4_len + 1, l4_len + 2, 1500, 65535):
                stays(f"{what}, UDP length {length} of {l4_len}",
                      put(frame, packet.l4_at + 4, length, 2), "DROP_BAD_UDP_LENGTH")
            padded = put(frame + b"\0" * 9, packet.l4_at + 4, l4_len + 9, 2)
            stays(f"{what}, UDP length that counts Ethernet padding", padded,
                  "DROP_BAD_UDP_LENGTH")
            continue
        for words in (0, 1, 2, 3, 4, 7, 8, 15):
            stays(f"{what}, TCP data offset {words} of {l4_len} bytes",
                  put(frame, packet.l4_at + 12, words << 4 | 0x0f), "DROP_BAD_TCP_OFFSET")
        padded = put(frame + b"\0" * 46, packet.l4_at + 12, 0xf0)
        stays(f"{what}, TCP data offset that counts Ethernet padding", padded,
              "DROP_BAD_TCP_OFFSET")


def rows_of_ttl():
    for address, port, backend in VIPS:
        for protocol in PROTOCOLS:
            for ttl in (0, 1):
                packet = to_vip(address, protocol, port or 9).but(ttl=ttl)
                stays(f"{protocol} to {address} port {packet.dport}, {backend.forward}, TTL {ttl}",
                      packet.build(), "DROP_TTL")


def rows_of_pools():
    packet = to_vip("192.0.2.1", "tcp").build()
    runner.do("ring", pool=1, seed=1, vnodes=1, backends=[])
    stays("a pool without backends", packet, "DROP_NO_BACKEND")
    runner.do("no_ring", pool=1)
    stays("a pool without a ring", packet, "DROP_NO_RING")
    runner.do("ring", pool=1, seed=1, vnodes=1, backends=[60])
    stays("a ring with a backend that there is not", packet, "DROP_BAD_RING")
    runner.do("ring", pool=1, seed=1, vnodes=1, backends=[3])
    stays("a nat backend of the other family", packet, "DROP_WRONG_FAMILY")
    runner.do("backend", id=61, address="10.0.1.61", port=80, forward="nat")
    runner.do("ring", pool=1, seed=1, vnodes=1, backends=[61])
    stays("a backend without a next hop", packet, "DROP_NO_NEXTHOP")


rows_of_cuts()
rows_of_l4_lengths()
rows_of_versions()
rows_of_ipv4_lengths()
rows_of_ipv6_lengths()
rows_of_l4_headers()
rows_of_ttl()
rows_of_pools()
tap.finish()
