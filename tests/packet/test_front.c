/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * VIPs whose slots in front of the table of VIPs collide: each is found while it is there, with
 * the value that it has, and not afterwards, whoever came first and whoever goes.
 */
#include "bpf/front.h"
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <netinet/in.h>

#define CROWD 3
#define POOLS 2
#define STEPS 400

static struct rig rig;
static struct endpoint vips[CROWD];
static struct frame frames[CROWD];

static struct endpoint endpoint_number(uint32_t i)
{
	return (struct endpoint){
		.address = {htonl(0xc6120000 + i)},
		.port = htons(443),
		.protocol = IPPROTO_TCP,
		.family = ENDPOINT_IPV4,
	};
}

static uint32_t slot_of(const struct endpoint *vip)
{
	struct front_key key = front_key(vip->address, vip->port, vip->protocol, vip->family);

	return front_index(&key);
}

/* CROWD endpoints of one slot. */
static void find_crowd(void)
{
	size_t found = 0;

	vips[found++] = endpoint_number(0);
	for (uint32_t i = 1; found < CROWD; i++) {
		struct endpoint other = endpoint_number(i);

		if (slot_of(&other) == slot_of(&vips[0]))
			vips[found++] = other;
	}
	for (size_t i = 0; i < CROWD; i++) {
		struct frame_spec spec = {.ttl = 64};

		spec.flow = frame_flow(ENDPOINT_IPV4, IPPROTO_TCP, (uint64_t[4]){1, 2, 3, 4});
		spec.flow.destination[0] = vips[i].address[0];
		spec.flow.destination_port = vips[i].port;
		frame_build(&frames[i], &spec);
	}
}

/* Pool i has the backend i. */
static void set_pools(void)
{
	for (uint32_t id = 0; id < POOLS; id++) {
		struct ring *ring = ring_numbered(&ring_hash_xxh64, 7, 10, 1);
		const struct backend backend = {.forward = FORWARD_DR};

		rig_set_backend(&rig, id, &backend, rig.ingress);
		rig_publish(&rig, id, ring, &id);
		ring_free(ring);
	}
}

static void load_again(void)
{
	struct dataplane_error error;

	dataplane_close(rig.dp);
	assert_int_equal(dataplane_open(&rig.dp, DATAPLANE_PIN_DIR, &error), 0);
	rig.program = dataplane_program_fd(rig.dp);
}

/* @pools[i]: the pool of VIP i, or -1: it is not there. */
static void assert_found(const int pools[CROWD])
{
	for (size_t i = 0; i < CROWD; i++) {
		struct frame out;
		int action = rig_run(&rig, rig.ingress, &frames[i], &out);

		assert_int_equal(action, pools[i] < 0 ? XDP_PASS : XDP_TX);
		if (pools[i] >= 0)
			assert_int_equal(rig_backend_of(&out), pools[i]);
	}
}

static bool keep_none(void *context, const void *key)
{
	(void)context;
	(void)key;
	return false;
}

/* VIPs come, change, get QUIC ids, go, and the daemon starts again, in random order. */
static void test_crowd(void **state)
{
	struct rng rng = rng_start(1);
	int pools[CROWD] = {-1, -1, -1};

	(void)state;
	for (size_t step = 0; step < STEPS; step++) {
		size_t i = rng_below(&rng, CROWD);

		if (step % 40 == 39) {
			load_again();
		} else if (rng_below(&rng, 3)) {
			struct vip value = {.vip = (uint32_t)i, .quic = !rng_below(&rng, 4)};

			pools[i] = (int)rng_below(&rng, POOLS);
			value.pool = (uint16_t)pools[i];
			assert_int_equal(dataplane_set_vip(rig.dp, &vips[i], &value), 0);
		} else {
			pools[i] = -1;
			assert_int_equal(dataplane_remove_vip(rig.dp, &vips[i]), 0);
		}
		assert_found(pools);
	}
	assert_int_equal(dataplane_prune_vips(rig.dp, keep_none, NULL), 0);
	assert_found((const int[CROWD]){-1, -1, -1});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crowd),
	};
	int failed;

	test_seed_print();
	rig_open(&rig);
	find_crowd();
	set_pools();
	failed = cmocka_run_group_tests_name("front", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
