/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A backend that is reached another way from one moment to the next, under packets: each
 * goes the old way or the new one, byte for byte, and none a mixture of both.
 */
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#define PACKETS	 200000
#define BACKEND	 5
#define POOL	 1
#define GUE_PORT 6080

static struct rig rig;
static const struct endpoint vip = {
	.address[0] = 0x010200c0, .port = 0x5000, .protocol = IPPROTO_TCP, .family = ENDPOINT_IPV4};

static const enum forward ways[] = {FORWARD_DR, FORWARD_IPIP, FORWARD_GUE};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static atomic_bool stop;

static void go(size_t way)
{
	const struct backend backend = {
		.forward = ways[way],
		.family = ENDPOINT_IPV4,
		.port = ways[way] == FORWARD_GUE ? htons(GUE_PORT) : 0,
		.address = {htonl(0x0a000001)},
	};

	rig_require(!dataplane_set_backend(rig.dp, BACKEND, &backend), "cannot set the backend");
}

static void *change_ways(void *unused)
{
	(void)unused;
	for (size_t i = 0; !atomic_load(&stop); i++)
		go(i % WAYS);
	return NULL;
}

static bool same(const struct frame *a, const struct frame *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* A frame with @options_words of IP options: without them by the short way. */
static void assert_whole(size_t options_words)
{
	struct frame_spec spec = {.ttl = 64, .payload_len = 40, .options_words = options_words};
	size_t seen[WAYS] = {}, mixed = 0;
	struct frame in, expected[WAYS];
	pthread_t thread;

	spec.flow = frame_flow(ENDPOINT_IPV4, IPPROTO_TCP, (uint64_t[4]){1, 2, 3, 4});
	spec.flow.destination[0] = vip.address[0];
	spec.flow.destination_port = vip.port;
	frame_build(&in, &spec);
	for (size_t way = 0; way < WAYS; way++) {
		go(way);
		assert_int_equal(rig_run(&rig, rig.ingress, &in, &expected[way]), XDP_TX);
		assert_true(!way || !same(&expected[way], &expected[way - 1]));
	}
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, change_ways, NULL), 0);
	for (size_t i = 0; i < PACKETS; i++) {
		struct frame out;
		size_t way = 0;
		int action = rig_run(&rig, rig.ingress, &in, &out);

		while (way < WAYS && !same(&out, &expected[way]))
			way++;
		if (way == WAYS || action != XDP_TX)
			mixed++;
		else
			seen[way]++;
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	print_message("# dr %zu, ipip %zu, gue %zu, mixed %zu\n", seen[0], seen[1], seen[2], mixed);
	assert_int_equal(mixed, 0);
	assert_true(seen[0] > 100 && seen[1] > 100 && seen[2] > 100);
}

static void test_short_way(void **state)
{
	(void)state;
	assert_whole(0);
}

static void test_long_way(void **state)
{
	(void)state;
	assert_whole(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_way),
		cmocka_unit_test(test_long_way),
	};
	const struct encap encap = {
		.seed = 7, .source_ipv4 = htonl(0xac100000), .hosts_ipv4 = htonl(0xffff)};
	struct ring *ring = ring_numbered(&ring_hash_xxh64, 7, 10, 1);
	const struct backend dr = {
		.forward = FORWARD_DR, .family = ENDPOINT_IPV4, .address = {htonl(0x0a000001)}};
	const uint32_t id = BACKEND;
	int failed;

	test_seed_print();
	rig_open(&rig);
	rig_require(!dataplane_set_encap(rig.dp, &encap), "cannot set the outer sources");
	rig_set_vip(&rig, &vip, 1, POOL);
	rig_set_backend(&rig, BACKEND, &dr, rig.ingress);
	rig_publish(&rig, POOL, ring, &id);
	ring_free(ring);
	failed = cmocka_run_group_tests_name("way", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
