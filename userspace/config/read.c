/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The schema: which fields there are, and how each is written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/encap.h"
#include "config/flows.h"
#include "config/fields.h"
#include "config/mtu.h"
#include "config/parsers.h"
#include "config/placement.h"
#include "config/quic.h"
#include "config/text.h"
#include "config/validate.h"
#include "config/vip.h"

#define MUST_DRAIN	    "must be keep, remove or no"
#define MUST_DRAIN_UNTIL    "must be UNIX time in seconds"
#define VNODES_DEFAULT	    200
#define GUE_PORT_DEFAULT    6080 /* as registered with IANA */
#define CONFIG_MUST_ADDRESS "must be an IPv4 or IPv6 address"
#define MUST_PORT	    "must be 0 to 65535"
#define COUNT(array)	    (sizeof(array) / sizeof((array)[0]))

struct reader {
	yaml_document_t *document;
	struct config_error *error;
	size_t n_backends; /* over all pools so far */
};

/* The place in its table of a field that is no single value, from which it is read. */
enum { ROOT_INTERFACES = 1, ROOT_POOLS, ROOT_FLOWS, ROOT_ENCAP, ROOT_VIPS };
enum { POOL_CHECK = 13, POOL_BACKENDS };

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct config_field root_fields[] = {
	{.name = "seed",
	 .required = true,
	 .parse = config_parse_seed,
	 .secret = true,
	 .must = "must be a number of at most 64 bits, decimal or 0x hexadecimal",
	 AT(config, seed)},
	[ROOT_INTERFACES] = {.name = "interfaces", .required = true},
	[ROOT_POOLS] = {.name = "pools"},
	[ROOT_FLOWS] = {.name = "flows", .mapping = true},
	[ROOT_ENCAP] = {.name = "encap", .mapping = true},
	[ROOT_VIPS] = {.name = "vips"},
};

static const struct config_field interface_fields[] = {
	{.name = "name",
	 .required = true,
	 .parse = config_parse_interface_name,
	 .must = CONFIG_MUST_INTERFACE,
	 AT(config_interface, name)},
	{.name = "mode",
	 .parse = config_parse_mode,
	 .must = CONFIG_MUST_MODE,
	 AT(config_interface, mode)},
};

static const struct config_field pool_fields[] = {
	{.name = "name",
	 .required = true,
	 .parse = config_parse_name,
	 .must = CONFIG_MUST_NAME,
	 AT(config_pool, name)},
	{.name = "forward",
	 .required = true,
	 .parse = config_parse_forward,
	 .must = CONFIG_MUST_FORWARD,
	 AT(config_pool, forward)},
	{.name = "gue_port",
	 .parse = config_parse_gue_port,
	 .must = CONFIG_MUST_GUE_PORT,
	 AT(config_pool, gue_port)},
	{.name = "gue_checksum",
	 .parse = config_parse_gue_checksum,
	 .must = CONFIG_MUST_CHECKSUM,
	 AT(config_pool, gue_checksum)},
	{.name = "mtu", .parse = config_mtu_parse, .must = CONFIG_MUST_MTU, AT(config_pool, mtu)},
	{.name = "mss_clamp",
	 .parse = config_mss_parse,
	 .must = CONFIG_MUST_MSS,
	 AT(config_pool, mss_clamp)},
	{.name = "vnodes",
	 .parse = config_parse_vnodes,
	 .must = CONFIG_MUST_VNODES,
	 AT(config_pool, vnodes)},
	{.name = "panic",
	 .parse = config_parse_panic,
	 .must = CONFIG_MUST_PANIC,
	 AT(config_pool, panic)},
	{.name = "placement",
	 .parse = config_placement_parse,
	 .must = CONFIG_MUST_PLACEMENT,
	 AT(config_pool, placement)},
	{.name = "cells",
	 .parse = config_cells_parse,
	 .must = CONFIG_MUST_CELLS,
	 AT(config_pool, cells)},
	{.name = "epsilon",
	 .parse = config_epsilon_parse,
	 .must = CONFIG_MUST_EPSILON,
	 AT(config_pool, epsilon_milli)},
	{.name = "load_cap",
	 .parse = config_load_cap_parse,
	 .must = CONFIG_MUST_LOAD_CAP,
	 AT(config_pool, load_cap_milli)},
	{.name = "load_interval",
	 .parse = config_load_interval_parse,
	 .must = CONFIG_MUST_LOAD_INTERVAL,
	 AT(config_pool, load_interval_ms)},
	[POOL_CHECK] = {.name = "check", .mapping = true},
	[POOL_BACKENDS] = {.name = "backends"},
};

static const struct config_field backend_fields[] = {
	{.name = "name",
	 .required = true,
	 .parse = config_parse_name,
	 .must = CONFIG_MUST_NAME,
	 AT(config_backend, name)},
	{.name = "address",
	 .required = true,
	 .parse = config_parse_address,
	 .must = CONFIG_MUST_ADDRESS,
	 AT(config_backend, address)},
	{.name = "port", .parse = config_parse_port, .must = MUST_PORT, AT(config_backend, port)},
	{.name = "weight",
	 .parse = config_parse_weight,
	 .must = CONFIG_MUST_WEIGHT,
	 .hint = config_hint_weight,
	 AT(config_backend, weight_milli)},
	{.name = "rack",
	 .parse = config_parse_name,
	 .must = CONFIG_MUST_NAME,
	 AT(config_backend, rack)},
	{.name = "drain",
	 .parse = config_parse_drain,
	 .must = MUST_DRAIN,
	 AT(config_backend, drain)},
	{.name = "drain_until",
	 .parse = config_parse_drain_until,
	 .must = MUST_DRAIN_UNTIL,
	 AT(config_backend, drain_until_s)},
	{.name = "quic_id",
	 .parse = config_quic_parse,
	 .must = CONFIG_MUST_QUIC,
	 .hint = config_quic_hint,
	 AT(config_backend, quic_ids)},
};

static int list_check(const struct reader *reader, const yaml_node_t *list, const char *name,
		      size_t max)
{
	size_t n = config_node_length(list);

	if (n <= max)
		return 0;
	return config_error_set(reader->error, config_node_mark(list),
				"%s must have at most %zu entries, got %zu", name, max, n);
}

static int read_interfaces(struct reader *reader, struct config *config, const yaml_node_t *list)
{
	struct config_place place = {.section = CONFIG_INTERFACE};
	size_t n = config_node_length(list);
	int err = list_check(reader, list, "interfaces", CONFIG_INTERFACES_MAX);

	if (err)
		return err;
	config->interfaces = calloc(n, sizeof(*config->interfaces));
	if (!config->interfaces)
		return -ENOMEM;
	config->n_interfaces = n;
	for (; !err && place.index < n; place.index++)
		err = config_fields_read(reader->document,
					 config_node_item(reader->document, list, place.index),
					 &place, interface_fields, COUNT(interface_fields),
					 &config->interfaces[place.index], NULL, reader->error);
	return err;
}

/* All backends are counted before any is read, so a list repeated by aliases costs nothing. */
static int read_backends(struct reader *reader, struct config_pool *pool, size_t pool_index,
			 const yaml_node_t *list)
{
	struct config_place place = {.section = CONFIG_BACKEND, .pool = pool_index};
	size_t n = config_node_length(list);
	int err = 0;

	reader->n_backends += n;
	if (reader->n_backends > CONFIG_BACKENDS_MAX)
		return config_error_set(
			reader->error, config_node_mark(list),
			"pools[%zu].backends makes %zu backends over all pools, at most %d fit",
			pool_index, reader->n_backends, CONFIG_BACKENDS_MAX);
	pool->backends = calloc(n, sizeof(*pool->backends));
	if (!pool->backends)
		return -ENOMEM;
	pool->n_backends = n;
	for (; !err && place.index < n; place.index++) {
		struct config_backend *backend = &pool->backends[place.index];

		backend->weight_milli = CONFIG_WEIGHT_ONE;
		err = config_fields_read(reader->document,
					 config_node_item(reader->document, list, place.index),
					 &place, backend_fields, COUNT(backend_fields), backend,
					 NULL, reader->error);
	}
	return err;
}

static void set_gue_defaults(struct config_pool *pool)
{
	if (pool->forward != CONFIG_GUE)
		return;
	if (!pool->gue_port)
		pool->gue_port = GUE_PORT_DEFAULT;
	if (!pool->gue_checksum)
		pool->gue_checksum = CONFIG_GUE_ZERO;
}

static int read_pools(struct reader *reader, struct config *config, const yaml_node_t *list)
{
	struct config_place place = {.section = CONFIG_POOL};
	size_t n = config_node_length(list);
	int err = list_check(reader, list, "pools", CONFIG_POOLS_MAX);

	if (err)
		return err;
	config->pools = calloc(n, sizeof(*config->pools));
	if (!config->pools)
		return -ENOMEM;
	config->n_pools = n;
	for (; !err && place.index < n; place.index++) {
		struct config_pool *pool = &config->pools[place.index];
		yaml_node_t *nodes[COUNT(pool_fields)];

		pool->vnodes = VNODES_DEFAULT;
		err = config_fields_read(
			reader->document, config_node_item(reader->document, list, place.index),
			&place, pool_fields, COUNT(pool_fields), pool, nodes, reader->error);
		config_placement_fill(pool);
		set_gue_defaults(pool);
		if (!err && nodes[POOL_CHECK])
			err = config_check_read(reader->document, nodes[POOL_CHECK], place.index,
						&pool->check, reader->error);
		if (!err && nodes[POOL_BACKENDS])
			err = read_backends(reader, pool, place.index, nodes[POOL_BACKENDS]);
	}
	return err;
}

static int read_vips(struct reader *reader, struct config *config, const yaml_node_t *list)
{
	size_t n = config_node_length(list);
	int err = list_check(reader, list, "vips", CONFIG_VIPS_MAX);

	if (err)
		return err;
	config->vips = calloc(n, sizeof(*config->vips));
	if (!config->vips)
		return -ENOMEM;
	config->n_vips = n;
	for (size_t i = 0; !err && i < n; i++)
		err = config_vip_read(reader->document, config_node_item(reader->document, list, i),
				      i, &config->vips[i], reader->error);
	return err;
}

static int read_root(struct reader *reader, struct config *config)
{
	const yaml_node_t *root = yaml_document_get_root_node(reader->document);
	struct config_place place = {.section = CONFIG_ROOT};
	yaml_node_t *lists[COUNT(root_fields)];
	int err = config_fields_read(reader->document, root, &place, root_fields,
				     COUNT(root_fields), config, lists, reader->error);

	config->flows = config_flows_default;
	if (!err && lists[ROOT_FLOWS])
		err = config_flows_read(reader->document, lists[ROOT_FLOWS], &config->flows,
					reader->error);

	config->encap = config_encap_default;
	if (!err && lists[ROOT_ENCAP])
		err = config_encap_read(reader->document, lists[ROOT_ENCAP], &config->encap,
					reader->error);
	if (!err && lists[ROOT_INTERFACES])
		err = read_interfaces(reader, config, lists[ROOT_INTERFACES]);
	if (!err && lists[ROOT_POOLS])
		err = read_pools(reader, config, lists[ROOT_POOLS]);
	if (!err && lists[ROOT_VIPS])
		err = read_vips(reader, config, lists[ROOT_VIPS]);
	return err;
}

/* A place's mark; that of what encloses it where the file left a field out. */
static struct config_mark mark_of_place(const void *context, const struct config_place *place)
{
	static const char *const lists[] = {
		[CONFIG_INTERFACE] = "interfaces",
		[CONFIG_POOL] = "pools",
		[CONFIG_BACKEND] = "pools",
		[CONFIG_VIP] = "vips",
	};
	const struct reader *reader = context;
	yaml_document_t *document = reader->document;
	const yaml_node_t *node = yaml_document_get_root_node(document);

	if (place->section != CONFIG_ROOT) {
		node = config_node_value(document, node, lists[place->section]);
		node = config_node_item(document, node,
					place->section == CONFIG_BACKEND ? place->pool
									 : place->index);
	}
	if (place->section == CONFIG_BACKEND) {
		node = config_node_value(document, node, "backends");
		node = config_node_item(document, node, place->index);
	}
	return config_node_mark(config_node_inner(document, node, place->field));
}

int config_read(struct config *config, const char *text, size_t len_bytes,
		struct config_error *error)
{
	const struct config_mark start = {1, 1};
	yaml_document_t document;
	struct reader reader = {.document = &document, .error = error};
	struct config_text origin = {mark_of_place, &reader};
	struct config read = {0};
	int err;

	if (len_bytes > CONFIG_FILE_MAX)
		return config_error_set(error, start, "the file is larger than %u MiB",
					CONFIG_FILE_MAX >> 20);
	err = config_document_load(&document, text, len_bytes, error);
	if (err)
		return err;
	err = read_root(&reader, &read);
	if (!err)
		err = config_validate(&read, &origin, error);
	yaml_document_delete(&document);
	if (err)
		config_release(&read);
	else
		*config = read;
	return err;
}
