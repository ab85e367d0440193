/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flow -> backend id, by the ring of a pool. Reads ring maps, never the packet.
 * abi.h has the layout of a published ring.
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
 * Set *@slot to the first position that is not below @hash, or to 0 if all are:
 * past the last position the circle begins again.
 */
static __always_inline enum verdict ring_search(void *ring, __u32 len, __u64 hash, __u32 *slot)
{
	__u32 low = 0, candidates = len;

	for (int step = 0; step < RING_SEARCH_STEPS && candidates; step++) {
		__u32 half = candidates / 2;
		__u32 at = RING_POSITIONS_AT + low + half;
		const __u64 *position = bpf_map_lookup_elem(ring, &at);

		if (!position)
			return DROP_BAD_RING;
		if (*position < hash) {
			low += half + 1;
			candidates -= half + 1;
		} else {
			candidates = half;
		}
	}
	*slot = low < len ? low : 0;
	return CONTINUE;
}

static __always_inline enum verdict ring_owner(void *ring, __u32 len, __u32 slot, __u32 *backend)
{
	__u32 at = RING_POSITIONS_AT + len + slot / RING_OWNERS_PER_ELEMENT;
	const __u64 *owners = bpf_map_lookup_elem(ring, &at);

	if (!owners)
		return DROP_BAD_RING;
	*backend = (*owners >> (slot % RING_OWNERS_PER_ELEMENT * RING_OWNER_BITS)) & 0xffff;
	return CONTINUE;
}

/* What is moving at @slot; all zero in a settled ring, whose packets read no more. */
static __always_inline enum verdict ring_move_at(void *ring, const struct ring_header *header,
						 __u32 slot, struct ring_move *move)
{
	__u32 owners = (header->len + RING_OWNERS_PER_ELEMENT - 1) / RING_OWNERS_PER_ELEMENT;
	__u32 at = RING_POSITIONS_AT + header->len + owners + slot;
	const struct ring_move *found;

	if (!header->moving)
		return CONTINUE;
	found = bpf_map_lookup_elem(ring, &at);
	if (!found)
		return DROP_BAD_RING;
	*move = *found;
	return CONTINUE;
}

/*
 * The owner of @flow in the ring of the pool of @vip, and what is moving there. @move
 * is all zero before. One ring is read throughout.
 */
static __always_inline enum verdict ring_find_backend(const struct vip *vip,
						      const struct flow *flow, __u32 *backend,
						      struct ring_move *move)
{
	__u32 pool = vip->pool;
	void *ring = bpf_map_lookup_elem(&rings, &pool);
	__u32 header_at = RING_HEADER_AT, seed_at = RING_SEED_AT, slot;
	const struct ring_header *header;
	const __u64 *seed;
	enum verdict verdict;

	if (!ring)
		return DROP_NO_RING;
	header = bpf_map_lookup_elem(ring, &header_at);
	seed = bpf_map_lookup_elem(ring, &seed_at);
	if (!header || !seed)
		return DROP_BAD_RING;
	if (!header->len)
		return DROP_NO_BACKEND;
	verdict = ring_search(ring, header->len, flow_hash_by(flow, vip->hash, *seed), &slot);
	if (verdict != CONTINUE)
		return verdict;
	verdict = ring_owner(ring, header->len, slot, backend);
	if (verdict != CONTINUE)
		return verdict;
	return ring_move_at(ring, header, slot, move);
}

#endif
