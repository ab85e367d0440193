/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/build.h"

static uint64_t vnodes_of(const struct ring *ring, uint16_t member)
{
	if (member == RING_NONE)
		return 0;
	return ring_vnodes(ring->params.vnodes, ring->members[member].weight_milli);
}

/*
 * The vnodes that the members of @ring have and those of @other lack, sorted,
 * with owners of @ring. Vnodes count from 0, so of a member with more weight
 * here than there it is the last few.
 */
static int hash_surplus(struct ring_slots *surplus, const struct ring *ring,
			const struct ring *other, const uint16_t *map)
{
	size_t total = 0;
	int err;

	for (size_t i = 0; i < ring->n_members; i++) {
		uint64_t here = vnodes_of(ring, i);
		uint64_t there = vnodes_of(other, map[i]);

		total += here > there ? here - there : 0;
	}
	err = ring_slots_init(surplus, total);
	for (size_t i = 0; i < ring->n_members && !err; i++)
		err = ring_slots_hash(surplus, &ring->params, ring->members[i].name, i,
				      vnodes_of(other, map[i]), vnodes_of(ring, i));
	return err ? err : ring_slots_sort(surplus, ring->params.hash->top);
}

static bool slot_is(const struct ring_slots *slots, size_t slot, uint64_t position, uint16_t owner)
{
	return slot < slots->len && slots->positions[slot] == position &&
	       slots->owners[slot] == owner;
}

static bool slot_precedes(const struct ring_slots *slots, size_t slot, uint64_t position,
			  uint16_t owner)
{
	if (slot >= slots->len)
		return false;
	return slots->positions[slot] < position ||
	       (slots->positions[slot] == position && slots->owners[slot] < owner);
}

/* False if there is no room left. */
static bool slot_put(struct ring_slots *slots, uint64_t position, uint16_t owner)
{
	if (slots->len == slots->capacity)
		return false;
	slots->positions[slots->len] = position;
	slots->owners[slots->len] = owner;
	slots->len++;
	return true;
}

/*
 * @old without @gone and with @come. @gone has owners of the old ring, in the
 * order of its slots; @come has owners of the new one, and @map leads from the
 * first to the second. All three ascend by position, then by name.
 *
 * @out has room for what the arithmetic of vnodes says. A hash that is no pure
 * function can make a slot that was to go unfindable; there is one too many
 * then: -EINVAL, rather than a ring that is not the one asked for.
 */
static int merge(struct ring_slots *out, const struct ring *old, const uint16_t *map,
		 const struct ring_slots *gone, const struct ring_slots *come)
{
	size_t n_gone = 0;
	size_t n_come = 0;

	for (size_t slot = 0; slot < old->len; slot++) {
		uint64_t position = old->positions[slot];
		uint16_t owner = map[old->owners[slot]];

		if (slot_is(gone, n_gone, position, old->owners[slot])) {
			n_gone++;
			continue;
		}
		for (; slot_precedes(come, n_come, position, owner); n_come++) {
			if (!slot_put(out, come->positions[n_come], come->owners[n_come]))
				return -EINVAL;
		}
		if (!slot_put(out, position, owner))
			return -EINVAL;
	}
	for (; n_come < come->len; n_come++) {
		if (!slot_put(out, come->positions[n_come], come->owners[n_come]))
			return -EINVAL;
	}
	return 0;
}

/* Give @ring, which has its members already, the positions that follow from those of @old. */
static int derive_slots(struct ring *ring, const struct ring *old, uint16_t *old_to_new,
			uint16_t *new_to_old)
{
	struct ring_slots slots = {0};
	struct ring_slots gone = {0};
	struct ring_slots come = {0};
	int err = ring_members_vnodes(ring);

	if (err < 0)
		return err;
	err = ring_slots_init(&slots, err);
	if (err)
		goto out;
	ring_members_map(old, ring, old_to_new);
	ring_members_map(ring, old, new_to_old);
	err = hash_surplus(&gone, old, ring, old_to_new);
	if (err)
		goto out;
	err = hash_surplus(&come, ring, old, new_to_old);
	if (err)
		goto out;
	err = merge(&slots, old, old_to_new, &gone, &come);
	if (err)
		goto out;
	ring_take_slots(ring, &slots);
out:
	ring_slots_release(&slots);
	ring_slots_release(&gone);
	ring_slots_release(&come);
	return err;
}

int ring_derive(struct ring **out, const struct ring *old, const struct ring_member *members,
		size_t n_members)
{
	uint16_t *old_to_new;
	uint16_t *new_to_old;
	struct ring *ring;
	int err;

	if (!old->params.hash->hash)
		return -EINVAL;
	if (old->params.placement == RING_CAPPED)
		return ring_build(out, &old->params, members, n_members);
	err = ring_start(&ring, &old->params, members, n_members, NULL);
	if (err)
		return err;
	old_to_new = ring_array_alloc(old->n_members, sizeof(*old_to_new));
	new_to_old = ring_array_alloc(n_members, sizeof(*new_to_old));
	if (old_to_new && new_to_old)
		err = derive_slots(ring, old, old_to_new, new_to_old);
	else
		err = -ENOMEM;
	free(old_to_new);
	free(new_to_old);
	if (err)
		ring_free(ring);
	else
		*out = ring;
	return err;
}

int ring_add(struct ring **out, const struct ring *old, const struct ring_member *member)
{
	struct ring_member *members;
	int err;

	members = ring_array_alloc(old->n_members + 1, sizeof(*members));
	if (!members)
		return -ENOMEM;
	memcpy(members, old->members, old->n_members * sizeof(*members));
	members[old->n_members] = *member;
	err = ring_derive(out, old, members, old->n_members + 1);
	free(members);
	return err;
}

int ring_remove(struct ring **out, const struct ring *old, const char *name)
{
	uint16_t leaver = ring_find_member(old, name);
	struct ring_member *members;
	int err;

	if (leaver == RING_NONE)
		return -ENOENT;
	members = ring_array_alloc(old->n_members - 1, sizeof(*members));
	if (!members)
		return -ENOMEM;
	memcpy(members, old->members, leaver * sizeof(*members));
	memcpy(members + leaver, old->members + leaver + 1,
	       (old->n_members - 1 - leaver) * sizeof(*members));
	err = ring_derive(out, old, members, old->n_members - 1);
	free(members);
	return err;
}
