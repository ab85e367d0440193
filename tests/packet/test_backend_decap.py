#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets that come to a backend in a tunnel: what is taken out, and what is left alone."""
import itertools
import sys

sys.dont_write_bytecode = True

from backend_packets import (  # noqa: E402
    CLIENT4, CLIENT6, GUE_PORT, IPIP, IPV6, VIP4, VIP6, BackendRunner, Tap, ether,
    gue, inner, ipip, outer)
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP  # noqa: E402
from scapy.layers.inet6 import (  # noqa: E402
    ICMPv6PacketTooBig, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment)
from scapy.packet import Raw  # noqa: E402

tap = Tap()
runner = BackendRunner()

TUNNELS = {
    "ipip": ipip,
    "gue variant 1": gue,
    "gue variant 0": lambda family, packet, **fields: gue(family, packet, variant=0, **fields),
}
TAGS = {
    "": (), "802.1Q ": [(0x8100, 42)], "802.1ad ": [(0x88a8, 7)],
    "QinQ ": [(0x88a8, 7), (0x8100, 42)], "VLAN id 0 ": [(0x8100, 0)],
}
FAMILIES = [(4, 4), (6, 4), (4, 6), (6, 6)]  # outer, inner


def verdict_of(name):
    return "PASS_IPIP" if name == "ipip" else "PASS_GUE"


def taken_out(name, frame, verdict, packet, tags=(), padding=b""):
    tap.equal(runner.run(frame), ("PASS", verdict, bytes(ether(tags) / packet) + padding), name)


def left_alone(name, frame, verdict):
    frame = bytes(frame)
    tap.equal(runner.run(frame), ("PASS", verdict, frame), name)


def dropped(name, frame, verdict):
    action, found, _ = runner.run(frame)
    tap.equal(f"{action} {found}", f"DROP {verdict}", name)


# ---- all that is taken out ----

for name, tunnel in TUNNELS.items():
    for out, within in FAMILIES:
        packet = inner(within)
        for tagged, tags in TAGS.items():
            taken_out(f"{tagged}{name}, IPv{within} in IPv{out}",
                      ether(tags) / tunnel(out, packet), verdict_of(name), packet, tags)
        taken_out(f"{name}, IPv{within} in IPv{out}, padding stays", bytes(
            ether() / tunnel(out, packet)) + bytes(range(9)), verdict_of(name), packet,
            padding=bytes(range(9)))

for family, ip in ((4, IP(src=CLIENT4, dst=VIP4)), (6, IPv6(src=CLIENT6, dst=VIP6))):
    for what, packet in (
            ("UDP", ip / UDP(sport=1, dport=53) / Raw(b"?")),
            ("SCTP", ip.__class__(bytes(ip / Raw(b"sctp of some sort")))),
            ("an empty packet", ip),
            ("64 KB are not needed: 1400 bytes", ip / UDP(sport=1, dport=2) / Raw(bytes(1400))),
            ("jumbo: 8900 bytes", ip / UDP(sport=1, dport=2) / Raw(bytes(8900)))):
        taken_out(f"IPv{family}: {what}", ether() / ipip(4, packet), "PASS_IPIP", packet)
packet = inner(4, options=[IPOption_NOP()] * 8)
taken_out("options of the inner header", ether() / ipip(6, packet), "PASS_IPIP", packet)
packet = inner(4, frag=5, flags="MF")
taken_out("a fragment inside", ether() / gue(4, packet), "PASS_GUE", packet)
packet = IPv6(src=CLIENT6, dst=VIP6) / IPv6ExtHdrFragment(
    id=7, m=1) / Raw(b"x" * 24)
taken_out("an IPv6 fragment inside", ether() / gue(4, packet), "PASS_GUE", packet)
packet = IP(src="203.0.113.1", dst=VIP4) / ICMP(type=3, code=4, nexthopmtu=1400) / Raw(
    bytes(IP(src=VIP4, dst=CLIENT4) / TCP(sport=80, dport=40321))[:28])
taken_out("an ICMP error inside", ether() / ipip(4, packet), "PASS_IPIP", packet)
packet = IPv6(src="2001:db8:9::1", dst=VIP6) / ICMPv6PacketTooBig(mtu=1280) / Raw(
    bytes(IPv6(src=VIP6, dst=CLIENT6) / TCP(sport=80, dport=40321)))
taken_out("an ICMPv6 error inside", ether() / ipip(6, packet), "PASS_IPIP", packet)
packet = inner(4)
taken_out("an inner packet shorter than what is around it",
          ether() / outer(4, IPIP) / Raw(bytes(packet) + b"trailer"), "PASS_IPIP", packet,
          padding=b"trailer")
bad = inner(4)
bad.chksum = 0x1234
taken_out("a wrong inner checksum is the kernel's to see", ether() / ipip(4, bad), "PASS_IPIP", bad)

# ---- the UDP checksum outside is not looked at ----

for out in (4, 6):
    for what, checksum in (("zero", 0), ("right", None), ("wrong", 0x4242)):
        packet = inner(4)
        taken_out(f"IPv{out}, UDP checksum {what}", ether() / gue(out, packet, checksum=checksum),
                  "PASS_GUE", packet)

# ---- congestion marks: RFC 6040, figure 4 ----

NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3
NAMES = {NOT_ECT: "Not-ECT", ECT1: "ECT(1)", ECT0: "ECT(0)", CE: "CE"}
FIGURE_4 = {  # inner: what becomes of it for outer Not-ECT, ECT(0), ECT(1), CE
    NOT_ECT: (NOT_ECT, NOT_ECT, NOT_ECT, None),
    ECT0: (ECT0, ECT0, ECT1, CE),
    ECT1: (ECT1, ECT1, ECT1, CE),
    CE: (CE, CE, CE, CE),
}
for within, row in FIGURE_4.items():
    for outside, result in zip((NOT_ECT, ECT0, ECT1, CE), row):
        for (out, family), (name, tunnel) in itertools.product(FAMILIES, TUNNELS.items()):
            what = f"{name}, IPv{family} in IPv{out}: {NAMES[within]} in {NAMES[outside]}"
            frame = ether() / tunnel(out, inner(family, ecn=within), ecn=outside)
            if result is None:
                dropped(f"{what}: dropped", frame, "DROP_ECN")
            else:
                taken_out(f"{what}: {NAMES[result]}", frame, verdict_of(name),
                          inner(family, ecn=result))
# Checksums that wrap around: all values of the identification make all sums.
wrong = 0
for number in range(0, 65536, 251):
    want = bytes(ether() / inner(4, ecn=CE, id=number))
    wrong += runner.run(ether() / ipip(4, inner(4, ecn=ECT0, id=number), ecn=CE))[2] != want
tap.ok(wrong == 0, "the inner checksum is right whatever it was", f"{wrong} are wrong")

# ---- not for us: left to the kernel, byte for byte ----

for family in (4, 6):
    packet = inner(family)
    left_alone(f"IPv{family}: not encapsulated", ether() / packet, "PASS_PLAIN")
    other = {"dst": "192.0.2.99" if family == 4 else "2001:db8::99"}
    for name, tunnel in TUNNELS.items():
        for out in (4, 6):
            what = f"IPv{family} in IPv{out}, {name}"
            left_alone(f"{what}: another inner destination",
                       ether() / tunnel(out, inner(family, **other)), "PASS_NOT_VIP")
            left_alone(f"{what}: another outer destination",
                       ether() / tunnel(out, packet, dst="10.0.0.6" if out == 4 else "fd00::6"),
                       "PASS_NOT_LOCAL")
            left_alone(f"{what}: to the VIP itself",
                       ether() / tunnel(out, packet, dst=VIP4 if out == 4 else VIP6),
                       "PASS_NOT_LOCAL")
left_alone("neither IPv4 nor IPv6", bytes(ether())[:12] + b"\x08\x06" + bytes(28), "PASS_PLAIN")
left_alone("three VLAN tags", ether([(0x8100, 1), (0x8100, 2), (0x8100, 3)]) / ipip(4, inner(4)),
           "PASS_PLAIN")
left_alone("UDP to another port", ether() / outer(4, 17) / UDP(sport=53, dport=40000) / Raw(
    bytes(40)), "PASS_PLAIN")
left_alone("no payload at all", ether() / outer(4, 17) / UDP(sport=53, dport=40000), "PASS_PLAIN")
frame = ether() / ipip(4, inner(4))
frame.dst = "ff:ff:ff:ff:ff:ff"
left_alone("a broadcast frame", frame, "PASS_NOT_UNICAST")
frame.dst = "01:00:5e:00:00:01"
left_alone("a multicast frame", frame, "PASS_NOT_UNICAST")

for protocol, what in ((IPIP, "ipip"), (IPV6, "IPv6 in IPv4"), (17, "UDP")):
    for flags, offset in (("MF", 0), ("MF", 3), (0, 3)):
        left_alone(f"{what}: fragment, offset {offset}, {flags or 'the last'}",
                   ether() / outer(4, protocol, flags=flags, frag=offset) / Raw(bytes(inner(4))),
                   "PASS_FRAGMENT")
    left_alone(f"{what} in an IPv6 fragment", ether() / outer(6, 44) / IPv6ExtHdrFragment(
        nh=protocol, id=1, m=1) / Raw(bytes(inner(4))), "PASS_FRAGMENT")
left_alone("somebody else's fragment", ether() / outer(4, 6, flags="MF") / Raw(bytes(40)),
           "PASS_PLAIN")
left_alone("somebody else's IPv6 fragment", ether() / outer(6, 44) / IPv6ExtHdrFragment(
    nh=6, id=1, m=1) / Raw(bytes(40)), "PASS_PLAIN")
left_alone("don't fragment is no fragment... of a foreign packet",
           ether() / ipip(4, inner(4, dst="192.0.2.99"), flags="DF"), "PASS_NOT_VIP")
taken_out("don't fragment is no fragment", ether() / ipip(4, inner(4), flags="DF"), "PASS_IPIP",
          inner(4))
left_alone("IPv4 options outside",
           ether() / ipip(4, inner(4), options=[IPOption_NOP()] * 4), "PASS_OUTER_OPTIONS")
left_alone("IPv4 options before UDP", ether() / gue(4, inner(4), options=[IPOption_NOP()] * 4),
           "PASS_PLAIN")
left_alone("IPv6 options outside", ether() / outer(6, 60) / IPv6ExtHdrDestOpt(nh=IPIP) / Raw(
    bytes(inner(4))), "PASS_PLAIN")
left_alone("a wrong outer checksum", ether() / ipip(4, inner(4), chksum=0x1234), "PASS_OUTER_BAD")
left_alone("version 5", ether() / ipip(4, inner(4), version=5), "PASS_OUTER_BAD")
left_alone("header length 4", ether() / ipip(4, inner(4), ihl=4), "PASS_OUTER_BAD")
left_alone("version 4 where 6 should be", ether() / ipip(6, inner(4), version=4), "PASS_OUTER_BAD")
for more in (1, 2, 1000):
    left_alone(f"{more} bytes less than the IPv4 header says",
               ether() / ipip(4, inner(4), len=20 + len(inner(4)) + more), "PASS_OUTER_BAD")
    left_alone(f"{more} bytes less than the IPv6 header says",
               ether() / ipip(6, inner(4), plen=len(inner(4)) + more), "PASS_OUTER_BAD")
left_alone("a total length of 19", ether() / ipip(4, inner(4), len=19), "PASS_OUTER_BAD")

# ---- GUE that is not ours ----

for first, what in ((0x50, "variant 1, nibble 5"), (0x70, "variant 1, nibble 7"),
                    (0x80, "variant 2"), (0xc0, "variant 3")):
    left_alone(what, ether() / gue(4, inner(4), header=bytes([first, IPIP, 0, 0])), "PASS_NOT_GUE")
for header, what in (
        (bytes([0x20, IPIP, 0, 0]), "a control message"),
        (bytes([0x01, IPIP, 0, 0, 1, 2, 3, 4]), "an extension of one word"),
        (bytes([0x1f, IPIP, 0, 0]), "the longest extension"),
        (bytes([0, IPIP, 0x80, 0]), "a flag"), (bytes([0, IPIP, 0, 1]), "the last flag"),
        (bytes([0, 6, 0, 0]), "TCP inside"), (bytes([0, 0, 0, 0]), "protocol 0")):
    left_alone(f"variant 0: {what}", ether() / gue(4, inner(4), header=header), "PASS_GUE_OPTIONS")
left_alone("variant 0 says IPv6, inside is IPv4",
           ether() / gue(4, inner(4), header=bytes([0, IPV6, 0, 0])), "PASS_INNER_BAD")
left_alone("variant 0 says IPv4, inside is IPv6",
           ether() / gue(4, inner(6), header=bytes([0, IPIP, 0, 0])), "PASS_INNER_BAD")
for length, what in ((7, "7"), (8 + len(inner(4)) + 1, "one too many"), (0, "0")):
    frame = ether() / gue(4, inner(4))
    frame[UDP].len = length
    left_alone(f"UDP length {what}", frame, "PASS_OUTER_BAD")
left_alone("nothing behind the UDP header", ether() / gue(4, Raw(b""), header=b""), "PASS_NOT_GUE")

# ---- another port, another mode ----

for out in (4, 6):
    for variant in (0, 1):
        left_alone(f"IPv{out}, gue variant {variant} to another port",
                   ether() / gue(out, inner(6), variant=variant, port=6081 + variant),
                   "PASS_OTHER_PORT")
        tap.equal(runner.port(), 6081 + variant, "the port is remembered")
left_alone("another port, for another host",
           ether() / gue(4, inner(4), port=6081, dst="10.0.0.6"), "PASS_PLAIN")
left_alone("another port, not for a VIP",
           ether() / gue(4, inner(4, dst="192.0.2.99"), port=6081), "PASS_PLAIN")
runner.load(gue=False)
left_alone("mode ipip: gue", ether() / gue(4, inner(4)), "PASS_OTHER_MODE")
left_alone("mode ipip: gue to any port", ether() / gue(4, inner(4), port=9), "PASS_OTHER_MODE")
taken_out("mode ipip: ipip", ether() / ipip(4, inner(6)), "PASS_IPIP", inner(6))
runner.load(ipip=False, gue_port=9)
left_alone("mode gue: ipip", ether() / ipip(4, inner(4)), "PASS_OTHER_MODE")
left_alone("mode gue: ipip for others", ether() / ipip(4, inner(4, dst="192.0.2.99")),
           "PASS_PLAIN")
taken_out("mode gue, port 9", ether() / gue(4, inner(4), port=9), "PASS_GUE", inner(4))
left_alone("mode gue, port 9: to the usual port", ether() / gue(4, inner(4)), "PASS_OTHER_PORT")
tap.equal(runner.port(), GUE_PORT, "the port is remembered")

# ---- prefixes among the VIPs ----

runner.load(vips=["192.0.2.0/25", VIP6, "2001:db8:7:8000::/49"])
for within, inside in (("192.0.2.0", True), ("192.0.2.127", True), ("192.0.2.128", False),
                       ("192.0.1.255", False), (VIP6, True), ("2001:db8:7:8000::", True),
                       ("2001:db8:7:ffff:ffff:ffff:ffff:ffff", True),
                       ("2001:db8:7:7fff:ffff:ffff:ffff:ffff", False), ("2001:db8:8::", False)):
    packet = inner(6 if ":" in within else 4, dst=within)
    for name, tunnel in TUNNELS.items():
        frame = ether() / tunnel(6, packet)
        if inside:
            taken_out(f"{name}: {within} is of a VIP's prefix", frame, verdict_of(name), packet)
        else:
            left_alone(f"{name}: {within} is beside it", frame, "PASS_NOT_VIP")

# ---- --from ----

runner.load(**{"from": ["10.0.0.0/29", "fd00::1/128", "172.16.0.0/12"]})
for source, inside in (("10.0.0.0", True), ("10.0.0.7", True), ("10.0.0.8", False),
                       ("9.255.255.255", False), ("172.31.255.255", True), ("172.32.0.0", False)):
    frame = ether() / ipip(4, inner(4), src=source)
    if inside:
        taken_out(f"from {source}", frame, "PASS_IPIP", inner(4))
    else:
        dropped(f"from {source}", frame, "DROP_NOT_FROM")
taken_out("from fd00::1", ether() / gue(6, inner(4)), "PASS_GUE", inner(4))
dropped("from fd00::2", ether() / gue(6, inner(4), src="fd00::2"), "DROP_NOT_FROM")
# The bytes of 10.0.0.1, as an IPv6 address.
dropped("from a00:1::", ether() / gue(6, inner(4), src="a00:1::"), "DROP_NOT_FROM")
left_alone("what is not for a VIP is not dropped",
           ether() / ipip(4, inner(4, dst="192.0.2.99"), src="10.9.9.9"), "PASS_NOT_VIP")
runner.load(**{"from": ["0.0.0.0/0"]})
taken_out("from all of IPv4", ether() / ipip(4, inner(4), src="203.0.113.1"), "PASS_IPIP", inner(4))
dropped("and not of IPv6", ether() / ipip(6, inner(4)), "DROP_NOT_FROM")
runner.load(vips=["c000:201::"], locals=["a00:5::"])
left_alone("families are not mixed up", ether() / ipip(4, inner(4)), "PASS_NOT_VIP")
runner.load(locals=["a00:5::"])
left_alone("nor are local addresses", ether() / ipip(4, inner(4)), "PASS_NOT_LOCAL")

# ---- for a VIP, but damaged inside ----

runner.load()
for name, tunnel in TUNNELS.items():
    for out in (4, 6):
        what = f"{name} in IPv{out}"
        length = len(inner(4))
        dropped(f"{what}: inner length beyond the outer one",
                ether() / tunnel(out, inner(4, len=length + 1)), "DROP_INNER_LENGTH")
        dropped(f"{what}: the same, although the frame is long enough",
                bytes(ether() / tunnel(out, inner(4, len=length + 1))) + bytes(8),
                "DROP_INNER_LENGTH")
        dropped(f"{what}: inner length below its header",
                ether() / tunnel(out, inner(4, len=19)), "DROP_INNER_LENGTH")
        dropped(f"{what}: inner header length 4",
                ether() / tunnel(out, inner(4, ihl=4)), "DROP_INNER_LENGTH")
        dropped(f"{what}: inner IPv6 length beyond the outer one",
                ether() / tunnel(out, inner(6, plen=len(inner(6)) - 39)), "DROP_INNER_LENGTH")

# ---- cut short at every length ----


def cut(name, frame, outer_at, inner_at, header_len, lengths_too):
    """
    The outer lengths say how much there was, so what is cut is damaged outside; with
    @lengths_too they are written anew.
    """
    whole, found = bytes(frame), {}
    for length in range(14, len(whole)):
        piece = bytearray(whole[:length])
        if lengths_too and length >= inner_at:
            relength(piece, outer_at)
        action, verdict, after = runner.run(bytes(piece))
        if action == "PASS" and bytes(piece) != after:
            verdict = f"changed by {verdict}"
        found.setdefault(f"{action} {verdict}", []).append(length)
    if not lengths_too:
        expected = {"PASS PASS_PLAIN": list(range(14, outer_at)),
                    "PASS PASS_OUTER_BAD": list(range(outer_at, len(whole)))}
    else:
        expected = {"PASS PASS_PLAIN": list(range(14, outer_at)),
                    "PASS PASS_OUTER_BAD": list(range(outer_at, inner_at)),
                    "PASS PASS_INNER_BAD": list(range(inner_at, inner_at + header_len)),
                    "DROP DROP_INNER_LENGTH": list(range(inner_at + header_len, len(whole)))}
        if "gue" in name:
            # Without a nibble there is no variant.
            expected["PASS PASS_NOT_GUE"] = [inner_at]
            expected["PASS PASS_INNER_BAD"].remove(inner_at)
    tap.equal(found, {key: value for key, value in expected.items() if value}, name)


def relength(piece, at):
    """Have the outer headers end where @piece does."""
    ipv4 = piece[at] >> 4 == 4
    header = IP(bytes(piece[at:])) if ipv4 else IPv6(bytes(piece[at:]))
    if ipv4:
        header.len, header.chksum = None, None
    else:
        header.plen = None
    if header.haslayer(UDP):
        header[UDP].len = None
    piece[at:] = bytes(header)


for out, within in FAMILIES:
    for name, tunnel in (("ipip", ipip), ("gue variant 1", gue)):
        for tagged, tags in (("", ()), ("QinQ ", TAGS["QinQ "])):
            frame = ether(tags) / tunnel(out, inner(within))
            at = 14 + 4 * len(tags)
            inside = at + (20 if out == 4 else 40) + (0 if name == "ipip" else 8)
            for lengths_too in (False, True):
                cut(f"{tagged}{name}, IPv{within} in IPv{out}, cut short"
                    f"{', lengths too' if lengths_too else ''}", frame, at, inside,
                    20 if within == 4 else 40, lengths_too)

# ---- bytes at random: nothing else than verdicts comes of it ----


class Numbers:
    """xorshift32: the same numbers on every machine."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state ^= self.state << 13 & 0xffffffff
        self.state ^= self.state >> 17
        self.state ^= self.state << 5 & 0xffffffff
        return self.state % limit


numbers = Numbers(20260723)
bad = []
for _ in range(3000):
    out, within = FAMILIES[numbers.below(4)]
    tunnel = list(TUNNELS.values())[numbers.below(3)]
    frame = bytearray(bytes(ether() / tunnel(out, inner(within))))
    for _ in range(1 + numbers.below(3)):
        frame[numbers.below(len(frame))] = numbers.below(256)
    before = bytes(frame)
    action, verdict, after = runner.run(before)
    if verdict in ("PASS_IPIP", "PASS_GUE"):
        fits = len(after) < len(before) and after[:12] == before[:12] and before.endswith(after[44:])
    else:
        fits = action == "DROP" or after == before
    if not fits:
        bad.append(before.hex())
tap.ok(not bad, "3000 damaged packets: taken out, dropped or left alone", *bad[:3])
tap.finish()
