/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bounded loads in hash space: the circle in equal cells, each of which goes to the
 * member that comes by first and still has room.
 *
 * Every member walks over all cells in an order of its own, a permutation that follows
 * from its name, at a pace that follows from its weight; where and when it walks does
 * not depend on who else is there. Without caps a cell's owner is thus the one of the
 * earliest visit, as in rendezvous hashing, and a change moves what it must and no
 * more. A member that is full keeps its earliest cells; the others go to whom they
 * would have without it. So the two things that are wanted, fair shares and few moves,
 * meet in one number, epsilon. With C cells and N members of equal weight, shares
 * differ by about sqrt(N / 2C) before the cap, which is why few members get there.
 *
 * The pace: the k-th visit of a member of weight w is at (1/C + 1/(C-1) + ... +
 * 1/(C-k)) / w, which are the expected times of the first, second ... of C
 * exponential clocks. So the chance to be first at a cell is the share of weight,
 * for weights that are large beside the sum, too.
 *
 * Sources: Thaler and Ravishankar, "Using name-based mappings to increase hit rates",
 * 1998 (rendezvous); Eisenbud et al., "Maglev", NSDI 2016, section 3.4 (a permutation
 * for each backend); Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with
 * Bounded Loads", SODA 2018 (the cap); Gale and Shapley, "College Admissions and the
 * Stability of Marriage", 1962 (who keeps what); Rényi, "On the theory of order
 * statistics", 1953 (the pace).
 */
#include <errno.h>
#include <stdlib.h>

#include "ring/build.h"

#define KEYS_LEN 3 /* rounds of a permutation */
/* A walk over the most cells takes 15.2 of these: no overflow. */
#define TIME_ONE (1ULL << 59)
#define NEVER	 UINT64_MAX
/*
 * How far all walks are followed before what is left is looked up cell by cell: until
 * about 1 in e^5 cells has not been visited.
 */
#define WALK_TIMES 5

struct walk {
	uint32_t factors[KEYS_LEN]; /* odd */
	uint32_t inverses[KEYS_LEN];
	uint32_t offsets[KEYS_LEN];
	uint64_t start; /* a part of the first step, or all would set out at once */
	uint64_t until; /* visits from here on do not count: the member has no room */
	uint32_t weight_milli;
	uint32_t room; /* cells that it may have */
	uint32_t held; /* cells that it has */
};

/* A cell and the visit by which its owner has it. */
struct cell {
	uint64_t time; /* NEVER: nobody has it */
	uint32_t index;
	uint16_t owner;
};

struct placing {
	uint32_t cells;
	uint64_t *steps; /* steps[k]: time of the k-th visit at a weight of one thousandth */
	struct cell *held;
	struct walk *walks;
	size_t n_walks;
	struct cell *loose; /* as many as there are cells */
	size_t n_loose;
};

/* Spread what a hash of any width gives over 64 bits. Source: Steele et al., SplitMix64. */
static uint64_t spread(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
	return x ^ (x >> 31);
}

/* The inverse of an odd number modulo 2^32. Each step doubles the bits that are right. */
static uint32_t inverse_of(uint32_t odd)
{
	uint32_t inverse = odd;

	for (int i = 0; i < 4; i++)
		inverse *= 2 - odd * inverse;
	return inverse;
}

/* Shifting by half of a cell's bits or more is undone by doing it again. */
static unsigned int half_of(uint32_t cells)
{
	return ((unsigned int)__builtin_ctz(cells) + 1) / 2;
}

/* The cell that comes at @rank of a walk. */
static uint32_t cell_at(const struct walk *walk, uint32_t cells, uint32_t rank)
{
	unsigned int half = half_of(cells);
	uint32_t cell = rank;

	for (int i = 0; i < KEYS_LEN; i++) {
		cell = (cell * walk->factors[i] + walk->offsets[i]) & (cells - 1);
		cell ^= cell >> half;
	}
	return cell;
}

static uint32_t rank_of(const struct walk *walk, uint32_t cells, uint32_t cell)
{
	unsigned int half = half_of(cells);
	uint32_t rank = cell;

	for (int i = KEYS_LEN - 1; i >= 0; i--) {
		rank ^= rank >> half;
		rank = ((rank - walk->offsets[i]) * walk->inverses[i]) & (cells - 1);
	}
	return rank;
}

static uint64_t time_of(const struct placing *placing, const struct walk *walk, uint32_t rank)
{
	return (placing->steps[rank] + walk->start) / walk->weight_milli;
}

/* Members are offered in the order of names: of equal times the smaller name stays. */
static void offer(struct placing *placing, struct cell *cell, size_t member, uint64_t time)
{
	struct walk *walk = &placing->walks[member];

	if (time >= cell->time || time >= walk->until)
		return;
	if (cell->time != NEVER)
		placing->walks[cell->owner].held--;
	walk->held++;
	cell->time = time;
	cell->owner = (uint16_t)member;
}

/* Follow every walk up to one moment. */
static void follow_walks(struct placing *placing, uint64_t sum)
{
	for (size_t i = 0; i < placing->n_walks; i++) {
		const struct walk *walk = &placing->walks[i];

		for (uint32_t rank = 0; walk->weight_milli && rank < placing->cells; rank++) {
			uint64_t time = time_of(placing, walk, rank);

			if (time > WALK_TIMES * (TIME_ONE / sum))
				break;
			offer(placing, &placing->held[cell_at(walk, placing->cells, rank)], i,
			      time);
		}
	}
}

/* Find the first visit of a cell that nobody has. */
static void settle_cell(struct placing *placing, struct cell *cell)
{
	for (size_t i = 0; i < placing->n_walks; i++) {
		const struct walk *walk = &placing->walks[i];

		if (walk->weight_milli)
			offer(placing, cell, i,
			      time_of(placing, walk, rank_of(walk, placing->cells, cell->index)));
	}
}

static int compare_loose(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* Take from one over-full member what came last: @cells are all of its cells, by time. */
static void release_last(struct placing *placing, const struct cell *cells)
{
	struct walk *walk = &placing->walks[cells->owner];

	walk->until = cells[walk->room].time;
	for (uint32_t i = walk->room; i < walk->held; i++)
		placing->held[cells[i].index].time = NEVER;
	walk->held = walk->room;
}

/* Have every member within its room. Returns true if one was not. */
static bool release(struct placing *placing)
{
	placing->n_loose = 0;
	for (uint32_t i = 0; i < placing->cells; i++) {
		const struct walk *walk = &placing->walks[placing->held[i].owner];

		if (walk->held > walk->room)
			placing->loose[placing->n_loose++] = placing->held[i];
	}
	qsort(placing->loose, placing->n_loose, sizeof(*placing->loose), compare_loose);
	for (size_t i = 0; i < placing->n_loose;) {
		uint32_t held = placing->walks[placing->loose[i].owner].held;

		release_last(placing, &placing->loose[i]);
		i += held;
	}
	return placing->n_loose;
}

/*
 * What a member releases it never takes back, and while a cell is nobody's some member
 * has room, so this comes to an end.
 */
static void place(struct placing *placing, uint64_t sum)
{
	follow_walks(placing, sum);
	do {
		for (uint32_t i = 0; i < placing->cells; i++)
			if (placing->held[i].time == NEVER)
				settle_cell(placing, &placing->held[i]);
	} while (release(placing));
}

/* At least one cell for who has any weight, as a plain ring gives at least one vnode. */
static uint32_t room_of(const struct ring *ring, uint32_t weight_milli, uint64_t sum)
{
	uint64_t thousandths = (1000ULL + ring->params.epsilon_milli) * ring->params.cells;
	uint64_t room = thousandths * weight_milli / (1000 * sum);

	if (room > ring->params.cells)
		room = ring->params.cells;
	return room ? (uint32_t)room : 1;
}

static void start_walk(struct walk *walk, const uint64_t keys[KEYS_LEN], uint32_t cells)
{
	walk->until = NEVER;
	for (int i = 0; i < KEYS_LEN; i++) {
		uint64_t key = spread(keys[i]);

		walk->factors[i] = (uint32_t)key | 1;
		walk->inverses[i] = inverse_of(walk->factors[i]);
		walk->offsets[i] = (uint32_t)(key >> 32);
	}
	walk->start = (uint64_t)((ring_length)(TIME_ONE / cells) * spread(~keys[0]) >> 64);
}

/* Return: 0; -ERANGE as ring_slots_hash(); -EDOM if all rooms together are too small. */
static int start_walks(struct placing *placing, const struct ring *ring, uint64_t sum)
{
	struct ring_slots keys;
	uint64_t rooms = 0;
	int err = ring_slots_init(&keys, KEYS_LEN);

	for (size_t i = 0; i < ring->n_members && !err; i++) {
		const struct ring_member *member = &ring->members[i];
		struct walk *walk = &placing->walks[i];

		if (!member->weight_milli)
			continue;
		keys.len = 0;
		err = ring_slots_hash(&keys, &ring->params, member->name, (uint16_t)i, 0, KEYS_LEN);
		if (err)
			break;
		start_walk(walk, keys.positions, placing->cells);
		walk->weight_milli = member->weight_milli;
		walk->room = room_of(ring, member->weight_milli, sum);
		rooms += walk->room;
	}
	ring_slots_release(&keys);
	if (err)
		return err;
	return rooms < placing->cells ? -EDOM : 0;
}

/* The last place of a cell. */
static uint64_t cell_end(const struct ring_params *params, uint32_t cell)
{
	ring_length circle = (ring_length)params->hash->top + 1;

	return (uint64_t)(circle * (cell + 1) / params->cells - 1);
}

/* Neighbouring cells of one owner are one arc. */
static int take_arcs(struct ring *ring, const struct cell *held)
{
	uint32_t cells = ring->params.cells;
	struct ring_slots slots;
	size_t arcs = 1;
	int err;

	for (uint32_t i = 1; i < cells; i++)
		arcs += held[i - 1].owner != held[i].owner;
	err = ring_slots_init(&slots, arcs);
	if (err) {
		ring_slots_release(&slots);
		return err;
	}
	for (uint32_t i = 0; i < cells; i++) {
		if (i + 1 < cells && held[i].owner == held[i + 1].owner)
			continue;
		slots.positions[slots.len] = cell_end(&ring->params, i);
		slots.owners[slots.len++] = held[i].owner;
	}
	ring_take_slots(ring, &slots);
	return 0;
}

int ring_capped_check(const struct ring_params *params)
{
	if (params->cells < RING_CELLS_MIN || params->cells > RING_POSITIONS_MAX_LEN ||
	    params->cells & (params->cells - 1) || params->cells - 1 > params->hash->top)
		return -EINVAL;
	return params->epsilon_milli < 1 || params->epsilon_milli > RING_EPSILON_MAX ? -EINVAL : 0;
}

static int placing_init(struct placing *placing, const struct ring *ring)
{
	uint32_t cells = ring->params.cells;
	uint64_t time = 0;

	*placing = (struct placing){.cells = cells, .n_walks = ring->n_members};
	placing->steps = ring_array_alloc(cells, sizeof(*placing->steps));
	placing->held = ring_array_alloc(cells, sizeof(*placing->held));
	placing->loose = ring_array_alloc(cells, sizeof(*placing->loose));
	placing->walks = calloc(ring->n_members + 1, sizeof(*placing->walks));
	if (!placing->steps || !placing->held || !placing->loose || !placing->walks)
		return -ENOMEM;
	for (uint32_t i = 0; i < cells; i++) {
		placing->held[i] = (struct cell){.time = NEVER, .index = i};
		time += TIME_ONE / (cells - i);
		placing->steps[i] = time;
	}
	return 0;
}

static void placing_release(struct placing *placing)
{
	free(placing->steps);
	free(placing->held);
	free(placing->loose);
	free(placing->walks);
}

int ring_capped_place(struct ring *ring)
{
	struct placing placing;
	uint64_t sum = 0;
	int err;

	for (size_t i = 0; i < ring->n_members; i++)
		sum += ring->members[i].weight_milli;
	if (!sum)
		return 0;
	err = placing_init(&placing, ring);
	if (!err)
		err = start_walks(&placing, ring, sum);
	if (!err) {
		place(&placing, sum);
		err = take_arcs(ring, placing.held);
	}
	placing_release(&placing);
	return err;
}
