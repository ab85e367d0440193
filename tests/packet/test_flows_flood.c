/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Floods in a moving arc: whatever fills one flow table, established flows stay where
 * they are. And the census of the tables, on which settling hangs.
 */
#include "tests/packet/moving_setup.h"

#define EMBRYONIC   8192
#define REMEMBERED  16384
#define FLOOD	    (4 * EMBRYONIC)
#define STRAYS	    (2 * REMEMBERED)
#define KNOWN_FLOWS 2000
#define SEED	    77

enum backends { A = 1, B, C, BACKENDS_END };

/* Of each kind, as many IPv4 as IPv6 flows. */
static struct known {
	struct flow established[KNOWN_FLOWS]; /* B's, opened while the arc learned */
	struct flow old[KNOWN_FLOWS];	      /* A's, from before */
	struct flow others[KNOWN_FLOWS];      /* UDP, A's */
} known;

static void publish(uint32_t owner, uint32_t previous, int64_t until_ms)
{
	uint64_t position = UINT64_MAX;
	uint16_t owner_id = (uint16_t)owner;
	struct dataplane_move move = {0, (uint16_t)previous, until_ms, until_ms};
	const struct dataplane_ring ring = {.seed = SEED,
					    .len = 1,
					    .positions = &position,
					    .owners = &owner_id,
					    .moves = &move,
					    .n_moves = 1};
	int fd = -1;

	assert_int_equal(dataplane_prepare_ring(rig.dp, MOVING_POOL, &ring, &fd), 0);
	assert_int_equal(dataplane_publish_ring(rig.dp, MOVING_POOL, fd), 0);
}

static uint8_t family_of(size_t i)
{
	return i % 2 ? ENDPOINT_IPV6 : ENDPOINT_IPV4;
}

static int setup(void **state)
{
	struct rng rng = rng_start(2);

	(void)state;
	assert_true(dataplane_forget_flows(rig.dp) >= 0);
	for (uint32_t id = A; id < BACKENDS_END; id++)
		moving_backend(id, 0);
	publish(B, A, INT64_MAX);
	for (size_t i = 0; i < KNOWN_FLOWS; i++) {
		known.established[i] = moving_flow(family_of(i), IPPROTO_TCP, &rng);
		known.old[i] = moving_flow(family_of(i), IPPROTO_TCP, &rng);
		known.others[i] = moving_flow(family_of(i), IPPROTO_UDP, &rng);
		assert_int_equal(moving_send_flow(&known.established[i], SYN), B);
		assert_int_equal(moving_send_flow(&known.established[i], ACK), B);
		assert_int_equal(moving_send_flow(&known.old[i], ACK), A);
		assert_int_equal(moving_send_flow(&known.others[i], 0), A);
	}
	return 0;
}

static size_t count_lost(const struct flow *flows, uint32_t backend)
{
	size_t lost = 0;

	for (size_t i = 0; i < KNOWN_FLOWS; i++)
		lost += moving_send_flow(&flows[i], ACK) != backend;
	return lost;
}

static void flood(uint8_t protocol, uint8_t flags, size_t packets)
{
	struct rng rng = rng_start(3 + flags);

	for (size_t i = 0; i < packets; i++) {
		const struct flow flow = moving_flow(family_of(i), protocol, &rng);

		assert_int_not_equal(moving_send_flow(&flow, flags), BACKEND_NONE);
	}
}

/* Four times the table: nothing that lasted is lost, neither now nor after learning. */
static void test_syn_flood(void **state)
{
	(void)state;
	flood(IPPROTO_TCP, SYN, FLOOD);
	assert_true(moving_len(EMBRYOS) > EMBRYONIC / 2 && moving_len(EMBRYOS) <= EMBRYONIC);
	publish(C, BACKEND_NONE, 0);
	assert_int_equal(count_lost(known.established, B), 0);
	assert_int_equal(count_lost(known.old, A), 0);
	assert_int_equal(count_lost(known.others, A), 0);
}

/* What claims to be old evicts old flows, but while the arc learns they are known again. */
static void test_stray_ack_flood(void **state)
{
	(void)state;
	flood(IPPROTO_TCP, ACK, STRAYS);
	assert_true(moving_len(OLD_FLOWS) > REMEMBERED / 2 && moving_len(OLD_FLOWS) <= REMEMBERED);
	assert_int_equal(count_lost(known.old, A), 0);
	publish(C, BACKEND_NONE, 0);
	assert_int_equal(count_lost(known.established, B), 0);
	assert_int_equal(count_lost(known.old, A), 0);
	assert_int_equal(count_lost(known.others, A), 0);
}

static void test_udp_flood(void **state)
{
	(void)state;
	flood(IPPROTO_UDP, 0, STRAYS);
	assert_int_equal(count_lost(known.others, A), 0);
	publish(C, BACKEND_NONE, 0);
	assert_int_equal(count_lost(known.established, B), 0);
	assert_int_equal(count_lost(known.old, A), 0);
	assert_int_equal(count_lost(known.others, A), 0);
}

/* When learning is over, a flood has nothing to fill at all. */
static void test_flood_after_learning(void **state)
{
	size_t before[TABLES];

	(void)state;
	for (int table = 0; table < TABLES; table++)
		before[table] = moving_len(table);
	publish(B, BACKEND_NONE, 0);
	flood(IPPROTO_TCP, SYN, FLOOD / 8);
	flood(IPPROTO_TCP, ACK, FLOOD / 8);
	flood(IPPROTO_UDP, 0, FLOOD / 8);
	for (int table = 0; table < TABLES; table++)
		assert_int_equal(moving_len(table), before[table]);
	assert_int_equal(count_lost(known.established, B), 0);
}

struct census {
	size_t flows, embryonic, of[BACKENDS_END], wrong;
};

static void count_flow(void *context, const struct dataplane_flow *flow)
{
	struct dataplane_match match = {};
	struct census *census = context;

	census->flows++;
	census->embryonic += flow->embryonic;
	census->of[flow->backend < BACKENDS_END ? flow->backend : 0]++;
	if (dataplane_lookup(rig.dp, &flow->flow, &match) || match.hash != flow->hash ||
	    flow->pool != MOVING_POOL)
		census->wrong++;
}

static struct census take_census(void)
{
	struct census census = {};
	int64_t visited = dataplane_each_flow(rig.dp, SEED, count_flow, &census);

	assert_int_equal(visited, census.flows);
	assert_int_equal(census.wrong, 0);
	return census;
}

/* What does not count any more is not visited, and gone. */
static void test_census(void **state)
{
	struct flow opened = known.established[0];
	struct flow_entry entry;
	struct census census;

	(void)state;
	opened.source_port ^= 0xffff;
	assert_int_equal(moving_send_flow(&opened, SYN), B);
	census = take_census();
	assert_int_equal(census.flows, 3 * KNOWN_FLOWS + 1);
	assert_int_equal(census.embryonic, 1);
	assert_int_equal(census.of[A], 2 * KNOWN_FLOWS);
	assert_int_equal(census.of[B], KNOWN_FLOWS + 1);

	assert_true(moving_entry(OLD_FLOWS, &known.old[5], &entry));
	entry.expires_s = moving_now_s();
	assert_int_equal(bpf_map_update_elem(tables[OLD_FLOWS], &known.old[5], &entry, BPF_EXIST),
			 0);
	assert_int_equal(take_census().of[A], 2 * KNOWN_FLOWS - 1);
	assert_false(moving_entry(OLD_FLOWS, &known.old[5], &entry));
	dataplane_set_takes(rig.dp, B, BACKEND_TAKES_OLD);
	assert_int_equal(take_census().of[B], KNOWN_FLOWS + 1);
	dataplane_set_takes(rig.dp, B, 0);
	assert_int_equal(take_census().flows, 2 * KNOWN_FLOWS - 1);
	assert_int_equal(moving_len(FLOWS) + moving_len(EMBRYOS), 0);
	dataplane_remove_backend(rig.dp, A);
	assert_int_equal(take_census().flows, 0);
	assert_int_equal(moving_len(OLD_FLOWS) + moving_len(OTHER_FLOWS), 0);
}

/* Establishes known.established[0], which was embryonic, as soon as anything is visited. */
static void establish_meanwhile(void *context, const struct dataplane_flow *flow)
{
	size_t *seen = context;

	*seen += !memcmp(&flow->flow, &known.established[0], sizeof(flow->flow));
	assert_int_equal(moving_send_flow(&known.established[0], ACK), B);
}

/* A flow that is established during the census is in it: else its arc would settle. */
static void test_census_meanwhile(void **state)
{
	size_t seen = 0;

	(void)state;
	assert_true(dataplane_forget_flows(rig.dp) > 0);
	for (size_t i = 1; i < 20; i++) {
		assert_int_equal(moving_send_flow(&known.established[i], SYN), B);
		assert_int_equal(moving_send_flow(&known.established[i], ACK), B);
		assert_int_equal(moving_send_flow(&known.old[i], ACK), A);
		assert_int_equal(moving_send_flow(&known.others[i], 0), A);
	}
	assert_int_equal(moving_send_flow(&known.established[0], SYN), B);
	assert_true(dataplane_each_flow(rig.dp, SEED, establish_meanwhile, &seen) > 0);
	assert_true(seen >= 1);
}

int main(void)
{
	/* They fill sooner than those of the usual sizes. */
	const struct dataplane_sizes sizes = {REMEMBERED, REMEMBERED, EMBRYONIC, REMEMBERED};
	const struct flow_times times = {10000, 10000, 300, 700};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_syn_flood, setup),
		cmocka_unit_test_setup(test_stray_ack_flood, setup),
		cmocka_unit_test_setup(test_udp_flood, setup),
		cmocka_unit_test_setup(test_flood_after_learning, setup),
		cmocka_unit_test_setup(test_census, setup),
		cmocka_unit_test_setup(test_census_meanwhile, setup),
	};
	int failed;

	test_seed_print();
	moving_open_sized(&sizes, &times);
	failed = cmocka_run_group_tests_name("flows flood", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
