/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What it costs to keep connections while backends change, and what breaks: no tracking,
 * tracking of everything, and moving arcs, side by side under the same clients, the same
 * changes and the same SYN flood.
 *
 * Moving arcs are the program itself, run packet by packet, and the daemon's functions;
 * the other two are plain models over the same ring. Time goes in steps of a minute: what
 * is left of entries and of learning times is shortened by so much.
 *
 * In a step each client that is due sends a packet, those whose time is over close and
 * open a new connection, and in between come the SYNs of the flood, of addresses that are
 * never seen again. A connection is broken when its packet reaches another backend than
 * its first one did although that one lives. Those whose backend died are told apart.
 */
#define CHURN_NAMES  64
#define CHURN_VNODES 100

#include <unistd.h>

#include "bpf/flow_hash.h"
#include "tests/bench/compare_options.h"
#include "tests/bench/conntrack.h"
#include "tests/packet/churn.h"

#define STEP_MS	      60000
#define SLICES	      20 /* of a step: the flood goes on between two packets of a client */
#define LIFE_STEPS    120
#define PAUSE_STEPS   10
#define SILENCE_STEPS 120
#define LEARN_TCP_MS  3600000
#define TCP_IDLE_S    10800
#define SHORT_S	      60

enum approach { NOTHING, EVERYTHING, MOVING, APPROACHES };
enum phase { QUIET, FLOOD, PHASES };

static const char *const titles[] = {"no tracking", "everything tracked", "moving arcs"};
static const char *const keys[] = {"nothing", "everything", "moving_arcs"};

/* Where a connection is, in one approach; @backend -1: broken, lost or refused. */
struct home {
	int backend;
	uint32_t life;
};

struct client {
	struct flow flow;
	uint64_t hash;
	bool open, opening, silent;
	int due, ends; /* steps */
	struct home homes[APPROACHES];
};

static struct churn *const churn = &churns[0];

static struct {
	struct rng rng;
	struct client *clients;
	struct conntrack table;
	int step;
	enum phase phase;
	size_t changes, opened;
	size_t broken[APPROACHES][PHASES], lost[APPROACHES];
	size_t tracked_sum[APPROACHES], tracked_peak[APPROACHES][PHASES];
} sim;

static bool lives(int backend, uint32_t life)
{
	const struct churn_backend *one = &churn->backends[backend];

	return one->lives == life && churn_takes(one) & BACKEND_TAKES_OLD;
}

/* ---- the two models ---- */

static int owner_of(uint64_t hash)
{
	uint16_t member = ring_owner(churn->pool->ring, hash);

	return member == RING_NONE ? -1 : churn_find(churn, churn->pool->ids[member]);
}

static int64_t now_ms(void)
{
	return (int64_t)sim.step * STEP_MS;
}

static int track(uint64_t hash, uint8_t flags)
{
	struct conntrack_entry *entry = conntrack_find(&sim.table, hash);
	bool opens = flags == SYN;
	int owner;

	if (!entry || !lives((int)entry->backend, entry->life) ||
	    (opens && !(churn_takes(&churn->backends[entry->backend]) & BACKEND_TAKES_NEW))) {
		owner = owner_of(hash);
		if (owner < 0)
			return owner;
		if (!entry)
			entry = conntrack_add(&sim.table, hash);
		entry->backend = (uint32_t)owner;
		entry->life = churn->backends[owner].lives;
	}
	entry->until_ms = now_ms() + (opens || flags & (FIN | RST) ? SHORT_S : TCP_IDLE_S) * 1000LL;
	return (int)entry->backend;
}

/* ---- packets ---- */

static int choose(enum approach approach, const struct flow *flow, uint64_t hash, uint8_t flags)
{
	uint32_t id;

	switch (approach) {
	case NOTHING:
		return owner_of(hash);
	case EVERYTHING:
		return track(hash, flags);
	default:
		id = moving_send_flow(flow, flags);
		return id == BACKEND_NONE ? -1 : churn_find(churn, id);
	}
}

static void open_connection(struct client *client)
{
	client->flow = moving_flow(rng_below(&sim.rng, 2) ? ENDPOINT_IPV4 : ENDPOINT_IPV6,
				   IPPROTO_TCP, &sim.rng);
	client->hash = flow_hash(&client->flow, churn_daemon.config.seed);
	client->open = client->opening = true;
	client->silent = rng_below(&sim.rng, 1000) < options.silent;
	client->ends = sim.step + 1 + (int)rng_below(&sim.rng, LIFE_STEPS);
	sim.opened++;
	for (int approach = 0; approach < APPROACHES; approach++) {
		struct home *home = &client->homes[approach];

		home->backend = choose(approach, &client->flow, client->hash, SYN);
		if (home->backend >= 0)
			home->life = churn->backends[home->backend].lives;
	}
}

static void send_on(struct client *client, uint8_t flags)
{
	for (int approach = 0; approach < APPROACHES; approach++) {
		struct home *home = &client->homes[approach];
		int reached;

		if (home->backend < 0)
			continue;
		reached = choose(approach, &client->flow, client->hash, flags);
		if (!lives(home->backend, home->life))
			sim.lost[approach]++;
		else if (reached != home->backend)
			sim.broken[approach][sim.phase]++;
		else
			continue;
		home->backend = -1;
	}
	client->due = sim.step + 1 + (int)rng_below(&sim.rng, PAUSE_STEPS);
	if (client->silent)
		client->due += SILENCE_STEPS;
}

static void act(struct client *client)
{
	if (!client->open) {
		open_connection(client);
	} else if (sim.step >= client->ends && sim.step >= client->due) {
		send_on(client, FIN | ACK);
		client->open = false;
	} else if (sim.step >= client->due) {
		send_on(client, ACK);
	}
}

/* The second packet comes a moment after the first. */
static void establish(struct client *client)
{
	if (!client->opening)
		return;
	client->opening = false;
	send_on(client, ACK);
}

static void send_flood(size_t syns)
{
	while (syns--) {
		struct flow flow = moving_flow(ENDPOINT_IPV4, IPPROTO_TCP, &sim.rng);

		for (int approach = EVERYTHING; approach < APPROACHES; approach++)
			choose(approach, &flow, flow_hash(&flow, churn_daemon.config.seed), SYN);
	}
}

/* ---- time ---- */

/* All at once: an entry that is written goes to another place in the map. */
static void age_table(enum table table)
{
	size_t size = options.table + 4096;
	struct flow *flows = calloc(size, sizeof(*flows));
	struct flow_entry *entries = calloc(size, sizeof(*entries));
	bool begun = false, more = true;
	uint32_t cursor = 0, len = 0;

	rig_require(flows && entries, "out of memory");
	while (more) {
		uint32_t count = (uint32_t)size - len;

		more = !bpf_map_lookup_batch(tables[table], begun ? &cursor : NULL, &cursor,
					     flows + len, entries + len, &count, NULL);
		rig_require(more || errno == ENOENT, "cannot read a table");
		begun = true;
		len += count;
	}
	for (uint32_t i = 0; i < len; i++) {
		uint32_t *expires_s = &entries[i].expires_s;

		*expires_s -= *expires_s > STEP_MS / 1000 ? STEP_MS / 1000 : *expires_s;
		bpf_map_update_elem(tables[table], &flows[i], &entries[i], BPF_EXIST);
	}
	free(flows);
	free(entries);
}

static void pass(void)
{
	for (int table = 0; table < TABLES; table++)
		age_table(table);
	churn_wait(STEP_MS);
	churn_tick();
	conntrack_expire(&sim.table, now_ms());
}

static void change(void)
{
	churn_leave_drained(churn);
	churn_random_events(churn, 1);
	churn_apply(churn);
	sim.changes++;
}

static void sample(void)
{
	size_t tracked[APPROACHES] = {0, sim.table.len, 0};

	for (int table = 0; table < TABLES; table++)
		tracked[MOVING] += moving_len(table);
	for (int approach = 0; approach < APPROACHES; approach++) {
		size_t *peak = &sim.tracked_peak[approach][sim.phase];

		if (tracked[approach] > *peak)
			*peak = tracked[approach];
		sim.tracked_sum[approach] += tracked[approach];
	}
}

/* The second half begins with a change and, within the same minute, the flood. */
static void take_step(void)
{
	int half = options.steps / 2 / options.every * options.every;
	size_t syns = sim.step == half ? options.flood / SLICES : 0;

	sim.phase = sim.step < half ? QUIET : FLOOD;
	if (sim.step && sim.step % options.every == 0)
		change();
	for (size_t slice = 0; slice < SLICES; slice++) {
		for (size_t i = slice; i < options.clients; i += SLICES)
			act(&sim.clients[i]);
		send_flood(syns);
		for (size_t i = slice; i < options.clients; i += SLICES)
			establish(&sim.clients[i]);
	}
	sample();
	pass();
}

static void show_progress(void)
{
	int percent = 100 * sim.step / options.steps;

	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r[%-50.*s] %3d %%", percent / 2,
		"##################################################", percent);
	if (percent == 100)
		fprintf(stderr, "\r%60s\r", "");
}

/* ---- results ---- */

static size_t mean(enum approach approach)
{
	return sim.tracked_sum[approach] / (size_t)options.steps;
}

static void print_json(void)
{
	printf("{\"clients\":%zu,\"backends\":%zu,\"minutes\":%d,\"changes\":%zu,\"opened\":%zu,"
	       "\"syns\":%zu,\"table\":%zu",
	       options.clients, options.backends, options.steps, sim.changes, sim.opened,
	       options.flood, options.table);
	for (int i = 0; i < APPROACHES; i++)
		printf(",\"%s\":{\"tracked_mean\":%zu,\"tracked_peak\":%zu,"
		       "\"tracked_peak_flood\":%zu,\"broken\":%zu,\"broken_flood\":%zu,"
		       "\"lost_with_backend\":%zu}",
		       keys[i], mean(i), sim.tracked_peak[i][QUIET], sim.tracked_peak[i][FLOOD],
		       sim.broken[i][QUIET], sim.broken[i][FLOOD], sim.lost[i]);
	puts("}");
}

static void print_table(void)
{
	printf("%zu clients, %zu backends at first, %zu changes in %d hours, %zu connections\n"
	       "a SYN flood of %zu after half of the time; tables for %zu flows\n\n"
	       "                          tracked flows          broken connections  lost with\n"
	       "                       mean    peak   flood   before flood   from then    "
	       "backend\n",
	       options.clients, options.backends, sim.changes, options.steps / 60, sim.opened,
	       options.flood, options.table);
	for (int i = 0; i < APPROACHES; i++)
		printf("%-19s %7zu %7zu %7zu %14zu %11zu %10zu\n", titles[i], mean(i),
		       sim.tracked_peak[i][QUIET], sim.tracked_peak[i][FLOOD], sim.broken[i][QUIET],
		       sim.broken[i][FLOOD], sim.lost[i]);
}

/* ---- the run ---- */

static void start(void)
{
	const struct dataplane_sizes sizes = {
		.established = (uint32_t)options.table,
		.remembered = (uint32_t)options.table,
		.embryonic = (uint32_t)options.table / 4,
		.other = 1024,
	};
	const struct flow_times times = {
		.tcp_idle_s = TCP_IDLE_S,
		.other_idle_s = SHORT_S,
		.closing_s = SHORT_S,
		.embryo_s = SHORT_S,
	};

	sim.rng = rng_start(500);
	sim.clients = calloc(options.clients, sizeof(*sim.clients));
	rig_require(sim.clients && !conntrack_init(&sim.table, (uint32_t)options.table),
		    "out of memory");
	moving_open_sized(&sizes, &times);
	churn_open(1);
	churn_daemon.config.flows.learn_tcp_ms = LEARN_TCP_MS;
	churn_daemon.config.flows.learn_other_ms = SHORT_S * 1000;
	churn_start(churn, 501, 2 * options.backends);
}

int main(int argc, char **argv)
{
	read_options(argc, argv);
	start();
	for (sim.step = 0; sim.step < options.steps; sim.step++) {
		show_progress();
		take_step();
	}
	show_progress();
	if (options.json)
		print_json();
	else
		print_table();
	churn_end(churn);
	conntrack_release(&sim.table);
	free(sim.clients);
	rig_close(&rig);
	return 0;
}
