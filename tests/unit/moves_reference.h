/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Moving arcs, the obvious way: the state of one hash, changed step by step as the
 * contract of moves_change() says. Knows no arcs and no positions.
 */
#ifndef RINGLB_TESTS_MOVES_REFERENCE_H
#define RINGLB_TESTS_MOVES_REFERENCE_H

#include "ring/moves.h"
#include "tests/unit/ring_reference.h"

#define IDS_LEN	  9 /* ids that random rings use: 0 to IDS_LEN - 1 */
#define DEAD_LEN  (RING_NONE + 1)
#define SLOTS_MAX 16

/* One hash: who owns it, and the move that it lies in, if it moves. */
struct place {
	uint64_t hash;
	uint16_t owner;
	bool moves;
	uint16_t previous;
	int64_t tcp_until_ms;
	int64_t other_until_ms;
};

static inline bool is_dead(const struct moves_terms *terms, uint16_t id)
{
	return id == RING_NONE || (terms->dead && terms->dead[id]);
}

static inline void place_end_learning(struct place *place, uint16_t previous)
{
	place->previous = previous;
	place->tcp_until_ms = 0;
	place->other_until_ms = 0;
}

static inline bool place_learns(const struct place *place)
{
	return place->tcp_until_ms != 0 || place->other_until_ms != 0;
}

static inline void place_change(struct place *place, uint16_t owner,
				const struct moves_terms *terms)
{
	uint16_t was = place->owner;

	place->owner = owner;
	/* A dead backend has no claim, be it of long ago or of now. */
	if (place->moves && is_dead(terms, place->previous))
		place_end_learning(place, RING_NONE);
	if (was == owner)
		return;
	if (place_learns(place)) {
		/* Who had it keeps it; back with him, nothing is left to learn. */
		if (place->previous == owner)
			place_end_learning(place, is_dead(terms, was) ? RING_NONE : was);
		return;
	}
	if (is_dead(terms, was)) {
		/* Nobody is his own predecessor. */
		if (place->previous == owner)
			place->previous = RING_NONE;
		return;
	}
	place->moves = true;
	place->previous = was;
	place->tcp_until_ms = terms->now_ms + terms->tcp_learn_ms;
	place->other_until_ms = terms->now_ms + terms->other_learn_ms;
}

static inline void place_expire(struct place *place, int64_t now_ms)
{
	if (place->tcp_until_ms <= now_ms)
		place->tcp_until_ms = 0;
	if (place->other_until_ms <= now_ms)
		place->other_until_ms = 0;
}

static inline void place_settle(struct place *place, bool held)
{
	if (!place->moves || held || place_learns(place))
		return;
	place->moves = false;
	place->previous = RING_NONE;
}

static inline ptrdiff_t find_by_walk(const struct moves *moves, uint64_t hash)
{
	for (size_t i = 0; i < moves->len; i++)
		if (moves->list[i].first <= hash && hash <= moves->list[i].last)
			return (ptrdiff_t)i;
	return -1;
}

/* A ring whose members are named by id. */
static inline struct ring *ring_of_ids(const uint64_t *positions, const uint16_t *ids, size_t len)
{
	struct ring_member members[IDS_LEN] = {};
	struct ring *ring = NULL;

	for (uint16_t id = 0; id < IDS_LEN; id++)
		snprintf(members[id].name, sizeof(members[id].name), "%u", id);
	assert_int_equal(
		ring_from_positions(&ring, UINT64_MAX, members, IDS_LEN, positions, ids, len), 0);
	return ring;
}

static inline uint16_t id_of_member(const struct ring *ring, uint16_t member)
{
	return member == RING_NONE ? RING_NONE
				   : (uint16_t)strtoul(ring->members[member].name, NULL, 10);
}

static inline uint16_t id_by_walk(const struct ring *ring, uint64_t hash)
{
	return id_of_member(ring, owner_by_walk(ring, hash));
}

/* ids[i] of ring->members[i], for moves_merge(). */
static inline void list_ids(const struct ring *ring, uint32_t *ids)
{
	for (size_t m = 0; m < ring->n_members; m++)
		ids[m] = id_of_member(ring, (uint16_t)m);
}

/* moves_change() between two rings whose members are named by id. */
static inline int change_moves(struct moves *out, const struct moves *now,
			       const struct ring *before, const struct ring *after,
			       const struct moves_terms *terms)
{
	uint32_t old_ids[IDS_LEN], new_ids[IDS_LEN];
	const struct moves_ring from = {before->positions, before->owners, old_ids, before->len};
	const struct moves_ring to = {after->positions, after->owners, new_ids, after->len};

	list_ids(before, old_ids);
	list_ids(after, new_ids);
	return moves_change(out, now, &from, &to, terms);
}

#endif
