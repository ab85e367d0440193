/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who owns a hash: every edge of every ring against a linear walk, and preference lists. */
#include "tests/unit/ring_reference.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define SETS 300

static void assert_search_is_walk(const struct ring *ring, uint64_t hash)
{
	size_t slot = slot_by_walk(ring, hash);

	assert_int_equal(ring_search(ring, hash), slot);
	assert_int_equal(ring_owner(ring, hash), ring->owners[slot]);
}

static void assert_edges(const struct ring *ring)
{
	for (size_t slot = 0; slot < ring->len; slot++) {
		uint64_t position = ring->positions[slot];

		assert_search_is_walk(ring, place_before(ring, position));
		assert_search_is_walk(ring, position);
		assert_search_is_walk(ring, place_after(ring, position));
	}
	assert_search_is_walk(ring, 0);
	assert_search_is_walk(ring, ring->params.hash->top);
}

/* Lengths around the powers of two, where the halves of a binary search change. */
static void test_every_edge(void **state)
{
	static const uint32_t lengths[] = {1,  2,  3,  4,  5,  6,   7,	 8,   9,   10,	15,
					   16, 17, 31, 32, 33, 100, 127, 128, 129, 255, 257};
	struct rng rng = rng_start(1);

	(void)state;
	for (size_t circle = 0; circle < ARRAY_LEN(circles); circle++) {
		for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
			struct ring *one =
				ring_numbered(&circles[circle], rng_next(&rng), lengths[i], 1);
			struct ring *many =
				ring_numbered(&circles[circle], rng_next(&rng), 1, lengths[i]);

			assert_int_equal(one->len, lengths[i]);
			assert_int_equal(many->len, lengths[i]);
			assert_edges(one);
			assert_edges(many);
			ring_free(one);
			ring_free(many);
		}
	}
}

static void test_every_hash_of_a_small_circle(void **state)
{
	struct rng rng = rng_start(2);

	(void)state;
	for (int i = 0; i < SETS; i++) {
		const struct ring_params params = {
			.hash = &circles[i % 2], .seed = rng_next(&rng), .vnodes = 4};
		struct member_set set = {0};
		struct ring *ring;

		member_set_change(&set, 3, &rng);
		ring = member_set_build(&set, &params, &rng);
		for (uint64_t hash = 0; hash <= params.hash->top; hash++)
			assert_int_equal(ring_owner(ring, hash), owner_by_walk(ring, hash));
		ring_free(ring);
	}
}

/* Positions at both ends of the circle: nothing to wrap, or everything. */
static void test_positions_at_the_ends(void **state)
{
	static const uint64_t positions[] = {0, UINT64_MAX};
	static const uint16_t owners[] = {0, 1};
	const struct ring_member members[] = {member_of("a", 1), member_of("b", 1)};
	struct ring *at_0 = NULL;
	struct ring *at_top = NULL;
	struct ring *both = NULL;

	(void)state;
	assert_int_equal(ring_from_positions(&at_0, UINT64_MAX, members, 2, positions, owners, 1),
			 0);
	assert_int_equal(
		ring_from_positions(&at_top, UINT64_MAX, members, 2, positions + 1, owners + 1, 1),
		0);
	assert_int_equal(ring_from_positions(&both, UINT64_MAX, members, 2, positions, owners, 2),
			 0);
	for (uint64_t step = 0; step < 3; step++) {
		assert_int_equal(ring_owner(at_0, step), 0);
		assert_int_equal(ring_owner(at_0, UINT64_MAX - step), 0);
		assert_int_equal(ring_owner(at_top, step), 1);
		assert_int_equal(ring_owner(at_top, UINT64_MAX - step), 1);
		assert_int_equal(ring_owner(both, step), step > 0);
		assert_int_equal(ring_owner(both, UINT64_MAX - step), 1);
	}
	ring_free(at_0);
	ring_free(at_top);
	ring_free(both);
}

static void assert_owns_nothing(const struct ring *ring)
{
	uint16_t owners[2] = {7, 7};

	assert_int_equal(ring->len, 0);
	assert_int_equal(ring_search(ring, 0), -ENOENT);
	assert_int_equal(ring_search(ring, UINT64_MAX), -ENOENT);
	assert_int_equal(ring_owner(ring, 12345), RING_NONE);
	assert_int_equal(ring_preference(ring, 12345, owners, 2), -ENOENT);
	assert_int_equal(owners[0], 7);
}

static void test_no_positions(void **state)
{
	const struct ring_params params = {.hash = &ring_hash_xxh64, .seed = 0, .vnodes = 200};
	const struct ring_member idle[] = {member_of("a", 0), member_of("b", 0)};
	struct ring *none = NULL;
	struct ring *all_idle = NULL;

	(void)state;
	assert_int_equal(ring_build(&none, &params, NULL, 0), 0);
	assert_int_equal(ring_build(&all_idle, &params, idle, 2), 0);
	assert_int_equal(all_idle->n_members, 2);
	assert_owns_nothing(none);
	assert_owns_nothing(all_idle);
	ring_free(none);
	ring_free(all_idle);
}

static void test_one_backend_owns_all(void **state)
{
	struct ring *ring = ring_numbered(&ring_hash_xxh64, test_seed(), 200, 1);
	struct rng rng = rng_start(3);
	uint16_t owners[3] = {7, 7, 7};

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(ring_owner(ring, rng_next(&rng)), 0);
	assert_int_equal(ring_preference(ring, rng_next(&rng), owners, 3), 1);
	assert_int_equal(owners[0], 0);
	assert_int_equal(owners[1], 7);
	ring_free(ring);
}

/* The page that a search reads first raises a fault: counting these shows how far it looks. */

static unsigned char *guarded;
static size_t guarded_bytes;
static size_t page_bytes;
static volatile sig_atomic_t pages_read;

static void open_page(int signal_no, siginfo_t *info, void *context)
{
	unsigned char *address = info->si_addr;

	(void)signal_no;
	(void)context;
	if (address < guarded || address >= guarded + guarded_bytes)
		_exit(99);
	mprotect(address - (address - guarded) % page_bytes, page_bytes, PROT_READ);
	pages_read++;
}

static void test_search_is_logarithmic(void **state)
{
	const struct sigaction catch = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};
	struct ring ring = {.len = RING_POSITIONS_MAX_LEN};
	struct sigaction before;
	struct rng rng = rng_start(4);
	uint64_t *positions;

	(void)state;
	page_bytes = sysconf(_SC_PAGESIZE);
	guarded_bytes = ring.len * sizeof(*ring.positions);
	positions = mmap(NULL, guarded_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	assert_true(positions != MAP_FAILED);
	for (size_t i = 0; i < ring.len; i++)
		positions[i] = 3 * i;
	ring.positions = positions;
	guarded = (unsigned char *)positions;
	assert_int_equal(sigaction(SIGSEGV, &catch, &before), 0);
	for (int i = 0; i < 100; i++) {
		uint64_t hash = rng_below(&rng, 3 * ring.len);
		int slot;

		assert_int_equal(mprotect(guarded, guarded_bytes, PROT_NONE), 0);
		pages_read = 0;
		slot = ring_search(&ring, hash);
		/* log2(2^21) + 1 probes, of which any two may share a page. */
		assert_in_range(pages_read, 1, 22);
		assert_int_equal(slot, (hash + 2) / 3 % ring.len);
	}
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	munmap(positions, guarded_bytes);
}

/* Preference lists. */

static size_t preference_by_walk(const struct ring *ring, uint64_t hash, uint16_t *owners,
				 size_t max)
{
	bool listed[POOL_LEN] = {false};
	size_t n_owners = 0;

	for (size_t step = 0; step < ring->len; step++) {
		uint16_t owner = ring->owners[(slot_by_walk(ring, hash) + step) % ring->len];

		if (listed[owner] || n_owners == max)
			continue;
		listed[owner] = true;
		owners[n_owners++] = owner;
	}
	return n_owners;
}

static void assert_preference_is_walk(const struct ring *ring, uint64_t hash, size_t max)
{
	uint16_t owners[POOL_LEN + 2];
	uint16_t expected[POOL_LEN + 2];
	size_t n_expected;

	memset(owners, 0xee, sizeof(owners));
	memset(expected, 0xee, sizeof(expected));
	n_expected = preference_by_walk(ring, hash, expected, max);
	assert_int_equal(ring_preference(ring, hash, owners, max), n_expected);
	/* What lies behind the entries must still be as it was. */
	assert_memory_equal(owners, expected, sizeof(owners));
}

static void test_preference(void **state)
{
	struct rng rng = rng_start(5);

	(void)state;
	for (int i = 0; i < SETS; i++) {
		const struct ring_params params = {.hash = &circles[i % ARRAY_LEN(circles)],
						   .seed = rng_next(&rng),
						   .vnodes = 3};
		struct member_set set = {0};
		struct ring *ring;
		uint16_t owner = 7;

		member_set_change(&set, 2, &rng);
		ring = member_set_build(&set, &params, &rng);
		for (size_t slot = 0; slot < ring->len; slot += 1 + rng_below(&rng, 4)) {
			uint64_t position = ring->positions[slot];
			size_t max = 1 + rng_below(&rng, POOL_LEN + 2);

			assert_preference_is_walk(ring, place_before(ring, position), max);
			assert_preference_is_walk(ring, position, max);
			assert_preference_is_walk(ring, place_after(ring, position), max);
		}
		assert_int_equal(ring_preference(ring, 0, &owner, 0), -EINVAL);
		assert_int_equal(owner, 7);
		ring_free(ring);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_edge),
		cmocka_unit_test(test_every_hash_of_a_small_circle),
		cmocka_unit_test(test_positions_at_the_ends),
		cmocka_unit_test(test_no_positions),
		cmocka_unit_test(test_one_backend_owns_all),
		cmocka_unit_test(test_search_is_logarithmic),
		cmocka_unit_test(test_preference),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("ring search", tests, NULL, NULL);
}
