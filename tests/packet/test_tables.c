/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* VIPs, replies, labels, backends, next hops and counters, as dataplane.h promises them. */
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <bpf/bpf.h>
#include <netinet/in.h>
#include <sched.h>

#define POOL	     1
#define VIP	     17
#define BACKEND	     4711
#define ENTRIES	     300
#define VERIFIED_MAX 400000

static struct rig rig;
static const struct endpoint vip = {.address = {0x20010db8, 1, 2, 3},
				    .port = 0x5000,
				    .protocol = IPPROTO_UDP,
				    .family = ENDPOINT_IPV6};

static void packet_to_vip(struct frame *frame, size_t payload_len)
{
	struct frame_spec spec = {.ttl = 64, .payload_len = payload_len, .padding_len = 3};
	const uint64_t random[4] = {1, 2, 3, 4};

	spec.flow = frame_flow(vip.family, vip.protocol, random);
	memcpy(spec.flow.destination, vip.address, sizeof(vip.address));
	spec.flow.destination_port = vip.port;
	frame_build(frame, &spec);
}

static void assert_runs(const struct frame *frame, enum verdict verdict, int action)
{
	uint64_t before = rig_verdict(&rig, verdict), all = rig_verdicts(&rig);
	struct frame out;

	assert_int_equal(rig_run(&rig, rig.ingress, frame, &out), action);
	assert_int_equal(rig_verdict(&rig, verdict), before + 1);
	assert_int_equal(rig_verdicts(&rig), all + 1);
}

/* One backend, dr, by the ingress interface. */
static void set_up_one(void)
{
	struct ring *ring = ring_numbered(&ring_hash_xxh64, 1, 10, 1);
	const struct backend backend = {.forward = FORWARD_DR};
	const uint32_t id = BACKEND;

	rig_set_vip(&rig, &vip, VIP, POOL);
	rig_set_backend(&rig, BACKEND, &backend, rig.ingress);
	rig_publish(&rig, POOL, ring, &id);
	ring_free(ring);
}

static struct endpoint entry_key(uint32_t i)
{
	return (struct endpoint){
		.address = {0x0a, i * 7},
		.port = (uint16_t)i,
		.protocol = i & 1 ? IPPROTO_TCP : IPPROTO_UDP,
		.family = i & 2 ? ENDPOINT_IPV4 : ENDPOINT_IPV6,
	};
}

/* All entries are met once, then not those that were deleted while they were read. */
static void test_vips(void **state)
{
	struct endpoint key, cursor = {};
	struct vip value;
	uint32_t seen = 0, left = 0;
	int err;

	(void)state;
	for (uint32_t i = 0; i < ENTRIES; i++) {
		key = entry_key(i);
		value = (struct vip){.vip = i, .pool = i + 1};
		assert_int_equal(dataplane_set_vip(rig.dp, &key, &value), 0);
		assert_int_equal(dataplane_set_vip(rig.dp, &key, &value), 0);
	}
	while ((err = dataplane_next_vip(rig.dp, &cursor, &value)) == 0) {
		key = entry_key(value.vip);
		assert_memory_equal(&cursor, &key, sizeof(key));
		assert_int_equal(value.pool, value.vip + 1);
		seen++;
		assert_int_equal(dataplane_remove_vip(rig.dp, &cursor), 0);
		left = value.vip;
	}
	assert_int_equal(err, -ENOENT);
	assert_int_equal(seen, ENTRIES);
	key = entry_key(left);
	assert_int_equal(dataplane_remove_vip(rig.dp, &key), 0);
	assert_int_equal(dataplane_get_vip(rig.dp, &key, &value), -ENOENT);
	cursor = (struct endpoint){};
	assert_int_equal(dataplane_next_vip(rig.dp, &cursor, &value), -ENOENT);
}

static void test_vip_is_replaced(void **state)
{
	const struct endpoint key = entry_key(5);
	struct vip value = {.vip = 1, .pool = 2}, found;
	struct endpoint cursor = {};

	(void)state;
	assert_int_equal(dataplane_set_vip(rig.dp, &key, &value), 0);
	value.pool = 3;
	assert_int_equal(dataplane_set_vip(rig.dp, &key, &value), 0);
	assert_int_equal(dataplane_get_vip(rig.dp, &key, &found), 0);
	assert_memory_equal(&found, &value, sizeof(value));
	assert_int_equal(dataplane_next_vip(rig.dp, &cursor, &found), 0);
	assert_int_equal(dataplane_next_vip(rig.dp, &cursor, &found), -ENOENT);
	assert_int_equal(dataplane_remove_vip(rig.dp, &key), 0);
}

static void test_replies(void **state)
{
	struct endpoint key, cursor = {};
	struct reply value = {};
	uint32_t seen = 0;
	int err;

	(void)state;
	for (uint32_t i = 0; i < ENTRIES; i++) {
		key = entry_key(i);
		value = (struct reply){.address = {i, i + 1}, .port = (uint16_t)(i * 3)};
		assert_int_equal(dataplane_set_reply(rig.dp, &key, &value), 0);
	}
	while ((err = dataplane_next_reply(rig.dp, &cursor, &value)) == 0) {
		key = entry_key(value.address[0]);
		assert_memory_equal(&cursor, &key, sizeof(key));
		assert_int_equal(value.port, (uint16_t)(value.address[0] * 3));
		seen++;
	}
	assert_int_equal(err, -ENOENT);
	assert_int_equal(seen, ENTRIES);
	cursor = (struct endpoint){};
	while (dataplane_next_reply(rig.dp, &cursor, &value) == 0)
		assert_int_equal(dataplane_remove_reply(rig.dp, &cursor), 0);
	cursor = (struct endpoint){};
	assert_int_equal(dataplane_next_reply(rig.dp, &cursor, &value), -ENOENT);
	assert_int_equal(dataplane_remove_reply(rig.dp, &key), 0);
}

static void test_labels(void **state)
{
	const struct label_key pool = {LABEL_POOL, 9}, backend = {LABEL_BACKEND, 9};
	struct label value = {.pool = "web"}, found;
	struct label_key cursor = {};
	int pools = 0, backends = 0;

	(void)state;
	assert_int_equal(dataplane_set_label(rig.dp, &pool, &value), 0);
	snprintf(value.backend, sizeof(value.backend), "%063d", 1);
	assert_int_equal(dataplane_set_label(rig.dp, &backend, &value), 0);
	while (dataplane_next_label(rig.dp, &cursor, &found) == 0) {
		assert_int_equal(cursor.id, 9);
		assert_string_equal(found.pool, "web");
		assert_string_equal(found.backend,
				    cursor.kind == LABEL_BACKEND ? value.backend : "");
		pools += cursor.kind == LABEL_POOL;
		backends += cursor.kind == LABEL_BACKEND;
	}
	assert_int_equal(pools, 1);
	assert_int_equal(backends, 1);
	assert_int_equal(dataplane_remove_label(rig.dp, &pool), 0);
	assert_int_equal(dataplane_remove_label(rig.dp, &pool), 0);
	assert_int_equal(dataplane_remove_label(rig.dp, &backend), 0);
	cursor = (struct label_key){};
	assert_int_equal(dataplane_next_label(rig.dp, &cursor, &found), -ENOENT);
}

static void test_nexthop_at_once(void **state)
{
	struct nexthop nexthop = {.ifindex = rig.ingress};
	struct frame frame, out;

	(void)state;
	set_up_one();
	packet_to_vip(&frame, 20);
	for (int i = 1; i < 200; i++) {
		memset(nexthop.destination, i & 0xfe, sizeof(nexthop.destination));
		memset(nexthop.source, i | 1, sizeof(nexthop.source));
		dataplane_set_nexthop(rig.dp, BACKEND, &nexthop);
		assert_int_equal(rig_run(&rig, rig.ingress, &frame, &out), XDP_TX);
		assert_memory_equal(out.bytes, nexthop.destination, 6);
		assert_memory_equal(out.bytes + 6, nexthop.source, 6);
	}
	nexthop = (struct nexthop){};
	dataplane_set_nexthop(rig.dp, BACKEND, &nexthop);
	assert_runs(&frame, DROP_NO_NEXTHOP, XDP_DROP);
}

/*
 * The next hop that packets may be reading stays as it is, and `active` then leads
 * to the new one: no frame gets the MAC addresses of two.
 */
static void test_nexthop_is_whole(void **state)
{
	const struct backend *backend = dataplane_get_backend(rig.dp, BACKEND);
	struct nexthop nexthop = {.ifindex = rig.ingress};

	(void)state;
	set_up_one();
	for (int i = 0; i < 10; i++) {
		uint32_t active = backend->active;
		struct nexthop before = backend->nexthops[active];

		memset(nexthop.destination, 2 * i, sizeof(nexthop.destination));
		dataplane_set_nexthop(rig.dp, BACKEND, &nexthop);
		assert_int_equal(backend->active, !active);
		assert_memory_equal(&backend->nexthops[active], &before, sizeof(before));
		assert_memory_equal(&backend->nexthops[!active], &nexthop, sizeof(nexthop));
		dataplane_set_nexthop(rig.dp, BACKEND, &nexthop);
		assert_int_equal(backend->active, !active);
	}
}

static void test_egress(void **state)
{
	uint32_t other = rig_add_veth("rl1");
	struct nexthop nexthop = {.ifindex = other};
	struct frame frame;

	(void)state;
	set_up_one();
	packet_to_vip(&frame, 20);
	assert_runs(&frame, TX_BACKEND, XDP_TX);
	dataplane_set_nexthop(rig.dp, BACKEND, &nexthop);
	assert_runs(&frame, DROP_NO_EGRESS, XDP_DROP);
	assert_int_equal(dataplane_allow_egress(rig.dp, other), 0);
	assert_runs(&frame, REDIRECT_BACKEND, XDP_REDIRECT);
}

/* An entry that says the same keeps its next hop; another one starts without. */
static void test_backend_is_kept_or_new(void **state)
{
	struct backend backend = {.forward = FORWARD_DR};
	struct counter counter;
	struct frame frame;

	(void)state;
	set_up_one();
	packet_to_vip(&frame, 20);
	assert_runs(&frame, TX_BACKEND, XDP_TX);
	assert_int_equal(dataplane_set_backend(rig.dp, BACKEND, &backend), 0);
	assert_runs(&frame, TX_BACKEND, XDP_TX);
	assert_int_equal(dataplane_count_backend(rig.dp, BACKEND, &counter), 0);
	assert_true(counter.packets >= 2);

	backend.address[0] = 1;
	assert_int_equal(dataplane_set_backend(rig.dp, BACKEND, &backend), 0);
	assert_runs(&frame, DROP_NO_NEXTHOP, XDP_DROP);
	assert_int_equal(dataplane_count_backend(rig.dp, BACKEND, &counter), 0);
	assert_int_equal(counter.packets, 0);
	assert_int_equal(counter.bytes, 0);
	dataplane_remove_backend(rig.dp, BACKEND);
	assert_runs(&frame, DROP_BAD_RING, XDP_DROP);
	assert_int_equal(dataplane_set_backend(rig.dp, BACKENDS_MAX, &backend), -ENOSPC);
}

static void test_wrong_family(void **state)
{
	struct ring *ring = ring_numbered(&ring_hash_xxh64, 1, 10, 1);
	const struct backend backend = {.forward = FORWARD_NAT, .family = ENDPOINT_IPV4};
	const uint32_t id = 9;
	struct frame frame;

	(void)state;
	set_up_one();
	rig_set_backend(&rig, id, &backend, rig.ingress);
	rig_publish(&rig, POOL, ring, &id);
	packet_to_vip(&frame, 20);
	assert_runs(&frame, DROP_WRONG_FAMILY, XDP_DROP);
	ring_free(ring);
}

/* Run the rest of this thread on @cpu, if there is one of that number for us. */
static bool run_on(size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static void test_counters(void **state)
{
	struct counter counter, before;
	uint64_t packets = 0, bytes = 0;
	cpu_set_t all;

	(void)state;
	set_up_one();
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(dataplane_reset_vip(rig.dp, VIP), 0);
	assert_int_equal(dataplane_count_backend(rig.dp, BACKEND, &before), 0);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || !run_on(cpu))
			continue;
		for (size_t len = 0; len < 100 + 10 * cpu; len++) {
			struct frame frame;

			packet_to_vip(&frame, len);
			assert_int_equal(rig_run(&rig, rig.ingress, &frame, &frame), XDP_TX);
			packets++;
			bytes += frame.len;
		}
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(dataplane_count_vip(rig.dp, VIP, &counter), 0);
	assert_int_equal(counter.packets, packets);
	assert_int_equal(counter.bytes, bytes);
	assert_int_equal(dataplane_count_backend(rig.dp, BACKEND, &counter), 0);
	assert_int_equal(counter.packets, before.packets + packets);
	assert_int_equal(counter.bytes, before.bytes + bytes);
	assert_int_equal(dataplane_count_vip(rig.dp, VIP + 1, &counter), 0);
	assert_int_equal(counter.packets, 0);
	assert_int_equal(dataplane_reset_vip(rig.dp, VIP), 0);
	assert_int_equal(dataplane_count_vip(rig.dp, VIP, &counter), 0);
	assert_int_equal(counter.packets | counter.bytes, 0);
}

/*
 * The verifier gives up at a million instructions, and each load takes the longer the more it
 * goes through.
 */
static void test_verifier_has_room(void **state)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	(void)state;
	assert_int_equal(bpf_obj_get_info_by_fd(rig.program, &info, &len), 0);
	print_message("# %u instructions verified\n", info.verified_insns);
	assert_in_range(info.verified_insns, 1, VERIFIED_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verifier_has_room),
		cmocka_unit_test(test_vips),
		cmocka_unit_test(test_vip_is_replaced),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_nexthop_at_once),
		cmocka_unit_test(test_nexthop_is_whole),
		cmocka_unit_test(test_egress),
		cmocka_unit_test(test_backend_is_kept_or_new),
		cmocka_unit_test(test_wrong_family),
		cmocka_unit_test(test_counters),
	};
	int failed;

	test_seed_print();
	rig_open(&rig);
	failed = cmocka_run_group_tests_name("tables", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
