/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/hashes.h"
#include "cli/offline.h"
#include "cli/values.h"
#include "config/text.h"
#include "control/lookup.h"

void fleet_release(struct fleet *fleet)
{
	free(fleet->members);
	free(fleet->racks);
	free(fleet->member_racks);
	ring_free(fleet->ring);
	*fleet = (struct fleet){0};
}

const char *fleet_place(const struct ring *ring, uint64_t place, char out[FLEET_PLACE_LEN])
{
	uint64_t top = ring->params.hash->top;

	if (top > UINT32_MAX)
		snprintf(out, FLEET_PLACE_LEN, "0x%016" PRIx64, place);
	else if (top == UINT32_MAX)
		snprintf(out, FLEET_PLACE_LEN, "0x%08" PRIx64, place);
	else
		snprintf(out, FLEET_PLACE_LEN, "%" PRIu64, place);
	return out;
}

uint64_t fleet_key(const struct fleet *fleet, const char *key)
{
	return fleet->params.hash->hash(key, strlen(key), fleet->params.seed);
}

int fleet_build(struct ring **ring, const struct ring_params *params,
		const struct ring_member *members, size_t n_members)
{
	int err = ring_build(ring, params, members, n_members);

	switch (err) {
	case 0:
		return CLI_DONE;
	case -EEXIST:
		cli_error("two servers have the same name");
		break;
	case -ENOSPC:
		cli_error("too many positions: at most %u fit; lower --vnodes or the weights",
			  RING_POSITIONS_MAX_LEN);
		break;
	case -EDOM:
		cli_error("%u cells are too few for %zu servers within epsilon; raise --cells or "
			  "--epsilon",
			  params->cells, n_members);
		break;
	case -EINVAL:
		cli_error("cells must be a power of two that fits the circle of the hash");
		break;
	default:
		cli_error("cannot build the ring: %s", strerror(-err));
	}
	return CLI_FAILED;
}

static int read_placement(struct ring_params *params, const char *text)
{
	if (!text)
		return CLI_DONE;
	if (!strcmp(text, "ring")) {
		params->placement = RING_PLAIN;
	} else if (!strcmp(text, "capped")) {
		params->placement = RING_CAPPED;
	} else {
		cli_error("placement must be ring or capped, got '%s'", text);
		return CLI_USAGE;
	}
	return CLI_DONE;
}

static bool read_epsilon(struct ring_params *params, const char *text)
{
	uint32_t milli;

	if (!text)
		return true;
	if (text_parse_weight(text, &milli) || milli < 1 || milli > RING_EPSILON_MAX) {
		cli_error("epsilon must be 0.001 to 10 with at most three decimals, got '%s'",
			  text);
		return false;
	}
	params->epsilon_milli = milli;
	return true;
}

int fleet_params(struct ring_params *params, const struct cli_options *options)
{
	uint64_t number;

	if (options->hash) {
		params->hash = hashes_find(options->hash);
		if (!params->hash) {
			cli_error("hash " HASHES_MUST ", got '%s'", options->hash);
			return CLI_USAGE;
		}
	}
	if (!value_read_number("seed", options->seed, 0, UINT64_MAX, &params->seed))
		return CLI_USAGE;
	number = params->vnodes;
	if (!value_read_number("vnodes", options->vnodes, 1, RING_POSITIONS_MAX_LEN, &number))
		return CLI_USAGE;
	params->vnodes = (uint32_t)number;
	number = params->cells;
	if (!value_read_number("cells", options->cells, RING_CELLS_MIN, RING_POSITIONS_MAX_LEN,
			       &number))
		return CLI_USAGE;
	params->cells = (uint32_t)number;
	if (!read_epsilon(params, options->epsilon))
		return CLI_USAGE;
	return read_placement(params, options->placement);
}

/* One "NAME" or "NAME=WEIGHT" of @len bytes. */
static bool read_member(const char *what, const char *text, size_t len, struct ring_member *member)
{
	char copy[RING_NAME_MAX + 16];
	char *equals;

	*member = (struct ring_member){.weight_milli = RING_WEIGHT_ONE};
	if (len >= sizeof(copy)) {
		cli_error("%s: a name is too long in '%s'", what, text);
		return false;
	}
	snprintf(copy, sizeof(copy), "%.*s", (int)len, text);
	equals = strchr(copy, '=');
	if (equals)
		*equals++ = '\0';
	if (!value_is_name(what, copy))
		return false;
	if (equals &&
	    (!value_is_weight(equals) || text_parse_weight(equals, &member->weight_milli)))
		return false;
	snprintf(member->name, sizeof(member->name), "%.*s", RING_NAME_MAX, copy);
	return true;
}

static int numbered(const char *what, const char *text, struct ring_member **members,
		    size_t *n_members)
{
	struct ring_member *list;
	uint64_t n;

	if (!value_read_number(what, text, 1, RING_MEMBERS_MAX, &n))
		return CLI_USAGE;
	list = calloc(n, sizeof(*list));
	if (!list)
		return cli_no_memory();
	for (size_t i = 0; i < n; i++) {
		snprintf(list[i].name, sizeof(list[i].name), "s%zu", i);
		list[i].weight_milli = RING_WEIGHT_ONE;
	}
	*members = list;
	*n_members = n;
	return CLI_DONE;
}

int fleet_members(const char *what, const char *text, struct ring_member **members,
		  size_t *n_members)
{
	struct ring_member *list;
	size_t n = 1, at = 0;

	if (*text && text[strspn(text, "0123456789")] == '\0')
		return numbered(what, text, members, n_members);
	for (const char *c = text; *c; c++)
		n += *c == ',';
	list = calloc(n, sizeof(*list));
	if (!list)
		return cli_no_memory();
	for (; at < n; at++) {
		size_t len = strcspn(text, ",");

		if (!read_member(what, text, len, &list[at])) {
			free(list);
			return CLI_USAGE;
		}
		text += len + (text[len] == ',');
	}
	*members = list;
	*n_members = n;
	return CLI_DONE;
}

/* "s0@15,s1@40": positions given, nothing hashed. */
static int read_points(struct fleet *fleet, const struct cli_options *options)
{
	uint64_t top = UINT64_MAX, positions[CLI_POINTS_MAX];
	struct ring_member members[CLI_POINTS_MAX] = {0};
	uint16_t owners[CLI_POINTS_MAX];
	const char *text = options->points;
	size_t n = 0, n_members = 0;
	int err;

	if (!value_read_number("top", options->top, 0, UINT64_MAX, &top))
		return CLI_USAGE;
	for (; *text && n < CLI_POINTS_MAX; n++) {
		size_t len = strcspn(text, ","), at = strcspn(text, "@"), m = 0;
		struct ring_member member;
		char place[24];

		if (at >= len || len - at > sizeof(place)) {
			cli_error("points must be like s0@15,s1@40, got '%s'", text);
			return CLI_USAGE;
		}
		if (!read_member("points", text, at, &member))
			return CLI_USAGE;
		snprintf(place, sizeof(place), "%.*s", (int)(len - at - 1), text + at + 1);
		if (!value_read_number("points", place, 0, top, &positions[n]))
			return CLI_USAGE;
		while (m < n_members && strcmp(members[m].name, member.name) != 0)
			m++;
		if (m == n_members)
			members[n_members++] = member;
		owners[n] = (uint16_t)m;
		text += len + (text[len] == ',');
	}
	if (*text) {
		cli_error("points must be at most %d", CLI_POINTS_MAX);
		return CLI_USAGE;
	}
	err = ring_from_positions(&fleet->ring, top, members, n_members, positions, owners, n);
	if (err) {
		cli_error("points: %s", strerror(-err));
		return CLI_FAILED;
	}
	if (!options->hash)
		fleet->params.hash = hashes_find("given");
	return CLI_DONE;
}

static const struct config_pool *pick_pool(const struct config *config, const char *name)
{
	struct config_error error = {0};
	struct config_pool *pool = NULL;

	if (config_pick_pool(config, name, NULL, &pool, &error))
		cli_error("%s", error.what);
	return pool;
}

/* Number the racks; a backend without one is in a rack of its own. */
static int read_racks(struct fleet *fleet, const struct config_pool *pool)
{
	for (size_t i = 0; i < pool->n_backends && !fleet->with_racks; i++)
		fleet->with_racks = *pool->backends[i].rack;
	if (!fleet->with_racks)
		return CLI_DONE;
	fleet->member_racks = calloc(pool->n_backends + 1, sizeof(*fleet->member_racks));
	if (!fleet->member_racks)
		return cli_no_memory();
	for (size_t i = 0; i < pool->n_backends; i++) {
		const char *rack = pool->backends[i].rack;
		size_t first = 0;

		while (*rack && first < i && strcmp(pool->backends[first].rack, rack) != 0)
			first++;
		fleet->member_racks[i] = (uint16_t)(*rack ? first : i);
	}
	return CLI_DONE;
}

/* From the order of the file into that of the ring. */
static int sort_racks(struct fleet *fleet)
{
	if (!fleet->with_racks)
		return CLI_DONE;
	fleet->racks = calloc(fleet->n_members, sizeof(*fleet->racks));
	if (!fleet->racks)
		return cli_no_memory();
	for (size_t i = 0; i < fleet->n_members; i++)
		fleet->racks[ring_find_member(fleet->ring, fleet->members[i].name)] =
			fleet->member_racks[i];
	return CLI_DONE;
}

/* What ringlbd runs on now. */
static int ask_config(struct config *config, const struct cli_options *options)
{
	char why[CLIENT_ERROR_LEN];
	struct config_error error = {0};
	json_t *request = json_pack("{s:s}", "command", "config"), *result = NULL;
	const char *yaml;
	int err = request ? client_ask(options->socket, CLIENT_TIMEOUT_S, request, &result, why)
			  : -ENOMEM;

	json_decref(request);
	if (err) {
		cli_error("%s; --config FILE or --servers LIST need no daemon",
			  request ? why : "out of memory");
		return CLI_FAILED;
	}
	yaml = json_string_value(json_object_get(result, "yaml"));
	err = yaml ? config_read(config, yaml, strlen(yaml), &error) : -EPROTO;
	if (err)
		cli_error("the running configuration: %s", error.what);
	json_decref(result);
	return err ? CLI_FAILED : CLI_DONE;
}

static int read_config(struct fleet *fleet, const struct cli_options *options)
{
	struct config config = {0};
	const struct config_pool *pool;
	struct config_error error;
	int status = CLI_FAILED;

	if (options->config ? offline_read(&config, options->config, &error)
			    : ask_config(&config, options))
		return CLI_FAILED;
	pool = pick_pool(&config, options->pool);
	if (pool) {
		fleet->params = lookup_pool_params(pool, config.seed);
		if (!fleet->params.cells)
			fleet->params.cells = RING_CELLS_DEFAULT;
		if (!fleet->params.epsilon_milli)
			fleet->params.epsilon_milli = RING_EPSILON_DEFAULT;
		fleet->members = lookup_pool_members(pool);
		fleet->n_members = pool->n_backends;
		snprintf(fleet->name, sizeof(fleet->name), "%s", pool->name);
		status = fleet->members ? read_racks(fleet, pool) : cli_no_memory();
	}
	config_release(&config);
	return status;
}

static int read_source(struct fleet *fleet, const struct cli_options *options)
{
	int given = !!options->config + !!options->servers + !!options->points;

	if (given > 1) {
		cli_error("only one of --config, --servers and --points can be given");
		return CLI_USAGE;
	}
	if (options->servers)
		return fleet_members("servers", options->servers, &fleet->members,
				     &fleet->n_members);
	return options->points ? CLI_DONE : read_config(fleet, options);
}

int fleet_read(struct fleet *fleet, const struct cli_options *options)
{
	struct fleet read = {
		.name = "servers",
		.params = {.hash = &ring_hash_xxh64,
			   .vnodes = RING_VNODES_DEFAULT,
			   .cells = RING_CELLS_DEFAULT,
			   .epsilon_milli = RING_EPSILON_DEFAULT},
	};
	int status = read_source(&read, options);

	if (!status)
		status = fleet_params(&read.params, options);
	if (!status && options->points)
		status = read_points(&read, options);
	else if (!status)
		status = fleet_build(&read.ring, &read.params, read.members, read.n_members);
	if (!status)
		status = sort_racks(&read);
	if (status)
		fleet_release(&read);
	else
		*fleet = read;
	return status;
}
