/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packet costs, beside floors in the same run: harness.bpf.c's programs in turns,
 * over and over. Prints all samples as JSON, which tests/bench/report makes sense of.
 * A packet that is not forwarded ends the run: what drops is not measured.
 *
 * Usage: bench [--rounds N] [--packets N] [NAME...]     scenes whose names begin so, or all
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "dataplane/capture.h"
#include "tests/bench/harness.h"

#include "tests/bench/harness.skel.h"
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#define VNODES	     200
#define SEED	     7
#define MTU	     9000
#define EVERY	     1000 /* so many that all copies of a round have room */
#define SINGLES	     65536
#define LEARN_MS     3600000
#define ROUNDS_MAX   1000
#define SCENES_MAX   64
#define WARM_PACKETS (1 << 20)
#define TCP_FLAGS_AT 13
#define TCP_SYN	     0x02
#define TCP_ACK	     0x10
#define SOURCE_IPV4  (14 + 12)
#define SOURCE_IPV6  (14 + 8 + 12)
#define PORTS_IPV4   (14 + 20)
#define PORTS_IPV6   (14 + 40)

/* The first ones work on frames, and those from FLOOR_SEARCH on on keys. */
enum kind {
	FLOOR,
	PATH,
	LONG_WAY,
	CAPTURE_NONE,
	CAPTURE_SAMPLE,
	SYN,
	HIT,
	MISS,
	PASS,
	STEP,
	FLOOR_SEARCH,
	SEARCH,
	PLAIN,
};

/**
 * struct scene - a program, and what it works on
 * @flow_bits: 2^so many flows
 * @program: that of the harness; NULL: the data path
 * @floor: name of the scene to hold it against
 */
struct scene {
	const char *name;
	const char *floor;
	const char *program;
	enum kind kind;
	enum forward forward;
	bool is_ipv6;
	int flow_bits;
	size_t backends;
	uint32_t pool;
	struct frame frame;
	uint64_t next;
	double samples[ROUNDS_MAX];
};

/* Designated, so that what a row leaves out is zero. */
#define FLOOR_OF(floor_name, runs, ipv6)                                                           \
	{.name = floor_name, .program = runs, .kind = FLOOR, .is_ipv6 = ipv6, .flow_bits = 20}
#define PATH_OF(path_name, floor_name, what, mode, ipv6, bits, count)                              \
	{.name = path_name,                                                                        \
	 .floor = floor_name,                                                                      \
	 .kind = what,                                                                             \
	 .forward = mode,                                                                          \
	 .is_ipv6 = ipv6,                                                                          \
	 .flow_bits = bits,                                                                        \
	 .backends = count}
#define MODE(mode, on, forward)                                                                    \
	PATH_OF(mode " v4 1", "floor: " on " v4", PATH, forward, false, 0, 16),                    \
		PATH_OF(mode " v4 64k", "floor: " on " v4", PATH, forward, false, 16, 16),         \
		PATH_OF(mode " v4 1M", "floor: " on " v4", PATH, forward, false, 20, 16),          \
		PATH_OF(mode " v6 1", "floor: " on " v6", PATH, forward, true, 0, 16),             \
		PATH_OF(mode " v6 64k", "floor: " on " v6", PATH, forward, true, 16, 16),          \
		PATH_OF(mode " v6 1M", "floor: " on " v6", PATH, forward, true, 20, 16)
#define STEP_OF(step_name, runs)                                                                   \
	{.name = step_name,                                                                        \
	 .floor = "floor: nothing v4",                                                             \
	 .program = runs,                                                                          \
	 .kind = STEP,                                                                             \
	 .forward = FORWARD_DR,                                                                    \
	 .flow_bits = 20,                                                                          \
	 .backends = 16}
#define SEARCH_OF(search_name, runs, what, count)                                                  \
	{.name = "search: " search_name,                                                           \
	 .floor = "search: nothing",                                                               \
	 .program = runs,                                                                          \
	 .kind = what,                                                                             \
	 .backends = count}

static struct scene scenes[SCENES_MAX] = {
	FLOOR_OF("floor: nothing v4", "bench_pass", false),
	FLOOR_OF("floor: swap v4", "bench_swap", false),
	FLOOR_OF("floor: swap v6", "bench_swap", true),
	FLOOR_OF("floor: ipip v4", "bench_outer_20", false),
	FLOOR_OF("floor: gue v4", "bench_outer_28", false),
	FLOOR_OF("floor: ipip v6", "bench_outer_40", true),
	FLOOR_OF("floor: gue v6", "bench_outer_48", true),
	MODE("dr", "swap", FORWARD_DR),
	MODE("nat", "swap", FORWARD_NAT),
	MODE("ipip", "ipip", FORWARD_IPIP),
	MODE("gue", "gue", FORWARD_GUE),
	PATH_OF("pass v4", "floor: nothing v4", PASS, 0, false, 20, 0),
	PATH_OF("syn ipip v4 1M", "floor: ipip v4", SYN, FORWARD_IPIP, false, 20, 16),
	PATH_OF("moving hit ipip v4 1M", "floor: ipip v4", HIT, FORWARD_IPIP, false, 20, 17),
	PATH_OF("moving miss ipip v4 1M", "floor: ipip v4", MISS, FORWARD_IPIP, false, 20, 17),
	PATH_OF("ipip v4 1M, M=200,000", "floor: ipip v4", PATH, FORWARD_IPIP, false, 20, 1000),
	PATH_OF("ipip v4 1M, M=2,000,000", "floor: ipip v4", PATH, FORWARD_IPIP, false, 20, 10000),
	PATH_OF("long way ipip v4 1M", "floor: ipip v4", LONG_WAY, FORWARD_IPIP, false, 20, 16),
	PATH_OF("capture, of no packet, ipip v4 1M", "floor: ipip v4", CAPTURE_NONE, FORWARD_IPIP,
		false, 20, 16),
	PATH_OF("capture, one in 1000, ipip v4 1M", "floor: ipip v4", CAPTURE_SAMPLE, FORWARD_IPIP,
		false, 20, 16),
	STEP_OF("step of dr v4 1M: read", "bench_read"),
	STEP_OF("step of dr v4 1M: VIP", "bench_vip"),
	STEP_OF("step of dr v4 1M: choose", "bench_choose"),
	SEARCH_OF("nothing", "bench_keys", FLOOR_SEARCH, 0),
	SEARCH_OF("nothing, no call", "bench_no_call", FLOOR_SEARCH, 0),
	SEARCH_OF("table of 65,537", "bench_small", FLOOR_SEARCH, 0),
	SEARCH_OF("table of 16M", "bench_large", FLOOR_SEARCH, 0),
	SEARCH_OF("M=3,200", "bench_search", SEARCH, 16),
	SEARCH_OF("M=200,000", "bench_search", SEARCH, 1000),
	SEARCH_OF("M=2,000,000", "bench_search", SEARCH, 10000),
	SEARCH_OF("plain, M=3,200", "bench_search", PLAIN, 16),
	SEARCH_OF("plain, M=200,000", "bench_search", PLAIN, 1000),
	SEARCH_OF("plain, M=2,000,000", "bench_search", PLAIN, 10000),
};

static struct rig rig;
static struct harness_bpf *harness, *plain, *long_way;
static struct scene *chosen[SCENES_MAX];
static size_t n_chosen;
static uint32_t next_backend;
static uint32_t rounds = 15, packets = 1 << 20;

/* The programs that the bench runs, on the maps that the rig fills. */
static struct harness_bpf *harness_open(bool plain_search, bool no_express)
{
	struct harness_bpf *opened = harness_bpf__open();

	rig_require(opened != NULL, "cannot open the harness");
	opened->rodata->plain_search = plain_search;
	opened->rodata->no_express = no_express;
	bpf_program__set_autoload(opened->progs.ringlb, false);
	rig_reuse_maps(opened->obj);
	rig_require(harness_bpf__load(opened) == 0, "cannot load the harness");
	return opened;
}

static bool is_search(const struct scene *scene)
{
	return scene->kind >= FLOOR_SEARCH;
}

static bool is_floor(const struct scene *scene)
{
	return scene->kind == FLOOR || scene->kind == FLOOR_SEARCH;
}

static struct harness_bpf *harness_of(const struct scene *scene)
{
	if (scene->kind == LONG_WAY)
		return long_way;
	return scene->kind == PLAIN ? plain : harness;
}

static void backend_set(uint32_t id, const struct scene *scene)
{
	struct backend backend = {
		.forward = scene->forward,
		.family = scene->is_ipv6 ? ENDPOINT_IPV6 : ENDPOINT_IPV4,
		.port = scene->forward == FORWARD_GUE ? htons(6080) : 0,
	};

	backend.address[scene->is_ipv6 ? 3 : 0] = htonl(0x0a800000 + id);
	if (scene->is_ipv6)
		backend.address[0] = htonl(0x20010db8);
	rig_set_backend(&rig, id, &backend, rig.ingress);
	dataplane_set_mtu(rig.dp, id, MTU);
	dataplane_set_takes(rig.dp, id, BACKEND_TAKES_OLD | BACKEND_TAKES_NEW);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* The ring as it is while its last backend joins. */
static void publish_moving(const struct scene *scene, const struct ring *ring, const uint32_t *ids)
{
	struct ring *before = ring_numbered(&ring_hash_xxh64, SEED, VNODES, scene->backends - 1);
	struct dataplane_ring live = {
		.seed = SEED,
		.len = ring->len,
		.positions = ring->positions,
		.owners = calloc(ring->len, sizeof(*live.owners)),
		.moves = calloc(ring->len, sizeof(*live.moves)),
	};
	int64_t until_ms = scene->kind == HIT ? now_ms() + LEARN_MS : 0;
	int fd = -1;

	for (size_t slot = 0; slot < ring->len; slot++) {
		live.owners[slot] = (uint16_t)ids[ring->owners[slot]];
		if (ring->owners[slot] != scene->backends - 1)
			continue;
		live.moves[live.n_moves++] = (struct dataplane_move){
			.slot = (uint32_t)slot,
			.previous = (uint16_t)ids[ring_owner(before, ring->positions[slot])],
			.tcp_until_ms = until_ms,
			.other_until_ms = until_ms,
		};
	}
	rig_require(dataplane_prepare_ring(rig.dp, scene->pool, &live, &fd) == 0 &&
			    dataplane_publish_ring(rig.dp, scene->pool, fd) == 0,
		    "cannot publish a moving ring");
	free(live.owners);
	free(live.moves);
	ring_free(before);
}

static void publish(const struct scene *scene)
{
	struct ring *ring = ring_numbered(&ring_hash_xxh64, SEED, VNODES, scene->backends);
	uint32_t *ids = calloc(scene->backends, sizeof(*ids));

	for (size_t i = 0; i < scene->backends; i++) {
		ids[i] = next_backend++;
		if (!is_search(scene))
			backend_set(ids[i], scene);
	}
	if (scene->kind == HIT || scene->kind == MISS)
		publish_moving(scene, ring, ids);
	else
		rig_publish(&rig, scene->pool, ring, ids);
	free(ids);
	ring_free(ring);
}

static void make_frame(struct scene *scene)
{
	struct frame_spec spec = {.ttl = 64};
	struct flow *flow = &spec.flow;
	size_t headers = scene->is_ipv6 ? PORTS_IPV6 : PORTS_IPV4;

	flow->family = scene->is_ipv6 ? ENDPOINT_IPV6 : ENDPOINT_IPV4;
	flow->protocol = IPPROTO_TCP;
	flow->source_port = htons(BENCH_PORT_FIRST);
	flow->destination_port = htons(443);
	flow->source[0] = htonl(scene->is_ipv6 ? 0x20010db9 : 0x0a000000);
	flow->destination[0] = htonl(scene->is_ipv6 ? 0x20010dba : 0xc6120000 + scene->pool);
	if (scene->is_ipv6)
		flow->destination[3] = htonl(scene->pool);
	spec.payload_len = BENCH_FRAME_LEN - headers - 20;
	frame_build(&scene->frame, &spec);
	scene->frame.bytes[headers + TCP_FLAGS_AT] = scene->kind == SYN ? TCP_SYN : TCP_ACK;
	if (scene->kind != FLOOR && scene->kind != PASS) {
		const struct endpoint vip = {
			.address = {flow->destination[0], 0, 0, flow->destination[3]},
			.port = flow->destination_port,
			.protocol = IPPROTO_TCP,
			.family = flow->family,
		};

		rig_set_vip(&rig, &vip, scene->pool, scene->pool);
	}
}

static void run(struct scene *scene, uint32_t repeat, uint32_t *duration_ns)
{
	struct harness_bpf *own = harness_of(scene);
	const char *name = scene->program ? scene->program : "bench_path";
	struct bpf_program *program = bpf_object__find_program_by_name(own->obj, name);
	struct xdp_md context = {.data_end = BENCH_FRAME_LEN, .ingress_ifindex = rig.ingress};
	uint8_t nothing[BENCH_FRAME_LEN] = {};
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, options,
			    .data_in = is_search(scene) ? nothing : scene->frame.bytes,
			    .data_size_in = BENCH_FRAME_LEN, .ctx_in = &context,
			    .ctx_size_in = sizeof(context), .repeat = (int)repeat);

	own->bss->bench.pool = scene->pool;
	own->bss->bench.key = own->bss->bench.key ?: 88172645463325252ULL;
	own->bss->bench.next = scene->next;
	own->bss->bench.mask = (1ULL << scene->flow_bits) - 1;
	own->bss->bench.source_at = scene->is_ipv6 ? SOURCE_IPV6 : SOURCE_IPV4;
	own->bss->bench.port_at = scene->is_ipv6 ? PORTS_IPV6 : PORTS_IPV4;
	memcpy(own->bss->bench.frame, scene->frame.bytes, BENCH_FRAME_LEN);
	rig_require(program && bpf_prog_test_run_opts(bpf_program__fd(program), &options) == 0,
		    "cannot run '%s': %s", name, strerror(errno));
	scene->next = own->bss->bench.next;
	*duration_ns = options.duration;
}

/* Somebody captures, as this scene wants it; NULL: nobody. */
static struct dataplane_capture *capture_begin(const struct scene *scene)
{
	struct capture_filter filter = {.last_port = UINT16_MAX, .backend = BACKEND_NONE};
	struct dataplane_capture *capture = NULL;
	struct dataplane_error error;

	if (scene->kind != CAPTURE_NONE && scene->kind != CAPTURE_SAMPLE)
		return NULL;
	memset(filter.verdicts, 0xff, sizeof(filter.verdicts));
	if (scene->kind == CAPTURE_NONE)
		filter.client = (struct capture_peer){
			.mask = {UINT32_MAX},
			.family = ENDPOINT_IPV4,
		};
	rig_require(!dataplane_capture_open(&capture, RIG_PIN_DIR, &error) &&
			    !dataplane_capture_begin(capture, &filter, EVERY, &error),
		    "%s", error.what);
	return capture;
}

/* Run and see that each packet went the way it must. */
static double measure(struct scene *scene, uint32_t repeat)
{
	enum verdict verdict = scene->kind == PASS ? PASS_NOT_VIP : TX_BACKEND;
	struct dataplane_capture *capture = capture_begin(scene);
	uint64_t before = rig_verdict(&rig, verdict);
	uint32_t duration_ns;

	run(scene, is_search(scene) ? repeat / BENCH_KEYS + 1 : repeat, &duration_ns);
	if (capture)
		rig_require(!dataplane_capture_lost(capture), "'%s': copies were lost",
			    scene->name);
	dataplane_capture_close(capture);
	if (is_search(scene)) {
		rig_require(!harness_of(scene)->bss->bench.missed, "'%s': nothing was found",
			    scene->name);
		return (double)duration_ns / BENCH_KEYS;
	}
	if (!scene->program)
		rig_require(rig_verdict(&rig, verdict) == before + repeat,
			    "'%s': %lu of %u packets went their way", scene->name,
			    (unsigned long)(rig_verdict(&rig, verdict) - before), repeat);
	return duration_ns;
}

static void prepare(struct scene *scene, uint32_t pool)
{
	scene->pool = pool;
	if (!is_search(scene))
		make_frame(scene);
	if (scene->backends)
		publish(scene);
	/* What is remembered of flows, and caches. */
	measure(scene, packets < WARM_PACKETS ? packets : WARM_PACKETS);
}

static bool wanted(const struct scene *scene, char *names[], int n)
{
	if (!n || is_floor(scene))
		return true;
	for (int i = 0; i < n; i++)
		if (!strncmp(scene->name, names[i], strlen(names[i])))
			return true;
	return false;
}

static void choose(char *names[], int n)
{
	size_t floors = 0;

	for (size_t i = 0; i < SCENES_MAX && scenes[i].name; i++) {
		if (!wanted(&scenes[i], names, n))
			continue;
		chosen[n_chosen++] = &scenes[i];
		floors += is_floor(&scenes[i]);
	}
	if (n_chosen > floors)
		return;
	fprintf(stderr, "bench: no scene's name begins with '%s'\n", names[0]);
	exit(2);
}

static void progress(size_t done, size_t all)
{
	static const char bar[] = "########################################";
	int len = (int)(done * (sizeof(bar) - 1) / all);

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r[%-40.*s] %zu of %zu%s", len, bar, done, all,
			done == all ? "\n" : "");
}

static void measure_all(void)
{
	for (uint32_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < n_chosen; i++) {
			struct scene *scene = chosen[(i + round * 7) % n_chosen];

			scene->samples[round] = measure(scene, packets);
			progress(round * n_chosen + i + 1, rounds * n_chosen);
		}
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The median of single runs, each with a flow of its own. */
static uint32_t single_median(const char *name)
{
	static uint32_t samples[SINGLES];
	size_t i = 0;

	while (i < n_chosen && strcmp(chosen[i]->name, name) != 0)
		i++;
	if (i == n_chosen)
		return 0;
	for (size_t k = 0; k < SINGLES; k++)
		run(chosen[i], 1, &samples[k]);
	qsort(samples, SINGLES, sizeof(*samples), by_value);
	return samples[SINGLES / 2];
}

static void print_json(void)
{
	printf("{\"packets\": %u, \"scenes\": [", packets);
	for (size_t i = 0; i < n_chosen; i++) {
		printf("%s\n {\"name\": \"%s\", \"floor\": ", i ? "," : "", chosen[i]->name);
		if (chosen[i]->floor)
			printf("\"%s\", \"ns\": [", chosen[i]->floor);
		else
			printf("null, \"ns\": [");
		for (uint32_t round = 0; round < rounds; round++)
			printf("%s%.2f", round ? ", " : "", chosen[i]->samples[round]);
		printf("]}");
	}
	printf("],\n \"single\": {\"ipip v4 64k\": %u, \"floor: ipip v4\": %u}}\n",
	       single_median("ipip v4 64k"), single_median("floor: ipip v4"));
}

static uint32_t number(const char *option, const char *text, uint32_t most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !value || value > most) {
		fprintf(stderr, "bench: %s must be 1 to %u, got '%s'\n", option, most, text);
		exit(2);
	}
	return (uint32_t)value;
}

static void read_options(int argc, char *argv[])
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
						{"packets", required_argument, NULL, 'p'},
						{}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			rounds = number("--rounds", optarg, ROUNDS_MAX);
		else if (option == 'p')
			packets = number("--packets", optarg, 1 << 24);
		else
			exit(2);
	}
	choose(argv + optind, argc - optind);
}

static void set_up(void)
{
	const struct encap encap = {
		.seed = SEED,
		.source_ipv4 = htonl(0xac100000),
		.hosts_ipv4 = htonl(0xffff),
		.source_ipv6 = {htonl(0x20010dbb)},
		.hosts_ipv6 = {~0U, ~0U},
	};
	const struct flow_times times = {
		.tcp_idle_s = 10800, .other_idle_s = 60, .closing_s = 60, .embryo_s = 60};

	rig_open(&rig);
	rig_require(dataplane_set_encap(rig.dp, &encap) == 0 &&
			    dataplane_set_flow_times(rig.dp, &times) == 0,
		    "cannot set up");
	harness = harness_open(false, false);
	plain = harness_open(true, false);
	long_way = harness_open(false, true);
	for (size_t i = 0; i < n_chosen; i++)
		prepare(chosen[i], (uint32_t)i + 1);
}

int main(int argc, char *argv[])
{
	cpu_set_t last;

	read_options(argc, argv);
	CPU_ZERO(&last);
	CPU_SET((size_t)sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
	rig_require(sched_setaffinity(0, sizeof(last), &last) == 0, "cannot stay on one CPU");
	set_up();
	measure_all();
	print_json();
	harness_bpf__destroy(harness);
	harness_bpf__destroy(plain);
	harness_bpf__destroy(long_way);
	rig_close(&rig);
	return 0;
}
