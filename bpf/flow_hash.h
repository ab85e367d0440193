/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hash of a flow: XXH64 of its packed 5-tuple (FLOW_KEY_LEN_* in abi.h)
 * with the cluster's seed. Pure: compiled by BPF, userspace and tests, and must
 * agree bit for bit with XXH64() of the xxHash library over the same bytes.
 *
 * The two keys have fixed lengths, so the general algorithm shrinks to the steps
 * below. Source: the xxHash specification, section "XXH64 algorithm".
 */
#ifndef RINGLB_BPF_FLOW_HASH_H
#define RINGLB_BPF_FLOW_HASH_H

#include "bpf/abi.h"

/* Wire bytes are put together as little-endian lanes by shifting host words. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "flow_hash.h reads lanes as little-endian words"
#endif

#define XXH64_PRIME_1 0x9E3779B185EBCA87ULL
#define XXH64_PRIME_2 0xC2B2AE3D27D4EB4FULL
#define XXH64_PRIME_3 0x165667B19E3779F9ULL
#define XXH64_PRIME_4 0x85EBCA77C2B2AE63ULL
#define XXH64_PRIME_5 0x27D4EB2F165667C5ULL

static inline __attribute__((always_inline)) __u64 xxh64_rotate(__u64 x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static inline __attribute__((always_inline)) __u64 xxh64_round(__u64 acc, __u64 lane)
{
	return xxh64_rotate(acc + lane * XXH64_PRIME_2, 31) * XXH64_PRIME_1;
}

static inline __attribute__((always_inline)) __u64 xxh64_merge(__u64 hash, __u64 acc)
{
	return (hash ^ xxh64_round(0, acc)) * XXH64_PRIME_1 + XXH64_PRIME_4;
}

static inline __attribute__((always_inline)) __u64 xxh64_tail8(__u64 hash, __u64 lane)
{
	return xxh64_rotate(hash ^ xxh64_round(0, lane), 27) * XXH64_PRIME_1 + XXH64_PRIME_4;
}

static inline __attribute__((always_inline)) __u64 xxh64_tail4(__u64 hash, __u32 lane)
{
	return xxh64_rotate(hash ^ lane * XXH64_PRIME_1, 23) * XXH64_PRIME_2 + XXH64_PRIME_3;
}

static inline __attribute__((always_inline)) __u64 xxh64_tail1(__u64 hash, __u8 lane)
{
	return xxh64_rotate(hash ^ lane * XXH64_PRIME_5, 11) * XXH64_PRIME_1;
}

static inline __attribute__((always_inline)) __u64 xxh64_avalanche(__u64 hash)
{
	hash = (hash ^ (hash >> 33)) * XXH64_PRIME_2;
	hash = (hash ^ (hash >> 29)) * XXH64_PRIME_3;
	return hash ^ (hash >> 32);
}

static inline __attribute__((always_inline)) __u64 flow_lane(__u32 low, __u32 high)
{
	return low | (__u64)high << 32;
}

/* The last five bytes of either key: both ports, then the protocol. */
static inline __attribute__((always_inline)) __u64 flow_hash_ports(const struct flow *flow,
								   __u64 hash)
{
	hash = xxh64_tail4(hash, flow->source_port | (__u32)flow->destination_port << 16);
	return xxh64_avalanche(xxh64_tail1(hash, flow->protocol));
}

static inline __attribute__((always_inline)) __u64 flow_hash_ipv4(const struct flow *flow,
								  __u64 seed)
{
	__u64 hash = seed + XXH64_PRIME_5 + FLOW_KEY_LEN_IPV4;

	hash = xxh64_tail8(hash, flow_lane(flow->source[0], flow->destination[0]));
	return flow_hash_ports(flow, hash);
}

static inline __attribute__((always_inline)) __u64 flow_hash_ipv6(const struct flow *flow,
								  __u64 seed)
{
	const __be32 *source = flow->source, *destination = flow->destination;
	__u64 a =
		xxh64_round(seed + XXH64_PRIME_1 + XXH64_PRIME_2, flow_lane(source[0], source[1]));
	__u64 b = xxh64_round(seed + XXH64_PRIME_2, flow_lane(source[2], source[3]));
	__u64 c = xxh64_round(seed, flow_lane(destination[0], destination[1]));
	__u64 d = xxh64_round(seed - XXH64_PRIME_1, flow_lane(destination[2], destination[3]));
	__u64 hash =
		xxh64_rotate(a, 1) + xxh64_rotate(b, 7) + xxh64_rotate(c, 12) + xxh64_rotate(d, 18);

	hash = xxh64_merge(xxh64_merge(xxh64_merge(xxh64_merge(hash, a), b), c), d);
	return flow_hash_ports(flow, hash + FLOW_KEY_LEN_IPV6);
}

/* XXH64 of the flow's key. Any struct flow is valid input. */
static inline __attribute__((always_inline)) __u64 flow_hash(const struct flow *flow, __u64 seed)
{
	if (flow->family == ENDPOINT_IPV4)
		return flow_hash_ipv4(flow, seed);
	return flow_hash_ipv6(flow, seed);
}

/* flow_hash() of what a VIP hashes, @what being its enum vip_hash: the rest counts as zero. */
static inline __attribute__((always_inline)) __u64 flow_hash_by(const struct flow *flow, __u8 what,
								__u64 seed)
{
	struct flow part = *flow;

	if (what != VIP_HASH_FLOW)
		part.source_port = 0;
	if (what == VIP_HASH_SOURCE) {
		__builtin_memset(part.destination, 0, sizeof(part.destination));
		part.destination_port = 0;
		part.protocol = 0;
	}
	return flow_hash(&part, seed);
}

#endif
