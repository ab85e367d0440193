/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A derived ring must hold the bytes of one built fresh, and cost only what changes. */
#include "tests/unit/ring_reference.h"

#define SETS	     500
#define CHAIN_LENGTH 1000

#define UNTOUCHED ((struct ring *)&untouched)
static char untouched;

static unsigned int n_hashed;

static uint64_t counting_xxh64(const void *data, size_t len_bytes, uint64_t seed)
{
	n_hashed++;
	return xxh64_of(data, len_bytes, seed);
}

static const struct ring_hash hash_counting = {counting_xxh64, UINT64_MAX};

static struct ring_params random_params(size_t i, struct rng *rng)
{
	return (struct ring_params){.hash = &circles[i % ARRAY_LEN(circles)],
				    .seed = rng_next(rng),
				    .vnodes = 1 + rng_below(rng, 9)};
}

/* From a random set to another, of which from few to nearly all members differ. */
static void test_derive_is_build(void **state)
{
	struct rng rng = rng_start(1);

	(void)state;
	for (size_t i = 0; i < SETS; i++) {
		const struct ring_params params = random_params(i, &rng);
		struct ring_member members[POOL_LEN];
		struct member_set set = {0};
		struct ring *old;
		struct ring *fresh;
		struct ring *derived = NULL;
		size_t n_members;

		member_set_change(&set, 2, &rng);
		old = member_set_build(&set, &params, &rng);
		member_set_change(&set, 1 + rng_below(&rng, 12), &rng);
		fresh = member_set_build(&set, &params, &rng);
		n_members = member_set_list(&set, members, &rng);
		assert_int_equal(ring_derive(&derived, old, members, n_members), 0);
		assert_true(ring_equal(derived, fresh));
		assert_ring_is_plain(derived, members, n_members);
		ring_free(old);
		ring_free(fresh);
		ring_free(derived);
	}
}

/* One random add, remove or change of weight of @set, through the API. */
static struct ring *take_step(const struct ring *old, struct member_set *set, struct rng *rng)
{
	struct ring_member members[POOL_LEN];
	size_t i = rng_below(rng, POOL_LEN);
	struct ring *ring = NULL;
	struct ring_member member;

	if (set->present[i] && rng_below(rng, 4) == 0) {
		set->weights_milli[i] = random_weight(rng);
		assert_int_equal(
			ring_derive(&ring, old, members, member_set_list(set, members, rng)), 0);
		return ring;
	}
	set->present[i] = !set->present[i];
	if (!set->present[i]) {
		assert_int_equal(ring_remove(&ring, old, pool_member(i, 0).name), 0);
		return ring;
	}
	set->weights_milli[i] = random_weight(rng);
	member = pool_member(i, set->weights_milli[i]);
	assert_int_equal(ring_add(&ring, old, &member), 0);
	return ring;
}

static void test_chain_of_changes(void **state)
{
	struct rng rng = rng_start(2);

	(void)state;
	for (size_t circle = 0; circle < ARRAY_LEN(circles); circle++) {
		const struct ring_params params = {
			.hash = &circles[circle], .seed = rng_next(&rng), .vnodes = 20};
		struct member_set set = {0};
		struct ring *ring = member_set_build(&set, &params, &rng);

		for (int i = 0; i < CHAIN_LENGTH; i++) {
			struct ring *next = take_step(ring, &set, &rng);
			struct ring *fresh = member_set_build(&set, &params, &rng);

			assert_true(ring_equal(next, fresh));
			ring_free(fresh);
			ring_free(ring);
			ring = next;
		}
		ring_free(ring);
	}
}

/* A change and its opposite lead back to the first ring. */
static void test_back_again(void **state)
{
	struct rng rng = rng_start(3);

	(void)state;
	for (size_t i = 0; i < SETS; i++) {
		const struct ring_params params = random_params(i, &rng);
		struct ring_member joiner = member_of("joiner", random_weight(&rng));
		struct member_set set = {0};
		struct ring *ring;
		struct ring *with = NULL;
		struct ring *back = NULL;

		member_set_change(&set, 2, &rng);
		ring = member_set_build(&set, &params, &rng);
		assert_int_equal(ring_add(&with, ring, &joiner), 0);
		assert_false(ring_equal(with, ring));
		assert_int_equal(ring_remove(&back, with, "joiner"), 0);
		assert_true(ring_equal(back, ring));
		ring_free(ring);
		ring_free(with);
		ring_free(back);
	}
}

static struct ring *derive_counted(const struct ring *old, const struct ring_member *members,
				   size_t n_members, unsigned int expected)
{
	struct ring *ring = NULL;

	n_hashed = 0;
	assert_int_equal(ring_derive(&ring, old, members, n_members), 0);
	assert_int_equal(n_hashed, expected);
	return ring;
}

static void test_hashes_only_what_changes(void **state)
{
	const struct ring_params params = {
		.hash = &hash_counting, .seed = test_seed(), .vnodes = 200};
	struct ring_member members[] = {member_of("a", 1000), member_of("b", 1000),
					member_of("c", 1000), member_of("d", 500)};
	struct ring *ring = NULL;

	(void)state;
	n_hashed = 0;
	assert_int_equal(ring_build(&ring, &params, members, 3), 0);
	assert_int_equal(n_hashed, 600);

	ring_free(derive_counted(ring, members, 3, 0));
	ring_free(derive_counted(ring, members, 4, 100));     /* d comes */
	ring_free(derive_counted(ring, members, 2, 200));     /* c goes */
	ring_free(derive_counted(ring, members + 1, 3, 300)); /* a goes, d comes */
	ring_free(derive_counted(ring, NULL, 0, 600));
	members[1].weight_milli = 1500;
	ring_free(derive_counted(ring, members, 3, 100));
	members[1].weight_milli = 250;
	ring_free(derive_counted(ring, members, 3, 150));
	members[1].weight_milli = 1001; /* of 200 vnodes, too little for another one */
	ring_free(derive_counted(ring, members, 3, 0));
	ring_free(ring);
}

static void assert_derive_refused(const struct ring *old, const struct ring_member *members,
				  size_t n_members, int err)
{
	struct ring *ring = UNTOUCHED;

	assert_int_equal(ring_derive(&ring, old, members, n_members), err);
	assert_ptr_equal(ring, UNTOUCHED);
}

static void assert_add_refused(const struct ring *old, struct ring_member member, int err)
{
	struct ring *ring = UNTOUCHED;

	assert_int_equal(ring_add(&ring, old, &member), err);
	assert_ptr_equal(ring, UNTOUCHED);
}

static void test_refusals(void **state)
{
	struct ring_member members[] = {member_of("a", 1000), member_of("b", 1000)};
	struct ring *old = ring_numbered(&ring_hash_xxh64, test_seed(), 200, 4);
	struct ring *ring = UNTOUCHED;
	struct ring_member unterminated;

	(void)state;
	memset(&unterminated, 'x', sizeof(unterminated));
	unterminated.weight_milli = 1;
	assert_add_refused(old, member_of("s2", 1000), -EEXIST);
	assert_add_refused(old, member_of("", 1000), -EINVAL);
	assert_add_refused(old, member_of("new", RING_WEIGHT_MAX + 1), -EINVAL);
	assert_add_refused(old, unterminated, -EINVAL);
	assert_int_equal(ring_remove(&ring, old, "s4"), -ENOENT);
	assert_int_equal(ring_remove(&ring, old, ""), -ENOENT);
	assert_ptr_equal(ring, UNTOUCHED);
	members[1] = member_of("a", 500);
	assert_derive_refused(old, members, 2, -EEXIST);
	members[1] = member_of("", 500);
	assert_derive_refused(old, members, 2, -EINVAL);
	members[1] = member_of("b", RING_WEIGHT_MAX + 1);
	assert_derive_refused(old, members, 2, -EINVAL);
	ring_free(old);
}

/* Limits must hold for derived rings, too. */
static void test_limits(void **state)
{
	struct ring_member *members = members_numbered(RING_MEMBERS_MAX + 1);
	struct ring *many = ring_numbered(&ring_hash_xxh64, 1, 1, RING_MEMBERS_MAX);
	struct ring *large = NULL;
	const struct ring_params most = {.hash = &ring_hash_xxh64, .seed = 1, .vnodes = 1 << 20};

	(void)state;
	assert_derive_refused(many, members, RING_MEMBERS_MAX + 1, -ENOSPC);
	assert_add_refused(many, member_of("one too many", 0), -ENOSPC);
	assert_int_equal(ring_build(&large, &most, members, 1), 0);
	assert_add_refused(large, member_of("too much", 1001), -ENOSPC);
	assert_derive_refused(large, members, 3, -ENOSPC);
	ring_free(many);
	ring_free(large);
	free(members);
}

static void test_given_positions_refused(void **state)
{
	static const uint64_t positions[] = {10, 20};
	static const uint16_t owners[] = {0, 1};
	const struct ring_member members[] = {member_of("a", 1), member_of("b", 1)};
	struct ring *given = NULL;
	struct ring *ring = UNTOUCHED;

	(void)state;
	assert_int_equal(ring_from_positions(&given, 99, members, 2, positions, owners, 2), 0);
	assert_derive_refused(given, members, 2, -EINVAL);
	assert_add_refused(given, member_of("c", 1), -EINVAL);
	assert_int_equal(ring_remove(&ring, given, "a"), -EINVAL);
	assert_ptr_equal(ring, UNTOUCHED);
	ring_free(given);
}

/* A hash of a small circle that turns out too high, or that changes its mind, in a later call. */

static uint64_t shift;

static uint64_t shifting_hash(const void *data, size_t len_bytes, uint64_t seed)
{
	return xxh64_of(data, len_bytes, seed) % 1000 + shift;
}

static void test_hash_that_breaks_its_word(void **state)
{
	static const struct ring_hash hash_shifting = {shifting_hash, 1999};
	const struct ring_params params = {
		.hash = &hash_shifting, .seed = test_seed(), .vnodes = 20};
	struct ring_member *members = members_numbered(6);
	struct ring *ring = NULL;

	(void)state;
	shift = 0;
	assert_int_equal(ring_build(&ring, &params, members, 5), 0);
	shift = 1000;
	assert_derive_refused(ring, members, 4, -EINVAL);
	assert_derive_refused(ring, members + 1, 5, -EINVAL);
	assert_derive_refused(ring, NULL, 0, -EINVAL);
	shift = 2000;
	assert_derive_refused(ring, members, 6, -ERANGE);
	assert_derive_refused(ring, members, 4, -ERANGE);
	ring_free(ring);
	free(members);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_derive_is_build),
		cmocka_unit_test(test_chain_of_changes),
		cmocka_unit_test(test_back_again),
		cmocka_unit_test(test_hashes_only_what_changes),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_given_positions_refused),
		cmocka_unit_test(test_hash_that_breaks_its_word),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring derive", tests, NULL, NULL);
}
