/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/text.h"
#include "control/change.h"
#include "control/log.h"

/* A neighbour on the same link answers in milliseconds; a dead one never does. */
#define RESOLVE_WAIT_MS 1000

static bool has_interface(const struct config *config, uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	if (!if_indextoname(ifindex, name))
		return false;
	for (size_t i = 0; i < config->n_interfaces; i++)
		if (!strcmp(config->interfaces[i].name, name))
			return true;
	return false;
}

/*
 * Frames keep their VLAN tags, so one for a backend behind a VLAN interface leaves by what
 * is below that, where it came in. Unless the program is on the VLAN interface itself,
 * which takes the tags off.
 */
static uint32_t egress_of(const struct config *config, const struct nexthop_info *info)
{
	if (!info->lower || has_interface(config, info->ifindex) ||
	    !has_interface(config, info->lower))
		return info->ifindex;
	return info->lower;
}

struct nexthop change_nexthop(const struct config *config, const struct nexthop_info *info)
{
	struct nexthop nexthop = {};

	if (info->state != NEXTHOP_RESOLVED)
		return nexthop;
	nexthop.ifindex = egress_of(config, info);
	memcpy(nexthop.destination, info->destination, sizeof(nexthop.destination));
	memcpy(nexthop.source, info->source, sizeof(nexthop.source));
	return nexthop;
}

int64_t control_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* True if the backend is live already: then the event loop keeps its next hop fresh. */
static bool is_live(const struct control *control, const char *pool, uint32_t id)
{
	const struct control_pool *old = control_find_pool(control, pool);

	for (size_t m = 0; old && m < old->ring->n_members; m++)
		if (old->ids[m] == id)
			return true;
	return false;
}

/* True if there is something to ask for: a new backend without a MAC address. */
static bool is_open(const struct change *change, const struct control_pool *pool, uint16_t member)
{
	const struct nexthop_info *info = &pool->nexthops[member];

	if (info->state == NEXTHOP_RESOLVED)
		return !info->ifindex; /* all zero: never asked */
	return info->state == NEXTHOP_RESOLVING &&
	       !is_live(change->control, pool->name, pool->ids[member]);
}

/* Resolve every backend; *@waiting is true if a new one has no MAC address yet. */
static int resolve_all(struct change *change, bool *waiting)
{
	const struct config *next = change->next;

	*waiting = false;
	for (size_t p = 0; p < next->n_pools; p++) {
		const struct config_pool *from = &next->pools[p];
		struct control_pool *pool = &change->pools[p];

		for (size_t b = 0; b < from->n_backends; b++) {
			const struct config_backend *backend = &from->backends[b];
			uint16_t member = ring_find_member(pool->ring, backend->name);
			struct nexthop_info *info = &pool->nexthops[member];
			int err;

			if (!is_open(change, pool, member))
				continue;
			err = nexthops_resolve(change->control->nexthops, &backend->address, info);
			if (err)
				return err;
			*waiting |= info->state == NEXTHOP_RESOLVING;
		}
	}
	return 0;
}

/* No packet should meet a backend whose MAC address was just about to arrive. */
int change_resolve(struct change *change)
{
	struct nexthops *nexthops = change->control->nexthops;
	int64_t end = control_now_ms() + RESOLVE_WAIT_MS;
	bool waiting;
	int err = resolve_all(change, &waiting);

	while (!err && waiting && control_now_ms() < end) {
		struct pollfd wait = {.fd = nexthops_fd(nexthops), .events = POLLIN};

		if (poll(&wait, 1, (int)(end - control_now_ms())) <= 0)
			break;
		err = nexthops_drain(nexthops);
		if (err >= 0)
			err = resolve_all(change, &waiting);
	}
	return err;
}

static bool same_via(const struct nexthop_info *a, const struct nexthop_info *b)
{
	return a->ifindex == b->ifindex && a->via.family == b->via.family &&
	       !memcmp(a->via.bytes, b->via.bytes, sizeof(a->via.bytes));
}

static bool has_neighbour(const struct nexthop_info *info)
{
	return info->state == NEXTHOP_RESOLVED || info->state == NEXTHOP_RESOLVING;
}

static bool uses_via(const struct control_pool *pools, size_t n_pools,
		     const struct nexthop_info *info)
{
	for (size_t p = 0; p < n_pools; p++)
		for (size_t m = 0; m < pools[p].ring->n_members; m++)
			if (has_neighbour(&pools[p].nexthops[m]) &&
			    same_via(&pools[p].nexthops[m], info))
				return true;
	return false;
}

void change_forget(struct nexthops *nexthops, const struct control_pool *from, size_t n_from,
		   const struct control_pool *to, size_t n_to)
{
	for (size_t p = 0; p < n_from; p++) {
		/* A pool that was only half built has no next hops to forget. */
		for (size_t m = 0; from[p].nexthops && m < from[p].ring->n_members; m++) {
			const struct nexthop_info *info = &from[p].nexthops[m];

			if (info->ifindex && has_neighbour(info) && !uses_via(to, n_to, info))
				nexthops_forget(nexthops, info->ifindex, &info->via);
		}
	}
}

static bool same_nexthop(const struct nexthop_info *a, const struct nexthop_info *b)
{
	return a->state == b->state && same_via(a, b) && a->lower == b->lower && a->mtu == b->mtu &&
	       !memcmp(a->destination, b->destination, sizeof(a->destination)) &&
	       !memcmp(a->source, b->source, sizeof(a->source));
}

static void log_nexthop(const char *pool, const char *backend, const struct nexthop_info *info)
{
	const char *state = nexthop_state_text(info->state);
	char via[TEXT_ADDRESS_LEN], mac[TEXT_MAC_LEN], name[IF_NAMESIZE];
	bool known = info->state == NEXTHOP_RESOLVED;

	log_event(EVENT_NEXTHOP,
		  LOG_FIELDS({"pool", pool}, {"backend", backend}, {"state", state},
			     {"via", info->ifindex ? text_address(&info->via, via) : NULL},
			     {"mac", known ? text_mac(info->destination, mac) : NULL},
			     {"interface", if_indextoname(info->ifindex, name)}),
		  "next hop of backend '%s' of pool '%s' changed: %s", backend, pool, state);
}

int control_refresh_nexthops(struct control *control)
{
	int changed = 0;

	for (size_t p = 0; p < control->n_pools; p++) {
		const struct config_pool *from = &control->running.pools[p];
		struct control_pool *pool = &control->pools[p];

		for (size_t b = 0; b < from->n_backends; b++) {
			uint16_t member = ring_find_member(pool->ring, from->backends[b].name);
			struct nexthop_info info = {};
			struct nexthop nexthop;
			int err = nexthops_resolve(control->nexthops, &from->backends[b].address,
						   &info);

			if (err)
				return err;
			if (same_nexthop(&info, &pool->nexthops[member]))
				continue;
			changed++;
			log_nexthop(from->name, from->backends[b].name, &info);
			pool->nexthops[member] = info;
			nexthop = change_nexthop(&control->running, &info);
			dataplane_set_mtu(control->dp, pool->ids[member], control_mtu(from, &info));
			if (nexthop.ifindex)
				dataplane_allow_egress(control->dp, nexthop.ifindex);
			dataplane_set_nexthop(control->dp, pool->ids[member], &nexthop);
		}
	}
	if (changed)
		control_watch_mtus(control, "network");
	return changed;
}
