/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * VIPs of all four kinds with nat backends, and a default route for their replies:
 * what the tests with random packets run against.
 */
#ifndef RINGLB_TESTS_NAT_SETUP_H
#define RINGLB_TESTS_NAT_SETUP_H

#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <netinet/in.h>

#define NAT_BACKENDS 8 /* of each family */
#define NAT_KINDS    4

struct nat_setup {
	struct endpoint vips[NAT_KINDS]; /* port 0 */
	struct backend backends[2 * NAT_BACKENDS];
	/* What the replies of the backend of the same index get, for TCP and UDP. */
	struct reply replies[2 * NAT_BACKENDS];
};

/* 02:aa:00:00:00:02 is the next hop of the default routes, 02:aa:00:00:00:01 our own. */
static const uint8_t nat_route_macs[12] = {2, 0xaa, 0, 0, 0, 2, 2, 0xaa, 0, 0, 0, 1};

static inline void nat_add_routes(void)
{
	rig_shell("ip link set rl0 address 02:aa:00:00:00:01");
	rig_shell("ip addr add 10.99.0.1/24 dev rl0 && ip addr add fd99::1/64 dev rl0 nodad");
	rig_shell("echo 1 > /proc/sys/net/ipv4/ip_forward");
	rig_shell("echo 1 > /proc/sys/net/ipv6/conf/all/forwarding");
	rig_shell("ip neigh add 10.99.0.2 lladdr 02:aa:00:00:00:02 dev rl0");
	rig_shell("ip neigh add fd99::2 lladdr 02:aa:00:00:00:02 dev rl0");
	rig_shell("ip route add default via 10.99.0.2 && ip route add default via fd99::2");
}

static inline void nat_random_address(uint32_t address[4], uint8_t family, struct rng *rng)
{
	for (int word = 0; word < (family == ENDPOINT_IPV6 ? 4 : 1); word++)
		address[word] = (uint32_t)rng_next(rng);
}

static inline void nat_add_backend(const struct rig *rig, struct nat_setup *setup, uint32_t id,
				   struct rng *rng)
{
	struct backend *backend = &setup->backends[id];
	struct reply *reply = &setup->replies[id];
	struct endpoint key = {.family = id < NAT_BACKENDS ? ENDPOINT_IPV4 : ENDPOINT_IPV6};

	backend->family = key.family;
	backend->forward = FORWARD_NAT;
	backend->port = id & 1 ? (uint16_t)(1 + rng_below(rng, 0xffff)) : 0;
	nat_random_address(backend->address, key.family, rng);
	nat_random_address(reply->address, key.family, rng);
	reply->port = id & 2 ? (uint16_t)(1 + rng_below(rng, 0xffff)) : 0;
	rig_set_backend(rig, id, backend, rig->ingress);
	memcpy(key.address, backend->address, sizeof(key.address));
	key.port = backend->port;
	key.protocol = IPPROTO_TCP;
	rig_require(dataplane_set_reply(rig->dp, &key, reply) == 0, "cannot set a reply");
	key.protocol = IPPROTO_UDP;
	rig_require(dataplane_set_reply(rig->dp, &key, reply) == 0, "cannot set a reply");
}

/* Pool 4 is of IPv4, pool 6 of IPv6. */
static inline void nat_set_up(const struct rig *rig, struct nat_setup *setup, struct rng *rng)
{
	struct ring *ring = ring_numbered(&ring_hash_xxh64, rng_next(rng), 20, NAT_BACKENDS);
	uint32_t ids[2 * NAT_BACKENDS];

	nat_add_routes();
	for (uint32_t id = 0; id < 2 * NAT_BACKENDS; id++) {
		ids[id] = id;
		nat_add_backend(rig, setup, id, rng);
	}
	rig_publish(rig, ENDPOINT_IPV4, ring, ids);
	rig_publish(rig, ENDPOINT_IPV6, ring, ids + NAT_BACKENDS);
	for (uint32_t i = 0; i < NAT_KINDS; i++) {
		struct endpoint *vip = &setup->vips[i];

		vip->family = i & 1 ? ENDPOINT_IPV6 : ENDPOINT_IPV4;
		vip->protocol = i & 2 ? IPPROTO_UDP : IPPROTO_TCP;
		nat_random_address(vip->address, vip->family, rng);
		rig_set_vip(rig, vip, i, vip->family);
	}
	ring_free(ring);
}

/* A frame of a client to a VIP, of a random kind, with random options, lengths and TTL. */
static inline void nat_random_spec(struct frame_spec *spec, const struct nat_setup *setup,
				   struct rng *rng)
{
	const uint64_t random[4] = {rng_next(rng), rng_next(rng), rng_next(rng), rng_next(rng)};
	const struct endpoint *vip = &setup->vips[rng_below(rng, NAT_KINDS)];

	*spec = (struct frame_spec){
		.flow = frame_flow(vip->family, vip->protocol, random),
		.ttl = (uint8_t)(2 + rng_below(rng, 254)),
		.options_words = rng_below(rng, 3) ? 0 : rng_below(rng, FRAME_OPTIONS_WORDS + 1),
		.payload_len = rng_below(rng, rng_below(rng, 8) ? 100 : 1400),
		.padding_len = rng_below(rng, 3) ? 0 : rng_below(rng, 30),
		.fill = rng_next(rng),
		.without_udp_checksum = vip->protocol == IPPROTO_UDP && rng_below(rng, 4) == 0,
	};
	memcpy(spec->flow.destination, vip->address, sizeof(vip->address));
}

/* The same the other way round: from a backend to the client. Returns the backend. */
static inline uint32_t nat_turn_round(struct frame_spec *spec, const struct nat_setup *setup,
				      struct rng *rng)
{
	bool ipv6 = spec->flow.family == ENDPOINT_IPV6;
	uint32_t id = (uint32_t)rng_below(rng, NAT_BACKENDS) + (ipv6 ? NAT_BACKENDS : 0);
	const struct backend *backend = &setup->backends[id];

	memcpy(spec->flow.destination, spec->flow.source, sizeof(spec->flow.source));
	memcpy(spec->flow.source, backend->address, sizeof(spec->flow.source));
	if (backend->port)
		spec->flow.source_port = backend->port;
	return id;
}

#endif
