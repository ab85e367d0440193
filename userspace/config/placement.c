/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/placement.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "config/text.h"

#define EPSILON_MAX 10000 /* thousandths */
#define CELLS_MIN   256

#define LOAD_CAP_MIN	     1010 /* thousandths */
#define LOAD_CAP_MAX	     10000
#define LOAD_INTERVAL_MIN_MS 1000
#define LOAD_INTERVAL_MAX_MS 600000

int config_placement_parse(const char *text, void *out)
{
	enum config_placement *placement = out;

	if (!strcmp(text, "ring"))
		*placement = CONFIG_RING;
	else if (!strcmp(text, "capped"))
		*placement = CONFIG_CAPPED;
	else
		return -EINVAL;
	return 0;
}

static bool are_cells(uint64_t n)
{
	return n >= CELLS_MIN && n <= CONFIG_POSITIONS_MAX && !(n & (n - 1));
}

static bool is_load_cap(uint32_t milli)
{
	return milli >= LOAD_CAP_MIN && milli <= LOAD_CAP_MAX;
}

static bool is_load_interval(uint32_t duration_ms)
{
	return duration_ms >= LOAD_INTERVAL_MIN_MS && duration_ms <= LOAD_INTERVAL_MAX_MS;
}

int config_cells_parse(const char *text, void *out)
{
	uint64_t cells;

	if (text_parse_seed(text, &cells) || !are_cells(cells))
		return -EINVAL;
	*(uint32_t *)out = (uint32_t)cells;
	return 0;
}

int config_epsilon_parse(const char *text, void *out)
{
	uint32_t milli;

	if (text_parse_weight(text, &milli) || milli < 1 || milli > EPSILON_MAX)
		return -EINVAL;
	*(uint32_t *)out = milli;
	return 0;
}

int config_load_cap_parse(const char *text, void *out)
{
	uint32_t milli;

	if (text_parse_weight(text, &milli) || !is_load_cap(milli))
		return -EINVAL;
	*(uint32_t *)out = milli;
	return 0;
}

int config_load_interval_parse(const char *text, void *out)
{
	uint32_t duration_ms;

	if (text_parse_duration_ms(text, &duration_ms) || !is_load_interval(duration_ms))
		return -EINVAL;
	*(uint32_t *)out = duration_ms;
	return 0;
}

void config_placement_fill(struct config_pool *pool)
{
	if (pool->load_cap_milli && !pool->load_interval_ms)
		pool->load_interval_ms = CONFIG_LOAD_INTERVAL_DEFAULT_MS;
	if (pool->placement != CONFIG_CAPPED)
		return;
	if (!pool->cells)
		pool->cells = CONFIG_CELLS_DEFAULT;
	if (!pool->epsilon_milli)
		pool->epsilon_milli = CONFIG_EPSILON_DEFAULT;
}

static int refuse_without_cap(const struct config_validation *check, struct config_place place,
			      const char *field)
{
	place.field = field;
	return config_refuse(check, &place, "goes with placement capped only");
}

static int validate_load(const struct config_validation *check, struct config_place place)
{
	const struct config_pool *pool = &check->config->pools[place.index];

	place.field = "load_cap";
	if (pool->load_cap_milli && !is_load_cap(pool->load_cap_milli))
		return config_refuse(check, &place, CONFIG_MUST_LOAD_CAP);
	place.field = "load_interval";
	if (!pool->load_cap_milli)
		return pool->load_interval_ms
			       ? config_refuse(check, &place, "goes with load_cap only")
			       : 0;
	return is_load_interval(pool->load_interval_ms)
		       ? 0
		       : config_refuse(check, &place, CONFIG_MUST_LOAD_INTERVAL);
}

int config_placement_validate(const struct config_validation *check, struct config_place place)
{
	const struct config_pool *pool = &check->config->pools[place.index];
	uint64_t spare = (uint64_t)pool->cells * pool->epsilon_milli / CONFIG_WEIGHT_ONE;
	int err;

	err = validate_load(check, place);
	if (err)
		return err;
	if (pool->placement == CONFIG_RING) {
		if (pool->cells)
			return refuse_without_cap(check, place, "cells");
		return pool->epsilon_milli ? refuse_without_cap(check, place, "epsilon") : 0;
	}
	place.field = "placement";
	if (pool->placement != CONFIG_CAPPED)
		return config_refuse(check, &place, CONFIG_MUST_PLACEMENT);
	place.field = "cells";
	if (!are_cells(pool->cells))
		return config_refuse(check, &place, CONFIG_MUST_CELLS ", got '%u'", pool->cells);
	place.field = "epsilon";
	if (pool->epsilon_milli < 1 || pool->epsilon_milli > EPSILON_MAX)
		return config_refuse(check, &place, CONFIG_MUST_EPSILON);
	/* Each backend's room is rounded down: what is spare must make up for that. */
	place.field = "cells";
	if (pool->n_backends > spare)
		return config_refuse(check, &place,
				     "are too few for %zu backends: cells times epsilon is %" PRIu64
				     " and must be at least as many; raise either",
				     pool->n_backends, spare);
	return 0;
}
