/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/match.h"
#include "control/change.h"

static uint8_t family_of(const struct config_address *address)
{
	return address->family == AF_INET6 ? ENDPOINT_IPV6 : ENDPOINT_IPV4;
}

struct endpoint control_endpoint(const struct config_address *address, uint8_t protocol,
				 uint16_t port)
{
	struct endpoint endpoint = {
		.port = htons(port),
		.protocol = protocol,
		.family = family_of(address),
	};

	memcpy(endpoint.address, address->bytes, sizeof(endpoint.address));
	return endpoint;
}

struct endpoint control_vip_key(const struct config_vip *vip)
{
	return control_endpoint(&vip->address, vip->protocol, vip->port);
}

static struct backend backend_of(const struct config_pool *pool,
				 const struct config_backend *backend)
{
	static const uint8_t forwards[] = {
		[CONFIG_DR] = FORWARD_DR,
		[CONFIG_NAT] = FORWARD_NAT,
		[CONFIG_IPIP] = FORWARD_IPIP,
		[CONFIG_GUE] = FORWARD_GUE,
	};
	struct backend entry = {
		.port = htons(pool->forward == CONFIG_GUE ? pool->gue_port : backend->port),
		.family = family_of(&backend->address),
		.forward = forwards[pool->forward],
		.flags = pool->gue_checksum == CONFIG_GUE_FULL ? BACKEND_UDP_CHECKSUM : 0,
	};

	memcpy(entry.address, backend->address.bytes, sizeof(entry.address));
	return entry;
}

static int commit_backend(struct change *change, const struct config_pool *from,
			  const struct config_backend *backend, const struct control_pool *pool)
{
	struct dataplane *dp = change->control->dp;
	uint16_t member = ring_find_member(pool->ring, backend->name);
	uint32_t id = pool->ids[member];
	struct label_key key = {.kind = LABEL_BACKEND, .id = id};
	struct backend entry = backend_of(from, backend);
	struct nexthop nexthop = change_nexthop(change->next, &pool->nexthops[member]);
	struct label label = {};
	int err;

	snprintf(label.pool, sizeof(label.pool), "%s", from->name);
	snprintf(label.backend, sizeof(label.backend), "%s", backend->name);
	err = dataplane_set_label(dp, &key, &label);
	if (!err)
		err = dataplane_set_backend(dp, id, &entry);
	if (!err && nexthop.ifindex)
		err = dataplane_allow_egress(dp, nexthop.ifindex);
	if (err)
		return err;
	dataplane_set_mtu(dp, id, control_mtu(from, &pool->nexthops[member]));
	dataplane_set_nexthop(dp, id, &nexthop);
	dataplane_set_takes(dp, id, pool->takes[member]);
	return 0;
}

static int commit_backends(struct change *change)
{
	int err = 0;

	for (size_t p = 0; p < change->n_pools && !err; p++) {
		const struct config_pool *from = &change->next->pools[p];
		struct label_key key = {.kind = LABEL_POOL, .id = change->pools[p].id};
		struct label label = {};

		snprintf(label.pool, sizeof(label.pool), "%s", from->name);
		err = dataplane_set_label(change->control->dp, &key, &label);
		for (size_t b = 0; b < from->n_backends && !err; b++)
			err = commit_backend(change, from, &from->backends[b], &change->pools[p]);
	}
	return err;
}

/* The entries that take the replies of a VIP's nat backends back to the VIP. */
static void add_replies(struct change *change, const struct config_vip *vip,
			const struct config_pool *pool)
{
	uint16_t port = config_vip_is_exact(vip) ? vip->port : 0;
	struct reply value = {
		.port = htons(port),
		.flags = vip->port_last ? REPLY_IF_VIP : 0,
	};

	memcpy(value.address, vip->address.bytes, sizeof(value.address));
	for (size_t b = 0; b < pool->n_backends; b++) {
		const struct config_backend *backend = &pool->backends[b];

		change->replies[change->n_replies++] = (struct change_reply){
			.key = control_endpoint(&backend->address, vip->protocol,
						backend->port ? backend->port : port),
			.value = value,
		};
	}
}

static int compare_replies(const void *a, const void *b)
{
	return memcmp(&((const struct change_reply *)a)->key,
		      &((const struct change_reply *)b)->key, sizeof(struct endpoint));
}

/* Ranges and any port of one address share a key; any port says the most. */
static void unite_replies(struct change *change)
{
	size_t n = 0;

	for (size_t i = 0; i < change->n_replies; i++) {
		struct change_reply *last = n ? &change->replies[n - 1] : NULL;

		if (last && !compare_replies(last, &change->replies[i]))
			last->value.flags &= change->replies[i].value.flags;
		else
			change->replies[n++] = change->replies[i];
	}
	change->n_replies = n;
}

int change_list_replies(struct change *change)
{
	const struct config *next = change->next;
	size_t most = 0;

	for (size_t v = 0; v < next->n_vips; v++)
		most += config_find_pool(next, next->vips[v].pool)->n_backends;
	change->replies = calloc(most + 1, sizeof(*change->replies));
	if (!change->replies)
		return -ENOMEM;
	for (size_t v = 0; v < next->n_vips; v++) {
		const struct config_pool *pool = config_find_pool(next, next->vips[v].pool);

		if (pool->forward == CONFIG_NAT)
			add_replies(change, &next->vips[v], pool);
	}
	qsort(change->replies, change->n_replies, sizeof(*change->replies), compare_replies);
	unite_replies(change);
	return 0;
}

static int commit_replies(struct change *change)
{
	int err = 0;

	for (size_t i = 0; i < change->n_replies && !err; i++)
		err = dataplane_set_reply(change->control->dp, &change->replies[i].key,
					  &change->replies[i].value);
	return err;
}

static int commit_rings(struct change *change)
{
	int err = 0;

	for (size_t p = 0; p < change->n_pools && !err; p++) {
		if (change->ring_fds[p] < 0)
			continue;
		err = dataplane_publish_ring(change->control->dp, change->pools[p].id,
					     change->ring_fds[p]);
		change->ring_fds[p] = -1;
	}
	return err;
}

static int commit_egress(struct change *change)
{
	int err = 0;

	for (size_t i = 0; i < change->next->n_interfaces && !err; i++)
		err = dataplane_allow_egress(change->control->dp, change->ifindexes[i]);
	return err;
}

static int commit_times(struct change *change)
{
	const struct config_flows *flows = &change->next->flows;
	struct flow_times times = {
		.tcp_idle_s = flows->idle_tcp_ms / 1000,
		.other_idle_s = flows->idle_other_ms / 1000,
		.closing_s = flows->closing_ms / 1000,
		.embryo_s = flows->opening_ms / 1000,
	};

	return dataplane_set_flow_times(change->control->dp, &times);
}

static int commit_encap(struct change *change)
{
	struct encap encap = control_encap(change->next);

	return dataplane_set_encap(change->control->dp, &encap);
}

/*
 * In this order nothing is named before it is there: way out, backends, what names
 * them, the way back, rings, and the VIPs that lead to them.
 */
int change_commit(struct change *change, struct control_error *error)
{
	int err = commit_egress(change);

	if (!err)
		err = commit_times(change);
	if (!err)
		err = commit_encap(change);
	if (!err)
		err = commit_backends(change);
	if (!err)
		err = change_commit_quic(change);
	if (!err)
		err = commit_replies(change);
	if (!err)
		err = commit_rings(change);
	if (!err)
		err = change_commit_vips(change);
	return err ? control_fail(error, err, "cannot write to the data plane: %s", strerror(-err))
		   : 0;
}
