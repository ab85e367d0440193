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
#include "config/match.h"
#include "config/model.h"
#include "config/quic.h"
#include "config/text.h"
#include "control/api.h"
#include "control/change.h"
#include "control/server.h"

#define HEX64_LEN      19
#define WEIGHT_SUM_LEN 32

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

json_t *api_config(struct api *api, json_t *request)
{
	json_t *result;
	size_t len_bytes;
	char *text;

	(void)request;
	if (config_format(&api->control->running, &text, &len_bytes))
		return server_error("out of memory");
	result = server_result(json_pack("{s:s#}", "yaml", text, (int)len_bytes));
	free(text);
	return result;
}

/* A number that may not be given, or known, which is 0. */
static json_t *known(uint32_t number)
{
	return number ? json_integer(number) : json_null();
}

static json_t *pool_json(struct api *api, const struct config_pool *pool)
{
	const struct control_pool *live = control_find_pool(api->control, pool->name);
	char weight[WEIGHT_SUM_LEN];
	uint16_t mtu = 0, one;
	uint64_t sum = 0;

	/* The sum may pass what text_weight() is for. */
	for (size_t b = 0; b < pool->n_backends; b++)
		sum += pool->backends[b].weight_milli;
	for (size_t m = 0; m < live->ring->n_members; m++) {
		one = control_mtu(pool, &live->nexthops[m]);
		mtu = one && (!mtu || one < mtu) ? one : mtu;
	}
	snprintf(weight, sizeof(weight), "%g", (double)sum / CONFIG_WEIGHT_ONE);
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:o, s:o, s:o, s:o}", "name",
			 pool->name, "forward", text_forward(pool->forward), "placement",
			 text_placement(pool->placement), "vnodes", (int)pool->vnodes, "positions",
			 (int)live->ring->len, "backends", (int)pool->n_backends, "weight", weight,
			 "moving", api_moving(live), "load", api_load(live), "mtu", known(mtu),
			 "mss_clamp", known(pool->mss_clamp));
}

static json_t *pools_json(struct api *api)
{
	const struct config *running = &api->control->running;
	json_t *list = json_array();

	for (size_t p = 0; p < running->n_pools; p++)
		json_array_append_new(list, pool_json(api, &running->pools[p]));
	return list;
}

/* What the configuration asks for. A table that is there keeps its size. */
static uint32_t configured_size(const struct config_flows *flows,
				const struct dataplane_table *table)
{
	if (!strcmp(table->name, "established"))
		return flows->established;
	if (!strcmp(table->name, "remembered"))
		return flows->remembered;
	if (!strcmp(table->name, "embryonic"))
		return flows->embryonic;
	if (!strcmp(table->name, "other"))
		return flows->other;
	return table->max_entries;
}

static json_t *tables_json(struct api *api)
{
	struct dataplane_table tables[8];
	size_t len = dataplane_tables(api->control->dp, tables, 8);
	json_t *list = json_array();

	for (size_t i = 0; i < len; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:I, s:I, s:I}", "name", tables[i].name, "size",
					(json_int_t)tables[i].max_entries, "configured",
					(json_int_t)configured_size(&api->control->running.flows,
								    &tables[i]),
					"bytes", (json_int_t)tables[i].bytes));
	return list;
}

/* What is not as well as it might be, one line each. */
static json_t *warnings_json(const struct control *control)
{
	json_t *list = json_array();
	char line[CONTROL_NARROW_LEN];

	for (size_t p = 0; p < control->running.n_pools; p++)
		for (size_t b = 0; b < control->running.pools[p].n_backends; b++)
			if (control_narrow(control, p, b, line))
				json_array_append_new(list, json_string(line));
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
		"{s:s, s:i, s:I, s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:i, s:i, s:o}", "version",
		RINGLB_VERSION, "pid", (int)getpid(), "uptime_s",
		(json_int_t)(now.tv_sec - api->started), "config", control->config_path, "changed",
		(int)control->changed, "pin_dir", control->options.pin_dir, "interfaces",
		interfaces, "pools", pools_json(api), "draining", api_draining(control), "tables",
		tables_json(api), "vips", (int)running->n_vips, "backends", (int)backends,
		"warnings", warnings_json(control)));
}

json_t *api_vip(struct api *api, const struct config_vip *vip)
{
	struct counter count = {};
	char text[TEXT_ENDPOINT_LEN], address[TEXT_PREFIX_LEN];
	uint32_t id = ids_find(&api->control->vip_ids, text_vip(vip, text));

	dataplane_count_vip(api->control->dp, id, &count);
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:I, s:I}", "vip", text, "address",
			 text_prefix(&vip->address, vip->prefix_len, address), "protocol",
			 text_protocol(vip->protocol), "port", (int)vip->port, "port_last",
			 (int)config_vip_last(vip), "hash", text_hash(vip->hash), "pool", vip->pool,
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

/* What matters most comes first: a backend that is down is not said to be draining. */
static const char *state_text(const struct control_pool *live, uint16_t member,
			      const struct config_backend *backend)
{
	if (live->down[member])
		return live->takes[member] ? "panic" : "down";
	if (backend->drain != CONFIG_NO_DRAIN)
		return api_is_draining(live, member, backend) ? "draining" : "drained";
	if (live->nexthops[member].state == NEXTHOP_RESOLVED && !backend->weight_milli)
		return "no-weight";
	return nexthop_state_text(live->nexthops[member].state);
}

static json_t *interface_name(const struct nexthop_info *info)
{
	char name[IF_NAMESIZE];

	if (!info->ifindex || !if_indextoname(info->ifindex, name))
		return json_null();
	return json_string(name);
}

static json_t *mac_json(const struct nexthop_info *info)
{
	char text[TEXT_MAC_LEN];

	if (info->state != NEXTHOP_RESOLVED)
		return json_null();
	return json_string(text_mac(info->destination, text));
}

void api_set_place(json_t *object, const struct control_pool *live, uint16_t member,
		   const struct config_backend *backend)
{
	const struct nexthop_info *info = &live->nexthops[member];

	json_object_set_new(object, "state", json_string(state_text(live, member, backend)));
	json_object_set_new(object, "interface", interface_name(info));
	json_object_set_new(object, "mac", mac_json(info));
}

/* What the health checks found; null if there are none. */
static json_t *check_json(const struct api *api, const struct config_pool *pool,
			  const struct config_backend *backend)
{
	struct health_status status;

	health_status(api->health, pool->name, backend->name, &status);
	if (!status.checked)
		return json_null();
	return json_pack("{s:b, s:b, s:i, s:i, s:i, s:i, s:f, s:s}", "up", (int)status.up, "damped",
			 (int)status.damped, "successes", (int)status.successes, "failures",
			 (int)status.failures, "rise", (int)status.rise, "changes",
			 (int)status.changes, "latency_ms", status.latency_ms, "reason",
			 status.reason);
}

/* The backend at @member of the live ring; @shares are those of the whole pool. */
static json_t *backend_json(struct api *api, const struct config_pool *pool,
			    const struct config_backend *backend, const ring_length *shares)
{
	const struct control_pool *live = control_find_pool(api->control, pool->name);
	uint16_t member = ring_find_member(live->ring, backend->name);
	char endpoint[TEXT_ENDPOINT_LEN], weight[TEXT_WEIGHT_LEN], quic[CONFIG_QUIC_TEXT_LEN];
	struct counter count = {};
	json_t *object;

	dataplane_count_backend(api->control->dp, live->ids[member], &count);
	object = json_pack("{s:s, s:s, s:s, s:s, s:f, s:I, s:I, s:I}", "pool", pool->name, "name",
			   backend->name, "address",
			   backend->port ? text_endpoint(&backend->address, backend->port, endpoint)
					 : text_address(&backend->address, endpoint),
			   "weight", text_weight(backend->weight_milli, weight), "share",
			   ring_share(live->ring, shares[member]), "flows",
			   (json_int_t)live->flows[member], "packets", (json_int_t)count.packets,
			   "bytes", (json_int_t)count.bytes);
	if (!object)
		return NULL;
	api_set_place(object, live, member, backend);
	json_object_set_new(object, "mtu", known(control_mtu(pool, &live->nexthops[member])));
	json_object_set_new(object, "drain", api_drain(live, member, backend));
	json_object_set_new(object, "quic_id",
			    config_quic_given(backend->quic_ids)
				    ? json_string(config_quic_text(backend->quic_ids, quic))
				    : json_null());
	json_object_set_new(object, "check", check_json(api, pool, backend));
	return object;
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

/* A count of the program's own: what it is called, what it means, how many packets. */
static json_t *count_json(const char *name, const char *text, uint64_t packets)
{
	return json_pack("{s:s, s:s, s:I}", "name", name, "text", text, "packets",
			 (json_int_t)packets);
}

static json_t *flow_counts_json(struct api *api)
{
	json_t *list = json_array();

	for (int what = 0; what < FLOW_COUNT; what++) {
		uint64_t packets = 0;

		dataplane_count_flows(api->control->dp, what, &packets);
		json_array_append_new(
			list, count_json(flow_count_name(what), flow_count_text(what), packets));
	}
	return list;
}

static json_t *quic_counts_json(struct api *api)
{
	json_t *list = json_array();

	for (int what = 0; what < QUIC_COUNT; what++) {
		uint64_t packets = 0;

		dataplane_count_quic(api->control->dp, what, &packets);
		json_array_append_new(
			list, count_json(quic_count_name(what), quic_count_text(what), packets));
	}
	return list;
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
	return server_result(json_pack("{s:o, s:o, s:o, s:o, s:o}", "verdicts", verdicts, "flows",
				       flow_counts_json(api), "quic", quic_counts_json(api), "vips",
				       api_vips(api), "backends", api_backends(api, NULL)));
}
