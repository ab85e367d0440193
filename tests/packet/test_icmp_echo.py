#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Echo requests to VIPs are answered in place; others and what is like them pass."""
import random
import struct
import sys

sys.dont_write_bytecode = True

from icmp import answer_to, echo, message  # noqa: E402
from packets import (VIPS, Tag, Tap, authentication, destination_options,  # noqa: E402
                     fragment_header, hop_by_hop, set_up)
from scapy.layers.inet import ICMP  # noqa: E402
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6ND_NA, ICMPv6ND_NS  # noqa: E402

CLIENTS = {False: "198.51.100.9", True: "2001:db8:c::9"}
SAMPLES = ("192.0.2.1", "2001:db8::1")
RANDOM = 1000

tap = Tap()
runner = set_up()


def request_to(address, **fields):
    return echo(CLIENTS[":" in address], address, **fields)


def answered(what, request):
    tap.equal(runner.run(request.build()), ("TX", "TX_ECHO", answer_to(request).build()), what)


def stays(what, frame, verdict):
    tap.equal(runner.run(frame), (verdict.split("_")[0], verdict, frame), what)


def rows_of_addresses():
    """Whatever protocol and ports the VIP of an address has."""
    for address in sorted({vip[0] for vip in VIPS}):
        answered(f"case 6: echo to {address}", request_to(address))
    runner.do("vip", address="203.0.113.5", protocol="sctp", port=36412, vip=50, pool=1)
    answered("case 6: echo to the address of a VIP of SCTP", request_to("203.0.113.5"))
    runner.do("vip", address="203.0.113.6", protocol="udp", port=1000, last=2000, vip=51, pool=1)
    answered("case 6: echo to the address of a VIP with a range of ports",
             request_to("203.0.113.6"))
    for address in ("203.0.113.7", "192.0.3.1", "10.0.1.5", "2001:db8::99", "2001:db9::1",
                    "c000:201::"):
        stays(f"echo to {address}, which is no VIP's", request_to(address).build(),
              "PASS_OTHER_PROTOCOL")


def rows_of_shapes():
    for address in SAMPLES:
        for length in list(range(0, 70)) + [255, 256, 548, 1399, 1400, 1471, 1472]:
            payload = bytes(i * 7 & 0xff for i in range(length))
            answered(f"case 6: echo to {address}, payload of {length}",
                     request_to(address, payload=payload))
        for length in (1, 18):
            answered(f"case 6: echo to {address}, Ethernet padding of {length}",
                     request_to(address, payload=b"", padding=b"\xa5" * length))
        for ttl in (0, 1, 2, 63, 64, 65, 255):
            answered(f"case 6: echo to {address}, TTL {ttl}", request_to(address, ttl=ttl))
        for tags in ((Tag(7),), (Tag(0, prio=5),), (Tag(7, type=0x88a8), Tag(8))):
            answered(f"case 6: echo to {address}, {len(tags)} tags", request_to(address, tags=tags))
        far = "2001:db8:9::9" if ":" in address else "100.64.1.1"
        answered(f"case 6: echo to {address} from afar", request_to(address).but(source=far))
    for flags in ("DF", "evil", "DF+evil"):
        answered(f"echo with flags {flags}", request_to("192.0.2.1", ip=(("flags", flags),)))


def rows_of_long_frames():
    """In several buffers: the headers are in the first one, or they are the kernel's."""
    for address in SAMPLES:
        request = request_to(address, payload=bytes(i * 7 & 0xff for i in range(5000)))
        tap.equal(runner.run_long(request.build()),
                  ("TX", "TX_ECHO", answer_to(request).build()), f"5000 bytes to {address}")


def rows_of_options():
    """These are the kernel's: what of them belongs into an answer differs from one to the next."""
    for words in (1, 10):
        stays(f"{4 * words} bytes of IPv4 options",
              request_to("192.0.2.1", options=words).build(), "PASS_ECHO_OPTIONS")
    for headers in ((hop_by_hop(),), (destination_options(),), (authentication(),),
                    (fragment_header(),)):
        stays(f"IPv6 header {headers[0][0]} before", request_to(
            "2001:db8::1", extensions=headers).build(), "PASS_ECHO_OPTIONS")


def rows_of_sources():
    for source in ("0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "239.1.2.3", "240.0.0.1",
                   "255.255.255.255", "::", "::1", "ff02::1", "ff0e::5"):
        address = SAMPLES[":" in source]
        stays(f"echo from {source}", echo(source, address).build(), "DROP_ECHO_SOURCE")
        stays(f"echo from {source} to no VIP",
              echo(source, "2001:db8::99" if ":" in source else "192.0.2.99").build(),
              "PASS_OTHER_PROTOCOL")
    for source in ("1.0.0.0", "126.255.255.255", "128.0.0.0", "223.255.255.255", "::2",
                   "0:0:1::", "fe80::1", "fdff::1"):
        answered(f"echo from {source}", echo(source, SAMPLES[":" in source]))


def rows_of_other_types():
    for type_ in (0, 4, 5, 9, 10, 13, 15, 17, 30, 42, 255):
        stays(f"ICMP type {type_} to a VIP",
              message(CLIENTS[False], "192.0.2.1", ICMP(type=type_), b"").build(),
              "PASS_OTHER_PROTOCOL")
    for head in (ICMPv6EchoReply(), ICMPv6ND_NS(tgt="2001:db8::1"),
                 ICMPv6ND_NA(tgt="2001:db8::1")):
        stays(f"ICMPv6 type {head.type} to a VIP",
              message(CLIENTS[True], "2001:db8::1", head, b"").build(), "PASS_OTHER_PROTOCOL")


def rows_of_short():
    for address in SAMPLES:
        request = request_to(address, payload=b"")
        at = request.ip_at + (4 if request.is_ipv6 else 2)
        for left in range(8):
            frame = request.build()[:request.l4_at + left]
            length = left if request.is_ipv6 else 20 + left
            frame = frame[:at] + struct.pack(">H", length) + frame[at + 2:]
            stays(f"{left} bytes of ICMP to {address}", frame, "DROP_SHORT_ICMP")
    other = request_to("192.0.2.99", payload=b"").build()[:14 + 23]
    stays("3 bytes of ICMP to no VIP", other[:16] + b"\0\x17" + other[18:], "PASS_OTHER_PROTOCOL")


def checksum_of(message_):
    frame = message_.build()
    return int.from_bytes(frame[message_.l4_at + 2:message_.l4_at + 4], "big")


def is_valid(frame, request):
    """The sum of all words, and of the pseudo-header of ICMPv6, is -0."""
    icmp = frame[request.l4_at:] + b"\0" * (len(frame[request.l4_at:]) & 1)
    if request.is_ipv6:
        length = len(frame) - request.l4_at
        icmp = frame[request.ip_at + 8:request.ip_at + 40] + struct.pack(">II", length, 58) + icmp
    total = sum(struct.unpack(f">{len(icmp) // 2}H", icmp))
    return total > 0 and total % 0xffff == 0


def rows_of_checksums():
    for address in SAMPLES:
        for length in range(0, 20):
            answered(f"zeros to {address}, {length} of payload",
                     request_to(address, payload=bytes(length), ident=0, sequence=0))
            answered(f"ones to {address}, {length} of payload",
                     request_to(address, payload=b"\xff" * length, ident=0xffff, sequence=0xffff))
        # The request's checksum is any value, and so is the answer's: 0 and ffff, too.
        wrong = 0
        for word in list(range(0, 0x10000, 67)) + [0, 1, 0xfffe, 0xffff]:
            request = request_to(address, payload=struct.pack(">H", word), ident=0x1234)
            wrong += runner.run(request.build()) != ("TX", "TX_ECHO", answer_to(request).build())
        tap.equal(wrong, 0, f"983 words to {address}: all answers are as scapy sums them")
        for what, of in (("request", lambda one: one), ("answer", answer_to)):
            plain = request_to(address, payload=b"\0\0")
            zero = plain.but(payload=struct.pack(">H", checksum_of(of(plain))))
            tap.equal(checksum_of(of(zero)), 0, f"to {address}, the {what}'s checksum is 0")
            answered(f"to {address}, the {what}'s checksum is 0", zero)
    # Without id and sequence 0 may mean -0, which is as good.
    plain = request_to("192.0.2.1", payload=b"\0\1\0\0", ident=0, sequence=0)
    zero = plain.but(payload=b"\0\1" + struct.pack(">H", checksum_of(answer_to(plain))))
    action, verdict, frame = runner.run(zero.build())
    tap.ok((action, verdict) == ("TX", "TX_ECHO") and is_valid(frame, zero),
           "an answer that sums up to ffff without id and sequence is valid", frame.hex())


def rows_of_random():
    rng = random.Random(20261201)
    for address in SAMPLES:
        wrong = []
        for _ in range(RANDOM):
            request = request_to(address, payload=rng.randbytes(rng.randrange(200)),
                                 ident=rng.randrange(0x10000), sequence=rng.randrange(0x10000),
                                 ttl=rng.randrange(256))
            out = runner.run(request.build())
            right = ("TX", "TX_ECHO", answer_to(request).build())
            if out != right or not is_valid(out[2], request):
                wrong.append(request.build().hex())
        tap.equal(wrong, [], f"case 6: {RANDOM} random requests to {address}")


def rows_of_wrong_checksums():
    """A request that was damaged has no valid answer."""
    for address in SAMPLES:
        frame = request_to(address, payload=b"damaged!").build()
        for bit in (0x01, 0x80):
            damaged = frame[:-3] + bytes([frame[-3] ^ bit]) + frame[-2:]
            out = runner.run(damaged)
            tap.ok(out[1] == "TX_ECHO" and not is_valid(out[2], request_to(address)),
                   f"a damaged request to {address} stays damaged")


rows_of_addresses()
rows_of_shapes()
rows_of_long_frames()
rows_of_options()
rows_of_sources()
rows_of_other_types()
rows_of_short()
rows_of_checksums()
rows_of_random()
rows_of_wrong_checksums()
tap.finish()
