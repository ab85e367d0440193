/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * No connection breaks because the backend set changed.
 *
 * Some thousand clients open flows, send and end at random, through the program, while
 * backends come, drain, die and return. Every packet of a flow must reach the backend
 * that its first one reached, unless that one died; then any live one, and from there on
 * always that.
 *
 * By design two kinds of flow are not held to it: one that stays silent through a whole
 * learning time, so here everybody sends before it is over; and one whose SYN is sent
 * again after its arc has moved, so here nobody's is.
 */
#include "tests/packet/churn.h"

#define CLIENTS	  2000
#define STEPS	  100
#define MARGIN_MS 120000 /* real time, which passes too, is far less */

static struct churn *const churn = &churns[0];

enum state { IDLE, OPENING, OPEN, ENDED };

/**
 * struct client
 * @backend: which one it talks to, in the life that it then had
 * @last_ms: when it last sent, or ended
 */
struct client {
	struct frame frame;
	struct flow flow;
	enum state state;
	int backend;
	uint32_t life;
	int64_t last_ms;
};

static struct {
	struct client clients[CLIENTS];
	struct rng rng;
	int64_t now_ms;
	int step;
	size_t packets, opened, reopened, killed, refused, most_moves, most_tracked;
} town;

static bool is_tcp(const struct client *client)
{
	return client->flow.protocol == IPPROTO_TCP;
}

static bool is_open(const struct client *client)
{
	return client->state == OPENING || client->state == OPEN;
}

static bool backend_lives(const struct client *client)
{
	const struct churn_backend *backend = &churn->backends[client->backend];

	return backend->lives == client->life && churn_takes(backend);
}

static void fail_client(const struct client *client, const char *what, uint32_t reached)
{
	struct dataplane_match match = {};

	dataplane_lookup(rig.dp, &client->flow, &match);
	fail_msg("step %d: client %td (%s, IPv%d), of backend %d id %u: %s, reached id %u; "
		 "owner %u, %s, previous %u",
		 town.step, client - town.clients, is_tcp(client) ? "TCP" : "UDP",
		 client->flow.family, client->backend, churn->backends[client->backend].id, what,
		 reached, match.backend, match.moving ? "moving" : "settled", match.previous);
}

/* The client takes the backend that @id stands for as its own. */
static void settle_with(struct client *client, uint32_t id, uint32_t must_take)
{
	int backend = churn_find(churn, id);

	if (backend < 0 || !(churn_takes(&churn->backends[backend]) & must_take))
		fail_client(client, "not a backend for it", id);
	client->backend = backend;
	client->life = churn->backends[backend].lives;
}

/* The first packet. */
static void open_flow(struct client *client)
{
	uint32_t id = moving_send(&client->frame, SYN);

	town.packets++;
	client->last_ms = town.now_ms;
	if (id == BACKEND_NONE) {
		/* Nobody is there for new flows, and only then. */
		if (churn_takers(churn))
			fail_client(client, "dropped", id);
		client->state = IDLE;
		town.refused++;
		return;
	}
	/* While an arc learns, UDP flows may go to a backend that drains. */
	settle_with(client, id, is_tcp(client) ? BACKEND_TAKES_NEW : BACKEND_TAKES_OLD);
	client->state = is_tcp(client) ? OPENING : OPEN;
	town.opened++;
}

/* Any later packet. */
static void send_on(struct client *client, uint8_t flags)
{
	uint32_t id = moving_send(&client->frame, flags);

	town.packets++;
	client->last_ms = town.now_ms;
	client->state = OPEN;
	if (backend_lives(client)) {
		if (id != churn->backends[client->backend].id)
			fail_client(client, "BROKEN", id);
		return;
	}
	if (id == BACKEND_NONE) {
		if (churn_takers(churn))
			fail_client(client, "dropped", id);
		return;
	}
	settle_with(client, id, BACKEND_TAKES_OLD);
	town.killed++;
}

static void end_flow(struct client *client)
{
	if (is_tcp(client) && rng_below(&town.rng, 2))
		send_on(client, rng_below(&town.rng, 4) ? FIN | ACK : RST);
	client->state = ENDED;
	client->last_ms = town.now_ms;
}

/* Now and then a tuple comes again before it is forgotten. */
static void maybe_reopen(struct client *client)
{
	if (!is_tcp(client) || rng_below(&town.rng, 10))
		return;
	open_flow(client);
	town.reopened++;
}

static void act(struct client *client)
{
	switch (client->state) {
	case IDLE:
		if (rng_below(&town.rng, 10) == 0)
			open_flow(client);
		break;
	case OPENING:
		if (rng_below(&town.rng, 3))
			send_on(client, ACK);
		break;
	case OPEN:
		if (rng_below(&town.rng, 3))
			send_on(client, ACK);
		else if (rng_below(&town.rng, 12) == 0)
			end_flow(client);
		break;
	case ENDED:
		maybe_reopen(client);
		break;
	}
}

static void act_all(void)
{
	for (size_t i = 0; i < CLIENTS; i++)
		act(&town.clients[i]);
}

/* Between two writes of a change: who is not concerned notices nothing. */
static void send_in_between(struct churn *changing)
{
	(void)changing;
	for (size_t i = 0; i < CLIENTS; i++) {
		struct client *client = &town.clients[i];

		if (is_open(client) && backend_lives(client) && rng_below(&town.rng, 8) == 0)
			send_on(client, ACK);
	}
}

static int64_t learn_ms(const struct client *client)
{
	return is_tcp(client) ? CHURN_TCP_LEARN_MS : CHURN_OTHER_LEARN_MS;
}

/* Nobody is silent through a whole learning time; what has ended is forgotten by then. */
static void pass(int64_t ms)
{
	for (size_t i = 0; i < CLIENTS; i++) {
		struct client *client = &town.clients[i];
		bool late = client->last_ms + learn_ms(client) <= town.now_ms + ms + MARGIN_MS;

		if (late && is_open(client))
			send_on(client, ACK);
		if (late && client->state == ENDED) {
			moving_forget(&client->flow);
			client->state = IDLE;
		}
	}
	town.now_ms += ms;
	churn_pass(ms);
}

static int64_t random_pause_ms(void)
{
	static const int64_t most_ms[] = {1000, 60000, 300000, 700000, 7000000};

	return (int64_t)rng_below(&town.rng, (uint64_t)most_ms[rng_below(&town.rng, 5)]);
}

static void watch_size(void)
{
	size_t tracked = 0;

	if (churn->pool->moves.len > town.most_moves)
		town.most_moves = churn->pool->moves.len;
	for (int table = 0; table < TABLES; table++)
		tracked += moving_len(table);
	if (tracked > town.most_tracked)
		town.most_tracked = tracked;
}

static void take_step(void)
{
	act_all();
	if (rng_below(&town.rng, 3)) {
		churn_leave_drained(churn);
		churn_random_events(churn, rng_below(&town.rng, 4) ? 1 : 6);
		churn_apply(churn);
		act_all();
	}
	if (rng_below(&town.rng, 30) == 0)
		churn_restart();
	if (rng_below(&town.rng, 2))
		pass(random_pause_ms());
	if (town.step % 10 == 0)
		watch_size();
}

static void town_start(uint64_t stream)
{
	memset(&town, 0, sizeof(town));
	town.rng = rng_start(stream);
	for (size_t i = 0; i < CLIENTS; i++) {
		struct client *client = &town.clients[i];
		uint8_t protocol = i % 4 ? IPPROTO_TCP : IPPROTO_UDP;

		client->flow =
			moving_flow(i % 3 ? ENDPOINT_IPV4 : ENDPOINT_IPV6, protocol, &town.rng);
		moving_frame(&client->frame, &client->flow);
	}
}

static bool is_at_owner(const struct client *client)
{
	struct dataplane_match match = {};

	return is_open(client) && backend_lives(client) &&
	       !dataplane_lookup(rig.dp, &client->flow, &match) &&
	       match.backend == churn->backends[client->backend].id;
}

/*
 * When no flow is left but those of the owners, which go on, the live ring is the pure
 * one, and nothing is asked or remembered.
 */
static void check_settles(void)
{
	const struct ring *ring = churn->pool->ring;
	struct dataplane_ring live = {};
	uint64_t asked;

	for (size_t i = 0; i < CLIENTS; i++) {
		if (is_at_owner(&town.clients[i]))
			continue;
		moving_forget(&town.clients[i].flow);
		town.clients[i].state = IDLE;
	}
	pass(2 * CHURN_TCP_LEARN_MS);
	pass(1);
	assert_int_equal(churn->pool->moves.len, 0);
	assert_int_equal(dataplane_read_ring(rig.dp, MOVING_POOL, &live), 0);
	assert_int_equal(live.n_moves, 0);
	assert_int_equal(live.len, ring->len);
	for (size_t slot = 0; slot < ring->len; slot++) {
		assert_int_equal(live.positions[slot], ring->positions[slot]);
		assert_int_equal(live.owners[slot], churn->pool->ids[ring->owners[slot]]);
	}
	dataplane_ring_release(&live);
	asked = moving_count(FLOW_ASKED);
	act_all();
	assert_int_equal(moving_count(FLOW_ASKED), asked);
	for (int table = 0; table < TABLES; table++)
		assert_int_equal(moving_len(table), 0);
}

/* How many backends there may be in each run. Of two, none may be left at times. */
static size_t runs[] = {CHURN_NAMES, 2, 5};

/* Over all runs. */
static struct {
	size_t events[CHURN_EVENTS];
	size_t packets, reopened, killed, refused, most_moves;
} sum;

static void report(size_t run)
{
	print_message("# %zu backends: %zu packets, %zu flows opened, %zu again, %zu lost their "
		      "backend, %zu refused; at most %zu moves, %zu tracked\n",
		      runs[run], town.packets, town.opened, town.reopened, town.killed,
		      town.refused, town.most_moves, town.most_tracked);
	print_message("# %zu adds, %zu drains, %zu undrains, %zu weights, %zu kills, %zu back, "
		      "%zu removed, %zu left\n",
		      churn->events[ADD], churn->events[DRAIN], churn->events[UNDRAIN],
		      churn->events[REWEIGH], churn->events[KILL], churn->events[RECOVER],
		      churn->events[REMOVE_NOW], churn->events[LEAVE]);
	for (int event = 0; event < CHURN_EVENTS; event++)
		sum.events[event] += churn->events[event];
	sum.packets += town.packets;
	sum.reopened += town.reopened;
	sum.killed += town.killed;
	sum.refused += town.refused;
	sum.most_moves += town.most_moves;
}

static void test_no_break(void **state)
{
	size_t run = (size_t)((size_t *)*state - runs);

	churn_open(1);
	churn_start(churn, 100 + run, runs[run]);
	town_start(200 + run);
	churn->uncommitted = send_in_between;
	for (town.step = 0; town.step < STEPS; town.step++)
		take_step();
	check_settles();
	report(run);
	churn_end(churn);
}

/* A town where nothing happens would prove nothing. */
static void test_was_busy(void **state)
{
	(void)state;
	for (int event = 0; event < CHURN_EVENTS; event++)
		assert_true(sum.events[event] > 0);
	assert_true(sum.packets > ARRAY_LEN(runs) * CLIENTS * STEPS / 4);
	assert_true(sum.reopened > 100 && sum.killed > 100 && sum.refused > 0);
	assert_true(sum.most_moves > 80);
	assert_int_equal(moving_count(FLOW_NOT_KEPT), 0);
}

int main(void)
{
	const struct flow_times times = {1000000, 1000000, 100000, 100000};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_no_break, &runs[0]),
		cmocka_unit_test_prestate(test_no_break, &runs[1]),
		cmocka_unit_test_prestate(test_no_break, &runs[2]),
		cmocka_unit_test(test_was_busy),
	};
	int failed;

	test_seed_print();
	moving_open(&times);
	failed = cmocka_run_group_tests_name("no break", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
