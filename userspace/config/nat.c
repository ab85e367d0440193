/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What nat pools need so that replies find their way back.
 *
 * A reply of a nat backend gets its VIP back as its source by a look-up of
 * (protocol, backend address, backend port) alone, first with its port and then
 * with port 0, which stands for any that a VIP at that address has. No state of a
 * connection is kept, so each such key may lead to one VIP only.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "config/match.h"
#include "config/model.h"
#include "config/text.h"
#include "config/validate.h"

/* One pair of a VIP and a backend of its pool, and the port that replies come from; 0: many. */
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
	char text[TEXT_PREFIX_LEN], ports[TEXT_PORTS_LEN];

	place.field = "address";
	if (vip->prefix_len)
		return config_refuse(check, &place,
				     "%s is a prefix, which nat pool '%s' cannot serve: a reply "
				     "tells its backend, not which address the client asked for",
				     text_prefix(&vip->address, vip->prefix_len, text), pool);
	place.field = "protocol";
	if (vip->protocol == IPPROTO_SCTP)
		return config_refuse(check, &place,
				     "sctp does not go with nat pool '%s': its CRC32c covers "
				     "ports and data, all of which nat would have to read again, "
				     "and the data names addresses",
				     pool);
	place.field = "address";
	if (other) {
		return config_refuse(check, &place,
				     "%s is %s, but backend '%s' of nat pool '%s' is %s",
				     text_address(&vip->address, text), is_ipv4 ? "IPv4" : "IPv6",
				     other->name, pool, is_ipv4 ? "IPv6" : "IPv4");
	}
	if (!config_vip_is_exact(vip) && traits->with_port) {
		place.field = "port";
		return config_refuse(check, &place,
				     "%s does not go with port %d of backend '%s' in nat pool "
				     "'%s': replies could not get back the client's port",
				     vip->port ? text_ports(vip->port, vip->port_last, ports)
					       : "0 (any)",
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

/* VIPs in an order where each comes behind those whose prefix has its address. */
struct nesting {
	const struct config_vip **sorted;
	size_t *parents; /* index of the next shorter prefix, or of the VIP itself */
	size_t n;
};

static int vip_compare_prefix(const void *a, const void *b)
{
	const struct config_vip *const *x = a, *const *y = b;
	int order = config_address_compare(&(*x)->address, &(*y)->address);

	if (!order)
		order = (int)config_vip_bits(*x) - (int)config_vip_bits(*y);
	/* The first in the file is the last of its equals, which is found first. */
	return order ? order : (*x < *y ? 1 : *x > *y ? -1 : 0);
}

static void nesting_fill(struct nesting *nesting, const struct config *config)
{
	for (size_t i = 0; i < config->n_vips; i++)
		nesting->sorted[i] = &config->vips[i];
	nesting->n = config->n_vips;
	qsort(nesting->sorted, nesting->n, sizeof(*nesting->sorted), vip_compare_prefix);
	for (size_t i = 0; i < nesting->n; i++) {
		size_t parent = i ? i - 1 : 0;

		while (parent != nesting->parents[parent] &&
		       !config_vip_has_address(nesting->sorted[parent],
					       &nesting->sorted[i]->address))
			parent = nesting->parents[parent];
		if (!config_vip_has_address(nesting->sorted[parent], &nesting->sorted[i]->address))
			parent = i;
		nesting->parents[i] = parent;
	}
}

/* The VIP with @address, of the longest prefix; or NULL. */
static const struct config_vip *nesting_find(const struct nesting *nesting,
					     const struct config_address *address)
{
	size_t low = 0, high = nesting->n, at;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (config_address_compare(&nesting->sorted[middle]->address, address) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	for (at = low - 1; !config_vip_has_address(nesting->sorted[at], address);
	     at = nesting->parents[at])
		if (at == nesting->parents[at])
			return NULL;
	return nesting->sorted[at];
}

static int check_pool_addresses(const struct config_validation *check, size_t pool_index,
				const struct nesting *nesting)
{
	const struct config_pool *pool = &check->config->pools[pool_index];
	struct config_place place = {CONFIG_BACKEND, pool_index, 0, "address"};
	char address[TEXT_ADDRESS_LEN], text[TEXT_ENDPOINT_LEN];

	if (pool->forward == CONFIG_DR)
		return 0;
	for (; place.index < pool->n_backends; place.index++) {
		const struct config_backend *backend = &pool->backends[place.index];
		const struct config_vip *vip = nesting_find(nesting, &backend->address);

		if (vip)
			return config_refuse(check, &place,
					     "%s is also that of VIP %s: what %s sends there "
					     "would come back",
					     text_address(&backend->address, address),
					     text_vip(vip, text), text_forward(pool->forward));
	}
	return 0;
}

/* A backend behind a VIP's own address would get its packets back to the load balancer. */
static int check_addresses(const struct config_validation *check)
{
	const struct config *config = check->config;
	struct nesting nesting = {
		.sorted = calloc(config->n_vips, sizeof(*nesting.sorted)),
		.parents = calloc(config->n_vips, sizeof(*nesting.parents)),
	};
	int err = nesting.sorted && nesting.parents ? 0 : -ENOMEM;

	if (!err)
		nesting_fill(&nesting, config);
	for (size_t i = 0; !err && i < config->n_pools; i++)
		err = check_pool_addresses(check, i, &nesting);
	free(nesting.sorted);
	free(nesting.parents);
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
			const struct config_vip *vip = &check->config->vips[i];
			uint16_t port = config_vip_is_exact(vip) ? vip->port : 0;

			replies[n++] =
				(struct reply){backend, i, backend->port ? backend->port : port};
		}
	}
}

/*
 * Would a reply that fits both get the same source from both? @a is first in order.
 * One with port 0 also fits what one of a port is for, if its VIP has that port, and
 * then leaves the port alone.
 */
static bool replies_agree(const struct reply *a, const struct reply *b, const struct config *config)
{
	const struct config_vip *x = &config->vips[a->vip], *y = &config->vips[b->vip];
	bool same_address = !config_address_compare(&x->address, &y->address);

	if (a->vip == b->vip)
		return true;
	if (a->port)
		return false;
	if (!b->port)
		return same_address;
	if (b->port < config_vip_first(x) || b->port > config_vip_last(x))
		return true;
	return same_address && b->port == y->port;
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

/*
 * One pass over sorted replies: equal keys are neighbours, and those with port 0 lead
 * their host's. There are few of these, if they agree: they are ranges of one address.
 */
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
		for (size_t i = 0; reply->port && i < CONFIG_RANGES_MAX && !host[i].port; i++)
			if (!replies_agree(&host[i], reply, config))
				conflict_add(&conflict, &host[i], reply);
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
