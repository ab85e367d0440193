#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ICMP errors go where the packets of the flow go that they quote, which nat turns back into
what the backend or the client had sent."""
import sys

sys.dont_write_bytecode = True

from icmp import ERRORS, error, quoted, turned  # noqa: E402
from outer import SEED, wrap  # noqa: E402
from packets import (DR, NAT4, NAT4_KEEP, NAT6, VIPS, Backend, Tag, Tap,  # noqa: E402
                     authentication, destination_options, fragment_header, hop_by_hop, routing,
                     set_up, to_vip)

ENCAPS = (Backend(20, "10.0.9.1", 0, "ipip"), Backend(21, "fd00:9::1", 0, "ipip", "rl1"),
          Backend(22, "10.0.9.2", 6080, "gue"), Backend(23, "fd00:9::2", 6080, "gue"))
ENCAP_VIPS = ("192.0.2.100", "2001:db8::100")
# One of each mode and family; the VIP's address and port.
SAMPLES = (("192.0.2.1", NAT4), ("2001:db8::1", NAT6), ("192.0.2.3", DR), ("2001:db8::3", DR))

tap = Tap()
runner = set_up()


def set_up_encap():
    runner.do("encap", seed=SEED, source_ipv4="198.18.0.0", hosts_ipv4="0.0.255.255",
              source_ipv6="100::", hosts_ipv6="::ffff:ffff:ffff:ffff")
    for backend in ENCAPS:
        runner.do("backend", id=backend.id, address=backend.address, port=backend.port,
                  forward=backend.forward)
        runner.do("nexthop", id=backend.id, ifindex=runner.ifindex(backend.interface),
                  destination=backend.mac, source=backend.mac_source)
        runner.do("ring", pool=backend.id, seed=backend.id, vnodes=10, backends=[backend.id])
        for number, address in enumerate(ENCAP_VIPS):
            for protocol in ("tcp", "udp", "sctp"):
                runner.do("vip", address=address, protocol=protocol, port=1000 + backend.id,
                          vip=100 + 2 * backend.id + number, pool=backend.id)


def answer_of(flow):
    """What was on its way from the VIP to the client of @flow when it met trouble."""
    return turned(flow)


def received(err, answer, cut, backend):
    """What the error @err about @answer has to look like when it leaves for @backend."""
    err = backend.receives(err)
    if backend.forward != "nat":
        return err.but(dport=0)
    sent_ = quoted(answer.but(source=backend.address, sport=backend.port or answer.sport), cut)
    # Half a checksum stays what it is.
    if cut == answer.check_at - answer.l4_at + 1:
        sent_ = sent_[:-1] + err.payload[-1:]
    return err.but(payload=sent_, dport=0)


def sent(what, flow, backend, kind="port unreachable", cut=8, answer=None, **fields):
    """An error about an answer to @flow has to leave for @backend."""
    action = "TX" if backend.interface == "rl0" else "REDIRECT"
    answer = answer or answer_of(flow)
    err = error(answer, kind, cut, **fields)
    if backend.forward in ("ipip", "gue"):
        inner = err.but(padding=b"").build()[err.ip_at:]
        frame = wrap(flow.but(tags=err.tags), backend, inner=inner)
    else:
        frame = received(err, answer, cut, backend).build()
    tap.equal(runner.run(err.build()), (action, action + "_BACKEND", frame), what)


def stays(what, frame, verdict):
    tap.equal(runner.run(frame), (verdict.split("_")[0], verdict, frame), what)


def each(protocols=("tcp", "udp")):
    for address, backend in SAMPLES:
        for protocol in protocols:
            flow = to_vip(address, protocol)
            yield f"{protocol} to {address} by {backend.forward}", flow, backend


def rows_of_each_vip():
    for address, port, backend in VIPS:
        for protocol in ("tcp", "udp"):
            flow = to_vip(address, protocol, port or 4321)
            for kind in ERRORS[flow.is_ipv6]:
                sent(f"case 2: {kind}, {protocol} to {address} port {port}", flow, backend, kind)
            sent(f"all of it quoted, {protocol} to {address} port {port}", flow, backend, cut=None)
    for backend in ENCAPS:
        for address in ENCAP_VIPS:
            for protocol in ("tcp", "udp"):
                flow = to_vip(address, protocol, 1000 + backend.id)
                for kind in ERRORS[flow.is_ipv6]:
                    sent(f"case 2: {kind}, {protocol} to {address} by {backend.forward} to "
                         f"{backend.address}", flow, backend, kind)
    sent("port 0 of a VIP", to_vip("192.0.2.2", "udp", 0), NAT4_KEEP)
    sent("port 81 of a VIP of any port", to_vip("192.0.2.2", "udp", 81), DR)
    sent("a client's port 0", to_vip("192.0.2.1", "udp").but(sport=0), NAT4)


def rows_of_cuts():
    """As many bytes behind the quoted IP header; the checksum is among them or is not."""
    for what, flow, backend in each():
        for cut in list(range(4, 30)) + [None]:
            sent(f"{what}, {cut} bytes", flow, backend, cut=cut)
        for cut in range(4):
            frame = error(answer_of(flow), cut=cut).build()
            stays(f"{what}, {cut} bytes", frame, "DROP_SHORT_QUOTE")
        answer = answer_of(flow)
        whole = quoted(answer, 0)
        for length in list(range(len(whole))):
            err = error(answer).but(payload=whole[:length])
            stays(f"{what}, {length} bytes of the IP header", err.build(), "DROP_SHORT_QUOTE")
        sent(f"{what}, Ethernet padding", flow, backend, padding=b"\xa5" * 9)
        sent(f"{what}, Ethernet padding, 4 bytes", flow, backend, cut=4, padding=b"\xa5" * 9)
        long_answer = answer.but(payload=bytes(i * 7 & 0xff for i in range(1300)))
        for cut in (500, 501, 1000, 1200):
            sent(f"{what}, {cut} bytes", flow, backend, cut=cut, answer=long_answer)


def rows_of_headers():
    for what, flow, backend in each():
        for ttl in (2, 64, 255):
            sent(f"{what}, TTL {ttl}", flow, backend, ttl=ttl)
        for ttl in (0, 1):
            stays(f"{what}, TTL {ttl}", error(answer_of(flow), ttl=ttl).build(), "DROP_TTL")
        for ttl in (0, 1, 255):
            sent(f"{what}, TTL {ttl} in the quote", flow, backend, answer=turned(flow, ttl))
        for tags in ((Tag(7),), (Tag(0, prio=5),), (Tag(7, type=0x88a8), Tag(8))):
            sent(f"{what}, {len(tags)} tags", flow, backend, tags=tags)
        if flow.is_ipv6:
            for headers in ((hop_by_hop(),), (hop_by_hop(16), destination_options(24)),
                            (fragment_header(),)):
                sent(f"{what}, {len(headers)} extension headers of type {headers[0][0]}", flow,
                     backend, extensions=headers)
                for cut in (4, 8, 18, 20, None):
                    sent(f"{what}, {len(headers)} of type {headers[0][0]} in the quote, {cut}",
                         flow, backend, cut=cut, answer=answer_of(flow).but(extensions=headers))
        else:
            for words in (1, 5, 10):
                sent(f"{what}, ihl {5 + words}", flow, backend, options=words)
                for cut in (4, 8, 18, None):
                    sent(f"{what}, ihl {5 + words} in the quote, {cut}", flow, backend, cut=cut,
                         answer=answer_of(flow).but(options=words))
            for flags in ("DF", "MF"):
                sent(f"{what}, flag {flags} in the quote", flow, backend,
                     answer=answer_of(flow).but(ip=(("flags", flags),)))
    flow = to_vip("2001:db8::3", "udp")
    sent("AH in the quote, dr", flow, DR,
         answer=answer_of(flow).but(extensions=(authentication(),)))
    flow = to_vip("2001:db8::1", "udp")
    stays("AH in front of the error, nat",
          error(answer_of(flow), extensions=(authentication(),)).build(), "DROP_NAT_AUTHENTICATED")


def rows_of_udp_checksums():
    for address, backend in SAMPLES[:2]:
        flow = to_vip(address, "udp")
        sent(f"udp to {address}, no checksum in the quote", flow, backend,
             answer=answer_of(flow).but(l4=(("chksum", 0),)))
        answer = answer_of(flow).but(payload=b"\0\0")
        back = answer.but(source=backend.address, sport=backend.port)
        frame = back.build()
        zero = answer.but(payload=frame[back.check_at:back.check_at + 2])
        sent(f"udp to {address}, the backend's checksum comes to 0", flow, backend, answer=zero)


def rows_of_sctp():
    """Its checksum has no addresses in it."""
    runner.do("vip", address="192.0.2.3", protocol="sctp", port=80, vip=60, pool=DR.id)
    runner.do("vip", address="2001:db8::3", protocol="sctp", port=80, vip=61, pool=DR.id)
    for address in ("192.0.2.3", "2001:db8::3"):
        for cut in (4, 8, 12, None):
            sent(f"sctp to {address}, {cut} bytes", to_vip(address, "sctp"), DR, cut=cut)


def rows_of_quic():
    """What was sent to a client names no backend, whatever it looks like: by hash."""
    other = NAT4
    runner.do("vip", address="192.0.2.3", protocol="udp", port=443, vip=62, pool=DR.id, quic=2)
    # Where a connection id would be if the error were UDP: the length of the quoted packet.
    answer = answer_of(to_vip("192.0.2.3", "udp", 443))
    octets = quoted(answer)[2:4].hex()
    runner.do("quic_id", pool=DR.id, config=0, octets=octets, backend=other.id)
    sent("a QUIC VIP", to_vip("192.0.2.3", "udp", 443), DR, cut=None)
    short = answer.but(payload=b"\x40\0" + bytes.fromhex(octets) + bytes(20))
    sent("a QUIC VIP, a short header is quoted", to_vip("192.0.2.3", "udp", 443), DR, cut=None,
         answer=short)
    sent("a QUIC VIP, all fields of an id", to_vip("192.0.2.3", "udp", 443), DR, cut=None,
         answer=answer.but(ip=(("tos", 0),)))


def rows_of_bad_quotes():
    for what, flow, _ in each(("udp",)):
        answer = answer_of(flow)
        frame = error(answer).build()
        at = error(answer).l4_at + 8
        for version in (0, 4, 5, 6, 15):
            if version != (6 if flow.is_ipv6 else 4):
                stays(f"{what}, quoted version {version}", frame[:at] + bytes(
                    [version << 4 | frame[at] & 15]) + frame[at + 1:], "DROP_BAD_QUOTE")
        for ihl in () if flow.is_ipv6 else range(5):
            stays(f"{what}, quoted ihl {ihl}", frame[:at] + bytes([0x40 | ihl]) + frame[at + 1:],
                  "DROP_BAD_QUOTE")
        other = answer.but(source="2001:db8::77" if flow.is_ipv6 else "192.0.2.77")
        stays(f"{what}, quotes another sender", error(other).but(destination=answer.source).build(),
              "PASS_QUOTE")
        stays(f"{what}, quotes what the VIP got",
              error(flow).but(destination=answer.source).build(), "PASS_QUOTE")
        stays(f"{what}, quotes another port of the VIP", error(answer.but(sport=4444)).build(),
              "PASS_QUOTE")
        nobody = other.source
        stays(f"{what}, to no VIP", error(other).build(), "PASS_QUOTE")
        for cut in (0, 3):
            stays(f"{what}, to no VIP, {cut} bytes quoted", error(other, cut=cut).build(),
                  "PASS_QUOTE")
        stays(f"{what}, to no VIP, quotes a VIP", error(answer).but(destination=nobody).build(),
              "PASS_QUOTE")
    for protocol in (1, 47, 50, 51, 132, 255):
        answer = answer_of(to_vip("192.0.2.1", "udp")).but(ip=(("proto", protocol),))
        stays(f"quotes IPv4 protocol {protocol}", error(answer).build(), "PASS_QUOTE")
    for protocol in (58, 47, 50, 59, 132):
        answer = answer_of(to_vip("2001:db8::1", "udp"))
        frame = quoted(answer, 8)
        stays(f"quotes IPv6 protocol {protocol}",
              error(answer).but(payload=frame[:6] + bytes([protocol]) + frame[7:]).build(),
              "PASS_QUOTE")


def rows_of_quoted_fragments():
    for what, flow, backend in each(("udp",)):
        answer = answer_of(flow).but(payload=bytes(3000))
        first, later, last = answer.pieces(77)
        for number, piece in enumerate((later, last)):
            err = error(answer).but(payload=piece[14:14 + 70])
            stays(f"{what}, quotes later fragment {number}", err.build(), "DROP_QUOTE_FRAGMENT")
        if backend.forward == "dr":
            err = error(answer).but(payload=first[14:14 + 70])
            tap.equal(runner.run(err.build()), ("TX", "TX_BACKEND", DR.receives(err).build()),
                      f"{what}, quotes the first fragment")
        nobody = "2001:db8::77" if flow.is_ipv6 else "192.0.2.77"
        other = answer.but(source=nobody)
        err = error(other).but(payload=other.pieces(7)[1][14:])
        stays(f"{what}, to no VIP, quotes a later fragment", err.build(), "PASS_QUOTE")
    answer = answer_of(to_vip("2001:db8::1", "udp"))
    for headers, verdict in (((routing(1),), "PASS_SEGMENTS_LEFT"),
                             ((destination_options(),) * 9, "PASS_MANY_HEADERS")):
        stays(f"quotes {len(headers)} of header {headers[0][0]}",
              error(answer.but(extensions=headers)).build(), verdict)
    for length in (0, 1, 7, 9, 15, 19):
        err = error(answer.but(extensions=(destination_options(16),)))
        stays(f"quotes {length} bytes behind IPv6 header, options of 16",
              err.but(payload=err.payload[:40 + length]).build(), "DROP_SHORT_QUOTE")


def rows_of_split_frames():
    """All that is read or changed is in the frame's first buffer, or the kernel gets it whole."""
    for what, flow, backend in each():
        for cut in (8, None):
            answer = answer_of(flow).but(payload=bytes(3))
            err = error(answer, cut=cut)
            frame, expected = err.build(), received(err, answer, cut, backend).build()
            quoted_len = len(quoted(answer, 0))
            # As far as TCP's checksum, or to the end if that is not quoted.
            least = min(err.l4_at + 8 + quoted_len + 18, len(frame))
            wrong, seen = [], 0
            for linear in range(14, len(frame)):
                found = runner.run_long(frame, linear)
                if found is None:
                    continue
                seen += 1
                if found != (("TX", "TX_BACKEND", expected) if linear >= least
                             else ("PASS", "PASS_SPLIT", frame)):
                    wrong.append(f"{linear} bytes: {found[1]}")
            tap.ok(seen and not wrong, f"{what}, {cut} bytes, split anywhere", *wrong)


def rows_of_fragmented_errors():
    """An error fits in a packet: what comes in pieces is the kernel's."""
    for address in ("192.0.2.1", "2001:db8::1"):
        answer = answer_of(to_vip(address, "udp")).but(payload=bytes(1300))
        for number, piece in enumerate(error(answer, cut=None).pieces(99, 600)):
            stays(f"an error to {address}, fragment {number}", piece, "PASS_FRAGMENT")


def rows_of_other_types():
    for address in ("192.0.2.1", "2001:db8::1"):
        answer = answer_of(to_vip(address, "udp"))
        err = error(answer)
        frame, at = err.build(), err.l4_at
        for type_ in (0, 5, 127, 130) if err.is_ipv6 else (4, 5, 13, 40):
            stays(f"type {type_} to {address}", frame[:at] + bytes([type_]) + frame[at + 1:],
                  "PASS_OTHER_PROTOCOL")
    err = error(answer_of(to_vip("192.0.2.1", "udp"))).but(ip=(("proto", 58),))
    stays("ICMPv6 in IPv4", err.build(), "PASS_OTHER_PROTOCOL")


set_up_encap()
rows_of_each_vip()
rows_of_cuts()
rows_of_headers()
rows_of_udp_checksums()
rows_of_sctp()
rows_of_quic()
rows_of_bad_quotes()
rows_of_quoted_fragments()
rows_of_split_frames()
rows_of_fragmented_errors()
rows_of_other_types()
tap.finish()
