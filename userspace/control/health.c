/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which backends are checked: configurations as differences, and lookup by name. */
#include "control/health.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "control/health_backend.h"

/* @backends ascend by name. */
struct health_pool {
	char name[CONFIG_NAME_MAX + 1];
	struct health_check *check;
	struct health_backend **backends;
	size_t n_backends;
};

/* The pools with a check; they ascend by name. */
struct health_set {
	struct health_pool *pools;
	size_t n_pools;
};

struct health {
	struct health_clock clock;
	struct health_set set;
	uint64_t generation;
};

static int pool_compare(const void *a, const void *b)
{
	const struct health_pool *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int backend_compare(const void *a, const void *b)
{
	const struct health_backend *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int name_compare(const void *name, const void *backend)
{
	const struct health_backend *const *x = backend;

	return strcmp(name, (*x)->name);
}

static int pool_name_compare(const void *name, const void *pool)
{
	const struct health_pool *x = pool;

	return strcmp(name, x->name);
}

static struct health_pool *find_pool(const struct health_set *set, const char *name)
{
	if (!set->n_pools)
		return NULL;
	return bsearch(name, set->pools, set->n_pools, sizeof(*set->pools), pool_name_compare);
}

static struct health_backend *find_backend(const struct health_pool *pool, const char *name)
{
	struct health_backend **found = NULL;

	if (pool && pool->n_backends)
		found = bsearch(name, pool->backends, pool->n_backends, sizeof(*pool->backends),
				name_compare);
	return found ? *found : NULL;
}

/* Free the arrays, and of the backends those that are not of @generation (0: all). */
static void set_release(struct health_set *set, uint64_t generation)
{
	for (size_t p = 0; p < set->n_pools; p++) {
		struct health_pool *pool = &set->pools[p];

		for (size_t b = 0; b < pool->n_backends; b++)
			if (pool->backends[b]->generation != generation)
				health_backend_free(pool->backends[b]);
		free(pool->backends);
		health_check_unref(pool->check);
	}
	free(set->pools);
	*set = (struct health_set){0};
}

/* Give up a set that is not in force: only what was made for it goes. */
static void set_discard(struct health_set *set, uint64_t generation)
{
	for (size_t p = 0; p < set->n_pools; p++)
		for (size_t b = 0; b < set->pools[p].n_backends; b++)
			if (set->pools[p].backends[b]->fresh)
				set->pools[p].backends[b]->generation = 0;
	set_release(set, generation);
}

/* The backend that is there already, or a new one with what it inherits of the old. */
static int adopt_backend(struct health *health, struct health_pool *pool,
			 const struct health_pool *old, const struct config_backend *config,
			 struct health_backend **out)
{
	struct health_backend *was = find_backend(old, config->name), *backend;
	int err;

	if (was && !health_backend_is(was, &pool->check->config, config))
		was = NULL;
	if (was && was->check == pool->check) {
		was->generation = health->generation;
		*out = was;
		return 0;
	}
	err = health_backend_new(&backend, &health->clock, pool->check, pool->name, config);
	if (err)
		return err;
	backend->generation = health->generation;
	if (was) {
		backend->record.up = was->record.up;
		backend->record.changes = was->record.changes;
	}
	*out = backend;
	return 0;
}

static int build_pool(struct health *health, struct health_pool *pool,
		      const struct config_pool *config)
{
	const struct health_pool *old = find_pool(&health->set, config->name);
	int err = 0;

	snprintf(pool->name, sizeof(pool->name), "%s", config->name);
	if (old && config_check_equal(&old->check->config, &config->check)) {
		pool->check = old->check;
		pool->check->users++;
	} else {
		pool->check = health_check_new(&config->check);
	}
	/* One too many, as calloc(0) may return NULL. */
	pool->backends = calloc(config->n_backends + 1, sizeof(struct health_backend *));
	if (!pool->check || !pool->backends)
		return -ENOMEM;
	for (size_t b = 0; !err && b < config->n_backends; b++) {
		err = adopt_backend(health, pool, old, &config->backends[b], &pool->backends[b]);
		pool->n_backends += !err;
	}
	qsort(pool->backends, pool->n_backends, sizeof(struct health_backend *), backend_compare);
	return err;
}

static int build_set(struct health *health, struct health_set *set, const struct config *config)
{
	int err = 0;

	set->pools = calloc(config->n_pools + 1, sizeof(*set->pools));
	if (!set->pools)
		return -ENOMEM;
	for (size_t p = 0; !err && p < config->n_pools; p++)
		if (config->pools[p].check.type != CONFIG_CHECK_NONE)
			err = build_pool(health, &set->pools[set->n_pools++], &config->pools[p]);
	qsort(set->pools, set->n_pools, sizeof(*set->pools), pool_compare);
	return err;
}

int health_configure(struct health *health, const struct config *config)
{
	struct health_set set = {0};
	int err;

	health->generation++;
	err = build_set(health, &set, config);
	if (err) {
		set_discard(&set, health->generation);
		return err;
	}
	set_release(&health->set, health->generation);
	health->set = set;
	for (size_t p = 0; p < set.n_pools; p++)
		for (size_t b = 0; b < set.pools[p].n_backends; b++)
			if (set.pools[p].backends[b]->fresh)
				health_backend_start(set.pools[p].backends[b]);
	return 0;
}

void health_restore(struct health *health, const char *pool, const char *name, bool up)
{
	struct health_backend *backend = find_backend(find_pool(&health->set, pool), name);

	if (backend && !backend->record.any)
		backend->record.up = up;
}

void health_status(const struct health *health, const char *pool, const char *name,
		   struct health_status *out)
{
	const struct health_backend *backend = find_backend(find_pool(&health->set, pool), name);

	*out = (struct health_status){.up = true};
	if (!backend)
		return;
	out->checked = true;
	out->up = backend->record.up;
	out->damped = backend->record.damping > 0;
	out->successes = backend->record.successes;
	out->failures = backend->record.failures;
	out->rise = health_record_rise(&backend->record, &backend->check->config);
	out->changes = backend->record.changes;
	out->latency_ms = (double)backend->latency_us / 1000;
	memcpy(out->reason, backend->reason, sizeof(out->reason));
}

static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int health_open(struct health **out, sd_event *loop, health_changed changed, void *context)
{
	struct health *health = calloc(1, sizeof(*health));

	if (!health)
		return -ENOMEM;
	/* Any number but 0, even where there is nothing random yet. */
	if (getrandom(&health->clock.random, sizeof(health->clock.random), GRND_NONBLOCK) < 0)
		health->clock.random = (uintptr_t)health;
	health->clock.random |= 1;
	health->clock.prober.loop = sd_event_ref(loop);
	health->clock.changed = changed;
	health->clock.context = context;
	raise_file_limit();
	*out = health;
	return 0;
}

void health_close(struct health *health)
{
	if (!health)
		return;
	set_release(&health->set, 0);
	prober_release(&health->clock.prober);
	sd_event_unref(health->clock.prober.loop);
	free(health);
}
