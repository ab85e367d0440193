/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring that is written over an earlier one lies there as in new memory, byte for byte,
 * whatever came, went, changed its owner or moves, at edges, in crowds, and without any.
 */
#include "dataplane/ring_image.h"
#include "tests/unit/ring_reference.h"

#define LEN_MAX 300
#define MEMBERS 4
#define STEPS	4000

/* A ring that changes a little from step to step. */
struct changing {
	struct rng rng;
	struct dataplane_ring ring;
	uint64_t positions[LEN_MAX];
	uint16_t owners[LEN_MAX];
	bool moves[LEN_MAX];
};

/* Often where others are, in one bucket with them, or at an end of the circle. */
static uint64_t random_position(struct changing *changing)
{
	struct rng *rng = &changing->rng;
	size_t len = changing->ring.len;

	switch (rng_below(rng, 8)) {
	case 0:
		return rng_below(rng, 2);
	case 1:
		return UINT64_MAX - rng_below(rng, 2);
	case 2:
	case 3:
		if (len)
			return changing->positions[rng_below(rng, len)] + rng_below(rng, 2);
	}
	return rng_next(rng);
}

static void add(struct changing *changing)
{
	uint64_t position = random_position(changing);
	size_t at = changing->ring.len++;

	for (; at && changing->positions[at - 1] > position; at--) {
		changing->positions[at] = changing->positions[at - 1];
		changing->owners[at] = changing->owners[at - 1];
		changing->moves[at] = changing->moves[at - 1];
	}
	changing->positions[at] = position;
	changing->owners[at] = (uint16_t)rng_below(&changing->rng, MEMBERS);
	changing->moves[at] = rng_below(&changing->rng, 3) == 0;
}

static void take(struct changing *changing, size_t at)
{
	size_t rest = --changing->ring.len - at;

	memmove(&changing->positions[at], &changing->positions[at + 1], rest * sizeof(uint64_t));
	memmove(&changing->owners[at], &changing->owners[at + 1], rest * sizeof(uint16_t));
	memmove(&changing->moves[at], &changing->moves[at + 1], rest * sizeof(bool));
}

static void change(struct changing *changing)
{
	struct rng *rng = &changing->rng;
	size_t len = changing->ring.len;

	if (rng_below(rng, 3) == 0 && len < LEN_MAX)
		add(changing);
	else if (len && rng_below(rng, 2))
		take(changing, rng_below(rng, len));
	else if (len && rng_below(rng, 2))
		changing->owners[rng_below(rng, len)] = (uint16_t)rng_below(rng, MEMBERS);
	else if (len)
		changing->moves[rng_below(rng, len)] ^= 1;
}

static void list_moves(struct changing *changing, struct dataplane_move *moves)
{
	struct dataplane_ring *ring = &changing->ring;

	ring->moves = moves;
	ring->n_moves = 0;
	for (size_t slot = 0; slot < ring->len; slot++)
		if (changing->moves[slot])
			moves[ring->n_moves++] = (struct dataplane_move){
				.slot = (uint32_t)slot,
				.previous = (uint16_t)rng_below(&changing->rng, MEMBERS),
				.tcp_until_ms = (int64_t)rng_below(&changing->rng, 3),
				.other_until_ms = (int64_t)rng_below(&changing->rng, 3),
			};
}

/* Part by part: what lies between them does not count. */
static void assert_as_new(const struct ring_image *image, const uint8_t *value, size_t bytes)
{
	const struct ring_header *header = &image->header;
	size_t buckets = ring_layout_buckets(header);
	uint8_t *new = calloc(1, bytes);

	assert_int_equal(ring_image_write(image, new, false), 0);
	assert_memory_equal(value, new, sizeof(*header));
	if (header->len) {
		assert_memory_equal(value + sizeof(*header), new + sizeof(*header), 2 * buckets);
		assert_memory_equal(value + header->starts_at, new + header->starts_at,
				    4 * (buckets >> RING_GROUP_BITS));
		assert_memory_equal(value + header->entries_at, new + header->entries_at,
				    header->clocks_at - header->entries_at +
					    header->clocks * sizeof(int64_t));
	}
	free(new);
}

static void write_over(struct changing *changing, uint8_t *value, size_t bytes, bool written)
{
	struct dataplane_move moves[LEN_MAX];
	struct ring_image image;

	list_moves(changing, moves);
	assert_int_equal(ring_image_init(&image, &changing->ring), 0);
	assert_int_equal(ring_image_write(&image, value, written), 0);
	assert_as_new(&image, value, bytes);
	ring_image_release(&image);
}

static void test_as_in_new_memory(void **state)
{
	size_t bytes = ring_class_bytes(0);
	uint8_t *value = calloc(1, bytes);
	struct changing changing = {.rng = rng_start(1)};
	struct rng *rng = &changing.rng;
	size_t shortest = LEN_MAX, longest = 0;

	(void)state;
	changing.ring.positions = changing.positions;
	changing.ring.owners = changing.owners;
	write_over(&changing, value, bytes, false);
	for (size_t step = 0; step < STEPS; step++) {
		/* Mostly a few changes, at times so many that all is new, or nothing is left. */
		size_t n = rng_below(rng, 20) ? rng_below(rng, 4) : rng_below(rng, LEN_MAX);
		bool goes = rng_below(rng, 200) == 0;

		for (size_t i = 0; i < n; i++)
			change(&changing);
		while (goes && changing.ring.len)
			take(&changing, 0);
		while (rng_below(rng, 4) == 0 && changing.ring.len < LEN_MAX)
			add(&changing);
		changing.ring.seed = rng_below(rng, 2);
		write_over(&changing, value, bytes, true);
		shortest = changing.ring.len < shortest ? changing.ring.len : shortest;
		longest = changing.ring.len > longest ? changing.ring.len : longest;
	}
	print_message("# %zu to %zu positions\n", shortest, longest);
	assert_int_equal(shortest, 0);
	assert_true(longest > 40);
	free(value);
}

/* What stays as it was is not written again: a bucket far from a change keeps what was put there.
 */
static void test_only_what_differs(void **state)
{
	uint64_t positions[] = {1ULL << 61, 1ULL << 62, 1ULL << 63};
	uint16_t owners[] = {1, 2, 3};
	const struct dataplane_ring ring = {.positions = positions, .owners = owners, .len = 3};
	uint8_t *value = calloc(1, ring_class_bytes(0));
	uint16_t *buckets = (void *)(value + sizeof(struct ring_header));
	struct ring_image image;
	size_t before, at, after;

	(void)state;
	assert_int_equal(ring_image_init(&image, &ring), 0);
	before = (1ULL << 60) >> image.header.shift;
	at = (3ULL << 60) >> image.header.shift;
	after = (3ULL << 61) >> image.header.shift;
	assert_int_equal(ring_image_write(&image, value, false), 0);
	assert_int_equal(buckets[before], 1);
	assert_int_equal(buckets[at], 2);
	assert_int_equal(buckets[after], 3);
	buckets[before] = buckets[after] = 77;
	owners[1] = 9;
	assert_int_equal(ring_image_write(&image, value, true), 0);
	assert_int_equal(buckets[before], 77);
	assert_int_equal(buckets[at], 9);
	assert_int_equal(buckets[after], 77);
	ring_image_release(&image);
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_in_new_memory),
		cmocka_unit_test(test_only_what_differs),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring image", tests, NULL, NULL);
}
