/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of spills, and rings with them on top. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/build.h"
#include "ring/spill_walk.h"

int spills_add(struct spills *spills, const struct spill *spill)
{
	struct spill *last = spills->len ? &spills->list[spills->len - 1] : NULL;

	if (last && last->last + 1 == spill->first && last->owner == spill->owner &&
	    last->to == spill->to && last->until == spill->until) {
		last->last = spill->last;
		return 0;
	}
	if (spills->len == spills->capacity) {
		size_t capacity = spills->capacity ? 2 * spills->capacity : 64;
		void *grown = realloc(spills->list, capacity * sizeof(*spills->list));

		if (!grown)
			return -ENOMEM;
		spills->list = grown;
		spills->capacity = capacity;
	}
	spills->list[spills->len++] = *spill;
	return 0;
}

void spills_release(struct spills *spills)
{
	free(spills->list);
	*spills = (struct spills){};
}

void spills_sum(const struct spills *spills, size_t n, ring_length *lent, ring_length *borrowed)
{
	for (size_t i = 0; i < n; i++)
		lent[i] = borrowed[i] = 0;
	for (size_t i = 0; i < spills->len; i++) {
		ring_length length = spill_length(&spills->list[i]);

		if (spills->list[i].owner == spills->list[i].to)
			continue;
		lent[spills->list[i].owner] += length;
		borrowed[spills->list[i].to] += length;
	}
}

bool spill_walk_next(struct spill_walk *walk)
{
	const struct ring *ring = walk->ring;
	const struct spills *spills = walk->spills;
	uint64_t top = ring->params.hash->top;

	if (!ring->len || walk->done)
		return false;
	/* Of equal positions the first has the arc and the others have no hash. */
	while (walk->slot < ring->len && ring->positions[walk->slot] < walk->at)
		walk->slot++;
	while (walk->index < spills->len && spills->list[walk->index].last < walk->at)
		walk->index++;
	walk->first = walk->at;
	walk->last = walk->slot < ring->len ? ring->positions[walk->slot] : top;
	walk->owner = ring->owners[walk->slot < ring->len ? walk->slot : 0];
	walk->spill = NULL;
	if (walk->index < spills->len) {
		const struct spill *spill = &spills->list[walk->index];

		if (spill->first <= walk->at)
			walk->spill = spill;
		if (walk->spill && spill->last < walk->last)
			walk->last = spill->last;
		if (!walk->spill && spill->first <= walk->last)
			walk->last = spill->first - 1;
	}
	walk->done = walk->last == top;
	walk->at = walk->last + 1;
	return true;
}

int spills_keep(struct spills *out, const struct spills *now, const struct ring *ring,
		const uint16_t *map, const bool *takes)
{
	struct spill_walk walk = {.ring = ring, .spills = now};
	struct spills kept = {};
	int err = 0;

	while (!err && spill_walk_next(&walk)) {
		struct spill spill = {.first = walk.first, .last = walk.last, .owner = walk.owner};

		if (!walk.spill || map[walk.spill->owner] != walk.owner)
			continue;
		spill.to = map[walk.spill->to];
		spill.until = walk.spill->until;
		if (spill.to != RING_NONE && takes[spill.to])
			err = spills_add(&kept, &spill);
	}
	if (err)
		spills_release(&kept);
	else
		*out = kept;
	return err;
}

/* Those that are with another member than their owner. */
static int list_lent(struct spills *lent, const struct spills *spills)
{
	int err = 0;

	for (size_t i = 0; i < spills->len && !err; i++)
		if (spills->list[i].owner != spills->list[i].to)
			err = spills_add(lent, &spills->list[i]);
	return err;
}

int spills_lay(struct ring **out, const struct ring *ring, const struct spills *spills)
{
	struct spills lent = {};
	struct spill_walk walk = {.ring = ring, .spills = &lent};
	struct ring_slots slots = {};
	struct ring *laid = NULL;
	int err = ring_start(&laid, &ring->params, ring->members, ring->n_members, NULL);

	if (err)
		return err;
	err = list_lent(&lent, spills);
	if (!err)
		err = ring_slots_init(&slots, ring->len + 2 * lent.len + 1);
	while (!err && spill_walk_next(&walk)) {
		slots.positions[slots.len] = walk.last;
		slots.owners[slots.len++] = walk.spill ? walk.spill->to : walk.owner;
	}
	/* What lies past the last position wraps to slot 0, unless a spill is in the way. */
	if (!err && walk.slot == ring->len && slots.len &&
	    slots.owners[slots.len - 1] == slots.owners[0])
		slots.len--;
	if (!err && slots.len > RING_POSITIONS_MAX_LEN)
		err = -ENOSPC;
	spills_release(&lent);
	if (err) {
		ring_slots_release(&slots);
		ring_free(laid);
		return err;
	}
	ring_take_slots(laid, &slots);
	*out = laid;
	return 0;
}
