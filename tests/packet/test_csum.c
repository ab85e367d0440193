/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/csum.h against checksums computed in full: as RFC 1071 has them, over bytes
 * taken as big-endian words, while csum.h adds words as they lie in memory.
 */
#include "tests/packet/frame.h"
#include "tests/unit/ring_reference.h"

#include "bpf/csum.h"

#define REWRITES 1000000
#define WORDS	 40

/* Words of 16 bits; word 0 is never all zero, as in any packet the protocol is not. */
struct data {
	uint8_t bytes[2 * WORDS];
};

/* The checksum as it lies in memory. */
static uint16_t full(const struct data *data)
{
	uint16_t check = ~frame_sum(data->bytes, sizeof(data->bytes), 0);
	uint8_t wire[2] = {check >> 8, check & 0xff};

	memcpy(&check, wire, sizeof(check));
	return check;
}

/* Often one of the values where one's complement has its corners. */
static uint32_t random_word(struct rng *rng)
{
	static const uint32_t corners[] = {0,	       UINT32_MAX, 0xffff, 0xffff0000,
					   0x00010000, 1,	   0x8000, 0x7fffffff};
	uint64_t random = rng_next(rng);

	if (random % 3 == 0)
		return corners[(random >> 32) % ARRAY_LEN(corners)];
	return (uint32_t)(random >> 32);
}

static void random_data(struct data *data, struct rng *rng)
{
	for (size_t at = 0; at < sizeof(data->bytes); at += 4) {
		uint32_t word = random_word(rng);

		memcpy(data->bytes + at, &word, sizeof(word));
	}
	data->bytes[1] |= 6;
}

static uint64_t replace(struct data *data, uint64_t change, struct rng *rng)
{
	uint32_t before, after = random_word(rng);
	size_t word = 1 + rng_below(rng, WORDS - 1);

	if (rng_below(rng, 2) == 0 && word + 1 < WORDS) {
		memcpy(&before, data->bytes + 2 * word, 4);
		memcpy(data->bytes + 2 * word, &after, 4);
		return csum_replace32(change, before, after);
	}
	before = 0;
	memcpy(&before, data->bytes + 2 * word, 2);
	memcpy(data->bytes + 2 * word, &after, 2);
	return csum_replace16(change, (uint16_t)before, (uint16_t)after);
}

static void case_32_random_rewrites(void **state)
{
	struct rng rng = rng_start(1);
	struct data data;

	(void)state;
	random_data(&data, &rng);
	for (int i = 0; i < REWRITES; i++) {
		uint64_t replacements = 1 + rng_below(&rng, 12), change = 0;
		uint16_t check;

		if (i % 64 == 0)
			random_data(&data, &rng);
		check = full(&data);
		for (uint64_t r = 0; r < replacements; r++)
			change = replace(&data, change, &rng);
		assert_int_equal(csum_apply(check, change), full(&data));
	}
}

/* In one's complement arithmetic, so that 0 and 0xffff are the same number. */
static uint32_t off_by(uint16_t check, uint16_t right)
{
	return ((uint32_t)check + (uint16_t)~right) % 0xffff;
}

/* A wrong checksum is wrong by the same amount afterwards. */
static void test_wrong_stays_wrong(void **state)
{
	struct rng rng = rng_start(2);
	struct data data;

	(void)state;
	for (int i = 0; i < REWRITES / 10; i++) {
		uint16_t right, wrong;
		uint64_t change = 0;
		uint32_t off;

		random_data(&data, &rng);
		right = full(&data);
		wrong = right ^ (uint16_t)(1 + rng_below(&rng, 0xffff));
		off = off_by(wrong, right);
		if (off == 0)
			continue;
		for (int r = 0; r < 4; r++)
			change = replace(&data, change, &rng);
		assert_int_equal(off_by(csum_apply(wrong, change), full(&data)), off);
	}
}

/* Every checksum, with a change that is nothing, and one that is 0xffff for 0. */
static void test_every_checksum(void **state)
{
	(void)state;
	for (uint32_t check = 0; check < 0xffff; check++) {
		assert_int_equal(csum_apply(check, 0), check);
		assert_int_equal(csum_apply(check, csum_replace16(0, 0x1234, 0x1234)), check);
		assert_int_equal(csum_apply(check, csum_replace32(0, UINT32_MAX, 0)), check);
	}
}

/*
 * As many 32-bit carries as there can be: two whole IPv6 addresses and more. The
 * words go from 0 to 0xffffffff, which adds 0 in one's complement.
 */
static void test_most_carries(void **state)
{
	(void)state;
	for (uint32_t check = 0; check < 0xffff; check++) {
		uint64_t change = 0;

		for (int i = 0; i < 36; i++)
			change = csum_replace32(change, 0, UINT32_MAX);
		assert_int_equal(csum_apply(check, change), check);
	}
}

/*
 * The example of RFC 1624, section 4: a header checksum of dd2f, a word that goes
 * from 5555 to 3285; equation 3 gives 0000, where equation 2 gave ffff.
 */
static void test_rfc1624_example(void **state)
{
	(void)state;
	assert_int_equal(csum_apply(0xdd2f, csum_replace16(0, 0x5555, 0x3285)), 0x0000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_32_random_rewrites), cmocka_unit_test(test_wrong_stays_wrong),
		cmocka_unit_test(test_every_checksum),	   cmocka_unit_test(test_most_carries),
		cmocka_unit_test(test_rfc1624_example),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("csum", tests, NULL, NULL);
}
