/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random chains of changes against the state of single hashes: those before, at and
 * after each edge that there can be, so every arc is looked at.
 */
#include "tests/unit/moves_reference.h"

#define PLACES_MAX   128
#define UNIVERSE_LEN 20
#define CHAINS	     1500
#define CHANGES_MAX  8

/**
 * struct chain - one random history
 * @universe: all positions that its rings may have
 * @dead: of DEAD_LEN
 */
struct chain {
	struct rng rng;
	uint64_t universe[UNIVERSE_LEN];
	struct place places[PLACES_MAX];
	size_t n_places;
	struct ring *ring;
	struct moves moves;
	int64_t now_ms;
	bool *dead;
};

/* Both ends of the circle, neighbours, and anywhere. */
static uint64_t random_position(struct chain *chain, size_t i)
{
	uint64_t near = rng_below(&chain->rng, 5);

	switch (rng_below(&chain->rng, 4)) {
	case 0:
		return near;
	case 1:
		return UINT64_MAX - near;
	case 2:
		return i ? chain->universe[rng_below(&chain->rng, i)] + near : near;
	default:
		return rng_next(&chain->rng);
	}
}

static void add_place(struct chain *chain, uint64_t hash)
{
	struct place *place = &chain->places[chain->n_places++];

	assert_true(chain->n_places <= PLACES_MAX);
	*place = (struct place){
		.hash = hash,
		.owner = id_by_walk(chain->ring, hash),
		.previous = RING_NONE,
	};
}

/* No positions, few or many; one of them twice now and then. */
static struct ring *random_ring(struct chain *chain)
{
	size_t len = rng_below(&chain->rng, 12) ? 1 + rng_below(&chain->rng, SLOTS_MAX) : 0;
	uint16_t ids[SLOTS_MAX], n_ids = 1 + (uint16_t)rng_below(&chain->rng, IDS_LEN);
	uint64_t positions[SLOTS_MAX];

	for (size_t i = 0; i < len; i++) {
		positions[i] = chain->universe[rng_below(&chain->rng, UNIVERSE_LEN)];
		ids[i] = (uint16_t)rng_below(&chain->rng, n_ids);
	}
	return ring_of_ids(positions, ids, len);
}

static void chain_start(struct chain *chain, uint64_t stream)
{
	*chain = (struct chain){.rng = rng_start(stream), .now_ms = 1};
	chain->dead = calloc(DEAD_LEN, sizeof(*chain->dead));
	assert_non_null(chain->dead);
	for (size_t i = 0; i < UNIVERSE_LEN; i++)
		chain->universe[i] = random_position(chain, i);
	chain->ring = random_ring(chain);
	for (size_t i = 0; i < UNIVERSE_LEN; i++)
		for (uint64_t step = 0; step < 3; step++)
			add_place(chain, chain->universe[i] - 1 + step);
	add_place(chain, 0);
	add_place(chain, UINT64_MAX);
	while (chain->n_places < PLACES_MAX)
		add_place(chain, rng_next(&chain->rng));
}

static void chain_end(struct chain *chain)
{
	ring_free(chain->ring);
	moves_release(&chain->moves);
	free(chain->dead);
}

static void random_dead(struct chain *chain, struct moves_terms *terms)
{
	terms->dead = rng_below(&chain->rng, 3) ? chain->dead : NULL;
	for (size_t id = 0; id < IDS_LEN; id++)
		chain->dead[id] = rng_below(&chain->rng, 8) == 0;
}

/* From the live ring to @ring, which is taken over. */
static void change_to(struct chain *chain, struct ring *ring, const struct moves_terms *terms)
{
	struct moves next = {};

	assert_int_equal(change_moves(&next, &chain->moves, chain->ring, ring, terms), 0);
	for (size_t i = 0; i < chain->n_places; i++) {
		struct place *place = &chain->places[i];

		place_change(place, id_by_walk(ring, place->hash), terms);
	}
	moves_release(&chain->moves);
	ring_free(chain->ring);
	chain->moves = next;
	chain->ring = ring;
}

static void random_change(struct chain *chain)
{
	struct moves_terms terms = {
		.now_ms = chain->now_ms,
		.tcp_learn_ms = 1 + (int64_t)rng_below(&chain->rng, 100),
		.other_learn_ms = 1 + (int64_t)rng_below(&chain->rng, 30),
	};

	random_dead(chain, &terms);
	change_to(chain, random_ring(chain), &terms);
}

static void expire(struct chain *chain, int64_t now_ms)
{
	struct moves before = {.len = chain->moves.len};
	size_t changed = 0;

	before.list = malloc((before.len + 1) * sizeof(*before.list));
	if (before.len)
		memcpy(before.list, chain->moves.list, before.len * sizeof(*before.list));
	chain->now_ms = now_ms;
	for (size_t i = 0; i < chain->n_places; i++)
		place_expire(&chain->places[i], now_ms);
	for (size_t i = 0; i < before.len; i++) {
		const struct move *move = &before.list[i];

		changed += (move->tcp_until_ms && move->tcp_until_ms <= now_ms) ||
			   (move->other_until_ms && move->other_until_ms <= now_ms);
	}
	assert_int_equal(moves_expire(&chain->moves, now_ms), changed);
	assert_int_equal(moves_expire(&chain->moves, now_ms), 0);
	free(before.list);
}

/* Each move holds somebody with a chance of 1 in @one_in, nobody if that is 0. */
static void settle(struct chain *chain, uint64_t one_in)
{
	uint32_t *held = calloc(chain->moves.len + 1, sizeof(*held));
	size_t before = chain->moves.len, dropped;

	assert_non_null(held);
	for (size_t i = 0; i < before && one_in; i++)
		held[i] = rng_below(&chain->rng, one_in) == 0;
	for (size_t i = 0; i < chain->n_places; i++) {
		ptrdiff_t move = find_by_walk(&chain->moves, chain->places[i].hash);

		place_settle(&chain->places[i], move >= 0 && held[move]);
	}
	dropped = moves_settle(&chain->moves, held);
	assert_int_equal(chain->moves.len, before - dropped);
	free(held);
}

static bool is_edge(const struct chain *chain, uint64_t position)
{
	for (size_t i = 0; i < UNIVERSE_LEN; i++)
		if (chain->universe[i] == position)
			return true;
	return position == UINT64_MAX;
}

static void check_list(const struct chain *chain)
{
	const struct moves *moves = &chain->moves;

	for (size_t i = 0; i < moves->len; i++) {
		const struct move *move = &moves->list[i];

		assert_true(move->first <= move->last);
		assert_true(!i || moves->list[i - 1].last < move->first);
		assert_true(is_edge(chain, move->last) && is_edge(chain, move->first - 1));
		assert_int_equal(moves_learning(move), move->tcp_until_ms || move->other_until_ms);
	}
	for (size_t i = 0; i < chain->n_places; i++) {
		const struct place *place = &chain->places[i];
		ptrdiff_t at = moves_find(moves, place->hash);

		assert_int_equal(at, find_by_walk(moves, place->hash));
		assert_int_equal(at >= 0, place->moves);
		if (at < 0)
			continue;
		assert_int_equal(moves->list[at].previous, place->previous);
		assert_int_equal(moves->list[at].tcp_until_ms, place->tcp_until_ms);
		assert_int_equal(moves->list[at].other_until_ms, place->other_until_ms);
	}
}

/* The move that a slot lies in, or -1. */
static ptrdiff_t move_of_slot(const struct moving_ring *merged, size_t slot)
{
	for (size_t i = 0; i < merged->n_moving; i++)
		if (merged->moving[i].slot == slot)
			return merged->moving[i].move;
	return -1;
}

/* Without moves the merged ring is the ring itself, by id. */
static void check_pure(const struct ring *ring, const struct moving_ring *merged)
{
	assert_int_equal(merged->len, ring->len);
	for (size_t slot = 0; slot < ring->len; slot++) {
		assert_int_equal(merged->positions[slot], ring->positions[slot]);
		assert_int_equal(merged->owners[slot], id_of_member(ring, ring->owners[slot]));
	}
	assert_int_equal(merged->n_moving, 0);
}

/* Read back, neighbours that say the same are one; nothing else may differ. */
static void check_read_back(const struct moves *moves, const struct moving_ring *merged)
{
	struct moves read = {}, expected = {};

	for (size_t i = 0; i < moves->len; i++)
		assert_int_equal(moves_add(&expected, &moves->list[i]), 0);
	for (size_t i = 0; i < merged->n_moving; i++) {
		const struct moving_slot *moving = &merged->moving[i];
		struct move move = moves->list[moving->move];

		assert_true(!i || moving->slot > merged->moving[i - 1].slot);
		move.first = move.last = rng_next(&(struct rng){moving->slot});
		assert_int_equal(moves_read(&read, merged->positions, moving->slot, &move), 0);
	}
	assert_int_equal(read.len, expected.len);
	for (size_t i = 0; i < read.len; i++) {
		assert_int_equal(read.list[i].first, expected.list[i].first);
		assert_int_equal(read.list[i].last, expected.list[i].last);
		assert_int_equal(read.list[i].previous, expected.list[i].previous);
		assert_int_equal(read.list[i].tcp_until_ms, expected.list[i].tcp_until_ms);
		assert_int_equal(read.list[i].other_until_ms, expected.list[i].other_until_ms);
	}
	moves_release(&read);
	moves_release(&expected);
}

static size_t count_positions(const uint64_t *positions, size_t len, uint64_t position)
{
	size_t count = 0;

	for (size_t slot = 0; slot < len; slot++)
		count += positions[slot] == position;
	return count;
}

/*
 * An edge where the ring has a position is no position more. Of equal ones the first
 * would have the arc, and which that is does not outlast being read back.
 */
static void check_positions(const struct ring *ring, const struct moving_ring *merged)
{
	for (size_t slot = 0; slot < merged->len; slot++) {
		uint64_t position = merged->positions[slot];
		size_t in_ring = count_positions(ring->positions, ring->len, position);

		assert_true(!slot || merged->positions[slot - 1] <= position);
		assert_int_equal(count_positions(merged->positions, merged->len, position),
				 in_ring ? in_ring : 1);
	}
}

static void check_merged(const struct chain *chain)
{
	const struct ring *ring = chain->ring;
	struct moving_ring merged = {};
	struct ring as_ring = {};
	uint32_t ids[IDS_LEN];

	list_ids(ring, ids);
	assert_int_equal(moves_merge(&merged, ring, ids, &chain->moves), 0);
	assert_true(merged.len <= ring->len + 2 * chain->moves.len + 1);
	check_positions(ring, &merged);
	if (!chain->moves.len)
		check_pure(ring, &merged);
	as_ring.positions = merged.positions;
	as_ring.len = merged.len;
	for (size_t i = 0; i < chain->n_places && merged.len; i++) {
		uint64_t hash = chain->places[i].hash;
		size_t slot = slot_by_walk(&as_ring, hash);

		assert_int_equal(merged.owners[slot], chain->places[i].owner);
		assert_int_equal(move_of_slot(&merged, slot), find_by_walk(&chain->moves, hash));
	}
	check_read_back(&chain->moves, &merged);
	moving_ring_release(&merged);
}

/* Every id's part of the list, one id and one move at a time. */
static void check_claims(const struct chain *chain)
{
	struct moves_claim claims[IDS_LEN];
	uint32_t ids[IDS_LEN];

	list_ids(chain->ring, ids);
	assert_int_equal(moves_claims(&chain->moves, ids, IDS_LEN, claims), 0);
	for (size_t i = 0; i < IDS_LEN; i++) {
		struct moves_claim claim = {};

		for (size_t m = 0; m < chain->moves.len; m++) {
			const struct move *move = &chain->moves.list[m];

			if (move->previous != ids[i])
				continue;
			claim.arcs++;
			if (move->tcp_until_ms || move->other_until_ms)
				claim.learning++;
			claim.length += (ring_length)move->last + 1 - move->first;
			if (move->tcp_until_ms > claim.tcp_until_ms)
				claim.tcp_until_ms = move->tcp_until_ms;
			if (move->other_until_ms > claim.other_until_ms)
				claim.other_until_ms = move->other_until_ms;
		}
		assert_int_equal(claims[i].arcs, claim.arcs);
		assert_int_equal(claims[i].learning, claim.learning);
		assert_true(claims[i].length == claim.length);
		assert_int_equal(claims[i].tcp_until_ms, claim.tcp_until_ms);
		assert_int_equal(claims[i].other_until_ms, claim.other_until_ms);
	}
}

static void check(const struct chain *chain)
{
	check_list(chain);
	check_merged(chain);
	check_claims(chain);
}

/* Whatever happened: when the times are over and nobody is held, the ring is pure. */
static void check_settles(struct chain *chain)
{
	expire(chain, INT64_MAX);
	check(chain);
	settle(chain, 0);
	check(chain);
	assert_int_equal(chain->moves.len, 0);
}

static void test_random_chains(void **state)
{
	size_t longest = 0, overlapping = 0;

	(void)state;
	for (uint64_t stream = 0; stream < CHAINS; stream++) {
		struct chain chain;

		chain_start(&chain, stream);
		for (size_t left = 1 + rng_below(&chain.rng, CHANGES_MAX); left; left--) {
			overlapping += chain.moves.len != 0;
			random_change(&chain);
			check(&chain);
			expire(&chain, chain.now_ms + (int64_t)rng_below(&chain.rng, 60));
			check(&chain);
			settle(&chain, 2);
			check(&chain);
			longest = chain.moves.len > longest ? chain.moves.len : longest;
		}
		check_settles(&chain);
		chain_end(&chain);
	}
	assert_true(longest > 6 && overlapping > CHAINS);
}

static struct ring *ring_copy(const struct ring *ring)
{
	struct ring *copy = NULL;

	assert_int_equal(ring_from_positions(&copy, UINT64_MAX, ring->members, ring->n_members,
					     ring->positions, ring->owners, ring->len),
			 0);
	return copy;
}

/* There and back, before anything has been learned: nothing is left to learn. */
static void test_there_and_back(void **state)
{
	const struct moves_terms terms = {.now_ms = 5, .tcp_learn_ms = 90, .other_learn_ms = 9};

	(void)state;
	for (uint64_t stream = 0; stream < CHAINS; stream++) {
		struct ring *back;
		struct chain chain;

		chain_start(&chain, CHAINS + stream);
		back = ring_copy(chain.ring);
		for (size_t left = 1 + rng_below(&chain.rng, 3); left; left--)
			change_to(&chain, random_ring(&chain), &terms);
		check(&chain);
		change_to(&chain, back, &terms);
		check(&chain);
		for (size_t i = 0; i < chain.n_places; i++) {
			/* What was nobody's at first has another owner to come back from. */
			if (chain.ring->len)
				assert_false(place_learns(&chain.places[i]));
		}
		settle(&chain, 0);
		if (chain.ring->len)
			assert_int_equal(chain.moves.len, 0);
		check(&chain);
		chain_end(&chain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_chains),
		cmocka_unit_test(test_there_and_back),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("moves", tests, NULL, NULL);
}
