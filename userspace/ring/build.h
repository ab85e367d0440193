/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to this room: the steps from which ring_build(), ring_from_positions()
 * and ring_derive() are made. Nothing outside userspace/ring includes this.
 *
 * A list of slots is made in ascending order of its owners, and the sort by
 * position keeps that order among equals. Members ascend by name, so equal
 * positions ascend by name without one comparison of names.
 */
#ifndef RINGLB_RING_BUILD_H
#define RINGLB_RING_BUILD_H

#include "ring/ring.h"

/**
 * struct ring_slots - parallel arrays of positions and owners that may grow
 * @len: entries in use
 * @capacity: entries that there is room for
 *
 * All zero is an empty list.
 */
struct ring_slots {
	uint64_t *positions;
	uint16_t *owners;
	size_t len;
	size_t capacity;
};

/** ring_array_alloc() - malloc() that never has to be asked for 0 bytes */
void *ring_array_alloc(size_t n, size_t size_bytes);

/**
 * ring_slots_init() - an empty list with room for @capacity slots
 *
 * Return: 0 or -ENOMEM; after an error ring_slots_release() is still allowed.
 */
int ring_slots_init(struct ring_slots *slots, size_t capacity);

/** ring_slots_release() - free the arrays; an empty or released list is allowed */
void ring_slots_release(struct ring_slots *slots);

/**
 * ring_slots_hash() - append vnodes @first to @end - 1 of one member
 * @slots: must have room
 * @owner: index to store with each position
 *
 * Return: 0; -ERANGE if the hash returns a place above its top.
 */
int ring_slots_hash(struct ring_slots *slots, const struct ring_params *params, const char *name,
		    uint16_t owner, uint64_t first, uint64_t end);

/**
 * ring_slots_sort() - sort by position, keeping the order of equals
 * @top: no position is higher
 *
 * O(len), for any positions; needs as much memory again while it runs.
 *
 * Return: 0 or -ENOMEM, with the slots as they were.
 */
int ring_slots_sort(struct ring_slots *slots, uint64_t top);

/**
 * ring_members_sort() - check members and copy them, ascending by name
 * @sorted: receives @n_members entries; the bytes behind each name are zeroed
 * @ranks: receives for each entry of @members its index in @sorted; may be NULL
 *
 * Return: 0; -EINVAL, -EEXIST and -ENOMEM as ring_build().
 */
int ring_members_sort(struct ring_member *sorted, const struct ring_member *members,
		      size_t n_members, uint16_t *ranks);

/**
 * ring_members_map() - where the members of one ring stand in another
 * @map: receives for each member of @from its index in @to, or RING_NONE
 */
void ring_members_map(const struct ring *from, const struct ring *to, uint16_t *map);

/**
 * ring_members_vnodes() - count the vnodes of all members of a ring
 *
 * Return: the number, or -ENOSPC above RING_POSITIONS_MAX_LEN.
 */
int ring_members_vnodes(const struct ring *ring);

/**
 * ring_start() - a ring with members and no positions yet
 * @out: receives the ring
 * @params: copied
 * @ranks: as in ring_members_sort()
 *
 * Return: as ring_build(), of what concerns the members.
 */
int ring_start(struct ring **out, const struct ring_params *params,
	       const struct ring_member *members, size_t n_members, uint16_t *ranks);

/** ring_capped_check() - 0 if @params, which have a hash, suit a capped ring, or -EINVAL */
int ring_capped_check(const struct ring_params *params);

/**
 * ring_capped_place() - give the members of a capped ring their arcs
 *
 * Return: 0; -EDOM, -ERANGE and -ENOMEM as ring_build(); then @ring has no arcs.
 */
int ring_capped_place(struct ring *ring);

/** ring_take_slots() - hand the sorted arrays over to a ring; @slots is empty then */
void ring_take_slots(struct ring *ring, struct ring_slots *slots);

#endif
