#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Replies of nat backends, on their way by the kernel's routing table to the clients.

Backends are behind rl0, clients behind rl0, rl1 (which may be redirected to) and rl2
(which may not).
"""
import sys

sys.dont_write_bytecode = True

from packets import ETHERNET_LEN, Packet, Runner, Tap  # noqa: E402

BACKEND_MAC = "02:00:00:00:0b:01"
OUR_MACS = {"rl0": "02:00:00:00:01:01", "rl1": "02:00:00:00:01:02", "rl2": "02:00:00:00:01:03"}
CLIENT_MACS = {"rl0": "02:00:00:00:0c:00", "rl1": "02:00:00:00:0c:01", "rl2": "02:00:00:00:0c:02"}

# Interface, our address and prefix, a client that is a neighbour, one without a MAC address.
LINKS = (
    ("rl0", "10.0.0.254/24", "10.0.0.77", "10.0.0.78"),
    ("rl0", "fd00::fe/64", "fd00::77", "fd00::78"),
    ("rl1", "198.51.100.254/24", "198.51.100.9", "198.51.100.10"),
    ("rl1", "2001:db8:c::fe/64", "2001:db8:c::9", "2001:db8:c::10"),
    ("rl2", "203.0.113.254/24", "203.0.113.9", "203.0.113.10"),
    ("rl2", "2001:db8:d::fe/64", "2001:db8:d::9", "2001:db8:d::10"),
)
# Backend endpoint -> VIP endpoint, for TCP and UDP each; the third has no port of its own.
REPLIES = (
    ("10.0.0.5", 8080, "192.0.2.1", 80),
    ("10.0.0.5", 8081, "192.0.2.2", 443),
    ("10.0.0.6", 0, "192.0.2.3", 0),
    ("10.0.0.6", 9999, "192.0.2.4", 99),
    ("fd00::5", 8080, "2001:db8::1", 80),
    ("fd00::6", 0, "2001:db8::3", 0),
)
# What most rows use: backend, its port, VIP, its port.
MAIN = {False: REPLIES[0], True: REPLIES[4]}

tap = Tap()
runner = Runner()


def set_up():
    runner.shell(f"ip link set rl0 address {OUR_MACS['rl0']}")
    for name in ("rl1", "rl2"):
        runner.add_interface(name, OUR_MACS[name])
    runner.do("egress", ifindex=runner.ifindex("rl1"))
    for name, own, client, _ in LINKS:
        nodad = "nodad" if ":" in own else ""
        runner.shell(f"ip addr add {own} dev {name} {nodad} && "
                     f"ip neigh add {client} lladdr {CLIENT_MACS[name]} dev {name}")
    runner.shell("ip route add 100.64.0.0/16 via 198.51.100.9 && "
                 "ip route add blackhole 100.65.0.0/16 && ip route add prohibit 100.66.0.0/16 && "
                 "ip route add unreachable 100.67.0.0/16 && "
                 "ip -6 route add 2001:db8:e::/48 via 2001:db8:c::9 && "
                 "ip -6 route add blackhole 2001:db8:f0::/48 && "
                 "ip -6 route add unreachable 2001:db8:f1::/48")
    for protocol in ("tcp", "udp"):
        for address, port, to_address, to_port in REPLIES:
            runner.do("reply", address=address, protocol=protocol, port=port,
                      to_address=to_address, to_port=to_port)
    forwarding(True)


def forwarding(on):
    runner.shell(f"echo {int(on)} > /proc/sys/net/ipv4/ip_forward && "
                 f"echo {int(on)} > /proc/sys/net/ipv6/conf/all/forwarding")


def reply_to(client, protocol, of=None):
    address, port, _, _ = of or MAIN[":" in client]
    return Packet(protocol, address, client, port or 5555, 40321, mac_source=BACKEND_MAC,
                  mac_destination=OUR_MACS["rl0"])


def as_vip(packet, of=None):
    """@packet with the VIP as its source."""
    _, _, address, port = of or MAIN[packet.is_ipv6]
    return packet.but(source=address, sport=port or packet.sport)


def sent(what, packet, interface, of=None):
    """@packet has to leave by @interface, the VIP its source, one hop further."""
    action = "TX" if interface == "rl0" else "REDIRECT"
    out = as_vip(packet, of).but(ttl=packet.ttl - 1, mac_source=OUR_MACS[interface],
                                 mac_destination=CLIENT_MACS[interface])
    tap.equal(runner.run(packet.build()), (action, action + "_REPLY", out.build()), what)


def to_kernel(what, packet, of=None):
    """Rewritten, but for TTL and MAC addresses, which are the kernel's to change."""
    tap.equal(runner.run(packet.build()),
              ("PASS", "PASS_REPLY_BY_KERNEL", as_vip(packet, of).build()), what)


def stays(what, frame, verdict):
    tap.equal(runner.run(frame), (verdict.split("_")[0], verdict, frame), what)


def each(protocols=("tcp", "udp")):
    """Each protocol, a name for the row."""
    for protocol in protocols:
        for ipv6 in (False, True):
            yield protocol, ipv6, f"{protocol}, IPv{6 if ipv6 else 4}"


def rows_of_ways():
    for protocol in ("tcp", "udp"):
        for name, _, client, stranger in LINKS:
            packet = reply_to(client, protocol)
            if name == "rl2":
                to_kernel(f"{protocol} to {client} by rl2, not in the egress map", packet)
            else:
                sent(f"{protocol} to {client} by {name}", packet, name)
            to_kernel(f"{protocol} to {stranger} by {name}, no neighbour yet",
                      packet.but(destination=stranger))
        sent(f"{protocol} to a client behind a router", reply_to("100.64.9.9", protocol), "rl1")
        sent(f"{protocol} to a client behind an IPv6 router", reply_to("2001:db8:e::9", protocol),
             "rl1")


def rows_of_no_way():
    for protocol in ("tcp", "udp"):
        for what, client in (
                ("ourselves", "10.0.0.254"), ("ourselves, by another link", "198.51.100.254"),
                ("ourselves", "2001:db8:c::fe"), ("nowhere", "8.8.8.8"), ("nowhere", "2600::1"),
                ("a blackhole", "100.65.0.1"), ("a prohibited place", "100.66.0.1"),
                ("an unreachable place", "100.67.0.1"), ("a blackhole", "2001:db8:f0::1"),
                ("an unreachable place", "2001:db8:f1::1"), ("loopback", "127.0.0.1"),
                ("everybody", "255.255.255.255"), ("a group", "224.0.0.9"),
                ("a link's everybody", "198.51.100.255")):
            stays(f"{protocol} to {what}, {client}", reply_to(client, protocol).build(),
                  "PASS_REPLY_NOT_ROUTED")


def rows_of_endpoints():
    client, client6 = "198.51.100.9", "2001:db8:c::9"
    for protocol in ("tcp", "udp"):
        for of in REPLIES:
            sent(f"{protocol} of {of[0]} port {of[1]} becomes {of[2]} port {of[3]}",
                 reply_to(client6 if ":" in of[0] else client, protocol, of), "rl1", of)
        packet = reply_to(client, protocol)
        stays(f"{protocol} of another port of a backend", packet.but(sport=8082).build(),
              "PASS_NOT_VIP")
        stays(f"{protocol} of another address", packet.but(source="10.0.0.7").build(),
              "PASS_NOT_VIP")
        stays(f"{protocol} to a backend's endpoint",
              packet.but(source="10.0.0.9", destination="10.0.0.5", dport=8080).build(),
              "PASS_NOT_VIP")


def rows_of_ranges():
    """Ports of a VIP's ranges only, and of nat VIPs only: VIP_NAT and REPLY_IF_VIP are 1."""
    for protocol, ipv6, what in each():
        backend, vip, client = (("fd00::8", "2001:db8::8", "2001:db8:c::9") if ipv6 else
                                ("10.0.0.8", "192.0.2.8", "198.51.100.9"))
        runner.do("reply", address=backend, protocol=protocol, port=0, to_address=vip, to_port=0,
                  flags=1)
        packet = reply_to(client, protocol, (backend, 1500, vip, 0))
        stays(f"{what}, no such VIP", packet.build(), "PASS_NOT_VIP")
        runner.do("vip", address=vip, protocol=protocol, port=1000, last=2000, flags=1)
        runner.do("vip", address=vip, protocol=protocol, port=80, flags=1)
        runner.do("vip", address=vip, protocol=protocol, port=443, flags=0)
        for port in (1000, 1500, 2000, 80):
            sent(f"{what}, of a port of the VIP, {port}", packet.but(sport=port), "rl1",
                 (backend, port, vip, 0))
        for port in (0, 999, 2001, 65535):
            stays(f"{what}, of no port of the VIP, {port}", packet.but(sport=port).build(),
                  "PASS_NOT_VIP")
        stays(f"{what}, of a dr VIP's port", packet.but(sport=443).build(), "PASS_NOT_VIP")
        runner.do("vip", address=vip, protocol=protocol, port=1000, last=2000, flags=0)
        stays(f"{what}, of a dr VIP's range", packet.build(), "PASS_NOT_VIP")


def rows_of_shapes():
    for protocol, ipv6, what in each():
        packet = reply_to("2001:db8:c::9" if ipv6 else "198.51.100.9", protocol)
        for length in (0, 1, 7, 1399):
            sent(f"{what}, payload of {length}", packet.but(payload=b"\xc3" * length), "rl1")
        sent(f"{what}, Ethernet padding", packet.but(payload=b"", padding=b"\xa5" * 7), "rl1")
        for words in () if ipv6 else range(1, 11):
            sent(f"{what}, ihl {5 + words}", packet.but(options=words), "rl1")
        for ttl in (2, 64, 255):
            sent(f"{what}, TTL {ttl}", packet.but(ttl=ttl), "rl1")
        for ttl in (0, 1):
            stays(f"{what}, TTL {ttl}", packet.but(ttl=ttl).build(), "PASS_REPLY_TTL")
        if protocol == "udp":
            sent(f"{what}, no checksum", packet.but(l4=(("chksum", 0),)), "rl1")
            zero = packet.but(payload=b"\0\0")
            frame = as_vip(zero).build()
            zero = packet.but(payload=frame[zero.check_at:zero.check_at + 2])
            tap.equal(as_vip(zero).build()[zero.check_at:zero.check_at + 2], b"\xff\xff",
                      f"{what}, ffff for 0")
            sent(f"{what}, checksum comes to 0", zero, "rl1")


def rows_of_malformed():
    for protocol, ipv6, what in each():
        packet = reply_to("2001:db8:c::9" if ipv6 else "198.51.100.9", protocol)
        if protocol == "udp":
            for length in (0, 7, 15, 65535):
                stays(f"{what}, UDP length {length}", packet.but(l4=(("len", length),)).build(),
                      "DROP_BAD_UDP_LENGTH")
        else:
            for words in (0, 4, 7, 15):
                stays(f"{what}, TCP data offset {words}",
                      packet.but(l4=(("dataofs", words),)).build(), "DROP_BAD_TCP_OFFSET")
        frame = packet.build()[:packet.l4_at + 7]
        at = ETHERNET_LEN + (4 if ipv6 else 2)
        length = 7 if ipv6 else 27
        stays(f"{what}, 7 bytes of layer 4",
              frame[:at] + length.to_bytes(2, "big") + frame[at + 2:],
              f"DROP_SHORT_{protocol.upper()}")


def rows_of_big():
    """The way out takes 1500 bytes of IP, the way in more."""
    for protocol, ipv6, what in each():
        packet = reply_to("2001:db8:c::9" if ipv6 else "198.51.100.9", protocol)
        room = 1500 - (packet.l4_at - ETHERNET_LEN) - (20 if protocol == "tcp" else 8)
        fits, big = packet.but(payload=b"f" * room), packet.but(payload=b"b" * (room + 1))
        sent(f"{what}, 1500 bytes", fits, "rl1")
        sent(f"{what}, 1500 bytes and padding", fits.but(padding=b"\xa5" * 9), "rl1")
        if ipv6:
            stays(f"{what}, 1501 bytes", big.build(), "PASS_REPLY_TOO_BIG")
            continue
        stays(f"{what}, 1501 bytes, DF", big.but(ip=(("flags", "DF"),)).build(),
              "PASS_REPLY_TOO_BIG")
        to_kernel(f"{what}, 1501 bytes", big)
        sent(f"{what}, 1500 bytes, DF", fits.but(ip=(("flags", "DF"),)), "rl1")
    # Like the kernel's own forwarding, the look-up minds a route's MTU only if it is locked.
    runner.shell("ip route change 100.64.0.0/16 via 198.51.100.9 mtu lock 1400 && "
                 "ip -6 route change 2001:db8:e::/48 via 2001:db8:c::9 mtu lock 1400")
    to_kernel("tcp, IPv4, longer than the route's MTU",
              reply_to("100.64.9.9", "tcp").but(payload=b"r" * 1380))
    stays("tcp, IPv6, longer than the route's MTU",
          reply_to("2001:db8:e::9", "tcp").but(payload=b"r" * 1380).build(), "PASS_REPLY_TOO_BIG")


def fragments(what, packet, ident, interface, of=None, order=(0, 1, 2)):
    """The pieces of @packet have to leave as pieces of what rows of `sent` expect."""
    out = as_vip(packet, of)
    verdict = "PASS_REPLY_BY_KERNEL"
    if interface:
        verdict = "TX_REPLY" if interface == "rl0" else "REDIRECT_REPLY"
        out = out.but(ttl=packet.ttl - 1, mac_source=OUR_MACS[interface],
                      mac_destination=CLIENT_MACS[interface])
    pieces, expected = packet.pieces(ident), out.pieces(ident)
    for i in order:
        tap.equal(runner.run(pieces[i]), (verdict.split("_")[0], verdict, expected[i]),
                  f"{what}, piece {i}")


def rows_of_fragments():
    for number, (protocol, ipv6, what) in enumerate(each()):
        client = "2001:db8:c::9" if ipv6 else "198.51.100.9"
        packet = reply_to(client, protocol).but(payload=bytes(i & 0xff for i in range(3000)))
        fragments(f"{what}, 3000 bytes", packet, 100 + number, "rl1")
        fragments(f"{what}, 3000 bytes, the last one second", packet, 100 + number, "rl1",
                  order=(0, 2, 1))
        near = packet.but(destination="fd00::77" if ipv6 else "10.0.0.77")
        fragments(f"{what}, to the side it came from", near, 200 + number, "rl0")
        stranger = packet.but(destination="2001:db8:c::10" if ipv6 else "198.51.100.10")
        fragments(f"{what}, to a client without a MAC address", stranger, 300 + number, None)
        local = packet.but(destination="fd00::fe" if ipv6 else "10.0.0.254")
        for i, piece in enumerate(local.pieces(400 + number)):
            stays(f"{what}, to ourselves, piece {i}", piece, "PASS_REPLY_NOT_ROUTED")
        for i, piece in enumerate(packet.but(ttl=1).pieces(500 + number)):
            stays(f"{what}, TTL 1, piece {i}", piece, "PASS_REPLY_TTL")
        other = packet.but(sport=7777)
        for i, piece in enumerate(other.pieces(600 + number)):
            stays(f"{what}, of another port of a backend, piece {i}", piece,
                  "PASS_FRAGMENT" if i else "PASS_NOT_VIP")
        later = packet.pieces(700 + number)[1]
        tap.equal(runner.run(later), ("DROP", "HOLD_FRAGMENT", later),
                  f"{what}, a later fragment without a first is held")
        stays(f"{what}, a later fragment of somebody else",
              packet.but(source="fd00::99" if ipv6 else "10.0.0.99").pieces(800 + number)[1],
              "PASS_FRAGMENT")
    of = REPLIES[2]
    packet = reply_to("198.51.100.9", "udp", of).but(payload=bytes(3000))
    fragments("udp of a backend with any port", packet, 900, "rl1", of)
    tap.equal(runner.do("fragments")["entries"], 0, "complete datagrams are forgotten")


def rows_of_forwarding_off():
    forwarding(False)
    for protocol, ipv6, what in each():
        packet = reply_to("2001:db8:c::9" if ipv6 else "198.51.100.9", protocol)
        stays(f"{what}, forwarding off", packet.build(), "PASS_REPLY_FORWARDING_OFF")
        stays(f"{what}, forwarding off, TTL 1", packet.but(ttl=1).build(), "PASS_REPLY_TTL")
    forwarding(True)


set_up()
rows_of_ways()
rows_of_no_way()
rows_of_endpoints()
rows_of_ranges()
rows_of_shapes()
rows_of_malformed()
rows_of_big()
rows_of_fragments()
rows_of_forwarding_off()
tap.finish()
