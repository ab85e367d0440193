/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/build.h"

#define RANGES_FIRST_CAPACITY 64

struct range_list {
	struct ring_range *ranges;
	size_t len;
	size_t capacity;
};

static bool same_owners(const struct ring_range *a, const struct ring_range *b)
{
	return a->old_owner == b->old_owner && a->new_owner == b->new_owner;
}

/* Ranges arrive in ascending order; one that goes on where the last ended makes that longer. */
static int range_list_add(struct range_list *list, const struct ring_range *range)
{
	struct ring_range *last = list->len ? &list->ranges[list->len - 1] : NULL;

	if (last && last->last + 1 == range->first && same_owners(last, range)) {
		last->last = range->last;
		last->length += range->length;
		return 0;
	}
	if (list->len == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : RANGES_FIRST_CAPACITY;
		struct ring_range *ranges = realloc(list->ranges, capacity * sizeof(*ranges));

		if (!ranges)
			return -ENOMEM;
		list->ranges = ranges;
		list->capacity = capacity;
	}
	list->ranges[list->len++] = *range;
	return 0;
}

/* A range that ends at the top and one that begins at 0 are neighbours, too. */
static void range_list_join_ends(struct range_list *list, uint64_t top)
{
	struct ring_range *first = list->ranges;
	struct ring_range *last;

	if (list->len < 2)
		return;
	last = first + list->len - 1;
	if (first->first != 0 || last->last != top || !same_owners(first, last))
		return;
	last->last = first->last;
	last->length += first->length;
	list->len--;
	memmove(first, first + 1, list->len * sizeof(*first));
}

/* The owner of the hashes before @slot and after the slot before it. */
static uint16_t owner_at(const struct ring *ring, size_t slot)
{
	if (ring->len == 0)
		return RING_NONE;
	return ring->owners[slot < ring->len ? slot : 0];
}

/* The end of a run of hashes that begins after the slot before @slot. */
static uint64_t end_at(const struct ring *ring, size_t slot)
{
	return slot < ring->len ? ring->positions[slot] : ring->params.hash->top;
}

static size_t skip_position(const struct ring *ring, size_t slot, uint64_t position)
{
	while (slot < ring->len && ring->positions[slot] == position)
		slot++;
	return slot;
}

/* @map: where the old members stand in the new ring */
static bool moves(const struct ring_range *range, const uint16_t *map)
{
	if (range->old_owner == RING_NONE || range->new_owner == RING_NONE)
		return range->old_owner != range->new_owner;
	return map[range->old_owner] != range->new_owner;
}

/* Walk both rings from 0 to the top at once, one run of hashes without a position at a time. */
static int list_moves(struct range_list *list, const struct ring *old_ring,
		      const struct ring *new_ring, const uint16_t *map)
{
	const uint64_t top = old_ring->params.hash->top;
	struct ring_range range = {0};
	size_t old_slot = 0;
	size_t new_slot = 0;

	for (;;) {
		uint64_t old_end = end_at(old_ring, old_slot);
		uint64_t new_end = end_at(new_ring, new_slot);
		int err = 0;

		range.last = old_end < new_end ? old_end : new_end;
		range.old_owner = owner_at(old_ring, old_slot);
		range.new_owner = owner_at(new_ring, new_slot);
		range.length = (ring_length)(range.last - range.first) + 1;
		if (moves(&range, map))
			err = range_list_add(list, &range);
		if (err || range.last == top)
			return err;
		old_slot = skip_position(old_ring, old_slot, range.last);
		new_slot = skip_position(new_ring, new_slot, range.last);
		range.first = range.last + 1;
	}
}

int ring_compare(const struct ring *old_ring, const struct ring *new_ring,
		 struct ring_range **ranges, size_t *n_ranges)
{
	struct range_list list = {0};
	uint16_t *map;
	int err;

	if (old_ring->params.hash->top != new_ring->params.hash->top)
		return -EINVAL;
	map = ring_array_alloc(old_ring->n_members, sizeof(*map));
	if (!map)
		return -ENOMEM;
	ring_members_map(old_ring, new_ring, map);
	err = list_moves(&list, old_ring, new_ring, map);
	free(map);
	if (err) {
		free(list.ranges);
		return err;
	}
	range_list_join_ends(&list, old_ring->params.hash->top);
	*ranges = list.ranges;
	*n_ranges = list.len;
	return 0;
}
