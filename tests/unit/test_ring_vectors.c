/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Known answers of three published lessons on consistent hashing, with their own hashes. */
#include "tests/unit/ring_reference.h"

#include <math.h>

static void assert_near(double value, double expected, double half_a_digit)
{
	if (fabs(value - expected) > half_a_digit)
		fail_msg("%.7f is not %.7f within %.7f", value, expected, half_a_digit);
}

static const char *owner_name(const struct ring *ring, uint64_t hash)
{
	return ring->members[ring_owner(ring, hash)].name;
}

static uint64_t hash_key(const struct ring *ring, const char *prefix, unsigned int number)
{
	char key[32];
	int len = snprintf(key, sizeof(key), "%s%u", prefix, number);

	return ring->params.hash->hash(key, len, ring->params.seed);
}

/* Keys that change owner, each of which must go to @joiner. */
static unsigned int keys_moved_to(const struct ring *before, const struct ring *after,
				  const char *prefix, unsigned int n_keys, const char *joiner)
{
	unsigned int moved = 0;

	for (unsigned int i = 0; i < n_keys; i++) {
		uint64_t hash = hash_key(before, prefix, i);

		if (strcmp(owner_name(before, hash), owner_name(after, hash)) == 0)
			continue;
		assert_string_equal(owner_name(after, hash), joiner);
		moved++;
	}
	return moved;
}

static unsigned int keys_moved_by_modulo(const struct ring *ring, const char *prefix,
					 unsigned int n_keys, unsigned int before,
					 unsigned int after)
{
	unsigned int moved = 0;

	for (unsigned int i = 0; i < n_keys; i++) {
		uint64_t hash = hash_key(ring, prefix, i);

		moved += hash % before != hash % after;
	}
	return moved;
}

/* Item A: the circle of 0 to 99. */

struct toy_point {
	const char *name;
	uint64_t position;
};

static struct ring *toy_ring(const struct toy_point *points, size_t n_points)
{
	struct ring_member members[8];
	uint64_t positions[8];
	uint16_t owners[8];
	struct ring *ring = NULL;

	for (size_t i = 0; i < n_points; i++) {
		members[i] = member_of(points[i].name, RING_WEIGHT_ONE);
		positions[i] = points[i].position;
		owners[i] = i;
	}
	assert_int_equal(
		ring_from_positions(&ring, 99, members, n_points, positions, owners, n_points), 0);
	return ring;
}

static const struct toy_point toy_points[] = {
	{"s0", 15}, {"s1", 40}, {"s2", 65}, {"s3", 90}, {"s4", 10},
};

static void test_toy_owners(void **state)
{
	static const struct toy_point keys[] = {
		{"s0", 5}, {"s1", 30}, {"s2", 55}, {"s3", 80}, {"s0", 15}, {"s0", 91}, {"s0", 0},
	};
	struct ring *ring = toy_ring(toy_points, 4);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_string_equal(owner_name(ring, keys[i].position), keys[i].name);
	ring_free(ring);
}

/* One range and no more, with these ends and owners. */
static void assert_only_range(const struct ring *before, const struct ring *after, uint64_t first,
			      uint64_t last, unsigned int length, const char *old_owner,
			      const char *new_owner)
{
	struct ring_range *ranges = NULL;
	size_t n_ranges = 0;

	assert_int_equal(ring_compare(before, after, &ranges, &n_ranges), 0);
	assert_int_equal(n_ranges, 1);
	assert_int_equal(ranges[0].first, first);
	assert_int_equal(ranges[0].last, last);
	assert_int_equal(ranges[0].length, length);
	assert_string_equal(before->members[ranges[0].old_owner].name, old_owner);
	assert_string_equal(after->members[ranges[0].new_owner].name, new_owner);
	free(ranges);
}

static void assert_only_key_moves(const struct ring *before, const struct ring *after,
				  uint64_t mover)
{
	static const uint64_t keys[] = {5, 30, 55, 80};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_int_equal(strcmp(owner_name(before, keys[i]), owner_name(after, keys[i])) !=
					 0,
				 keys[i] == mover);
}

static void test_toy_add(void **state)
{
	struct ring *before = toy_ring(toy_points, 4);
	struct ring *after = toy_ring(toy_points, 5);

	(void)state;
	assert_only_key_moves(before, after, 5);
	assert_string_equal(owner_name(after, 5), "s4");
	assert_only_range(before, after, 91, 10, 20, "s0", "s4");
	ring_free(before);
	ring_free(after);
}

static void test_toy_remove(void **state)
{
	const struct toy_point left[] = {toy_points[0], toy_points[2], toy_points[3]};
	struct ring *before = toy_ring(toy_points, 4);
	struct ring *after = toy_ring(left, 3);

	(void)state;
	assert_only_key_moves(before, after, 30);
	assert_string_equal(owner_name(after, 30), "s2");
	assert_only_range(before, after, 16, 40, 25, "s1", "s2");
	ring_free(before);
	ring_free(after);
}

/* Item B: what the ring is there to avoid. */
static void test_modulo_churn(void **state)
{
	static const uint64_t hashes[] = {18358617, 26143584, 18131146, 35863496,
					  34085809, 27581703, 38164978, 22530351};
	static const bool moves[] = {true, false, true, true, false, true, true, true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++)
		assert_int_equal(hashes[i] % 4 != hashes[i] % 3, moves[i]);
}

/* Item C. */
static void test_md5_first_32(void **state)
{
	const struct ring_member joiner = member_of("s4", RING_WEIGHT_ONE);
	struct ring *before = ring_numbered(&hash_md5_first_32, 0, 100, 4);
	struct ring *after = NULL;

	(void)state;
	assert_int_equal(ring_add(&after, before, &joiner), 0);
	assert_int_equal(keys_moved_by_modulo(before, "user:", 10000, 4, 5), 7975);
	assert_int_equal(keys_moved_to(before, after, "user:", 10000, "s4"), 1985);
	ring_free(before);
	ring_free(after);
}

/* Item D. */
static void test_md5_mod_32(void **state)
{
	static const struct {
		uint32_t vnodes;
		unsigned int keys[4];
		unsigned int moved;
	} rows[] = {
		{1, {290, 307, 156, 247}, 125},
		{10, {165, 339, 235, 261}, 251},
		{100, {277, 249, 241, 233}, 214},
		{200, {243, 268, 236, 253}, 189},
	};
	const struct ring_member joiner = member_of("s4", RING_WEIGHT_ONE);

	(void)state;
	for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
		struct ring *before = ring_numbered(&hash_md5_mod_32, 0, rows[row].vnodes, 4);
		struct ring *after = NULL;
		unsigned int keys[4] = {0};

		for (unsigned int i = 0; i < 1000; i++)
			keys[ring_owner(before, hash_key(before, "key", i))]++;
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(keys[i], rows[row].keys[i]);
		assert_int_equal(ring_add(&after, before, &joiner), 0);
		assert_int_equal(keys_moved_to(before, after, "key", 1000, "s4"), rows[row].moved);
		ring_free(before);
		ring_free(after);
	}
}

/* Item E. */

#define BLAKE2B_KEYS 200000

static void test_blake2b_keys(void **state)
{
	/* By number of the server, which is not the order of the names: s10 sorts before s2. */
	static const unsigned int held[] = {13862, 13449, 12457, 12727, 13306, 11679, 13225, 12257,
					    12785, 12253, 11562, 11439, 12015, 12410, 12267, 12307};
	const struct ring_member joiner = member_of("s16", RING_WEIGHT_ONE);
	struct ring *before = ring_numbered(&hash_blake2b_64, 0, 200, 16);
	struct ring *after = NULL;
	unsigned int keys[16] = {0};

	(void)state;
	for (unsigned int i = 0; i < BLAKE2B_KEYS; i++)
		keys[atoi(owner_name(before, hash_key(before, "key:", i)) + 1)]++;
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(keys[i], held[i]);
	assert_int_equal(ring_add(&after, before, &joiner), 0);
	assert_int_equal(keys_moved_to(before, after, "key:", BLAKE2B_KEYS, "s16"), 11851);
	assert_int_equal(keys_moved_by_modulo(before, "key:", BLAKE2B_KEYS, 16, 17), 188120);
	assert_near(11851.0 / BLAKE2B_KEYS, 0.0593, 0.00005);
	assert_near(188120.0 / BLAKE2B_KEYS, 0.9406, 0.00005);
	ring_free(before);
	ring_free(after);
}

static void test_blake2b_positions(void **state)
{
	static const struct toy_point ends[] = {
		{"s0", 0x0010bfb3a168d2a3},
		{"s13", 0x001a06865bcf7b5b},
		{"s10", 0x002414381a88fcdc},
		{"s0", 0xfffa8cdac1e2122c},
	};
	struct ring *ring = ring_numbered(&hash_blake2b_64, 0, 200, 16);

	(void)state;
	assert_int_equal(ring->len, 3200);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t slot = i < 3 ? i : ring->len - 1;

		assert_int_equal(ring->positions[slot], ends[i].position);
		assert_string_equal(ring->members[ring->owners[slot]].name, ends[i].name);
	}
	ring_free(ring);
}

static void test_blake2b_shares(void **state)
{
	struct ring *ring = ring_numbered(&hash_blake2b_64, 0, 200, 16);
	ring_length lengths[16];
	ring_length peak = 0;

	(void)state;
	ring_shares(ring, lengths);
	for (size_t i = 0; i < 16; i++)
		peak = lengths[i] > peak ? lengths[i] : peak;
	assert_near(ring_share(ring, lengths[ring_find_member(ring, "s0")]), 0.068941, 0.0000005);
	assert_near(16 * ring_share(ring, peak), 1.1031, 0.00005);
	ring_free(ring);
}

static void assert_preference(const struct ring *ring, const char *key, const char *const names[3])
{
	uint64_t hash = ring->params.hash->hash(key, strlen(key), ring->params.seed);
	uint16_t owners[3];

	assert_int_equal(ring_preference(ring, hash, owners, 3), 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(ring->members[owners[i]].name, names[i]);
}

static unsigned int count_replica_sets(const struct ring *ring)
{
	bool seen[1 << 16] = {false};
	unsigned int n_sets = 0;

	for (size_t slot = 0; slot < ring->len; slot++) {
		uint16_t owners[3];
		uint16_t set = 0;

		assert_int_equal(ring_preference(ring, ring->positions[slot], owners, 3), 3);
		for (size_t i = 0; i < 3; i++)
			set |= 1 << owners[i];
		n_sets += !seen[set];
		seen[set] = true;
	}
	return n_sets;
}

static void test_blake2b_preference(void **state)
{
	struct ring *ring = ring_numbered(&hash_blake2b_64, 0, 200, 16);
	struct ring *sparse = ring_numbered(&hash_blake2b_64, 0, 1, 16);

	(void)state;
	assert_preference(ring, "user:8842", (const char *const[]){"s6", "s0", "s15"});
	assert_preference(ring, "key:0", (const char *const[]){"s15", "s11", "s9"});
	assert_int_equal(count_replica_sets(ring), 555);
	assert_int_equal(count_replica_sets(sparse), 16);
	ring_free(ring);
	ring_free(sparse);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_toy_owners),     cmocka_unit_test(test_toy_add),
		cmocka_unit_test(test_toy_remove),     cmocka_unit_test(test_modulo_churn),
		cmocka_unit_test(test_md5_first_32),   cmocka_unit_test(test_md5_mod_32),
		cmocka_unit_test(test_blake2b_keys),   cmocka_unit_test(test_blake2b_positions),
		cmocka_unit_test(test_blake2b_shares), cmocka_unit_test(test_blake2b_preference),
	};

	return cmocka_run_group_tests_name("ring vectors", tests, NULL, NULL);
}
