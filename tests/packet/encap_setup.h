/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pools that encapsulate, ipip and gue to backends of both families, and VIPs of both for
 * each: what the tests with random packets run against.
 */
#ifndef RINGLB_TESTS_ENCAP_SETUP_H
#define RINGLB_TESTS_ENCAP_SETUP_H

#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <netinet/in.h>

#define ENCAP_POOLS	   4 /* bit 0: to IPv6; bit 1: by gue */
#define ENCAP_VIPS	   4 /* bit 0: of IPv6; bit 1: of UDP */
#define ENCAP_GUE_PORT	   6080
#define ENCAP_VIP_PORT	   1000 /* and the pool */
#define ENCAP_IPV4_LEN	   20
#define ENCAP_IPV6_LEN	   40
#define ENCAP_UDP_LEN	   8
#define ENCAP_RING_VNODES  100
#define ENCAP_POOL_MEMBERS 4

static inline bool encap_to_ipv6(uint32_t pool)
{
	return pool & 1;
}

static inline bool encap_by_gue(uint32_t pool)
{
	return pool & 2;
}

/* Where layer 4 or, by ipip, the packet is in what leaves. */
static inline size_t encap_l4_at(uint32_t pool)
{
	return FRAME_ETHERNET_LEN + (encap_to_ipv6(pool) ? ENCAP_IPV6_LEN : ENCAP_IPV4_LEN);
}

static inline size_t encap_inner_at(uint32_t pool)
{
	return encap_l4_at(pool) + (encap_by_gue(pool) ? ENCAP_UDP_LEN : 0);
}

/* 10.0.POOL.MEMBER and fd00::POOL:MEMBER. */
static inline struct backend encap_backend(uint32_t pool, uint32_t member)
{
	struct backend backend = {
		.family = encap_to_ipv6(pool) ? ENDPOINT_IPV6 : ENDPOINT_IPV4,
		.forward = encap_by_gue(pool) ? FORWARD_GUE : FORWARD_IPIP,
		.flags = encap_by_gue(pool) ? BACKEND_UDP_CHECKSUM : 0,
		.port = encap_by_gue(pool) ? htons(ENCAP_GUE_PORT) : 0,
	};

	if (encap_to_ipv6(pool)) {
		backend.address[0] = htonl(0xfd000000);
		backend.address[3] = htonl(pool << 16 | member);
	} else {
		backend.address[0] = htonl(10 << 24 | pool << 8 | member);
	}
	return backend;
}

static inline uint32_t encap_backend_id(uint32_t pool, uint32_t member)
{
	return 1 + pool * ENCAP_POOL_MEMBERS + member;
}

/* Make the first @members backends of a pool its ring. */
static inline void encap_publish(const struct rig *rig, uint32_t pool, size_t members)
{
	struct ring *ring = ring_numbered(&ring_hash_xxh64, pool, ENCAP_RING_VNODES, members);
	uint32_t ids[ENCAP_POOL_MEMBERS];

	for (uint32_t member = 0; member < members; member++)
		ids[member] = encap_backend_id(pool, member);
	rig_publish(rig, pool, ring, ids);
	ring_free(ring);
}

/* 192.0.2.1 and 2001:db8::1 */
static inline struct endpoint encap_vip(uint32_t kind, uint32_t pool)
{
	struct endpoint vip = {
		.family = kind & 1 ? ENDPOINT_IPV6 : ENDPOINT_IPV4,
		.protocol = kind & 2 ? IPPROTO_UDP : IPPROTO_TCP,
		.port = htons(ENCAP_VIP_PORT + pool),
	};

	if (vip.family == ENDPOINT_IPV6) {
		vip.address[0] = htonl(0x20010db8);
		vip.address[3] = htonl(1);
	} else {
		vip.address[0] = htonl(0xc0000201);
	}
	return vip;
}

static inline void encap_set_up(const struct rig *rig, const struct encap *encap)
{
	rig_require(!dataplane_set_encap(rig->dp, encap), "cannot set the outer sources");
	for (uint32_t pool = 0; pool < ENCAP_POOLS; pool++) {
		for (uint32_t member = 0; member < ENCAP_POOL_MEMBERS; member++) {
			struct backend backend = encap_backend(pool, member);

			rig_set_backend(rig, encap_backend_id(pool, member), &backend,
					rig->ingress);
		}
		encap_publish(rig, pool, 1);
		for (uint32_t kind = 0; kind < ENCAP_VIPS; kind++) {
			struct endpoint vip = encap_vip(kind, pool);

			rig_set_vip(rig, &vip, pool * ENCAP_VIPS + kind, pool);
		}
	}
}

/* A random client's flow to a VIP of @pool. */
static inline struct flow encap_random_flow(uint32_t pool, struct rng *rng)
{
	const uint64_t random[4] = {rng_next(rng), rng_next(rng), rng_next(rng), rng_next(rng)};
	struct endpoint vip = encap_vip((uint32_t)rng_below(rng, ENCAP_VIPS), pool);
	struct flow flow = frame_flow(vip.family, vip.protocol, random);

	memcpy(flow.destination, vip.address, sizeof(flow.destination));
	flow.destination_port = vip.port;
	return flow;
}

#endif
