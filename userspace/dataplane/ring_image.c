/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/ring_image.h"

/* Pairs of learning times. All the arcs that one change moved share a pair. */
struct clocks {
	int64_t *times;
	uint16_t len;
};

/* The index of the pair in @clocks, added if it is new. @clocks has room for it. */
static int clock_index(struct clocks *clocks, const struct dataplane_move *move)
{
	/* Neighbouring arcs mostly moved together: the last pair is the likely one. */
	for (int i = clocks->len - 2; i >= 0; i -= 2)
		if (clocks->times[i] == move->tcp_until_ms &&
		    clocks->times[i + 1] == move->other_until_ms)
			return i;
	if (clocks->len + 2 > UINT16_MAX)
		return -ENOSPC;
	clocks->times[clocks->len] = move->tcp_until_ms;
	clocks->times[clocks->len + 1] = move->other_until_ms;
	clocks->len += 2;
	return clocks->len - 2;
}

/* How @ring's moves are written in a map. */
static int list_moves(const struct dataplane_ring *ring, struct ring_move *out,
		      struct clocks *clocks)
{
	for (size_t i = 0; i < ring->n_moves; i++) {
		const struct dataplane_move *move = &ring->moves[i];
		int clock = clock_index(clocks, move);

		if (clock < 0)
			return clock;
		out[i].previous = move->previous;
		out[i].clock = (uint16_t)clock;
		out[i].flags = MOVE_ASK;
		if (move->tcp_until_ms)
			out[i].flags |= MOVE_LEARN_TCP;
		if (move->other_until_ms)
			out[i].flags |= MOVE_LEARN_OTHER;
	}
	return 0;
}

int ring_image_init(struct ring_image *image, const struct dataplane_ring *ring)
{
	struct clocks clocks = {};
	int err = 0;

	*image = (struct ring_image){.ring = ring};
	if (ring->n_moves) {
		image->moves = calloc(ring->n_moves, sizeof(*image->moves));
		clocks.times = malloc((UINT16_MAX + 1) * sizeof(*clocks.times));
		image->clocks = clocks.times;
		err = image->moves && clocks.times ? list_moves(ring, image->moves, &clocks)
						   : -ENOMEM;
	}
	if (!err)
		err = ring_layout(ring->len, clocks.len, &image->header);
	image->header.seed = ring->seed;
	if (err < 0)
		ring_image_release(image);
	return err;
}

/* Buckets that must be written again, both ends included. */
struct stale {
	size_t first;
	size_t last;
};

struct stale_list {
	struct stale *list;
	size_t len;
	uint32_t shift;
};

/* Add the buckets of the hashes from @from to @to, which lie after the start of what was added. */
static void stale_add(struct stale_list *stale, uint64_t from, uint64_t to)
{
	struct stale one = {from >> stale->shift, to >> stale->shift};
	struct stale *last = stale->len ? &stale->list[stale->len - 1] : NULL;

	if (last && one.first <= last->last + 1)
		last->last = one.last;
	else
		stale->list[stale->len++] = one;
}

static bool entry_is(const struct ring_entry *entry, uint16_t owner, bool moves)
{
	return entry->owner == owner && (entry->move.flags != 0) == moves;
}

/*
 * A bucket answers for the entries in it and the first one after it. So an entry that came,
 * went or changed voids its own bucket, and those from the entry before it on.
 */
static void list_stale(struct stale_list *stale, const void *value,
		       const struct dataplane_ring *ring)
{
	const struct ring_entry *old = ring_entries_of(value);
	size_t old_len = ((const struct ring_header *)value)->len, from = 0, to = 0, move = 0;
	bool first_moves = ring->n_moves && ring->moves[0].slot == 0;
	uint64_t before = 0;

	while (from < old_len || to < ring->len) {
		bool is_old = from < old_len &&
			      (to == ring->len || old[from].position <= ring->positions[to]);
		bool is_new = to < ring->len &&
			      (from == old_len || ring->positions[to] <= old[from].position);
		bool moves = is_new && move < ring->n_moves && ring->moves[move].slot == to;
		uint64_t position = is_old ? old[from].position : ring->positions[to];

		if (!is_old || !is_new || !entry_is(&old[from], ring->owners[to], moves))
			stale_add(stale, before, position);
		before = position;
		from += is_old;
		to += is_new;
		move += moves;
	}
	/* Past the last position, hashes are the first one's. */
	if (!entry_is(&old[0], ring->owners[0], first_moves))
		stale_add(stale, before, UINT64_MAX);
}

static void write_entries(const struct ring_image *image, void *value)
{
	const struct dataplane_ring *ring = image->ring;
	struct ring_entry *entries;

	memcpy(value, &image->header, sizeof(image->header));
	entries = ring_entries(value);
	for (size_t slot = 0; slot < ring->len; slot++)
		entries[slot] = (struct ring_entry){
			.position = ring->positions[slot],
			.owner = ring->owners[slot],
		};
	for (size_t i = 0; i < ring->n_moves; i++)
		entries[ring->moves[i].slot].move = image->moves[i];
	if (ring->len)
		ring_layout_end(value);
	if (image->header.clocks)
		memcpy(ring_clocks(value), image->clocks,
		       image->header.clocks * sizeof(*image->clocks));
}

int ring_image_write(const struct ring_image *image, void *value, bool written)
{
	const struct dataplane_ring *ring = image->ring;
	const struct ring_header *old = value;
	struct stale_list stale = {.shift = image->header.shift};
	/* Few of them are used, and so of the memory. */
	size_t most = ring->len + (written ? old->len : 0) + 1;

	stale.list = malloc(most * sizeof(*stale.list));
	if (!stale.list)
		return -ENOMEM;
	if (written && old->len && ring->len && old->shift == stale.shift)
		list_stale(&stale, value, ring);
	else
		stale_add(&stale, 0, UINT64_MAX);
	write_entries(image, value);
	for (size_t i = 0; ring->len && i < stale.len; i++)
		ring_layout_fill(value, stale.list[i].first, stale.list[i].last);
	free(stale.list);
	return 0;
}

void ring_image_release(struct ring_image *image)
{
	free(image->moves);
	free(image->clocks);
	*image = (struct ring_image){};
}
