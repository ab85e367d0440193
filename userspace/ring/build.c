/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/build.h"

/*
 * What ring_start() allocates. A ring of given positions has a circle but no
 * hash, so it brings its own struct ring_hash.
 */
struct ring_store {
	struct ring ring;
	struct ring_hash given;
};

int ring_start(struct ring **out, const struct ring_params *params,
	       const struct ring_member *members, size_t n_members, uint16_t *ranks)
{
	struct ring_store *store;
	struct ring *ring;
	int err = -ENOMEM;

	if (n_members > RING_MEMBERS_MAX)
		return -ENOSPC;
	store = calloc(1, sizeof(*store));
	if (!store)
		return -ENOMEM;
	ring = (struct ring *)store;
	ring->params = *params;
	ring->n_members = n_members;
	ring->members = ring_array_alloc(n_members, sizeof(*ring->members));
	if (ring->members)
		err = ring_members_sort(ring->members, members, n_members, ranks);
	if (err)
		ring_free(ring);
	else
		*out = ring;
	return err;
}

void ring_take_slots(struct ring *ring, struct ring_slots *slots)
{
	ring->positions = slots->positions;
	ring->owners = slots->owners;
	ring->len = slots->len;
	*slots = (struct ring_slots){0};
}

/* Give the members of a plain ring the positions of their vnodes. */
static int place_plain(struct ring *ring)
{
	const struct ring_params *params = &ring->params;
	struct ring_slots slots = {0};
	int err = ring_members_vnodes(ring);

	if (err < 0)
		return err;
	err = ring_slots_init(&slots, err);
	for (size_t i = 0; i < ring->n_members && !err; i++) {
		const struct ring_member *member = &ring->members[i];

		err = ring_slots_hash(&slots, params, member->name, i, 0,
				      ring_vnodes(params->vnodes, member->weight_milli));
	}
	if (!err)
		err = ring_slots_sort(&slots, params->hash->top);
	if (!err)
		ring_take_slots(ring, &slots);
	ring_slots_release(&slots);
	return err;
}

static int check_params(const struct ring_params *params)
{
	if (!params->hash || !params->hash->hash)
		return -EINVAL;
	if (params->placement == RING_CAPPED)
		return ring_capped_check(params);
	if (params->placement != RING_PLAIN || !params->vnodes ||
	    params->vnodes > RING_POSITIONS_MAX_LEN)
		return -EINVAL;
	return 0;
}

int ring_build(struct ring **out, const struct ring_params *params,
	       const struct ring_member *members, size_t n_members)
{
	struct ring *ring;
	int err = check_params(params);

	if (!err)
		err = ring_start(&ring, params, members, n_members, NULL);
	if (err)
		return err;
	err = params->placement == RING_CAPPED ? ring_capped_place(ring) : place_plain(ring);
	if (err)
		ring_free(ring);
	else
		*out = ring;
	return err;
}

/* Fill @slots in ascending order of owners, as the sort by position wants to find them. */
static int take_given_slots(struct ring_slots *slots, const uint16_t *ranks, size_t n_members,
			    const uint64_t *positions, const uint16_t *owners, size_t len)
{
	uint32_t *starts = calloc(n_members + 1, sizeof(*starts));

	if (!starts)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		starts[ranks[owners[i]] + 1]++;
	for (size_t rank = 0; rank < n_members; rank++)
		starts[rank + 1] += starts[rank];
	for (size_t i = 0; i < len; i++) {
		uint16_t rank = ranks[owners[i]];
		uint32_t slot = starts[rank]++;

		slots->positions[slot] = positions[i];
		slots->owners[slot] = rank;
	}
	slots->len = len;
	free(starts);
	return 0;
}

/* The two limits first: what is checked after them is as long as they allow. */
static int check_given(uint64_t top, size_t n_members, const uint64_t *positions,
		       const uint16_t *owners, size_t len)
{
	if (n_members > RING_MEMBERS_MAX || len > RING_POSITIONS_MAX_LEN)
		return -ENOSPC;
	for (size_t i = 0; i < len; i++) {
		if (positions[i] > top || owners[i] >= n_members)
			return -ERANGE;
	}
	return 0;
}

int ring_from_positions(struct ring **out, uint64_t top, const struct ring_member *members,
			size_t n_members, const uint64_t *positions, const uint16_t *owners,
			size_t len)
{
	const struct ring_params none = {0};
	struct ring_slots slots = {0};
	struct ring_store *store;
	struct ring *ring = NULL;
	uint16_t *ranks;
	int err = check_given(top, n_members, positions, owners, len);

	if (err)
		return err;
	ranks = ring_array_alloc(n_members, sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	err = ring_start(&ring, &none, members, n_members, ranks);
	if (err)
		goto out;
	err = ring_slots_init(&slots, len);
	if (err)
		goto out;
	err = take_given_slots(&slots, ranks, n_members, positions, owners, len);
	if (err)
		goto out;
	err = ring_slots_sort(&slots, top);
	if (err)
		goto out;
	ring_take_slots(ring, &slots);
	store = (struct ring_store *)ring;
	store->given.top = top;
	ring->params.hash = &store->given;
	*out = ring;
	ring = NULL;
out:
	ring_slots_release(&slots);
	ring_free(ring);
	free(ranks);
	return err;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	free(ring->members);
	free(ring->positions);
	free(ring->owners);
	free(ring);
}

bool ring_params_equal(const struct ring_params *a, const struct ring_params *b)
{
	return a->hash->hash == b->hash->hash && a->hash->top == b->hash->top &&
	       a->seed == b->seed && a->placement == b->placement && a->vnodes == b->vnodes &&
	       a->cells == b->cells && a->epsilon_milli == b->epsilon_milli;
}

bool ring_equal(const struct ring *a, const struct ring *b)
{
	return ring_params_equal(&a->params, &b->params) && a->n_members == b->n_members &&
	       a->len == b->len &&
	       memcmp(a->members, b->members, a->n_members * sizeof(*a->members)) == 0 &&
	       memcmp(a->positions, b->positions, a->len * sizeof(*a->positions)) == 0 &&
	       memcmp(a->owners, b->owners, a->len * sizeof(*a->owners)) == 0;
}
