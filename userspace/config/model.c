/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/quic.h"

void config_release(struct config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->n_pools; i++)
		free(config->pools[i].backends);
	free(config->interfaces);
	free(config->pools);
	free(config->vips);
	*config = (struct config){0};
}

static void *array_copy(const void *items, size_t n, size_t item_bytes)
{
	void *copy = calloc(n ? n : 1, item_bytes);

	if (copy && n)
		memcpy(copy, items, n * item_bytes);
	return copy;
}

int config_copy(struct config *to, const struct config *from)
{
	struct config copy = {
		.seed = from->seed,
		.flows = from->flows,
		.encap = from->encap,
	};

	copy.interfaces =
		array_copy(from->interfaces, from->n_interfaces, sizeof(*from->interfaces));
	copy.pools = array_copy(from->pools, from->n_pools, sizeof(*from->pools));
	copy.vips = array_copy(from->vips, from->n_vips, sizeof(*from->vips));
	if (!copy.interfaces || !copy.pools || !copy.vips)
		goto fail;
	copy.n_interfaces = from->n_interfaces;
	copy.n_vips = from->n_vips;
	/* Counts up as the pools get backends of their own, so config_release() frees only those.
	 */
	for (; copy.n_pools < from->n_pools; copy.n_pools++) {
		const struct config_pool *pool = &from->pools[copy.n_pools];
		void *backends =
			array_copy(pool->backends, pool->n_backends, sizeof(*pool->backends));

		if (!backends)
			goto fail;
		copy.pools[copy.n_pools].backends = backends;
	}
	*to = copy;
	return 0;
fail:
	config_release(&copy);
	return -ENOMEM;
}

int config_address_compare(const struct config_address *a, const struct config_address *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return memcmp(a->bytes, b->bytes, a->family == AF_INET ? 4 : 16);
}

int config_interface_compare(const void *a, const void *b)
{
	const struct config_interface *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int config_pool_compare(const void *a, const void *b)
{
	const struct config_pool *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int config_backend_compare_name(const void *a, const void *b)
{
	const struct config_backend *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int config_backend_compare_endpoint(const void *a, const void *b)
{
	const struct config_backend *x = a, *y = b;
	int order = config_address_compare(&x->address, &y->address);

	return order ? order : x->port - y->port;
}

int config_vip_compare(const void *a, const void *b)
{
	const struct config_vip *x = a, *y = b;
	int order = config_address_compare(&x->address, &y->address);

	if (!order)
		order = x->prefix_len - y->prefix_len;
	if (!order)
		order = x->protocol - y->protocol;
	if (!order)
		order = x->port - y->port;
	return order ? order : x->port_last - y->port_last;
}

/* Two arrays of one kind of item; each has its items once. */
struct pairing {
	const char *items;
	const void **sorted; /* pointers to @items in order; NULL if there was no memory */
	size_t n;
	size_t item_bytes;
	config_compare *compare;
};

static int pointer_compare(const void *a, const void *b, void *context)
{
	config_compare *const *compare = context;
	const void *const *x = a, *const *y = b;

	return (*compare)(*x, *y);
}

static const void *pairing_find(const struct pairing *pairing, const void *item)
{
	size_t low = 0, high = pairing->n;

	/* Slow, but the caller of config_equal() must not be told that equal models differ. */
	for (size_t i = 0; !pairing->sorted && i < pairing->n; i++) {
		const char *other = pairing->items + i * pairing->item_bytes;

		if (!pairing->compare(other, item))
			return other;
	}
	while (pairing->sorted && low < high) {
		size_t middle = low + (high - low) / 2;
		int order = pairing->compare(pairing->sorted[middle], item);

		if (!order)
			return pairing->sorted[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool arrays_equal(const void *a, const void *b, size_t n, size_t item_bytes,
			 config_compare *compare, bool (*equal)(const void *x, const void *y))
{
	struct pairing pairing = {b, NULL, n, item_bytes, compare};
	bool same = true;

	if (n)
		pairing.sorted = calloc(n, sizeof(*pairing.sorted));
	for (size_t i = 0; pairing.sorted && i < n; i++)
		pairing.sorted[i] = pairing.items + i * item_bytes;
	if (pairing.sorted)
		qsort_r(pairing.sorted, n, sizeof(*pairing.sorted), pointer_compare, &compare);
	for (size_t i = 0; same && i < n; i++) {
		const char *item = (const char *)a + i * item_bytes;
		const void *other = pairing_find(&pairing, item);

		same = other && equal(item, other);
	}
	free(pairing.sorted);
	return same;
}

static bool interface_equal(const void *a, const void *b)
{
	const struct config_interface *x = a, *y = b;

	return x->mode == y->mode;
}

static bool backend_equal(const void *a, const void *b)
{
	const struct config_backend *x = a, *y = b;

	return !config_backend_compare_endpoint(x, y) && x->weight_milli == y->weight_milli &&
	       !strcmp(x->rack, y->rack) && x->drain == y->drain &&
	       x->drain_until_s == y->drain_until_s && config_quic_equal(x->quic_ids, y->quic_ids);
}

bool config_check_equal(const struct config_check *a, const struct config_check *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == CONFIG_CHECK_NONE)
		return true;
	return a->port == b->port && !strcmp(a->path, b->path) && !strcmp(a->host, b->host) &&
	       a->expect_first == b->expect_first && a->expect_last == b->expect_last &&
	       !strcmp(a->body, b->body) && !strcmp(a->send, b->send) &&
	       !strcmp(a->receive, b->receive) && a->interval_ms == b->interval_ms &&
	       a->timeout_ms == b->timeout_ms && a->rise == b->rise && a->fall == b->fall &&
	       a->jitter_percent == b->jitter_percent;
}

static bool pool_equal(const void *a, const void *b)
{
	const struct config_pool *x = a, *y = b;

	return x->forward == y->forward && x->gue_port == y->gue_port &&
	       x->gue_checksum == y->gue_checksum && x->placement == y->placement &&
	       x->vnodes == y->vnodes && x->cells == y->cells &&
	       x->epsilon_milli == y->epsilon_milli && x->load_cap_milli == y->load_cap_milli &&
	       x->load_interval_ms == y->load_interval_ms && x->mtu == y->mtu &&
	       x->mss_clamp == y->mss_clamp && x->panic == y->panic &&
	       config_check_equal(&x->check, &y->check) && x->n_backends == y->n_backends &&
	       arrays_equal(x->backends, y->backends, x->n_backends, sizeof(*x->backends),
			    config_backend_compare_name, backend_equal);
}

static bool vip_equal(const void *a, const void *b)
{
	const struct config_vip *x = a, *y = b;

	return !strcmp(x->pool, y->pool) && x->hash == y->hash;
}

bool config_equal(const struct config *a, const struct config *b)
{
	return a->seed == b->seed && !memcmp(&a->flows, &b->flows, sizeof(a->flows)) &&
	       !memcmp(&a->encap, &b->encap, sizeof(a->encap)) &&
	       a->n_interfaces == b->n_interfaces && a->n_pools == b->n_pools &&
	       a->n_vips == b->n_vips &&
	       arrays_equal(a->interfaces, b->interfaces, a->n_interfaces, sizeof(*a->interfaces),
			    config_interface_compare, interface_equal) &&
	       arrays_equal(a->vips, b->vips, a->n_vips, sizeof(*a->vips), config_vip_compare,
			    vip_equal) &&
	       arrays_equal(a->pools, b->pools, a->n_pools, sizeof(*a->pools), config_pool_compare,
			    pool_equal);
}
