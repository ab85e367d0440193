/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The short way of plain packets against the long way of all: the program as it is and the
 * program without the short way, on the same maps, must leave the same bytes with the same
 * action, verdict and counters. Valid frames, as many that are damaged, and truncated ones.
 */
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <bpf/bpf.h>
#include <netinet/in.h>

#include "ringlb.skel.h"

#define FRAMES	  40000
#define BATCH	  200 /* counters are compared after so many */
#define POOLS	  8
#define MEMBERS	  4
#define VNODES	  200
#define VIPS	  (4 * POOLS) /* of two families and two protocols each */
#define HEADERS	  80
#define MSS_POOL  6
#define GUE_PORT  6080
#define VIP_PORT  443
#define PLAIN_MSS 1200

static struct rig rig;
static struct ringlb_bpf *without;
static int program_with;
static struct endpoint vips[VIPS];

/* dr, nat, ipip to both families, gue to both, then ipip with another MSS and by source. */
static struct backend backend_of(uint32_t pool, uint32_t member)
{
	static const enum forward forwards[POOLS] = {FORWARD_DR,   FORWARD_NAT, FORWARD_IPIP,
						     FORWARD_IPIP, FORWARD_GUE, FORWARD_GUE,
						     FORWARD_IPIP, FORWARD_IPIP};
	bool to_ipv6 = pool == 3 || pool == 5;
	struct backend backend = {
		.forward = forwards[pool],
		.family = to_ipv6 ? ENDPOINT_IPV6 : ENDPOINT_IPV4,
		.port = forwards[pool] == FORWARD_GUE ? htons(GUE_PORT) : 0,
		.address = {htonl(to_ipv6 ? 0xfd000000 : 0x0a000001 + pool * 256 + member)},
	};

	if (to_ipv6)
		backend.address[3] = htonl(pool << 16 | member);
	return backend;
}

static void set_pool(uint32_t pool)
{
	struct ring *ring = ring_numbered(&ring_hash_xxh64, 7, VNODES, MEMBERS);
	uint32_t ids[MEMBERS];

	for (uint32_t member = 0; member < MEMBERS; member++) {
		struct backend backend = backend_of(pool, member);

		ids[member] = pool * MEMBERS + member;
		rig_set_backend(&rig, ids[member], &backend, rig.ingress);
		dataplane_set_takes(rig.dp, ids[member], BACKEND_TAKES_OLD | BACKEND_TAKES_NEW);
	}
	rig_publish(&rig, pool, ring, ids);
	ring_free(ring);
}

static void set_vips(uint32_t pool)
{
	for (uint32_t kind = 0; kind < 4; kind++) {
		uint32_t vip = pool * 4 + kind;
		const struct vip value = {
			.vip = vip,
			.pool = (uint16_t)pool,
			.mss = pool == MSS_POOL ? PLAIN_MSS : 0,
			.hash = pool == POOLS - 1 ? VIP_HASH_SOURCE : VIP_HASH_FLOW,
		};

		vips[vip] = (struct endpoint){
			.family = kind & 1 ? ENDPOINT_IPV6 : ENDPOINT_IPV4,
			.protocol = kind & 2 ? IPPROTO_UDP : IPPROTO_TCP,
			.port = htons(VIP_PORT),
			.address = {htonl(kind & 1 ? 0x20010db8 : 0xc6336400 + pool)},
		};
		if (kind & 1)
			vips[vip].address[3] = htonl(pool);
		rig_set_vip_value(&rig, &vips[vip], &value);
	}
}

static void load_without(void)
{
	without = ringlb_bpf__open();
	rig_require(without != NULL, "cannot open the program");
	without->rodata->no_express = true;
	rig_reuse_maps(without->obj);
	rig_require(!ringlb_bpf__load(without), "cannot load the program without the short way");
}

/* Any flags, and often an MSS option where payload was. */
static void set_tcp(uint8_t *tcp, struct rng *rng)
{
	static const uint8_t mss[] = {2, 4, 1460 >> 8, 1460 & 0xff};

	tcp[13] = (uint8_t)rng_next(rng);
	if (!rng_below(rng, 2))
		return;
	tcp[12] = 6 << 4;
	memcpy(tcp + 20, mss, sizeof(mss));
}

/* A valid frame to some VIP, or to nobody. */
static void make_frame(struct frame *frame, struct rng *rng)
{
	static const uint8_t ttls[] = {64, 64, 64, 255, 2, 1, 0};
	const struct endpoint *vip = &vips[rng_below(rng, VIPS)];
	const uint64_t random[4] = {rng_next(rng), rng_next(rng), rng_next(rng), rng_next(rng)};
	struct frame_spec spec = {
		.flow = frame_flow(vip->family, vip->protocol, random),
		.ttl = ttls[rng_below(rng, sizeof(ttls))],
		.options_words = rng_below(rng, 8) ? 0 : rng_below(rng, 4),
		.payload_len = 8 + rng_below(rng, 300),
		.padding_len = rng_below(rng, 4) ? 0 : rng_below(rng, 20),
		.fill = rng_next(rng),
	};

	if (rng_below(rng, 8)) {
		memcpy(spec.flow.destination, vip->address, sizeof(vip->address));
		spec.flow.destination_port = vip->port;
	}
	frame_build(frame, &spec);
	frame->bytes[0] &= 0xfe;
	if (frame_is_tcp(frame))
		set_tcp(&frame->bytes[frame_l4_at(frame)], rng);
}

/* The two fragments of a frame: the second has no ports, and goes where the first one went. */
static void make_fragments(struct frame *first, struct frame *second, struct rng *rng)
{
	struct frame whole;
	uint32_t id = (uint32_t)rng_next(rng);
	size_t l4_len;

	do
		make_frame(&whole, rng);
	while (frame_l4_at(&whole) != 14 + (frame_is_ipv6(&whole) ? 40 : 20));
	l4_len = (frame_is_ipv6(&whole) ? frame_word(&whole, 18)
					: (size_t)frame_word(&whole, 16) - 20);
	frame_fragment(first, &whole, id, 0, 24);
	frame_fragment(second, &whole, id, 24, l4_len - 24);
}

/* Other values for a few bytes of the headers, or less of the frame. */
static void damage(struct frame *frame, struct rng *rng)
{
	if (!rng_below(rng, 4)) {
		frame->len = 14 + rng_below(rng, frame->len - 14);
		return;
	}
	for (size_t i = 0; i <= rng_below(rng, 3); i++)
		frame->bytes[rng_below(rng, frame->len < HEADERS ? frame->len : HEADERS)] =
			(uint8_t)rng_next(rng);
}

struct totals {
	uint64_t verdicts[VERDICT_COUNT];
	struct counter vips[VIPS], backends[POOLS * MEMBERS];
};

static void read_totals(struct totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	for (int i = 0; i < VERDICT_COUNT; i++)
		totals->verdicts[i] = rig_verdict(&rig, i);
	/* Nobody takes the held ones away: which is the last that has room is no matter. */
	totals->verdicts[HOLD_FRAGMENT] += totals->verdicts[DROP_FRAGMENT_NOT_HELD];
	totals->verdicts[DROP_FRAGMENT_NOT_HELD] = 0;
	for (uint32_t i = 0; i < VIPS; i++)
		dataplane_count_vip(rig.dp, i, &totals->vips[i]);
	for (uint32_t i = 0; i < POOLS * MEMBERS; i++)
		dataplane_count_backend(rig.dp, i, &totals->backends[i]);
}

/* What was counted between @before and @after, all of it numbers of 64 bits. */
static void subtract(struct totals *after, const struct totals *before)
{
	const uint64_t *from = (const uint64_t *)before;
	uint64_t *to = (uint64_t *)after;

	for (size_t i = 0; i < sizeof(*after) / sizeof(uint64_t); i++)
		to[i] -= from[i];
}

static void run_all(int program, const struct frame *in, struct frame *out, int *actions,
		    struct totals *counted)
{
	struct totals before;

	rig.program = program;
	read_totals(&before);
	for (size_t i = 0; i < BATCH; i++)
		actions[i] = rig_run(&rig, rig.ingress, &in[i], &out[i]);
	read_totals(counted);
	subtract(counted, &before);
}

static uint64_t sent;

static void assert_batch_agrees(struct rng *rng)
{
	static struct frame in[BATCH], out[2][BATCH];
	static int actions[2][BATCH];
	struct totals counted[2];

	for (size_t i = 0; i < BATCH; i++) {
		make_frame(&in[i], rng);
		if (rng_below(rng, 2))
			damage(&in[i], rng);
	}
	make_fragments(&in[0], &in[1], rng);
	run_all(program_with, in, out[0], actions[0], &counted[0]);
	run_all(bpf_program__fd(without->progs.ringlb), in, out[1], actions[1], &counted[1]);
	for (size_t i = 0; i < BATCH; i++) {
		assert_int_equal(actions[0][i], actions[1][i]);
		assert_int_equal(out[0][i].len, out[1][i].len);
		assert_memory_equal(out[0][i].bytes, out[1][i].bytes, out[0][i].len);
	}
	assert_memory_equal(&counted[0], &counted[1], sizeof(counted[0]));
	sent += counted[0].verdicts[TX_BACKEND];
}

static void assert_agree(uint64_t seed)
{
	struct rng rng = rng_start(seed);

	sent = 0;
	for (size_t i = 0; i < FRAMES / BATCH; i++)
		assert_batch_agrees(&rng);
	/* Or nothing was compared. */
	assert_true(sent > FRAMES / 4);
}

static void test_settled(void **state)
{
	(void)state;
	assert_agree(1);
}

/* Which the short way cannot know better than the long one. */
static void test_without_next_hops(void **state)
{
	const struct nexthop none = {};

	(void)state;
	for (uint32_t id = 0; id < POOLS * MEMBERS; id += 3)
		dataplane_set_nexthop(rig.dp, id, &none);
	assert_agree(2);
	for (uint32_t pool = 0; pool < POOLS; pool++)
		set_pool(pool);
}

/* Packets to nobody's endpoint may then be for a prefix. */
static void test_with_prefixes(void **state)
{
	const struct endpoint any = {
		.family = ENDPOINT_IPV4, .protocol = IPPROTO_UDP, .address = {htonl(0xc6336401)}};

	(void)state;
	rig_set_vip(&rig, &any, 2, 2);
	assert_agree(3);
}

/* Another seed in the outer headers than in the rings: for a moment, while it changes. */
static void test_other_seed(void **state)
{
	struct encap encap;

	(void)state;
	assert_int_equal(dataplane_get_encap(rig.dp, &encap), 0);
	encap.seed++;
	assert_int_equal(dataplane_set_encap(rig.dp, &encap), 0);
	assert_agree(4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_without_next_hops),
		cmocka_unit_test(test_with_prefixes),
		cmocka_unit_test(test_other_seed),
	};
	const struct encap encap = {
		.seed = 7,
		.source_ipv4 = htonl(0xac100000),
		.hosts_ipv4 = htonl(0xffff),
		.source_ipv6 = {htonl(0x20010dbb)},
		.hosts_ipv6 = {~0U, ~0U},
	};
	int failed;

	test_seed_print();
	rig_open(&rig);
	program_with = rig.program;
	rig_require(!dataplane_set_encap(rig.dp, &encap), "cannot set the outer sources");
	for (uint32_t pool = 0; pool < POOLS; pool++) {
		set_pool(pool);
		set_vips(pool);
	}
	load_without();
	failed = cmocka_run_group_tests_name("express", tests, NULL, NULL);
	ringlb_bpf__destroy(without);
	rig_close(&rig);
	return failed;
}
