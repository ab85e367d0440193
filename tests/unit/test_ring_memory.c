/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Out of memory at every allocation in turn: -ENOMEM, outputs as they were,
 * nothing leaked.
 */
#include "tests/unit/failing_malloc.h"
#include "tests/unit/ring_reference.h"
#include "ring/spill.h"

/* Rings to work on, made while memory is there. */
struct fixture {
	struct ring *old;
	struct ring *other;
	struct ring_member *members;
	size_t n_members;
};

/* What a call under test may put out. */
struct outputs {
	struct ring *ring;
	struct ring_range *ranges;
	size_t n_ranges;
	struct spills spills;
};

typedef int (*call_under_test)(const struct fixture *fixture, struct outputs *outputs);

static const struct ring_params params = {.hash = &ring_hash_xxh64, .seed = 7, .vnodes = 20};

static int call_build(const struct fixture *fixture, struct outputs *outputs)
{
	return ring_build(&outputs->ring, &params, fixture->members, fixture->n_members);
}

static int call_build_capped(const struct fixture *fixture, struct outputs *outputs)
{
	struct ring_params capped = params;

	capped.placement = RING_CAPPED;
	capped.cells = RING_CELLS_MIN;
	capped.epsilon_milli = RING_EPSILON_MAX;
	return ring_build(&outputs->ring, &capped, fixture->members, fixture->n_members);
}

static int call_from_positions(const struct fixture *fixture, struct outputs *outputs)
{
	const struct ring *old = fixture->old;

	return ring_from_positions(&outputs->ring, UINT64_MAX, old->members, old->n_members,
				   old->positions, old->owners, old->len);
}

/* Members come, go and stay. */
static int call_derive(const struct fixture *fixture, struct outputs *outputs)
{
	return ring_derive(&outputs->ring, fixture->old, fixture->members, fixture->n_members / 2);
}

static int call_add(const struct fixture *fixture, struct outputs *outputs)
{
	const struct ring_member joiner = member_of("joiner", RING_WEIGHT_ONE);

	return ring_add(&outputs->ring, fixture->old, &joiner);
}

static int call_remove(const struct fixture *fixture, struct outputs *outputs)
{
	return ring_remove(&outputs->ring, fixture->old, "s3");
}

static int call_compare(const struct fixture *fixture, struct outputs *outputs)
{
	return ring_compare(fixture->old, fixture->other, &outputs->ranges, &outputs->n_ranges);
}

/* One member has all of the load. */
static int call_spill_step(const struct fixture *fixture, struct outputs *outputs)
{
	static struct spill_member members[1000];
	const struct spill_terms terms = {.step = 1, .cap = 1.25};
	const struct spills none = {};
	int result;

	memset(members, 0, sizeof(members));
	for (size_t i = 0; i < fixture->old->n_members; i++)
		members[i].takes = true;
	members[3].load = 1000;
	result = spill_step(&outputs->spills, fixture->old, &none, members, &terms);
	return result < 0 ? result : 0;
}

/* The first arc is with whom it does not belong to. */
static struct spill spill_of(const struct ring *ring)
{
	return (struct spill){
		.last = ring->positions[0],
		.owner = ring->owners[0],
		.to = ring->owners[0] ? 0 : 1,
	};
}

static int call_spills_lay(const struct fixture *fixture, struct outputs *outputs)
{
	struct spill spill = spill_of(fixture->old);
	const struct spills spills = {&spill, 1, 1};

	return spills_lay(&outputs->ring, fixture->old, &spills);
}

static int call_spills_keep(const struct fixture *fixture, struct outputs *outputs)
{
	struct spill spill = spill_of(fixture->old);
	const struct spills spills = {&spill, 1, 1};
	static bool takes[1000];
	static uint16_t map[1000];

	for (uint16_t i = 0; i < fixture->old->n_members; i++) {
		takes[i] = true;
		map[i] = i;
	}
	return spills_keep(&outputs->spills, &spills, fixture->old, map, takes);
}

static void fixture_init(struct fixture *fixture, size_t n_members)
{
	struct rng rng = rng_start(1);

	failing_call = 0;
	fixture->members = members_numbered(n_members);
	fixture->n_members = n_members;
	fixture->old = ring_numbered(&ring_hash_xxh64, 7, 20, n_members - 1);
	fixture->other = ring_numbered(&ring_hash_xxh64, 8, 20, n_members - 1);
	fixture->members[0].weight_milli = 2500;
	members_shuffle(fixture->members, n_members, &rng);
}

static void fixture_release(struct fixture *fixture)
{
	ring_free(fixture->old);
	ring_free(fixture->other);
	free(fixture->members);
}

/* Returns what the call returned when its @failing'th allocation failed. */
static int call_short_of_memory(const struct fixture *fixture, call_under_test call, long failing)
{
	static char untouched;
	struct ring_range no_range;
	const struct outputs before = {
		.ring = (struct ring *)&untouched,
		.ranges = &no_range,
		.n_ranges = 77,
		.spills = {.len = 78},
	};
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
	} else {
		if (outputs.ring != before.ring)
			ring_free(outputs.ring);
		if (outputs.ranges != before.ranges)
			free(outputs.ranges);
		if (outputs.spills.list)
			spills_release(&outputs.spills);
	}
	assert_int_equal(n_live, n_live_before);
	return err;
}

static const struct {
	call_under_test call;
	long min_allocations;
} calls[] =
	{
		{call_build, 5},      {call_build_capped, 5}, {call_from_positions, 6},
		{call_derive, 10},    {call_add, 10},	      {call_remove, 10},
		{call_compare, 3}, /* the map, then a list that has to grow */
		{call_spill_step, 3}, {call_spills_lay, 4},   {call_spills_keep, 1},
};

/* So few members that qsort() needs no memory: each allocation that fails must be reported. */
static void test_every_allocation_fails(void **state)
{
	struct fixture fixture;

	(void)state;
	if (!CAN_FAIL)
		skip();
	fixture_init(&fixture, 16);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		long n_allocations;

		assert_int_equal(call_short_of_memory(&fixture, calls[i].call, 0), 0);
		n_allocations = n_calls;
		assert_true(n_allocations >= calls[i].min_allocations);
		for (long failing = 1; failing <= n_allocations; failing++)
			assert_int_equal(call_short_of_memory(&fixture, calls[i].call, failing),
					 -ENOMEM);
	}
	fixture_release(&fixture);
}

/* With more, qsort() allocates, and falls back to a slower way if it can't. */
static void test_many_members(void **state)
{
	struct fixture fixture;

	(void)state;
	if (!CAN_FAIL)
		skip();
	fixture_init(&fixture, 1000);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		long n_allocations;

		assert_int_equal(call_short_of_memory(&fixture, calls[i].call, 0), 0);
		n_allocations = n_calls;
		for (long failing = 1; failing <= n_allocations; failing++)
			call_short_of_memory(&fixture, calls[i].call, failing);
	}
	fixture_release(&fixture);
}

/* Refusals midway must free what there was by then. */
static void test_refusals_leak_nothing(void **state)
{
	static const struct ring_hash above_top = {xxh64_of, 9};
	const struct ring_params out_of_range = {.hash = &above_top, .seed = 0, .vnodes = 20};
	const struct ring_params too_many = {
		.hash = &ring_hash_xxh64, .seed = 0, .vnodes = RING_POSITIONS_MAX_LEN};
	struct ring_member *members = members_numbered(3);
	struct ring *old = ring_numbered(&ring_hash_xxh64, 7, 20, 3);
	long n_live_before = n_live;
	struct ring *ring = NULL;

	(void)state;
	assert_int_equal(ring_build(&ring, &out_of_range, members, 3), -ERANGE);
	assert_int_equal(n_live, n_live_before);
	assert_int_equal(ring_build(&ring, &too_many, members, 3), -ENOSPC);
	assert_int_equal(n_live, n_live_before);
	members[2].weight_milli = RING_WEIGHT_MAX + 1;
	assert_int_equal(ring_derive(&ring, old, members, 3), -EINVAL);
	assert_int_equal(n_live, n_live_before);
	members[2] = members[0];
	assert_int_equal(ring_build(&ring, &params, members, 3), -EEXIST);
	assert_int_equal(ring_derive(&ring, old, members, 3), -EEXIST);
	assert_int_equal(ring_from_positions(&ring, UINT64_MAX, members, 3, old->positions,
					     old->owners, old->len),
			 -EEXIST);
	assert_int_equal(n_live, n_live_before);
	ring_free(old);
	free(members);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_allocation_fails),
		cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_refusals_leak_nothing),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring memory", tests, NULL, NULL);
}
