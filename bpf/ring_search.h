/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flow -> backend id, by the ring of a pool. Reads ring maps, never the packet.
 * ring_abi.h has the layout of a published ring.
 */
#ifndef RINGLB_BPF_RING_SEARCH_H
#define RINGLB_BPF_RING_SEARCH_H

#include "bpf/flow_hash.h"
#include "bpf/maps.h"

/*
 * A search among n candidates ends after floor(log2(n)) + 1 halvings, and the
 * largest ring has 2^21 positions.
 */
#define RING_SEARCH_STEPS 22
_Static_assert((1U << (RING_SEARCH_STEPS - 1)) >= RING_POSITIONS_MAX,
	       "the search must be able to finish in the largest ring");

/*
 * Changes no slot, but says to the verifier that each step of a search ends where the one
 * before did: it need not follow all the ways that lead there.
 */
#define RING_SLOT_MASK (2 * RING_POSITIONS_MAX - 1)

/* Entries that are looked at one by one. A group has three positions, as a rule. */
#define RING_SCAN_STEPS 8

/* Set before the program is loaded: search without the buckets, as tests and benches compare. */
const volatile bool plain_search = false;

/* A published ring, @size bytes of it: a constant on each of the verifier's ways. */
struct ring_view {
	const struct ring_header *header;
	__u64 size;
};

/* What is @at bytes behind the header, as long as an entry; NULL outside the ring. */
static __always_inline const void *ring_at(const struct ring_view *ring, __u64 at)
{
	/* clang would test something else that is equal, but not to the verifier. */
	barrier_var(at);
	if (at > ring->size - sizeof(struct ring_entry))
		return NULL;
	return (const void *)ring->header + at;
}

static __always_inline const struct ring_entry *ring_entry_at(const struct ring_view *ring,
							      __u64 slot)
{
	return ring_at(ring, ring->header->entries_at + slot * sizeof(struct ring_entry));
}

/*
 * The ring of @pool that counts. An empty asm of its own keeps clang from having one look-up
 * for all classes: the kernel puts one in place only where it always is in the same kind of map.
 */
static __always_inline enum verdict ring_open(__u32 pool, struct ring_view *ring)
{
	const __u64 *class = bpf_map_lookup_elem(&ring_classes, &pool);
	__u32 zero = 0;
	void *map;

	if (!class)
		return DROP_NO_RING;
	switch (*class) {
#define RING_CLASS_CASE(number, bytes)                                                             \
	case number:                                                                               \
		map = bpf_map_lookup_elem(&rings_##number, &pool);                                 \
		if (!map)                                                                          \
			return DROP_NO_RING;                                                       \
		ring->header = bpf_map_lookup_elem(map, &zero);                                    \
		ring->size = bytes;                                                                \
		asm volatile("" : "+r"(ring->header) : "i"(number));                               \
		break;
		RING_CLASSES(RING_CLASS_CASE)
#undef RING_CLASS_CASE
	default:
		return DROP_BAD_RING;
	}
	return ring->header ? CONTINUE : DROP_BAD_RING;
}

/*
 * The first entry from @low on whose position is not below @hash, of @candidates; the one
 * behind them if all are.
 */
static __always_inline const struct ring_entry *ring_halve(const struct ring_view *ring, __u64 low,
							   __u32 candidates, __u64 hash)
{
	for (int step = 0; step < RING_SEARCH_STEPS && candidates; step++) {
		__u32 half = candidates / 2;
		const struct ring_entry *entry = ring_entry_at(ring, low + half);

		if (!entry)
			return NULL;
		if (entry->position < hash) {
			low += half + 1;
			candidates -= half + 1;
		} else {
			candidates = half;
		}
		low &= RING_SLOT_MASK;
		candidates &= RING_SLOT_MASK;
	}
	return ring_entry_at(ring, low);
}

/*
 * The same from the start of the group of @bucket on: mostly the first entry that is looked
 * at, or one of the next. Where positions crowd, the rest is halved.
 */
static __always_inline const struct ring_entry *ring_scan(const struct ring_view *ring,
							  __u64 bucket, __u64 hash)
{
	const __u32 *start = ring_at(ring, ring->header->starts_at +
						   (bucket >> RING_GROUP_BITS) * sizeof(*start));
	__u32 slot, len = ring->header->len;

	if (!start)
		return NULL;
	slot = *start;
	for (int step = 0; step < RING_SCAN_STEPS; step++) {
		const struct ring_entry *entry = ring_entry_at(ring, slot);

		if (!entry || entry->position >= hash)
			return entry;
		slot = (slot + 1) & RING_SLOT_MASK;
	}
	return slot < len ? ring_halve(ring, slot, len - slot, hash) : ring_entry_at(ring, len);
}

/* What the bucket of @hash says: a backend's id, or RING_BUCKET_SEARCH. */
static __always_inline __u32 ring_bucket(const struct ring_view *ring, __u64 hash)
{
	__u64 bucket = hash >> (ring->header->shift & 63);
	const __u16 *owner = ring_at(ring, sizeof(*ring->header) + bucket * sizeof(*owner));

	return plain_search || !owner ? RING_BUCKET_SEARCH : *owner;
}

/* The owner of @hash, and what is moving there. @move is all zero before. */
static __always_inline enum verdict ring_find_owner(const struct ring_view *ring, __u64 hash,
						    __u32 *backend, struct ring_move *move)
{
	const struct ring_entry *entry;

	*backend = ring_bucket(ring, hash);
	if (*backend != RING_BUCKET_SEARCH)
		return CONTINUE;
	if (plain_search)
		entry = ring_halve(ring, 0, ring->header->len, hash);
	else
		entry = ring_scan(ring, hash >> (ring->header->shift & 63), hash);
	if (!entry)
		return DROP_BAD_RING;
	*backend = entry->owner;
	*move = entry->move;
	return CONTINUE;
}

/*
 * The owner of @flow in the ring of the pool of @vip, its @hash, and what is moving there. @move
 * is all zero before. One ring is read throughout.
 */
static __always_inline enum verdict ring_find_backend(const struct vip *vip,
						      const struct flow *flow, __u32 *backend,
						      struct ring_move *move, __u64 *hash)
{
	struct ring_view ring = {};
	enum verdict verdict = ring_open(vip->pool, &ring);

	if (verdict != CONTINUE)
		return verdict;
	if (!ring.header->len)
		return DROP_NO_BACKEND;
	*hash = flow_hash_by(flow, vip->hash, ring.header->seed);
	return ring_find_owner(&ring, *hash, backend, move);
}

/*
 * The owner of @hash, made with @seed, in the ring of @pool; RING_BUCKET_SEARCH if that is not
 * all that there is to it. A function of its own for the verifier.
 */
__attribute__((noinline)) int ring_find_settled(__u32 pool, __u64 hash, __u64 seed)
{
	struct ring_view ring = {};
	struct ring_move move = {};
	__u32 backend = 0;

	if (ring_open(pool, &ring) != CONTINUE || !ring.header->len || ring.header->seed != seed ||
	    ring_find_owner(&ring, hash, &backend, &move) != CONTINUE || move.flags)
		return RING_BUCKET_SEARCH;
	return backend;
}

/*
 * At which *@position the arc ends that has @hash in the ring of @pool. Buckets do not tell, and
 * packets do not ask: for who captures. Returns its owner, or RING_BUCKET_SEARCH without one.
 */
__attribute__((noinline)) int ring_find_position(__u32 pool, __u64 hash, __u64 *position)
{
	const struct ring_entry *entry;
	struct ring_view ring = {};

	if (!position || ring_open(pool, &ring) != CONTINUE)
		return RING_BUCKET_SEARCH;
	entry = ring_scan(&ring, hash >> (ring.header->shift & 63), hash);
	if (!entry)
		return RING_BUCKET_SEARCH;
	*position = entry->position;
	return entry->owner;
}

/* The same without calling anything where the bucket says so: most hashes, in most rings. */
static __always_inline __u32 ring_find_at_once(__u32 pool, __u64 hash, __u64 seed)
{
	struct ring_view ring = {};
	__u32 backend;

	if (ring_open(pool, &ring) != CONTINUE || !ring.header->len || ring.header->seed != seed)
		return RING_BUCKET_SEARCH;
	backend = ring_bucket(&ring, hash);
	return backend == RING_BUCKET_SEARCH ? ring_find_settled(pool, hash, seed) : backend;
}

#endif
