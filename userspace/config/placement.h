/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a pool's backends get their arcs, and what makes them lend some: the fields
 * placement, cells, epsilon, load_cap and load_interval. Used inside config/ only.
 */
#ifndef RINGLB_CONFIG_PLACEMENT_H
#define RINGLB_CONFIG_PLACEMENT_H

#include "config/validate.h"

#define CONFIG_MUST_PLACEMENT "must be ring or capped"
#define CONFIG_MUST_CELLS     "must be a power of two from 256 to 2097152"
#define CONFIG_MUST_EPSILON   "must be 0.001 to 10 with at most three decimals"

#define CONFIG_MUST_LOAD_CAP	  "must be 1.01 to 10 with at most three decimals"
#define CONFIG_MUST_LOAD_INTERVAL "must be a number of ms, s, m or h without spaces, from 1s to 10m"

#define CONFIG_CELLS_DEFAULT   65536
#define CONFIG_EPSILON_DEFAULT 20 /* thousandths */

#define CONFIG_LOAD_INTERVAL_DEFAULT_MS 10000

/* Parsers of single values; return 0 or -EINVAL. */
int config_placement_parse(const char *text, void *out);
int config_cells_parse(const char *text, void *out);
int config_epsilon_parse(const char *text, void *out);
int config_load_cap_parse(const char *text, void *out);
int config_load_interval_parse(const char *text, void *out);

/* Give a pool the values that its text left out. */
void config_placement_fill(struct config_pool *pool);

/* Return: 0; -EINVAL with the error filled. */
int config_placement_validate(const struct config_validation *check, struct config_place place);

#endif
