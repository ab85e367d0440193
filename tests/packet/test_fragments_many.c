/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Thousands of fragmented datagrams, interleaved: each fragment goes where a whole packet
 * of its flow goes, or is lost and counted; never anywhere else. Nobody reads what is to
 * be held: test_held.c does.
 */
#include "tests/packet/fragments_setup.h"

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

static void test_interleaved(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_more_than_remembered),
	};

	test_seed_print();
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
