/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What may be there only once. Duplicates are found by sorting: a pool may have
 * 65,535 backends, too many to compare each with each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/model.h"
#include "config/text.h"
#include "config/validate.h"
#include "config/match.h"

struct entry {
	const void *item;
	size_t index;
};

/* Two equal items of an array. */
struct twice {
	size_t first;
	size_t second;
};

static int entry_compare(const void *a, const void *b, void *context)
{
	config_compare *const *compare = context;
	const struct entry *x = a, *y = b;
	int order = (*compare)(x->item, y->item);

	if (order)
		return order;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Find the first item of an array that equals one before it.
 * Return: 1 with @twice filled, 0 if all differ, -ENOMEM.
 */
static int find_twice(const void *items, size_t n, size_t item_bytes, config_compare *compare,
		      struct twice *twice)
{
	struct entry *entries;
	int found = 0;

	if (n < 2)
		return 0;
	entries = calloc(n, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		entries[i] = (struct entry){(const char *)items + i * item_bytes, i};
	qsort_r(entries, n, sizeof(*entries), entry_compare, &compare);
	for (size_t i = 1; i < n; i++) {
		if (compare(entries[i - 1].item, entries[i].item))
			continue;
		if (found && twice->second <= entries[i].index)
			continue;
		*twice = (struct twice){entries[i - 1].index, entries[i].index};
		found = 1;
	}
	free(entries);
	return found;
}

static int refuse_twice(const struct config_validation *check, struct config_place place,
			const struct twice *twice, const char *what)
{
	struct config_place first = place;
	char seen[CONFIG_FIRST_LEN];

	place.index = twice->second;
	first.index = twice->first;
	if (!check->text)
		first.field = NULL;
	return config_refuse(check, &place, "%s is given twice (%s)", what,
			     config_first(check, &first, seen));
}

static int check_backends(const struct config_validation *check, size_t pool_index)
{
	const struct config_pool *pool = &check->config->pools[pool_index];
	struct config_place place = {.section = CONFIG_BACKEND, .pool = pool_index};
	char text[TEXT_ENDPOINT_LEN], quote[CONFIG_QUOTE_LEN];
	const struct config_backend *backend;
	struct twice twice;
	int found;

	found = find_twice(pool->backends, pool->n_backends, sizeof(*pool->backends),
			   config_backend_compare_name, &twice);
	if (found > 0) {
		backend = &pool->backends[twice.second];
		place.field = "name";
		return refuse_twice(check, place, &twice,
				    config_quote(backend->name, strlen(backend->name), quote));
	}
	if (found < 0)
		return found;

	found = find_twice(pool->backends, pool->n_backends, sizeof(*pool->backends),
			   config_backend_compare_endpoint, &twice);
	if (found > 0) {
		backend = &pool->backends[twice.second];
		place.field = "address";
		return refuse_twice(check, place, &twice,
				    text_endpoint(&backend->address, backend->port, text));
	}
	return found;
}

static int check_pools(const struct config_validation *check)
{
	const struct config *config = check->config;
	struct config_place place = {.section = CONFIG_POOL, .field = "name"};
	char quote[CONFIG_QUOTE_LEN];
	struct twice twice;
	int err = find_twice(config->pools, config->n_pools, sizeof(*config->pools),
			     config_pool_compare, &twice);

	if (err > 0) {
		const char *name = config->pools[twice.second].name;

		return refuse_twice(check, place, &twice, config_quote(name, strlen(name), quote));
	}
	for (size_t i = 0; !err && i < config->n_pools; i++)
		err = check_backends(check, i);
	return err;
}

static int refuse_overlap(const struct config_validation *check,
			  const struct config_vip_fault *fault)
{
	const struct config_vip *vips = check->config->vips;
	const struct config_place first = {.section = CONFIG_VIP,
					   .index = (size_t)(fault->other - vips)};
	struct config_place place = {
		.section = CONFIG_VIP, .index = (size_t)(fault->vip - vips), .field = "port"};
	char ports[TEXT_PORTS_LEN], other[TEXT_ENDPOINT_LEN];
	char line[32] = "";

	if (check->text)
		snprintf(line, sizeof(line), " (line %zu)",
			 check->text->mark(check->text->context, &first).line);
	return config_refuse(check, &place,
			     "%s overlaps VIP %s%s in part; let one lie within the other, or apart",
			     text_ports(fault->vip->port, fault->vip->port_last, ports),
			     text_vip(fault->other, other), line);
}

/* VIPs of one prefix may lie within each other, where the narrowest wins, but not across. */
static int check_overlaps(const struct config_validation *check)
{
	struct config_place place = {.section = CONFIG_VIP};
	struct config_vip_fault fault = {0};
	struct config_vip_list *lists;
	size_t n;
	int err = config_list_vips(check->config, &lists, &n, &fault);

	if (!err)
		free(lists);
	if (err != -EINVAL)
		return err;
	if (fault.other)
		return refuse_overlap(check, &fault);
	place.index = (size_t)(fault.vip - check->config->vips);
	return config_refuse(check, &place,
			     "is more than the %d ports and ranges that a prefix may have, "
			     "counting those of prefixes that cover it",
			     CONFIG_RANGES_MAX);
}

int config_check_unique(const struct config_validation *check)
{
	const struct config *config = check->config;
	char text[TEXT_ENDPOINT_LEN], quote[CONFIG_QUOTE_LEN];
	struct config_place place = {.section = CONFIG_INTERFACE, .field = "name"};
	struct twice twice;
	int found;

	found = find_twice(config->interfaces, config->n_interfaces, sizeof(*config->interfaces),
			   config_interface_compare, &twice);
	if (found > 0) {
		const char *name = config->interfaces[twice.second].name;

		return refuse_twice(check, place, &twice, config_quote(name, strlen(name), quote));
	}
	if (!found)
		found = check_pools(check);
	if (found)
		return found;

	found = find_twice(config->vips, config->n_vips, sizeof(*config->vips), config_vip_compare,
			   &twice);
	place = (struct config_place){.section = CONFIG_VIP};
	if (found > 0)
		return refuse_twice(check, place, &twice,
				    text_vip(&config->vips[twice.second], text));
	return found ? found : check_overlaps(check);
}
