/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a flow goes where it goes, or does not: each stage of its packets' way, by the live maps. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "config/match.h"
#include "config/text.h"
#include "control/api_lookup.h"
#include "control/change.h"
#include "control/server.h"
#include "control/why.h"

static json_t *member_name(const struct api_lookup *lookup, uint32_t id)
{
	uint16_t member = id == BACKEND_NONE ? RING_NONE : api_lookup_member(lookup, id);

	if (member == RING_NONE)
		return json_null();
	return json_string(lookup->live->ring->members[member].name);
}

static json_t *moving_json(const struct api_lookup *lookup)
{
	const struct dataplane_match *match = &lookup->match;
	ptrdiff_t at = moves_find(&lookup->live->moves, match->hash);
	int64_t now_ms = control_now_ms(), until_ms = 0;
	bool tcp = lookup->query.protocol == IPPROTO_TCP;

	if (!match->len || !match->moving)
		return json_null();
	if (at >= 0)
		until_ms = tcp ? lookup->live->moves.list[at].tcp_until_ms
			       : lookup->live->moves.list[at].other_until_ms;
	return json_pack("{s:o, s:b, s:I}", "previous", member_name(lookup, match->previous),
			 "learning",
			 (match->flags & (tcp ? MOVE_LEARN_TCP : MOVE_LEARN_OTHER)) != 0,
			 "learning_s", api_left_s(until_ms, now_ms));
}

static json_t *arc_json(const struct api_lookup *lookup)
{
	const struct dataplane_match *match = &lookup->match;

	if (!match->len)
		return json_null();
	return json_pack("{s:o, s:o, s:f, s:o, s:o}", "first", api_lookup_hash(match->first),
			 "last", api_lookup_hash(match->position), "share",
			 (double)(match->position - match->first + 1) / 0x1p64, "owner",
			 member_name(lookup, lookup->owner), "moving", moving_json(lookup));
}

static json_t *memory_json(const struct api_lookup *lookup, const struct dataplane_memory *memory)
{
	const char *void_by = NULL;

	if (!memory->table)
		return json_null();
	if (memory->gone)
		void_by = "its backend is gone";
	else if (memory->left_s <= 0)
		void_by = "it has expired";
	else if (memory->other_pool)
		void_by = "the VIP led to another pool";
	return json_pack("{s:s, s:o, s:I, s:I, s:s?}", "table", memory->table, "backend",
			 member_name(lookup, memory->backend), "idle_s", (json_int_t)memory->idle_s,
			 "left_s", (json_int_t)memory->left_s, "void", void_by);
}

/* Whose packets the program sees: which interface they come in by matters to the verdict. */
static json_t *interfaces_json(struct api *api)
{
	const struct config *running = &api->control->running;
	struct dataplane_attachment attachment;
	json_t *list = json_array();

	for (size_t i = 0; i < running->n_interfaces; i++) {
		uint32_t ifindex = if_nametoindex(running->interfaces[i].name);
		bool attached =
			ifindex && !dataplane_attachment(api->control->dp, ifindex, &attachment);

		json_array_append_new(list,
				      json_pack("{s:s, s:b}", "name", running->interfaces[i].name,
						"attached", (int)attached));
	}
	return list;
}

/* Kinds of packets that may go different ways: of TCP, those that open a flow and the others. */
static json_t *cases_json(struct api *api, const struct api_lookup *lookup,
			  const struct dataplane_memory *memory)
{
	bool tcp = lookup->query.protocol == IPPROTO_TCP;
	json_t *list = json_array();

	if (!tcp || !lookup->match.len || !lookup->match.moving) {
		json_array_append_new(list, why_case(api, lookup, memory, "any", false));
		return list;
	}
	json_array_append_new(list, why_case(api, lookup, memory, "syn", true));
	json_array_append_new(list, why_case(api, lookup, memory, "later", false));
	return list;
}

static json_t *vip_match_json(const struct api_lookup *lookup)
{
	const struct config_vip *vip = lookup->vip;
	char address[TEXT_PREFIX_LEN], ports[TEXT_PORTS_LEN];

	return json_pack("{s:s, s:s}", "address",
			 text_prefix(&vip->address, vip->prefix_len, address), "ports",
			 text_ports(vip->port, vip->port_last, ports));
}

static json_t *to_vip(struct api *api, const struct api_lookup *lookup)
{
	struct dataplane_memory memory = {};
	json_t *object;
	int err;

	/* Nobody asks the flow tables for a settled arc. */
	if (lookup->match.len && lookup->match.moving && lookup->quic != QUIC_ID) {
		err = dataplane_recall(api->control->dp, &lookup->flow, lookup->match.pool,
				       &memory);
		if (err && err != -ENOENT)
			return server_error("cannot read the flow tables: %s", strerror(-err));
	}
	object = api_lookup_ring(lookup);
	json_object_set_new(object, "matched", vip_match_json(lookup));
	json_object_set_new(object, "positions", json_integer(lookup->match.len));
	json_object_set_new(object, "arc", arc_json(lookup));
	json_object_set_new(object, "remembered", memory_json(lookup, &memory));
	json_object_set_new(object, "quic_ids_count", json_boolean(lookup->match.quic));
	json_object_set_new(object, "cases", cases_json(api, lookup, &memory));
	return server_result(object);
}

/* VIPs at the flow's destination that have another port or protocol. */
static json_t *near_json(const struct api *api, const struct lookup_query *query)
{
	const struct config *running = &api->control->running;
	json_t *list = json_array();
	char text[TEXT_ENDPOINT_LEN];

	for (size_t v = 0; v < running->n_vips; v++)
		if (config_vip_has_address(&running->vips[v], &query->destination))
			json_array_append_new(list, json_string(text_vip(&running->vips[v], text)));
	return list;
}

static json_t *reply_json(const struct reply *reply, const struct api_lookup *lookup)
{
	struct config_address address = {.family = lookup->query.source.family};
	uint16_t port = reply->port ? ntohs(reply->port) : lookup->query.source_port;
	char text[TEXT_ENDPOINT_LEN];

	memcpy(address.bytes, reply->address, sizeof(address.bytes));
	return json_pack("{s:s}", "source", text_endpoint(&address, port, text));
}

static json_t *to_nobody(struct api *api, const struct api_lookup *lookup)
{
	struct reply reply;
	int err = dataplane_find_reply(api->control->dp, &lookup->flow, &reply);

	if (err && err != -ENOENT)
		return server_error("cannot read the live maps: %s", strerror(-err));
	return server_result(json_pack("{s:n, s:o, s:o, s:[o]}", "vip", "near",
				       near_json(api, &lookup->query), "reply",
				       err ? json_null() : reply_json(&reply, lookup), "cases",
				       err ? why_not_vip(api, lookup) : why_reply(api)));
}

json_t *api_why(struct api *api, json_t *request)
{
	struct api_lookup lookup = {};
	json_t *answer = api_lookup_read(api, request, &lookup), *result;

	if (answer)
		return answer;
	answer = lookup.found == -ENOENT ? to_nobody(api, &lookup) : to_vip(api, &lookup);
	result = json_object_get(answer, "result");
	if (!result)
		return answer;
	json_object_set_new(result, "generation",
			    json_integer((json_int_t)api->control->generation));
	json_object_set_new(result, "interfaces", interfaces_json(api));
	return answer;
}
