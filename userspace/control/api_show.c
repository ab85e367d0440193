/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that only look. */
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <errno.h>
#include "config/text.h"
#include "control/api.h"
#include "control/server.h"

#define HEX64_LEN      19
#define MAC_LEN	       18
#define WEIGHT_SUM_LEN 32

static const char *hex64(uint64_t value, char out[HEX64_LEN])
{
	snprintf(out, HEX64_LEN, "0x%016" PRIx64, value);
	return out;
}

static json_t *interface_json(struct api *api, const struct config_interface *interface)
{
	struct dataplane_attachment attachment;
	uint32_t ifindex = if_nametoindex(interface->name);

	if (!ifindex || dataplane_attachment(api->control->dp, ifindex, &attachment))
		return json_pack("{s:s, s:i, s:s, s:s}", "name", interface->name, "ifindex",
				 (int)ifindex, "mode", text_mode(interface->mode), "attach",
				 "missing");
	return json_pack("{s:s, s:i, s:s, s:s}", "name", interface->name, "ifindex", (int)ifindex,
			 "mode", attachment.mode == DATAPLANE_GENERIC ? "generic" : "native",
			 "attach", attachment.shared ? "dispatcher" : "single");
}

static json_t *pool_json(struct api *api, const struct config_pool *pool)
{
	const struct control_pool *live = control_find_pool(api->control, pool->name);
	char weight[WEIGHT_SUM_LEN];
	uint64_t sum = 0;

	/* The sum may pass what text_weight() is for. */
	for (size_t b = 0; b < pool->n_backends; b++)
		sum += pool->backends[b].weight_milli;
	snprintf(weight, sizeof(weight), "%g", (double)sum / CONFIG_WEIGHT_ONE);
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:s}", "name", pool->name, "forward",
			 text_forward(pool->forward), "vnodes", (int)pool->vnodes, "positions",
			 (int)live->ring->len, "backends", (int)pool->n_backends, "weight", weight);
}

static json_t *pools_json(struct api *api)
{
	const struct config *running = &api->control->running;
	json_t *list = json_array();

	for (size_t p = 0; p < running->n_pools; p++)
		json_array_append_new(list, pool_json(api, &running->pools[p]));
	return list;
}

json_t *api_status(struct api *api, json_t *request)
{
	const struct control *control = api->control;
	const struct config *running = &control->running;
	json_t *interfaces = json_array();
	struct timespec now;
	size_t backends = 0;

	(void)request;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (size_t i = 0; i < running->n_interfaces; i++)
		json_array_append_new(interfaces, interface_json(api, &running->interfaces[i]));
	for (size_t p = 0; p < running->n_pools; p++)
		backends += running->pools[p].n_backends;
	return server_result(json_pack(
		"{s:s, s:i, s:I, s:s, s:b, s:s, s:o, s:o, s:i, s:i}", "version", RINGLB_VERSION,
		"pid", (int)getpid(), "uptime_s", (json_int_t)(now.tv_sec - api->started), "config",
		control->config_path, "changed", (int)control->changed, "pin_dir",
		control->options.pin_dir, "interfaces", interfaces, "pools", pools_json(api),
		"vips", (int)running->n_vips, "backends", (int)backends));
}

json_t *api_vip(struct api *api, const struct config_vip *vip)
{
	struct counter count = {};
	char text[TEXT_ENDPOINT_LEN], address[TEXT_ADDRESS_LEN];
	uint32_t id = ids_find(&api->control->vip_ids, text_vip(vip, text));

	dataplane_count_vip(api->control->dp, id, &count);
	return json_pack("{s:s, s:s, s:s, s:i, s:s, s:I, s:I}", "vip", text, "address",
			 text_address(&vip->address, address), "protocol",
			 text_protocol(vip->protocol), "port", (int)vip->port, "pool", vip->pool,
			 "packets", (json_int_t)count.packets, "bytes", (json_int_t)count.bytes);
}

json_t *api_vips(struct api *api)
{
	const struct config *running = &api->control->running;
	json_t *list = json_array();

	for (size_t v = 0; v < running->n_vips; v++)
		json_array_append_new(list, api_vip(api, &running->vips[v]));
	return list;
}

json_t *api_vip_list(struct api *api, json_t *request)
{
	(void)request;
	return server_result(api_vips(api));
}

json_t *api_pool_list(struct api *api, json_t *request)
{
	(void)request;
	return server_result(pools_json(api));
}

static const char *state_text(const struct nexthop_info *info, uint32_t weight_milli)
{
	static const char *const texts[] = {
		[NEXTHOP_RESOLVED] = "up",
		[NEXTHOP_RESOLVING] = "resolving",
		[NEXTHOP_NO_ROUTE] = "no-route",
		[NEXTHOP_LOCAL] = "local",
		[NEXTHOP_NOT_ETHERNET] = "not-ethernet",
	};

	if (info->state == NEXTHOP_RESOLVED && !weight_milli)
		return "no-weight";
	return texts[info->state];
}

static json_t *interface_name(const struct nexthop_info *info)
{
	char name[IF_NAMESIZE];

	if (!info->ifindex || !if_indextoname(info->ifindex, name))
		return json_null();
	return json_string(name);
}

static json_t *mac_text(const struct nexthop_info *info)
{
	const uint8_t *mac = info->destination;
	char text[MAC_LEN];

	if (info->state != NEXTHOP_RESOLVED)
		return json_null();
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return json_string(text);
}

/* The backend at @member of the live ring; @shares are those of the whole pool. */
static json_t *backend_json(struct api *api, const struct config_pool *pool,
			    const struct config_backend *backend, const ring_length *shares)
{
	const struct control_pool *live = control_find_pool(api->control, pool->name);
	uint16_t member = ring_find_member(live->ring, backend->name);
	const struct nexthop_info *info = &live->nexthops[member];
	char endpoint[TEXT_ENDPOINT_LEN], weight[TEXT_WEIGHT_LEN];
	struct counter count = {};

	dataplane_count_backend(api->control->dp, live->ids[member], &count);
	return json_pack("{s:s, s:s, s:s, s:s, s:f, s:s, s:o, s:o, s:I, s:I}", "pool", pool->name,
			 "name", backend->name, "address",
			 backend->port ? text_endpoint(&backend->address, backend->port, endpoint)
				       : text_address(&backend->address, endpoint),
			 "weight", text_weight(backend->weight_milli, weight), "share",
			 ring_share(live->ring, shares[member]), "state",
			 state_text(info, backend->weight_milli), "interface", interface_name(info),
			 "mac", mac_text(info), "packets", (json_int_t)count.packets, "bytes",
			 (json_int_t)count.bytes);
}

static ring_length *pool_shares(struct api *api, const struct config_pool *pool)
{
	const struct control_pool *live = control_find_pool(api->control, pool->name);
	ring_length *shares = calloc(live->ring->n_members + 1, sizeof(*shares));

	if (shares)
		ring_shares(live->ring, shares);
	return shares;
}

json_t *api_backend(struct api *api, const struct config_pool *pool, size_t index)
{
	ring_length *shares = pool_shares(api, pool);
	json_t *object = NULL;

	if (shares)
		object = backend_json(api, pool, &pool->backends[index], shares);
	free(shares);
	return object;
}

json_t *api_backends(struct api *api, const struct config_pool *only)
{
	const struct config *running = &api->control->running;
	json_t *list = json_array();

	for (size_t p = 0; p < running->n_pools; p++) {
		const struct config_pool *pool = &running->pools[p];
		ring_length *shares;

		if (only && only != pool)
			continue;
		shares = pool_shares(api, pool);
		for (size_t b = 0; shares && b < pool->n_backends; b++)
			json_array_append_new(list,
					      backend_json(api, pool, &pool->backends[b], shares));
		free(shares);
	}
	return list;
}

json_t *api_backend_list(struct api *api, json_t *request)
{
	const char *name = api_text(request, "pool");
	const struct config_pool *only = NULL;

	if (name) {
		only = config_find_pool(&api->control->running, name);
		if (!only)
			return server_error("there is no pool '%s'", name);
	}
	return server_result(api_backends(api, only));
}

static json_t *parse_query(json_t *request, struct lookup_query *query)
{
	const char *source = api_text(request, "source");
	const char *destination = api_text(request, "destination");

	if (text_parse_protocol(api_text(request, "protocol"), &query->protocol))
		return server_error("protocol must be tcp or udp, got '%s'",
				    api_text(request, "protocol"));
	if (text_parse_endpoint(source, &query->source, &query->source_port))
		return server_error("source must be ADDRESS:PORT, got '%s'", source);
	if (text_parse_endpoint(destination, &query->destination, &query->destination_port))
		return server_error("destination must be ADDRESS:PORT, got '%s'", destination);
	if (query->source.family != query->destination.family)
		return server_error("source and destination are of different address families");
	return NULL;
}

static void add_backend(struct api *api, const struct dataplane_match *match,
			const struct config_pool *pool, json_t *object)
{
	const struct control_pool *live = control_find_pool(api->control, pool->name);

	for (size_t m = 0; m < live->ring->n_members; m++) {
		const struct config_backend *backend;
		char endpoint[TEXT_ENDPOINT_LEN];

		if (live->ids[m] != match->backend)
			continue;
		backend = config_find_backend(pool, live->ring->members[m].name);
		json_object_set_new(object, "backend", json_string(backend->name));
		json_object_set_new(
			object, "address",
			json_string(backend->port ? text_endpoint(&backend->address, backend->port,
								  endpoint)
						  : text_address(&backend->address, endpoint)));
		json_object_set_new(
			object, "state",
			json_string(state_text(&live->nexthops[m], backend->weight_milli)));
		json_object_set_new(object, "interface", interface_name(&live->nexthops[m]));
		json_object_set_new(object, "mac", mac_text(&live->nexthops[m]));
	}
}

static json_t *match_json(struct api *api, const struct lookup_query *query,
			  const struct dataplane_match *match)
{
	struct config_vip wanted = {
		.address = query->destination,
		.protocol = query->protocol,
		.port = match->vip.port ? query->destination_port : 0,
	};
	const struct config_vip *vip = config_find_vip(&api->control->running, &wanted);
	char hash[HEX64_LEN], position[HEX64_LEN], text[TEXT_ENDPOINT_LEN];
	const struct config_pool *pool;
	json_t *object;

	if (!vip)
		return server_error("the live maps have a VIP that the running configuration lacks "
				    "(ringlb reload puts them right)");
	pool = config_find_pool(&api->control->running, vip->pool);
	if (!match->len)
		return server_error("pool '%s' has no backend with a weight above 0", pool->name);
	object = json_pack("{s:s, s:s, s:s, s:s, s:i, s:s}", "vip", text_vip(vip, text), "pool",
			   pool->name, "forward", text_forward(pool->forward), "hash",
			   hex64(match->hash, hash), "slot", (int)match->slot, "position",
			   hex64(match->position, position));
	add_backend(api, match, pool, object);
	return server_result(object);
}

json_t *api_lookup(struct api *api, json_t *request)
{
	struct lookup_query query = {};
	struct dataplane_match match;
	json_t *refusal = parse_query(request, &query);
	struct flow flow;
	int err;

	if (refusal)
		return refusal;
	flow = control_flow(&query);
	err = dataplane_lookup(api->control->dp, &flow, &match);
	if (err == -ENOENT)
		return server_error("no VIP for %s/%s", api_text(request, "destination"),
				    api_text(request, "protocol"));
	if (err)
		return server_error("cannot read the live maps: %s", strerror(-err));
	return match_json(api, &query, &match);
}

json_t *api_stats(struct api *api, json_t *request)
{
	json_t *verdicts = json_array();

	(void)request;
	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++) {
		uint64_t packets = 0;

		dataplane_count_verdict(api->control->dp, verdict, &packets);
		json_array_append_new(
			verdicts, json_pack("{s:s, s:s, s:s, s:I}", "name", verdict_name(verdict),
					    "action", verdict_action(verdict), "text",
					    verdict_text(verdict), "packets", (json_int_t)packets));
	}
	return server_result(json_pack("{s:o, s:o, s:o}", "verdicts", verdicts, "vips",
				       api_vips(api), "backends", api_backends(api, NULL)));
}
