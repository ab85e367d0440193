/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/moves.h"

/*
 * The hashes at which a move begins or ends, as positions: the last hash before it
 * and its own last hash. Ascending, except that a move from 0 has its first edge at
 * the top; that one is put at the end.
 */
static size_t list_edges(const struct moves *moves, uint64_t *edges)
{
	bool from_zero = moves->len && moves->list[0].first == 0;
	size_t len = 0;

	for (size_t i = 0; i < moves->len; i++) {
		uint64_t before = moves->list[i].first - 1;

		if (moves->list[i].first && (!len || edges[len - 1] != before))
			edges[len++] = before;
		edges[len++] = moves->list[i].last;
	}
	if (from_zero && edges[len - 1] != UINT64_MAX)
		edges[len++] = UINT64_MAX;
	return len;
}

/* Where a merge has come to: all that it needs of the ring and of the moves. */
struct merge {
	const struct ring *ring;
	const uint32_t *ids;
	const struct moves *moves;
	size_t slot; /* of the ring */
	size_t move; /* the first that does not end before the last position */
};

static int merged_alloc(struct moving_ring *merged, size_t len)
{
	merged->positions = malloc((len + 1) * sizeof(*merged->positions));
	merged->owners = malloc((len + 1) * sizeof(*merged->owners));
	merged->moving = malloc((len + 1) * sizeof(*merged->moving));
	return merged->positions && merged->owners && merged->moving ? 0 : -ENOMEM;
}

/* The id that owns the hashes up to the ring's next position; past the last, the first's. */
static uint16_t next_owner(const struct merge *merge)
{
	const struct ring *ring = merge->ring;

	if (!ring->len)
		return RING_NONE;
	return (uint16_t)merge->ids[ring->owners[merge->slot < ring->len ? merge->slot : 0]];
}

/* Positions arrive in ascending order. */
static void merged_add(struct moving_ring *merged, struct merge *merge, uint64_t position)
{
	const struct moves *moves = merge->moves;

	merged->positions[merged->len] = position;
	merged->owners[merged->len] = next_owner(merge);
	while (merge->move < moves->len && moves->list[merge->move].last < position)
		merge->move++;
	if (merge->move < moves->len && moves->list[merge->move].first <= position)
		merged->moving[merged->n_moving++] = (struct moving_slot){
			.slot = (uint32_t)merged->len,
			.move = (uint32_t)merge->move,
		};
	merged->len++;
}

/* Both lists ascend. Where they meet the ring's position serves as the edge. */
static void merge_all(struct moving_ring *merged, struct merge *merge, const uint64_t *edges,
		      size_t n_edges)
{
	const struct ring *ring = merge->ring;
	size_t edge = 0;

	while (merge->slot < ring->len || edge < n_edges) {
		bool at_end = merge->slot == ring->len;

		if (edge < n_edges && (at_end || edges[edge] < ring->positions[merge->slot])) {
			merged_add(merged, merge, edges[edge]);
			edge++;
			continue;
		}
		if (edge < n_edges && edges[edge] == ring->positions[merge->slot])
			edge++;
		merged_add(merged, merge, ring->positions[merge->slot]);
		merge->slot++;
	}
}

int moves_merge(struct moving_ring *out, const struct ring *ring, const uint32_t *ids,
		const struct moves *moves)
{
	uint64_t *edges = malloc((2 * moves->len + 2) * sizeof(*edges));
	struct merge merge = {.ring = ring, .ids = ids, .moves = moves};
	struct moving_ring merged = {};
	size_t n_edges;
	int err;

	if (!edges)
		return -ENOMEM;
	n_edges = list_edges(moves, edges);
	err = merged_alloc(&merged, ring->len + n_edges);
	if (!err)
		merge_all(&merged, &merge, edges, n_edges);
	free(edges);
	if (!err && merged.len > RING_POSITIONS_MAX_LEN)
		err = -ENOSPC;
	if (err)
		moving_ring_release(&merged);
	else
		*out = merged;
	return err;
}

void moving_ring_release(struct moving_ring *ring)
{
	free(ring->positions);
	free(ring->owners);
	free(ring->moving);
	*ring = (struct moving_ring){};
}
