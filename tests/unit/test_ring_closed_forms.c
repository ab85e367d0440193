/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a ring of well mixed positions does on average, by formula and measured.
 * Measured values are means over many rings with seeds of their own. Each
 * tolerance is at least four standard errors, so other seeds pass, too.
 */
#include "tests/unit/ring_reference.h"

#include <math.h>

static void assert_digits(double value, int decimals, const char *expected)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*f", decimals, value);
	assert_string_equal(text, expected);
}

static void assert_within(double measured, double expected, double relative_tolerance)
{
	if (fabs(measured - expected) > relative_tolerance * expected)
		fail_msg("measured %.5f, expected %.5f within %.1f %%", measured, expected,
			 100 * relative_tolerance);
}

static double share_moved(const struct ring *before, const struct ring *after)
{
	struct ring_range *ranges = NULL;
	ring_length moved = 0;
	size_t n_ranges = 0;

	assert_int_equal(ring_compare(before, after, &ranges, &n_ranges), 0);
	for (size_t i = 0; i < n_ranges; i++)
		moved += ranges[i].length;
	free(ranges);
	return ring_share(before, moved);
}

static double sum_of_squares(const struct ring *ring, double *peak)
{
	ring_length lengths[1024];
	double sum = 0;

	assert_true(ring->n_members <= ARRAY_LEN(lengths));
	ring_shares(ring, lengths);
	*peak = 0;
	for (size_t i = 0; i < ring->n_members; i++) {
		double share = ring_share(ring, lengths[i]);

		sum += share * share;
		*peak = fmax(*peak, share);
	}
	return sum;
}

#define MOVED_RINGS 150

static void test_moved_by_join_and_leave(void **state)
{
	static const size_t sizes[] = {4, 16, 50};
	struct rng rng = rng_start(1);

	(void)state;
	for (size_t row = 0; row < ARRAY_LEN(sizes); row++) {
		size_t n = sizes[row];
		double joined = 0;
		double left = 0;

		for (int i = 0; i < MOVED_RINGS; i++) {
			uint64_t seed = rng_next(&rng);
			struct ring *before = ring_numbered(&ring_hash_xxh64, seed, 200, n);
			struct ring *after = ring_numbered(&ring_hash_xxh64, seed, 200, n + 1);
			struct ring *without = NULL;

			assert_int_equal(ring_remove(&without, before, "s1"), 0);
			joined += share_moved(before, after) / MOVED_RINGS;
			left += share_moved(before, without) / MOVED_RINGS;
			ring_free(before);
			ring_free(after);
			ring_free(without);
		}
		assert_within(joined, 1.0 / (n + 1), 0.025);
		assert_within(left, 1.0 / n, 0.025);
	}
	assert_digits(1.0 / 17, 4, "0.0588");
}

static void test_moved_by_two_joins(void **state)
{
	struct rng rng = rng_start(2);
	double at_once = 0;
	double one_by_one = 0;

	(void)state;
	for (int i = 0; i < MOVED_RINGS; i++) {
		uint64_t seed = rng_next(&rng);
		struct ring *of_16 = ring_numbered(&ring_hash_xxh64, seed, 200, 16);
		struct ring *of_17 = ring_numbered(&ring_hash_xxh64, seed, 200, 17);
		struct ring *of_18 = ring_numbered(&ring_hash_xxh64, seed, 200, 18);

		at_once += share_moved(of_16, of_18) / MOVED_RINGS;
		one_by_one += share_moved(of_16, of_17) / MOVED_RINGS;
		one_by_one += share_moved(of_17, of_18) / MOVED_RINGS;
		ring_free(of_16);
		ring_free(of_17);
		ring_free(of_18);
	}
	assert_within(at_once, 2.0 / 18, 0.02);
	assert_within(one_by_one, 1.0 / 17 + 1.0 / 18, 0.02);
	assert_digits(2.0 / 18, 4, "0.1111");
	assert_digits(1.0 / 17 + 1.0 / 18, 4, "0.1144");
}

static void test_moved_by_modulo(void **state)
{
	const unsigned int n_keys = 200000;
	struct rng rng = rng_start(3);
	unsigned int moved = 0;

	(void)state;
	for (unsigned int i = 0; i < n_keys; i++) {
		uint64_t key = rng_next(&rng);
		uint64_t hash = ring_hash_xxh64.hash(&key, sizeof(key), 0);

		moved += hash % 16 != hash % 17;
	}
	assert_within((double)moved / n_keys, 1 - 1.0 / 17, 0.003);
	assert_digits(1 - 1.0 / 17, 4, "0.9412");
}

/* CV of the shares; its square has the mean (N - 1) / (N * V + 1). */
static void test_spread_of_shares(void **state)
{
	static const struct {
		uint32_t vnodes;
		const char *cv;
	} rows[] = {
		{1, "0.9393"},	 {4, "0.4804"},	   {16, "0.2416"},  {64, "0.1210"},
		{100, "0.0968"}, {128, "0.0856"},  {150, "0.0790"}, {200, "0.0685"},
		{256, "0.0605"}, {1000, "0.0306"},
	};
	const unsigned int n_rings = 200;
	const unsigned int n = 16;
	struct rng rng = rng_start(4);

	(void)state;
	for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
		double formula = sqrt((n - 1.0) / (n * rows[row].vnodes + 1.0));
		double square = 0;

		for (unsigned int i = 0; i < n_rings; i++) {
			struct ring *ring = ring_numbered(&ring_hash_xxh64, rng_next(&rng),
							  rows[row].vnodes, n);
			double peak;

			square += (n * sum_of_squares(ring, &peak) - 1) / n_rings;
			ring_free(ring);
		}
		assert_digits(formula, 4, rows[row].cv);
		assert_within(sqrt(square), formula, 0.1);
	}
}

static double harmonic_number(unsigned int n)
{
	return n == 0 ? 0 : 1.0 / n + harmonic_number(n - 1);
}

static double mean_peak(unsigned int n, unsigned int n_rings, struct rng *rng)
{
	double sum = 0;

	for (unsigned int i = 0; i < n_rings; i++) {
		struct ring *ring = ring_numbered(&ring_hash_xxh64, rng_next(rng), 1, n);
		double peak;

		sum_of_squares(ring, &peak);
		sum += n * peak;
		ring_free(ring);
	}
	return sum / n_rings;
}

/* One vnode each: the largest share is H_N times the mean one. */
static void test_peak_of_single_vnodes(void **state)
{
	struct rng rng = rng_start(5);

	(void)state;
	assert_within(mean_peak(16, 4000, &rng), harmonic_number(16), 0.03);
	assert_within(mean_peak(1000, 600, &rng), harmonic_number(1000), 0.04);
	assert_digits(harmonic_number(16), 2, "3.38");
	assert_digits(harmonic_number(1000), 2, "7.49");
}

/* Weights 0.5, 1, 1.25 and 2: exact numbers of vnodes, and shares in proportion. */
static void test_weights(void **state)
{
	static const struct {
		const char *name;
		uint32_t weight_milli;
		unsigned int vnodes;
	} rows[] = {
		{"half", 500, 100},
		{"one", 1000, 200},
		{"more", 1250, 250},
		{"two", 2000, 400},
	};
	const unsigned int n_rings = 300;
	struct ring_member members[ARRAY_LEN(rows)];
	double shares[ARRAY_LEN(rows)] = {0};
	struct rng rng = rng_start(6);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		members[i] = member_of(rows[i].name, rows[i].weight_milli);
	for (unsigned int ring_no = 0; ring_no < n_rings; ring_no++) {
		const struct ring_params params = {
			.hash = &ring_hash_xxh64, .seed = rng_next(&rng), .vnodes = 200};
		ring_length lengths[ARRAY_LEN(rows)];
		struct ring *ring = NULL;

		assert_int_equal(ring_build(&ring, &params, members, ARRAY_LEN(rows)), 0);
		ring_shares(ring, lengths);
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			uint16_t member = ring_find_member(ring, rows[i].name);
			unsigned int vnodes = 0;

			for (size_t slot = 0; slot < ring->len; slot++)
				vnodes += ring->owners[slot] == member;
			assert_int_equal(vnodes, rows[i].vnodes);
			shares[i] += ring_share(ring, lengths[member]) / n_rings;
		}
		ring_free(ring);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_within(shares[i], rows[i].weight_milli / 4750.0, 0.025);
}

/* 16 backends of 200 vnodes: 8 bytes a position are 25.6 KB. */
static void test_memory(void **state)
{
	struct ring *ring = ring_numbered(&ring_hash_xxh64, test_seed(), 200, 16);

	(void)state;
	assert_int_equal(ring->len, 3200);
	assert_int_equal(ring->len * sizeof(ring->positions[0]), 25600);
	ring_free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moved_by_join_and_leave),
		cmocka_unit_test(test_moved_by_two_joins),
		cmocka_unit_test(test_moved_by_modulo),
		cmocka_unit_test(test_spread_of_shares),
		cmocka_unit_test(test_peak_of_single_vnodes),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_memory),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring closed forms", tests, NULL, NULL);
}
