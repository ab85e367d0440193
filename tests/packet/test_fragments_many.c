/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Thousands of fragmented datagrams, interleaved: each fragment goes where a whole packet
 * of its flow goes, or is lost and counted; never anywhere else. Nobody reads what is to
 * be held: test_held.c does.
 */
#include "tests/packet/fragments_setup.h"

#include <bpf/bpf.h>
#include <pthread.h>
#include <unistd.h>

#define INTERLEAVED 10000
#define TOO_MANY    (2 * FRAGMENTS_MAX)

struct outcome {
	uint64_t sent;
	uint64_t to_its_backend;
	uint64_t no_first;
};

static void send_piece(const struct datagram *datagram, size_t piece, struct outcome *outcome)
{
	struct frame frame, out;
	int action;

	make_piece(&frame, datagram, piece);
	action = rig_run(&rig, rig.ingress, &frame, &out);
	outcome->sent++;
	if (action == XDP_TX) {
		assert_int_equal(rig_backend_of(&out), datagram->backend);
		outcome->to_its_backend++;
	} else {
		assert_int_equal(action, XDP_DROP);
		outcome->no_first++;
	}
}

/* The fragments of @count datagrams in a random order, but each first one before the rest. */
static void send_interleaved(const struct datagram *datagrams, size_t count, struct rng *rng,
			     struct outcome *outcome)
{
	uint8_t *left = calloc(count, 1);
	size_t *open = calloc(count, sizeof(*open)), n_open = count;

	rig_require(left && open, "out of memory");
	for (size_t i = 0; i < count; i++) {
		open[i] = i;
		left[i] = (1 << PIECES) - 1;
	}
	while (n_open) {
		size_t at = rng_below(rng, n_open), which = open[at], piece = 0;

		/* The first, if it has not been sent; any other one of the rest. */
		while (left[which] != (1 << PIECES) - 1 && !(left[which] >> piece & 1))
			piece = 1 + rng_below(rng, PIECES - 1);
		send_piece(&datagrams[which], piece, outcome);
		left[which] &= ~(1 << piece);
		if (!left[which])
			open[at] = open[--n_open];
	}
	free(left);
	free(open);
}

/* What was counted between @before and now is what was sent. */
static void check_counters(const struct outcome *outcome, const uint64_t before[VERDICT_COUNT])
{
	uint64_t sum = 0;

	for (int v = 0; v < VERDICT_COUNT; v++)
		sum += rig_verdict(&rig, v) - before[v];
	assert_int_equal(sum, outcome->sent);
	assert_int_equal(counted(before, TX_BACKEND), outcome->to_its_backend);
	assert_int_equal(counted(before, HOLD_FRAGMENT) + counted(before, DROP_FRAGMENT_NOT_HELD),
			 outcome->no_first);
}

static void case_8_interleaved(void **state)
{
	struct rng rng = rng_start(1);
	struct datagram *datagrams = make_datagrams(INTERLEAVED, &rng);
	struct outcome outcome = {};
	uint64_t before[VERDICT_COUNT];

	(void)state;
	read_counters(before);
	send_interleaved(datagrams, INTERLEAVED, &rng, &outcome);
	check_counters(&outcome, before);
	assert_int_equal(outcome.sent, INTERLEAVED * PIECES);
	assert_int_equal(outcome.to_its_backend, outcome.sent);
	free(datagrams);
}

/* All first ones, then all second ones and so on: more than are remembered. */
static void test_more_than_remembered(void **state)
{
	struct rng rng = rng_start(2);
	struct datagram *datagrams = make_datagrams(TOO_MANY, &rng);
	struct outcome outcome = {};
	uint64_t before[VERDICT_COUNT];

	(void)state;
	read_counters(before);
	for (size_t piece = 0; piece < PIECES; piece++)
		for (size_t i = 0; i < TOO_MANY; i++)
			send_piece(&datagrams[i], piece, &outcome);
	check_counters(&outcome, before);
	printf("# of %d datagrams at once, %" PRIu64 " of %" PRIu64 " fragments were lost\n",
	       TOO_MANY, outcome.no_first, outcome.sent);
	assert_true(outcome.no_first >= (uint64_t)(TOO_MANY - FRAGMENTS_MAX) * (PIECES - 1));
	free(datagrams);
}

/* The rest of what was begun goes where it began, whatever the ring says meanwhile. */
static void test_ring_changes(void **state)
{
	struct rng rng = rng_start(3);
	struct datagram *datagrams = make_datagrams(INTERLEAVED, &rng);
	struct ring *other = ring_numbered(&ring_hash_xxh64, test_seed() + 1, 50, BACKENDS);
	struct outcome outcome = {};
	uint32_t ids[BACKENDS];

	(void)state;
	for (size_t i = 0; i < INTERLEAVED; i++)
		send_piece(&datagrams[i], 0, &outcome);
	for (uint32_t id = 0; id < BACKENDS; id++)
		ids[id] = id;
	rig_publish(&rig, POOL, other, ids);
	for (size_t piece = 1; piece < PIECES; piece++)
		for (size_t i = 0; i < INTERLEAVED; i++)
			send_piece(&datagrams[i], piece, &outcome);
	assert_int_equal(outcome.to_its_backend, INTERLEAVED * PIECES);
	ring_free(other);
	free(datagrams);
}

/* One that drains gets the rest of its datagrams; one that died does not, nobody does. */
static void test_backend_drains_and_dies(void **state)
{
	struct rng rng = rng_start(4);
	struct datagram *datagrams = make_datagrams(INTERLEAVED, &rng);
	uint64_t before[VERDICT_COUNT], mine = 0;
	struct outcome outcome = {};

	(void)state;
	for (size_t i = 0; i < INTERLEAVED; i++)
		send_piece(&datagrams[i], 0, &outcome);
	dataplane_set_takes(rig.dp, 5, BACKEND_TAKES_OLD);
	for (size_t i = 0; i < INTERLEAVED; i++)
		send_piece(&datagrams[i], 1, &outcome);
	assert_int_equal(outcome.to_its_backend, INTERLEAVED * 2);
	dataplane_set_takes(rig.dp, 5, 0);
	read_counters(before);
	for (size_t i = 0; i < INTERLEAVED; i++) {
		mine += datagrams[i].backend == 5;
		send_piece(&datagrams[i], 2, &outcome);
	}
	assert_true(mine > 0);
	assert_int_equal(counted(before, DROP_FRAGMENT_NO_BACKEND), mine);
	/* Back again, but what it had is void. */
	dataplane_set_takes(rig.dp, 5, BACKEND_TAKES_OLD | BACKEND_TAKES_NEW);
	read_counters(before);
	for (size_t i = 0; i < INTERLEAVED; i++)
		send_piece(&datagrams[i], 3, &outcome);
	assert_int_equal(counted(before, DROP_FRAGMENT_NO_BACKEND), mine);
	assert_int_equal(counted(before, TX_BACKEND), INTERLEAVED - mine);
	free(datagrams);
}

/* The pieces of a datagram after the first come on several processors at once. */
struct worker {
	pthread_t thread;
	const struct datagram *datagrams;
	size_t piece;
	bool wrong;
};

static void *send_all(void *argument)
{
	struct worker *worker = argument;

	for (size_t i = 0; i < INTERLEAVED; i++) {
		struct frame frame, out;

		make_piece(&frame, &worker->datagrams[i], worker->piece);
		worker->wrong |= rig_run(&rig, rig.ingress, &frame, &out) != XDP_TX ||
				 rig_backend_of(&out) != worker->datagrams[i].backend;
	}
	return NULL;
}

static size_t remembered(void)
{
	int fd = bpf_obj_get(DATAPLANE_PIN_DIR "/fragments");
	struct fragment_key key, *from = NULL;
	size_t len = 0;

	rig_require(fd >= 0, "cannot open the map of fragments");
	for (; !bpf_map_get_next_key(fd, from, &key); from = &key)
		len++;
	close(fd);
	return len;
}

static void test_processors(void **state)
{
	struct rng rng = rng_start(5);
	struct datagram *datagrams = make_datagrams(INTERLEAVED, &rng);
	struct worker workers[PIECES] = {};
	struct outcome outcome = {};
	size_t before = remembered();

	(void)state;
	for (size_t i = 0; i < INTERLEAVED; i++)
		send_piece(&datagrams[i], 0, &outcome);
	assert_int_equal(remembered(), before + INTERLEAVED);
	for (size_t piece = 1; piece < PIECES; piece++) {
		workers[piece].datagrams = datagrams;
		workers[piece].piece = piece;
		rig_require(
			!pthread_create(&workers[piece].thread, NULL, send_all, &workers[piece]),
			"cannot start a thread");
	}
	for (size_t piece = 1; piece < PIECES; piece++) {
		pthread_join(workers[piece].thread, NULL);
		assert_false(workers[piece].wrong);
	}
	/* Each was seen to be complete. */
	assert_int_equal(remembered(), before);
	free(datagrams);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_8_interleaved),		cmocka_unit_test(test_ring_changes),
		cmocka_unit_test(test_backend_drains_and_dies), cmocka_unit_test(test_processors),
		cmocka_unit_test(test_more_than_remembered),
	};

	test_seed_print();
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
