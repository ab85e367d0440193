/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two tables in front of those of VIPs and of nat backends, which a packet reads without
 * calling anything: most find their VIP there, and most that are not ours learn that. What
 * they leave open, the tables behind them say. Pure: compiled by BPF and userspace.
 */
#ifndef RINGLB_BPF_FRONT_H
#define RINGLB_BPF_FRONT_H

#include <stdbool.h>
#include <linux/types.h>

#include "bpf/abi.h"

#define FRONT_PRIME_1 0x9E3779B185EBCA87ULL
#define FRONT_PRIME_2 0xC2B2AE3D27D4EB4FULL
#define FRONT_PRIME_3 0x165667B19E3779F9ULL

/* Four times VIPS_MAX: few VIPs share a slot. */
#define FRONT_SLOT_BITS 14
#define FRONT_SLOTS	(1 << FRONT_SLOT_BITS)

/* An endpoint, so that comparing it is three comparisons. */
struct front_key {
	__u64 address[2];
	__u64 rest;
};

/*
 * Value of map `vip_front`, half a cache line. `word` says all, and is written at once: while
 * it has FRONT_VIP, `key` is that of a VIP of the map `vips`, and front_vip() what it has
 * there. Whoever reads both reads the word again.
 */
struct front_slot {
	struct front_key key;
	__u64 word;
};
_Static_assert(sizeof(struct front_slot) == 32, "two a cache line");

#define FRONT_VIP  (1ULL << 63)
#define FRONT_MORE (1ULL << 62) /* other keys of this slot may be in `vips`, too */

_Static_assert(VIPS_MAX <= 1 << 16 && POOLS_MAX <= 1 << 16, "the word has room");

/* Value of map `front`: what a packet that is not for a VIP in `vips` can be spared. */
#define FRONT_FILTER_BITS 20
struct front {
	__u64 prefixes; /* 0: there are none in `vip_prefixes` */
	/* Bit front_bit() is 1 for the address of each nat backend in `replies`. */
	__u64 backends[1 << (FRONT_FILTER_BITS - 6)];
};

static inline __attribute__((always_inline)) __u64 front_mix(__u64 first, __u64 second, __u64 third)
{
	__u64 hash = first * FRONT_PRIME_1 + second * FRONT_PRIME_2 + third * FRONT_PRIME_3;

	return (hash ^ (hash >> 29)) * FRONT_PRIME_1;
}

static inline __attribute__((always_inline)) __u64 front_pair(__be32 first, __be32 second)
{
	return first | (__u64)second << 32;
}

static inline __attribute__((always_inline)) struct front_key front_key(const __be32 address[4],
									__be16 port, __u8 protocol,
									__u8 family)
{
	return (struct front_key){
		.address = {front_pair(address[0], address[1]), front_pair(address[2], address[3])},
		.rest = port | (__u64)protocol << 16 | (__u64)family << 24,
	};
}

static inline __attribute__((always_inline)) __u32 front_index(const struct front_key *key)
{
	return front_mix(key->address[0], key->address[1], key->rest) >> (64 - FRONT_SLOT_BITS);
}

static inline __attribute__((always_inline)) __u32 front_bit(const __be32 address[4])
{
	return front_mix(front_pair(address[0], address[1]), front_pair(address[2], address[3]),
			 0) >>
	       (64 - FRONT_FILTER_BITS);
}

/* A VIP without QUIC ids, in one word. */
static inline __attribute__((always_inline)) __u64 front_word(const struct vip *vip)
{
	return FRONT_VIP | vip->vip | (__u64)vip->pool << 16 | (__u64)vip->mss << 32 |
	       (__u64)(vip->hash & 3) << 48 | (__u64)(vip->flags & 0xff) << 50;
}

static inline __attribute__((always_inline)) bool front_is_nat(__u64 word)
{
	return (word >> 50) & VIP_NAT;
}

static inline __attribute__((always_inline)) void front_vip(__u64 word, struct vip *vip)
{
	vip->vip = word & 0xffff;
	vip->pool = (word >> 16) & 0xffff;
	vip->mss = (word >> 32) & 0xffff;
	vip->hash = (word >> 48) & 3;
	vip->flags = (word >> 50) & 0xff;
}

#endif
