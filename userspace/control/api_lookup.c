/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a flow goes, by the live maps. */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "config/quic.h"
#include "config/text.h"
#include "control/api.h"
#include "control/lookup_outer.h"
#include "control/server.h"

#define HEX64_LEN 19

static const char *hex64(uint64_t value, char out[HEX64_LEN])
{
	snprintf(out, HEX64_LEN, "0x%016" PRIx64, value);
	return out;
}

static json_t *parse_cid(json_t *request, struct lookup_query *query)
{
	const char *cid = api_text(request, "quic_cid");

	if (!cid)
		return NULL;
	if (config_quic_parse_cid(cid, query->cid, &query->cid_len))
		return server_error("quic_cid " CONFIG_MUST_QUIC_CID ", got '%s'", cid);
	if (query->protocol != IPPROTO_UDP)
		return server_error("quic_cid goes with protocol udp only");
	return NULL;
}

static json_t *parse_query(json_t *request, struct lookup_query *query)
{
	const char *source = api_text(request, "source");
	const char *destination = api_text(request, "destination");

	if (text_parse_protocol(api_text(request, "protocol"), &query->protocol))
		return server_error("protocol must be tcp, udp or sctp, got '%s'",
				    api_text(request, "protocol"));
	if (text_parse_endpoint(source, &query->source, &query->source_port))
		return server_error("source must be ADDRESS:PORT, got '%s'", source);
	if (text_parse_endpoint(destination, &query->destination, &query->destination_port))
		return server_error("destination must be ADDRESS:PORT, got '%s'", destination);
	if (query->source.family != query->destination.family)
		return server_error("source and destination are of different address families");
	return parse_cid(request, query);
}

static void add_backend(struct api *api, const struct lookup_query *query,
			const struct dataplane_match *match, const struct encap *encap,
			const struct config_pool *pool, json_t *object)
{
	const struct control_pool *live = control_find_pool(api->control, pool->name);

	for (size_t m = 0; m < live->ring->n_members; m++) {
		const struct config_backend *backend;
		char endpoint[TEXT_ENDPOINT_LEN];

		if (match->moving && live->ids[m] == match->previous)
			json_object_set_new(object, "previous",
					    json_string(live->ring->members[m].name));
		if (live->ids[m] != match->backend)
			continue;
		backend = config_find_backend(pool, live->ring->members[m].name);
		json_object_set_new(object, "backend", json_string(backend->name));
		json_object_set_new(
			object, "address",
			json_string(backend->port ? text_endpoint(&backend->address, backend->port,
								  endpoint)
						  : text_address(&backend->address, endpoint)));
		api_set_place(object, live, (uint16_t)m, backend);
		json_object_set_new(object, "outer", lookup_outer(encap, query, pool, backend));
	}
}

/* @quic: what the query's connection id came to, if it has one. */
static json_t *match_json(struct api *api, const struct lookup_query *query,
			  const struct dataplane_match *match, const struct encap *encap, int quic)
{
	const struct config_vip wanted =
		control_vip_of(&match->vip, match->prefix_len, match->last);
	const struct config_vip *vip = config_find_vip(&api->control->running, &wanted);
	char hash[HEX64_LEN], position[HEX64_LEN], text[TEXT_ENDPOINT_LEN];
	const struct config_pool *pool;
	json_t *object;

	if (!vip)
		return server_error("the live maps have a VIP that the running configuration lacks "
				    "(ringlb reload puts them right)");
	pool = config_find_pool(&api->control->running, vip->pool);
	if ((!match->len && quic != QUIC_ID) || match->backend == BACKEND_NONE)
		return server_error("pool '%s' has no backend with a weight above 0", pool->name);
	object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:b}", "vip", text_vip(vip, text),
			   "pool", pool->name, "forward", text_forward(pool->forward), "hashed",
			   text_hash((enum config_hash)match->what), "hash",
			   hex64(match->hash, hash), "slot", (int)match->slot, "position",
			   hex64(match->position, position), "moving", (int)match->moving);
	if (query->cid_len) {
		json_object_set_new(object, "quic", json_string(quic_count_name(quic)));
		json_object_set_new(object, "quic_text", json_string(quic_count_text(quic)));
	}
	add_backend(api, query, match, encap, pool, object);
	return server_result(object);
}

json_t *api_lookup(struct api *api, json_t *request)
{
	struct lookup_query query = {};
	struct dataplane_match match;
	struct encap encap;
	json_t *refusal = parse_query(request, &query);
	int err, quic = QUIC_OTHER;
	struct flow flow;

	if (refusal)
		return refusal;
	flow = control_flow(&query);
	err = dataplane_lookup(api->control->dp, &flow, &match);
	if (err == -ENOENT)
		return server_error("no VIP for %s/%s", api_text(request, "destination"),
				    api_text(request, "protocol"));
	if (!err && query.cid_len) {
		quic = dataplane_match_quic(api->control->dp, &match, query.cid, query.cid_len,
					    &match.backend);
		err = quic < 0 ? quic : 0;
	}
	if (!err)
		err = dataplane_get_encap(api->control->dp, &encap);
	if (err)
		return server_error("cannot read the live maps: %s", strerror(-err));
	return match_json(api, &query, &match, &encap, quic);
}
