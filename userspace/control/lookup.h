/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which backend a flow goes to, computed from a model alone: what the live maps
 * must say too once that model is published.
 */
#ifndef RINGLB_CONTROL_LOOKUP_H
#define RINGLB_CONTROL_LOOKUP_H

#include "config/config.h"
#include "ring/ring.h"

struct lookup_query {
	uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP or IPPROTO_SCTP */
	struct config_address source;
	struct config_address destination;
	uint16_t source_port; /* host byte order */
	uint16_t destination_port;
	/* The connection id of a QUIC packet with a short header; its length is 0 if there is none.
	 */
	uint8_t cid[CONFIG_QUIC_CID_MAX];
	size_t cid_len;
};

struct lookup_result {
	const struct config_vip *vip;
	const struct config_pool *pool;
	const struct config_backend *backend; /* NULL if no backend has a weight */
	uint64_t hash;
	uint64_t position; /* of the slot; 0 if there is no backend */
	int slot;	   /* index in the ring, -1 if there is no backend */
	/* What the connection id came to; NULL if there was none. The ID itself gives @backend. */
	const char *quic;
	const char *quic_text;
};

/**
 * lookup_hash() - XXH64 of the flow's packed 5-tuple (bpf/abi.h says how), with @seed
 * @what: of the flow's VIP; what is left out counts as zero
 */
uint64_t lookup_hash(const struct lookup_query *query, enum config_hash what, uint64_t seed);

/**
 * lookup_pool_members() - backends as the ring library takes them; free() it
 *
 * One that drains has weight 0. Return: NULL without memory.
 */
struct ring_member *lookup_pool_members(const struct config_pool *pool);

/** lookup_pool_params() - what a pool's ring depends on besides its backends */
struct ring_params lookup_pool_params(const struct config_pool *pool, uint64_t seed);

/** lookup_pool_ring() - the ring that a pool's backends make. Return: as ring_build(). */
int lookup_pool_ring(struct ring **out, const struct config_pool *pool, uint64_t seed);

/**
 * lookup_offline() - find the backend that @config gives the flow to
 * @result: pointers into @config, valid as long as that is
 *
 * Return: 0; -ENOENT if no VIP matches; -EINVAL if the two addresses are of
 * different families; -ENOMEM. On error @result is left as it was.
 */
int lookup_offline(const struct config *config, const struct lookup_query *query,
		   struct lookup_result *result);

#endif
