/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `lookup` and `why` share: a flow as asked about, and what the live maps say of it. */
#ifndef RINGLB_CONTROL_API_LOOKUP_H
#define RINGLB_CONTROL_API_LOOKUP_H

#include "control/api.h"

/**
 * struct api_lookup - a flow, and where the maps lead it
 * @found: of dataplane_lookup(): 0, -ENOENT if no VIP matches, -ENODATA, -EBADMSG
 * @match: as far as it was found; its backend is the owner, or whom the connection id names
 * @owner: id of the arc's owner
 * @quic: what comes of the query's connection id, if it has one
 * @vip, @pool: of the running configuration; NULL if no VIP matches
 * @live: of @pool
 */
struct api_lookup {
	struct lookup_query query;
	struct flow flow;
	struct encap encap;
	int found;
	struct dataplane_match match;
	uint32_t owner;
	enum quic_count quic;
	const struct config_vip *vip;
	const struct config_pool *pool;
	const struct control_pool *live;
};

/** api_lookup_read() - fill @lookup for a request. Return: NULL, or the answer that refuses it. */
json_t *api_lookup_read(struct api *api, json_t *request, struct api_lookup *lookup);

/** api_lookup_hash() - as hashes travel: "0x" and 16 digits */
json_t *api_lookup_hash(uint64_t value);

/** api_lookup_ring() - members `vip` to `moving` of the answer; only if it was found */
json_t *api_lookup_ring(const struct api_lookup *lookup);

/** api_lookup_member() - the member of the live ring with this id, or RING_NONE */
uint16_t api_lookup_member(const struct api_lookup *lookup, uint32_t id);

/** api_lookup_place() - add `address`, `state`, `interface`, `mac`, `outer` of a backend */
void api_lookup_place(const struct api_lookup *lookup, uint16_t member, json_t *object);

#endif
