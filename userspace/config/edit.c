/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adding and changing puts the new state in place, has it judged as a whole and
 * takes it back if it is refused. Removing needs no judgement: each rule is about
 * what a model has or has together, so less of a valid model is valid. (Interfaces
 * and pools, which others need, cannot be removed.)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/model.h"
#include "config/text.h"
#include "config/validate.h"

static const struct config_mark nowhere;

/* The items and one more, in a new array. Return: NULL if there is no memory. */
static void *array_append(const void *items, size_t n, size_t item_bytes, const void *item)
{
	char *longer = calloc(n + 1, item_bytes);

	if (!longer)
		return NULL;
	if (n)
		memcpy(longer, items, n * item_bytes);
	memcpy(longer + n * item_bytes, item, item_bytes);
	return longer;
}

/*
 * Copies of what a caller gave, without what was in the bytes that carry nothing.
 * A name that fills its whole array stays so, for the validator to refuse.
 */
static struct config_address address_clean(const struct config_address *address)
{
	struct config_address clean = {.family = address->family};

	memcpy(clean.bytes, address->bytes, address->family == AF_INET ? 4 : sizeof(clean.bytes));
	return clean;
}

static struct config_vip vip_clean(const struct config_vip *vip)
{
	struct config_vip clean = {
		.address = address_clean(&vip->address),
		.prefix_len = vip->prefix_len,
		.protocol = vip->protocol,
		.port = vip->port,
		.port_last = vip->port_last,
		.hash = vip->hash,
	};

	memcpy(clean.pool, vip->pool, strnlen(vip->pool, sizeof(clean.pool)));
	return clean;
}

static struct config_backend backend_clean(const struct config_backend *backend)
{
	struct config_backend clean = {
		.address = address_clean(&backend->address),
		.port = backend->port,
		.weight_milli = backend->weight_milli,
		.drain = backend->drain,
		.drain_until_s = backend->drain_until_s,
	};

	memcpy(clean.name, backend->name, strnlen(backend->name, sizeof(clean.name)));
	memcpy(clean.quic_ids, backend->quic_ids, sizeof(clean.quic_ids));
	return clean;
}

int config_add_vip(struct config *config, const struct config_vip *vip, struct config_error *error)
{
	const struct config_vip clean = vip_clean(vip);
	struct config_vip *there = config_find_vip(config, &clean);
	struct config_vip *before = config->vips;
	char text[TEXT_ENDPOINT_LEN];
	int err;

	if (there) {
		config_error_set(error, nowhere, "VIP %s exists already, with pool '%s'",
				 text_vip(there, text), there->pool);
		return -EEXIST;
	}
	config->vips = array_append(before, config->n_vips, sizeof(clean), &clean);
	if (!config->vips) {
		config->vips = before;
		return -ENOMEM;
	}
	config->n_vips++;
	err = config_validate(config, NULL, error);
	if (err) {
		free(config->vips);
		config->vips = before;
		config->n_vips--;
		return err;
	}
	free(before);
	return 0;
}

int config_remove_vip(struct config *config, const struct config_vip *vip,
		      struct config_error *error)
{
	struct config_vip *there = config_find_vip(config, vip);
	char text[TEXT_ENDPOINT_LEN];
	size_t after;

	if (!there) {
		config_error_set(error, nowhere, "there is no VIP %s", text_vip(vip, text));
		return -ENOENT;
	}
	after = config->n_vips - (size_t)(there - config->vips) - 1;
	memmove(there, there + 1, after * sizeof(*there));
	config->n_vips--;
	return 0;
}

int config_add_backend(struct config *config, const char *pool_name,
		       const struct config_backend *backend, struct config_error *error)
{
	const struct config_backend clean = backend_clean(backend);
	struct config_backend *before;
	struct config_pool *pool;
	int err = config_need_pool(config, pool_name, &pool, error);

	if (err)
		return err;
	/* A name that is none, which may lack its final zero, is for the validator. */
	if (text_is_name(clean.name) && config_find_backend(pool, clean.name)) {
		config_error_set(error, nowhere, "pool '%s' already has a backend '%s'", pool->name,
				 clean.name);
		return -EEXIST;
	}
	before = pool->backends;
	pool->backends = array_append(before, pool->n_backends, sizeof(clean), &clean);
	if (!pool->backends) {
		pool->backends = before;
		return -ENOMEM;
	}
	pool->n_backends++;
	err = config_validate(config, NULL, error);
	if (err) {
		free(pool->backends);
		pool->backends = before;
		pool->n_backends--;
		return err;
	}
	free(before);
	return 0;
}

int config_remove_backend(struct config *config, const char *pool_name, const char *name,
			  struct config_error *error)
{
	struct config_backend *backend;
	struct config_pool *pool;
	size_t after;
	int err = config_need_pool(config, pool_name, &pool, error);

	if (!err)
		err = config_need_backend(pool, name, &backend, error);
	if (err)
		return err;
	after = pool->n_backends - (size_t)(backend - pool->backends) - 1;
	memmove(backend, backend + 1, after * sizeof(*backend));
	pool->n_backends--;
	return 0;
}

int config_set_weight(struct config *config, const char *pool_name, const char *name,
		      uint32_t weight_milli, struct config_error *error)
{
	struct config_backend *backend;
	struct config_pool *pool;
	uint32_t before;
	int err = config_need_pool(config, pool_name, &pool, error);

	if (!err)
		err = config_need_backend(pool, name, &backend, error);
	if (err)
		return err;
	before = backend->weight_milli;
	backend->weight_milli = weight_milli;
	err = config_validate(config, NULL, error);
	if (err)
		backend->weight_milli = before;
	return err;
}

int config_set_drain(struct config *config, const char *pool_name, const char *name,
		     enum config_drain drain, uint64_t until_s, struct config_error *error)
{
	struct config_backend *backend, before;
	struct config_pool *pool;
	int err = config_need_pool(config, pool_name, &pool, error);

	if (!err)
		err = config_need_backend(pool, name, &backend, error);
	if (err)
		return err;
	before = *backend;
	backend->drain = drain;
	backend->drain_until_s = drain == CONFIG_NO_DRAIN ? 0 : until_s;
	err = config_validate(config, NULL, error);
	if (err)
		*backend = before;
	return err;
}
