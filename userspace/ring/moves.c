/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "ring/moves.h"

/* A stretch of the circle that changes its owner; does not wrap. */
struct stretch {
	uint64_t first;
	uint64_t last;
	uint16_t old_id;
	uint16_t new_id;
};

/* Both rings from 0 to the top, by stretches without a position. */
struct walk {
	const struct moves_ring *old_ring;
	const struct moves_ring *new_ring;
	size_t old_slot;
	size_t new_slot;
	uint64_t first; /* of the next stretch */
	bool over;
};

bool moves_learning(const struct move *move)
{
	return move->tcp_until_ms || move->other_until_ms;
}

int moves_add(struct moves *moves, const struct move *move)
{
	struct move *last = moves->len ? &moves->list[moves->len - 1] : NULL;

	if (last && last->last + 1 == move->first && last->previous == move->previous &&
	    last->tcp_until_ms == move->tcp_until_ms &&
	    last->other_until_ms == move->other_until_ms) {
		last->last = move->last;
		return 0;
	}
	if (moves->len == moves->capacity) {
		size_t capacity = moves->capacity ? 2 * moves->capacity : 64;
		void *grown = realloc(moves->list, capacity * sizeof(*moves->list));

		if (!grown)
			return -ENOMEM;
		moves->list = grown;
		moves->capacity = capacity;
	}
	moves->list[moves->len++] = *move;
	return 0;
}

int moves_read(struct moves *moves, const uint64_t *positions, size_t slot, const struct move *move)
{
	struct move read = *move;

	/* Of equal positions the first has the arc and the others have no hash. */
	if (slot && positions[slot - 1] == positions[slot])
		return 0;
	/* Slot 0 does not wrap: moves_merge() puts a position at the top if it moves. */
	read.first = slot ? positions[slot - 1] + 1 : 0;
	read.last = positions[slot];
	return moves_add(moves, &read);
}

static bool is_gone(const struct moves_terms *terms, uint16_t id)
{
	return id == RING_NONE || (terms->dead && terms->dead[id]);
}

/* Only remembered flows count from now on, of @previous for the most part. */
static void end_learning(struct move *move, uint16_t previous)
{
	move->previous = previous;
	move->tcp_until_ms = 0;
	move->other_until_ms = 0;
}

static void start_learning(struct move *move, uint16_t previous, const struct moves_terms *terms)
{
	move->previous = previous;
	move->tcp_until_ms = terms->now_ms + terms->tcp_learn_ms;
	move->other_until_ms = terms->now_ms + terms->other_learn_ms;
}

/*
 * Add the hashes @first to @last, which were in the move @was (or NULL) and change
 * as @stretch says (or NULL). See moves_change() for the rules.
 */
static int add_piece(struct moves *out, uint64_t first, uint64_t last, const struct move *was,
		     const struct stretch *stretch, const struct moves_terms *terms)
{
	struct move move = was ? *was : (struct move){.previous = RING_NONE};

	move.first = first;
	move.last = last;
	if (was && is_gone(terms, was->previous))
		end_learning(&move, RING_NONE);
	if (!stretch)
		return was ? moves_add(out, &move) : 0;
	if (was && moves_learning(&move)) {
		if (move.previous == stretch->new_id)
			end_learning(&move,
				     is_gone(terms, stretch->old_id) ? RING_NONE : stretch->old_id);
		return moves_add(out, &move);
	}
	if (!is_gone(terms, stretch->old_id))
		start_learning(&move, stretch->old_id, terms);
	else if (!was)
		return 0;
	else if (move.previous == stretch->new_id)
		move.previous = RING_NONE;
	return moves_add(out, &move);
}

static uint16_t id_at(const struct moves_ring *ring, size_t slot)
{
	uint16_t owner;

	if (!ring->len)
		return RING_NONE;
	owner = ring->owners[slot < ring->len ? slot : 0];
	return ring->ids && owner != RING_NONE ? (uint16_t)ring->ids[owner] : owner;
}

static uint64_t end_at(const struct moves_ring *ring, size_t slot)
{
	return slot < ring->len ? ring->positions[slot] : UINT64_MAX;
}

static size_t skip_position(const struct moves_ring *ring, size_t slot, uint64_t position)
{
	while (slot < ring->len && ring->positions[slot] == position)
		slot++;
	return slot;
}

/* The next stretch with two owners. Return: false if there is none. */
static bool next_stretch(struct walk *walk, struct stretch *out)
{
	while (!walk->over) {
		uint64_t old_end = end_at(walk->old_ring, walk->old_slot);
		uint64_t new_end = end_at(walk->new_ring, walk->new_slot);

		out->first = walk->first;
		out->last = old_end < new_end ? old_end : new_end;
		out->old_id = id_at(walk->old_ring, walk->old_slot);
		out->new_id = id_at(walk->new_ring, walk->new_slot);
		walk->old_slot = skip_position(walk->old_ring, walk->old_slot, out->last);
		walk->new_slot = skip_position(walk->new_ring, walk->new_slot, out->last);
		walk->first = out->last + 1;
		walk->over = out->last == UINT64_MAX;
		if (out->old_id != out->new_id)
			return true;
	}
	return false;
}

/* Walk both ascending lists at once, a piece at a time that lies in the same of each. */
static int sweep(struct moves *out, const struct moves *now, struct walk *walk,
		 const struct moves_terms *terms)
{
	struct stretch stretch;
	bool changes = next_stretch(walk, &stretch);
	uint64_t at = 0;
	size_t m = 0;
	int err = 0;

	while (!err) {
		const struct move *was = m < now->len ? &now->list[m] : NULL;
		uint64_t last = UINT64_MAX;

		if (!was && !changes)
			break;
		/* The piece ends where either list begins or ends something. */
		if (was)
			last = was->first > at ? was->first - 1 : was->last;
		if (changes && stretch.first > at && stretch.first - 1 < last)
			last = stretch.first - 1;
		if (changes && stretch.first <= at && stretch.last < last)
			last = stretch.last;
		err = add_piece(out, at, last, was && was->first <= at ? was : NULL,
				changes && stretch.first <= at ? &stretch : NULL, terms);
		m += was && was->last == last;
		if (changes && stretch.last == last)
			changes = next_stretch(walk, &stretch);
		if (last == UINT64_MAX)
			break;
		at = last + 1;
	}
	return err;
}

int moves_change(struct moves *out, const struct moves *now, const struct moves_ring *old_ring,
		 const struct moves_ring *new_ring, const struct moves_terms *terms)
{
	struct walk walk = {.old_ring = old_ring, .new_ring = new_ring};
	struct moves result = {};
	int err = sweep(&result, now, &walk, terms);

	if (err)
		moves_release(&result);
	else
		*out = result;
	return err;
}

size_t moves_expire(struct moves *moves, int64_t now_ms)
{
	size_t changed = 0;

	for (size_t i = 0; i < moves->len; i++) {
		struct move *move = &moves->list[i];
		bool tcp = move->tcp_until_ms && move->tcp_until_ms <= now_ms;
		bool other = move->other_until_ms && move->other_until_ms <= now_ms;

		if (tcp)
			move->tcp_until_ms = 0;
		if (other)
			move->other_until_ms = 0;
		changed += tcp || other;
	}
	return changed;
}

size_t moves_settle(struct moves *moves, const uint32_t *held)
{
	size_t kept = 0, before = moves->len;

	for (size_t i = 0; i < before; i++)
		if (held[i] || moves_learning(&moves->list[i]))
			moves->list[kept++] = moves->list[i];
	moves->len = kept;
	return before - kept;
}

ptrdiff_t moves_find(const struct moves *moves, uint64_t hash)
{
	size_t low = 0, high = moves->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (moves->list[middle].last < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low < moves->len && moves->list[low].first <= hash ? (ptrdiff_t)low : -1;
}

void moves_release(struct moves *moves)
{
	free(moves->list);
	*moves = (struct moves){};
}
