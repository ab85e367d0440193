/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "config/match.h"
#include "control/lookup.h"
#include "dataplane/dataplane.h"

/* 16 + 16 address bytes, two ports, the protocol. */
#define KEY_LEN_MAX 37

static size_t append(uint8_t *key, size_t at, const void *bytes, size_t len)
{
	memcpy(key + at, bytes, len);
	return at + len;
}

uint64_t lookup_hash(const struct lookup_query *query, enum config_hash what, uint64_t seed)
{
	size_t address_len = query->source.family == AF_INET6 ? 16 : 4, len = 0;
	uint16_t source_port = htons(query->source_port);
	uint16_t destination_port = htons(query->destination_port);
	uint8_t key[KEY_LEN_MAX];

	len = append(key, len, query->source.bytes, address_len);
	len = append(key, len, query->destination.bytes, address_len);
	len = append(key, len, &source_port, sizeof(source_port));
	len = append(key, len, &destination_port, sizeof(destination_port));
	len = append(key, len, &query->protocol, sizeof(query->protocol));
	if (what == CONFIG_HASH_SOURCE)
		memset(key + address_len, 0, len - address_len);
	else if (what == CONFIG_HASH_SOURCE_PORT_LESS)
		memset(key + 2 * address_len, 0, sizeof(source_port));
	return XXH64(key, len, seed);
}

struct ring_params lookup_pool_params(const struct config_pool *pool, uint64_t seed)
{
	return (struct ring_params){
		.hash = &ring_hash_xxh64,
		.seed = seed,
		.placement = pool->placement == CONFIG_CAPPED ? RING_CAPPED : RING_PLAIN,
		.vnodes = pool->vnodes,
		.cells = pool->cells,
		.epsilon_milli = pool->epsilon_milli,
	};
}

int lookup_pool_ring(struct ring **out, const struct config_pool *pool, uint64_t seed)
{
	struct ring_params params = lookup_pool_params(pool, seed);
	struct ring_member *members = lookup_pool_members(pool);
	int err;

	if (!members)
		return -ENOMEM;
	err = ring_build(out, &params, members, pool->n_backends);
	free(members);
	return err;
}

struct ring_member *lookup_pool_members(const struct config_pool *pool)
{
	struct ring_member *members = calloc(pool->n_backends + 1, sizeof(*members));

	for (size_t b = 0; members && b < pool->n_backends; b++) {
		snprintf(members[b].name, sizeof(members[b].name), "%s", pool->backends[b].name);
		if (pool->backends[b].drain == CONFIG_NO_DRAIN)
			members[b].weight_milli = pool->backends[b].weight_milli;
	}
	return members;
}

/* As packets are read: abi.h says what the octets of a connection id are. */
static enum quic_count lookup_cid(const struct lookup_query *query, const struct config_pool *pool,
				  const struct config_backend **backend)
{
	uint8_t config = QUIC_CONFIG(query->cid[0]);
	enum quic_count found = QUIC_UNROUTABLE;

	for (size_t b = 0; b < pool->n_backends && config < QUIC_CONFIGS; b++) {
		const struct config_quic_id *id = &pool->backends[b].quic_ids[config];

		if (!id->len || id->len >= query->cid_len)
			continue;
		found = QUIC_UNKNOWN;
		if (memcmp(id->bytes, query->cid + 1, id->len) != 0)
			continue;
		*backend = &pool->backends[b];
		return QUIC_ID;
	}
	return found;
}

int lookup_offline(const struct config *config, const struct lookup_query *query,
		   struct lookup_result *result)
{
	struct lookup_result found = {.slot = -1};
	struct ring *ring = NULL;
	int err;

	if (query->source.family != query->destination.family)
		return -EINVAL;
	found.vip = config_match_vip(config, &query->destination, query->protocol,
				     query->destination_port);
	if (!found.vip)
		return -ENOENT;
	found.pool = config_find_pool(config, found.vip->pool);
	found.hash = lookup_hash(query, found.vip->hash, config->seed);
	err = lookup_pool_ring(&ring, found.pool, config->seed);
	if (err)
		return err;
	found.slot = ring_search(ring, found.hash);
	if (found.slot >= 0) {
		found.position = ring->positions[found.slot];
		found.backend = config_find_backend(found.pool,
						    ring->members[ring->owners[found.slot]].name);
	} else {
		found.slot = -1;
	}
	ring_free(ring);
	if (query->cid_len) {
		enum quic_count count = lookup_cid(query, found.pool, &found.backend);

		found.quic = quic_count_name(count);
		found.quic_text = quic_count_text(count);
	}
	*result = found;
	return 0;
}
