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

static int merged_alloc(struct moving_ring *merged, size_t len)
{
	merged->positions = malloc((len + 1) * sizeof(*merged->positions));
	merged->owners = malloc((len + 1) * sizeof(*merged->owners));
	merged->moves = malloc((len + 1) * sizeof(*merged->moves));
	return merged->positions && merged->owners && merged->moves ? 0 : -ENOMEM;
}

static void merged_add(struct moving_ring *merged, uint64_t position, uint16_t owner,
		       const struct moves *moves)
{
	merged->positions[merged->len] = position;
	merged->owners[merged->len] = owner;
	merged->moves[merged->len] = (int32_t)moves_find(moves, position);
	merged->len++;
}

/* The id that owns the hashes up to @slot's position; past the last slot, the first's. */
static uint16_t owner_at(const struct ring *ring, const uint32_t *ids, size_t slot)
{
	if (!ring->len)
		return RING_NONE;
	return (uint16_t)ids[ring->owners[slot < ring->len ? slot : 0]];
}

/* Both lists ascend. Where they meet the ring's position serves as the edge. */
static void merge(struct moving_ring *merged, const struct ring *ring, const uint32_t *ids,
		  const struct moves *moves, const uint64_t *edges, size_t n_edges)
{
	size_t slot = 0, edge = 0;

	while (slot < ring->len || edge < n_edges) {
		if (edge < n_edges && (slot == ring->len || edges[edge] < ring->positions[slot])) {
			merged_add(merged, edges[edge], owner_at(ring, ids, slot), moves);
			edge++;
			continue;
		}
		if (edge < n_edges && edges[edge] == ring->positions[slot])
			edge++;
		merged_add(merged, ring->positions[slot], owner_at(ring, ids, slot), moves);
		slot++;
	}
}

int moves_merge(struct moving_ring *out, const struct ring *ring, const uint32_t *ids,
		const struct moves *moves)
{
	uint64_t *edges = malloc((2 * moves->len + 2) * sizeof(*edges));
	struct moving_ring merged = {};
	size_t n_edges;
	int err;

	if (!edges)
		return -ENOMEM;
	n_edges = list_edges(moves, edges);
	err = merged_alloc(&merged, ring->len + n_edges);
	if (!err)
		merge(&merged, ring, ids, moves, edges, n_edges);
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
	free(ring->moves);
	*ring = (struct moving_ring){};
}
