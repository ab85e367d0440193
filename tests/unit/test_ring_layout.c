/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The layout of a published ring: which size of map a ring needs, and that what its buckets and
 * starts say is what a walk over the positions says.
 */
#include "dataplane/ring_layout.h"
#include "tests/unit/ring_reference.h"

#define KEYS	4000
#define MEMBERS 5

/* docs/dataplane.md has this table. */
static void test_classes(void **state)
{
	static const size_t most[RING_CLASS_COUNT] = {
		819, 3276, 13107, 52428, 209715, 838860, RING_POSITIONS_MAX};
	struct ring_header header;
	size_t bytes = 32768, sum = 0;

	(void)state;
	for (int i = 0; i < RING_CLASS_COUNT; i++, bytes *= 4) {
		assert_int_equal(ring_class_bytes(i), bytes);
		assert_int_equal(ring_layout(most[i], 0, &header), i);
		if (i < RING_CLASS_COUNT - 1)
			assert_int_equal(ring_layout(most[i] + 1, 0, &header), i + 1);
		sum += bytes;
	}
	assert_int_equal(ring_layout(RING_POSITIONS_MAX + 1, 0, &header), -ENOSPC);
	assert_int_equal(ring_layout(0, 0, &header), 0);
	/* Learning times need room as well. */
	assert_int_equal(ring_layout(most[0], 1000, &header), 1);
	assert_int_equal(ring_layout(RING_POSITIONS_MAX, UINT16_MAX, &header),
			 RING_CLASS_COUNT - 1);
	assert_int_equal(sum >> 20, 170);
}

/* @len positions, of which @crowd lie side by side, and owners and moves by chance. */
static void *ring_random(size_t len, size_t crowd, struct rng *rng)
{
	struct ring_header header;
	int class = ring_layout(len, 0, &header);
	void *ring = calloc(1, ring_class_bytes(class));
	uint64_t edge = rng_next(rng);
	struct ring_entry *entries;

	memcpy(ring, &header, sizeof(header));
	entries = ring_entries(ring);
	for (size_t i = 0; i < len; i++) {
		entries[i].position = i < crowd ? edge + i / 2 : rng_next(rng);
		entries[i].owner = (uint16_t)rng_below(rng, MEMBERS);
		entries[i].move.flags = !rng_below(rng, 10);
	}
	/* By insertion: few, and none of the library's sorts. */
	for (size_t i = 1; i < len; i++) {
		struct ring_entry one = entries[i];
		size_t at = i;

		for (; at && entries[at - 1].position > one.position; at--)
			entries[at] = entries[at - 1];
		entries[at] = one;
	}
	ring_layout_end(ring);
	ring_layout_fill(ring, 0, ring_layout_buckets(&header) - 1);
	return ring;
}

static size_t walk(const struct ring_entry *entries, size_t len, uint64_t hash)
{
	for (size_t i = 0; i < len; i++)
		if (entries[i].position >= hash)
			return i;
	return 0;
}

static void assert_key(const void *ring, uint64_t hash)
{
	const struct ring_header *header = ring;
	const struct ring_entry *entries = ring_entries_of(ring);
	const uint16_t *buckets = (const void *)((const uint8_t *)ring + sizeof(*header));
	const uint32_t *starts = (const void *)((const uint8_t *)ring + header->starts_at);
	uint64_t bucket = hash >> header->shift;
	size_t slot = walk(entries, header->len, hash);
	uint32_t start = starts[bucket >> RING_GROUP_BITS];

	assert_int_equal(ring_layout_search(ring, hash), slot);
	if (buckets[bucket] != RING_BUCKET_SEARCH) {
		assert_int_equal(buckets[bucket], entries[slot].owner);
		assert_int_equal(entries[slot].move.flags, 0);
	}
	/* The search goes on from there, and must not begin behind the answer. */
	while (entries[start].position < hash)
		start++;
	assert_int_equal(start == header->len ? 0 : start, slot);
}

/* Random hashes, those at each position and beside it, and the ends of buckets. */
static void test_index(void **state)
{
	static const size_t lens[] = {1, 2, 3, 31, 100, 819, 820, 2500};
	struct rng rng = rng_start(1);

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i / 2];
		void *ring = ring_random(len, i % 2 ? len / 2 : 0, &rng);
		const struct ring_header *header = ring;
		const struct ring_entry *entries = ring_entries_of(ring);

		assert_true(ring_layout_valid(ring, 1 << 20));
		assert_false(ring_layout_valid(ring, header->clocks_at - 1));
		for (size_t key = 0; key < KEYS; key++) {
			uint64_t hash = rng_next(&rng);

			assert_key(ring, hash);
			assert_key(ring, hash >> header->shift << header->shift);
			assert_key(ring, hash | ((1ULL << header->shift) - 1));
		}
		for (size_t slot = 0; slot < len; slot++)
			for (int delta = -1; delta <= 1; delta++)
				assert_key(ring, entries[slot].position + (uint64_t)(int64_t)delta);
		assert_key(ring, 0);
		assert_key(ring, UINT64_MAX);
		free(ring);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_index),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring layout", tests, NULL, NULL);
}
