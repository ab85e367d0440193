/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pools whose backends come and go at random. A change is made with the functions of
 * control/ in the order in which the daemon makes it; only ids and next hops are given
 * out here. Time passes by taking it off the learning times that are left.
 */
#ifndef RINGLB_TESTS_CHURN_H
#define RINGLB_TESTS_CHURN_H

#include "control/change.h"
#include "tests/packet/moving_setup.h"

#define CHURN_POOLS 2
#ifndef CHURN_NAMES
#define CHURN_NAMES  14
#define CHURN_VNODES 12
#endif
#define CHURN_IDS	       100
#define CHURN_WEIGHT_MAX_MILLI 3000
#define CHURN_TCP_LEARN_MS     6000000
#define CHURN_OTHER_LEARN_MS   600000

/**
 * struct churn_backend
 * @lives: how often it died or left; flows of a former life are nobody's
 * @left: it is in no configuration any more, but its id is still spoken for
 */
struct churn_backend {
	bool present;
	bool draining;
	bool down;
	bool left;
	uint32_t weight_milli;
	uint32_t id;
	uint32_t lives;
};

enum churn_event { ADD, DRAIN, UNDRAIN, REWEIGH, KILL, RECOVER, REMOVE_NOW, LEAVE, CHURN_EVENTS };

/**
 * struct churn - one pool
 * @names: how many of the backends take part
 * @uncommitted: called when backends have changed and the ring has not
 * @pool: &churn_daemon.pools[i] of churns[i]
 */
struct churn {
	struct rng rng;
	struct churn_backend backends[CHURN_NAMES];
	struct control_pool *pool;
	size_t names;
	size_t events[CHURN_EVENTS];
	void (*uncommitted)(struct churn *churn);
};

/* churns[i] is pool MOVING_POOL + i and has ids from 1 + i * CHURN_IDS on. */
static struct churn churns[CHURN_POOLS];

/* What the pools share. */
static struct {
	struct control control;
	struct control_pool pools[CHURN_POOLS];
	struct config config;
} churn_daemon;

static inline uint32_t churn_takes(const struct churn_backend *backend)
{
	if (!backend->present || backend->down)
		return 0;
	return BACKEND_TAKES_OLD | (backend->draining ? 0 : BACKEND_TAKES_NEW);
}

static inline uint32_t churn_pool_id(const struct churn *churn)
{
	return MOVING_POOL + (uint32_t)(churn - churns);
}

/* How many there are that take new flows. */
static inline size_t churn_takers(const struct churn *churn)
{
	size_t takers = 0;

	for (size_t i = 0; i < CHURN_NAMES; i++)
		takers += (churn_takes(&churn->backends[i]) & BACKEND_TAKES_NEW) != 0;
	return takers;
}

/* The index of the backend that has @id now, or -1. */
static inline int churn_find(const struct churn *churn, uint32_t id)
{
	for (int i = 0; i < CHURN_NAMES; i++)
		if (churn->backends[i].present && churn->backends[i].id == id)
			return i;
	return -1;
}

/* The lowest that is free: ids go to others as soon as they may. */
static inline uint32_t churn_new_id(const struct churn *churn)
{
	for (uint32_t id = 1 + (uint32_t)(churn - churns) * CHURN_IDS;; id++) {
		bool taken = false;

		for (size_t i = 0; i < CHURN_NAMES; i++)
			taken |= churn->backends[i].id == id &&
				 (churn->backends[i].present || churn->backends[i].left);
		if (!taken)
			return id;
	}
}

static inline void churn_name(size_t i, char name[RING_NAME_MAX + 1])
{
	snprintf(name, RING_NAME_MAX + 1, "backend-%zu", i);
}

static inline bool churn_may(enum churn_event event, const struct churn_backend *backend)
{
	switch (event) {
	case ADD:
		return !backend->present && !backend->left;
	case DRAIN:
	case REWEIGH:
		return backend->present && !backend->draining;
	case UNDRAIN:
		return backend->present && backend->draining;
	case KILL:
	case REMOVE_NOW:
		return backend->present && !backend->down;
	case RECOVER:
		return backend->present && backend->down;
	default:
		return false;
	}
}

static inline void churn_do(struct churn *churn, enum churn_event event,
			    struct churn_backend *backend)
{
	static const uint32_t weights_milli[] = {250,  500,  1000,
						 1000, 2000, CHURN_WEIGHT_MAX_MILLI};

	churn->events[event]++;
	if (event == ADD) {
		*backend = (struct churn_backend){
			.id = churn_new_id(churn),
			.lives = backend->lives,
			.present = true,
		};
	}
	if (event == ADD || event == REWEIGH)
		backend->weight_milli = weights_milli[rng_below(&churn->rng, 6)];
	if (event == DRAIN || event == UNDRAIN)
		backend->draining = event == DRAIN;
	if (event == KILL || event == RECOVER)
		backend->down = event == KILL;
	if (event == REMOVE_NOW || event == LEAVE) {
		backend->present = false;
		backend->left = true;
	}
	if (event == KILL || event == REMOVE_NOW || event == LEAVE)
		backend->lives++;
}

/* Up to @most things happen at once, no two of them to the same backend. */
static inline void churn_random_events(struct churn *churn, size_t most)
{
	bool touched[CHURN_NAMES] = {};

	for (size_t left = 1 + rng_below(&churn->rng, most), tries = 50; left && tries; tries--) {
		enum churn_event event = rng_below(&churn->rng, LEAVE);
		size_t i = rng_below(&churn->rng, churn->names);
		bool harms = event == DRAIN || event == KILL || event == REMOVE_NOW;

		/* Who dies proves little, and the last one goes now and then only. */
		if ((event == KILL || event == REMOVE_NOW) && rng_below(&churn->rng, 5))
			continue;
		if (harms && churn_takers(churn) < 2 && rng_below(&churn->rng, 3))
			continue;
		if (touched[i] || !churn_may(event, &churn->backends[i]))
			continue;
		churn_do(churn, event, &churn->backends[i]);
		touched[i] = true;
		left--;
	}
}

/* A backend that has drained leaves, as the daemon sees it. */
static inline void churn_leave_drained(struct churn *churn)
{
	for (size_t i = 0; i < CHURN_NAMES; i++) {
		struct churn_backend *backend = &churn->backends[i];
		char name[RING_NAME_MAX + 1];

		churn_name(i, name);
		if (!backend->present || !backend->draining || backend->down ||
		    control_is_draining(churn->pool, ring_find_member(churn->pool->ring, name)))
			continue;
		churn_do(churn, LEAVE, backend);
	}
}

static inline void churn_pool_release(struct control_pool *pool)
{
	ring_free(pool->ring);
	free(pool->ids);
	free(pool->takes);
	free(pool->flows);
	free(pool->quic);
	free(pool->held);
	free(pool->claims);
	moves_release(&pool->moves);
	*pool = (struct control_pool){};
}

static inline void churn_pool_fill(const struct churn *churn, struct control_pool *pool)
{
	const struct ring_params params = {
		.hash = &ring_hash_xxh64, .seed = 4711, .vnodes = CHURN_VNODES};
	struct ring_member members[CHURN_NAMES] = {};
	size_t n_members = 0;

	for (size_t i = 0; i < CHURN_NAMES; i++) {
		const struct churn_backend *backend = &churn->backends[i];

		if (!backend->present)
			continue;
		churn_name(i, members[n_members].name);
		if (churn_takes(backend) & BACKEND_TAKES_NEW)
			members[n_members].weight_milli = backend->weight_milli;
		n_members++;
	}
	*pool = (struct control_pool){.id = churn_pool_id(churn)};
	assert_int_equal(ring_build(&pool->ring, &params, members, n_members), 0);
	pool->ids = calloc(CHURN_NAMES, sizeof(*pool->ids));
	pool->takes = calloc(CHURN_NAMES, sizeof(*pool->takes));
	pool->flows = calloc(CHURN_NAMES, sizeof(*pool->flows));
	pool->quic = calloc(CHURN_NAMES, sizeof(*pool->quic));
	assert_true(pool->ids && pool->takes && pool->flows && pool->quic);
	for (size_t i = 0; i < CHURN_NAMES; i++) {
		char name[RING_NAME_MAX + 1];
		uint16_t member;

		churn_name(i, name);
		member = ring_find_member(pool->ring, name);
		if (member == RING_NONE)
			continue;
		pool->ids[member] = churn->backends[i].id;
		pool->takes[member] = churn_takes(&churn->backends[i]);
	}
}

/* As keep_known() does it. */
static inline void churn_keep_flows(struct control_pool *pool, const struct control_pool *old)
{
	for (size_t m = 0; old->ring && m < pool->ring->n_members; m++) {
		uint16_t was = ring_find_member(old->ring, pool->ring->members[m].name);

		if (was != RING_NONE && old->ids[was] == pool->ids[m])
			pool->flows[m] = old->flows[was];
	}
}

static inline void churn_commit_backends(const struct churn *churn)
{
	for (size_t i = 0; i < CHURN_NAMES; i++) {
		const struct churn_backend *backend = &churn->backends[i];
		const struct backend entry = {.forward = FORWARD_DR, .port = (uint16_t)(i + 1)};

		if (!backend->present)
			continue;
		rig_set_backend(&rig, backend->id, &entry, rig.ingress);
		dataplane_set_takes(rig.dp, backend->id, churn_takes(backend));
	}
}

/* Who is dead or has left has no claim to any arc. */
static inline void churn_check_claims(const struct churn *churn, const struct moves *moves)
{
	for (size_t i = 0; i < moves->len; i++) {
		int previous = churn_find(churn, moves->list[i].previous);

		if (moves->list[i].previous == RING_NONE)
			continue;
		assert_true(previous >= 0);
		assert_true(churn_takes(&churn->backends[previous]) & BACKEND_TAKES_OLD);
	}
}

/* The one step from what is live to what should be so: prepare, commit, clean. */
static inline void churn_apply(struct churn *churn)
{
	struct change change = {.control = &churn_daemon.control, .next = &churn_daemon.config};
	struct control_pool pool;
	int fd = -1;

	churn_pool_fill(churn, &pool);
	churn_keep_flows(&pool, churn->pool);
	assert_int_equal(change_move_pool(&change, &pool), 0);
	churn_check_claims(churn, &pool.moves);
	assert_int_equal(change_load_pool(&churn_daemon.control, &pool, &fd), 0);
	churn_commit_backends(churn);
	if (churn->uncommitted)
		churn->uncommitted(churn);
	if (fd >= 0)
		assert_int_equal(dataplane_publish_ring(rig.dp, churn_pool_id(churn), fd), 0);
	for (size_t i = 0; i < CHURN_NAMES; i++) {
		if (churn->backends[i].left)
			dataplane_remove_backend(rig.dp, churn->backends[i].id);
		churn->backends[i].left = false;
	}
	churn_pool_release(churn->pool);
	*churn->pool = pool;
}

static inline void churn_load(struct churn *churn)
{
	int fd = -1;

	assert_int_equal(change_load_pool(&churn_daemon.control, churn->pool, &fd), 0);
	if (fd >= 0)
		assert_int_equal(dataplane_publish_ring(rig.dp, churn_pool_id(churn), fd), 0);
}

/* The daemon's tick: learning ends, arcs settle. */
static inline void churn_tick(void)
{
	struct control_error error = {};

	if (control_tick(&churn_daemon.control, &error))
		fail_msg("%s", error.what);
}

/* What is over stays told apart, and is not 0. */
static inline void churn_shorten(int64_t *until_ms, int64_t ms)
{
	if (!*until_ms)
		return;
	*until_ms -= ms;
	*until_ms -= !*until_ms;
}

/* Learning times end @ms earlier, in the live rings too. Nobody has looked at them yet. */
static inline void churn_wait(int64_t ms)
{
	for (size_t p = 0; p < churn_daemon.control.n_pools; p++) {
		struct moves *moves = &churn_daemon.pools[p].moves;

		for (size_t i = 0; i < moves->len; i++) {
			churn_shorten(&moves->list[i].tcp_until_ms, ms);
			churn_shorten(&moves->list[i].other_until_ms, ms);
		}
		churn_load(&churns[p]);
	}
}

static inline void churn_pass(int64_t ms)
{
	churn_wait(ms);
	churn_tick();
}

/* The daemon dies; another one finds only what is in the kernel. */
static inline void churn_restart(void)
{
	struct dataplane_error error = {};

	dataplane_close(rig.dp);
	rig_require(dataplane_open(&rig.dp, DATAPLANE_PIN_DIR, &error) == 0, "%s", error.what);
	rig.program = dataplane_program_fd(rig.dp);
	churn_daemon.control.dp = rig.dp;
	for (size_t p = 0; p < churn_daemon.control.n_pools; p++) {
		churn_pool_release(churns[p].pool);
		churn_apply(&churns[p]);
	}
	/* It counts flows before it lets anybody leave. */
	churn_tick();
}

/* Begin with @n_pools pools of no backends. */
static inline void churn_open(size_t n_pools)
{
	memset(&churn_daemon, 0, sizeof(churn_daemon));
	memset(churns, 0, sizeof(churns));
	churn_daemon.config.seed = 4711;
	churn_daemon.config.flows.learn_tcp_ms = CHURN_TCP_LEARN_MS;
	churn_daemon.config.flows.learn_other_ms = CHURN_OTHER_LEARN_MS;
	churn_daemon.control.running.seed = churn_daemon.config.seed;
	churn_daemon.control.pools = churn_daemon.pools;
	churn_daemon.control.n_pools = n_pools;
	churn_daemon.control.dp = rig.dp;
}

/* Half of @names are there from the beginning. */
static inline void churn_start(struct churn *churn, uint64_t stream, size_t names)
{
	*churn = (struct churn){
		.rng = rng_start(stream),
		.names = names,
		.pool = &churn_daemon.pools[churn - churns],
	};
	for (size_t i = 0; i < (names + 1) / 2; i++)
		churn_do(churn, ADD, &churn->backends[i]);
	churn_apply(churn);
}

static inline void churn_end(struct churn *churn)
{
	for (size_t i = 0; i < CHURN_NAMES; i++)
		if (churn->backends[i].present)
			dataplane_remove_backend(rig.dp, churn->backends[i].id);
	assert_int_equal(dataplane_remove_ring(rig.dp, churn_pool_id(churn)), 0);
	churn_pool_release(churn->pool);
}

#endif
