/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time passes: learning ends, arcs settle, drained backends leave, loaded ones lend. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/change.h"
#include "control/load.h"

/* Which pool and member an id stands for, while flows are counted. */
struct census {
	struct control_pool *pools[POOLS_MAX];
	uint16_t *members; /* by backend id */
};

static void count_flow(void *context, const struct dataplane_flow *flow)
{
	struct census *census = context;
	struct control_pool *pool = flow->pool < POOLS_MAX ? census->pools[flow->pool] : NULL;
	uint16_t owner, member;
	ptrdiff_t move;

	/* Settled arcs ask nobody. An entry there would outlive its flow and hold up the next move.
	 */
	*flow->forget = !pool || moves_find(&pool->moves, flow->hash) < 0;
	if (*flow->forget)
		return;
	member = census->members[flow->backend];
	if (member < pool->ring->n_members && pool->ids[member] == flow->backend)
		pool->flows[member]++;
	move = moves_find(&pool->moves, flow->hash);
	owner = ring_owner(pool->ring, flow->hash);
	if (owner == RING_NONE || pool->ids[owner] != flow->backend)
		pool->held[move]++;
}

static int count_flows(struct control *control)
{
	struct census census = {
		.members = malloc((BACKEND_NONE + 1) * sizeof(*census.members)),
	};
	int64_t visited;

	if (!census.members)
		return -ENOMEM;
	memset(census.members, 0xff, (BACKEND_NONE + 1) * sizeof(*census.members));
	for (size_t p = 0; p < control->n_pools; p++) {
		struct control_pool *pool = &control->pools[p];

		census.pools[pool->id] = pool;
		memset(pool->held, 0, pool->moves.len * sizeof(*pool->held));
		for (size_t m = 0; m < pool->ring->n_members; m++) {
			pool->flows[m] = 0;
			census.members[pool->ids[m]] = (uint16_t)m;
		}
	}
	visited = dataplane_each_flow(control->dp, control->running.seed, count_flow, &census);
	free(census.members);
	return visited < 0 ? (int)visited : 0;
}

static bool any_moves(const struct control *control)
{
	for (size_t p = 0; p < control->n_pools; p++)
		if (control->pools[p].moves.len)
			return true;
	return false;
}

static int publish_pool(struct control *control, struct control_pool *pool)
{
	int fd, err = change_load_pool(control, pool, &fd);

	if (err || fd < 0)
		return err;
	return dataplane_publish_ring(control->dp, pool->id, fd);
}

/* What moves in a pool after a tick, until it is live. */
struct settled {
	struct moves moves;
	struct moves_claim *claims;
};

/* Return: the number of moves that changed or went, or -ENOMEM. */
static ssize_t settle_moves(const struct control_pool *pool, int64_t now_ms, struct settled *out)
{
	size_t len = pool->moves.len, n_members = pool->ring->n_members, changed;

	out->moves = (struct moves){.len = len, .capacity = len + 1};
	out->moves.list = malloc(out->moves.capacity * sizeof(*out->moves.list));
	out->claims = calloc(n_members + 1, sizeof(*out->claims));
	if (!out->moves.list || !out->claims)
		return -ENOMEM;
	if (len)
		memcpy(out->moves.list, pool->moves.list, len * sizeof(*out->moves.list));
	/*
	 * Settled is what had learned before the flows were counted: one that was learning
	 * until now may have got another flow since.
	 */
	changed = moves_settle(&out->moves, pool->held);
	changed += moves_expire(&out->moves, now_ms);
	if (changed && moves_claims(&out->moves, pool->ids, n_members, out->claims))
		return -ENOMEM;
	return (ssize_t)changed;
}

/*
 * held[] is parallel to the moves, so it is counted anew after the list got shorter.
 * The list is always that of the live ring, also if that cannot be replaced.
 */
static int settle_pool(struct control *control, struct control_pool *pool, int64_t now_ms,
		       bool *changed)
{
	struct settled now = {pool->moves, pool->claims}, next = {};
	ssize_t count = settle_moves(pool, now_ms, &next);
	int err = count < 0 ? (int)count : 0;

	if (count > 0) {
		pool->moves = next.moves;
		pool->claims = next.claims;
		err = publish_pool(control, pool);
	}
	if (count > 0 && !err) {
		*changed = true;
		next = now;
	} else {
		pool->moves = now.moves;
		pool->claims = now.claims;
	}
	moves_release(&next.moves);
	free(next.claims);
	return err;
}

static int tick_moves(struct control *control)
{
	bool changed = false;
	int err;

	if (!any_moves(control))
		return 0;
	err = count_flows(control);
	for (size_t p = 0; p < control->n_pools && !err; p++)
		err = settle_pool(control, &control->pools[p], control_now_ms(), &changed);
	if (err || !changed)
		return err;
	err = count_flows(control);
	if (err || any_moves(control))
		return err;
	/* Nothing asks the tables any more. */
	err = (int)dataplane_forget_flows(control->dp);
	return err < 0 ? err : 0;
}

bool control_is_draining(const struct control_pool *pool, uint16_t member)
{
	return pool->flows[member] || pool->claims[member].learning || pool->quic[member].busy;
}

/* The first backend that has drained and is to leave, or whose time to drain is up. */
static bool find_due(struct control *control, const struct config_pool **pool,
		     const struct config_backend **backend)
{
	for (size_t p = 0; p < control->running.n_pools; p++) {
		*pool = &control->running.pools[p];
		for (size_t b = 0; b < (*pool)->n_backends; b++) {
			const struct control_pool *live = &control->pools[p];
			uint16_t member;

			*backend = &(*pool)->backends[b];
			if ((*backend)->drain == CONFIG_NO_DRAIN)
				continue;
			member = ring_find_member(live->ring, (*backend)->name);
			if ((*backend)->drain == CONFIG_DRAIN_REMOVE &&
			    (!control_is_draining(live, member) || !control_takes(*backend, false)))
				return true;
			/* Its time is up, and the data plane does not know yet. */
			if (!control_takes(*backend, false) &&
			    dataplane_get_backend(control->dp, live->ids[member])->takes)
				return true;
		}
	}
	return false;
}

/* All that is due leaves in one step. */
static int tick_drains(struct control *control, struct control_error *error)
{
	const struct config_backend *backend;
	const struct config_pool *pool;
	struct config next = {};
	int err;

	if (!find_due(control, &pool, &backend))
		return 0;
	if (config_copy(&next, &control->running))
		return control_fail(error, -ENOMEM, "out of memory");
	for (size_t p = 0; p < next.n_pools; p++) {
		const struct control_pool *live = &control->pools[p];

		for (size_t b = next.pools[p].n_backends; b-- > 0;) {
			struct config_backend *one = &next.pools[p].backends[b];
			uint16_t member = ring_find_member(live->ring, one->name);

			if (one->drain != CONFIG_DRAIN_REMOVE ||
			    (control_is_draining(live, member) && control_takes(one, false)))
				continue;
			memmove(one, one + 1, (next.pools[p].n_backends - b - 1) * sizeof(*one));
			next.pools[p].n_backends--;
		}
	}
	err = control_apply(control, &next, "drained", NULL, error);
	config_release(&next);
	return err;
}

int control_tick(struct control *control, struct control_error *error)
{
	int err = tick_moves(control);

	if (err)
		return control_fail(error, err, "cannot settle moving arcs: %s", strerror(-err));
	control_watch_quic(control);
	err = tick_drains(control, error);
	return err ? err : load_tick(control, error);
}
