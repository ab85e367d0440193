/* SPDX-License-Identifier: GPL-2.0-only */
/* What can become of a packet. Part of abi.h. */
#ifndef RINGLB_BPF_VERDICTS_H
#define RINGLB_BPF_VERDICTS_H

/* Room for verdicts to come: the pinned map's size must not change with each. */
#define VERDICTS_MAX 256

/*
 * What became of a packet: X(action, name, what an operator reads). The enum's
 * names are ACTION_NAME. HOLD is not the end of it: the frame comes again, and is
 * counted again. Append only: the numbers index the pinned map `verdicts`.
 */
#define VERDICTS(X)                                                                                \
	X(PASS, NOT_IP, "neither IPv4 nor IPv6 (ARP, ...): left to the kernel")                    \
	X(PASS, NOT_UNICAST, "broadcast or multicast frame: left to the kernel")                   \
	X(PASS, OTHER_PROTOCOL, "not TCP, UDP, SCTP or ICMP about a VIP: left to the kernel")      \
	X(PASS, FRAGMENT, "fragment for no VIP, or of another protocol: left to the kernel")       \
	X(PASS, SHORT_PORTS, "packet ends before its ports: left to the kernel")                   \
	X(PASS, NOT_VIP, "no VIP has this address, protocol and port: left to the kernel")         \
	X(PASS, REPLY_NOT_ROUTED, "from a nat backend to this host or nowhere: left as it is")     \
	X(PASS, REPLY_FORWARDING_OFF, "nat reply not rewritten: forwarding is off here (sysctl)")  \
	X(PASS, REPLY_TTL, "nat reply with TTL or hop limit 1 or less: left to the kernel")        \
	X(PASS, REPLY_TOO_BIG, "nat reply longer than its way out allows: left to the kernel")     \
	X(PASS, REPLY_BY_KERNEL, "nat reply rewritten, then forwarded by the kernel")              \
	X(DROP, SHORT_ETHERNET, "frame ends inside the Ethernet header")                           \
	X(DROP, SHORT_IPV4, "frame ends inside the IPv4 header")                                   \
	X(DROP, SHORT_IPV6, "frame ends inside the IPv6 header")                                   \
	X(DROP, BAD_VERSION, "IP version field contradicts the EtherType")                         \
	X(DROP, BAD_IHL, "IPv4 header length below 20 bytes")                                      \
	X(DROP, BAD_IP_LENGTH, "IP length field below its header or beyond the frame")             \
	X(DROP, SHORT_TCP, "packet ends inside the TCP header")                                    \
	X(DROP, SHORT_UDP, "packet ends inside the UDP header")                                    \
	X(DROP, BAD_TCP_OFFSET, "TCP data offset below 20 bytes or beyond the packet")             \
	X(DROP, BAD_UDP_LENGTH, "UDP length below 8 bytes or beyond the packet")                   \
	X(DROP, TTL, "packet to a VIP with TTL or hop limit 1 or less")                            \
	X(DROP, NO_RING, "the pool of this VIP has no ring")                                       \
	X(DROP, NO_BACKEND, "the pool of this VIP has no backend for new flows")                   \
	X(DROP, BAD_RING, "the ring is damaged or names a backend that does not exist")            \
	X(DROP, WRONG_FAMILY, "nat backend of another address family than the packet")             \
	X(DROP, NO_NEXTHOP, "no route to the backend, or its MAC address is not known yet")        \
	X(DROP, NO_EGRESS, "the backend's interface cannot be redirected to")                      \
	X(TX, BACKEND, "sent to a backend on the interface it came from")                          \
	X(TX, REPLY, "nat reply sent on the interface it came from")                               \
	X(REDIRECT, BACKEND, "sent to a backend on another interface")                             \
	X(REDIRECT, REPLY, "nat reply sent on another interface")                                  \
	X(DROP, FRAGMENT_NO_FIRST, "later fragment whose first did not come in time, or at all")   \
	X(DROP, FRAGMENT_NO_BACKEND, "later fragment, and the backend of its first is gone")       \
	X(DROP, FRAGMENT_HEADER, "fragment that cuts off or overwrites the layer 4 header")        \
	X(PASS, MANY_TAGS, "more than two VLAN tags: left to the kernel")                          \
	X(PASS, MANY_HEADERS, "more than 8 IPv6 extension headers: left to the kernel")            \
	X(PASS, SEGMENTS_LEFT, "IPv6 routing header that leads on: left to the kernel")            \
	X(PASS, SPLIT, "headers go on in another buffer of the frame: left to the kernel")         \
	X(DROP, SHORT_TAG, "frame ends inside a VLAN tag")                                         \
	X(DROP, SHORT_SCTP, "packet ends inside the SCTP header")                                  \
	X(DROP, NAT_AUTHENTICATED, "nat would break the packet's authentication header")           \
	X(HOLD, FRAGMENT, "later fragment before its first: ringlbd waits for that one")           \
	X(DROP, FRAGMENT_NOT_HELD, "later fragment before its first, and no room to hold it")      \
	X(DROP, NO_ROOM, "no room in the frame's buffer for the outer header")                     \
	X(TX, TOO_BIG, "too long for the way to its backend: the client is told how long fits")    \
	X(TX, TOO_BIG_NO_DF, "the same, of IPv4 packets that might have been fragmented")          \
	X(DROP, TOO_BIG_RATE, "too long, and more such a second than may be answered")             \
	X(DROP, TOO_BIG_SENDER, "too long, and its source is no address that may be answered")     \
	X(DROP, TOO_BIG_FRAGMENT, "later fragment that is too long for the way to its backend")    \
	X(TX, ECHO, "echo request (ping) to a VIP, answered")                                      \
	X(PASS, ECHO_OPTIONS, "echo request with IP options or extensions: left to the kernel")    \
	X(DROP, ECHO_SOURCE, "echo request to a VIP from no unicast address: not answered")        \
	X(PASS, QUOTE, "ICMP error that quotes no flow of ours: left to the kernel")               \
	X(DROP, SHORT_ICMP, "ICMP message to a VIP of less than 8 bytes")                          \
	X(DROP, SHORT_QUOTE, "ICMP error to a VIP whose quoted packet ends before its ports")      \
	X(DROP, BAD_QUOTE, "ICMP error to a VIP that quotes a bad IP header or IP version")        \
	X(DROP, QUOTE_FRAGMENT, "ICMP error to a VIP about a later fragment, which has no ports")  \
	X(DROP, TOO_BIG_ERROR, "ICMP error that is too long for the way to its backend")

#define VERDICT_ENUM(action, name, text) action##_##name,
enum verdict {
	VERDICTS(VERDICT_ENUM) VERDICT_COUNT,
	CONTINUE = -1, /* not a verdict: the next stage decides */
};
#undef VERDICT_ENUM
_Static_assert(VERDICT_COUNT <= VERDICTS_MAX, "verdicts fit their map");

#endif
