/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What nat pools need so that replies find their way back.
 *
 * A reply of a nat backend gets its VIP back as its source by a look-up of
 * (protocol, backend address, backend port) alone, first with its port and then
 * with port 0, which stands for any. No state of a connection is kept, so each
 * such key may lead to one VIP only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "config/model.h"
#include "config/text.h"
#include "config/validate.h"

/* One pair of a VIP and a backend of its pool, and the port that replies come from. */
struct reply {
	const struct config_backend *backend;
	size_t vip;
	uint16_t port;
};

/* Two replies with one key, of which the VIP of @first comes first; NULL if there are none. */
struct conflict {
	const struct reply *first;
	const struct reply *second;
};

/* A backend of each sort that a pool has, or NULL. */
struct traits {
	const struct config_backend *ipv4;
	const struct config_backend *ipv6;
	const struct config_backend *with_port;
};

static struct traits traits_of(const struct config_pool *pool)
{
	struct traits traits = {0};

	/* Backwards, so that the first of each sort is the one that stays. */
	for (size_t i = pool->n_backends; i-- > 0;) {
		const struct config_backend *backend = &pool->backends[i];

		if (backend->address.family == AF_INET)
			traits.ipv4 = backend;
		else
			traits.ipv6 = backend;
		if (backend->port)
			traits.with_port = backend;
	}
	return traits;
}

/* Can the backends of this VIP be reached with nat at all, and answer? */
static int check_vip(const struct config_validation *check, struct config_place place,
		     const struct traits *traits)
{
	const struct config_vip *vip = &check->config->vips[place.index];
	const char *pool = check->vip_pools[place.index]->name;
	bool is_ipv4 = vip->address.family == AF_INET;
	const struct config_backend *other = is_ipv4 ? traits->ipv6 : traits->ipv4;
	char text[TEXT_ADDRESS_LEN];

	if (other) {
		place.field = "address";
		return config_refuse(check, &place,
				     "%s is %s, but backend '%s' of nat pool '%s' is %s",
				     text_address(&vip->address, text), is_ipv4 ? "IPv4" : "IPv6",
				     other->name, pool, is_ipv4 ? "IPv6" : "IPv4");
	}
	if (!vip->port && traits->with_port) {
		place.field = "port";
		return config_refuse(check, &place,
				     "0 (any) does not go with port %d of backend '%s' in nat pool "
				     "'%s': replies could not get back the client's port",
				     traits->with_port->port, traits->with_port->name, pool);
	}
	return 0;
}

static int check_vips(const struct config_validation *check, size_t *n_replies)
{
	const struct config *config = check->config;
	struct config_place place = {.section = CONFIG_VIP};
	struct traits *traits = calloc(config->n_pools, sizeof(*traits));
	size_t sum = 0;
	int err = 0;

	if (!traits)
		return -ENOMEM;
	for (size_t i = 0; i < config->n_pools; i++)
		traits[i] = traits_of(&config->pools[i]);
	for (; !err && place.index < config->n_vips; place.index++) {
		const struct config_pool *pool = check->vip_pools[place.index];

		if (pool->forward != CONFIG_NAT)
			continue;
		err = check_vip(check, place, &traits[pool - config->pools]);
		sum += pool->n_backends;
		if (!err && sum > CONFIG_REPLIES_MAX)
			err = config_refuse(check, &place,
					    "makes %zu pairs of a VIP and a nat backend, "
					    "at most %d fit",
					    sum, CONFIG_REPLIES_MAX);
	}
	free(traits);
	*n_replies = sum;
	return err;
}

static int vip_compare_address(const void *a, const void *b)
{
	const struct config_vip *const *x = a, *const *y = b;
	int order = config_address_compare(&(*x)->address, &(*y)->address);

	/* The first in the file is the first of its equals. */
	return order ? order : (*x < *y ? -1 : *x > *y);
}

static const struct config_vip *find_address(const struct config_vip *const *sorted, size_t n,
					     const struct config_address *address)
{
	size_t low = 0;

	while (n > low) {
		size_t middle = low + (n - low) / 2;
		int order = config_address_compare(&sorted[middle]->address, address);

		if (!order &&
		    (!middle || config_address_compare(&sorted[middle - 1]->address, address)))
			return sorted[middle];
		if (order < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return NULL;
}

static int check_pool_addresses(const struct config_validation *check, size_t pool_index,
				const struct config_vip *const *sorted)
{
	const struct config_pool *pool = &check->config->pools[pool_index];
	struct config_place place = {CONFIG_BACKEND, pool_index, 0, "address"};
	char address[TEXT_ADDRESS_LEN], text[TEXT_ENDPOINT_LEN];

	if (pool->forward != CONFIG_NAT)
		return 0;
	for (; place.index < pool->n_backends; place.index++) {
		const struct config_backend *backend = &pool->backends[place.index];
		const struct config_vip *vip =
			find_address(sorted, check->config->n_vips, &backend->address);

		if (vip)
			return config_refuse(check, &place,
					     "%s is also that of VIP %s: what nat sends there "
					     "would come back",
					     text_address(&backend->address, address),
					     text_vip(vip, text));
	}
	return 0;
}

/* A backend behind a VIP's own address would get its packets back to the load balancer. */
static int check_addresses(const struct config_validation *check)
{
	const struct config *config = check->config;
	const struct config_vip **sorted = calloc(config->n_vips, sizeof(*sorted));
	int err = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < config->n_vips; i++)
		sorted[i] = &config->vips[i];
	qsort(sorted, config->n_vips, sizeof(*sorted), vip_compare_address);
	for (size_t i = 0; !err && i < config->n_pools; i++)
		err = check_pool_addresses(check, i, sorted);
	free(sorted);
	return err;
}

static int reply_compare_host(const struct reply *a, const struct reply *b,
			      const struct config *config)
{
	int order = config->vips[a->vip].protocol - config->vips[b->vip].protocol;

	return order ? order : config_address_compare(&a->backend->address, &b->backend->address);
}

static int reply_compare(const void *a, const void *b, void *context)
{
	const struct config *const *config = context;
	const struct reply *x = a, *y = b;
	int order = reply_compare_host(x, y, *config);

	if (!order)
		order = x->port - y->port;
	if (!order)
		order = x->vip < y->vip ? -1 : x->vip > y->vip;
	return order;
}

static void replies_fill(const struct config_validation *check, struct reply *replies)
{
	size_t n = 0;

	for (size_t i = 0; i < check->config->n_vips; i++) {
		const struct config_pool *pool = check->vip_pools[i];

		for (size_t j = 0; pool->forward == CONFIG_NAT && j < pool->n_backends; j++) {
			const struct config_backend *backend = &pool->backends[j];
			uint16_t port = backend->port ? backend->port : check->config->vips[i].port;

			replies[n++] = (struct reply){backend, i, port};
		}
	}
}

/*
 * Would a reply that fits both keys get the same source from both? A key with
 * port 0 also fits what a key of one port is for, and then leaves the port alone.
 */
static bool replies_agree(const struct reply *a, const struct reply *b, const struct config *config)
{
	const struct config_vip *x = &config->vips[a->vip], *y = &config->vips[b->vip];

	if (a->vip == b->vip)
		return true;
	if (a->port || !b->port)
		return false;
	return b->port == y->port && !config_address_compare(&x->address, &y->address);
}

/* Of two pairs of conflicting replies, the one to report is that whose later VIP comes first. */
static void conflict_add(struct conflict *conflict, const struct reply *a, const struct reply *b)
{
	if (a->vip > b->vip) {
		conflict_add(conflict, b, a);
		return;
	}
	if (!conflict->first || b->vip < conflict->second->vip)
		*conflict = (struct conflict){a, b};
}

/* One pass over sorted replies: equal keys are neighbours, and port 0 leads its host's. */
static struct conflict replies_judge(const struct reply *replies, size_t n,
				     const struct config *config)
{
	struct conflict conflict = {0};
	const struct reply *host = replies;

	for (const struct reply *reply = replies + 1; reply < replies + n; reply++) {
		if (reply_compare_host(host, reply, config)) {
			host = reply;
			continue;
		}
		if (reply->port == reply[-1].port && !replies_agree(&reply[-1], reply, config))
			conflict_add(&conflict, &reply[-1], reply);
		if (!host->port && reply->port && !replies_agree(host, reply, config))
			conflict_add(&conflict, host, reply);
	}
	return conflict;
}

static int refuse_conflict(const struct config_validation *check, const struct conflict *conflict)
{
	const struct reply *a = conflict->first, *b = conflict->second;
	const struct config_vip *vips = check->config->vips;
	char from[TEXT_ENDPOINT_LEN], first[TEXT_ENDPOINT_LEN], second[TEXT_ENDPOINT_LEN];
	const struct config_place at = {.section = CONFIG_VIP, .index = a->vip};
	const struct config_place place = {.section = CONFIG_VIP, .index = b->vip};
	char line[32] = "";

	if (check->text)
		snprintf(line, sizeof(line), " (line %zu)",
			 check->text->mark(check->text->context, &at).line);
	/* Without a text the place is the VIP's own name. */
	return config_refuse(
		check, &place,
		"%s%sand VIP %s%s share backend %s: nat could not tell their replies "
		"apart",
		check->text ? text_vip(&vips[b->vip], second) : "", check->text ? " " : "",
		text_vip(&vips[a->vip], first), line,
		text_endpoint(&b->backend->address, a->port ? a->port : b->port, from));
}

static int check_replies(const struct config_validation *check, size_t n)
{
	const struct config *config = check->config;
	struct reply *replies = calloc(n, sizeof(*replies));
	struct conflict conflict;
	int err = 0;

	if (!replies)
		return -ENOMEM;
	replies_fill(check, replies);
	qsort_r(replies, n, sizeof(*replies), reply_compare, &config);
	conflict = replies_judge(replies, n, config);
	if (conflict.first)
		err = refuse_conflict(check, &conflict);
	free(replies);
	return err;
}

int config_check_nat(const struct config_validation *check)
{
	size_t n_replies;
	int err;

	if (!check->config->n_vips)
		return 0;
	err = check_vips(check, &n_replies);
	if (!err)
		err = check_addresses(check);
	if (!err && n_replies)
		err = check_replies(check, n_replies);
	return err;
}
