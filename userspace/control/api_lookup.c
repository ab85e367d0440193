/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a flow goes, by the live maps. */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "config/quic.h"
#include "config/text.h"
#include "control/api_lookup.h"
#include "control/lookup_outer.h"
#include "control/server.h"

#define HEX64_LEN 19

json_t *api_lookup_hash(uint64_t value)
{
	char text[HEX64_LEN];

	snprintf(text, sizeof(text), "0x%016" PRIx64, value);
	return json_string(text);
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

uint16_t api_lookup_member(const struct api_lookup *lookup, uint32_t id)
{
	for (size_t m = 0; m < lookup->live->ring->n_members; m++)
		if (lookup->live->ids[m] == id)
			return (uint16_t)m;
	return RING_NONE;
}

void api_lookup_place(const struct api_lookup *lookup, uint16_t member, json_t *object)
{
	const struct config_backend *backend =
		config_find_backend(lookup->pool, lookup->live->ring->members[member].name);
	char endpoint[TEXT_ENDPOINT_LEN];

	json_object_set_new(object, "address",
			    json_string(backend->port ? text_endpoint(&backend->address,
								      backend->port, endpoint)
						      : text_address(&backend->address, endpoint)));
	api_set_place(object, lookup->live, member, backend);
	json_object_set_new(object, "outer",
			    lookup_outer(&lookup->encap, &lookup->query, lookup->pool, backend));
}

json_t *api_lookup_ring(const struct api_lookup *lookup)
{
	char text[TEXT_ENDPOINT_LEN];
	const struct dataplane_match *match = &lookup->match;
	json_t *object;

	object = json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:o, s:b}", "vip",
			   text_vip(lookup->vip, text), "pool", lookup->pool->name, "forward",
			   text_forward(lookup->pool->forward), "hashed",
			   text_hash((enum config_hash)match->what), "hash",
			   api_lookup_hash(match->hash), "slot", (int)match->slot, "position",
			   api_lookup_hash(match->position), "moving", (int)match->moving);
	if (lookup->query.cid_len) {
		json_object_set_new(object, "quic", json_string(quic_count_name(lookup->quic)));
		json_object_set_new(object, "quic_text",
				    json_string(quic_count_text(lookup->quic)));
	}
	return object;
}

static json_t *find_pool(struct api *api, struct api_lookup *lookup)
{
	const struct dataplane_match *match = &lookup->match;
	const struct config_vip wanted =
		control_vip_of(&match->vip, match->prefix_len, match->last);

	lookup->vip = config_find_vip(&api->control->running, &wanted);
	if (!lookup->vip)
		return server_error("the live maps have a VIP that the running configuration lacks "
				    "(ringlb reload puts them right)");
	lookup->pool = config_find_pool(&api->control->running, lookup->vip->pool);
	lookup->live = control_find_pool(api->control, lookup->pool->name);
	return NULL;
}

json_t *api_lookup_read(struct api *api, json_t *request, struct api_lookup *lookup)
{
	json_t *refusal = parse_query(request, &lookup->query);
	struct dataplane *dp = api->control->dp;
	int err, quic;

	if (refusal)
		return refusal;
	lookup->flow = control_flow(&lookup->query);
	lookup->quic = QUIC_OTHER;
	err = dataplane_get_encap(dp, &lookup->encap);
	lookup->found = dataplane_lookup(dp, &lookup->flow, &lookup->match);
	lookup->owner = lookup->match.len ? lookup->match.backend : BACKEND_NONE;
	if (!err && lookup->found && lookup->found != -ENOENT && lookup->found != -ENODATA &&
	    lookup->found != -EBADMSG)
		err = lookup->found;
	if (!err && lookup->found != -ENOENT && lookup->query.cid_len) {
		quic = dataplane_match_quic(dp, &lookup->match, lookup->query.cid,
					    lookup->query.cid_len, &lookup->match.backend);
		if (quic < 0)
			err = quic;
		else
			lookup->quic = (enum quic_count)quic;
	}
	if (err)
		return server_error("cannot read the live maps: %s", strerror(-err));
	return lookup->found == -ENOENT ? NULL : find_pool(api, lookup);
}

/* The owner, or whom the connection id names, and whose the arc was. */
static json_t *match_json(const struct api_lookup *lookup)
{
	const struct dataplane_match *match = &lookup->match;
	json_t *object = api_lookup_ring(lookup);
	uint16_t member;

	if (match->moving) {
		member = api_lookup_member(lookup, match->previous);
		if (member != RING_NONE)
			json_object_set_new(object, "previous",
					    json_string(lookup->live->ring->members[member].name));
	}
	member = api_lookup_member(lookup, match->backend);
	if (member == RING_NONE)
		return object;
	json_object_set_new(object, "backend",
			    json_string(lookup->live->ring->members[member].name));
	api_lookup_place(lookup, member, object);
	return object;
}

json_t *api_lookup(struct api *api, json_t *request)
{
	struct api_lookup lookup = {};
	json_t *refusal = api_lookup_read(api, request, &lookup);

	if (refusal)
		return refusal;
	if (lookup.found == -ENOENT)
		return server_error("no VIP for %s/%s", api_text(request, "destination"),
				    api_text(request, "protocol"));
	if (lookup.found)
		return server_error("cannot read the live maps: %s", strerror(-lookup.found));
	if ((!lookup.match.len && lookup.quic != QUIC_ID) || lookup.match.backend == BACKEND_NONE)
		return server_error("pool '%s' has no backend with a weight above 0",
				    lookup.pool->name);
	return server_result(match_json(&lookup));
}
