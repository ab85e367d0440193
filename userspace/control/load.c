/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "control/load.h"

#define UNKNOWN UINT64_MAX

static int alloc_load(struct control_load *load, size_t n)
{
	load->members = calloc(n + 1, sizeof(*load->members));
	load->packets = malloc((n + 1) * sizeof(*load->packets));
	load->since_ms = calloc(n + 1, sizeof(*load->since_ms));
	if (!load->members || !load->packets || !load->since_ms)
		return -ENOMEM;
	for (size_t m = 0; m < n; m++)
		load->packets[m] = UNKNOWN;
	return 0;
}

void load_release(struct control_pool *pool)
{
	spills_release(&pool->spills);
	free(pool->load.members);
	free(pool->load.packets);
	free(pool->load.since_ms);
	pool->load = (struct control_load){};
}

/* map[i] is where the old pool's member i is now, under the same id; or RING_NONE. */
static uint16_t *map_members(const struct control_pool *old, const struct control_pool *pool)
{
	uint16_t *map = malloc((old->ring->n_members + 1) * sizeof(*map));

	for (size_t m = 0; map && m < old->ring->n_members; m++) {
		uint16_t now = ring_find_member(pool->pure, old->ring->members[m].name);

		map[m] = now != RING_NONE && pool->ids[now] == old->ids[m] ? now : RING_NONE;
	}
	return map;
}

static void list_takes(const struct control_pool *pool, bool *takes)
{
	for (size_t m = 0; m < pool->pure->n_members; m++)
		takes[m] = pool->takes[m] & BACKEND_TAKES_NEW;
}

/* What is known of backends that stay, and what of their arcs stays lent. */
static int carry_over(const struct control_pool *old, struct control_pool *pool)
{
	bool *takes = calloc(pool->pure->n_members + 1, sizeof(*takes));
	uint16_t *map = map_members(old, pool);
	int err = takes && map ? 0 : -ENOMEM;

	if (!err && ring_params_equal(&old->pure->params, &pool->pure->params)) {
		list_takes(pool, takes);
		err = spills_keep(&pool->spills, &old->spills, pool->pure, map, takes);
	}
	for (size_t m = 0; !err && m < old->ring->n_members; m++) {
		if (map[m] == RING_NONE)
			continue;
		pool->load.members[map[m]] = old->load.members[m];
		pool->load.packets[map[m]] = old->load.packets[m];
		pool->load.since_ms[map[m]] = old->load.since_ms[m];
	}
	pool->load.measured_ms = old->load.measured_ms;
	pool->load.step = old->load.step;
	/* A change by others comes first: what it makes of the loads has to be seen. */
	if (ring_equal(old->pure, pool->pure) && old->load.interval_ms == pool->load.interval_ms)
		pool->load.next_ms = old->load.next_ms;
	free(takes);
	free(map);
	return err;
}

/* Which backends lend something, and since when. */
static int note_since(struct control_pool *pool)
{
	size_t n = pool->pure->n_members;
	ring_length *lent = calloc(2 * n + 1, sizeof(*lent));

	if (!lent)
		return -ENOMEM;
	spills_sum(&pool->spills, n, lent, lent + n);
	for (size_t m = 0; m < n; m++) {
		if (!lent[m])
			pool->load.since_ms[m] = 0;
		else if (!pool->load.since_ms[m])
			pool->load.since_ms[m] = control_now_ms();
	}
	free(lent);
	return 0;
}

int load_prepare(const struct control *control, const struct config_pool *from,
		 struct control_pool *pool)
{
	const struct control_pool *old = control_find_pool(control, pool->name);
	int err;

	pool->ring = pool->pure;
	if (!from->load_cap_milli)
		return 0;
	pool->load.cap = (double)from->load_cap_milli / CONFIG_WEIGHT_ONE;
	pool->load.interval_ms = from->load_interval_ms;
	pool->load.next_ms =
		control_now_ms() + (int64_t)LOAD_SETTLE_INTERVALS * from->load_interval_ms;
	err = alloc_load(&pool->load, pool->pure->n_members);
	if (!err && old && old->load.members)
		err = carry_over(old, pool);
	if (!err && pool->spills.len)
		err = spills_lay(&pool->ring, pool->pure, &pool->spills);
	/* No room for their edges: the change that was asked for comes first. */
	if (err == -ENOSPC) {
		spills_release(&pool->spills);
		err = 0;
	}
	return err ? err : note_since(pool);
}

/* Rates are smoothed with the interval as their time constant: late by that much. */
static void measure(struct control *control, struct control_pool *pool, int64_t now_ms)
{
	struct control_load *load = &pool->load;
	double passed_ms = (double)(now_ms - load->measured_ms);

	if (passed_ms <= 0)
		return;
	for (size_t m = 0; m < pool->pure->n_members; m++) {
		struct spill_member *member = &load->members[m];
		struct counter count = {};
		double rate;

		dataplane_count_backend(control->dp, pool->ids[m], &count);
		rate = (double)(count.packets - load->packets[m]) * 1e3 / passed_ms;
		if (load->packets[m] != UNKNOWN && count.packets >= load->packets[m])
			member->load += (rate - member->load) *
					(1 - exp(-passed_ms / (double)load->interval_ms));
		load->packets[m] = count.packets;
		member->takes = pool->takes[m] & BACKEND_TAKES_NEW;
	}
	load->measured_ms = now_ms;
}

/* Make @spills what is lent, in the kernel first. On error @pool is as before. */
static int publish_spills(struct control *control, struct control_pool *pool, struct spills *spills)
{
	struct change change = {.control = control, .next = &control->running};
	struct control_pool next = *pool;
	int fd, err;

	next.spills = *spills;
	next.ring = pool->pure;
	next.moves = (struct moves){};
	next.held = NULL;
	next.claims = NULL;
	err = spills_lay(&next.ring, pool->pure, spills);
	if (!err)
		err = change_move_pool(&change, &next);
	if (!err)
		err = change_load_pool(control, &next, &fd);
	if (!err && fd >= 0)
		err = dataplane_publish_ring(control->dp, next.id, fd);
	if (!err) {
		struct control_pool was = *pool;

		*pool = next;
		next = was;
		*spills = (struct spills){};
		spills_release(&next.spills);
	}
	if (next.ring != next.pure)
		ring_free(next.ring);
	moves_release(&next.moves);
	free(next.held);
	free(next.claims);
	return err;
}

static void note_step(const struct control *control, const struct control_pool *pool)
{
	size_t n = pool->pure->n_members, lenders = 0;
	struct load_status *status = calloc(n + 1, sizeof(*status));
	double share = 0;

	if (!status || load_status(pool, status) < 0)
		n = 0;
	for (size_t m = 0; m < n; m++) {
		lenders += status[m].lent > 0;
		share += status[m].lent;
	}
	free(status);
	control_note(control, CONTROL_CHANGED, "load_cap",
		     "pool '%s' spills %.2f %% of the hash space, of %zu backend%s", pool->name,
		     share * 100, lenders, lenders == 1 ? "" : "s");
}

static int step_pool(struct control *control, struct control_pool *pool)
{
	struct spill_terms terms = {
		.step = ++pool->load.step,
		.cap = pool->load.cap,
		.load_min = LOAD_MIN_PACKETS,
	};
	struct spills next = {};
	int err = spill_step(&next, pool->pure, &pool->spills, pool->load.members, &terms);

	if (err <= 0)
		return err;
	err = publish_spills(control, pool, &next);
	spills_release(&next);
	if (!err)
		err = note_since(pool);
	if (!err)
		note_step(control, pool);
	return err;
}

int load_tick(struct control *control, struct control_error *error)
{
	int64_t now_ms = control_now_ms();
	int err = 0;

	for (size_t p = 0; p < control->n_pools && !err; p++) {
		struct control_pool *pool = &control->pools[p];

		if (!pool->load.members)
			continue;
		measure(control, pool, now_ms);
		if (now_ms < pool->load.next_ms)
			continue;
		pool->load.next_ms = now_ms + pool->load.interval_ms;
		err = step_pool(control, pool);
		if (err)
			control_fail(error, err, "cannot spill arcs of pool '%s': %s", pool->name,
				     strerror(-err));
	}
	return err;
}

double load_status(const struct control_pool *pool, struct load_status *out)
{
	const struct ring *ring = pool->pure;
	size_t n = ring->n_members;
	ring_length *lengths = calloc(2 * n + 1, sizeof(*lengths));
	double total = 0, weights = 0;

	if (!lengths)
		return -ENOMEM;
	spills_sum(&pool->spills, n, lengths, lengths + n);
	for (size_t m = 0; m < n; m++) {
		const struct spill_member *member = &pool->load.members[m];

		total += member->takes ? member->load : 0;
		weights += member->takes ? ring->members[m].weight_milli : 0;
	}
	for (size_t m = 0; m < n; m++) {
		const struct spill_member *member = &pool->load.members[m];
		double part = member->takes && weights > 0
				      ? total * ring->members[m].weight_milli / weights
				      : 0;

		out[m] = (struct load_status){
			.packets_per_s = member->load,
			.of_mean = part > 0 ? member->load / part : 0,
			.lent = ring_share(ring, lengths[m]),
			.borrowed = ring_share(ring, lengths[n + m]),
			.since_ms = pool->load.since_ms[m],
		};
	}
	free(lengths);
	return total;
}
