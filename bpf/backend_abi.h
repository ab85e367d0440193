/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between ringlb-backend and its two programs, which run on a backend: one
 * takes packets out of their tunnel, the other holds down the MSS that leaves. Types and
 * constants only; has nothing in common with abi.h, the load balancer's.
 *
 * Addresses are 16 bytes in network byte order; an IPv4 address occupies the first 4 and
 * the other 12 are zero.
 */
#ifndef RINGLB_BPF_BACKEND_ABI_H
#define RINGLB_BPF_BACKEND_ABI_H

#include <linux/types.h>

#define BACKEND_VIPS_MAX   512
#define BACKEND_LOCALS_MAX 1024
#define BACKEND_FROM_MAX   64
#define BACKEND_GUE_PORT   6080 /* unless --gue-port says otherwise */

/* Key of the map `backend_locals`. `family` first: see the prefix. */
struct backend_address {
	__u32 family; /* 4 or 6 */
	__be32 address[4];
};
_Static_assert(sizeof(struct backend_address) == 20, "address is a raw map key");

/*
 * Key of the tries `backend_vips` and `backend_from`. `len_bits` counts the family too: 32 more
 * than written. A VIP that is one address has all its bits.
 */
struct backend_prefix {
	__u32 len_bits;
	struct backend_address address;
};
_Static_assert(sizeof(struct backend_prefix) == 24, "prefix is a raw map key");

#define BACKEND_FAMILY_BITS 32

/* Set before the programs are loaded. */
struct backend_settings {
	__u16 gue_port; /* host byte order */
	__u16 mss;	/* largest MSS that may leave */
	__u8 ipip;	/* 1: take out of ipip */
	__u8 gue;	/* 1: take out of gue */
	__u8 from;	/* 1: only from the prefixes in `backend_from` */
	__u8 pad;
};
_Static_assert(sizeof(struct backend_settings) == 8, "settings");

/*
 * What became of a packet: X(action, name, what an operator reads). The enum's names are
 * ACTION_NAME. Dropped is only what is for a VIP and may not get there; all else that is
 * not taken out is left to the kernel as it came.
 */
#define BACKEND_VERDICTS(X)                                                                        \
	X(PASS, IPIP, "ipip packet for a VIP: taken out")                                          \
	X(PASS, GUE, "gue packet for a VIP: taken out")                                            \
	X(PASS, PLAIN, "not encapsulated: left to the kernel")                                     \
	X(PASS, NOT_UNICAST, "broadcast or multicast frame: left to the kernel")                   \
	X(PASS, FRAGMENT, "fragment, perhaps of an encapsulated packet: left to the kernel")       \
	X(PASS, OUTER_BAD, "outer header damaged or cut short: left to the kernel")                \
	X(PASS, OUTER_OPTIONS, "outer header with IPv4 options: left to the kernel")               \
	X(PASS, NOT_GUE, "to the gue port, but not gue of variant 0 or 1: left to the kernel")     \
	X(PASS, GUE_OPTIONS, "gue with options or without an IP packet: left to the kernel")       \
	X(PASS, INNER_BAD, "encapsulated, but no whole IP header inside: left to the kernel")      \
	X(PASS, NOT_VIP, "encapsulated, but not for one of the VIPs: left to the kernel")          \
	X(PASS, NOT_LOCAL, "for a VIP, but the outer destination is not known to be this host's")  \
	X(PASS, OTHER_MODE, "for a VIP, but in the encapsulation that --mode leaves out")          \
	X(PASS, OTHER_PORT, "gue for a VIP, but to another port than --gue-port")                  \
	X(DROP, NOT_FROM, "for a VIP, but the outer source is not in --from")                      \
	X(DROP, INNER_LENGTH, "for a VIP, but the inner lengths contradict the outer ones")        \
	X(DROP, ECN, "for a VIP: marked as congested outside, not able to say so inside")          \
	X(DROP, NOT_SHORTENED, "for a VIP, but the kernel refused to shorten the frame")           \
	X(PASS, CLAMPED, "SYN-ACK of a VIP: its MSS was lowered")                                  \
	X(PASS, NOT_CLAMPED, "SYN-ACK of a VIP: its MSS was low enough, or there was none")

#define BACKEND_VERDICT_ENUM(action, name, text) action##_##name,
enum backend_verdict {
	BACKEND_VERDICTS(BACKEND_VERDICT_ENUM) BACKEND_VERDICT_COUNT,
	CONTINUE = -1, /* not a verdict: the next stage decides */
};
#undef BACKEND_VERDICT_ENUM

#endif
