/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "dataplane/state.h"
#include "ringlb.skel.h"

/* Write @value unless the map holds it already; @live is scratch of the value's size. */
static int table_set(int fd, const void *key, const void *value, void *live, size_t value_len)
{
	if (!bpf_map_lookup_elem(fd, key, live) && !memcmp(live, value, value_len))
		return 0;
	return bpf_map_update_elem(fd, key, value, BPF_ANY) ? -errno : 0;
}

static int table_remove(int fd, const void *key)
{
	if (!bpf_map_delete_elem(fd, key))
		return 0;
	return errno == ENOENT ? 0 : -errno;
}

/*
 * Step @cursor to the next key. A hash map starts over from the first key when
 * the given one is not in it, which is why an all-zero cursor begins.
 */
static int table_next(int fd, void *cursor, void *value)
{
	if (bpf_map_get_next_key(fd, cursor, cursor))
		return -errno;
	return bpf_map_lookup_elem(fd, cursor, value) ? -errno : 0;
}

/* All keys of a table that has at most @max, for the caller to free; NULL: no memory. */
static uint8_t *table_list(int fd, size_t key_len, size_t max, size_t *len)
{
	uint8_t *keys = calloc(max + 1, key_len);

	*len = 0;
	while (keys && *len < max &&
	       !bpf_map_get_next_key(fd, *len ? keys + (*len - 1) * key_len : NULL,
				     keys + *len * key_len))
		++*len;
	return keys;
}

/*
 * Remove what is not to be kept; *@len of @keys are left. They were listed first: removing
 * the one just read would send the walk back to the beginning of a hash map.
 */
static int table_keep(int fd, uint8_t *keys, size_t key_len, size_t *len, dataplane_keep *keep,
		      void *context)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < *len && !err; i++) {
		if (keep(context, keys + i * key_len))
			memmove(keys + kept++ * key_len, keys + i * key_len, key_len);
		else
			err = table_remove(fd, keys + i * key_len);
	}
	*len = kept;
	return err;
}

/*
 * @addresses: 0, or ADDRESS_*: the keys are endpoints, and what their addresses are is in a
 * map of its own, too
 */
static int table_prune(struct dataplane *dp, const struct bpf_map *map, size_t key_len, size_t max,
		       uint32_t addresses, dataplane_keep *keep, void *context)
{
	size_t len;
	uint8_t *keys = table_list(bpf_map__fd(map), key_len, max, &len);
	int err = keys ? table_keep(bpf_map__fd(map), keys, key_len, &len, keep, context) : -ENOMEM;

	if (!err && addresses)
		err = addresses_keep(dp, addresses, (const void *)keys, len);
	free(keys);
	return err;
}

int dataplane_set_vip(struct dataplane *dp, const struct endpoint *key, const struct vip *value)
{
	int err = addresses_add(dp, key, ADDRESS_VIP);
	struct vip live;

	if (!err)
		err = table_set(bpf_map__fd(dp->skeleton->maps.vips), key, value, &live,
				sizeof(live));
	if (!err)
		front_set_vip(dp, key, value);
	return err;
}

int dataplane_remove_vip(struct dataplane *dp, const struct endpoint *key)
{
	front_remove_vip(dp, key);
	return table_remove(bpf_map__fd(dp->skeleton->maps.vips), key);
}

int dataplane_get_vip(struct dataplane *dp, const struct endpoint *key, struct vip *value)
{
	return bpf_map_lookup_elem(bpf_map__fd(dp->skeleton->maps.vips), key, value) ? -errno : 0;
}

int dataplane_next_vip(struct dataplane *dp, struct endpoint *cursor, struct vip *value)
{
	return table_next(bpf_map__fd(dp->skeleton->maps.vips), cursor, value);
}

int dataplane_prune_vips(struct dataplane *dp, dataplane_keep *keep, void *context)
{
	int err = table_prune(dp, dp->skeleton->maps.vips, sizeof(struct endpoint), VIPS_MAX,
			      ADDRESS_VIP, keep, context);

	return err ? err : front_rebuild(dp);
}

int dataplane_set_prefix(struct dataplane *dp, const struct vip_prefix *key,
			 const struct vip_ranges *value)
{
	struct vip_ranges live;

	front_set_prefixes(dp, true);
	/* The look-up may find a shorter prefix, but that never has the same ranges. */
	return table_set(bpf_map__fd(dp->skeleton->maps.vip_prefixes), key, value, &live,
			 sizeof(live));
}

int dataplane_next_prefix(struct dataplane *dp, struct vip_prefix *cursor, struct vip_ranges *value)
{
	return table_next(bpf_map__fd(dp->skeleton->maps.vip_prefixes), cursor, value);
}

int dataplane_prune_prefixes(struct dataplane *dp, dataplane_keep *keep, void *context)
{
	struct vip_prefix first;
	int err = table_prune(dp, dp->skeleton->maps.vip_prefixes, sizeof(struct vip_prefix),
			      VIP_PREFIXES_MAX, 0, keep, context);

	if (!err &&
	    bpf_map_get_next_key(bpf_map__fd(dp->skeleton->maps.vip_prefixes), NULL, &first))
		front_set_prefixes(dp, false);
	return err;
}

/* Set all bits of an address from @bits on to zero. */
static void cut_address(__be32 address[4], unsigned int bits)
{
	for (unsigned int word = 0; word < 4; word++, bits -= bits < 32 ? bits : 32)
		address[word] &= bits < 32 ? htonl(~(UINT32_MAX >> bits)) : UINT32_MAX;
}

/* As vip_find_prefix() of the program. */
static int find_prefix(struct dataplane *dp, struct dataplane_match *match, struct vip *vip)
{
	struct vip_prefix key = {
		.prefixlen = VIP_PREFIX_BITS + 8 * sizeof(key.address),
		.family = match->vip.family,
		.protocol = match->vip.protocol,
	};
	uint16_t port = ntohs(match->vip.port);
	struct vip_ranges ranges;

	memcpy(key.address, match->vip.address, sizeof(key.address));
	if (bpf_map_lookup_elem(bpf_map__fd(dp->skeleton->maps.vip_prefixes), &key, &ranges))
		return -errno;
	for (uint32_t i = 0; i < ranges.len && i < VIP_RANGES_MAX; i++) {
		const struct vip_range *range = &ranges.ranges[i];

		if (port < range->first || port > range->last)
			continue;
		cut_address(match->vip.address, range->prefix_len);
		match->vip.port = htons(range->first);
		match->prefix_len = range->prefix_len;
		match->last = range->last;
		*vip = range->vip;
		return 0;
	}
	return -ENOENT;
}

int tables_find_vip(struct dataplane *dp, const struct flow *flow, struct dataplane_match *match,
		    struct vip *vip)
{
	int err;

	match->vip = (struct endpoint){
		.port = flow->destination_port,
		.protocol = flow->protocol,
		.family = flow->family,
	};
	memcpy(match->vip.address, flow->destination, sizeof(match->vip.address));
	match->prefix_len = flow->family == ENDPOINT_IPV6 ? 128 : 32;
	match->last = ntohs(flow->destination_port);
	err = dataplane_get_vip(dp, &match->vip, vip);
	return err == -ENOENT ? find_prefix(dp, match, vip) : err;
}

int dataplane_set_reply(struct dataplane *dp, const struct endpoint *key, const struct reply *value)
{
	int err = addresses_add(dp, key, ADDRESS_BACKEND);
	struct reply live;

	if (err)
		return err;
	return table_set(bpf_map__fd(dp->skeleton->maps.replies), key, value, &live, sizeof(live));
}

int dataplane_remove_reply(struct dataplane *dp, const struct endpoint *key)
{
	return table_remove(bpf_map__fd(dp->skeleton->maps.replies), key);
}

int dataplane_next_reply(struct dataplane *dp, struct endpoint *cursor, struct reply *value)
{
	return table_next(bpf_map__fd(dp->skeleton->maps.replies), cursor, value);
}

int dataplane_prune_replies(struct dataplane *dp, dataplane_keep *keep, void *context)
{
	return table_prune(dp, dp->skeleton->maps.replies, sizeof(struct endpoint), REPLIES_MAX,
			   ADDRESS_BACKEND, keep, context);
}

int dataplane_set_quic_id(struct dataplane *dp, const struct quic_id *key,
			  const struct quic_backend *value)
{
	struct quic_backend live;

	return table_set(bpf_map__fd(dp->skeleton->maps.quic_ids), key, value, &live, sizeof(live));
}

int dataplane_prune_quic_ids(struct dataplane *dp, dataplane_keep *keep, void *context)
{
	return table_prune(dp, dp->skeleton->maps.quic_ids, sizeof(struct quic_id), QUIC_IDS_MAX, 0,
			   keep, context);
}

int dataplane_set_label(struct dataplane *dp, const struct label_key *key,
			const struct label *label)
{
	struct label live;

	return table_set(bpf_map__fd(dp->skeleton->maps.labels), key, label, &live, sizeof(live));
}

int dataplane_remove_label(struct dataplane *dp, const struct label_key *key)
{
	return table_remove(bpf_map__fd(dp->skeleton->maps.labels), key);
}

int dataplane_next_label(struct dataplane *dp, struct label_key *cursor, struct label *label)
{
	return table_next(bpf_map__fd(dp->skeleton->maps.labels), cursor, label);
}

int dataplane_prune_labels(struct dataplane *dp, dataplane_keep *keep, void *context)
{
	return table_prune(dp, dp->skeleton->maps.labels, sizeof(struct label_key),
			   BACKENDS_MAX + POOLS_MAX, 0, keep, context);
}

int dataplane_allow_egress(struct dataplane *dp, uint32_t ifindex)
{
	struct bpf_devmap_val value = {.ifindex = ifindex};

	return bpf_map_update_elem(bpf_map__fd(dp->skeleton->maps.egress), &ifindex, &value,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

/* Set element @id of a per-CPU counter map to zero on every CPU. */
static int counter_reset(struct dataplane *dp, int fd, uint32_t id)
{
	void *zeros = calloc((size_t)dp->cpus, sizeof(struct counter));
	int err;

	if (!zeros)
		return -ENOMEM;
	err = bpf_map_update_elem(fd, &id, zeros, BPF_ANY) ? -errno : 0;
	free(zeros);
	return err;
}

int dataplane_reset_vip(struct dataplane *dp, uint32_t vip)
{
	return counter_reset(dp, bpf_map__fd(dp->skeleton->maps.vip_counters), vip);
}

/* The connections of direct return live on when only the way there changes; those of nat don't. */
static bool same_machine(const struct backend *a, const struct backend *b)
{
	bool nat = b->forward == FORWARD_NAT;

	return a->forward && nat == (a->forward == FORWARD_NAT) && a->family == b->family &&
	       (!nat || a->port == b->port) && !memcmp(a->address, b->address, sizeof(a->address));
}

/* A packet that meets the change goes the old way or the new one: only gue reads the flags. */
static void change_way(struct backend *live, const struct backend *backend)
{
	if (backend->forward == FORWARD_GUE)
		__atomic_store_n(&live->flags, backend->flags, __ATOMIC_RELEASE);
	__atomic_store(&live->way, &backend->way, __ATOMIC_RELEASE);
	__atomic_store_n(&live->flags, backend->flags, __ATOMIC_RELEASE);
}

int dataplane_set_backend(struct dataplane *dp, uint32_t id, const struct backend *backend)
{
	struct backend *live;
	uint32_t incarnation;
	int err;

	if (id >= BACKENDS_MAX)
		return -ENOSPC;
	live = &dp->backends[id];
	if (same_machine(live, backend)) {
		change_way(live, backend);
		return 0;
	}
	err = counter_reset(dp, bpf_map__fd(dp->skeleton->maps.backend_count), id);
	if (err)
		return err;
	incarnation = live->incarnation + 1;
	memset(live, 0, sizeof(*live));
	live->incarnation = incarnation;
	live->takes = BACKEND_TAKES_OLD | BACKEND_TAKES_NEW;
	memcpy(live->address, backend->address, sizeof(live->address));
	live->port = backend->port;
	live->family = backend->family;
	live->flags = backend->flags;
	/* Last: from here on the entry counts. */
	__atomic_store_n(&live->forward, backend->forward, __ATOMIC_RELEASE);
	return 0;
}

void dataplane_remove_backend(struct dataplane *dp, uint32_t id)
{
	if (id < BACKENDS_MAX)
		__atomic_store_n(&dp->backends[id].forward, 0, __ATOMIC_RELEASE);
}

const struct backend *dataplane_get_backend(const struct dataplane *dp, uint32_t id)
{
	return id < BACKENDS_MAX ? &dp->backends[id] : NULL;
}

void dataplane_set_takes(struct dataplane *dp, uint32_t id, uint32_t takes)
{
	struct backend *live = &dp->backends[id];

	if (live->takes == takes)
		return;
	if (!(live->takes & BACKEND_TAKES_OLD) && (takes & BACKEND_TAKES_OLD))
		live->incarnation++;
	__atomic_store_n(&live->takes, takes, __ATOMIC_RELEASE);
}

void dataplane_set_mtu(struct dataplane *dp, uint32_t id, uint16_t mtu)
{
	__atomic_store_n(&dp->backends[id].mtu, mtu, __ATOMIC_RELEASE);
}

int dataplane_set_encap(struct dataplane *dp, const struct encap *encap)
{
	struct encap live;
	uint32_t key = 0;

	return table_set(bpf_map__fd(dp->skeleton->maps.encap), &key, encap, &live, sizeof(live));
}

int dataplane_set_flow_times(struct dataplane *dp, const struct flow_times *times)
{
	uint32_t key = 0;

	return bpf_map_update_elem(bpf_map__fd(dp->skeleton->maps.flow_times), &key, times, BPF_ANY)
		       ? -errno
		       : 0;
}

void dataplane_set_nexthop(struct dataplane *dp, uint32_t id, const struct nexthop *nexthop)
{
	struct backend *live = &dp->backends[id];
	uint32_t active = live->active & 1;

	if (!memcmp(&live->nexthops[active], nexthop, sizeof(*nexthop)))
		return;
	live->nexthops[!active] = *nexthop;
	__atomic_store_n(&live->active, !active, __ATOMIC_RELEASE);
}
