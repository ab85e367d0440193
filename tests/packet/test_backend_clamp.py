#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""SYN-ACKs that leave a backend: the MSS option is lowered, checksums stay right."""
import sys

sys.dont_write_bytecode = True

from backend_packets import (  # noqa: E402
    CLIENT4, CLIENT6, VIP4, VIP6, BackendRunner, Tap, ether)
from scapy.layers.inet import IP, TCP, UDP, IPOption_NOP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.packet import Raw  # noqa: E402

tap = Tap()
runner = BackendRunner()
LIMIT = 1400  # backend_packets.SETTINGS
TAGS = {"": (), "802.1Q ": [(0x8100, 42)], "QinQ ": [(0x88a8, 7), (0x8100, 42)]}


def ip(family, **fields):
    if family == 4:
        return IP(**{"src": VIP4, "dst": CLIENT4, "id": 1, **fields})
    return IPv6(**{"src": VIP6, "dst": CLIENT6, **fields})


def syn_ack(family, options, tags=(), flags="SA", ip_fields=None, **fields):
    """@options are scapy's, or raw bytes: a multiple of four."""
    raw = isinstance(options, bytes)
    tcp = TCP(sport=80, dport=40321, flags=flags, seq=0x12345678, ack=9,
              options=[] if raw else options, **fields)
    if raw:
        tcp.dataofs = 5 + len(options) // 4
        return ether(tags) / ip(family, **(ip_fields or {})) / tcp / Raw(options)
    return ether(tags) / ip(family, **(ip_fields or {})) / tcp


def lowered(name, before, after):
    tap.equal(runner.clamp(before), ("PASS_CLAMPED", bytes(after)), name)


def kept(name, frame, verdict="PASS_NOT_CLAMPED"):
    frame = bytes(frame)
    tap.equal(runner.clamp(frame), (verdict, frame), name)


def raw_mss(value):
    return bytes([2, 4]) + value.to_bytes(2, "big")


USUAL = [("SAckOK", b""), ("Timestamp", (1, 2)), ("NOP", None), ("WScale", 7)]

for family in (4, 6):
    for tagged, tags in TAGS.items():
        what = f"{tagged}IPv{family}"
        lowered(f"{what}: 1460 becomes 1400", syn_ack(family, [("MSS", 1460)] + USUAL, tags),
                syn_ack(family, [("MSS", LIMIT)] + USUAL, tags))
    for value in (1401, 1402, 8960, 32768, 65535):
        lowered(f"IPv{family}: {value} becomes 1400", syn_ack(family, [("MSS", value)]),
                syn_ack(family, [("MSS", LIMIT)]))
    for value in (1400, 1399, 536, 1, 0):
        kept(f"IPv{family}: {value} stays", syn_ack(family, [("MSS", value)] + USUAL))
    kept(f"IPv{family}: no options", syn_ack(family, []))
    kept(f"IPv{family}: no MSS among them", syn_ack(family, USUAL))
    for before in range(0, 36):
        # At an odd place its bytes belong to two words of the checksum.
        tail = b"\0" * (-(before + 4) % 4)
        lowered(f"IPv{family}: behind {before} bytes",
                syn_ack(family, b"\1" * before + raw_mss(1460) + tail),
                syn_ack(family, b"\1" * before + raw_mss(LIMIT) + tail))
    lowered(f"IPv{family}: behind other options",
            syn_ack(family, [("Timestamp", (5, 6)), ("MSS", 1460), ("WScale", 3)]),
            syn_ack(family, [("Timestamp", (5, 6)), ("MSS", LIMIT), ("WScale", 3)]))
    kept(f"IPv{family}: behind the end of options", syn_ack(family, b"\0\4\0\0" + raw_mss(1460)))
    for bad in (b"\x08\0", b"\x08\1", b"\x08\xff", b"\x08\x08"):
        kept(f"IPv{family}: behind an option of length {bad[1]}",
             syn_ack(family, bad + b"\1\1" + raw_mss(1460)[:4]))
    for bad in (b"\2\3\5\xb4", b"\2\5\5\xb4", b"\2\0\5\xb4", b"\2\2\5\xb4"):
        kept(f"IPv{family}: an MSS option of length {bad[1]}", syn_ack(family, bad))
    for cut in (1, 2, 3):
        kept(f"IPv{family}: an MSS option that ends {cut} bytes too late",
             syn_ack(family, b"\1" * cut + raw_mss(1460)[:4 - cut]))
    kept(f"IPv{family}: 36 bytes and an MSS that does not fit",
         syn_ack(family, b"\1" * 37 + raw_mss(1460)[:3]))

    # What is not ours to change.
    for flags in ("S", "A", "PA", "R", "FA", ""):
        kept(f"IPv{family}: flags '{flags}'", syn_ack(family, [("MSS", 1460)], flags=flags), None)
    other = {"src": "192.0.2.2" if family == 4 else "2001:db8::2"}
    kept(f"IPv{family}: not from a VIP", syn_ack(family, [("MSS", 1460)], ip_fields=other), None)
    swapped = {"src": CLIENT4, "dst": VIP4} if family == 4 else {"src": CLIENT6, "dst": VIP6}
    kept(f"IPv{family}: to a VIP", syn_ack(family, [("MSS", 1460)], ip_fields=swapped), None)
    kept(f"IPv{family}: UDP", ether() / ip(family) / UDP(sport=80, dport=1) / Raw(bytes(40)), None)
    lowered(f"IPv{family}: flags SYN, ACK, ECE", syn_ack(family, [("MSS", 1460)], flags="SAE"),
            syn_ack(family, [("MSS", LIMIT)], flags="SAE"))
    lowered(f"IPv{family}: with data", syn_ack(family, [("MSS", 1460)]) / Raw(b"early"),
            syn_ack(family, [("MSS", LIMIT)]) / Raw(b"early"))

fields = {"options": [IPOption_NOP()] * 12}
lowered("IPv4 options", syn_ack(4, [("MSS", 1460)], ip_fields=fields),
        syn_ack(4, [("MSS", LIMIT)], ip_fields=fields))
kept("neither IPv4 nor IPv6", bytes(ether())[:12] + b"\x08\x06" + bytes(60), None)

# The checksum, whatever it was: 0 and all ones are the same to TCP.
wrong = 0
for seq in range(0, 1 << 16, 257):
    want = bytes(syn_ack(4, [("MSS", LIMIT)], window=seq))
    wrong += runner.clamp(bytes(syn_ack(4, [("MSS", 1460)], window=seq)))[1] != want
tap.ok(wrong == 0, "the checksum is right whatever it was", f"{wrong} are wrong")

for family in (4, 6):
    whole = bytes(syn_ack(family, [("MSS", 1460)] + USUAL))
    wrong = []
    # The kernel takes no frame shorter than this for a test run.
    for length in range(14 + (20 if family == 4 else 40), len(whole)):
        verdict, after = runner.clamp(whole[:length])
        if after != whole[:length] or verdict == "PASS_CLAMPED":
            wrong.append((length, verdict))
    tap.equal(wrong, [], f"IPv{family}: cut short, nothing is changed")
tap.finish()
