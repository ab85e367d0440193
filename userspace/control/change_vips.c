/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the VIPs of a configuration to the maps that packets find them in.
 *
 * An entry is complete for its prefix whatever the others say, so any order of writes
 * does: a packet meets an entry of the old configuration or of the new one, and where
 * the two agree on its VIP, both entries do.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "config/match.h"
#include "config/text.h"
#include "control/change.h"

_Static_assert(CONFIG_RANGES_MAX == VIP_RANGES_MAX, "a list fits its entry");
_Static_assert((int)CONFIG_HASH_FLOW == VIP_HASH_FLOW &&
		       (int)CONFIG_HASH_SOURCE == VIP_HASH_SOURCE &&
		       (int)CONFIG_HASH_SOURCE_PORT_LESS == VIP_HASH_SOURCE_PORT_LESS,
	       "both count alike");

static struct vip value_of(const struct change *change, const struct config_vip *vip)
{
	const struct config_pool *pool = config_find_pool(change->next, vip->pool);
	const struct control_pool *live = &change->pools[pool - change->next->pools];
	char text[TEXT_ENDPOINT_LEN];

	return (struct vip){
		.vip = ids_find(&change->vip_ids, text_vip(vip, text)),
		.pool = (uint16_t)live->id,
		.mss = vip->protocol == IPPROTO_TCP ? pool->mss_clamp : 0,
		.hash = vip->hash,
		.flags = pool->forward == CONFIG_NAT ? VIP_NAT : 0,
		.quic = vip->protocol == IPPROTO_UDP ? live->quic_lengths : 0,
	};
}

static struct vip_prefix key_of(const struct config_vip *vip)
{
	const struct endpoint at = control_endpoint(&vip->address, vip->protocol, 0);
	struct vip_prefix key = {
		.prefixlen = VIP_PREFIX_BITS + config_vip_bits(vip),
		.family = at.family,
		.protocol = at.protocol,
	};

	memcpy(key.address, at.address, sizeof(key.address));
	return key;
}

/* The VIPs that packets of one protocol to a prefix may have. */
static void fill_prefix(const struct change *change, const struct config_vip_list *list,
			struct change_prefix *prefix)
{
	prefix->key = key_of(list->own);
	prefix->value.len = (uint32_t)list->n;
	for (size_t i = 0; i < list->n; i++)
		prefix->value.ranges[i] = (struct vip_range){
			.first = config_vip_first(list->vips[i]),
			.last = config_vip_last(list->vips[i]),
			.prefix_len = (uint8_t)config_vip_bits(list->vips[i]),
			.vip = change->vips[list->vips[i] - change->next->vips],
		};
}

/* That there is some VIP, of any protocol. It does no harm to say it twice. */
static void mark_prefix(const struct config_vip *vip, struct change_prefix *prefix)
{
	prefix->key = key_of(vip);
	prefix->key.protocol = 0;
	/* dataplane_set_prefix() relies on values of nested prefixes to differ. */
	prefix->value.ranges[0].prefix_len = (uint8_t)config_vip_bits(vip);
}

static int compare_prefixes(const void *a, const void *b)
{
	return memcmp(&((const struct change_prefix *)a)->key,
		      &((const struct change_prefix *)b)->key, sizeof(struct vip_prefix));
}

static int list_values(struct change *change)
{
	const struct config *next = change->next;

	change->vips = calloc(next->n_vips + 1, sizeof(*change->vips));
	if (!change->vips)
		return -ENOMEM;
	for (size_t v = 0; v < next->n_vips; v++)
		change->vips[v] = value_of(change, &next->vips[v]);
	return 0;
}

int change_list_vips(struct change *change)
{
	struct config_vip_list *lists;
	size_t n;
	int err = list_values(change);

	if (!err)
		err = config_list_vips(change->next, &lists, &n, NULL);
	if (err)
		return err;
	change->prefixes = calloc(2 * n + 1, sizeof(*change->prefixes));
	for (size_t i = 0; change->prefixes && i < n; i++) {
		fill_prefix(change, &lists[i], &change->prefixes[change->n_prefixes++]);
		mark_prefix(lists[i].own, &change->prefixes[change->n_prefixes++]);
	}
	free(lists);
	if (!change->prefixes)
		return -ENOMEM;
	qsort(change->prefixes, change->n_prefixes, sizeof(*change->prefixes), compare_prefixes);
	return 0;
}

/* VIPs that were not there begin to count at zero, whoever had their ids before. */
static int reset_new(const struct change *change)
{
	const struct config *next = change->next;
	char text[TEXT_ENDPOINT_LEN];
	int err = 0;

	for (size_t v = 0; v < next->n_vips && !err; v++) {
		text_vip(&next->vips[v], text);
		if (ids_find(&change->control->vip_ids, text) == ID_NONE)
			err = dataplane_reset_vip(change->control->dp,
						  ids_find(&change->vip_ids, text));
	}
	return err;
}

int change_commit_vips(const struct change *change)
{
	struct dataplane *dp = change->control->dp;
	const struct config *next = change->next;
	int err = reset_new(change);

	for (size_t i = 0; i < change->n_prefixes && !err; i++)
		err = dataplane_set_prefix(dp, &change->prefixes[i].key,
					   &change->prefixes[i].value);
	for (size_t v = 0; v < next->n_vips && !err; v++) {
		struct endpoint key = control_vip_key(&next->vips[v]);

		if (config_vip_is_exact(&next->vips[v]))
			err = dataplane_set_vip(dp, &key, &change->vips[v]);
	}
	return err;
}

static bool wants_vip(void *context, const void *key)
{
	const struct change *change = context;

	for (size_t v = 0; v < change->next->n_vips; v++) {
		struct endpoint wanted = control_vip_key(&change->next->vips[v]);

		if (config_vip_is_exact(&change->next->vips[v]) &&
		    !memcmp(&wanted, key, sizeof(wanted)))
			return true;
	}
	return false;
}

static int compare_key(const void *key, const void *prefix)
{
	return memcmp(key, &((const struct change_prefix *)prefix)->key, sizeof(struct vip_prefix));
}

static bool wants_prefix(void *context, const void *key)
{
	const struct change *change = context;

	return bsearch(key, change->prefixes, change->n_prefixes, sizeof(*change->prefixes),
		       compare_key);
}

void change_clean_vips(struct change *change)
{
	dataplane_prune_vips(change->control->dp, wants_vip, change);
	dataplane_prune_prefixes(change->control->dp, wants_prefix, change);
}

struct config_vip control_vip_of(const struct endpoint *at, uint8_t prefix_len, uint16_t last)
{
	struct config_vip vip = {
		.address.family = at->family == ENDPOINT_IPV6 ? AF_INET6 : AF_INET,
		.prefix_len = prefix_len,
		.protocol = at->protocol,
		.port = ntohs(at->port),
		.port_last = last,
	};

	memcpy(vip.address.bytes, at->address, sizeof(vip.address.bytes));
	if (prefix_len == (at->family == ENDPOINT_IPV6 ? 128 : 32))
		vip.prefix_len = 0;
	if (!vip.port || vip.port == last)
		vip.port_last = 0;
	return vip;
}

static int read_vip(struct control *control, const struct endpoint *at, uint8_t prefix_len,
		    uint16_t last, uint32_t id)
{
	const struct config_vip vip = control_vip_of(at, prefix_len, last);
	char text[TEXT_ENDPOINT_LEN];

	return ids_add(&control->vip_ids, text_vip(&vip, text), id);
}

/* The ranges that are the prefix's own: the others are met with the prefix that has them. */
static int read_prefix(struct control *control, const struct vip_prefix *key,
		       const struct vip_ranges *value)
{
	struct endpoint at = {.protocol = key->protocol, .family = key->family};
	int err = 0;

	memcpy(at.address, key->address, sizeof(at.address));
	for (uint32_t i = 0; i < value->len && i < VIP_RANGES_MAX && !err; i++) {
		const struct vip_range *range = &value->ranges[i];

		at.port = htons(range->first);
		if (key->prefixlen == (uint32_t)VIP_PREFIX_BITS + range->prefix_len)
			err = read_vip(control, &at, range->prefix_len, range->last,
				       range->vip.vip);
	}
	return err;
}

int change_read_vips(struct control *control)
{
	struct vip_prefix prefix_key = {};
	struct endpoint key = {};
	struct vip_ranges ranges;
	struct vip vip;
	int err = 0;

	while (!err && !dataplane_next_vip(control->dp, &key, &vip))
		err = read_vip(control, &key, key.family == ENDPOINT_IPV6 ? 128 : 32,
			       ntohs(key.port), vip.vip);
	while (!err && !dataplane_next_prefix(control->dp, &prefix_key, &ranges))
		err = read_prefix(control, &prefix_key, &ranges);
	return err;
}
