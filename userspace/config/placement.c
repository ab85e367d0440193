/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/placement.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "config/text.h"

#define EPSILON_MAX 10000 /* thousandths */
#define CELLS_MIN   256

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

void config_placement_fill(struct config_pool *pool)
{
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

int config_placement_validate(const struct config_validation *check, struct config_place place)
{
	const struct config_pool *pool = &check->config->pools[place.index];
	uint64_t spare = (uint64_t)pool->cells * pool->epsilon_milli / CONFIG_WEIGHT_ONE;

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
