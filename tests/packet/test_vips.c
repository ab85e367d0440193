/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random sets of VIPs, written to the maps as ringlbd does it: the program and
 * dataplane_lookup() find the VIP that the obvious walk finds. And while one set takes
 * the place of another, packets whose VIP is in both always find it.
 */
#include "tests/packet/icmp_frame.h"
#include "tests/packet/rig.h"
#include "tests/unit/vip_reference.h"

#include <pthread.h>
#include <stdatomic.h>
#include <xxhash.h>

#include "config/match.h"
#include "config/text.h"
#include "control/change.h"

#define POOLS	  200 /* each with one backend of the pool's id */
#define SETS	  100
#define PACKETS	  1000 /* for each set */
#define VIPS_MOST 40
#define ROUNDS	  150
#define STEADY	  64 /* packets whose VIP stays, in each round */

static struct rig rig;
static struct config empty; /* with the pools */
static struct control_pool pools[POOLS];
static struct control control;

static uint32_t pool_of(const struct config_vip *vip)
{
	char text[TEXT_ENDPOINT_LEN];

	text_vip(vip, text);
	return (uint32_t)(XXH64(text, strlen(text), 0) % POOLS);
}

static void make_pools(void)
{
	static char yaml[POOLS * 64];
	const struct backend backend = {.forward = FORWARD_DR};
	struct ring *ring = ring_numbered(&ring_hash_xxh64, 1, 1, 1);
	struct config_error error = {0};
	int len = snprintf(yaml, sizeof(yaml), "seed: 1\ninterfaces: [{name: rl0}]\npools:\n");

	for (uint32_t p = 0; p < POOLS; p++) {
		char name[16];

		snprintf(name, sizeof(name), "p%u", p);
		len += snprintf(yaml + len, sizeof(yaml) - (size_t)len,
				"  - {name: %s, forward: dr}\n", name);
		rig_set_backend(&rig, p, &backend, rig.ingress);
		rig_publish(&rig, p, ring, &p);
		pools[p].id = p;
	}
	ring_free(ring);
	rig_require(!config_read(&empty, yaml, (size_t)len, &error), "%s", error.what);
}

/* Add up to @n random VIPs, those that may be added. */
static void draw_vips(struct config *config, size_t n, struct rng *rng)
{
	for (size_t i = 0; i < n; i++) {
		struct config_vip vip = random_vip(rng);

		vip.hash = (enum config_hash)rng_below(rng, 3);
		snprintf(vip.pool, sizeof(vip.pool), "p%u", pool_of(&vip));
		config_add_vip(config, &vip, NULL);
	}
}

/* What ringlbd does with VIPs; it takes them out of @control when it starts again. */
static void apply(const struct config *next)
{
	struct change change = {.control = &control, .next = next, .pools = pools};
	char text[TEXT_ENDPOINT_LEN];

	for (size_t v = 0; v < next->n_vips; v++)
		assert_int_equal(ids_add(&change.vip_ids, text_vip(&next->vips[v], text), ID_NONE),
				 0);
	ids_sort(&change.vip_ids);
	assert_int_equal(ids_assign(&change.vip_ids, &control.vip_ids, VIPS_MAX), 0);
	assert_int_equal(change_list_vips(&change), 0);
	assert_int_equal(change_commit_vips(&change), 0);
	change_clean_vips(&change);
	ids_release(&control.vip_ids);
	control.vip_ids = change.vip_ids;
	free(change.vips);
	free(change.prefixes);
}

static struct flow flow_to(const struct packet_to *packet, struct rng *rng)
{
	uint8_t family = packet->address.family == AF_INET ? ENDPOINT_IPV4 : ENDPOINT_IPV6;
	const uint64_t random[4] = {rng_next(rng), rng_next(rng), rng_next(rng), rng_next(rng)};
	struct flow flow = frame_flow(family, packet->protocol, random);

	memset(flow.destination, 0, sizeof(flow.destination));
	memcpy(flow.destination, packet->address.bytes, family == ENDPOINT_IPV6 ? 16 : 4);
	flow.destination_port = htons(packet->port);
	return flow;
}

/* SCTP has 12 bytes where UDP has 8, and ports in the same place; nothing else is read of it. */
static void build(struct frame *frame, const struct frame_spec *spec)
{
	struct frame_spec like = *spec;
	bool ipv6 = spec->flow.family == ENDPOINT_IPV6;

	if (spec->flow.protocol == IPPROTO_SCTP)
		like.flow.protocol = IPPROTO_UDP;
	if (like.payload_len < 4)
		like.payload_len = 4;
	frame_build(frame, &like);
	frame->bytes[FRAME_ETHERNET_LEN + (ipv6 ? 6 : 9)] = spec->flow.protocol;
}

static void assert_lookup_finds(const struct flow *flow, const struct config_vip *vip)
{
	struct dataplane_match match = {};
	struct config_vip found;
	char text[TEXT_ENDPOINT_LEN], wanted[TEXT_ENDPOINT_LEN];

	if (!vip) {
		assert_int_equal(dataplane_lookup(rig.dp, flow, &match), -ENOENT);
		return;
	}
	assert_int_equal(dataplane_lookup(rig.dp, flow, &match), 0);
	found = control_vip_of(&match.vip, match.prefix_len, match.last);
	assert_string_equal(text_vip(&found, text), text_vip(vip, wanted));
	assert_int_equal(match.pool, pool_of(vip));
	assert_int_equal(match.what, vip->hash);
}

static void assert_packet_finds(const struct packet_to *packet, const struct config_vip *vip,
				struct rng *rng)
{
	const struct frame_spec spec = {.flow = flow_to(packet, rng), .ttl = 64};
	struct frame frame, out;
	int action;

	build(&frame, &spec);
	action = rig_run(&rig, rig.ingress, &frame, &out);
	if (vip) {
		assert_int_equal(action, XDP_TX);
		assert_int_equal(rig_backend_of(&out), pool_of(vip));
	} else {
		assert_int_equal(action, XDP_PASS);
	}
	assert_lookup_finds(&spec.flow, vip);
	/* What is to be said of the flow goes the same way. */
	icmp_error_of(&frame, &spec.flow);
	assert_int_equal(rig_run(&rig, rig.ingress, &frame, &out), action);
	if (vip)
		assert_int_equal(rig_backend_of(&out), pool_of(vip));
}

/*
 * What has no ports knows a VIP by its address alone: a fragment is dropped, and an echo request
 * answered. Else they are let by.
 */
static void assert_address_is_known(const struct config *config, const struct packet_to *packet,
				    struct rng *rng)
{
	const struct frame_spec spec = {.flow = flow_to(packet, rng), .ttl = 64, .payload_len = 64};
	struct frame whole, frame;
	bool ours = false;

	for (size_t v = 0; v < config->n_vips; v++)
		ours |= same_bits(&config->vips[v].address, &packet->address,
				  prefix_of(&config->vips[v]));
	build(&whole, &spec);
	frame_fragment(&frame, &whole, 5, 32, 16);
	assert_int_equal(rig_run(&rig, rig.ingress, &frame, &frame), ours ? XDP_DROP : XDP_PASS);
	icmp_echo(&frame, &spec.flow);
	assert_int_equal(rig_run(&rig, rig.ingress, &frame, &frame), ours ? XDP_TX : XDP_PASS);
}

/* A daemon that starts reads from the maps which VIP has which id. */
static void assert_ids_are_read_back(const struct config *config)
{
	struct control again = {.dp = rig.dp};
	char text[TEXT_ENDPOINT_LEN];

	assert_int_equal(change_read_vips(&again), 0);
	assert_int_equal(again.vip_ids.len, config->n_vips);
	ids_sort(&again.vip_ids);
	for (size_t v = 0; v < config->n_vips; v++) {
		text_vip(&config->vips[v], text);
		assert_int_equal(ids_find(&again.vip_ids, text), ids_find(&control.vip_ids, text));
		assert_int_not_equal(ids_find(&again.vip_ids, text), ID_NONE);
	}
	ids_release(&again.vip_ids);
}

static void test_random_sets(void **state)
{
	struct rng rng = rng_start(1);
	size_t found = 0, missed = 0;

	(void)state;
	for (int set = 0; set < SETS; set++) {
		struct config config = {0};

		assert_int_equal(config_copy(&config, &empty), 0);
		draw_vips(&config, rng_below(&rng, VIPS_MOST), &rng);
		apply(&config);
		assert_ids_are_read_back(&config);
		for (int i = 0; i < PACKETS; i++) {
			struct packet_to packet = random_packet_to(&config, &rng);
			const struct config_vip *vip = vip_by_walk(&config, &packet);

			assert_packet_finds(&packet, vip, &rng);
			if (i % 10 == 0)
				assert_address_is_known(&config, &packet, &rng);
			found += vip != NULL;
			missed += !vip;
		}
		config_release(&config);
	}
	print_message("# %zu packets to VIPs, %zu to none\n", found, missed);
	assert_true(found > SETS * PACKETS / 4 && missed > SETS * PACKETS / 4);
}

/* Packets that go on while the maps change, and the backend that each must reach. */
struct traffic {
	struct frame frames[STEADY];
	uint32_t backends[STEADY];
	size_t n;
	atomic_bool stop;
	atomic_ulong sent;
	atomic_ulong wrong;
};

static void *send_all(void *context)
{
	struct traffic *traffic = context;

	while (!atomic_load(&traffic->stop)) {
		for (size_t i = 0; i < traffic->n; i++) {
			struct frame out;
			int action = rig_run(&rig, rig.ingress, &traffic->frames[i], &out);

			if (action != XDP_TX || rig_backend_of(&out) != traffic->backends[i])
				atomic_fetch_add(&traffic->wrong, 1);
			atomic_fetch_add(&traffic->sent, 1);
		}
	}
	return NULL;
}

/* Packets whose VIP is the same in both. */
static void pick_steady(struct traffic *traffic, const struct config *a, const struct config *b,
			struct rng *rng)
{
	traffic->n = 0;
	for (int tries = 0; tries < 20 * STEADY && traffic->n < STEADY; tries++) {
		struct packet_to packet = random_packet_to(a, rng);
		const struct config_vip *in_a = vip_by_walk(a, &packet);
		const struct config_vip *in_b = vip_by_walk(b, &packet);
		struct frame_spec spec = {.ttl = 64};
		char text[TEXT_ENDPOINT_LEN], other[TEXT_ENDPOINT_LEN];

		if (!in_a || !in_b || strcmp(text_vip(in_a, text), text_vip(in_b, other)) != 0)
			continue;
		spec.flow = flow_to(&packet, rng);
		build(&traffic->frames[traffic->n], &spec);
		traffic->backends[traffic->n++] = pool_of(in_a);
	}
}

/* Another set that has about half of @from, and as many new ones. */
static void draw_next(struct config *next, const struct config *from, struct rng *rng)
{
	assert_int_equal(config_copy(next, &empty), 0);
	for (size_t v = 0; v < from->n_vips; v++)
		if (rng_next(rng) & 1)
			config_add_vip(next, &from->vips[v], NULL);
	draw_vips(next, VIPS_MOST - next->n_vips, rng);
}

static void test_changes_leave_no_hole(void **state)
{
	static struct traffic traffic;
	struct rng rng = rng_start(2);
	struct config now = {0};
	size_t steady = 0;

	(void)state;
	assert_int_equal(config_copy(&now, &empty), 0);
	draw_vips(&now, VIPS_MOST, &rng);
	apply(&now);
	for (int round = 0; round < ROUNDS; round++) {
		struct config next = {0};
		pthread_t thread;

		draw_next(&next, &now, &rng);
		pick_steady(&traffic, &now, &next, &rng);
		atomic_store(&traffic.stop, false);
		atomic_store(&traffic.sent, 0);
		assert_int_equal(pthread_create(&thread, NULL, send_all, &traffic), 0);
		/* There and back, until all packets have met some of it. */
		do {
			apply(&next);
			apply(&now);
		} while (traffic.n && atomic_load(&traffic.sent) < 2 * traffic.n);
		apply(&next);
		atomic_store(&traffic.stop, true);
		pthread_join(thread, NULL);
		steady += traffic.n;
		config_release(&now);
		now = next;
	}
	config_release(&now);
	assert_true(steady > ROUNDS);
	assert_int_equal(atomic_load(&traffic.wrong), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_sets),
		cmocka_unit_test(test_changes_leave_no_hole),
	};
	int failed;

	test_seed_print();
	rig_open(&rig);
	control.dp = rig.dp;
	make_pools();
	failed = cmocka_run_group_tests_name("vips", tests, NULL, NULL);
	ids_release(&control.vip_ids);
	config_release(&empty);
	rig_close(&rig);
	return failed;
}
