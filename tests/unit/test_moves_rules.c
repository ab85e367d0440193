/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of moving arcs, one row each: a ring of two arcs, of which (10, 20] goes
 * from owner to owner while time passes and backends die.
 */
#include "tests/unit/moves_reference.h"

#define NONE	    RING_NONE
#define NOBODY_DEAD NONE
#define STEPS_MAX   6
#define TCP_LEARN   100
#define OTHER_LEARN 10

/* At @now_ms learning times end that are over, and then @owner owns the arc. */
struct step {
	int64_t now_ms;
	uint16_t owner;
	uint16_t dead;
};

/* The arc is first owned by 1. All zero steps end the list. */
static const struct row {
	const char *what;
	struct step steps[STEPS_MAX];
	bool moves;
	uint16_t previous;
	int64_t tcp_until_ms;
	int64_t other_until_ms;
} rows[] = {
	{"a settled arc learns", {{5, 2, NONE}}, true, 1, 105, 15},
	{"nothing changes", {{5, 1, NONE}}, false, 0, 0, 0},
	{"a learning arc keeps previous and times", {{5, 2, NONE}, {9, 3, NONE}}, true, 1, 105, 15},
	{"three in a row keep them",
	 {{5, 2, NONE}, {9, 3, NONE}, {30, 4, NONE}, {31, 2, NONE}},
	 true,
	 1,
	 105,
	 0},
	{"what is over stays over", {{5, 2, NONE}, {15, 3, NONE}}, true, 1, 105, 0},
	{"one millisecond before", {{5, 2, NONE}, {14, 3, NONE}}, true, 1, 105, 15},
	{"learned: only remembered flows", {{5, 2, NONE}, {105, 2, NONE}}, true, 1, 0, 0},
	{"learned: starts over", {{5, 2, NONE}, {105, 3, NONE}}, true, 2, 205, 115},
	{"learned: back to the first", {{5, 2, NONE}, {105, 1, NONE}}, true, 2, 205, 115},
	{"undrained: nothing to learn", {{5, 2, NONE}, {9, 1, NONE}}, true, 2, 0, 0},
	{"undrained over a third", {{5, 2, NONE}, {9, 3, NONE}, {9, 1, NONE}}, true, 3, 0, 0},
	{"undrained and drained again",
	 {{5, 2, NONE}, {9, 1, NONE}, {11, 2, NONE}},
	 true,
	 1,
	 111,
	 21},
	{"undrained, drained to another",
	 {{5, 2, NONE}, {9, 1, NONE}, {11, 3, NONE}},
	 true,
	 1,
	 111,
	 21},
	{"a dead owner has no claim", {{5, 2, 1}}, false, 0, 0, 0},
	{"previous dies", {{5, 2, NONE}, {9, 2, 1}}, true, NONE, 0, 0},
	{"previous dies, the arc moves on", {{5, 2, NONE}, {9, 3, 1}}, true, 2, 109, 19},
	{"previous died, then the arc moves on",
	 {{5, 2, NONE}, {9, 2, 1}, {11, 3, NONE}},
	 true,
	 2,
	 111,
	 21},
	{"previous is back from the dead",
	 {{5, 2, NONE}, {9, 2, 1}, {11, 1, NONE}},
	 true,
	 2,
	 111,
	 21},
	{"owner dies while the arc learns", {{5, 2, NONE}, {9, 3, 2}}, true, 1, 105, 15},
	{"owner dies, back to previous", {{5, 2, NONE}, {9, 1, 2}}, true, NONE, 0, 0},
	{"owner dies after learning", {{5, 2, NONE}, {105, 3, 2}}, true, 1, 0, 0},
	{"owner dies after learning, back to previous",
	 {{5, 2, NONE}, {105, 1, 2}},
	 true,
	 NONE,
	 0,
	 0},
	{"previous dies after learning", {{5, 2, NONE}, {105, 2, 1}}, true, NONE, 0, 0},
	{"somebody else dies", {{5, 2, NONE}, {9, 3, 4}}, true, 1, 105, 15},
	{"the last one drains", {{5, NONE, NONE}}, true, 1, 105, 15},
	{"the last one dies", {{5, NONE, 1}}, false, 0, 0, 0},
	{"the last one drains and is undrained", {{5, NONE, NONE}, {9, 1, NONE}}, true, NONE, 0, 0},
	{"the last one drains, another comes", {{5, NONE, NONE}, {9, 2, NONE}}, true, 1, 105, 15},
	{"nobody, learned, another comes", {{5, NONE, NONE}, {105, 2, NONE}}, true, 1, 0, 0},
	{"somebody after nobody", {{5, NONE, 1}, {9, 2, NONE}}, false, 0, 0, 0},
};

/* The ring in which @owner has (10, 20] and 0 has the rest; none at all for NONE. */
static struct ring *ring_of(uint16_t owner)
{
	const uint64_t positions[] = {10, 20};
	const uint16_t ids[] = {0, owner};

	return ring_of_ids(positions, ids, owner == NONE ? 0 : ARRAY_LEN(ids));
}

static void take_step(struct ring **ring, struct moves *moves, const struct step *step)
{
	bool *dead = calloc(DEAD_LEN, sizeof(*dead));
	const struct moves_terms terms = {step->now_ms, TCP_LEARN, OTHER_LEARN, dead};
	struct ring *next_ring = ring_of(step->owner);
	struct moves next = {};

	assert_non_null(dead);
	dead[NONE] = true;
	if (step->dead != NOBODY_DEAD)
		dead[step->dead] = true;
	moves_expire(moves, step->now_ms);
	assert_int_equal(change_moves(&next, moves, *ring, next_ring, &terms), 0);
	moves_release(moves);
	ring_free(*ring);
	free(dead);
	*ring = next_ring;
	*moves = next;
}

static void check_row(const struct row *row, const struct moves *moves)
{
	ptrdiff_t at = moves_find(moves, 11);
	const struct move *move = &moves->list[at < 0 ? 0 : at];

	if ((at >= 0) != row->moves || moves_find(moves, 20) != at)
		fail_msg("%s: in move %td", row->what, at);
	if (!row->moves)
		return;
	if (move->previous != row->previous || move->tcp_until_ms != row->tcp_until_ms ||
	    move->other_until_ms != row->other_until_ms)
		fail_msg("%s: previous %u until %jd and %jd", row->what, move->previous,
			 (intmax_t)move->tcp_until_ms, (intmax_t)move->other_until_ms);
	/* After a ring without members, the neighbours may be in the same move. */
	assert_true(move->first == 11 || row->previous == NONE);
	assert_true(move->last == 20 || row->previous == NONE);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ring *ring = ring_of(1);
		struct moves moves = {};

		for (size_t s = 0; s < STEPS_MAX && rows[i].steps[s].now_ms; s++)
			take_step(&ring, &moves, &rows[i].steps[s]);
		check_row(&rows[i], &moves);
		moves_release(&moves);
		ring_free(ring);
	}
}

/* Arcs that touch and say the same are one move; held flows and learning keep an arc. */
static void test_settle(void **state)
{
	const struct move kinds[] = {
		{.first = 0, .last = 4, .previous = NONE},
		{.first = 5, .last = 9, .previous = NONE},
		{.first = 11, .last = 14, .previous = NONE},
		{.first = 15, .last = 19, .previous = 3, .tcp_until_ms = 7},
		{.first = 20, .last = 24, .previous = 3, .other_until_ms = 7},
		{.first = 25, .last = UINT64_MAX, .previous = NONE},
	};
	const uint32_t held[] = {0, 1, 0, 0, 2};
	struct moves moves = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		assert_int_equal(moves_add(&moves, &kinds[i]), 0);
	assert_int_equal(moves.len, 5);
	assert_int_equal(moves.list[0].last, 9);
	assert_int_equal(moves_settle(&moves, held), 1);
	assert_int_equal(moves.len, 4);
	assert_int_equal(moves.list[0].first, 11);
	assert_int_equal(moves.list[1].first, 15);
	assert_int_equal(moves.list[2].first, 20);
	assert_int_equal(moves.list[3].first, 25);
	assert_int_equal(moves_expire(&moves, 6), 0);
	assert_int_equal(moves_expire(&moves, 7), 2);
	for (size_t i = 1; i <= 2; i++) {
		assert_false(moves_learning(&moves.list[i]));
		assert_int_equal(moves.list[i].previous, 3);
	}
	moves_release(&moves);
	assert_null(moves.list);
	assert_int_equal(moves.len, 0);
	assert_int_equal(moves_find(&moves, 5), -1);
}

/* A ring with all the positions that there may be has no room for one more edge. */
static void test_merge_is_bounded(void **state)
{
	const struct move move = {.first = 6, .last = 7, .previous = 1, .tcp_until_ms = 1};
	struct ring ring = {
		.positions = calloc(RING_POSITIONS_MAX_LEN, sizeof(*ring.positions)),
		.owners = calloc(RING_POSITIONS_MAX_LEN, sizeof(*ring.owners)),
		.len = RING_POSITIONS_MAX_LEN,
	};
	const uint32_t ids[] = {4};
	struct moving_ring merged = {.len = 77}, before = merged;
	struct moves moves = {};

	(void)state;
	for (uint64_t i = 0; i < ring.len; i++)
		ring.positions[i] = 10 * i;
	assert_int_equal(moves_add(&moves, &move), 0);
	assert_int_equal(moves_merge(&merged, &ring, ids, &moves), -ENOSPC);
	assert_memory_equal(&merged, &before, sizeof(merged));
	ring.len -= 2;
	assert_int_equal(moves_merge(&merged, &ring, ids, &moves), 0);
	assert_int_equal(merged.len, RING_POSITIONS_MAX_LEN);
	assert_int_equal(merged.positions[1], 5);
	assert_int_equal(merged.positions[2], 7);
	assert_int_equal(merged.n_moving, 1);
	assert_int_equal(merged.moving[0].slot, 2);
	assert_int_equal(merged.moving[0].move, 0);
	moving_ring_release(&merged);
	moves_release(&moves);
	free(ring.positions);
	free(ring.owners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_merge_is_bounded),
	};

	return cmocka_run_group_tests_name("moves rules", tests, NULL, NULL);
}
