/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/error.h"
#include "config/model.h"

static const struct config_mark nowhere;

struct config_pool *config_find_pool(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_pools; i++)
		if (!strcmp(config->pools[i].name, name))
			return &config->pools[i];
	return NULL;
}

struct config_backend *config_find_backend(const struct config_pool *pool, const char *name)
{
	for (size_t i = 0; i < pool->n_backends; i++)
		if (!strcmp(pool->backends[i].name, name))
			return &pool->backends[i];
	return NULL;
}

struct config_vip *config_find_vip(const struct config *config, const struct config_vip *vip)
{
	for (size_t i = 0; i < config->n_vips; i++)
		if (!config_vip_compare(&config->vips[i], vip))
			return &config->vips[i];
	return NULL;
}

int config_need_pool(const struct config *config, const char *name, struct config_pool **pool,
		     struct config_error *error)
{
	struct config_pool *found = config_find_pool(config, name);
	char quote[CONFIG_QUOTE_LEN], hint[CONFIG_HINT_LEN];
	struct config_guess guess = {.word = name};

	if (found) {
		*pool = found;
		return 0;
	}
	for (size_t i = 0; i < config->n_pools; i++)
		config_guess_offer(&guess, config->pools[i].name);
	config_error_set(error, nowhere, "there is no pool %s%s",
			 config_quote(name, strlen(name), quote), config_guess_hint(&guess, hint));
	return -ENOENT;
}

int config_need_backend(const struct config_pool *pool, const char *name,
			struct config_backend **backend, struct config_error *error)
{
	struct config_backend *found = config_find_backend(pool, name);
	char quote[CONFIG_QUOTE_LEN];

	if (found) {
		*backend = found;
		return 0;
	}
	/* No guess: names of backends differ by a digit, and the wrong one may be drained. */
	config_error_set(error, nowhere, "pool '%s' has no backend %s", pool->name,
			 config_quote(name, strlen(name), quote));
	return -ENOENT;
}

/* Names of the pools that have @backend, or of all, as far as there is room. */
static void list_pools(const struct config *config, const char *backend, char *out, size_t size)
{
	size_t at = 0, left = 0;

	for (size_t i = 0; i < config->n_pools; i++) {
		const char *name = config->pools[i].name;

		if (backend && !config_find_backend(&config->pools[i], backend))
			continue;
		/* The last 24 bytes are for the number of those that find no room. */
		if (left || at + strlen(name) + strlen(", ''") + 24 >= size)
			left++;
		else
			at += (size_t)snprintf(out + at, size - at, "%s'%s'", at ? ", " : "", name);
	}
	if (left)
		snprintf(out + at, size - at, " and %zu more", left);
}

static int refuse_choice(const struct config *config, const char *backend, size_t n,
			 struct config_error *error)
{
	char pools[128], quote[CONFIG_QUOTE_LEN];

	config_quote(backend ? backend : "", backend ? strlen(backend) : 0, quote);
	if (!n && backend)
		config_error_set(error, nowhere, "no pool has a backend %s", quote);
	else if (!n)
		config_error_set(error, nowhere, "there is no pool");
	if (!n)
		return -ENOENT;
	list_pools(config, backend, pools, sizeof(pools));
	if (backend)
		return config_error_set(error, nowhere,
					"backend %s is in several pools, name one of %s", quote,
					pools);
	return config_error_set(error, nowhere, "there are several pools, name one of %s", pools);
}

int config_pick_pool(const struct config *config, const char *pool, const char *backend,
		     struct config_pool **out, struct config_error *error)
{
	struct config_pool *found = NULL;
	struct config_backend *unused;
	size_t n = 0;
	int err;

	if (pool) {
		err = config_need_pool(config, pool, &found, error);
		if (!err && backend)
			err = config_need_backend(found, backend, &unused, error);
		if (!err)
			*out = found;
		return err;
	}
	for (size_t i = config->n_pools; i-- > 0;) {
		if (backend && !config_find_backend(&config->pools[i], backend))
			continue;
		found = &config->pools[i];
		n++;
	}
	if (n != 1)
		return refuse_choice(config, backend, n, error);
	*out = found;
	return 0;
}
