#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets to VIPs, by nat and dr: what leaves, byte for byte, and the verdict."""
import sys

sys.dont_write_bytecode = True

from packets import (CLIENT_MAC, DR, DR_FAR, ETHERNET_LEN, NAT4, NAT4_FAR,  # noqa: E402
                     NAT4_KEEP, NAT6, NAT6_FAR, NAT6_KEEP, VIPS, Tap, set_up, to_vip)

tap = Tap()
runner = set_up()


def sent(what, packet, backend):
    """@packet has to leave for @backend as scapy builds it."""
    action = "TX" if backend.interface == "rl0" else "REDIRECT"
    tap.equal(runner.run(packet.build()),
              (action, action + "_BACKEND", backend.receives(packet).build()), what)


def rows_of_each_vip():
    for address, port, backend in VIPS:
        for protocol in ("tcp", "udp"):
            packet = to_vip(address, protocol, port or 4711)
            sent(f"{protocol} to {address} port {packet.dport} by {backend.forward}", packet,
                 backend)


def rows_of_lengths():
    for address, backend in (("192.0.2.1", NAT4), ("2001:db8::1", NAT6), ("192.0.2.3", DR),
                             ("2001:db8::3", DR)):
        for protocol in ("tcp", "udp"):
            packet = to_vip(address, protocol)
            name = f"{protocol} to {address}"
            for length in (0, 1, 2, 3, 7, 8, 9, 255, 1399, 1400):
                payload = bytes(i * 7 & 0xff for i in range(length))
                sent(f"{name}, payload of {length}", packet.but(payload=payload), backend)
            for length in (1, 2, 6, 18, 46):
                sent(f"{name}, Ethernet padding of {length}",
                     packet.but(payload=b"", padding=b"\xa5" * length), backend)
            sent(f"{name}, odd payload and padding", packet.but(payload=b"odd", padding=b"\xff"),
                 backend)
            for ttl in (2, 3, 128, 254, 255):
                sent(f"{name}, TTL {ttl}", packet.but(ttl=ttl), backend)


def rows_of_options():
    for address, backend in (("192.0.2.1", NAT4), ("192.0.2.3", DR)):
        for protocol in ("tcp", "udp"):
            for words in range(1, 11):
                sent(f"{protocol} to {address}, ihl {5 + words}",
                     to_vip(address, protocol).but(options=words), backend)
    for address, backend in (("192.0.2.1", NAT4), ("2001:db8::1", NAT6)):
        for length in (4, 20, 40):
            sent(f"tcp to {address}, {length} bytes of TCP options",
                 to_vip(address, "tcp").but(l4=(("options", [("NOP", None)] * length),)), backend)
    for flags in ("DF", "evil", "DF+evil"):
        sent(f"tcp to 192.0.2.1, flags {flags} are no fragment",
             to_vip("192.0.2.1", "tcp").but(ip=(("flags", flags),)), NAT4)
    for flags in ("S", "R", "F", "SA", "A", ""):
        sent(f"tcp to 192.0.2.1, TCP flags '{flags}'",
             to_vip("192.0.2.1", "tcp").but(l4=(("flags", flags),)), NAT4)


def rows_of_addresses():
    packet = to_vip("192.0.2.2", "tcp", 82)
    sent("port 0 of a VIP takes any port", packet, NAT4_KEEP)
    sent("a VIP's exact port comes before port 0", packet.but(dport=81), DR)
    sent("port 0 of a VIP takes port 0", packet.but(dport=0), NAT4_KEEP)
    sent("port 0 of a VIP takes port 65535", packet.but(dport=65535), NAT4_KEEP)
    packet = to_vip("2001:db8::2", "udp", 65535)
    sent("port 0 of an IPv6 VIP takes any port", packet, NAT6_KEEP)
    sent("exact port before port 0, IPv6", packet.but(dport=81), DR)
    runner.do("reply", address="198.51.100.9", protocol="tcp", port=0, to_address="192.0.2.1",
              to_port=80)
    sent("a backend that is a client of a VIP is a client", to_vip("192.0.2.1", "tcp"), NAT4)
    sent("a source port of 0", to_vip("192.0.2.1", "tcp").but(sport=0), NAT4)
    sent("our own MAC address is not asked for",
         to_vip("192.0.2.1", "tcp").but(mac_destination=CLIENT_MAC), NAT4)


def rows_of_udp_checksums():
    for address, backend in (("192.0.2.1", NAT4), ("2001:db8::1", NAT6), ("192.0.2.2", NAT4_KEEP),
                             ("192.0.2.3", DR)):
        packet = to_vip(address, "udp")
        sent(f"udp to {address} without a checksum", packet.but(l4=(("chksum", 0),)), backend)
        for tail in (b"", b"odd"):
            # In one's complement, the sum of words and their checksum has the checksum 0.
            check = checksum_of(backend.receives(packet.but(payload=b"\0\0" + tail)))
            zero = packet.but(payload=check.to_bytes(2, "big") + tail)
            tap.equal(checksum_of(backend.receives(zero)), 0xffff, f"udp to {address}: ffff for 0")
            sent(f"udp to {address}, checksum comes to 0, {len(zero.payload)} bytes", zero, backend)


def checksum_of(packet):
    frame = packet.build()
    return int.from_bytes(frame[packet.check_at:packet.check_at + 2], "big")


def off_by(frame, right, at):
    """How far a checksum is from the right one, in one's complement."""
    return (int.from_bytes(frame[at:at + 2], "big") - int.from_bytes(right[at:at + 2], "big")) \
        % 0xffff


def rows_of_wrong_checksums():
    """Wrong before by so much, wrong afterwards by as much; all else as it should be."""
    for address, backend in (("192.0.2.1", NAT4), ("2001:db8::1", NAT6), ("192.0.2.4", NAT4_FAR),
                             ("2001:db8::4", NAT6_FAR), ("192.0.2.3", DR), ("192.0.2.5", DR_FAR)):
        for protocol in ("tcp", "udp"):
            packet = to_vip(address, protocol)
            places = [("layer 4", packet.check_at)]
            if not packet.is_ipv6:
                places.append(("IPv4", ETHERNET_LEN + 10))
            for layer, at in places:
                for wrong in (0x0001, 0x8000, 0x1234, 0xfffe):
                    right_in, right_out = packet.build(), backend.receives(packet).build()
                    value = (int.from_bytes(right_in[at:at + 2], "big") + wrong) % 0xffff or 1
                    frame = right_in[:at] + value.to_bytes(2, "big") + right_in[at + 2:]
                    out = runner.run(frame)[2]
                    tap.equal((off_by(out, right_out, at), out[:at] + out[at + 2:]),
                              (off_by(frame, right_in, at), right_out[:at] + right_out[at + 2:]),
                              f"{protocol} to {address}, wrong {layer} checksum by {wrong:#x}")


rows_of_each_vip()
rows_of_lengths()
rows_of_options()
rows_of_addresses()
rows_of_udp_checksums()
rows_of_wrong_checksums()
tap.finish()
