#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The MSS option of SYNs to a VIP, and of nat backends' SYN-ACKs: lowered where it is, with
the checksum that scapy gives such a packet, and nothing else."""
import sys

sys.dont_write_bytecode = True

from outer import SEED, wrap  # noqa: E402
from packets import (Backend, Packet, Tag, Tap, authentication, destination_options,  # noqa: E402
                     hop_by_hop, set_up, to_vip)

LIMIT = 1400
VIPS = ("192.0.2.100", "2001:db8::100")
BACKENDS = (Backend(20, "10.0.9.1", 0, "ipip"), Backend(21, "fd00:9::2", 6080, "gue"),
            Backend(22, "10.0.9.3", 0, "dr"))
NAT = (Backend(23, "10.0.9.4", 8080, "nat"), Backend(24, "fd00:9::4", 0, "nat"))
USUAL = [("SAckOK", b""), ("Timestamp", (1, 2)), ("NOP", None), ("WScale", 7)]
QINQ = (Tag(7, type=0x88a8), Tag(8))

tap = Tap()
runner = set_up()


def set_up_backends():
    """Ports are 1000 and the backend's id; from 2000 on the VIP's pool does not clamp."""
    runner.do("encap", seed=SEED, source_ipv4="198.18.0.0", hosts_ipv4="0.0.255.255",
              source_ipv6="100::", hosts_ipv6="::ffff:ffff:ffff:ffff")
    for backend in BACKENDS + NAT:
        runner.do("backend", id=backend.id, address=backend.address, port=backend.port,
                  forward=backend.forward)
        runner.do("nexthop", id=backend.id, ifindex=runner.ingress, destination=backend.mac,
                  source=backend.mac_source)
        runner.do("ring", pool=backend.id, seed=backend.id, vnodes=10, backends=[backend.id])
        for address in VIPS:
            for first, mss in ((1000, LIMIT), (2000, 0)):
                runner.do("vip", address=address, protocol="tcp", port=first + backend.id, vip=90,
                          pool=backend.id, mss=mss)


def syn(address, backend, tcp_options, flags="S", first=1000, **changes):
    """@tcp_options are scapy's, or raw bytes: a multiple of four."""
    packet = to_vip(address, "tcp", first + backend.id).but(payload=b"", **changes)
    if isinstance(tcp_options, bytes):
        return packet.but(payload=tcp_options,
                          l4=(("flags", flags), ("dataofs", 5 + len(tcp_options) // 4)))
    return packet.but(l4=(("flags", flags), ("options", tcp_options)))


def leaves(packet, backend):
    if backend.forward in ("ipip", "gue"):
        return wrap(packet, backend)
    return backend.receives(packet).build()


def check(what, before, after, backend):
    tap.equal(runner.run(before.build()), ("TX", "TX_BACKEND", leaves(after, backend)), what)


def lowered(what, address, backend, before, after, **changes):
    check(what, syn(address, backend, before, **changes), syn(address, backend, after, **changes),
          backend)


def kept(what, address, backend, tcp_options, **changes):
    lowered(what, address, backend, tcp_options, tcp_options, **changes)


def raw_mss(value):
    return bytes([2, 4]) + value.to_bytes(2, "big")


def each():
    for backend in BACKENDS + NAT:
        for address in VIPS:
            if backend.forward == "nat" and (":" in address) != (":" in backend.address):
                continue
            yield f"{backend.forward} to {backend.address}, VIP {address}", address, backend


def rows_of_each_mode():
    for name, address, backend in each():
        before, after = [("MSS", 1460)] + USUAL, [("MSS", LIMIT)] + USUAL
        lowered(f"{name}: 1460", address, backend, before, after)
        for tags in (Tag(7),), QINQ:
            lowered(f"{name}: {len(tags)} tags", address, backend, before, after, tags=tags)
        for value in (LIMIT + 1, 8960, 65535):
            lowered(f"{name}: {value}", address, backend, [("MSS", value)], [("MSS", LIMIT)])
        for value in (LIMIT, LIMIT - 1, 536, 0):
            kept(f"{name}: {value} stays", address, backend, [("MSS", value)] + USUAL)
        kept(f"{name}: none stays none", address, backend, USUAL)
        kept(f"{name}: no options", address, backend, [])
        kept(f"{name}: a pool that says nothing", address, backend, before, first=2000)
        for flags in ("A", "PA", "FA", "R"):
            kept(f"{name}: flags {flags}", address, backend, before, flags=flags)
        lowered(f"{name}: flags SA, SEC", address, backend, before, after, flags="SA")
        lowered(f"{name}: flags SEC", address, backend, before, after, flags="SEC")


def rows_of_places():
    """At an odd place the option's bytes belong to two words of the checksum."""
    for address in VIPS:
        for before in range(36):
            tail = b"\0" * (-(before + 4) % 4)
            lowered(f"{address}: behind {before} bytes", address, BACKENDS[2],
                    b"\1" * before + raw_mss(1460) + tail, b"\1" * before + raw_mss(LIMIT) + tail)
        lowered(f"{address}: behind other options", address, BACKENDS[0],
                [("Timestamp", (5, 6)), ("MSS", 1460)], [("Timestamp", (5, 6)), ("MSS", LIMIT)])
        kept(f"{address}: behind the end", address, BACKENDS[2], b"\0\4\0\0" + raw_mss(1460))
        for bad in (b"\x08\0", b"\x08\1", b"\x08\xff", b"\x08\x08"):
            kept(f"{address}: behind an option of length {bad[1]}", address, BACKENDS[2],
                 bad + b"\1\1" + raw_mss(1460))
        for bad in (b"\2\3\5\xb4", b"\2\5\5\xb4", b"\2\0\5\xb4", b"\2\2\5\xb4"):
            kept(f"{address}: an MSS of length {bad[1]}", address, BACKENDS[2], bad)
        for cut in (1, 2, 3):
            kept(f"{address}: cut off by {cut} bytes", address, BACKENDS[2],
                 b"\1" * cut + raw_mss(1460)[:4 - cut])


def rows_of_packets():
    for name, address, backend in each():
        wrong = []
        for window in range(0, 1 << 16, 1999):
            packets = [syn(address, backend, [("MSS", value)]) for value in (1460, LIMIT)]
            before, after = (packet.but(l4=packet.l4 + (("window", window),))
                             for packet in packets)
            if runner.run(before.build())[2] != leaves(after, backend):
                wrong.append(window)
        tap.equal(wrong, [], f"{name}: checksums of all kinds")
        packets = [syn(address, backend, [("MSS", value)]).but(payload=b"early data")
                   for value in (1460, LIMIT)]
        check(f"{name}: with data", *packets, backend)
        more = {"extensions": (hop_by_hop(), destination_options(16))} if ":" in address \
            else {"options": 10}
        lowered(f"{name}: {' '.join(more)}", address, backend, [("MSS", 1460)], [("MSS", LIMIT)],
                **more)
    for backend in BACKENDS:
        kept(f"{backend.forward}: not what an authentication header covers", VIPS[1], backend,
             [("MSS", 1460)], extensions=(authentication(),))
    packets = [syn(VIPS[0], BACKENDS[2], [("MSS", mss)]).but(payload=bytes(8000))
               for mss in (1460, LIMIT)]
    for linear in (0, 62):
        found = runner.run_long(packets[0].build(), linear)
        if found:
            tap.equal(found, ("TX", "TX_BACKEND", leaves(packets[1], BACKENDS[2])),
                      f"8000 bytes of data, {linear or 'most'} in the first buffer")
    # The fixed header ends with the first buffer, the options are in the next one.
    found = runner.run_long(packets[0].build(), packets[0].l4_at + 20)
    if found:
        tap.equal(found, ("TX", "TX_BACKEND", leaves(packets[1], BACKENDS[2])),
                  "options in another buffer")


def rows_of_replies():
    """What a nat backend's SYN-ACK gets is its VIP's. The kernel knows the way to clients."""
    runner.shell("ip addr add 198.51.100.254/24 dev rl1 && ip neigh flush dev rl1 && "
                 "ip addr add 2001:db8:c::fe/64 dev rl1 nodad && "
                 "echo 1 >/proc/sys/net/ipv4/ip_forward && "
                 "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
    for backend, vip, client in zip(NAT, VIPS, ("198.51.100.9", "2001:db8:c::9")):
        for first in (1000, 2000):
            port = backend.port or first + backend.id
            if backend.port and first == 2000:
                continue
            runner.do("reply", address=backend.address, protocol="tcp", port=port, to_address=vip,
                      to_port=first + backend.id)
            before = Packet("tcp", backend.address, client, port, 40321, payload=b"",
                            l4=(("flags", "SA"), ("options", [("MSS", 1460)] + USUAL)))
            after = before.but(source=vip, sport=first + backend.id)
            if first == 1000:
                after = after.but(l4=(("flags", "SA"), ("options", [("MSS", LIMIT)] + USUAL)))
            no_syn = (("flags", "A"), ("options", [("MSS", 1460)]))
            for what, sent, expected in (("SYN-ACK", before, after),
                                         ("ACK", before.but(l4=no_syn), after.but(l4=no_syn))):
                tap.equal(runner.run(sent.build()),
                          ("PASS", "PASS_REPLY_BY_KERNEL", expected.build()),
                          f"{what} of {backend.address} from port {port}")


set_up_backends()
rows_of_each_mode()
rows_of_places()
rows_of_packets()
rows_of_replies()
tap.finish()
