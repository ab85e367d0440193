/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rings of positions that are given, not hashed; and the sort by position, of any shape of input.
 */
#include "tests/unit/ring_reference.h"

#include <unistd.h>

/* What outputs hold before a call that must leave them alone. */
#define UNTOUCHED ((struct ring *)&untouched)
static char untouched;

/*
 * Random given positions of a shape that @shape chooses, from even to such that
 * only their low digits differ.
 */
static uint64_t given_position(unsigned int shape, size_t i, size_t len, struct rng *rng)
{
	switch (shape) {
	case 0:
		return rng_next(rng);
	case 1: /* descending, the high half is the same */
		return 0x1234567800000000 + (len - i);
	case 2: /* two clusters */
		return (i & 1 ? UINT64_MAX - 5000 : 0) + rng_below(rng, 5000);
	case 3: /* few places */
		return rng_below(rng, 7);
	default: /* nearly in order, as far as the high half tells */
		return ((uint64_t)i / 8 << 32) + rng_below(rng, 8);
	}
}

static void test_given_positions(void **state)
{
	struct ring_member members[5];
	struct rng rng = rng_start(4);

	(void)state;
	for (size_t i = 0; i < 5; i++)
		members[i] = pool_member(i, 0);
	for (unsigned int round = 0; round < 50; round++) {
		size_t len = rng_below(&rng, 2000);
		uint64_t *positions = calloc(len + 1, sizeof(*positions));
		uint16_t *owners = calloc(len + 1, sizeof(*owners));
		struct plain_slot *slots = calloc(len + 1, sizeof(*slots));
		struct ring *ring = NULL;

		for (size_t i = 0; i < len; i++) {
			positions[i] = given_position(round % 5, i, len, &rng);
			owners[i] = rng_below(&rng, 5);
			slots[i].position = positions[i];
			slots[i].name = members[owners[i]].name;
		}
		qsort(slots, len, sizeof(*slots), compare_plain_slots);
		assert_int_equal(
			ring_from_positions(&ring, UINT64_MAX, members, 5, positions, owners, len),
			0);
		assert_int_equal(ring->len, len);
		for (size_t i = 0; i < len; i++) {
			assert_int_equal(ring->positions[i], slots[i].position);
			assert_string_equal(ring->members[ring->owners[i]].name, slots[i].name);
		}
		ring_free(ring);
		free(positions);
		free(owners);
		free(slots);
	}
}

/* Falling positions that only low digits tell apart: hours for a sort that counts on high ones. */
static void test_cluster_does_not_stall(void **state)
{
	const struct ring_member member = member_of("a", 1);
	uint64_t *positions = calloc(RING_POSITIONS_MAX_LEN, sizeof(*positions));
	uint16_t *owners = calloc(RING_POSITIONS_MAX_LEN, sizeof(*owners));
	struct ring *ring = NULL;

	(void)state;
	for (size_t i = 0; i < RING_POSITIONS_MAX_LEN; i++)
		positions[i] = UINT64_MAX - i;
	alarm(60); /* a thousand times what it takes; its signal ends the program */
	assert_int_equal(ring_from_positions(&ring, UINT64_MAX, &member, 1, positions, owners,
					     RING_POSITIONS_MAX_LEN),
			 0);
	alarm(0);
	for (size_t i = 0; i < RING_POSITIONS_MAX_LEN; i++)
		assert_int_equal(ring->positions[i], positions[RING_POSITIONS_MAX_LEN - 1 - i]);
	ring_free(ring);
	free(positions);
	free(owners);
}

static void test_given_refusals(void **state)
{
	static const uint64_t positions[] = {99, 100};
	static const uint16_t owners[] = {0, 1};
	const struct ring_member members[] = {member_of("a", 1), member_of("b", 1)};
	const struct ring_member twice[] = {member_of("a", 1), member_of("a", 2)};
	const struct ring_member unnamed[] = {member_of("a", 1), member_of("", 2)};
	const struct {
		uint64_t top;
		const struct ring_member *members;
		size_t n_members;
		size_t len;
		int err;
	} rows[] = {
		{99, members, 2, 2, -ERANGE},
		{100, members, 1, 2, -ERANGE},
		{100, twice, 2, 2, -EEXIST},
		{100, unnamed, 2, 2, -EINVAL},
		{100, members, 2, RING_POSITIONS_MAX_LEN + 1, -ENOSPC},
		{100, members, RING_MEMBERS_MAX + 1, 2, -ENOSPC},
	};
	struct ring *ring = UNTOUCHED;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(ring_from_positions(&ring, rows[i].top, rows[i].members,
						     rows[i].n_members, positions, owners,
						     rows[i].len),
				 rows[i].err);
		assert_ptr_equal(ring, UNTOUCHED);
	}
	assert_int_equal(ring_from_positions(&ring, 100, members, 2, positions, owners, 2), 0);
	assert_int_equal(ring->params.hash->top, 100);
	assert_null(ring->params.hash->hash);
	ring_free(ring);
	assert_int_equal(ring_from_positions(&ring, 100, NULL, 0, NULL, NULL, 0), 0);
	assert_int_equal(ring_search(ring, 3), -ENOENT);
	ring_free(ring);
	ring_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_given_positions),
		cmocka_unit_test(test_cluster_does_not_stall),
		cmocka_unit_test(test_given_refusals),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring of given positions", tests, NULL, NULL);
}
