/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to this room: the circle in pieces that have one owner and one spill, or none. */
#ifndef RINGLB_RING_SPILL_WALK_H
#define RINGLB_RING_SPILL_WALK_H

#include "ring/spill.h"

/**
 * struct spill_walk - a walk from 0 to the top
 * @ring, @spills: to be set; the rest is zero at the start
 * @first, @last: the piece
 * @owner: whose it is by @ring
 * @spill: that it is in, or NULL
 * @slot: of @ring that has it; ring->len past the last position, where slot 0 has it
 */
struct spill_walk {
	const struct ring *ring;
	const struct spills *spills;
	uint64_t first;
	uint64_t last;
	uint16_t owner;
	const struct spill *spill;
	size_t slot;
	uint64_t at;
	size_t index;
	bool done;
};

/** spill_walk_next() - go on to the next piece. Return: false past the top. */
bool spill_walk_next(struct spill_walk *walk);

static inline ring_length spill_length(const struct spill *spill)
{
	return (ring_length)(spill->last - spill->first) + 1;
}

#endif
