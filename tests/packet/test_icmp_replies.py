#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ICMP errors about what clients have sent to nat backends go on to the clients as errors of the
VIP about what was sent to the VIP.

Backends are behind rl0, clients behind rl0, rl1 (which may be redirected to) and rl2 (which
may not).
"""
import sys

sys.dont_write_bytecode = True

from icmp import ERRORS, ROUTERS, error, quoted  # noqa: E402
from packets import Packet, Runner, Tag, Tap, destination_options, hop_by_hop  # noqa: E402

BACKEND_MAC = "02:00:00:00:0b:01"
OUR_MACS = {"rl0": "02:00:00:00:01:01", "rl1": "02:00:00:00:01:02", "rl2": "02:00:00:00:01:03"}
CLIENT_MACS = {"rl0": "02:00:00:00:0c:00", "rl1": "02:00:00:00:0c:01", "rl2": "02:00:00:00:0c:02"}
# Interface, our address and prefix, a client.
LINKS = (
    ("rl0", "10.0.0.254/24", "10.0.0.77"), ("rl0", "fd00::fe/64", "fd00::77"),
    ("rl1", "198.51.100.254/24", "198.51.100.9"), ("rl1", "2001:db8:c::fe/64", "2001:db8:c::9"),
    ("rl2", "203.0.113.254/24", "203.0.113.9"), ("rl2", "2001:db8:d::fe/64", "2001:db8:d::9"),
)
# Backend endpoint -> VIP endpoint; those of port 0 keep the port.
REPLIES = (
    ("10.0.0.5", 8080, "192.0.2.1", 80), ("10.0.0.6", 0, "192.0.2.3", 0),
    ("fd00::5", 8080, "2001:db8::1", 80), ("fd00::6", 0, "2001:db8::3", 0),
)
MAIN = {False: REPLIES[0], True: REPLIES[2]}
CLIENTS = {False: "198.51.100.9", True: "2001:db8:c::9"}

tap = Tap()
runner = Runner()


def set_up():
    runner.shell(f"ip link set rl0 address {OUR_MACS['rl0']}")
    for name in ("rl1", "rl2"):
        runner.add_interface(name, OUR_MACS[name])
    runner.do("egress", ifindex=runner.ifindex("rl1"))
    for name, own, client in LINKS:
        nodad = "nodad" if ":" in own else ""
        runner.shell(f"ip addr add {own} dev {name} {nodad} && "
                     f"ip neigh add {client} lladdr {CLIENT_MACS[name]} dev {name}")
    for protocol in ("tcp", "udp"):
        for address, port, to_address, to_port in REPLIES:
            runner.do("reply", address=address, protocol=protocol, port=port,
                      to_address=to_address, to_port=to_port)
    forwarding(True)


def forwarding(on):
    runner.shell(f"echo {int(on)} > /proc/sys/net/ipv4/ip_forward && "
                 f"echo {int(on)} > /proc/sys/net/ipv6/conf/all/forwarding")


def asked(client, protocol, of=None):
    """What a client has sent, as the load balancer has made it the backend's."""
    address, port, _, _ = of or MAIN[":" in client]
    return Packet(protocol, client, address, 40321, port or 5555, ttl=60)


def trouble(packet, cut=8, kind="port unreachable", source=None, **fields):
    """The error of the backend, or of the router @source, about @packet."""
    return error(packet, kind, cut, source or packet.destination, mac_source=BACKEND_MAC,
                 mac_destination=OUR_MACS["rl0"], **fields)


def as_vip(err, packet, cut=8, of=None):
    """@err with the VIP as its source, about what the client has sent to the VIP."""
    _, _, address, port = of or MAIN[packet.is_ipv6]
    whole = quoted(packet.but(destination=address, dport=port or packet.dport), cut)
    # Half a checksum stays what it is.
    if cut == packet.check_at - packet.l4_at + 1:
        whole = whole[:-1] + err.payload[-1:]
    return err.but(source=address, payload=whole)


def sent(what, packet, interface="rl1", cut=8, of=None, **how):
    action = "TX" if interface == "rl0" else "REDIRECT"
    err = trouble(packet, cut, **how)
    out = as_vip(err, packet, cut, of).but(ttl=err.ttl - 1, mac_source=OUR_MACS[interface],
                                           mac_destination=CLIENT_MACS[interface])
    tap.equal(runner.run(err.build()), (action, action + "_REPLY", out.build()), what)


def to_kernel(what, packet, **how):
    """Rewritten, but for TTL and MAC addresses, which are the kernel's to change."""
    err = trouble(packet, **how)
    tap.equal(runner.run(err.build()),
              ("PASS", "PASS_REPLY_BY_KERNEL", as_vip(err, packet).build()), what)


def stays(what, frame, verdict):
    tap.equal(runner.run(frame), (verdict.split("_")[0], verdict, frame), what)


def each():
    for protocol in ("tcp", "udp"):
        for ipv6 in (False, True):
            yield asked(CLIENTS[ipv6], protocol), f"{protocol}, IPv{6 if ipv6 else 4}"


def rows_of_ways():
    for protocol in ("tcp", "udp"):
        for name, _, client in LINKS:
            packet = asked(client, protocol)
            if name == "rl2":
                to_kernel(f"{protocol} to {client} by rl2, not in the egress map", packet)
            else:
                sent(f"{protocol} to {client} by {name}", packet, name)
        for of in REPLIES:
            packet = asked(CLIENTS[":" in of[0]], protocol, of)
            for kind in ERRORS[packet.is_ipv6]:
                sent(f"{protocol} of {of[0]}, {kind}", packet, of=of, kind=kind)
                sent(f"{protocol} of {of[0]}, {kind}, of a router", packet, of=of, kind=kind,
                     source=ROUTERS[packet.is_ipv6])


def rows_of_cuts():
    for packet, what in each():
        for cut in list(range(4, 30)) + [None]:
            sent(f"{what}, {cut} bytes", packet, cut=cut)
        for cut in range(4):
            stays(f"{what}, {cut} bytes", trouble(packet, cut).build(), "PASS_QUOTE")
        sent(f"{what}, Ethernet padding", packet, padding=b"\xa5" * 9)
        if packet.is_ipv6:
            sent(f"{what}, extension headers", packet.but(extensions=(destination_options(24),)),
                 cut=None, extensions=(hop_by_hop(),))
        else:
            sent(f"{what}, options", packet.but(options=3), cut=None, options=2)
    packet = asked(CLIENTS[False], "udp").but(l4=(("chksum", 0),))
    sent("no UDP checksum in the quote", packet)


def rows_of_headers():
    for packet, what in each():
        for ttl in (2, 255):
            sent(f"{what}, TTL {ttl}", packet, ttl=ttl)
        for ttl in (0, 1):
            stays(f"{what}, TTL {ttl}", trouble(packet, ttl=ttl).build(), "PASS_REPLY_TTL")
        sent(f"{what}, TTL 0 in the quote", packet.but(ttl=0))
        sent(f"{what}, a tag", packet, tags=(Tag(7),))


def rows_of_others():
    for packet, what in each():
        stays(f"{what}, quotes another port of a backend", trouble(packet.but(dport=7777)).build(),
              "PASS_QUOTE")
        other = "fd00::99" if packet.is_ipv6 else "10.0.0.99"
        stays(f"{what}, quotes a packet to somebody else",
              trouble(packet.but(destination=other)).build(), "PASS_QUOTE")
        stays(f"{what}, quotes another client's packet",
              trouble(packet.but(source=other)).but(destination=packet.source).build(),
              "PASS_QUOTE")
        own = "fd00::fe" if packet.is_ipv6 else "10.0.0.254"
        stays(f"{what}, to ourselves, who check the backend's health",
              trouble(packet.but(source=own)).build(), "PASS_REPLY_NOT_ROUTED")


def rows_of_ranges():
    """Ports of a VIP's ranges only, and of nat VIPs only: VIP_NAT and REPLY_IF_VIP are 1."""
    for address, vip in (("10.0.0.8", "192.0.2.8"), ("fd00::8", "2001:db8::8")):
        of = (address, 0, vip, 0)
        runner.do("reply", address=address, protocol="udp", port=0, to_address=vip, to_port=0,
                  flags=1)
        runner.do("vip", address=vip, protocol="udp", port=1000, last=2000, flags=1)
        packet = asked(CLIENTS[":" in address], "udp", of)
        for port in (1000, 2000):
            sent(f"to port {port} of {address}", packet.but(dport=port), of=of)
        for port in (999, 2001):
            stays(f"to port {port} of {address}", trouble(packet.but(dport=port)).build(),
                  "PASS_QUOTE")


def rows_of_forwarding_off():
    forwarding(False)
    for packet, what in each():
        stays(f"{what}, forwarding off", trouble(packet).build(), "PASS_REPLY_FORWARDING_OFF")


set_up()
rows_of_ways()
rows_of_cuts()
rows_of_headers()
rows_of_others()
rows_of_ranges()
rows_of_forwarding_off()
tap.finish()
