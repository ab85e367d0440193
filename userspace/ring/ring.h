/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A consistent-hash ring: which backend owns which part of a circle of hashes.
 *
 * The circle holds the integers 0 to `top`. Each backend has vnodes, each vnode
 * a position; a hash belongs to the first position at or after it, wrapping past
 * the top. A ring is a pure function of its params and of {(name, weight)...}:
 * the same bytes on every host and for every history of adds and removes.
 *
 * Invariants of a ring: members ascend by name (bytewise); positions ascend, and
 * equal positions ascend by the name of their owner, so the smaller name wins a
 * tie; owners[i] is the index in `members` of the owner of positions[i].
 *
 * This module does no I/O, keeps no state, reads no clock, prints nothing and
 * depends on the C library and xxHash only. A finished ring is never changed:
 * it may be read from many threads.
 */
#ifndef RINGLB_RING_RING_H
#define RINGLB_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_MEMBERS_MAX       65535
#define RING_POSITIONS_MAX_LEN (1U << 21)
#define RING_NAME_MAX	       63 /* bytes, without the final zero */
#define RING_WEIGHT_ONE	       1000
#define RING_WEIGHT_MAX	       (1000 * RING_WEIGHT_ONE)
#define RING_VNODES_DEFAULT    200
#define RING_CELLS_MIN	       256
#define RING_CELLS_DEFAULT     65536
#define RING_EPSILON_MAX       10000
#define RING_EPSILON_DEFAULT   20
#define RING_NONE	       0xffff /* an owner that does not exist; never a member's index */

/* An arc length needs 65 bits: a single position owns all 2^64 hashes. */
__extension__ typedef unsigned __int128 ring_length;

/**
 * struct ring_hash - how a string becomes a place on the circle
 * @hash: pure function of its arguments; must return 0 to @top
 * @top: highest place of the circle: 2^64-1, 2^32-1, 99...
 */
struct ring_hash {
	uint64_t (*hash)(const void *data, size_t len_bytes, uint64_t seed);
	uint64_t top;
};

/* XXH64 with the seed, over the whole 64-bit circle: what ringlb runs on. */
extern const struct ring_hash ring_hash_xxh64;

/**
 * enum ring_placement - how members get their positions
 * @RING_PLAIN: by hashing their vnodes
 * @RING_CAPPED: in equal cells, and no member's share passes its share of the weights
 *	by more than epsilon
 */
enum ring_placement { RING_PLAIN, RING_CAPPED };

/**
 * struct ring_params - what a ring depends on besides its members
 * @hash: kept by reference; must outlive the ring
 * @seed: passed to @hash
 * @vnodes: of RING_PLAIN: positions for one unit of weight, 1 to RING_POSITIONS_MAX_LEN
 * @cells: of RING_CAPPED: a power of two, RING_CELLS_MIN to RING_POSITIONS_MAX_LEN, and
 *	not more than the circle has places. Shares differ by about sqrt(n_members /
 *	(2 x cells)) before they are capped
 * @epsilon_milli: of RING_CAPPED: in thousandths, 1 to RING_EPSILON_MAX. The smaller,
 *	the more has to move beside what must
 */
struct ring_params {
	const struct ring_hash *hash;
	uint64_t seed;
	enum ring_placement placement;
	uint32_t vnodes;
	uint32_t cells;
	uint32_t epsilon_milli;
};

/**
 * struct ring_member - one backend of a ring
 * @name: 1 to RING_NAME_MAX bytes, zero-terminated
 * @weight_milli: weight in thousandths, 0 to RING_WEIGHT_MAX; 0 owns nothing
 *
 * In a plain ring a member has round(vnodes * weight) vnodes, halves rounded up, and at
 * least one if its weight is not 0. Vnode i lies at hash("NAME#i"), i from 0, decimal.
 */
struct ring_member {
	char name[RING_NAME_MAX + 1];
	uint32_t weight_milli;
};

struct ring {
	struct ring_params params;
	struct ring_member *members; /* n_members, ascending by name */
	size_t n_members;
	uint64_t *positions; /* len */
	uint16_t *owners;    /* len, indexes of members */
	size_t len;
};

/**
 * struct ring_range - a run of the circle whose owner differs between two rings
 * @first: first hash of the range
 * @last: last hash of the range, included; below @first if the range wraps
 * @old_owner: index in the old ring's members, or RING_NONE
 * @new_owner: index in the new ring's members, or RING_NONE
 * @length: number of hashes in the range, 1 to top + 1
 */
struct ring_range {
	uint64_t first;
	uint64_t last;
	uint16_t old_owner;
	uint16_t new_owner;
	ring_length length;
};

/**
 * ring_build() - build a ring from scratch
 * @out: receives the new ring; free it with ring_free()
 * @params: copied, except for params->hash, which is kept by reference
 * @members: in any order; copied
 * @n_members: 0 to RING_MEMBERS_MAX
 *
 * Cost of a plain ring: O(M) for hashing and sorting M positions; about 20 bytes a
 * position of memory while it runs, 10 afterwards. Of a capped one with C cells:
 * O(C log C log n_members) steps.
 *
 * Return: 0; -EINVAL for an empty or unterminated name, a weight above
 * RING_WEIGHT_MAX, @params out of their ranges or a missing hash; -EEXIST if a name
 * comes twice; -ENOSPC for more than RING_MEMBERS_MAX members or
 * RING_POSITIONS_MAX_LEN positions; -EDOM if a capped ring has too few cells to tell
 * so many members apart within epsilon; -ERANGE if the hash returns a place above
 * its top; -ENOMEM. On error *@out is left as it was.
 */
int ring_build(struct ring **out, const struct ring_params *params,
	       const struct ring_member *members, size_t n_members);

/**
 * ring_from_positions() - make a ring of positions that are given, not hashed
 * @out: receives the new ring
 * @top: highest place of the circle; every position is 0 to @top
 * @members: in any order; copied
 * @n_members: 0 to RING_MEMBERS_MAX
 * @positions: in any order; copied
 * @owners: owners[i] is the index in @members (as given) of the owner of
 *	positions[i]
 * @len: 0 to RING_POSITIONS_MAX_LEN
 *
 * The ring can be searched and compared; ring_derive() refuses it, as it has no
 * hash. Its params.hash has the given top and no function.
 *
 * Return: as ring_build(); -ERANGE for a position above @top or an owner that is
 * not a member.
 */
int ring_from_positions(struct ring **out, uint64_t top, const struct ring_member *members,
			size_t n_members, const uint64_t *positions, const uint16_t *owners,
			size_t len);

/**
 * ring_derive() - make the ring of another set of members out of an existing one
 * @out: receives the new ring; may not point into @old
 * @old: only read
 * @members: the whole new set, in any order; copied
 * @n_members: 0 to RING_MEMBERS_MAX
 *
 * Hashes only the vnodes that come or go and merges them in O(M); a capped ring is
 * built anew. The result equals, byte for byte, what ring_build() makes of the same
 * members.
 *
 * Return: as ring_build(); -EINVAL if @old has positions that were given.
 */
int ring_derive(struct ring **out, const struct ring *old, const struct ring_member *members,
		size_t n_members);

/**
 * ring_add() - ring_derive() with one more member
 *
 * Return: as ring_derive(); -EEXIST if the name is a member already.
 */
int ring_add(struct ring **out, const struct ring *old, const struct ring_member *member);

/**
 * ring_remove() - ring_derive() without the member called @name
 *
 * Return: as ring_derive(); -ENOENT if there is no such member.
 */
int ring_remove(struct ring **out, const struct ring *old, const char *name);

/** ring_free() - free a ring and all it holds; NULL is allowed */
void ring_free(struct ring *ring);

/** ring_params_equal() - true if both make the same ring of the same members */
bool ring_params_equal(const struct ring_params *a, const struct ring_params *b);

/** ring_equal() - true if both rings hold the same bytes: params, members, arrays */
bool ring_equal(const struct ring *a, const struct ring *b);

/**
 * ring_find_member() - index of the member called @name
 *
 * Return: the index, or RING_NONE.
 */
uint16_t ring_find_member(const struct ring *ring, const char *name);

/**
 * ring_search() - slot that owns a hash
 * @hash: 0 to top
 *
 * Binary search: at most log2(len) + 1 probes.
 *
 * Return: index in positions and owners, 0 to len - 1, or -ENOENT if the ring is
 * empty.
 */
int ring_search(const struct ring *ring, uint64_t hash);

/**
 * ring_owner() - member that owns a hash
 *
 * Return: index in members, or RING_NONE if the ring is empty.
 */
uint16_t ring_owner(const struct ring *ring, uint64_t hash);

/**
 * ring_preference() - list the distinct members to try for a hash
 * @ring: only read
 * @hash: 0 to top
 * @owners: receives member indexes, most preferred first
 * @max: capacity of @owners
 *
 * owners[0] is the owner of @hash; each later entry is the next member clockwise
 * that is not listed yet. Allocates nothing, visits each slot at most once;
 * O(slots visited x max).
 *
 * Source: DeCandia et al., "Dynamo", SOSP 2007, section 4.3.
 *
 * Return: number of entries written, 1 to @max, fewer than @max when the ring
 * has fewer members with vnodes; -ENOENT if the ring is empty; -EINVAL if @max
 * is 0. On error @owners is left as it was.
 */
int ring_preference(const struct ring *ring, uint64_t hash, uint16_t *owners, size_t max);

/**
 * ring_compare() - list the ranges whose owner differs between two rings
 * @old_ring, @new_ring: of the same circle; only read
 * @ranges: receives an array to be freed with free(), NULL if nothing moves
 * @n_ranges: receives its length
 *
 * Members are the same if their names are. Neighbouring ranges with the same two
 * owners are one range, across the top of the circle too; ranges ascend by
 * @first. An empty ring owns nothing: all of the circle moves from or to
 * RING_NONE. The one source of truth for what a change moves.
 *
 * Return: 0; -EINVAL if the circles differ; -ENOMEM. On error the outputs are
 * left as they were.
 */
int ring_compare(const struct ring *old_ring, const struct ring *new_ring,
		 struct ring_range **ranges, size_t *n_ranges);

/**
 * ring_shares() - exact number of hashes that each member owns
 * @lengths: receives n_members entries
 *
 * By arc length, not by sampling. The sum is ring_circle() exactly, or 0 for an
 * empty ring.
 */
void ring_shares(const struct ring *ring, ring_length *lengths);

/** ring_circle() - number of places on the circle: top + 1 */
ring_length ring_circle(const struct ring *ring);

/** ring_share() - @length as a fraction of the circle, 0.0 to 1.0 */
double ring_share(const struct ring *ring, ring_length length);

/**
 * ring_vnodes() - number of vnodes of a member with this weight
 *
 * Return: round(@vnodes * @weight_milli / 1000), at least 1 unless the weight is 0.
 */
uint64_t ring_vnodes(uint32_t vnodes, uint32_t weight_milli);

#endif
