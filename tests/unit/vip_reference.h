/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which VIP a packet is for, the obvious way: every prefix length from the longest, for
 * each every number of ports from the fewest, for each every VIP. And random sets of
 * VIPs in a small world, where prefixes and ranges lie within each other all the time.
 */
#ifndef RINGLB_TESTS_VIP_REFERENCE_H
#define RINGLB_TESTS_VIP_REFERENCE_H

#include <netinet/in.h>
#include <stdbool.h>

#include "config/config.h"
#include "tests/unit/ring_reference.h"

struct packet_to {
	struct config_address address;
	uint8_t protocol;
	uint16_t port;
};

static inline int all_bits(const struct config_address *address)
{
	return address->family == AF_INET ? 32 : 128;
}

static inline bool bit_of(const struct config_address *address, int i)
{
	return address->bytes[i / 8] >> (7 - i % 8) & 1;
}

static inline bool same_bits(const struct config_address *a, const struct config_address *b,
			     int bits)
{
	if (a->family != b->family)
		return false;
	for (int i = 0; i < bits; i++)
		if (bit_of(a, i) != bit_of(b, i))
			return false;
	return true;
}

/* The ports of a VIP, any being all of them. */
static inline int first_port(const struct config_vip *vip)
{
	return vip->port;
}

static inline int last_port(const struct config_vip *vip)
{
	return vip->port_last ? vip->port_last : vip->port ? vip->port : 65535;
}

static inline int prefix_of(const struct config_vip *vip)
{
	return vip->prefix_len ? vip->prefix_len : all_bits(&vip->address);
}

static inline bool fits(const struct config_vip *vip, const struct packet_to *packet)
{
	return vip->protocol == packet->protocol && first_port(vip) <= packet->port &&
	       packet->port <= last_port(vip) &&
	       same_bits(&vip->address, &packet->address, prefix_of(vip));
}

/* Widths that no VIP has are skipped, or this would take a minute a packet. */
static inline const struct config_vip *vip_by_walk(const struct config *config,
						   const struct packet_to *packet)
{
	for (int bits = 128; bits > 0; bits--) {
		const struct config_vip *best = NULL;

		for (size_t i = 0; i < config->n_vips; i++) {
			const struct config_vip *vip = &config->vips[i];

			if (prefix_of(vip) != bits || !fits(vip, packet))
				continue;
			if (!best ||
			    last_port(vip) - first_port(vip) < last_port(best) - first_port(best))
				best = vip;
		}
		if (best)
			return best;
	}
	return NULL;
}

static inline struct config_address random_address(struct rng *rng)
{
	struct config_address address = {.family = rng_next(rng) & 1 ? AF_INET : AF_INET6};
	int len = address.family == AF_INET ? 4 : 16;

	/* Bytes of two values, the later ones mostly of one, so that prefixes meet. */
	address.bytes[0] = address.family == AF_INET ? 10 : 0x20;
	for (int i = 1; i < len; i++)
		address.bytes[i] = rng_below(rng, i < len - 1 ? 16 : 2) ? 0 : 0x81;
	return address;
}

static inline uint16_t random_port(struct rng *rng)
{
	static const uint16_t ports[] = {0, 1, 2, 80, 81, 999, 1000, 1001, 1500, 65534, 65535};

	return rng_below(rng, 8) ? ports[rng_below(rng, ARRAY_LEN(ports))]
				 : (uint16_t)rng_next(rng);
}

static inline uint8_t random_protocol(struct rng *rng)
{
	static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP};

	return protocols[rng_below(rng, ARRAY_LEN(protocols))];
}

static inline struct config_vip random_vip(struct rng *rng)
{
	struct config_vip vip = {
		.address = random_address(rng),
		.protocol = random_protocol(rng),
		.port = random_port(rng),
	};
	static const int lengths[2][5] = {{8, 16, 24, 27, 31}, {16, 48, 64, 121, 127}};
	int all = all_bits(&vip.address);
	int bits = rng_below(rng, 3) ? lengths[all == 128][rng_below(rng, 5)] : all;
	uint16_t last = random_port(rng);

	for (int i = bits; i < all; i++)
		vip.address.bytes[i / 8] &= ~(0x80 >> i % 8);
	vip.prefix_len = bits == all ? 0 : bits;
	if (vip.port && last && last != vip.port && rng_below(rng, 4)) {
		vip.port_last = last > vip.port ? last : vip.port;
		vip.port = last > vip.port ? vip.port : last;
	}
	return vip;
}

/* Near a VIP of @config, or anywhere. */
static inline struct packet_to random_packet_to(const struct config *config, struct rng *rng)
{
	struct packet_to packet = {random_address(rng), random_protocol(rng), random_port(rng)};
	const struct config_vip *vip;
	int all, flip;

	if (!config->n_vips || !rng_below(rng, 4))
		return packet;
	vip = &config->vips[rng_below(rng, config->n_vips)];
	packet.address = vip->address;
	packet.protocol = vip->protocol;
	/* The bit that decides if the prefix has it, and one behind that. */
	all = all_bits(&vip->address);
	flip = prefix_of(vip) - 1 + (int)rng_below(rng, 3);
	if (flip < all && flip >= 8 && rng_next(rng) & 1)
		packet.address.bytes[flip / 8] ^= 0x80 >> flip % 8;
	if (rng_next(rng) & 1)
		packet.port = (uint16_t)(first_port(vip) - 1 + (int)rng_below(rng, 3));
	else if (rng_next(rng) & 1)
		packet.port = (uint16_t)(last_port(vip) - 1 + (int)rng_below(rng, 3));
	return packet;
}

#endif
