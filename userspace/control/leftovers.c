/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/leftovers.h"

/* A name for @backend, whose own @pool gives to another by now: NAME.old, NAME.old2... */
static void free_name(const struct config_pool *pool, struct config_backend *backend)
{
	char name[CONFIG_NAME_MAX + 1];

	for (int i = 1; config_find_backend(pool, backend->name); i++) {
		if (i == 1)
			snprintf(name, sizeof(name), "%.50s.old", backend->name);
		else
			snprintf(name, sizeof(name), "%.50s%d", backend->name, i);
		snprintf(backend->name, sizeof(backend->name), "%s", name);
	}
}

static bool same_address(const struct config_backend *a, const struct config_backend *b)
{
	return a->port == b->port && a->address.family == b->address.family &&
	       !memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes));
}

static const struct config_backend *find_address(const struct config_pool *pool,
						 const struct config_backend *wanted)
{
	for (size_t b = 0; b < pool->n_backends; b++)
		if (same_address(&pool->backends[b], wanted))
			return &pool->backends[b];
	return NULL;
}

int control_drain_leftovers(struct config *next, const struct config *running)
{
	struct config_error ignored;

	for (size_t p = 0; p < running->n_pools; p++) {
		const struct config_pool *from = &running->pools[p];
		struct config_pool *pool = config_find_pool(next, from->name);

		if (!pool || next->seed != running->seed ||
		    (pool->forward == CONFIG_NAT) != (from->forward == CONFIG_NAT))
			continue;
		for (size_t b = 0; b < from->n_backends; b++) {
			struct config_backend leftover = from->backends[b];
			int err;

			if (find_address(pool, &leftover))
				continue;
			free_name(pool, &leftover);
			leftover.drain = CONFIG_DRAIN_REMOVE;
			err = config_add_backend(next, pool->name, &leftover, &ignored);
			/* Its QUIC ids may be another's by now. */
			memset(leftover.quic_ids, 0, sizeof(leftover.quic_ids));
			if (err == -EINVAL)
				err = config_add_backend(next, pool->name, &leftover, &ignored);
			if (err == -ENOMEM)
				return err;
		}
	}
	return 0;
}
