/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a reload changed, in lines for people. */
#include <stdio.h>
#include <string.h>

#include "config/text.h"
#include "control/api.h"

#define NAME_LEN 160
#define LINE_LEN (NAME_LEN + 64)

static void note(json_t *lines, const char *what, const char *kind, const char *name)
{
	char line[LINE_LEN];

	snprintf(line, sizeof(line), "%s %s %.*s", what, kind, NAME_LEN, name);
	json_array_append_new(lines, json_string(line));
}

static const struct config_interface *find_interface(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_interfaces; i++)
		if (!strcmp(config->interfaces[i].name, name))
			return &config->interfaces[i];
	return NULL;
}

static void compare_interfaces(json_t *lines, const struct config *before,
			       const struct config *after)
{
	for (size_t i = 0; i < before->n_interfaces; i++)
		if (!find_interface(after, before->interfaces[i].name))
			note(lines, "removed", "interface", before->interfaces[i].name);
	for (size_t i = 0; i < after->n_interfaces; i++) {
		const struct config_interface *now = &after->interfaces[i];
		const struct config_interface *was = find_interface(before, now->name);

		if (!was)
			note(lines, "added", "interface", now->name);
		else if (was->mode != now->mode)
			note(lines, "changed", "interface", now->name);
	}
}

static bool same_endpoint(const struct config_backend *a, const struct config_backend *b)
{
	return a->port == b->port && a->address.family == b->address.family &&
	       !memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes));
}

/* Lines for the backends that are in @a and not, or not alike, in @b. */
static void compare_backends(json_t *lines, const struct config_pool *before,
			     const struct config_pool *after)
{
	char text[NAME_LEN], was_weight[TEXT_WEIGHT_LEN], weight[TEXT_WEIGHT_LEN];

	for (size_t b = 0; b < before->n_backends; b++)
		if (!config_find_backend(after, before->backends[b].name))
			note(lines, "removed", "backend", before->backends[b].name);
	for (size_t b = 0; b < after->n_backends; b++) {
		const struct config_backend *now = &after->backends[b];
		const struct config_backend *was = config_find_backend(before, now->name);

		if (!was) {
			note(lines, "added", "backend", now->name);
			continue;
		}
		if (was->drain != now->drain)
			note(lines, now->drain == CONFIG_NO_DRAIN ? "undrained" : "draining",
			     "backend", now->name);
		if (!same_endpoint(was, now))
			note(lines, "changed", "address of backend", now->name);
		if (was->weight_milli == now->weight_milli)
			continue;
		snprintf(text, sizeof(text), "%s: %s to %s", now->name,
			 text_weight(was->weight_milli, was_weight),
			 text_weight(now->weight_milli, weight));
		note(lines, "changed", "weight of backend", text);
	}
}

static void compare_pools(json_t *lines, const struct config *before, const struct config *after)
{
	for (size_t p = 0; p < before->n_pools; p++)
		if (!config_find_pool(after, before->pools[p].name))
			note(lines, "removed", "pool", before->pools[p].name);
	for (size_t p = 0; p < after->n_pools; p++) {
		const struct config_pool *now = &after->pools[p];
		const struct config_pool *was = config_find_pool(before, now->name);

		if (!was) {
			note(lines, "added", "pool", now->name);
			continue;
		}
		if (was->forward != now->forward || was->placement != now->placement ||
		    was->vnodes != now->vnodes || was->cells != now->cells ||
		    was->epsilon_milli != now->epsilon_milli)
			note(lines, "changed", "pool", now->name);
		if (was->panic != now->panic || !config_check_equal(&was->check, &now->check))
			note(lines, "changed", "health check of pool", now->name);
		compare_backends(lines, was, now);
	}
}

static void compare_vips(json_t *lines, const struct config *before, const struct config *after)
{
	char text[TEXT_ENDPOINT_LEN];

	for (size_t v = 0; v < before->n_vips; v++)
		if (!config_find_vip(after, &before->vips[v]))
			note(lines, "removed", "vip", text_vip(&before->vips[v], text));
	for (size_t v = 0; v < after->n_vips; v++) {
		const struct config_vip *was = config_find_vip(before, &after->vips[v]);

		text_vip(&after->vips[v], text);
		if (!was)
			note(lines, "added", "vip", text);
		else if (strcmp(was->pool, after->vips[v].pool))
			note(lines, "changed", "pool of vip", text);
	}
}

json_t *api_differences(const struct config *before, const struct config *after)
{
	json_t *lines = json_array();

	if (before->seed != after->seed)
		json_array_append_new(lines,
				      json_string("changed seed: every flow is hashed anew"));
	compare_interfaces(lines, before, after);
	compare_pools(lines, before, after);
	compare_vips(lines, before, after);
	return lines;
}
