#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is not for a VIP reaches the kernel untouched, each kind by its own verdict."""
import sys

sys.dont_write_bytecode = True

from packets import CLIENT_MAC, OUR_MAC, Tap, set_up, to_vip  # noqa: E402
from scapy.contrib.igmp import IGMP  # noqa: E402
from scapy.contrib.mpls import MPLS  # noqa: E402
from scapy.layers.inet import IP, TCP, UDP  # noqa: E402
from scapy.layers.inet6 import ICMPv6ND_NS, IPv6  # noqa: E402
from scapy.layers.ipsec import AH, ESP  # noqa: E402
from scapy.layers.l2 import ARP, GRE, LLC, SNAP, Dot1Q, Dot3, Ether  # noqa: E402
from scapy.layers.ppp import PPPoE, PPP  # noqa: E402
from scapy.packet import Raw  # noqa: E402

tap = Tap()
runner = set_up()

ETHER = Ether(src=CLIENT_MAC, dst=OUR_MAC)
VIP4 = IP(src="198.51.100.9", dst="192.0.2.1")
VIP6 = IPv6(src="2001:db8:c::9", dst="2001:db8::1")
PORTS = {"sport": 40321, "dport": 80}
DATA = Raw(bytes(range(64)))


def passed(what, frame, verdict):
    frame = bytes(frame)
    tap.equal(runner.run(frame), ("PASS", "PASS_" + verdict, frame), what)


def rows_of_other_ethernet():
    inner = VIP4 / TCP(**PORTS) / DATA
    for what, frame in (
            ("ARP request to us", ETHER / ARP(op=1, psrc="198.51.100.9", pdst="192.0.2.1")),
            ("802.1Q with ARP", ETHER / Dot1Q(vlan=7) / ARP(pdst="192.0.2.1")),
            ("an older tag, 9100", Ether(src=CLIENT_MAC, dst=OUR_MAC, type=0x9100)
             / bytes(Dot1Q(vlan=7)) / inner),
            ("MPLS", ETHER / MPLS(label=16, s=1, ttl=9) / inner),
            ("PPPoE", ETHER / PPPoE(sessionid=1) / PPP() / inner),
            ("802.3 with LLC and SNAP", Dot3(src=CLIENT_MAC, dst=OUR_MAC) / LLC() / SNAP() / DATA),
            ("an EtherType of 0", Ether(src=CLIENT_MAC, dst=OUR_MAC, type=0) / inner),
            ("an EtherType of the other byte order",
             Ether(src=CLIENT_MAC, dst=OUR_MAC, type=0x0008) / inner),
            ("an Ethernet header and no more", bytes(ETHER / Raw(b""))[:12] + b"\x88\xb5")):
        passed(what, frame, "NOT_IP")


def rows_of_frames_to_many():
    for mac in ("ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01",
                "01:80:c2:00:00:0e"):
        many = Ether(src=CLIENT_MAC, dst=mac)
        passed(f"packet to an IPv4 VIP in a frame to {mac}", many / VIP4 / TCP(**PORTS) / DATA,
               "NOT_UNICAST")
        passed(f"packet to an IPv6 VIP in a frame to {mac}", many / VIP6 / UDP(**PORTS) / DATA,
               "NOT_UNICAST")
        passed(f"ARP to {mac}", many / ARP(pdst="192.0.2.1"), "NOT_UNICAST")
    passed("neighbour solicitation for a VIP",
           Ether(src=CLIENT_MAC, dst="33:33:ff:00:00:01")
           / IPv6(src="fe80::1", dst="ff02::1:ff00:1") / ICMPv6ND_NS(tgt="2001:db8::1"),
           "NOT_UNICAST")


def rows_of_other_protocols():
    inner = VIP4 / TCP(**PORTS) / DATA
    for what, packet in (
            ("GRE to a VIP", VIP4 / GRE() / inner),
            ("IPv4 in IPv4 to a VIP", VIP4 / inner),
            ("IPv6 in IPv4 to a VIP", VIP4 / VIP6 / TCP(**PORTS)),
            ("IPv4 in IPv6 to a VIP", VIP6 / inner),
            ("ESP to a VIP", VIP4 / ESP(spi=1, seq=1, data=bytes(DATA))),
            ("AH to a VIP", VIP4 / AH(nh=6, spi=1, seq=1, icv=b"x" * 12) / TCP(**PORTS)),
            ("IGMP to a VIP", VIP4 / IGMP(type=0x16, gaddr="224.0.0.9")),
            ("IPv6 protocol 59, no next header", VIP6.copy() / Raw(b"")),
            ("IPv4 protocol 255", IP(src="198.51.100.9", dst="192.0.2.1", proto=255) / DATA),
            ("IPv4 protocol 0", IP(src="198.51.100.9", dst="192.0.2.1", proto=0) / DATA)):
        passed(f"case 40: {what}", ETHER / packet, "OTHER_PROTOCOL")


def rows_of_other_destinations():
    for what, packet in (
            ("another IPv4 address", to_vip("192.0.2.99", "tcp")),
            ("an IPv4 address one bit away", to_vip("192.0.3.1", "tcp")),
            ("another IPv6 address", to_vip("2001:db8::99", "tcp")),
            ("an IPv6 address that differs in its first bytes", to_vip("2001:db9::1", "udp")),
            ("an IPv6 address that begins as an IPv4 VIP", to_vip("c000:201::", "tcp")),
            ("another port", to_vip("192.0.2.1", "tcp", 81)),
            ("the port in the other byte order", to_vip("192.0.2.1", "tcp", 0x5000)),
            ("port 0", to_vip("192.0.2.1", "tcp", 0)),
            ("another port of IPv6", to_vip("2001:db8::1", "udp", 8080)),
            ("a VIP as source only",
             to_vip("198.51.100.7", "tcp").but(source="192.0.2.1", sport=80, dport=9)),
            ("TTL 1 to others", to_vip("192.0.2.99", "tcp").but(ttl=1)),
            ("TTL 0 to others", to_vip("192.0.2.99", "udp").but(ttl=0)),
            ("hop limit 0 to others", to_vip("2001:db8::99", "udp").but(ttl=0)),
            ("others' UDP length of 0", to_vip("192.0.2.99", "udp").but(l4=(("len", 0),))),
            ("others' UDP length beyond", to_vip("192.0.2.99", "udp").but(l4=(("len", 999),))),
            ("others' TCP data offset of 0", to_vip("192.0.2.99", "tcp").but(l4=(("dataofs", 0),))),
            ("others' wrong checksum", to_vip("192.0.2.99", "tcp").but(l4=(("chksum", 1),))),
            ("SCTP to a VIP of TCP and UDP", to_vip("192.0.2.1", "sctp")),
            ("SCTP to any port of an IPv6 VIP of those", to_vip("2001:db8::2", "sctp")),
            ("SCTP with a bad chunk to others", to_vip("192.0.2.99", "sctp").but(payload=b"")),
            ("a packet to the backend itself", to_vip("10.0.1.5", "tcp", 8080))):
        passed(f"case 40: {what}", packet.build(), "NOT_VIP")
    runner.do("vip", address="203.0.113.1", protocol="udp", port=443, vip=90, pool=1)
    passed("TCP to a VIP of UDP", to_vip("203.0.113.1", "tcp", 443).build(), "NOT_VIP")
    runner.do("vip", address="2001:db8:7::1", protocol="tcp", port=0, vip=91, pool=3)
    passed("UDP to any port of a VIP of TCP", to_vip("2001:db8:7::1", "udp").build(), "NOT_VIP")


rows_of_other_ethernet()
rows_of_frames_to_many()
rows_of_other_protocols()
rows_of_other_destinations()
tap.finish()
