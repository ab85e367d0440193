/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What moves between two rings, exactly: against brute force over every place
 * where either ring has a position, and against every hash of small circles.
 */
#include "tests/unit/ring_reference.h"

#define SETS 400

/* Number of hashes that each pair of an old and a new owner has. */
struct flows {
	ring_length lengths[POOL_LEN + 1][POOL_LEN + 1];
};

static bool hash_moves(const struct ring *before, const struct ring *after, uint64_t hash)
{
	return pool_index_of(before, owner_by_walk(before, hash)) !=
	       pool_index_of(after, owner_by_walk(after, hash));
}

static int compare_places(const void *a, const void *b)
{
	const uint64_t *left = a;
	const uint64_t *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Every arc between neighbouring positions of both rings has one old and one new owner. */
static void flows_by_walk(struct flows *flows, const struct ring *before, const struct ring *after)
{
	size_t len = before->len + after->len;
	uint64_t *places = calloc(len + 1, sizeof(*places));
	uint64_t previous;

	memset(flows, 0, sizeof(*flows));
	if (len == 0) {
		flows->lengths[NOBODY][NOBODY] = ring_circle(before);
		free(places);
		return;
	}
	memcpy(places, before->positions, before->len * sizeof(*places));
	memcpy(places + before->len, after->positions, after->len * sizeof(*places));
	qsort(places, len, sizeof(*places), compare_places);
	previous = places[len - 1];
	for (size_t i = 0; i < len; i++) {
		ring_length length = (ring_length)places[i] - previous;
		size_t from = pool_index_of(before, owner_by_walk(before, places[i]));
		size_t to = pool_index_of(after, owner_by_walk(after, places[i]));

		if (i == 0)
			length += ring_circle(before);
		flows->lengths[from][to] += length;
		previous = places[i];
	}
	free(places);
}

static void flows_by_compare(struct flows *flows, const struct ring *before,
			     const struct ring *after, const struct range_list *moves)
{
	memset(flows, 0, sizeof(*flows));
	for (size_t i = 0; i < moves->len; i++) {
		size_t from = pool_index_of(before, moves->ranges[i].old_owner);
		size_t to = pool_index_of(after, moves->ranges[i].new_owner);

		flows->lengths[from][to] += moves->ranges[i].length;
	}
}

static void assert_flows_are_exact(const struct ring *before, const struct ring *after,
				   const struct range_list *moves)
{
	struct flows walked;
	struct flows compared;

	flows_by_walk(&walked, before, after);
	flows_by_compare(&compared, before, after, moves);
	for (size_t from = 0; from <= NOBODY; from++) {
		for (size_t to = 0; to <= NOBODY; to++) {
			if (from == to)
				assert_true(compared.lengths[from][to] == 0);
			else
				assert_true(compared.lengths[from][to] == walked.lengths[from][to]);
		}
	}
}

static bool has_owners(const struct ring *before, const struct ring *after,
		       const struct ring_range *range, uint64_t hash)
{
	return ring_owner(before, hash) == range->old_owner &&
	       ring_owner(after, hash) == range->new_owner;
}

static void assert_range_is_exact(const struct ring *before, const struct ring *after,
				  const struct ring_range *range)
{
	ring_length length = (ring_length)range->last - range->first + 1;

	if (range->last < range->first)
		length += ring_circle(before);
	assert_true(range->length == length);
	assert_true(hash_moves(before, after, range->first));
	assert_true(has_owners(before, after, range, range->first));
	assert_true(has_owners(before, after, range, range->last));
	if (length == ring_circle(before)) {
		assert_int_equal(range->first, 0);
		return;
	}
	assert_false(has_owners(before, after, range, place_before(before, range->first)));
	assert_false(has_owners(before, after, range, place_after(before, range->last)));
}

static void assert_ranges_ascend(const struct range_list *moves)
{
	for (size_t i = 0; i < moves->len; i++) {
		const struct ring_range *range = &moves->ranges[i];

		if (i > 0)
			assert_true(range[-1].last < range->first);
		if (range->last < range->first) {
			assert_int_equal(i, moves->len - 1);
			assert_true(i == 0 || range->last < moves->ranges[0].first);
		}
	}
}

static bool range_holds(const struct ring_range *range, uint64_t hash)
{
	if (range->first <= range->last)
		return range->first <= hash && hash <= range->last;
	return hash >= range->first || hash <= range->last;
}

static void assert_every_hash(const struct ring *before, const struct ring *after,
			      const struct range_list *moves)
{
	for (uint64_t hash = 0; hash <= before->params.hash->top; hash++) {
		const struct ring_range *found = NULL;

		for (size_t i = 0; i < moves->len; i++) {
			if (range_holds(&moves->ranges[i], hash))
				found = &moves->ranges[i];
		}
		assert_int_equal(found != NULL, hash_moves(before, after, hash));
		if (found)
			assert_true(has_owners(before, after, found, hash));
	}
}

static void assert_shares_add_up(const struct ring *before, const struct ring *after,
				 const struct range_list *moves)
{
	ring_length shares_before[POOL_LEN];
	ring_length shares_after[POOL_LEN];
	ring_length balance[POOL_LEN + 1] = {0};
	ring_length sum = 0;

	ring_shares(before, shares_before);
	ring_shares(after, shares_after);
	for (size_t i = 0; i < before->n_members; i++)
		balance[pool_index_of(before, i)] += shares_before[i];
	for (size_t i = 0; i < moves->len; i++) {
		const struct ring_range *range = &moves->ranges[i];

		balance[pool_index_of(before, range->old_owner)] -= range->length;
		balance[pool_index_of(after, range->new_owner)] += range->length;
	}
	for (size_t i = 0; i < after->n_members; i++) {
		assert_true(balance[pool_index_of(after, i)] == shares_after[i]);
		sum += shares_after[i];
	}
	assert_true(sum == (after->len ? ring_circle(after) : 0));
}

static void assert_compare_is_exact(const struct ring *before, const struct ring *after)
{
	struct range_list moves = compare_rings(before, after);

	assert_ranges_ascend(&moves);
	for (size_t i = 0; i < moves.len; i++)
		assert_range_is_exact(before, after, &moves.ranges[i]);
	assert_flows_are_exact(before, after, &moves);
	assert_shares_add_up(before, after, &moves);
	if (before->params.hash->top <= 1008)
		assert_every_hash(before, after, &moves);
	assert_int_equal(moves.ranges == NULL, moves.len == 0);
	free(moves.ranges);
}

static void test_any_change(void **state)
{
	struct rng rng = rng_start(1);

	(void)state;
	for (size_t i = 0; i < SETS; i++) {
		const struct ring_params params = {.hash = &circles[i % ARRAY_LEN(circles)],
						   .seed = rng_next(&rng),
						   .vnodes = 1 + rng_below(&rng, 4)};
		struct member_set set = {0};
		struct ring *before;
		struct ring *after;

		member_set_change(&set, 1 + rng_below(&rng, 8), &rng);
		before = member_set_build(&set, &params, &rng);
		member_set_change(&set, 1 + rng_below(&rng, 8), &rng);
		after = member_set_build(&set, &params, &rng);
		assert_compare_is_exact(before, after);
		assert_compare_is_exact(after, before);
		assert_compare_is_exact(before, before);
		ring_free(before);
		ring_free(after);
	}
}

/* Rings of another seed have nothing in common but the circle. */
static void test_any_two_rings(void **state)
{
	struct rng rng = rng_start(2);

	(void)state;
	for (size_t i = 0; i < SETS; i++) {
		const struct ring_hash *hash = &circles[i % ARRAY_LEN(circles)];
		const struct ring_params one = {
			.hash = hash, .seed = rng_next(&rng), .vnodes = 1 + rng_below(&rng, 3)};
		const struct ring_params other = {
			.hash = hash, .seed = rng_next(&rng), .vnodes = 1 + rng_below(&rng, 3)};
		struct member_set set = {0};
		struct ring *before;
		struct ring *after;

		member_set_change(&set, 4, &rng);
		before = member_set_build(&set, &one, &rng);
		after = member_set_build(&set, &other, &rng);
		assert_compare_is_exact(before, after);
		ring_free(before);
		ring_free(after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_change),
		cmocka_unit_test(test_any_two_rings),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring compare", tests, NULL, NULL);
}
