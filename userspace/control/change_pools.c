/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the pools of a configuration to rings and moving arcs. What moved before is read
 * from the live ring, so a daemon that was killed in the middle goes on where it was.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/change.h"
#include "control/load.h"

static bool is_cut_off(const struct config_backend *backend)
{
	return backend->drain != CONFIG_NO_DRAIN && backend->drain_until_s &&
	       (uint64_t)time(NULL) >= backend->drain_until_s;
}

uint32_t control_takes(const struct config_backend *backend, bool down)
{
	if (down || is_cut_off(backend))
		return 0;
	if (backend->drain != CONFIG_NO_DRAIN || !backend->weight_milli)
		return BACKEND_TAKES_OLD;
	return BACKEND_TAKES_OLD | BACKEND_TAKES_NEW;
}

static uint32_t backend_id(const struct ids *ids, const struct config_pool *pool,
			   const struct config_backend *backend)
{
	char key[CHANGE_KEY_LEN];

	return ids_find(ids, change_backend_key(pool, backend, key));
}

/* The member with @id, which was most likely called @name; or RING_NONE. */
static uint16_t find_id(const struct control_pool *pool, const char *name, uint32_t id)
{
	uint16_t member = ring_find_member(pool->ring, name);

	if (member != RING_NONE && pool->ids[member] == id)
		return member;
	for (size_t m = 0; m < pool->ring->n_members; m++)
		if (pool->ids[m] == id)
			return (uint16_t)m;
	return RING_NONE;
}

/*
 * Was the backend down until now? A new one is not. At a start there is no former
 * pool, but what is live takes no flows if it was down.
 */
static bool was_down(const struct control *control, const struct config_pool *pool,
		     const struct config_backend *backend)
{
	const struct control_pool *old = control_find_pool(control, pool->name);
	uint32_t id = backend_id(&control->backend_ids, pool, backend);
	const struct backend *live = dataplane_get_backend(control->dp, id);
	uint16_t member;

	if (id == ID_NONE || !live)
		return false;
	if (old) {
		member = find_id(old, backend->name, id);
		return member != RING_NONE && old->down[member];
	}
	return live->forward && !live->takes && !is_cut_off(backend);
}

/*
 * out[b] is true if pool->backends[b] is kept out of the ring because it is down. If
 * nothing would be left, the pool's `panic` says whether all count as up.
 */
static bool *list_out(const struct control *control, const struct config_pool *pool)
{
	bool *out = calloc(pool->n_backends + 1, sizeof(*out)), any_up = false;

	for (size_t b = 0; out && b < pool->n_backends; b++) {
		out[b] = was_down(control, pool, &pool->backends[b]);
		any_up |= control_takes(&pool->backends[b], out[b]) & BACKEND_TAKES_NEW;
	}
	if (out && !any_up && pool->panic == CONFIG_PANIC_ALL)
		memset(out, false, pool->n_backends * sizeof(*out));
	return out;
}

static int build_ring(struct change *change, const struct config_pool *pool, const bool *out,
		      struct ring **ring)
{
	const struct control_pool *old = control_find_pool(change->control, pool->name);
	struct ring_params params = lookup_pool_params(pool, change->next->seed);
	struct ring_member *members = lookup_pool_members(pool);
	int err;

	if (!members)
		return -ENOMEM;
	for (size_t b = 0; b < pool->n_backends; b++)
		if (out[b])
			members[b].weight_milli = 0;
	if (old && ring_params_equal(&old->pure->params, &params))
		err = ring_derive(ring, old->pure, members, pool->n_backends);
	else
		err = ring_build(ring, &params, members, pool->n_backends);
	free(members);
	return err;
}

/* What is known of backends that stay need not be asked again. */
static void keep_known(const struct control *control, struct control_pool *pool)
{
	const struct control_pool *old = control_find_pool(control, pool->name);

	for (size_t m = 0; old && m < pool->ring->n_members; m++) {
		uint16_t was = ring_find_member(old->ring, pool->ring->members[m].name);

		if (was == RING_NONE || old->ids[was] != pool->ids[m])
			continue;
		pool->nexthops[m] = old->nexthops[was];
		pool->flows[m] = old->flows[was];
		pool->quic[m] = old->quic[was];
	}
}

static int alloc_members(struct control_pool *pool)
{
	size_t len = pool->ring->n_members + 1;

	pool->ids = calloc(len, sizeof(*pool->ids));
	pool->nexthops = calloc(len, sizeof(*pool->nexthops));
	pool->down = calloc(len, sizeof(*pool->down));
	pool->takes = calloc(len, sizeof(*pool->takes));
	pool->flows = calloc(len, sizeof(*pool->flows));
	pool->quic = calloc(len, sizeof(*pool->quic));
	return pool->ids && pool->nexthops && pool->down && pool->takes && pool->flows && pool->quic
		       ? 0
		       : -ENOMEM;
}

static int fill_pool(struct change *change, const struct config_pool *from,
		     struct control_pool *pool)
{
	bool *out = list_out(change->control, from);
	int err = out ? build_ring(change, from, out, &pool->pure) : -ENOMEM;

	pool->ring = pool->pure;
	if (!err)
		err = alloc_members(pool);
	snprintf(pool->name, sizeof(pool->name), "%s", from->name);
	pool->id = ids_find(&change->pool_ids, from->name);
	for (size_t b = 0; b < from->n_backends && !err; b++) {
		const struct config_backend *backend = &from->backends[b];
		uint16_t member = ring_find_member(pool->ring, backend->name);

		pool->ids[member] = backend_id(&change->backend_ids, from, backend);
		pool->down[member] = was_down(change->control, from, backend);
		pool->takes[member] = control_takes(backend, out[b]);
	}
	free(out);
	if (!err)
		keep_known(change->control, pool);
	return err ? err : load_prepare(change->control, from, pool);
}

/* What moves in the live ring. */
static int read_moves(struct moves *moves, const struct dataplane_ring *live)
{
	int err = 0;

	for (size_t i = 0; i < live->n_moves && !err; i++) {
		const struct dataplane_move *from = &live->moves[i];
		const struct move move = {
			.previous = from->previous,
			.tcp_until_ms = from->tcp_until_ms,
			.other_until_ms = from->other_until_ms,
		};

		err = moves_read(moves, live->positions, from->slot, &move);
	}
	return err;
}

/* dead[id] is true unless @pool has that backend and its old flows may go there. */
static bool *list_dead(const struct control_pool *pool)
{
	bool *dead = malloc(BACKEND_NONE + 1);

	if (!dead)
		return NULL;
	memset(dead, true, BACKEND_NONE + 1);
	for (size_t m = 0; m < pool->ring->n_members; m++)
		dead[pool->ids[m]] = !pool->takes[m];
	return dead;
}

static int change_moves(const struct change *change, struct control_pool *pool,
			const struct dataplane_ring *live)
{
	struct moves_terms terms = {
		.now_ms = control_now_ms(),
		.tcp_learn_ms = change->next->flows.learn_tcp_ms,
		.other_learn_ms = change->next->flows.learn_other_ms,
	};
	const struct moves_ring old_ring = {
		.positions = live->positions,
		.owners = live->owners,
		.len = live->len,
	};
	const struct moves_ring new_ring = {
		.positions = pool->ring->positions,
		.owners = pool->ring->owners,
		.ids = pool->ids,
		.len = pool->ring->len,
	};
	bool *dead = list_dead(pool);
	struct moves now = {};
	int err = dead ? read_moves(&now, live) : -ENOMEM;

	terms.dead = dead;
	if (!err)
		err = moves_change(&pool->moves, &now, &old_ring, &new_ring, &terms);
	moves_release(&now);
	free(dead);
	return err;
}

int change_move_pool(struct change *change, struct control_pool *pool)
{
	struct dataplane_ring live = {};
	int err = dataplane_read_ring(change->control->dp, pool->id, &live);

	/* No ring, a damaged one, or one by another seed: no flow can be told to be old. */
	if (err == -ENODATA || err == -EBADMSG)
		err = 0;
	else if (!err && live.seed == pool->ring->params.seed)
		err = change_moves(change, pool, &live);
	else if (!err)
		change->reseeded = true;
	dataplane_ring_release(&live);
	if (err)
		return err;
	pool->held = calloc(pool->moves.len + 1, sizeof(*pool->held));
	pool->claims = calloc(pool->ring->n_members + 1, sizeof(*pool->claims));
	if (!pool->held || !pool->claims)
		return -ENOMEM;
	return moves_claims(&pool->moves, pool->ids, pool->ring->n_members, pool->claims);
}

static int list_slot_moves(struct dataplane_ring *ring, const struct moving_ring *merged,
			   const struct moves *moves)
{
	ring->moves = malloc((merged->n_moving + 1) * sizeof(*ring->moves));
	if (!ring->moves)
		return -ENOMEM;
	ring->n_moves = merged->n_moving;
	for (size_t i = 0; i < merged->n_moving; i++) {
		const struct move *move = &moves->list[merged->moving[i].move];

		ring->moves[i] = (struct dataplane_move){
			.slot = merged->moving[i].slot,
			.previous = move->previous,
			.tcp_until_ms = move->tcp_until_ms,
			.other_until_ms = move->other_until_ms,
		};
	}
	return 0;
}

int change_load_pool(struct control *control, const struct control_pool *pool, int *fd)
{
	struct dataplane_ring ring = {.seed = pool->ring->params.seed};
	struct moving_ring merged = {};
	int err = moves_merge(&merged, pool->ring, pool->ids, &pool->moves);

	*fd = -1;
	if (err)
		return err;
	ring.len = merged.len;
	ring.positions = merged.positions;
	ring.owners = merged.owners;
	err = list_slot_moves(&ring, &merged, &pool->moves);
	if (!err && !dataplane_ring_is_live(control->dp, pool->id, &ring))
		err = dataplane_prepare_ring(control->dp, pool->id, &ring, fd);
	free(ring.moves);
	moving_ring_release(&merged);
	return err;
}

static int build_pool(struct change *change, size_t index)
{
	const struct config_pool *from = &change->next->pools[index];
	struct control_pool *pool = &change->pools[index];
	int err = fill_pool(change, from, pool);

	if (!err)
		err = change_move_pool(change, pool);
	if (!err)
		err = change_load_pool(change->control, pool, &change->ring_fds[index]);
	return err;
}

int change_build_pools(struct change *change, struct control_error *error)
{
	const struct config *next = change->next;
	int err = 0;

	change->pools = calloc(next->n_pools + 1, sizeof(*change->pools));
	change->ring_fds = malloc((next->n_pools + 1) * sizeof(*change->ring_fds));
	if (!change->pools || !change->ring_fds)
		return control_fail(error, -ENOMEM, "out of memory");
	change->n_pools = next->n_pools;
	for (size_t p = 0; p < next->n_pools; p++)
		change->ring_fds[p] = -1;
	for (size_t p = 0; p < next->n_pools && !err; p++) {
		err = build_pool(change, p);
		if (err)
			control_fail(error, err, "cannot build the ring of pool '%s': %s",
				     next->pools[p].name, strerror(-err));
	}
	return err;
}
