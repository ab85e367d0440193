/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the tests of the ring share: random numbers from one printed seed, the
 * hashes of the published lessons, circles small enough for positions to
 * collide, random sets of members, and the obvious versions of building and
 * searching: slow, and short enough to trust by reading.
 */
#ifndef RINGLB_TESTS_RING_REFERENCE_H
#define RINGLB_TESTS_RING_REFERENCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <blake2.h>
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/ring.h"

#define ARRAY_LEN(array)  (sizeof(array) / sizeof((array)[0]))
#define TEST_SEED_DEFAULT 20240229

/* Random numbers. */

static inline uint64_t test_seed(void)
{
	const char *text = getenv("RINGLB_TEST_SEED");

	return text && *text ? strtoull(text, NULL, 0) : TEST_SEED_DEFAULT;
}

static inline void test_seed_print(void)
{
	printf("# RINGLB_TEST_SEED=%" PRIu64 "\n", test_seed());
	fflush(stdout);
}

struct rng {
	uint64_t state;
};

/* @stream tells the tests of one program apart. */
static inline struct rng rng_start(uint64_t stream)
{
	return (struct rng){test_seed() + (stream << 32)};
}

/* Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint64_t rng_below(struct rng *rng, uint64_t end)
{
	return rng_next(rng) % end;
}

/* Hashes. */

static inline void md5_digest(const void *data, size_t len_bytes, uint8_t digest[EVP_MAX_MD_SIZE])
{
	assert_int_equal(EVP_Digest(data, len_bytes, digest, NULL, EVP_md5(), NULL), 1);
}

static inline uint32_t be32_at(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static inline uint64_t md5_first_32(const void *data, size_t len_bytes, uint64_t seed)
{
	uint8_t digest[EVP_MAX_MD_SIZE];

	(void)seed;
	md5_digest(data, len_bytes, digest);
	return be32_at(digest);
}

/* Of a big-endian number of 16 bytes, modulo 2^32 leaves the last four. */
static inline uint64_t md5_mod_32(const void *data, size_t len_bytes, uint64_t seed)
{
	uint8_t digest[EVP_MAX_MD_SIZE];

	(void)seed;
	md5_digest(data, len_bytes, digest);
	return be32_at(digest + 12);
}

static inline uint64_t blake2b_64(const void *data, size_t len_bytes, uint64_t seed)
{
	uint8_t digest[8];

	(void)seed;
	assert_int_equal(blake2b(digest, data, NULL, sizeof(digest), len_bytes, 0), 0);
	return (uint64_t)be32_at(digest) << 32 | be32_at(digest + 4);
}

static inline uint64_t xxh64_of(const void *data, size_t len_bytes, uint64_t seed)
{
	return ring_hash_xxh64.hash(data, len_bytes, seed);
}

static inline uint64_t xxh64_mod_10(const void *data, size_t len_bytes, uint64_t seed)
{
	return xxh64_of(data, len_bytes, seed) % 10;
}

static inline uint64_t xxh64_mod_1009(const void *data, size_t len_bytes, uint64_t seed)
{
	return xxh64_of(data, len_bytes, seed) % 1009;
}

static inline uint64_t xxh64_high_16(const void *data, size_t len_bytes, uint64_t seed)
{
	return xxh64_of(data, len_bytes, seed) >> 48;
}

/* Positions huddle at both ends of the 64-bit circle, the highest place among them. */
static inline uint64_t xxh64_two_ends(const void *data, size_t len_bytes, uint64_t seed)
{
	uint64_t hash = xxh64_of(data, len_bytes, seed);

	return hash & 64 ? hash % 40 : UINT64_MAX - hash % 40;
}

static inline uint64_t always_5(const void *data, size_t len_bytes, uint64_t seed)
{
	(void)data;
	(void)len_bytes;
	(void)seed;
	return 5;
}

static const struct ring_hash hash_md5_first_32 = {md5_first_32, UINT32_MAX};
static const struct ring_hash hash_md5_mod_32 = {md5_mod_32, UINT32_MAX};
static const struct ring_hash hash_blake2b_64 = {blake2b_64, UINT64_MAX};
static const struct ring_hash hash_always_5 = {always_5, 9};

/* From everything collides to nothing does. */
static const struct ring_hash circles[] = {
	{xxh64_mod_10, 9},	     {xxh64_mod_1009, 1008},
	{xxh64_high_16, UINT16_MAX}, {xxh64_two_ends, UINT64_MAX},
	{xxh64_of, UINT64_MAX},
};

/* Members. */

static inline struct ring_member member_of(const char *name, uint32_t weight_milli)
{
	struct ring_member member = {.weight_milli = weight_milli};

	snprintf(member.name, sizeof(member.name), "%s", name);
	return member;
}

/* "s0", "s1"... of weight 1, as in the lessons. */
static inline struct ring_member *members_numbered(size_t n_members)
{
	struct ring_member *members = calloc(n_members + 1, sizeof(*members));

	assert_non_null(members);
	for (size_t i = 0; i < n_members; i++) {
		snprintf(members[i].name, sizeof(members[i].name), "s%zu", i);
		members[i].weight_milli = RING_WEIGHT_ONE;
	}
	return members;
}

static inline void members_shuffle(struct ring_member *members, size_t n_members, struct rng *rng)
{
	for (size_t i = n_members; i > 1; i--) {
		size_t other = rng_below(rng, i);
		struct ring_member member = members[i - 1];

		members[i - 1] = members[other];
		members[other] = member;
	}
}

static inline struct ring *ring_numbered(const struct ring_hash *hash, uint64_t seed,
					 uint32_t vnodes, size_t n_members)
{
	const struct ring_params params = {.hash = hash, .seed = seed, .vnodes = vnodes};
	struct ring_member *members = members_numbered(n_members);
	struct ring *ring = NULL;

	assert_int_equal(ring_build(&ring, &params, members, n_members), 0);
	free(members);
	return ring;
}

/*
 * A set of members that tests change at random: name i of the pool is in it if
 * present[i]. The names sort otherwise than they are numbered, contain each
 * other, and use bytes above 0x7f.
 */
#define POOL_LEN 24
#define NOBODY	 POOL_LEN /* the index of RING_NONE */

struct member_set {
	bool present[POOL_LEN];
	uint32_t weights_milli[POOL_LEN];
};

static inline struct ring_member pool_member(size_t i, uint32_t weight_milli)
{
	static const char *const names[] = {"b",	"a",	   "a#1", "a#",
					    "\xc3\xa9", "backend", "B",	  "zz"};
	char name[RING_NAME_MAX + 1];

	if (i < ARRAY_LEN(names))
		return member_of(names[i], weight_milli);
	snprintf(name, sizeof(name), "backend-%zu", i);
	return member_of(name, weight_milli);
}

static inline size_t pool_index(const char *name)
{
	for (size_t i = 0; i < POOL_LEN; i++) {
		if (strcmp(pool_member(i, 0).name, name) == 0)
			return i;
	}
	fail_msg("'%s' is not in the pool", name);
	return POOL_LEN;
}

static inline uint32_t random_weight(struct rng *rng)
{
	static const uint32_t weights_milli[] = {0, 1, 250, 500, 1000, 1000, 1250, 2000, 3333};

	return weights_milli[rng_below(rng, ARRAY_LEN(weights_milli))];
}

/* Change each member with a chance of 1 in @one_in: come, go, or get another weight. */
static inline void member_set_change(struct member_set *set, uint64_t one_in, struct rng *rng)
{
	for (size_t i = 0; i < POOL_LEN; i++) {
		if (rng_below(rng, one_in) != 0)
			continue;
		set->present[i] = rng_below(rng, 3) != 0;
		set->weights_milli[i] = random_weight(rng);
	}
}

/* In random order. @members has room for POOL_LEN. */
static inline size_t member_set_list(const struct member_set *set, struct ring_member *members,
				     struct rng *rng)
{
	size_t n_members = 0;

	for (size_t i = 0; i < POOL_LEN; i++) {
		if (set->present[i])
			members[n_members++] = pool_member(i, set->weights_milli[i]);
	}
	members_shuffle(members, n_members, rng);
	return n_members;
}

static inline struct ring *member_set_build(const struct member_set *set,
					    const struct ring_params *params, struct rng *rng)
{
	struct ring_member members[POOL_LEN];
	size_t n_members = member_set_list(set, members, rng);
	struct ring *ring = NULL;

	assert_int_equal(ring_build(&ring, params, members, n_members), 0);
	return ring;
}

struct range_list {
	struct ring_range *ranges;
	size_t len;
};

static inline struct range_list compare_rings(const struct ring *before, const struct ring *after)
{
	struct range_list moves = {0};

	assert_int_equal(ring_compare(before, after, &moves.ranges, &moves.len), 0);
	return moves;
}

static inline size_t pool_index_of(const struct ring *ring, uint16_t owner)
{
	return owner == RING_NONE ? NOBODY : pool_index(ring->members[owner].name);
}

/* The obvious versions. */

static inline size_t slot_by_walk(const struct ring *ring, uint64_t hash)
{
	for (size_t slot = 0; slot < ring->len; slot++) {
		if (ring->positions[slot] >= hash)
			return slot;
	}
	return 0;
}

static inline uint16_t owner_by_walk(const struct ring *ring, uint64_t hash)
{
	return ring->len ? ring->owners[slot_by_walk(ring, hash)] : RING_NONE;
}

/* The places one before and one after, on a circle that wraps. */
static inline uint64_t place_before(const struct ring *ring, uint64_t hash)
{
	return hash == 0 ? ring->params.hash->top : hash - 1;
}

static inline uint64_t place_after(const struct ring *ring, uint64_t hash)
{
	return hash == ring->params.hash->top ? 0 : hash + 1;
}

struct plain_slot {
	uint64_t position;
	const char *name;
};

static inline int compare_plain_slots(const void *a, const void *b)
{
	const struct plain_slot *left = a;
	const struct plain_slot *right = b;

	if (left->position != right->position)
		return left->position < right->position ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Fails unless @ring is what sorting all labels' hashes by (position, name) gives. */
static inline void assert_ring_is_plain(const struct ring *ring, const struct ring_member *members,
					size_t n_members)
{
	const struct ring_params *params = &ring->params;
	struct plain_slot *slots = calloc(ring->len + 1, sizeof(*slots));
	size_t len = 0;

	assert_non_null(slots);
	assert_int_equal(ring->n_members, n_members);
	for (size_t i = 0; i < n_members; i++) {
		uint64_t vnodes = ring_vnodes(params->vnodes, members[i].weight_milli);

		for (uint64_t vnode = 0; vnode < vnodes; vnode++) {
			char label[RING_NAME_MAX + 32];
			int label_len = snprintf(label, sizeof(label), "%s#%" PRIu64,
						 members[i].name, vnode);

			assert_true(len < ring->len);
			slots[len].position = params->hash->hash(label, label_len, params->seed);
			slots[len++].name = members[i].name;
		}
	}
	assert_int_equal(len, ring->len);
	qsort(slots, len, sizeof(*slots), compare_plain_slots);
	for (size_t i = 0; i < len; i++) {
		assert_int_equal(ring->positions[i], slots[i].position);
		assert_string_equal(ring->members[ring->owners[i]].name, slots[i].name);
	}
	for (size_t i = 1; i < n_members; i++)
		assert_true(strcmp(ring->members[i - 1].name, ring->members[i].name) < 0);
	free(slots);
}

#endif
