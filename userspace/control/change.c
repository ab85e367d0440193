/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/text.h"
#include "control/change.h"
#include "control/load.h"

const char *change_backend_key(const struct config_pool *pool, const struct config_backend *backend,
			       char out[CHANGE_KEY_LEN])
{
	char endpoint[TEXT_ENDPOINT_LEN];

	snprintf(out, CHANGE_KEY_LEN, "%s/%s/%s", pool->name,
		 text_endpoint(&backend->address, backend->port, endpoint),
		 pool->forward == CONFIG_NAT ? "nat" : "direct");
	return out;
}

/* 1 if the sysctl says so, 0 if not; a family that the kernel lacks counts as on. */
static bool forwarding_is_on(const char *family, const char *ifname)
{
	char path[128], value = '1';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/forwarding", family, ifname);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (fread(&value, 1, 1, file) != 1)
		value = '1';
	fclose(file);
	return value != '0';
}

/*
 * Replies of nat backends find the client by the kernel's routing table, which the
 * program may ask only where forwarding is on. Say so now instead of losing them.
 */
static int check_forwarding(const struct config *next, struct control_error *error)
{
	for (size_t p = 0; p < next->n_pools; p++) {
		const struct config_pool *pool = &next->pools[p];
		const char *family;

		if (pool->forward != CONFIG_NAT || !pool->n_backends)
			continue;
		family = pool->backends[0].address.family == AF_INET6 ? "ipv6" : "ipv4";
		for (size_t i = 0; i < next->n_interfaces; i++) {
			const char *name = next->interfaces[i].name;

			if (!forwarding_is_on(family, name))
				return control_fail(error, -EINVAL,
						    "pool '%s' forwards by nat, which needs "
						    "forwarding on '%s': sysctl -w "
						    "net.%s.conf.%s.forwarding=1",
						    pool->name, name, family, name);
		}
	}
	return 0;
}

static int find_interfaces(struct change *change, struct control_error *error)
{
	const struct config *next = change->next;

	change->ifindexes = calloc(next->n_interfaces + 1, sizeof(*change->ifindexes));
	change->attached = calloc(next->n_interfaces + 1, sizeof(*change->attached));
	if (!change->ifindexes || !change->attached)
		return control_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < next->n_interfaces; i++) {
		change->ifindexes[i] = if_nametoindex(next->interfaces[i].name);
		if (!change->ifindexes[i])
			return control_fail(error, -ENODEV,
					    "interfaces[%zu].name: there is no interface '%s'", i,
					    next->interfaces[i].name);
	}
	return check_forwarding(next, error);
}

static int collect_ids(struct change *change)
{
	const struct config *next = change->next;
	char key[CHANGE_KEY_LEN];
	int err = 0;

	for (size_t p = 0; p < next->n_pools && !err; p++) {
		const struct config_pool *pool = &next->pools[p];

		err = ids_add(&change->pool_ids, pool->name, ID_NONE);
		for (size_t b = 0; b < pool->n_backends && !err; b++)
			err = ids_add(&change->backend_ids,
				      change_backend_key(pool, &pool->backends[b], key), ID_NONE);
	}
	for (size_t v = 0; v < next->n_vips && !err; v++)
		err = ids_add(&change->vip_ids, text_vip(&next->vips[v], key), ID_NONE);
	ids_sort(&change->pool_ids);
	ids_sort(&change->backend_ids);
	ids_sort(&change->vip_ids);
	return err;
}

static int assign_ids(struct change *change, struct control_error *error)
{
	const struct control *control = change->control;
	int err = collect_ids(change);

	if (!err)
		err = ids_assign(&change->pool_ids, &control->pool_ids, POOLS_MAX);
	if (!err)
		err = ids_assign(&change->backend_ids, &control->backend_ids, BACKENDS_MAX);
	if (!err)
		err = ids_assign(&change->vip_ids, &control->vip_ids, VIPS_MAX);
	if (err == -ENOSPC)
		return control_fail(error, err,
				    "no free ids: the old and the new pools, backends or vips "
				    "together pass the maximum; make the change in two steps");
	return err ? control_fail(error, err, "out of memory") : 0;
}

static int attach_interface(struct dataplane *dp, const struct config *config, size_t index,
			    uint32_t ifindex, struct control_error *error)
{
	enum dataplane_mode mode = config->interfaces[index].mode == CONFIG_GENERIC
					   ? DATAPLANE_GENERIC
					   : DATAPLANE_NATIVE;
	struct dataplane_error why;
	int err = dataplane_attach(dp, ifindex, mode, &why);

	return err ? control_fail(error, err, "interfaces[%zu]: %s", index, why.what) : 0;
}

/* Harmless before the rest is live: the maps still say what they said before. */
static int attach_interfaces(struct change *change, struct control_error *error)
{
	const struct config *next = change->next;
	struct dataplane *dp = change->control->dp;

	for (size_t i = 0; i < next->n_interfaces; i++) {
		struct dataplane_attachment before;
		bool missing = dataplane_attachment(dp, change->ifindexes[i], &before) == -ENOENT;
		int err = attach_interface(dp, next, i, change->ifindexes[i], error);

		if (err)
			return err;
		change->attached[i] = missing;
	}
	return 0;
}

int control_refresh_interfaces(struct control *control, struct control_error *error)
{
	const struct config *running = &control->running;
	int attached = 0;

	for (size_t i = 0; i < running->n_interfaces; i++) {
		uint32_t ifindex = if_nametoindex(running->interfaces[i].name);
		struct dataplane_attachment live;
		int err;

		if (!ifindex || dataplane_attachment(control->dp, ifindex, &live) != -ENOENT)
			continue;
		err = attach_interface(control->dp, running, i, ifindex, error);
		if (!err)
			err = dataplane_allow_egress(control->dp, ifindex);
		if (err)
			return err;
		attached++;
	}
	return attached;
}

int change_prepare(struct change *change, struct control *control, const struct config *next,
		   struct control_error *error)
{
	int err;

	*change = (struct change){.control = control, .next = next};
	err = find_interfaces(change, error);
	if (!err)
		err = assign_ids(change, error);
	if (!err)
		err = change_build_pools(change, error);
	if (!err &&
	    (change_list_replies(change) || change_list_quic(change) || change_list_vips(change)))
		err = control_fail(error, -ENOMEM, "out of memory");
	if (!err) {
		err = change_resolve(change);
		if (err)
			control_fail(error, err, "cannot resolve next hops: %s", strerror(-err));
	}
	if (!err)
		err = attach_interfaces(change, error);
	return err;
}

int change_moved(const struct change *change, double *moved)
{
	*moved = 0;
	for (size_t p = 0; p < change->n_pools; p++) {
		const struct ring *ring = change->pools[p].ring;
		const struct control_pool *old =
			control_find_pool(change->control, change->pools[p].name);
		struct ring_range *ranges;
		ring_length sum = 0;
		size_t len;
		int err;

		if (!old)
			continue;
		err = ring_compare(old->ring, ring, &ranges, &len);
		if (err)
			return err;
		for (size_t i = 0; i < len; i++)
			sum += ranges[i].length;
		free(ranges);
		if (ring_share(ring, sum) > *moved)
			*moved = ring_share(ring, sum);
	}
	return 0;
}

void control_pools_free(struct control_pool *pools, size_t n_pools)
{
	for (size_t p = 0; pools && p < n_pools; p++) {
		if (pools[p].ring != pools[p].pure)
			ring_free(pools[p].ring);
		ring_free(pools[p].pure);
		load_release(&pools[p]);
		free(pools[p].ids);
		free(pools[p].nexthops);
		free(pools[p].down);
		free(pools[p].takes);
		free(pools[p].flows);
		free(pools[p].quic);
		free(pools[p].held);
		free(pools[p].claims);
		moves_release(&pools[p].moves);
	}
	free(pools);
}

void change_adopt(struct change *change)
{
	struct control *control = change->control;

	control_pools_free(control->pools, control->n_pools);
	control->pools = change->pools;
	control->n_pools = change->n_pools;
	change->pools = NULL;
	change->n_pools = 0;
	ids_release(&control->pool_ids);
	ids_release(&control->backend_ids);
	ids_release(&control->vip_ids);
	control->pool_ids = change->pool_ids;
	control->backend_ids = change->backend_ids;
	control->vip_ids = change->vip_ids;
	change->pool_ids = change->backend_ids = change->vip_ids = (struct ids){};
}

/* After change_adopt() there is nothing left to undo: attached[] is all there is. */
void change_release(struct change *change)
{
	struct control *control = change->control;
	struct dataplane_error ignored;

	if (change->pools) {
		change_forget(control->nexthops, change->pools, change->n_pools, control->pools,
			      control->n_pools);
		for (size_t i = 0; change->attached && i < change->next->n_interfaces; i++)
			if (change->attached[i])
				dataplane_detach(control->dp, change->ifindexes[i], &ignored);
	}
	for (size_t p = 0; change->ring_fds && p < change->n_pools; p++)
		if (change->ring_fds[p] >= 0)
			close(change->ring_fds[p]);
	control_pools_free(change->pools, change->n_pools);
	free(change->ring_fds);
	free(change->ifindexes);
	free(change->attached);
	free(change->replies);
	free(change->quic);
	free(change->vips);
	free(change->prefixes);
	ids_release(&change->pool_ids);
	ids_release(&change->backend_ids);
	ids_release(&change->vip_ids);
}
