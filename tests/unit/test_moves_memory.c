/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Out of memory at every allocation of moves in turn: -ENOMEM, outputs as they were,
 * nothing leaked.
 */
#include "tests/unit/failing_malloc.h"
#include "tests/unit/moves_reference.h"

/* Rings so different that a list of moves has to grow more than once. */
struct fixture {
	struct ring *old;
	struct ring *other;
	struct ring *third;
	struct moves moves; /* from old to other */
	uint32_t ids[IDS_LEN];
};

struct outputs {
	struct moves moves;
	struct moving_ring merged;
	struct moves_claim claims[IDS_LEN];
};

typedef int (*call_under_test)(const struct fixture *fixture, struct outputs *outputs);

static const struct moves_terms terms = {.now_ms = 1, .tcp_learn_ms = 9, .other_learn_ms = 5};

static int call_change(const struct fixture *fixture, struct outputs *outputs)
{
	return change_moves(&outputs->moves, &fixture->moves, fixture->other, fixture->third,
			    &terms);
}

static int call_merge(const struct fixture *fixture, struct outputs *outputs)
{
	return moves_merge(&outputs->merged, fixture->other, fixture->ids, &fixture->moves);
}

static int call_read(const struct fixture *fixture, struct outputs *outputs)
{
	struct moves read = {};
	int err = 0;

	/* Every second slot, so that none joins its neighbour. */
	for (size_t slot = 1; slot < fixture->old->len && !err; slot += 2)
		err = moves_read(&read, fixture->old->positions, slot, &fixture->moves.list[0]);
	if (err)
		moves_release(&read);
	else
		outputs->moves = read;
	return err;
}

static int call_claims(const struct fixture *fixture, struct outputs *outputs)
{
	return moves_claims(&fixture->moves, fixture->ids, IDS_LEN, outputs->claims);
}

static struct ring *random_ring(struct rng *rng)
{
	uint64_t positions[300];
	uint16_t ids[ARRAY_LEN(positions)];

	for (size_t i = 0; i < ARRAY_LEN(positions); i++) {
		positions[i] = rng_next(rng);
		ids[i] = (uint16_t)rng_below(rng, IDS_LEN);
	}
	return ring_of_ids(positions, ids, ARRAY_LEN(positions));
}

static void fixture_init(struct fixture *fixture)
{
	struct rng rng = rng_start(1);
	struct moves none = {};

	*fixture = (struct fixture){
		.old = random_ring(&rng),
		.other = random_ring(&rng),
		.third = random_ring(&rng),
	};
	list_ids(fixture->other, fixture->ids);
	assert_int_equal(change_moves(&fixture->moves, &none, fixture->old, fixture->other, &terms),
			 0);
	assert_true(fixture->moves.len > 200);
}

static int call_short_of_memory(const struct fixture *fixture, call_under_test call, long failing)
{
	static const struct outputs before = {.moves = {.len = 77}, .merged = {.len = 78}};
	struct outputs outputs = before;
	long n_live_before = n_live;
	int err;

	n_calls = 0;
	failing_call = failing;
	err = call(fixture, &outputs);
	failing_call = 0;
	if (err) {
		assert_int_equal(err, -ENOMEM);
		assert_memory_equal(&outputs, &before, sizeof(outputs));
	}
	moves_release(&outputs.moves);
	moving_ring_release(&outputs.merged);
	assert_int_equal(n_live, n_live_before);
	return err;
}

static const struct {
	call_under_test call;
	long min_allocations;
} calls[] = {{call_change, 3}, {call_merge, 4}, {call_read, 2}, {call_claims, 1}};

static void test_every_allocation_fails(void **state)
{
	struct fixture fixture;

	(void)state;
	if (!CAN_FAIL)
		skip();
	fixture_init(&fixture);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		long n_allocations;

		assert_int_equal(call_short_of_memory(&fixture, calls[i].call, 0), 0);
		n_allocations = n_calls;
		assert_true(n_allocations >= calls[i].min_allocations);
		for (long failing = 1; failing <= n_allocations; failing++)
			assert_int_equal(call_short_of_memory(&fixture, calls[i].call, failing),
					 -ENOMEM);
	}
	ring_free(fixture.old);
	ring_free(fixture.other);
	ring_free(fixture.third);
	moves_release(&fixture.moves);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_fails)};

	test_seed_print();
	return cmocka_run_group_tests_name("moves memory", tests, NULL, NULL);
}
