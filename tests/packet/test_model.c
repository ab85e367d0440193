/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Long random sequences of packets, changes and clock steps, through the program and
 * through model.h beside it: every packet must go where the model says, and after each
 * step the tables must hold what it remembers and the same arcs must move.
 *
 * Two pools change in every way that there is, and VIPs go from one to the other. The
 * clock goes in steps of STEP_MS: what is left of entries and of learning times is
 * shortened by so much. All times end halfway between two steps, so that the real time
 * that passes too, some seconds, makes no difference.
 */
#include "bpf/flow_hash.h"
#include "tests/packet/model_churn.h"

#define FLOWS_LEN 600
#define BUSY_LEN  40
#define STEPS	  200
#define STEP_MS	  10000000
#define TIMES(n)  ((2 * (n) + 1) * (STEP_MS / 2))

#define TCP_LEARN_MS   TIMES(3)
#define OTHER_LEARN_MS TIMES(1)
#define TCP_IDLE_MS    TIMES(2)
#define OTHER_IDLE_MS  TIMES(1)
#define CLOSING_MS     TIMES(0)
#define EMBRYO_MS      TIMES(0)

static const enum table table_of[] = {
	[EMBRYONIC] = EMBRYOS, [ESTABLISHED] = FLOWS, [OLD] = OLD_FLOWS, [OTHER] = OTHER_FLOWS};

static struct model_flow model_flows[FLOWS_LEN];

static struct {
	struct rng rng;
	struct flow flows[FLOWS_LEN];
	struct frame frames[FLOWS_LEN];
	int step;
	size_t packets, clock_steps, restarts, vip_changes;
} world;

/* ---- packets ---- */

static void fail_packet(size_t i, uint8_t flags, uint32_t expected, uint32_t reached)
{
	const struct model_flow *flow = &model_flows[i];
	const struct place *place = model_place(&model.pools[model.pool_of[flow->vip]], flow->hash);

	fail_msg("step %d, packet %zu: flow %zu (%s, IPv%d), flags %#x: reaches %u, the model says "
		 "%u (%s); owner %u, %s, previous %u, learns TCP %d others %d",
		 world.step, world.packets, i, flow->tcp ? "TCP" : "UDP", world.flows[i].family,
		 flags, reached, expected, model_reasons[model.reason], place->owner,
		 place->moves ? "moving" : "settled", place->previous, place->tcp_until_ms != 0,
		 place->other_until_ms != 0);
}

static void send_packet(size_t i, uint8_t flags)
{
	uint32_t expected = model_send(&model, &model_flows[i], flags);
	uint32_t reached = moving_send(&world.frames[i], flags);

	world.packets++;
	if (reached != expected)
		fail_packet(i, flags, expected, reached);
}

static uint8_t random_flags(size_t i)
{
	static const uint8_t likely[] = {SYN, SYN, SYN,	      ACK,	 ACK, ACK,	ACK,
					 ACK, ACK, FIN | ACK, FIN | ACK, RST, SYN | ACK};

	if (!model_flows[i].tcp)
		return 0;
	if (rng_below(&world.rng, 20) == 0)
		return (uint8_t)rng_below(&world.rng, 256);
	return likely[rng_below(&world.rng, ARRAY_LEN(likely))];
}

/* Some flows are busy: more happens to one between two changes. */
static void send_some(size_t packets)
{
	while (packets--) {
		size_t among = rng_below(&world.rng, 3) ? BUSY_LEN : FLOWS_LEN;
		size_t i = rng_below(&world.rng, among);
		uint8_t flags = random_flags(i);

		/* Retransmissions, too. */
		for (uint64_t times = 1 + rng_below(&world.rng, 8) / 7 * 3; times; times--)
			send_packet(i, flags);
	}
}

/* ---- changes and time ---- */

static void between_two_writes(struct churn *churn)
{
	view_know_backends(churn);
	send_some(20);
}

/* Two changes are never made in the same millisecond: each has its own learning time. */
static void apply(struct churn *churn)
{
	int64_t before_ms = control_now_ms();

	while (control_now_ms() == before_ms)
		;
	model.now_ms++;
	churn_apply(churn);
	view_know_ring(churn);
}

static void check_draining(const struct churn *churn)
{
	const struct control_pool *pool = churn->pool;

	for (uint16_t m = 0; m < pool->ring->n_members; m++)
		assert_int_equal(control_is_draining(pool, m),
				 model_drains(&model, &model.pools[churn - churns], pool->ids[m]));
}

static void tick(void)
{
	churn_tick();
	model_tick(&model);
}

static void change_backends(struct churn *churn)
{
	if (rng_below(&world.rng, 2)) {
		tick();
		check_draining(churn);
		churn_leave_drained(churn);
	}
	churn_random_events(churn, rng_below(&world.rng, 4) ? 1 : 5);
	apply(churn);
}

/* An index of a backend that may have @event, at random, or -1. */
static int pick_backend(struct churn *churn, enum churn_event event)
{
	for (int tries = 0; tries < 30; tries++) {
		size_t i = rng_below(&world.rng, churn->names);

		if (churn_may(event, &churn->backends[i]))
			return (int)i;
	}
	return -1;
}

/* One is gone and back, or its id is another's, before anybody has looked at its flows. */
static void change_twice(struct churn *churn)
{
	bool replace = rng_below(&world.rng, 2);
	int one = pick_backend(churn, replace ? REMOVE_NOW : KILL);
	int other = replace ? pick_backend(churn, ADD) : one;

	if (one < 0 || other < 0)
		return;
	churn_do(churn, replace ? REMOVE_NOW : KILL, &churn->backends[one]);
	apply(churn);
	churn_do(churn, replace ? ADD : RECOVER, &churn->backends[other]);
	apply(churn);
}

static void change_vip(void)
{
	uint32_t vip = (uint32_t)rng_below(&world.rng, MODEL_VIPS);

	model.pool_of[vip] = !model.pool_of[vip];
	rig_set_vip(&rig, &moving_vips[vip], vip, MOVING_POOL + (uint32_t)model.pool_of[vip]);
	world.vip_changes++;
}

static void restart(void)
{
	for (size_t p = 0; p < MODEL_POOLS; p++)
		churns[p].uncommitted = NULL;
	churn_restart();
	for (size_t p = 0; p < MODEL_POOLS; p++) {
		churns[p].uncommitted = between_two_writes;
		view_know_backends(&churns[p]);
		view_know_ring(&churns[p]);
	}
	model_tick(&model);
	world.restarts++;
}

/* Where the model has one; check_memory() finds the others. */
static void shorten_entries(uint32_t by_s)
{
	for (size_t i = 0; i < FLOWS_LEN; i++) {
		enum model_memory memory = model_flows[i].entry.memory;
		struct flow_entry entry;

		if (!memory || !moving_entry(table_of[memory], &world.flows[i], &entry))
			continue;
		entry.expires_s = entry.expires_s > by_s ? entry.expires_s - by_s : 1;
		assert_int_equal(bpf_map_update_elem(tables[table_of[memory]], &world.flows[i],
						     &entry, BPF_EXIST),
				 0);
	}
}

/* The daemon notices only at its next tick. */
static void pass(int64_t steps)
{
	shorten_entries((uint32_t)(steps * (STEP_MS / 1000)));
	model.now_ms += steps * STEP_MS;
	churn_wait(steps * STEP_MS);
	world.clock_steps += (size_t)steps;
}

/* ---- what is remembered ---- */

static bool same_left(int64_t left_s, int64_t expected_s)
{
	const int64_t most_s = STEP_MS / 5000;

	/* What is over is over; no entry expires before the machine started. */
	if (expected_s <= 0)
		return left_s <= 0;
	return left_s <= expected_s + most_s && left_s >= expected_s - most_s;
}

static bool same_entry(const struct model_entry *expected, const struct flow_entry *entry)
{
	return entry->backend == expected->backend &&
	       entry->pool == MOVING_POOL + (uint32_t)expected->pool &&
	       !entry->closing == !expected->closing &&
	       same_left((int64_t)entry->expires_s - moving_now_s(),
			 (expected->until_ms - model.now_ms) / 1000);
}

static void check_flow(size_t i)
{
	const struct model_entry *expected = &model_flows[i].entry;

	for (int table = 0; table < TABLES; table++) {
		bool wanted = expected->memory && table_of[expected->memory] == (enum table)table;
		struct flow_entry entry;

		if (moving_entry(table, &world.flows[i], &entry) != wanted ||
		    (wanted && !same_entry(expected, &entry)))
			fail_msg("step %d: flow %zu: table %d differs from the model's %d of %u, "
				 "closing %d",
				 world.step, i, table, expected->memory, expected->backend,
				 expected->closing);
	}
}

static void check_memory(void)
{
	for (size_t i = 0; i < FLOWS_LEN; i++)
		check_flow(i);
	for (size_t p = 0; p < MODEL_POOLS; p++)
		assert_int_equal(churns[p].pool->moves.len, model_arcs(&model.pools[p]));
}

/* ---- the test ---- */

static void take_step(void)
{
	send_some(60);
	if (rng_below(&world.rng, 3))
		change_backends(&churns[rng_below(&world.rng, MODEL_POOLS)]);
	if (rng_below(&world.rng, 10) == 0)
		change_twice(&churns[rng_below(&world.rng, MODEL_POOLS)]);
	send_some(150);
	if (rng_below(&world.rng, 12) == 0)
		change_vip();
	if (rng_below(&world.rng, 60) == 0)
		restart();
	if (rng_below(&world.rng, 2))
		pass((int64_t)rng_below(&world.rng, rng_below(&world.rng, 4) ? 2 : 5));
	send_some(50);
	if (rng_below(&world.rng, 2))
		tick();
	check_memory();
}

static void make_flows(void)
{
	for (size_t i = 0; i < FLOWS_LEN; i++) {
		bool tcp = i % 4, ipv6 = i % 3 == 0;

		world.flows[i] = moving_flow(ipv6 ? ENDPOINT_IPV6 : ENDPOINT_IPV4,
					     tcp ? IPPROTO_TCP : IPPROTO_UDP, &world.rng);
		moving_frame(&world.frames[i], &world.flows[i]);
		model_flows[i] = (struct model_flow){
			.hash = flow_hash(&world.flows[i], churn_daemon.config.seed),
			.tcp = tcp,
			.vip = 2 * ipv6 + !tcp,
		};
	}
}

static void start(uint64_t stream, size_t names)
{
	memset(&world, 0, sizeof(world));
	view_reset();
	world.rng = rng_start(stream);
	model.tcp_learn_ms = TCP_LEARN_MS;
	model.other_learn_ms = OTHER_LEARN_MS;
	model.tcp_idle_ms = TCP_IDLE_MS;
	model.other_idle_ms = OTHER_IDLE_MS;
	model.closing_ms = CLOSING_MS;
	model.embryo_ms = EMBRYO_MS;
	model.flows = model_flows;
	model.n_flows = FLOWS_LEN;
	assert_true(dataplane_forget_flows(rig.dp) >= 0);
	churn_open(MODEL_POOLS);
	churn_daemon.config.flows.learn_tcp_ms = TCP_LEARN_MS;
	churn_daemon.config.flows.learn_other_ms = OTHER_LEARN_MS;
	make_flows();
	for (uint32_t vip = 0; vip < MODEL_VIPS; vip++)
		rig_set_vip(&rig, &moving_vips[vip], vip, MOVING_POOL);
	for (size_t p = 0; p < MODEL_POOLS; p++) {
		churn_start(&churns[p], stream + 1 + p, names);
		view_know_backends(&churns[p]);
		view_cut_circle(&churns[p], &model.pools[p]);
		churns[p].uncommitted = between_two_writes;
	}
}

/* How many backends there may be in each pool. Of two, none may be left at times. */
static size_t runs[] = {CHURN_NAMES, 2, 4};

static struct {
	size_t reasons[MODEL_REASONS], events[CHURN_EVENTS];
	size_t packets, clock_steps, restarts, vip_changes;
} sum;

static void add_up(void)
{
	for (int reason = 0; reason < MODEL_REASONS; reason++)
		sum.reasons[reason] += model.reasons[reason];
	for (size_t p = 0; p < MODEL_POOLS; p++)
		for (int event = 0; event < CHURN_EVENTS; event++)
			sum.events[event] += churns[p].events[event];
	sum.packets += world.packets;
	sum.clock_steps += world.clock_steps;
	sum.restarts += world.restarts;
	sum.vip_changes += world.vip_changes;
}

static void test_model(void **state)
{
	size_t run = (size_t)((size_t *)*state - runs);

	start(300 + 10 * run, runs[run]);
	for (world.step = 0; world.step < STEPS; world.step++)
		take_step();
	add_up();
	for (size_t p = 0; p < MODEL_POOLS; p++)
		churn_end(&churns[p]);
}

/* A world in which something never happens would prove nothing of it. */
static void test_all_happened(void **state)
{
	(void)state;
	print_message("# %zu packets, %zu clock steps, %zu restarts, %zu VIPs to another pool\n",
		      sum.packets, sum.clock_steps, sum.restarts, sum.vip_changes);
	for (int reason = 0; reason < MODEL_REASONS; reason++)
		print_message("# %zu: %s\n", sum.reasons[reason], model_reasons[reason]);
	print_message("# %zu adds, %zu drains, %zu undrains, %zu weights, %zu kills, %zu back, "
		      "%zu removed, %zu left\n",
		      sum.events[ADD], sum.events[DRAIN], sum.events[UNDRAIN], sum.events[REWEIGH],
		      sum.events[KILL], sum.events[RECOVER], sum.events[REMOVE_NOW],
		      sum.events[LEAVE]);
	for (int reason = 0; reason < MODEL_REASONS; reason++)
		assert_true(sum.reasons[reason] > 50);
	for (int event = 0; event < CHURN_EVENTS; event++)
		assert_true(sum.events[event] > 5);
	assert_true(sum.clock_steps > 100 && sum.restarts > 4 && sum.vip_changes > 20);
	assert_int_equal(moving_count(FLOW_NOT_KEPT), 0);
}

int main(void)
{
	const struct flow_times times = {
		.tcp_idle_s = TCP_IDLE_MS / 1000,
		.other_idle_s = OTHER_IDLE_MS / 1000,
		.closing_s = CLOSING_MS / 1000,
		.embryo_s = EMBRYO_MS / 1000,
	};
	const struct dataplane_sizes sizes = {8192, 8192, 8192, 8192};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_model, &runs[0]),
		cmocka_unit_test_prestate(test_model, &runs[1]),
		cmocka_unit_test_prestate(test_model, &runs[2]),
		cmocka_unit_test(test_all_happened),
	};
	int failed;

	test_seed_print();
	moving_open_sized(&sizes, &times);
	failed = cmocka_run_group_tests_name("model", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
