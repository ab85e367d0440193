/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Building a ring: against the obvious version, in any order, up to its limits, and refused. */
#include "tests/unit/ring_reference.h"

#define SETS 400

/* What outputs hold before a call that must leave them alone. */
#define UNTOUCHED ((struct ring *)&untouched)
static char untouched;

static const struct ring_params xxh64_by_200 = {.hash = &ring_hash_xxh64, .seed = 1, .vnodes = 200};

static void assert_refused(const struct ring_params *params, const struct ring_member *members,
			   size_t n_members, int err)
{
	struct ring *ring = UNTOUCHED;

	assert_int_equal(ring_build(&ring, params, members, n_members), err);
	assert_ptr_equal(ring, UNTOUCHED);
}

static void test_against_plain_sort(void **state)
{
	struct rng rng = rng_start(1);

	(void)state;
	for (int i = 0; i < SETS; i++) {
		const struct ring_params params = {.hash = &circles[i % ARRAY_LEN(circles)],
						   .seed = rng_next(&rng),
						   .vnodes = 1 + rng_below(&rng, 12)};
		struct ring_member members[POOL_LEN];
		struct member_set set = {0};
		struct ring *ring = NULL;
		size_t n_members;

		member_set_change(&set, 2, &rng);
		n_members = member_set_list(&set, members, &rng);
		assert_int_equal(ring_build(&ring, &params, members, n_members), 0);
		assert_ring_is_plain(ring, members, n_members);
		ring_free(ring);
	}
}

/* Vnode numbers of 1 to 4 digits. */
static void test_labels_of_every_length(void **state)
{
	const struct ring_params params = {
		.hash = &ring_hash_xxh64, .seed = test_seed(), .vnodes = 1002};
	const struct ring_member members[] = {member_of("b", 2000), member_of("a#9", 1000)};
	struct ring *ring = NULL;

	(void)state;
	assert_int_equal(ring_build(&ring, &params, members, 2), 0);
	assert_ring_is_plain(ring, members, 2);
	ring_free(ring);
}

static void test_order_changes_nothing(void **state)
{
	struct rng rng = rng_start(2);

	(void)state;
	for (int i = 0; i < SETS; i++) {
		const struct ring_params params = {.hash = &circles[i % ARRAY_LEN(circles)],
						   .seed = rng_next(&rng),
						   .vnodes = 5};
		struct member_set set = {0};
		struct ring *ring;
		struct ring *shuffled;

		member_set_change(&set, 2, &rng);
		ring = member_set_build(&set, &params, &rng);
		shuffled = member_set_build(&set, &params, &rng);
		assert_true(ring_equal(ring, shuffled));
		ring_free(ring);
		ring_free(shuffled);
	}
}

static void test_equal_tells_rings_apart(void **state)
{
	static const struct ring_hash under_another_top = {xxh64_of, UINT32_MAX};
	static const struct ring_hash of_another_function = {xxh64_of, UINT64_MAX};
	const struct ring_member members[] = {member_of("a", 1000), member_of("b", 0)};
	const struct ring_member renamed[] = {member_of("a", 1000), member_of("c", 0)};
	const struct ring_member weighed[] = {member_of("a", 1001), member_of("b", 0)};
	const struct ring_params other_seed = {.hash = &ring_hash_xxh64, .seed = 2, .vnodes = 200};
	const struct ring_params other_top = {.hash = &under_another_top, .seed = 1, .vnodes = 200};
	const struct ring_params other_hash = {
		.hash = &of_another_function, .seed = 1, .vnodes = 200};
	const struct ring_params other_vnodes = {
		.hash = &ring_hash_xxh64, .seed = 1, .vnodes = 201};
	const struct {
		const struct ring_params *params;
		const struct ring_member *members;
		size_t n_members;
	} rows[] = {
		{&xxh64_by_200, members, 2}, {&xxh64_by_200, renamed, 2},
		{&xxh64_by_200, weighed, 2}, {&xxh64_by_200, members, 1},
		{&other_seed, members, 2},   {&xxh64_by_200, NULL, 0},
		{&other_seed, NULL, 0},	     {&other_vnodes, NULL, 0},
		{&other_hash, NULL, 0},	     {&other_top, NULL, 0},
	};
	struct ring *rings[ARRAY_LEN(rows)];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(
			ring_build(&rings[i], rows[i].params, rows[i].members, rows[i].n_members),
			0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < ARRAY_LEN(rows); k++)
			assert_int_equal(ring_equal(rings[i], rings[k]), i == k);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ring_free(rings[i]);
}

/* Bytes behind a name must not reach the ring, or two hosts would differ. */
static void test_bytes_behind_the_name(void **state)
{
	struct ring_member clean[] = {member_of("a", 1000), member_of("b", 1000)};
	struct ring_member dirty[2];
	struct ring *ring = NULL;
	struct ring *other = NULL;

	(void)state;
	memset(dirty, 0x5a, sizeof(dirty));
	for (size_t i = 0; i < 2; i++) {
		memcpy(dirty[i].name, clean[i].name, 2);
		dirty[i].weight_milli = clean[i].weight_milli;
	}
	assert_int_equal(ring_build(&ring, &xxh64_by_200, clean, 2), 0);
	assert_int_equal(ring_build(&other, &xxh64_by_200, dirty, 2), 0);
	assert_true(ring_equal(ring, other));
	ring_free(ring);
	ring_free(other);
}

/* All vnodes at one place: the smallest name has everything, whatever the order. */
static void test_equal_positions(void **state)
{
	static const char *const names[] = {"c", "a", "d", "b"};
	const struct ring_params params = {.hash = &hash_always_5, .seed = 0, .vnodes = 2};
	struct ring *first = NULL;

	(void)state;
	for (unsigned int order = 0; order < 4 * 4 * 4 * 4; order++) {
		unsigned int at[] = {order % 4, order / 4 % 4, order / 16 % 4, order / 64};
		struct ring_member members[4];
		struct ring *ring = NULL;
		uint16_t owners[4];

		if (((1 << at[0]) | (1 << at[1]) | (1 << at[2]) | (1 << at[3])) != 0xf)
			continue;
		for (size_t i = 0; i < 4; i++)
			members[i] = member_of(names[at[i]], RING_WEIGHT_ONE);
		assert_int_equal(ring_build(&ring, &params, members, 4), 0);
		for (uint64_t hash = 0; hash <= 9; hash++) {
			assert_int_equal(ring_preference(ring, hash, owners, 4), 4);
			for (size_t i = 0; i < 4; i++)
				assert_int_equal(ring->members[owners[i]].name[0], 'a' + i);
		}
		if (first)
			assert_true(ring_equal(ring, first));
		ring_free(first);
		first = ring;
	}
	ring_free(first);
}

static void test_vnodes(void **state)
{
	static const struct {
		uint32_t vnodes;
		uint32_t weight_milli;
		uint64_t expected;
	} rows[] = {
		{200, 0, 0},
		{200, 1000, 200},
		{200, 500, 100},
		{200, 1250, 250},
		{200, 2000, 400},
		{200, 1, 1},
		{200, 2, 1},
		{200, 7, 1},
		{200, 8, 2},
		{1, 1, 1},
		{1, 499, 1},
		{1, 1499, 1},
		{1, 1500, 2},
		{3, 500, 2},
		{3, 499, 1},
		{200, RING_WEIGHT_MAX, 200000},
		{2097152, 1, 2097},
		{RING_POSITIONS_MAX_LEN, RING_WEIGHT_MAX, 2097152000},
		{4000000, 1, 4000},
		{UINT32_MAX, RING_WEIGHT_MAX, 4294967295000},
		{2097152, 1000, 2097152},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(ring_vnodes(rows[i].vnodes, rows[i].weight_milli),
				 rows[i].expected);
}

static void test_65535_members(void **state)
{
	const struct ring_params params = {
		.hash = &ring_hash_xxh64, .seed = test_seed(), .vnodes = 1};
	struct ring_member *members = members_numbered(RING_MEMBERS_MAX + 1);
	struct rng rng = rng_start(3);
	struct ring *ring = NULL;

	(void)state;
	assert_refused(&params, members, RING_MEMBERS_MAX + 1, -ENOSPC);
	members_shuffle(members, RING_MEMBERS_MAX, &rng);
	assert_int_equal(ring_build(&ring, &params, members, RING_MEMBERS_MAX), 0);
	assert_ring_is_plain(ring, members, RING_MEMBERS_MAX);
	for (size_t i = 0; i < RING_MEMBERS_MAX; i += 13) {
		uint16_t member = ring_find_member(ring, members[i].name);

		assert_int_not_equal(member, RING_NONE);
		assert_string_equal(ring->members[member].name, members[i].name);
	}
	ring_free(ring);
	free(members);
}

static void assert_ascends(const struct ring *ring)
{
	for (size_t slot = 1; slot < ring->len; slot++) {
		if (ring->positions[slot - 1] == ring->positions[slot])
			assert_true(ring->owners[slot - 1] <= ring->owners[slot]);
		else
			assert_true(ring->positions[slot - 1] < ring->positions[slot]);
	}
}

static void test_positions_limit(void **state)
{
	const struct ring_params params = {
		.hash = &ring_hash_xxh64, .seed = test_seed(), .vnodes = 1024};
	const struct ring_params most = {
		.hash = &ring_hash_xxh64, .seed = test_seed(), .vnodes = RING_POSITIONS_MAX_LEN};
	/* 1024 * (1000 + 1000 + 48) is 2^21; a thousandth of 1024 is one more. */
	const struct ring_member members[] = {
		member_of("a", RING_WEIGHT_MAX),
		member_of("b", RING_WEIGHT_MAX),
		member_of("c", 48 * RING_WEIGHT_ONE),
		member_of("one too many", 1),
	};
	struct ring *ring = NULL;
	size_t counts[3] = {0};

	(void)state;
	assert_refused(&params, members, 4, -ENOSPC);
	assert_refused(&most, members, 4, -ENOSPC);
	assert_int_equal(ring_build(&ring, &params, members, 3), 0);
	assert_int_equal(ring->len, RING_POSITIONS_MAX_LEN);
	assert_ascends(ring);
	for (size_t slot = 0; slot < ring->len; slot++)
		counts[ring->owners[slot]]++;
	assert_int_equal(counts[0], 1024000);
	assert_int_equal(counts[1], 1024000);
	assert_int_equal(counts[2], 49152);
	for (size_t slot = 1; slot < ring->len; slot += 61) {
		assert_int_equal(ring_search(ring, ring->positions[slot - 1] + 1), slot);
		assert_int_equal(ring_search(ring, ring->positions[slot]), slot);
	}
	ring_free(ring);
	/* One member with all there may be. */
	assert_int_equal(ring_build(&ring, &most, &(struct ring_member){"a", 1000}, 1), 0);
	assert_int_equal(ring->len, RING_POSITIONS_MAX_LEN);
	assert_ascends(ring);
	ring_free(ring);
}

static uint64_t hash_up_to_10(const void *data, size_t len_bytes, uint64_t seed)
{
	return xxh64_of(data, len_bytes, seed) % 11;
}

static void test_refusals(void **state)
{
	static const struct ring_hash no_function = {NULL, UINT64_MAX};
	static const struct ring_hash above_top = {hash_up_to_10, 9};
	const struct ring_params rows_params[] = {
		{.hash = NULL, .seed = 0, .vnodes = 200},
		{.hash = &no_function, .seed = 0, .vnodes = 200},
		{.hash = &ring_hash_xxh64, .seed = 0, .vnodes = 0},
		{.hash = &ring_hash_xxh64, .seed = 0, .vnodes = RING_POSITIONS_MAX_LEN + 1},
	};
	const struct ring_params out_of_range = {.hash = &above_top, .seed = 0, .vnodes = 200};
	struct ring_member members[] = {member_of("a", 1000), member_of("b", 1000),
					member_of("c", 1000)};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows_params); i++)
		assert_refused(&rows_params[i], members, 3, -EINVAL);
	assert_refused(&out_of_range, members, 3, -ERANGE);
	members[2] = member_of("a", 1000);
	assert_refused(&xxh64_by_200, members, 3, -EEXIST);
	members[2] = member_of("", 1000);
	assert_refused(&xxh64_by_200, members, 3, -EINVAL);
	members[2] = member_of("c", RING_WEIGHT_MAX + 1);
	assert_refused(&xxh64_by_200, members, 3, -EINVAL);
	members[2] = member_of("c", 1000);
	memset(members[2].name, 'c', sizeof(members[2].name));
	assert_refused(&xxh64_by_200, members, 3, -EINVAL);
}

static void test_longest_name(void **state)
{
	struct ring_member members[2];
	struct ring *ring = NULL;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		members[i] = (struct ring_member){.weight_milli = 60000};
		memset(members[i].name, 'x', RING_NAME_MAX);
		members[i].name[RING_NAME_MAX - 1] = '1' - i;
	}
	assert_int_equal(ring_build(&ring, &xxh64_by_200, members, 2), 0);
	assert_ring_is_plain(ring, members, 2);
	assert_int_equal(ring_find_member(ring, members[0].name), 1);
	assert_int_equal(ring_find_member(ring, members[1].name), 0);
	ring_free(ring);
}

static void test_find_member(void **state)
{
	static const char *const absent[] = {"", "0", "s", "s00", "s15a", "s2 ", "t", "\xff"};

	(void)state;
	for (size_t n = 0; n < 20; n++) {
		struct ring *ring = ring_numbered(&ring_hash_xxh64, 0, 1, n);

		for (size_t i = 0; i < n; i++)
			assert_int_equal(ring_find_member(ring, ring->members[i].name), i);
		for (size_t i = 0; i < ARRAY_LEN(absent); i++)
			assert_int_equal(ring_find_member(ring, absent[i]), RING_NONE);
		ring_free(ring);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_plain_sort),
		cmocka_unit_test(test_labels_of_every_length),
		cmocka_unit_test(test_order_changes_nothing),
		cmocka_unit_test(test_equal_tells_rings_apart),
		cmocka_unit_test(test_bytes_behind_the_name),
		cmocka_unit_test(test_equal_positions),
		cmocka_unit_test(test_vnodes),
		cmocka_unit_test(test_65535_members),
		cmocka_unit_test(test_positions_limit),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_longest_name),
		cmocka_unit_test(test_find_member),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring build", tests, NULL, NULL);
}
