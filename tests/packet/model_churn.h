/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the model of model.h comes to know of what the pools of churn.h do. */
#ifndef RINGLB_TESTS_MODEL_CHURN_H
#define RINGLB_TESTS_MODEL_CHURN_H

#include "tests/packet/churn.h"
#include "tests/packet/model.h"

static struct model model;

/*
 * @holders: who has an id in the data plane, an index in churn->backends
 * @gone: ids of backends that leave once the ring is published
 */
static struct {
	size_t holders[MODEL_IDS];
	uint32_t gone[CHURN_NAMES];
	size_t n_gone;
} view;

static inline void view_reset(void)
{
	memset(&view, 0, sizeof(view));
	memset(&model, 0, sizeof(model));
}

static inline uint16_t view_owner(const struct churn *churn, uint64_t hash)
{
	uint16_t member = owner_by_walk(churn->pool->ring, hash);

	return member == RING_NONE ? RING_NONE : (uint16_t)churn->pool->ids[member];
}

/* Pieces between all positions that may ever be. */
static inline void view_cut_circle(const struct churn *churn, struct model_pool *pool)
{
	struct ring_member members[CHURN_NAMES] = {};
	struct ring_params params = churn->pool->ring->params;
	struct ring *all = NULL;

	for (size_t i = 0; i < CHURN_NAMES; i++) {
		churn_name(i, members[i].name);
		members[i].weight_milli = CHURN_WEIGHT_MAX_MILLI;
	}
	assert_int_equal(ring_build(&all, &params, members, CHURN_NAMES), 0);
	assert_true(all->len < MODEL_PLACES);
	*pool = (struct model_pool){};
	for (size_t slot = 0; slot < all->len; slot++)
		if (!slot || all->positions[slot] != all->positions[slot - 1])
			pool->places[pool->len++].hash = all->positions[slot];
	if (pool->places[pool->len - 1].hash != UINT64_MAX)
		pool->places[pool->len++].hash = UINT64_MAX;
	for (size_t i = 0; i < pool->len; i++) {
		pool->places[i].owner = view_owner(churn, pool->places[i].hash);
		pool->places[i].previous = RING_NONE;
	}
	ring_free(all);
}

/* The data plane has heard of the backends, and of the ring not yet. */
static inline void view_know_backends(const struct churn *churn)
{
	view.n_gone = 0;
	for (size_t i = 0; i < CHURN_NAMES; i++) {
		const struct churn_backend *from = &churn->backends[i];
		struct model_backend *backend = &model.backends[from->id];
		uint32_t takes = churn_takes(from);

		if (from->left)
			view.gone[view.n_gone++] = from->id;
		if (!from->present)
			continue;
		if (!backend->exists || view.holders[from->id] != i ||
		    (!backend->takes_old && takes & BACKEND_TAKES_OLD))
			backend->life++;
		backend->exists = true;
		backend->takes_old = takes & BACKEND_TAKES_OLD;
		backend->takes_new = takes & BACKEND_TAKES_NEW;
		view.holders[from->id] = i;
	}
}

static inline void view_know_ring(const struct churn *churn)
{
	struct model_pool *pool = &model.pools[churn - churns];
	bool dead[DEAD_LEN];
	struct moves_terms terms = {
		.now_ms = model.now_ms,
		.tcp_learn_ms = model.tcp_learn_ms,
		.other_learn_ms = model.other_learn_ms,
		.dead = dead,
	};

	memset(dead, true, sizeof(dead));
	for (size_t i = 0; i < CHURN_NAMES; i++)
		if (churn->backends[i].present)
			dead[churn->backends[i].id] = !churn_takes(&churn->backends[i]);
	for (size_t i = 0; i < pool->len; i++)
		place_change(&pool->places[i], view_owner(churn, pool->places[i].hash), &terms);
	model_join(pool);
	for (size_t i = 0; i < view.n_gone; i++)
		model.backends[view.gone[i]].exists = false;
}

#endif
