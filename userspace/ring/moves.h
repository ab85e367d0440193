/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Moving arcs: the parts of the circle whose owner has changed and whose old flows
 * may still be there, from the change until they are gone.
 *
 * A move knows the previous owner and until when the arc is learning: so long a flow
 * that nobody remembers may be an old one. Afterwards only remembered flows count,
 * and when none of them is left the arc settles. The owner itself is not in a move;
 * it is what the current ring says.
 *
 * Backends are told apart by id, not by name: a name that came back with another
 * address is another backend. Works on the whole 64-bit circle. Pure: the clock is an
 * argument, in milliseconds of any clock that is not set back.
 */
#ifndef RINGLB_RING_MOVES_H
#define RINGLB_RING_MOVES_H

#include "ring/ring.h"

/**
 * struct move - one moving arc
 * @first, @last: its hashes, both included; never wraps, so @first <= @last
 * @previous: id of the previous owner, or RING_NONE if it is dead or there was none
 * @tcp_until_ms: TCP flows of it that nobody remembers may turn up until then; 0: over
 * @other_until_ms: the same for other protocols. Both 0: only remembered flows count,
 *	and @previous merely tells whose they most likely are
 */
struct move {
	uint64_t first;
	uint64_t last;
	uint16_t previous;
	int64_t tcp_until_ms;
	int64_t other_until_ms;
};

/* Ascending, without overlaps. All zero: nothing moves. */
struct moves {
	struct move *list;
	size_t len;
	size_t capacity;
};

/**
 * struct moves_terms - on what terms arcs move
 * @dead: dead[id] is true if that backend's flows have nowhere to go back to; of
 *	RING_NONE + 1 entries, or NULL for none
 */
struct moves_terms {
	int64_t now_ms;
	int64_t tcp_learn_ms;
	int64_t other_learn_ms;
	const bool *dead;
};

/**
 * struct moves_ring - a ring whose owners are told apart by id
 * @positions: @len of them, ascending; of equal ones the first has the arc
 * @owners: @len of them: indices into @ids; or, if that is NULL, ids or RING_NONE
 */
struct moves_ring {
	const uint64_t *positions;
	const uint16_t *owners;
	const uint32_t *ids;
	size_t len;
};

/**
 * moves_change() - the moving arcs after a step from one ring to another
 * @out: receives the new list; moves_release() it
 * @now: what moves already, on top of @old_ring
 *
 * A settled arc that changes its owner starts to learn, with the old owner as
 * previous. One that is learning keeps its previous owner and its times, as the
 * flows that its owner of the meantime got are remembered. One that has learned
 * starts over with that owner as previous. A learning one that is given back to its
 * previous owner has learned, with the owner of the meantime as previous. A dead owner
 * leaves no claim.
 *
 * One pass over both rings. Return: 0; -ENOMEM, then @out is left as it was.
 */
int moves_change(struct moves *out, const struct moves *now, const struct moves_ring *old_ring,
		 const struct moves_ring *new_ring, const struct moves_terms *terms);

/**
 * moves_expire() - end learning times that have passed
 *
 * Return: number of moves that changed.
 */
size_t moves_expire(struct moves *moves, int64_t now_ms);

/**
 * moves_settle() - drop the moves that have learned and hold nobody any more
 * @held: held[i] is the number of remembered flows in list[i] whose backend is not
 *	the arc's owner
 *
 * Return: number of moves dropped.
 */
size_t moves_settle(struct moves *moves, const uint32_t *held);

/** moves_find() - index of the move that @hash lies in, or -1 */
ptrdiff_t moves_find(const struct moves *moves, uint64_t hash);

/** moves_learning() - true if unremembered flows may still be the previous owner's */
bool moves_learning(const struct move *move);

/**
 * struct moves_claim - what one backend still has of the moving arcs
 * @arcs: number of moves whose previous owner it is
 * @learning: how many of them are learning: unremembered flows of it may turn up
 * @length: hashes in these arcs
 * @tcp_until_ms, @other_until_ms: the latest of the arcs' learning times; 0: over
 */
struct moves_claim {
	size_t arcs;
	size_t learning;
	ring_length length;
	int64_t tcp_until_ms;
	int64_t other_until_ms;
};

/**
 * moves_claims() - what each of some backends still has of the moving arcs
 * @ids: @n of them, each below RING_NONE and at most once
 * @claims: receives @n claims, parallel to @ids
 *
 * One pass over the moves. Return: 0; -ENOMEM, then @claims is as it was.
 */
int moves_claims(const struct moves *moves, const uint32_t *ids, size_t n,
		 struct moves_claim *claims);

/* A slot of a merged ring that moves, and the index in the list of the move it lies in. */
struct moving_slot {
	uint32_t slot;
	uint32_t move;
};

/**
 * struct moving_ring - positions of a ring and of the edges of its moves, merged
 * @owners: by id
 * @moving: the slots that move, ascending
 */
struct moving_ring {
	uint64_t *positions;
	uint16_t *owners;
	size_t len;
	struct moving_slot *moving;
	size_t n_moving;
};

/**
 * moves_merge() - lay the edges of all moves into a ring
 * @out: receives the merged ring; moving_ring_release() it
 * @ring: owners by index
 * @ids: ids[i] is the id of ring->members[i]
 *
 * Every hash has in @out the owner that it has in @ring, and is in the move that
 * moves_find() says. Without moves @out is @ring itself, by id. In an empty @ring the
 * moves alone make the positions, and the owner is RING_NONE.
 *
 * Return: 0; -ENOSPC above RING_POSITIONS_MAX_LEN positions; -ENOMEM.
 */
int moves_merge(struct moving_ring *out, const struct ring *ring, const uint32_t *ids,
		const struct moves *moves);

/** moves_add() - append a move at the end, one with its equal neighbour. Return: 0 or -ENOMEM. */
int moves_add(struct moves *moves, const struct move *move);

/**
 * moves_read() - append what moves in one slot of a merged ring, for reading back
 * @positions: of the merged ring
 * @slot: of all that move, in ascending order
 * @move: what is there; @first and @last do not count
 *
 * After all slots the list says of every hash what the one that was merged said.
 *
 * Return: 0 or -ENOMEM.
 */
int moves_read(struct moves *moves, const uint64_t *positions, size_t slot,
	       const struct move *move);

/* Free what is inside; the struct is empty afterwards. */
void moves_release(struct moves *moves);
void moving_ring_release(struct moving_ring *ring);

#endif
