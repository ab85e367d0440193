/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two load balancer hosts with the same configuration, and a backend that joins: what
 * they agree on without a word between them, and what only one of them can know.
 */
#include "bpf/flow_hash.h"
#include "ring/moves.h"
#include "tests/packet/moving_setup.h"

#define HOSTS	  2
#define BACKENDS  8
#define JOINS	  (BACKENDS + 1)
#define FLOWS_LEN 3000
#define SEED	  4711

static struct rig hosts[HOSTS];
static struct ring *before, *after;
static struct moves arcs;
static struct flow old_flows[FLOWS_LEN], new_flows[FLOWS_LEN];

static uint32_t send_at(size_t host, const struct flow *flow, uint8_t flags)
{
	rig = hosts[host];
	return moving_send_flow(flow, flags);
}

static uint32_t send_error_at(size_t host, const struct flow *flow)
{
	rig = hosts[host];
	return moving_send_error(flow);
}

static uint64_t hash_of(const struct flow *flow)
{
	return flow_hash(flow, SEED);
}

static bool moves(const struct flow *flow)
{
	return moves_find(&arcs, hash_of(flow)) >= 0;
}

static uint32_t owner_in(const struct ring *ring, const struct flow *flow)
{
	return (uint32_t)strtoul(ring->members[ring_owner(ring, hash_of(flow))].name, NULL, 10);
}

/* Of backends 1 to @n, whose names are their ids. */
static struct ring *build(uint16_t n)
{
	const struct ring_params params = {.hash = &ring_hash_xxh64, .seed = SEED, .vnodes = 50};
	struct ring_member members[JOINS] = {};
	struct ring *ring = NULL;

	for (uint16_t id = 1; id <= n; id++) {
		snprintf(members[id - 1].name, sizeof(members[id - 1].name), "%u", id);
		members[id - 1].weight_milli = RING_WEIGHT_ONE;
	}
	assert_int_equal(ring_build(&ring, &params, members, n), 0);
	return ring;
}

static void list_ids(const struct ring *ring, uint32_t ids[JOINS])
{
	for (size_t m = 0; m < ring->n_members; m++)
		ids[m] = (uint32_t)strtoul(ring->members[m].name, NULL, 10);
}

/* The arcs that move when the last backend joins. */
static int list_arcs(const struct moves_terms *terms)
{
	uint32_t old_ids[JOINS], new_ids[JOINS];
	const struct moves_ring from = {before->positions, before->owners, old_ids, before->len};
	const struct moves_ring to = {after->positions, after->owners, new_ids, after->len};
	const struct moves none = {};

	list_ids(before, old_ids);
	list_ids(after, new_ids);
	return moves_change(&arcs, &none, &from, &to, terms);
}

/* Publish @ring at one host, with @now moving there; learning or not. */
static void publish(size_t host, const struct ring *ring, const struct moves *now, bool learning)
{
	struct dataplane_ring live = {.seed = SEED};
	struct moving_ring merged = {};
	uint32_t ids[JOINS];
	int fd = -1;

	list_ids(ring, ids);
	assert_int_equal(moves_merge(&merged, ring, ids, now), 0);
	live.len = merged.len;
	live.positions = merged.positions;
	live.owners = merged.owners;
	live.moves = calloc(merged.n_moving + 1, sizeof(*live.moves));
	live.n_moves = merged.n_moving;
	for (size_t i = 0; i < merged.n_moving; i++)
		live.moves[i] = (struct dataplane_move){
			.slot = merged.moving[i].slot,
			.previous = now->list[merged.moving[i].move].previous,
			.tcp_until_ms = learning,
			.other_until_ms = learning,
		};
	assert_int_equal(dataplane_prepare_ring(hosts[host].dp, MOVING_POOL, &live, &fd), 0);
	assert_int_equal(dataplane_publish_ring(hosts[host].dp, MOVING_POOL, fd), 0);
	free(live.moves);
	moving_ring_release(&merged);
}

static int setup(void **state)
{
	const struct moves none = {};
	struct rng rng = rng_start(700);

	(void)state;
	for (size_t host = 0; host < HOSTS; host++) {
		rig = hosts[host];
		assert_true(dataplane_forget_flows(rig.dp) >= 0);
		for (uint32_t id = 1; id <= JOINS; id++)
			moving_backend(id, 0);
		publish(host, before, &none, false);
	}
	for (size_t i = 0; i < FLOWS_LEN; i++) {
		uint8_t family = i % 2 ? ENDPOINT_IPV4 : ENDPOINT_IPV6;

		old_flows[i] = moving_flow(family, i % 3 ? IPPROTO_TCP : IPPROTO_UDP, &rng);
		new_flows[i] = moving_flow(family, IPPROTO_TCP, &rng);
		assert_int_equal(send_at(0, &old_flows[i], SYN), owner_in(before, &old_flows[i]));
	}
	return 0;
}

/* What is older than the change goes on at either host, and may change the host at will. */
static void test_old_flows(void **state)
{
	(void)state;
	for (size_t host = 0; host < HOSTS; host++)
		publish(host, after, &arcs, true);
	for (size_t i = 0; i < FLOWS_LEN; i++)
		for (size_t packet = 0; packet < 4; packet++)
			assert_int_equal(send_at((packet + 1) / 2 % 2, &old_flows[i], ACK),
					 owner_in(before, &old_flows[i]));
}

/* A flow that is opened now breaks by a change of the host where arcs move, only there. */
static void test_new_flows(void **state)
{
	size_t moving = 0;

	(void)state;
	for (size_t host = 0; host < HOSTS; host++)
		publish(host, after, &arcs, true);
	for (size_t i = 0; i < FLOWS_LEN; i++) {
		const struct flow *flow = &new_flows[i];

		assert_int_equal(send_at(0, flow, SYN), owner_in(after, flow));
		assert_int_equal(send_at(0, flow, ACK), owner_in(after, flow));
		assert_int_equal(send_at(1, flow, ACK), owner_in(before, flow));
		moving += owner_in(before, flow) != owner_in(after, flow);
		assert_int_equal(moves(flow), owner_in(before, flow) != owner_in(after, flow));
	}
	print_message("# %zu of %d new flows would break\n", moving, FLOWS_LEN);
	assert_true(moving > 0 && moving < FLOWS_LEN / 4);
}

/* What one host has remembered the other has not, once learning is over. */
static void test_after_learning(void **state)
{
	(void)state;
	publish(0, after, &arcs, true);
	for (size_t i = 0; i < FLOWS_LEN; i++)
		send_at(0, &old_flows[i], ACK);
	for (size_t host = 0; host < HOSTS; host++)
		publish(host, after, &arcs, false);
	for (size_t i = 0; i < FLOWS_LEN; i++) {
		assert_int_equal(send_at(0, &old_flows[i], ACK), owner_in(before, &old_flows[i]));
		assert_int_equal(send_at(1, &old_flows[i], ACK), owner_in(after, &old_flows[i]));
	}
}

/* An ICMP error may come to a host that has never seen its flow. */
static void case_3_errors(void **state)
{
	size_t moving = 0;

	(void)state;
	for (size_t i = 0; i < FLOWS_LEN; i++)
		for (size_t host = 0; host < HOSTS; host++)
			assert_int_equal(send_error_at(host, &old_flows[i]),
					 owner_in(before, &old_flows[i]));
	for (size_t host = 0; host < HOSTS; host++)
		publish(host, after, &arcs, true);
	for (size_t i = 0; i < FLOWS_LEN; i++) {
		const struct flow *flow = &new_flows[i];

		for (size_t host = 0; host < HOSTS; host++)
			assert_int_equal(send_error_at(host, &old_flows[i]),
					 owner_in(before, &old_flows[i]));
		/* What only one host remembers only that one can know. */
		assert_int_equal(send_at(0, flow, SYN), owner_in(after, flow));
		assert_int_equal(send_error_at(0, flow), owner_in(after, flow));
		assert_int_equal(send_error_at(1, flow), owner_in(before, flow));
		moving += moves(flow);
	}
	assert_true(moving > 0);
	for (int table = OLD_FLOWS; table < TABLES; table++)
		assert_int_equal(moving_len(table), table == EMBRYOS ? moving : 0);
}

/* One host has heard of the change and the other has not: only moving arcs are apart. */
static void test_one_knows_first(void **state)
{
	(void)state;
	publish(0, after, &arcs, true);
	for (size_t i = 0; i < FLOWS_LEN; i++) {
		assert_int_equal(send_at(0, &old_flows[i], ACK), send_at(1, &old_flows[i], ACK));
		assert_int_equal(send_at(0, &new_flows[i], SYN) == send_at(1, &new_flows[i], SYN),
				 !moves(&new_flows[i]));
	}
}

static void open_hosts(void)
{
	const struct flow_times times = {10000, 10000, 300, 700};
	struct dataplane_error error = {};

	moving_open(&times);
	hosts[0] = hosts[1] = rig;
	rig_require(dataplane_open(&hosts[1].dp, DATAPLANE_PIN_DIR "-other", &error) == 0, "%s",
		    error.what);
	hosts[1].program = dataplane_program_fd(hosts[1].dp);
	rig = hosts[1];
	for (uint32_t i = 0; i < ARRAY_LEN(moving_vips); i++)
		rig_set_vip(&rig, &moving_vips[i], i, MOVING_POOL);
	rig_require(dataplane_set_flow_times(rig.dp, &times) == 0, "cannot set times");
}

int main(void)
{
	const struct moves_terms terms = {.now_ms = 1, .tcp_learn_ms = 1, .other_learn_ms = 1};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_old_flows, setup),
		cmocka_unit_test_setup(test_new_flows, setup),
		cmocka_unit_test_setup(test_after_learning, setup),
		cmocka_unit_test_setup(test_one_knows_first, setup),
		cmocka_unit_test_setup(case_3_errors, setup),
	};
	int failed;

	test_seed_print();
	before = build(BACKENDS);
	after = build(JOINS);
	rig_require(list_arcs(&terms) == 0, "out of memory");
	open_hosts();
	failed = cmocka_run_group_tests_name("two hosts", tests, NULL, NULL);
	for (size_t host = 0; host < HOSTS; host++)
		rig_close(&hosts[host]);
	ring_free(before);
	ring_free(after);
	moves_release(&arcs);
	return failed;
}
