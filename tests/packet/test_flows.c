/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of bpf/flows.h, one row each, on a ring of one arc: what is sent, to which
 * backend it goes, and what is remembered of it. Each row runs for IPv4 and IPv6.
 *
 * Case 4: an ICMP error about the flow goes to the backend of any packet that opens nothing, and
 * leaves no trace. So before each of these one is sent, too.
 */
#include "tests/packet/moving_setup.h"

#define IDLE_TCP_S   10000
#define IDLE_OTHER_S 5000
#define CLOSING_S    300
#define EMBRYO_S     700
#define STEPS_MAX    16
#define NONE	     BACKEND_NONE

enum backends { A = 1, B, C, BACKENDS_END };
enum learning { NOTHING, TCP_LEARNS, OTHERS_LEARN, BOTH_LEARN };

enum act {
	END,
	PUBLISH, /* owner, previous, what is learned */
	SEND,	 /* must reach the backend; flags; how often */
	TAKES,	 /* backend, what it takes from now on */
	LEAVE,	 /* the backend is removed */
	COME,	 /* the id is given to another backend */
	AGE,	 /* seconds that the flow's entry has left */
	IN,	 /* bits of all tables that have the flow */
	LASTS,	 /* seconds left after the last packet */
	ROSE,	 /* a count; by how much since the row began */
	POOL,	 /* that the VIPs lead to */
};

struct step {
	enum act act;
	uint32_t a, b, c;
};

struct row {
	const char *what;
	uint8_t protocol;
	struct step steps[STEPS_MAX];
};

#define ARC(owner, previous, learning) {PUBLISH, owner, previous, learning}
#define SETTLED(owner)		       {PUBLISH, owner, owner, NOTHING}
#define LEARNED(owner)		       {PUBLISH, owner, NONE, NOTHING}
#define TO(backend, flags)	       {SEND, backend, flags, 1}
#define TEN_TO(backend, flags)	       {SEND, backend, flags, 10}
#define TAKE_ALL(backend)	       {TAKES, backend, BACKEND_TAKES_OLD | BACKEND_TAKES_NEW, 0}
#define DRAIN(backend)		       {TAKES, backend, BACKEND_TAKES_OLD, 0}
#define KILL(backend)		       {TAKES, backend, 0, 0}
#define REMOVE(backend)		       {LEAVE, backend, 0, 0}
#define REUSE(backend)		       {COME, backend, 0, 0}
#define OLD_AGE(seconds)	       {AGE, seconds, 0, 0}
#define KEPT(tables)		       {IN, tables, 0, 0}
#define LEFT(seconds)		       {LASTS, seconds, 0, 0}
#define COUNTED(count, by)	       {ROSE, count, by, 0}
#define VIPS_TO(pool)		       {POOL, pool, 0, 0}

#define NOWHERE	   0
#define IN_FLOWS   (1 << FLOWS)
#define IN_OLD	   (1 << OLD_FLOWS)
#define IN_EMBRYOS (1 << EMBRYOS)
#define IN_OTHERS  (1 << OTHER_FLOWS)

/* What many rows begin with, in an arc that goes from A to B. */
#define MOVING	 ARC(B, A, BOTH_LEARN)
#define OPENED	 MOVING, TO(B, SYN)
#define NEW_OF_B MOVING, TO(B, SYN), TO(B, ACK)
#define OLD_OF_A MOVING, TO(A, ACK)
#define UDP_OF_A MOVING, TO(A, 0)

/* clang-format off */
#define TCP(what, ...) {what, IPPROTO_TCP, {__VA_ARGS__}}
#define UDP(what, ...) {what, IPPROTO_UDP, {__VA_ARGS__}}

static struct row rows[] = {
	TCP("settled: asks no table", SETTLED(A), TO(A, SYN), TO(A, ACK), TO(A, FIN | ACK),
	    KEPT(NOWHERE), COUNTED(FLOW_ASKED, 0)),
	UDP("settled: asks no table", SETTLED(A), TO(A, 0), KEPT(NOWHERE), COUNTED(FLOW_ASKED, 0)),

	TCP("a SYN is the owner's", MOVING, TO(B, SYN), KEPT(IN_EMBRYOS), LEFT(EMBRYO_S),
	    COUNTED(FLOW_NEW, 1), COUNTED(FLOW_ASKED, 1), COUNTED(FLOW_OLD, 0)),
	TCP("so are its repetitions", MOVING, TEN_TO(B, SYN), KEPT(IN_EMBRYOS),
	    COUNTED(FLOW_NEW, 1), COUNTED(FLOW_HIT, 9), LEFT(EMBRYO_S)),
	TCP("the next packet establishes", OPENED, TO(B, ACK), KEPT(IN_FLOWS), LEFT(IDLE_TCP_S),
	    COUNTED(FLOW_PROMOTED, 1), TEN_TO(B, ACK), COUNTED(FLOW_PROMOTED, 1)),
	TCP("SYN with ECN bits opens", MOVING, TO(B, SYN | 0xc0), KEPT(IN_EMBRYOS)),
	TCP("SYN-ACK does not open", MOVING, TO(A, SYN | ACK), KEPT(IN_OLD)),
	TCP("SYN-ACK does not establish", OPENED, TO(B, SYN | ACK), KEPT(IN_EMBRYOS)),
	TCP("opened, then the arc moves on", OPENED, ARC(C, A, BOTH_LEARN), TO(B, SYN), TO(B, ACK),
	    KEPT(IN_FLOWS)),
	TCP("established, then it moves on", NEW_OF_B, ARC(C, A, BOTH_LEARN), TO(B, ACK),
	    LEARNED(C), TO(B, ACK), KEPT(IN_FLOWS)),
	TCP("opened, then undrained", OPENED, LEARNED(A), TO(B, ACK), KEPT(IN_FLOWS)),

	TCP("not known: previous", MOVING, TO(A, ACK), KEPT(IN_OLD), LEFT(IDLE_TCP_S),
	    COUNTED(FLOW_OLD, 1), LEARNED(B), TO(A, ACK), KEPT(IN_OLD), COUNTED(FLOW_HIT, 1)),
	TCP("learned: owner, not remembered", LEARNED(B), TO(B, ACK), TO(B, SYN), TO(B, ACK),
	    KEPT(NOWHERE), COUNTED(FLOW_UNKNOWN, 3), COUNTED(FLOW_ASKED, 3)),
	TCP("others learn: owner, remembered", ARC(B, A, OTHERS_LEARN), TO(B, ACK), KEPT(IN_OLD),
	    COUNTED(FLOW_UNKNOWN, 1), ARC(C, A, OTHERS_LEARN), TO(B, ACK)),
	TCP("others learn: SYN", ARC(B, A, OTHERS_LEARN), TO(B, SYN), KEPT(IN_EMBRYOS)),
	TCP("previous is dead: owner, remembered", KILL(A), MOVING, TO(B, ACK), KEPT(IN_OLD),
	    ARC(C, A, BOTH_LEARN), TAKE_ALL(A), TO(B, ACK)),

	UDP("previous while learning", MOVING, TO(A, 0), KEPT(IN_OTHERS), LEFT(IDLE_OTHER_S),
	    COUNTED(FLOW_OLD, 1), LEARNED(B), TO(A, 0), KEPT(IN_OTHERS)),
	UDP("learned: owner", LEARNED(B), TO(B, 0), KEPT(NOWHERE), COUNTED(FLOW_UNKNOWN, 1)),
	UDP("TCP learns: owner, remembered", ARC(B, A, TCP_LEARNS), TO(B, 0), KEPT(IN_OTHERS),
	    ARC(C, A, TCP_LEARNS), TO(B, 0), COUNTED(FLOW_UNKNOWN, 1)),
	UDP("stays when the arc moves on", UDP_OF_A, ARC(C, A, BOTH_LEARN), TO(A, 0)),
	UDP("previous drains", DRAIN(A), UDP_OF_A, TO(A, 0), LEARNED(B), TO(A, 0)),
	UDP("its backend dies", UDP_OF_A, KILL(A), TO(B, 0), KEPT(IN_OTHERS), LEARNED(C), TO(B, 0),
	    COUNTED(FLOW_STALE, 1)),
	UDP("expired", UDP_OF_A, OLD_AGE(0), LEARNED(B), TO(B, 0), KEPT(NOWHERE)),
	UDP("put off", UDP_OF_A, OLD_AGE(5), TO(A, 0), LEFT(IDLE_OTHER_S)),

	TCP("its backend dies", NEW_OF_B, KILL(B), LEARNED(C), TO(C, ACK), KEPT(NOWHERE),
	    COUNTED(FLOW_STALE, 1)),
	TCP("its backend dies: SYN", NEW_OF_B, KILL(B), ARC(C, A, BOTH_LEARN), TO(C, SYN),
	    KEPT(IN_EMBRYOS), TO(C, ACK), KEPT(IN_FLOWS)),
	TCP("its backend dies, embryonic", OPENED, KILL(B), ARC(C, A, BOTH_LEARN), TO(C, SYN)),
	TCP("its old backend dies", OLD_OF_A, KILL(A), TO(B, ACK), KEPT(IN_OLD),
	    COUNTED(FLOW_STALE, 1), TAKE_ALL(A), TO(B, ACK)),
	TCP("its backend dies and is back", NEW_OF_B, KILL(B), TAKE_ALL(B), LEARNED(C), TO(C, ACK)),
	TCP("its backend is removed", NEW_OF_B, REMOVE(B), LEARNED(C), TO(C, ACK)),
	TCP("its id goes to another", NEW_OF_B, REMOVE(B), REUSE(B), LEARNED(C), TO(C, ACK),
	    COUNTED(FLOW_STALE, 1)),
	TCP("its id goes to another at once", NEW_OF_B, REUSE(B), LEARNED(C), TO(C, ACK)),

	TCP("draining: keeps it", NEW_OF_B, DRAIN(B), ARC(C, A, BOTH_LEARN), TO(B, ACK),
	    TO(B, FIN | ACK), KEPT(IN_FLOWS)),
	TCP("draining: SYN picks afresh", NEW_OF_B, DRAIN(B), ARC(C, A, BOTH_LEARN), TO(C, SYN),
	    KEPT(IN_EMBRYOS), TO(C, ACK), KEPT(IN_FLOWS)),
	TCP("draining: SYN of an old flow", OLD_OF_A, DRAIN(A), TO(A, ACK), TO(B, SYN),
	    KEPT(IN_EMBRYOS)),
	TCP("draining: SYN again", OPENED, DRAIN(B), ARC(C, A, BOTH_LEARN), TO(C, SYN)),
	TCP("draining: opened", OPENED, DRAIN(B), ARC(C, A, BOTH_LEARN), TO(B, ACK)),
	TCP("taking new flows: SYN stays", NEW_OF_B, ARC(C, A, BOTH_LEARN), TO(B, SYN),
	    KEPT(IN_FLOWS), TO(B, ACK)),
	TCP("taking new flows: old one's SYN stays", OLD_OF_A, TO(A, SYN), KEPT(IN_OLD)),
	TCP("drained and undrained", NEW_OF_B, DRAIN(B), TAKE_ALL(B), ARC(C, A, BOTH_LEARN),
	    TO(B, ACK)),

	TCP("FIN shortens", NEW_OF_B, TO(B, FIN | ACK), LEFT(CLOSING_S), TO(B, ACK),
	    LEFT(CLOSING_S), KEPT(IN_FLOWS)),
	TCP("RST shortens", NEW_OF_B, TO(B, RST), LEFT(CLOSING_S), KEPT(IN_FLOWS)),
	TCP("FIN of an old flow", OLD_OF_A, TO(A, FIN | ACK), LEFT(CLOSING_S), TO(A, ACK),
	    LEFT(CLOSING_S), LEARNED(B), TO(A, ACK)),
	TCP("RST right after SYN", OPENED, TO(B, RST), LEFT(CLOSING_S), KEPT(IN_FLOWS)),
	TCP("FIN is the first to be seen", MOVING, TO(A, FIN | ACK), LEFT(CLOSING_S), TO(A, ACK),
	    LEFT(CLOSING_S), KEPT(IN_OLD)),
	TCP("RST is the first to be seen", MOVING, TO(A, RST), LEFT(CLOSING_S), KEPT(IN_OLD)),
	TCP("closed and opened again", NEW_OF_B, TO(B, FIN | ACK), TO(B, SYN), TO(B, ACK),
	    LEFT(IDLE_TCP_S)),
	TCP("old, closed and opened again", OLD_OF_A, TO(A, RST), TO(A, SYN), TO(A, ACK),
	    LEFT(IDLE_TCP_S), KEPT(IN_OLD)),

	TCP("expired", NEW_OF_B, OLD_AGE(0), LEARNED(C), TO(C, ACK), KEPT(NOWHERE),
	    COUNTED(FLOW_STALE, 1)),
	TCP("not quite", NEW_OF_B, OLD_AGE(5), LEARNED(C), TO(B, ACK), LEFT(IDLE_TCP_S)),
	TCP("old and expired", OLD_OF_A, OLD_AGE(0), LEARNED(B), TO(B, ACK), KEPT(NOWHERE)),
	TCP("embryonic and expired", OPENED, OLD_AGE(0), ARC(C, A, BOTH_LEARN), TO(C, SYN),
	    KEPT(IN_EMBRYOS), LEFT(EMBRYO_S)),

	TCP("the last one drains", DRAIN(A), ARC(NONE, A, BOTH_LEARN), TO(A, ACK), KEPT(IN_OLD),
	    LEARNED(NONE), TO(A, ACK)),
	TCP("nobody for a new flow", DRAIN(A), ARC(NONE, A, BOTH_LEARN), TO(NONE, SYN),
	    KEPT(NOWHERE), LEARNED(NONE), TO(NONE, SYN), TO(NONE, ACK), KEPT(NOWHERE)),
	TCP("the last one dies", DRAIN(A), ARC(NONE, A, BOTH_LEARN), TO(A, ACK), KILL(A),
	    TO(NONE, ACK), TO(NONE, SYN), KEPT(NOWHERE)),
	UDP("the last one drains", DRAIN(A), ARC(NONE, A, BOTH_LEARN), TO(A, 0), LEARNED(NONE),
	    TO(A, 0), OLD_AGE(0), TO(NONE, 0), KEPT(NOWHERE)),

	TCP("another pool's memory", NEW_OF_B, VIPS_TO(MOVING_POOL + 1), LEARNED(C), TO(C, ACK),
	    KEPT(NOWHERE)),
	UDP("another pool's memory", UDP_OF_A, VIPS_TO(MOVING_POOL + 1), LEARNED(C), TO(C, 0),
	    KEPT(NOWHERE)),
};
/* clang-format on */

/* What a row is run with. */
struct run {
	const struct row *row;
	struct flow flow;
	uint32_t pool;
	uint64_t counts[FLOW_COUNT];
};

#define REQUIRE(run, fine, format, ...)                                                            \
	do {                                                                                       \
		if (!(fine))                                                                       \
			fail_msg("%s, IPv%d: " format, (run)->row->what, (run)->flow.family,       \
				 __VA_ARGS__);                                                     \
	} while (0)

static void publish(uint32_t pool, uint32_t owner, uint32_t previous, uint32_t learning)
{
	uint64_t position = UINT64_MAX;
	uint16_t owner_id = (uint16_t)owner;
	struct dataplane_move move = {
		.previous = (uint16_t)previous,
		.tcp_until_ms = learning & TCP_LEARNS ? INT64_MAX : 0,
		.other_until_ms = learning & OTHERS_LEARN ? INT64_MAX : 0,
	};
	const struct dataplane_ring ring = {.len = 1,
					    .positions = &position,
					    .owners = &owner_id,
					    .moves = &move,
					    .n_moves = owner != previous || owner == NONE};
	int fd = -1;

	assert_int_equal(dataplane_prepare_ring(rig.dp, pool, &ring, &fd), 0);
	assert_int_equal(dataplane_publish_ring(rig.dp, pool, fd), 0);
}

static void lead_vips_to(uint32_t pool)
{
	for (uint32_t i = 0; i < ARRAY_LEN(moving_vips); i++)
		rig_set_vip(&rig, &moving_vips[i], i, pool);
}

/* All that the flow tables hold of the flow, and all that is counted of them. */
struct trace {
	struct flow_entry entries[TABLES];
	size_t lens[TABLES];
	uint64_t counts[FLOW_COUNT];
};

static void read_trace(const struct run *run, struct trace *trace)
{
	memset(trace, 0, sizeof(*trace));
	for (int table = 0; table < TABLES; table++) {
		moving_entry(table, &run->flow, &trace->entries[table]);
		trace->lens[table] = moving_len(table);
	}
	for (int count = 0; count < FLOW_COUNT; count++)
		trace->counts[count] = moving_count(count);
}

static void case_4_error(const struct run *run, uint32_t backend)
{
	struct trace before, after;
	uint32_t reached;

	read_trace(run, &before);
	reached = moving_send_error(&run->flow);
	REQUIRE(run, reached == backend, "case 4: an ICMP error reaches %u, not %u", reached,
		backend);
	read_trace(run, &after);
	REQUIRE(run, memcmp(&before, &after, sizeof(before)) == 0,
		"case 4: an ICMP error left a trace%s", "");
}

static void send_packet(const struct run *run, uint32_t backend, uint8_t flags)
{
	uint64_t dropped = rig_verdict(&rig, DROP_NO_BACKEND);
	uint32_t reached = moving_send_flow(&run->flow, flags);

	REQUIRE(run, reached == backend, "flags %#x reach %u, not %u", flags, reached, backend);
	dropped = rig_verdict(&rig, DROP_NO_BACKEND) - dropped;
	REQUIRE(run, dropped == (backend == NONE), "flags %#x: not dropped for want of a backend",
		flags);
}

/* The entry and the table that has it; a flow is in one table at a time. */
static struct flow_entry entry_of(const struct run *run, int *table)
{
	struct flow_entry entry = {};

	for (*table = 0; *table < TABLES; (*table)++)
		if (moving_entry(*table, &run->flow, &entry))
			return entry;
	REQUIRE(run, false, "not remembered%s", "");
	return entry;
}

static void send_one(const struct run *run, uint32_t backend, uint8_t flags)
{
	if ((flags & (SYN | ACK)) != SYN)
		case_4_error(run, backend);
	send_packet(run, backend, flags);
}

static void check_tables(const struct run *run, uint32_t expected)
{
	struct flow_entry entry;
	uint32_t found = 0;

	for (int table = 0; table < TABLES; table++) {
		size_t len = moving_len(table);

		found |= (uint32_t)moving_entry(table, &run->flow, &entry) << table;
		REQUIRE(run, len == (expected >> table & 1), "%zu entries in table %d", len, table);
	}
	REQUIRE(run, found == expected, "in tables %#x, not %#x", found, expected);
}

static void check_left(const struct run *run, uint32_t expected_s)
{
	int table;
	struct flow_entry entry = entry_of(run, &table);
	uint32_t left_s = entry.expires_s - moving_now_s();

	/* Some seconds may have passed since, if the machine is very slow. */
	REQUIRE(run, left_s <= expected_s && left_s + 10 >= expected_s, "%u s left, not %u", left_s,
		expected_s);
}

static void set_left(const struct run *run, uint32_t left_s)
{
	int table;
	struct flow_entry entry = entry_of(run, &table);

	entry.expires_s = moving_now_s() + left_s;
	assert_int_equal(bpf_map_update_elem(tables[table], &run->flow, &entry, BPF_EXIST), 0);
}

static void take_step(struct run *run, const struct step *step)
{
	static uint32_t machine;

	switch (step->act) {
	case PUBLISH:
		publish(run->pool, step->a, step->b, step->c);
		break;
	case SEND:
		for (uint32_t i = 0; i < step->c; i++)
			send_one(run, step->a, (uint8_t)step->b);
		break;
	case TAKES:
		dataplane_set_takes(rig.dp, step->a, step->b);
		break;
	case LEAVE:
		dataplane_remove_backend(rig.dp, step->a);
		break;
	case COME:
		moving_backend(step->a, ++machine);
		break;
	case AGE:
		set_left(run, step->a);
		break;
	case IN:
		check_tables(run, step->a);
		break;
	case LASTS:
		check_left(run, step->a);
		break;
	case ROSE:
		REQUIRE(run, moving_count(step->a) - run->counts[step->a] == step->b,
			"count %s is not %u", flow_count_name(step->a), step->b);
		break;
	case POOL:
		run->pool = step->a;
		lead_vips_to(step->a);
		break;
	case END:
		break;
	}
}

static void run_row(const struct row *row, uint8_t family, struct rng *rng)
{
	struct run run = {.row = row, .pool = MOVING_POOL};

	run.flow = moving_flow(family, row->protocol, rng);
	assert_true(dataplane_forget_flows(rig.dp) >= 0);
	lead_vips_to(MOVING_POOL);
	for (uint32_t id = A; id < BACKENDS_END; id++)
		moving_backend(id, 0);
	for (int count = 0; count < FLOW_COUNT; count++)
		run.counts[count] = moving_count(count);
	for (int step = 0; step < STEPS_MAX && row->steps[step].act != END; step++)
		take_step(&run, &row->steps[step]);
	REQUIRE(&run, moving_count(FLOW_NOT_KEPT) == run.counts[FLOW_NOT_KEPT], "not kept%s", "");
}

static void test_row(void **state)
{
	const struct row *row = *state;
	struct rng rng = rng_start((uint64_t)(row - rows));

	run_row(row, ENDPOINT_IPV4, &rng);
	run_row(row, ENDPOINT_IPV6, &rng);
}

int main(void)
{
	const struct flow_times times = {IDLE_TCP_S, IDLE_OTHER_S, CLOSING_S, EMBRYO_S};
	struct CMUnitTest tests[ARRAY_LEN(rows)] = {};
	int failed;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		tests[i].name = rows[i].what;
		tests[i].test_func = test_row;
		tests[i].initial_state = &rows[i];
	}
	test_seed_print();
	moving_open(&times);
	failed = cmocka_run_group_tests_name("flows", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
