/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets a second through a driver: one CPU makes frames and sends them into a veth, and
 * the other one runs the program at its other end, which sends them back, and takes them
 * off. Prints all samples as JSON, which tests/bench/report makes sense of: nanoseconds a
 * packet, and those that the second CPU was at work. A frame that does not come back ends
 * the run.
 *
 * Usage: veth [--rounds N] [--packets N]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "tests/bench/veth.h"

#include "tests/bench/veth.skel.h"
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#define ROUNDS_MAX 1000
#define BACKENDS   16
#define VNODES	   200
#define SEED	   7
#define MTU	   9000
#define BATCH	   64
#define TCP_ACK_AT (14 + 20 + 13)

/* @forward: what the backends of its pool want, or 0 for a floor. */
struct scene {
	const char *name;
	const char *floor;
	const char *program;
	enum forward forward;
	int flow_bits;
	double ns[ROUNDS_MAX];
	double core_ns[ROUNDS_MAX];
};

static struct scene scenes[] = {
	{.name = "veth floor: swap v4", .program = "veth_swap", .flow_bits = 20},
	{.name = "veth floor: ipip v4", .program = "veth_outer", .flow_bits = 20},
	{"veth dr v4 1M", "veth floor: swap v4", NULL, FORWARD_DR, 20, {}, {}},
	{"veth ipip v4 1", "veth floor: ipip v4", NULL, FORWARD_IPIP, 0, {}, {}},
	{"veth ipip v4 64k", "veth floor: ipip v4", NULL, FORWARD_IPIP, 16, {}, {}},
	{"veth ipip v4 1M", "veth floor: ipip v4", NULL, FORWARD_IPIP, 20, {}, {}},
};
#define SCENES (sizeof(scenes) / sizeof(scenes[0]))

static struct rig rig;
static struct veth_bpf *ends;
static uint32_t balancer, generator; /* interfaces */
static int napi_pid;
static uint32_t rounds = 15, packets = 1 << 18;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* How long the thread that runs the balancer's end was at work. */
static double core_ns(void)
{
	char path[64];
	unsigned long long ns = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", napi_pid);
	file = fopen(path, "re");
	rig_require(file && fscanf(file, "%llu", &ns) == 1, "cannot read '%s'", path);
	fclose(file);
	return (double)ns;
}

static uint32_t vip_of(enum forward forward)
{
	return htonl(0xc6120000 + (uint32_t)forward);
}

static void set_pool(enum forward forward, const struct ring *ring)
{
	const struct endpoint vip = {
		.address = {vip_of(forward)},
		.port = htons(443),
		.protocol = IPPROTO_TCP,
		.family = ENDPOINT_IPV4,
	};
	uint32_t ids[BACKENDS];

	for (uint32_t i = 0; i < BACKENDS; i++) {
		const struct backend backend = {
			.forward = forward,
			.family = ENDPOINT_IPV4,
			.address = {htonl(0x0a800000 + i)},
		};

		ids[i] = (uint32_t)forward * BACKENDS + i;
		rig_set_backend(&rig, ids[i], &backend, balancer);
		dataplane_set_mtu(rig.dp, ids[i], MTU);
		dataplane_set_takes(rig.dp, ids[i], BACKEND_TAKES_OLD | BACKEND_TAKES_NEW);
	}
	rig_publish(&rig, forward, ring, ids);
	rig_set_vip(&rig, &vip, forward, forward);
}

static void set_up_pools(void)
{
	const struct encap encap = {
		.seed = SEED,
		.source_ipv4 = htonl(0xac100000),
		.hosts_ipv4 = htonl(0xffff),
	};
	struct ring *ring = ring_numbered(&ring_hash_xxh64, SEED, VNODES, BACKENDS);

	rig_require(dataplane_set_encap(rig.dp, &encap) == 0, "cannot set up");
	set_pool(FORWARD_DR, ring);
	set_pool(FORWARD_IPIP, ring);
	ring_free(ring);
}

/* Have the end's frames handled by a thread of its own, on the last CPU. */
static void give_thread(const char *name)
{
	long cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	char line[64];
	FILE *pipe;

	rig_require(cpu > 0, "two CPUs are needed");
	rig_shell("mount -t sysfs sysfs /sys && echo 1 > /sys/class/net/%s/threaded", name);
	snprintf(line, sizeof(line), "pgrep '^napi/%s-'", name);
	pipe = popen(line, "re");
	rig_require(pipe && fscanf(pipe, "%d", &napi_pid) == 1, "no thread of '%s'", name);
	pclose(pipe);
	rig_shell("taskset -cp %ld %d >/dev/null", cpu, napi_pid);
}

static void attach(uint32_t ifindex, int program)
{
	int err = bpf_xdp_attach((int)ifindex, program, XDP_FLAGS_DRV_MODE, NULL);

	rig_require(err == 0, "cannot attach: %s", strerror(-err));
}

static void set_up(void)
{
	char name[16], peer[32];
	cpu_set_t first;

	rig_open(&rig);
	/* Threads are found by name, and others may have veths, too. */
	snprintf(name, sizeof(name), "v%d", getpid());
	balancer = rig_add_veth(name);
	ends = veth_bpf__open_and_load();
	rig_require(ends != NULL, "cannot load the programs of the ends");
	set_up_pools();
	snprintf(peer, sizeof(peer), "%s-peer", name);
	generator = if_nametoindex(peer);
	/* Or its neighbour discovery comes between. */
	rig_shell("sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
	attach(generator, bpf_program__fd(ends->progs.veth_receive));
	attach(balancer, bpf_program__fd(ends->progs.veth_swap));
	give_thread(name);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	rig_require(sched_setaffinity(0, sizeof(first), &first) == 0, "cannot stay on a CPU");
}

static void make_frame(const struct scene *scene)
{
	struct frame_spec spec = {.ttl = 64};
	struct veth_bench *bench = &ends->bss->veth;
	struct frame frame;

	spec.flow = (struct flow){
		.source = {htonl(0x0a000000)},
		.destination = {vip_of(scene->forward)},
		.source_port = htons(1024),
		.destination_port = htons(443),
		.protocol = IPPROTO_TCP,
		.family = ENDPOINT_IPV4,
	};
	spec.payload_len = VETH_FRAME_LEN - 14 - 20 - 20;
	frame_build(&frame, &spec);
	frame.bytes[TCP_ACK_AT] = 0x10;
	memcpy(bench->frame, frame.bytes, VETH_FRAME_LEN);
	/* Of the outer header only the Ethernet header's type counts. */
	memcpy(bench->outer, frame.bytes, 14);
	bench->mask = (1ULL << scene->flow_bits) - 1;
	bench->sent = bench->received = bench->stalled = 0;
}

static void generate(const struct scene *scene, uint32_t repeat)
{
	struct veth_bench *bench = &ends->bss->veth;
	struct xdp_md context = {.data_end = VETH_FRAME_LEN, .ingress_ifindex = generator};
	uint8_t nothing[VETH_FRAME_LEN] = {};
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = nothing,
			    .data_size_in = sizeof(nothing), .ctx_in = &context,
			    .ctx_size_in = sizeof(context), .repeat = (int)repeat,
			    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);
	int err = bpf_prog_test_run_opts(bpf_program__fd(ends->progs.veth_generate), &options);

	rig_require(err == 0, "cannot send frames: %s", strerror(-err));
	for (int ms = 0; ms < 5000 && *(volatile __u64 *)&bench->received < repeat; ms++)
		usleep(1000);
	rig_require(bench->sent == repeat && bench->received == repeat,
		    "'%s': %llu of %llu frames came back", scene->name, bench->received,
		    bench->sent);
}

static void measure(struct scene *scene, uint32_t round)
{
	struct bpf_program *floor =
		scene->program ? bpf_object__find_program_by_name(ends->obj, scene->program) : NULL;
	uint64_t before = rig_verdict(&rig, TX_BACKEND);
	double start, core;

	attach(balancer, floor ? bpf_program__fd(floor) : rig.program);
	make_frame(scene);
	core = core_ns();
	start = now_ns();
	generate(scene, packets);
	scene->ns[round] = (now_ns() - start) / packets;
	scene->core_ns[round] = (core_ns() - core) / packets;
	rig_require(floor || rig_verdict(&rig, TX_BACKEND) == before + packets,
		    "'%s': not all frames went to backends", scene->name);
}

static void print_samples(const char *what, const double *samples)
{
	printf("\"%s\": [", what);
	for (uint32_t round = 0; round < rounds; round++)
		printf("%s%.2f", round ? ", " : "", samples[round]);
	printf("]");
}

static void print_json(void)
{
	printf("{\"packets\": %u, \"scenes\": [", packets);
	for (size_t i = 0; i < SCENES; i++) {
		printf("%s\n {\"name\": \"%s\", \"floor\": ", i ? "," : "", scenes[i].name);
		if (scenes[i].floor)
			printf("\"%s\", ", scenes[i].floor);
		else
			printf("null, ");
		print_samples("ns", scenes[i].ns);
		printf(", ");
		print_samples("core_ns", scenes[i].core_ns);
		printf("}");
	}
	printf("]}\n");
}

static uint32_t number(const char *option, const char *text, uint32_t most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !value || value > most) {
		fprintf(stderr, "veth: %s must be 1 to %u, got '%s'\n", option, most, text);
		exit(2);
	}
	return (uint32_t)value;
}

int main(int argc, char *argv[])
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
	set_up();
	for (uint32_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < SCENES; i++)
			measure(&scenes[(i + round) % SCENES], round);
	print_json();
	veth_bpf__destroy(ends);
	rig_close(&rig);
	return 0;
}
