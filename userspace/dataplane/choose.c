/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the program would do with a packet, without a packet: bpf/flows.h and vip.h in few words. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "dataplane/state.h"
#include "ringlb.skel.h"

static const struct backend *live_backend(const struct dataplane *dp, uint32_t id)
{
	const struct backend *backend = dataplane_get_backend(dp, id);

	return backend && backend->forward && backend->takes & BACKEND_TAKES_OLD ? backend : NULL;
}

/* In the order in which the program asks them. */
static const char *find_entry(struct dataplane *dp, const struct flow *flow,
			      struct flow_entry *entry)
{
	const struct {
		const char *name;
		const struct bpf_map *map;
		bool tcp;
	} tables[] = {
		{"established", dp->skeleton->maps.flows, true},
		{"remembered", dp->skeleton->maps.old_flows, true},
		{"embryonic", dp->skeleton->maps.embryos, true},
		{"other", dp->skeleton->maps.other_flows, false},
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (tables[i].tcp == (flow->protocol == IPPROTO_TCP) &&
		    !bpf_map_lookup_elem(bpf_map__fd(tables[i].map), flow, entry))
			return tables[i].name;
	return NULL;
}

/* For how long an entry of @table is kept after its last packet. */
static uint32_t kept_s(const char *table, const struct flow_entry *entry,
		       const struct flow_times *times)
{
	if (!strcmp(table, "other"))
		return times->other_idle_s;
	if (entry->closing)
		return times->closing_s;
	return !strcmp(table, "embryonic") ? times->embryo_s : times->tcp_idle_s;
}

int dataplane_recall(struct dataplane *dp, const struct flow *flow, uint32_t pool,
		     struct dataplane_memory *memory)
{
	struct dataplane_memory found = {};
	struct flow_times times = {};
	struct flow_entry entry;
	const struct backend *backend;
	struct timespec now;
	uint32_t key = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(dp->skeleton->maps.flow_times), &key, &times))
		return -errno;
	found.table = find_entry(dp, flow, &entry);
	if (!found.table)
		return -ENOENT;
	clock_gettime(CLOCK_MONOTONIC, &now);
	backend = live_backend(dp, entry.backend);
	found.backend = entry.backend;
	found.left_s = (int64_t)entry.expires_s - now.tv_sec;
	found.idle_s = (int64_t)kept_s(found.table, &entry, &times) - found.left_s;
	found.gone = !backend || backend->incarnation != entry.incarnation;
	found.other_pool = entry.pool != pool;
	found.takes_new = !found.gone && backend->takes & BACKEND_TAKES_NEW;
	*memory = found;
	return 0;
}

bool dataplane_memory_counts(const struct dataplane_memory *memory, bool opens)
{
	return memory->table && !memory->gone && memory->left_s > 0 && !memory->other_pool &&
	       (!opens || memory->takes_new);
}

static uint32_t bit(enum flow_count what)
{
	return 1U << what;
}

/* As flows_pick(). */
static void pick(const struct dataplane *dp, const struct dataplane_match *match, bool tcp,
		 bool opens, uint32_t previous, struct dataplane_choice *choice)
{
	uint16_t learns = match->flags & (tcp ? MOVE_LEARN_TCP : MOVE_LEARN_OTHER);

	if (opens && match->flags & (MOVE_LEARN_TCP | MOVE_LEARN_OTHER)) {
		choice->flow_counts |= bit(FLOW_NEW);
		return;
	}
	if (!learns || !live_backend(dp, previous)) {
		choice->flow_counts |= bit(FLOW_UNKNOWN);
		return;
	}
	choice->flow_counts |= bit(FLOW_OLD);
	choice->backend = previous;
	choice->by = DATAPLANE_BY_PREVIOUS;
}

struct dataplane_choice dataplane_choose(const struct dataplane *dp,
					 const struct dataplane_match *match,
					 const struct dataplane_memory *memory, bool tcp,
					 bool opens)
{
	struct dataplane_choice choice = {.backend = match->backend};
	uint32_t previous = match->previous;

	if (!match->len)
		choice.backend = BACKEND_NONE;
	if (!match->len || !match->flags)
		return choice;
	choice.flow_counts = bit(FLOW_ASKED);
	if (dataplane_memory_counts(memory, opens)) {
		choice.flow_counts |= bit(FLOW_HIT);
		if (!opens && !strcmp(memory->table, "embryonic"))
			choice.flow_counts |= bit(FLOW_PROMOTED);
		choice.backend = memory->backend;
		choice.by = DATAPLANE_BY_MEMORY;
		return choice;
	}
	if (memory->table) {
		choice.flow_counts |= bit(FLOW_STALE);
		/* As flows_without_dead(). */
		if (memory->gone)
			previous = BACKEND_NONE;
	}
	pick(dp, match, tcp, opens, previous, &choice);
	return choice;
}

bool dataplane_may_leave(struct dataplane *dp, uint32_t ingress, uint32_t egress)
{
	struct bpf_devmap_val value;

	return ingress == egress ||
	       !bpf_map_lookup_elem(bpf_map__fd(dp->skeleton->maps.egress), &egress, &value);
}

int dataplane_find_reply(struct dataplane *dp, const struct flow *flow, struct reply *reply)
{
	struct endpoint key = {
		.port = flow->source_port,
		.protocol = flow->protocol,
		.family = flow->family,
	};
	struct flow reverse = {
		.destination_port = flow->source_port,
		.protocol = flow->protocol,
		.family = flow->family,
	};
	int fd = bpf_map__fd(dp->skeleton->maps.replies), err;
	struct dataplane_match match = {};
	struct reply found;
	struct vip vip;

	memcpy(key.address, flow->source, sizeof(key.address));
	if (bpf_map_lookup_elem(fd, &key, &found)) {
		key.port = 0;
		if (bpf_map_lookup_elem(fd, &key, &found))
			return -errno;
	}
	/* As reply_fits(). */
	if (found.flags & REPLY_IF_VIP) {
		memcpy(reverse.destination, found.address, sizeof(reverse.destination));
		err = tables_find_vip(dp, &reverse, &match, &vip);
		if (err || !(vip.flags & VIP_NAT))
			return err ? err : -ENOENT;
	}
	*reply = found;
	return 0;
}
