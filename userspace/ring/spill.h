/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bounded loads: parts of the circle that an overloaded member lends to the next one
 * clockwise that has room. The ring underneath stays what it is; the spills lie on top.
 *
 * Only members' loads are measured, not what a part of the circle attracts. So each step
 * takes a member's load to be spread evenly over its hashes, and the next one sees what
 * came of it. A member lends its hashes from 0 upwards and takes the last lent back
 * first: what it lends is a matter of how much, and hosts that measure about the same
 * lend about the same.
 *
 * Source: Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads",
 * SODA 2018: no bin gets more than c times the mean, and what is too much goes on
 * clockwise. There single balls are placed; here parts of the circle are, bit by bit.
 *
 * Pure, as all of userspace/ring: time is counted in steps.
 */
#ifndef RINGLB_RING_SPILL_H
#define RINGLB_RING_SPILL_H

#include "ring/ring.h"

/* After it took something back a member waits so many steps before it takes more. */
#define SPILL_REST 3
/*
 * A member that took too much back gives the same away again, and halves the distance
 * next time. Where it ended up it stays for so many steps before it tries again; for
 * twice as many each time that it fails, up to the latter.
 */
#define SPILL_PATIENCE	   30
#define SPILL_PATIENCE_MAX 960

/**
 * struct spill - hashes that another member than their owner gets
 * @first, @last: both included; never wraps, so @first <= @last
 * @owner, @to: indexes of the ring's members. If they are the same these hashes came
 *	back as too much for others, and stay...
 * @until: ...up to this step
 */
struct spill {
	uint64_t first;
	uint64_t last;
	uint16_t owner;
	uint16_t to;
	uint64_t until;
};

/* Ascending, without overlaps. All zero: nothing is spilled. */
struct spills {
	struct spill *list;
	size_t len;
	size_t capacity;
};

/**
 * struct spill_member - a member's load, and what is known of it from earlier steps
 * @load: measured, in any unit, the same for all
 * @takes: it may get new flows
 *
 * All zero for a new member. The rest belongs to spill_step().
 *
 * @pending: changes of the load that are done and not yet measured, by estimate
 * @bad: with so many of its hashes spilled it was over its cap...
 * @wait: ...which counts for so many steps more
 * @patience: what @wait starts with; 0: SPILL_PATIENCE
 * @good: hashes that were spilled before it last took some back...
 * @trial: ...of which it is seen within so many steps if they were too many
 * @took: it has taken some back since it last was over its cap
 * @rest: steps until it may take back
 */
struct spill_member {
	double load;
	bool takes;
	double pending;
	ring_length bad;
	ring_length good;
	uint32_t wait;
	uint32_t patience;
	uint32_t trial;
	bool took;
	uint32_t rest;
};

/**
 * struct spill_terms
 * @step: number of this step; each has a higher one than that before
 * @cap: no member is to have more than this times its weight's part of all load; > 1
 * @load_min: below this load of all members together nothing new is spilled, and below
 *	half of it all is given back
 */
struct spill_terms {
	uint64_t step;
	double cap;
	double load_min;
};

/**
 * spill_step() - one step towards loads within the cap
 * @out: receives the new spills; spills_release() them
 * @ring: only read
 * @now: what is spilled already, of the same ring
 * @members: parallel to ring->members; remembers
 *
 * Who is over its cap spills as many hashes as bring it half way from there to where it
 * may take some back, which is (1 + (cap - 1) / 2) times its part. Each goes to the next
 * distinct member clockwise that stays within its own cap with it; hashes that nobody
 * has room for stay. Who is over its cap with next to nothing of its own left returns what
 * it borrowed. To be called once for each time constant of the measurement.
 *
 * O(positions + spills), and the way from each new spill to who has room for it.
 *
 * Return: 1; 0 if nothing changes, then *@out is as it was; -ENOMEM.
 */
int spill_step(struct spills *out, const struct ring *ring, const struct spills *now,
	       struct spill_member *members, const struct spill_terms *terms);

/**
 * spills_keep() - what stays of some spills on another ring
 * @out: receives them; spills_release() it
 * @ring: the new one
 * @map: map[i] is the index in @ring of the member i that @now speaks of, or RING_NONE
 * @takes: parallel to ring->members: it may get new flows
 *
 * Hashes that have another owner now, or are with a member that takes none, are spilled
 * no more. Return: 0 or -ENOMEM.
 */
int spills_keep(struct spills *out, const struct spills *now, const struct ring *ring,
		const uint16_t *map, const bool *takes);

/**
 * spills_lay() - a ring with spills on top
 * @out: receives a ring to be searched and compared; free it with ring_free(). It has the
 *	members and params of @ring, but is not what these make: never ring_derive() it
 *
 * Return: 0; -ENOSPC above RING_POSITIONS_MAX_LEN positions; -ENOMEM.
 */
int spills_lay(struct ring **out, const struct ring *ring, const struct spills *spills);

/**
 * spills_sum() - how many hashes each member has lent and borrowed
 * @lent, @borrowed: receive an entry for each of @n members
 */
void spills_sum(const struct spills *spills, size_t n, ring_length *lent, ring_length *borrowed);

/** spills_add() - append a spill, at one with its equal neighbour. Return: 0 or -ENOMEM. */
int spills_add(struct spills *spills, const struct spill *spill);

/* Free what is inside; the struct is empty afterwards. */
void spills_release(struct spills *spills);

#endif
