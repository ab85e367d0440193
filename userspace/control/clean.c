/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Taking out what is stale, and reading back what is live: both go by the maps. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/text.h"
#include "control/change.h"

static int compare_reply_key(const void *key, const void *reply)
{
	return memcmp(key, &((const struct change_reply *)reply)->key, sizeof(struct endpoint));
}

static bool wants_reply(void *context, const void *key)
{
	const struct change *change = context;

	return bsearch(key, change->replies, change->n_replies, sizeof(*change->replies),
		       compare_reply_key);
}

/* What is left after a change: ids by kind, and the data plane to take the rest from. */
struct wanted_ids {
	struct dataplane *dp;
	bool *pools;
	bool *backends;
};

static bool *list_ids(const struct ids *ids, size_t limit)
{
	bool *wanted = calloc(limit, sizeof(*wanted));

	for (size_t i = 0; wanted && i < ids->len; i++)
		wanted[ids->entries[i].id] = true;
	return wanted;
}

/* A label that goes takes with it what it stood for. */
static bool wants_label(void *context, const void *key)
{
	const struct wanted_ids *wanted = context;
	const struct label_key *label = key;
	bool keep =
		label->kind == LABEL_POOL ? wanted->pools[label->id] : wanted->backends[label->id];

	if (keep)
		return true;
	if (label->kind == LABEL_POOL)
		dataplane_remove_ring(wanted->dp, label->id);
	else
		dataplane_remove_backend(wanted->dp, label->id);
	return false;
}

static void clean_labels(struct change *change)
{
	struct wanted_ids wanted = {
		.dp = change->control->dp,
		.pools = list_ids(&change->pool_ids, POOLS_MAX),
		.backends = list_ids(&change->backend_ids, BACKENDS_MAX),
	};

	if (wanted.pools && wanted.backends)
		dataplane_prune_labels(wanted.dp, wants_label, &wanted);
	free(wanted.pools);
	free(wanted.backends);
}

static void clean_interfaces(struct change *change)
{
	struct if_nameindex *all = if_nameindex();
	struct dataplane_error ignored;

	for (struct if_nameindex *one = all; one && one->if_index; one++) {
		bool wanted = false;

		for (size_t i = 0; i < change->next->n_interfaces; i++)
			wanted |= change->ifindexes[i] == one->if_index;
		if (!wanted)
			dataplane_detach(change->control->dp, one->if_index, &ignored);
	}
	if (all)
		if_freenameindex(all);
}

void change_clean(struct change *change)
{
	struct control *control = change->control;

	/* What cannot be removed now harms nobody, and the next change tries again. */
	change_clean_vips(change);
	dataplane_prune_replies(control->dp, wants_reply, change);
	change_clean_quic(change);
	clean_labels(change);
	clean_interfaces(change);
	change_forget(control->nexthops, control->pools, control->n_pools, change->pools,
		      change->n_pools);
}

/* Backends are live as (label, entry). */
static int read_label(struct control *control, const struct label_key *key,
		      const struct label *label)
{
	const struct backend *entry = dataplane_get_backend(control->dp, key->id);
	struct config_pool pool = {};
	struct config_backend backend = {};
	char text[CHANGE_KEY_LEN];

	if (key->kind == LABEL_POOL)
		return ids_add(&control->pool_ids, label->pool, key->id);
	if (!entry)
		return 0;
	snprintf(pool.name, sizeof(pool.name), "%s", label->pool);
	snprintf(backend.name, sizeof(backend.name), "%s", label->backend);
	/* As far as change_backend_key() looks at them. */
	pool.forward = entry->forward == FORWARD_NAT ? CONFIG_NAT : CONFIG_DR;
	backend.address.family = entry->family == ENDPOINT_IPV6 ? AF_INET6 : AF_INET;
	memcpy(backend.address.bytes, entry->address, sizeof(backend.address.bytes));
	if (entry->forward == FORWARD_NAT)
		backend.port = ntohs(entry->port);
	return ids_add(&control->backend_ids, change_backend_key(&pool, &backend, text), key->id);
}

int control_read_ids(struct control *control)
{
	struct label_key label_key = {};
	struct label label;
	int err = 0;

	while (!err && !dataplane_next_label(control->dp, &label_key, &label))
		err = read_label(control, &label_key, &label);
	if (!err)
		err = change_read_vips(control);
	ids_sort(&control->pool_ids);
	ids_sort(&control->backend_ids);
	ids_sort(&control->vip_ids);
	return err;
}
