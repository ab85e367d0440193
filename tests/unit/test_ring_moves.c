/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A change moves what it must and no more; and the ends of the ranges that it moves. */
#include "tests/unit/ring_reference.h"

#define SETS 400

/* Every range is from or to @member, and together they are what it has more in @with. */
static void assert_moves_only(const struct ring *without, const struct ring *with,
			      const char *member)
{
	struct range_list joins = compare_rings(without, with);
	struct range_list leaves = compare_rings(with, without);
	ring_length lengths[POOL_LEN] = {0};
	ring_length gain;

	ring_shares(with, lengths);
	gain = lengths[ring_find_member(with, member)];
	if (ring_find_member(without, member) != RING_NONE) {
		ring_shares(without, lengths);
		gain -= lengths[ring_find_member(without, member)];
	}
	assert_int_equal(joins.len, leaves.len);
	for (size_t i = 0; i < joins.len; i++) {
		assert_string_equal(with->members[joins.ranges[i].new_owner].name, member);
		assert_string_equal(with->members[leaves.ranges[i].old_owner].name, member);
		assert_true(joins.ranges[i].length == leaves.ranges[i].length);
		gain -= joins.ranges[i].length;
	}
	assert_true(gain == 0);
	free(joins.ranges);
	free(leaves.ranges);
}

/* A join takes for the joiner only; a leave gives what the leaver had; weight does either. */
static void test_minimal_movement(void **state)
{
	struct rng rng = rng_start(3);

	(void)state;
	for (size_t i = 0; i < SETS; i++) {
		const struct ring_params params = {.hash = &circles[i % ARRAY_LEN(circles)],
						   .seed = rng_next(&rng),
						   .vnodes = 1 + rng_below(&rng, 30)};
		struct member_set set = {0};
		size_t mover = rng_below(&rng, POOL_LEN);
		const struct ring_member member = pool_member(mover, 0);
		struct ring *without;
		struct ring *light;
		struct ring *heavy;

		member_set_change(&set, 2, &rng);
		set.present[mover] = false;
		without = member_set_build(&set, &params, &rng);
		set.present[mover] = true;
		set.weights_milli[mover] = random_weight(&rng);
		light = member_set_build(&set, &params, &rng);
		set.weights_milli[mover] += random_weight(&rng);
		heavy = member_set_build(&set, &params, &rng);
		assert_moves_only(without, light, member.name);
		assert_moves_only(without, heavy, member.name);
		assert_moves_only(light, heavy, member.name);
		ring_free(without);
		ring_free(light);
		ring_free(heavy);
	}
}

static ring_length total_length(const struct range_list *moves)
{
	ring_length sum = 0;

	for (size_t i = 0; i < moves->len; i++)
		sum += moves->ranges[i].length;
	return sum;
}

/* From or to a ring that owns nothing, the whole circle moves. */
static void test_total_coverage(void **state)
{
	struct rng rng = rng_start(4);

	(void)state;
	for (size_t i = 0; i < SETS; i++) {
		const struct ring_params params = {.hash = &circles[i % ARRAY_LEN(circles)],
						   .seed = rng_next(&rng),
						   .vnodes = 1 + rng_below(&rng, 30)};
		struct member_set set = {0};
		struct ring *empty = member_set_build(&set, &params, &rng);
		struct ring *ring;
		struct range_list rise;
		struct range_list fall;

		member_set_change(&set, 2, &rng);
		set.present[0] = true;
		set.weights_milli[0] = RING_WEIGHT_ONE;
		ring = member_set_build(&set, &params, &rng);
		rise = compare_rings(empty, ring);
		fall = compare_rings(ring, empty);
		assert_true(total_length(&rise) == ring_circle(ring));
		assert_true(total_length(&fall) == ring_circle(ring));
		assert_int_equal(rise.len, fall.len);
		for (size_t k = 0; k < rise.len; k++) {
			assert_int_equal(rise.ranges[k].old_owner, RING_NONE);
			assert_int_equal(fall.ranges[k].new_owner, RING_NONE);
			assert_int_equal(rise.ranges[k].new_owner, fall.ranges[k].old_owner);
		}
		free(rise.ranges);
		free(fall.ranges);
		ring_free(empty);
		ring_free(ring);
	}
}

static struct ring *given_ring(uint64_t top, const char *names, const uint64_t *positions)
{
	struct ring_member members[8];
	uint16_t owners[8];
	struct ring *ring = NULL;
	size_t len = strlen(names);

	for (size_t i = 0; i < len; i++) {
		const char name[] = {names[i], '\0'};

		members[i] = member_of(name, RING_WEIGHT_ONE);
		owners[i] = i;
	}
	assert_int_equal(ring_from_positions(&ring, top, members, len, positions, owners, len), 0);
	return ring;
}

/* One position owns 2^64 hashes, a number of 65 bits. */
static void test_whole_circle(void **state)
{
	static const uint64_t places[] = {0, 1, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};
	const ring_length circle = (ring_length)1 << 64;
	struct ring *empty = given_ring(UINT64_MAX, "", places);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct ring *ring = given_ring(UINT64_MAX, "a", &places[i]);
		struct ring *other =
			given_ring(UINT64_MAX, "b", &places[ARRAY_LEN(places) - 1 - i]);
		struct range_list rise = compare_rings(empty, ring);
		struct range_list change = compare_rings(ring, other);
		ring_length length = 0;

		ring_shares(ring, &length);
		assert_true(length == circle);
		assert_true(ring_circle(ring) == circle);
		assert_true(ring_share(ring, length) == 1.0);
		assert_int_equal(rise.len, 1);
		assert_int_equal(change.len, 1);
		assert_true(rise.ranges[0].length == circle);
		assert_true(change.ranges[0].length == circle);
		assert_int_equal(rise.ranges[0].first, 0);
		assert_int_equal(rise.ranges[0].last, UINT64_MAX);
		free(rise.ranges);
		free(change.ranges);
		ring_free(ring);
		ring_free(other);
	}
	ring_free(empty);
}

/*
 * Ranges that end at the top and begin at 0 are one if their owners are the
 * same, and stay two if not; of two neighbours with other owners the same holds.
 */
static void test_joining(void **state)
{
	static const struct {
		const char *what;
		const char *names; /* of the ring after; before, a has all */
		uint64_t positions[3];
		size_t n_ranges;
		uint64_t first; /* of the last range */
		uint64_t last;
	} rows[] = {
		{"across the top", "ab", {60, 20}, 1, 61, 20},
		{"ends at the top", "ab", {60, 99}, 1, 61, 99},
		{"begins at 0", "ab", {99, 20}, 1, 0, 20},
		{"only 0", "ab", {99, 0}, 1, 0, 0},
		{"all but 0", "ab", {0, 99}, 1, 1, 99},
		{"neighbours across the top", "abc", {60, 99, 20}, 2, 61, 99},
		{"neighbours", "abc", {10, 30, 50}, 2, 31, 50},
	};
	static const uint64_t anywhere[] = {42};
	struct ring *before = given_ring(99, "a", anywhere);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ring *after = given_ring(99, rows[i].names, rows[i].positions);
		struct range_list moves = compare_rings(before, after);

		if (moves.len != rows[i].n_ranges)
			fail_msg("%s: %zu ranges", rows[i].what, moves.len);
		assert_int_equal(moves.ranges[moves.len - 1].first, rows[i].first);
		assert_int_equal(moves.ranges[moves.len - 1].last, rows[i].last);
		free(moves.ranges);
		ring_free(after);
	}
	ring_free(before);
}

static void test_share_as_fraction(void **state)
{
	static const uint64_t positions[] = {24, 99};
	struct ring *ring = given_ring(99, "ab", positions);
	ring_length lengths[2];

	(void)state;
	ring_shares(ring, lengths);
	assert_true(lengths[0] == 25 && lengths[1] == 75);
	assert_true(ring_share(ring, lengths[0]) == 0.25);
	assert_true(ring_share(ring, 0) == 0.0);
	ring_free(ring);
}

static void test_refusal(void **state)
{
	static const uint64_t positions[] = {5};
	struct ring *ring = given_ring(99, "a", positions);
	struct ring *other = given_ring(98, "a", positions);
	struct ring_range untouched;
	struct ring_range *ranges = &untouched;
	size_t n_ranges = 77;

	(void)state;
	assert_int_equal(ring_compare(ring, other, &ranges, &n_ranges), -EINVAL);
	assert_ptr_equal(ranges, &untouched);
	assert_int_equal(n_ranges, 77);
	ring_free(ring);
	ring_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_minimal_movement),  cmocka_unit_test(test_total_coverage),
		cmocka_unit_test(test_whole_circle),	  cmocka_unit_test(test_joining),
		cmocka_unit_test(test_share_as_fraction), cmocka_unit_test(test_refusal),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring moves", tests, NULL, NULL);
}
