# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Outer headers as the RFCs have them, built by scapy around a packet's bytes.

What comes from a flow's hash is worked out here from the specification of xxHash and from
docs/dataplane.md; nothing is taken from bpf/.
"""
import ipaddress
import struct

from packets import IP, PROTOCOLS, UDP, IPv6, Raw

SEED = 0x5eed
SOURCE_IPV4 = "198.18.0.0/16"
SOURCE_IPV6 = "100::/64"
IP_DONT_FRAGMENT = 0x4000
MASK = (1 << 64) - 1
PRIME = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
         0x27D4EB2F165667C5)


def set_sources(runner):
    """Have the program take outer sources from these prefixes."""
    runner.do("encap", seed=SEED, source_ipv4="198.18.0.0", hosts_ipv4="0.0.255.255",
              source_ipv6="100::", hosts_ipv6="::ffff:ffff:ffff:ffff")


def rotate(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK


def xxh64_round(acc, lane):
    return rotate((acc + lane * PRIME[1]) & MASK, 31) * PRIME[0] & MASK


def xxh64(data, seed):
    """XXH64 of any bytes."""
    at, end = 0, len(data)
    if end >= 32:
        accs = [seed + PRIME[0] + PRIME[1] & MASK, seed + PRIME[1] & MASK, seed,
                seed - PRIME[0] & MASK]
        while at + 32 <= end:
            accs = [xxh64_round(acc, lane)
                    for acc, lane in zip(accs, struct.unpack_from("<4Q", data, at))]
            at += 32
        value = sum(rotate(acc, bits) for acc, bits in zip(accs, (1, 7, 12, 18))) & MASK
        for acc in accs:
            value = ((value ^ xxh64_round(0, acc)) * PRIME[0] + PRIME[3]) & MASK
    else:
        value = seed + PRIME[4] & MASK
    value = value + end & MASK
    while at + 8 <= end:
        lane = struct.unpack_from("<Q", data, at)[0]
        value = (rotate(value ^ xxh64_round(0, lane), 27) * PRIME[0] + PRIME[3]) & MASK
        at += 8
    if at + 4 <= end:
        lane = struct.unpack_from("<I", data, at)[0]
        value = (rotate(value ^ (lane * PRIME[0] & MASK), 23) * PRIME[1] + PRIME[2]) & MASK
        at += 4
    for byte in data[at:]:
        value = rotate(value ^ (byte * PRIME[4] & MASK), 11) * PRIME[0] & MASK
    value = (value ^ value >> 33) * PRIME[1] & MASK
    value = (value ^ value >> 29) * PRIME[2] & MASK
    return value ^ value >> 32


assert xxh64(b"", 0) == 0xEF46DB3751D8E999  # given in the specification of xxHash


def flow_hash(packet, seed=SEED):
    key = ipaddress.ip_address(packet.source).packed \
        + ipaddress.ip_address(packet.destination).packed \
        + struct.pack(">HHB", packet.sport, packet.dport, PROTOCOLS[packet.protocol])
    return xxh64(key, seed)


def source_ipv4(value, prefix=SOURCE_IPV4):
    """The prefix and the hash's low bits, but neither all zeros nor all ones."""
    net = ipaddress.ip_network(prefix)
    host = value & int(net.hostmask)
    if net.prefixlen < 31:
        host = {0: 1, int(net.hostmask): int(net.hostmask) - 1}.get(host, host)
    elif net.prefixlen == 31:
        host ^= 1
    return str(net.network_address + host)


def source_ipv6(value, prefix=SOURCE_IPV6):
    net = ipaddress.ip_network(prefix)
    return str(net.network_address + (value & int(net.hostmask) & MASK))


def outer_id(inner):
    """Of an inner IPv4 packet that may be fragmented: its own, plus its fragment offset."""
    ident, frag_off = struct.unpack_from(">HH", inner, 4)
    return 0 if frag_off & IP_DONT_FRAGMENT else ident + (frag_off & 0x1fff) & 0xffff


def wrap(packet, backend, checksum=False, port=6080, inner=None, sources=(SOURCE_IPV4, SOURCE_IPV6)):
    """The frame in which @packet, or its bytes @inner, leaves for an ipip or gue backend."""
    inner = inner or packet.but(padding=b"").build()[packet.ip_at:]
    value = flow_hash(packet)
    is_ipv6 = inner[0] >> 4 == 6
    tos = (inner[0] << 8 | inner[1]) >> 4 & 0xff if is_ipv6 else inner[1]
    protocol = 17 if backend.forward == "gue" else 41 if is_ipv6 else 4
    layer = Raw(inner)
    if backend.forward == "gue":
        over_ipv6 = ":" in backend.address
        layer = UDP(sport=49152 + (value >> 32) % 16384, dport=port,
                    **({} if checksum or over_ipv6 else {"chksum": 0})) / layer
    if ":" in backend.address:
        outer = IPv6(src=source_ipv6(value, sources[1]), dst=backend.address, hlim=64, tc=tos,
                     nh=protocol, fl=(value >> 32) & 0xfffff or 1)
    else:
        flags = "DF" if is_ipv6 or inner[6] & 0x40 else 0
        outer = IP(src=source_ipv4(value, sources[0]), dst=backend.address, ttl=64, tos=tos,
                   proto=protocol, id=0 if is_ipv6 else outer_id(inner), flags=flags)
    ether = packet.but(mac_source=backend.mac_source, mac_destination=backend.mac) \
        .ether(0x86dd if ":" in backend.address else 0x0800)
    return bytes(ether / outer / layer)
