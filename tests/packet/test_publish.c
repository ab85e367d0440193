/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Publishing a ring: a packet gets the answer of the whole old ring or of the whole
 * new one, and once dataplane_publish_ring() has returned, of the new one only.
 */
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <bpf/bpf.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define POOL	      3
#define FLOWS	      256
#define SWAPS	      200
#define SWAP_MS_MAX   4000  /* a slow machine swaps less often */
#define SEEN_MS_MAX   60000 /* and may take its time to see enough */
#define CHECKED_FLOWS 64

static struct rig rig;
static const struct endpoint vip = {
	.address[0] = 0x010200c0, .protocol = IPPROTO_TCP, .family = ENDPOINT_IPV4};
static struct frame frames[FLOWS];
static struct flow flows[FLOWS];

/**
 * struct side - one of two rings that take turns; their backends are disjoint
 * @answers: what the ring library says for flows[i], as backend id
 */
struct side {
	struct ring *ring;
	uint32_t ids[64];
	uint32_t answers[FLOWS];
};

/* The first needs a map of the least size, the next two of the next one, the last two large ones.
 */
static struct side sides[5];

/* Backends are first_id, first_id + 1... */
static void side_init(struct side *side, uint64_t seed, uint32_t vnodes, size_t members,
		      uint32_t first_id)
{
	const struct backend backend = {.forward = FORWARD_DR};

	side->ring = ring_numbered(&ring_hash_xxh64, seed, vnodes, members);
	for (uint32_t i = 0; i < members; i++) {
		side->ids[i] = first_id + i;
		rig_set_backend(&rig, side->ids[i], &backend, rig.ingress);
	}
	for (size_t i = 0; i < FLOWS; i++) {
		const struct flow *flow = &flows[i];
		uint8_t key[FLOW_KEY_LEN_IPV4];
		uint64_t hash;

		memcpy(key, flow->source, 4);
		memcpy(key + 4, flow->destination, 4);
		memcpy(key + 8, &flow->source_port, 2);
		memcpy(key + 10, &flow->destination_port, 2);
		key[12] = flow->protocol;
		hash = ring_hash_xxh64.hash(key, sizeof(key), seed);
		side->answers[i] = side->ids[ring_owner(side->ring, hash)];
	}
}

static void make_flows(void)
{
	struct rng rng = rng_start(1);

	for (size_t i = 0; i < FLOWS; i++) {
		const uint64_t random[4] = {rng_next(&rng), 0, 0, rng_next(&rng)};
		struct frame_spec spec = {.ttl = 64};

		flows[i] = frame_flow(ENDPOINT_IPV4, IPPROTO_TCP, random);
		flows[i].destination[0] = vip.address[0];
		spec.flow = flows[i];
		frame_build(&frames[i], &spec);
	}
}

static uint32_t answer(size_t flow)
{
	struct frame out;

	if (rig_run(&rig, rig.ingress, &frames[flow], &out) != XDP_TX)
		return BACKEND_NONE;
	return rig_backend_of(&out);
}

static void assert_answers_of(const struct side *side, size_t n_flows)
{
	for (size_t i = 0; i < n_flows; i++)
		assert_int_equal(answer(i), side->answers[i]);
}

/*
 * What the packets of the other thread saw. `turn` is 2 * swaps done, and odd while a
 * swap is under way; sides[swaps done % 2] is live.
 */
static struct {
	const struct side *sides[2];
	atomic_uint turn;
	atomic_bool stop;
	atomic_ulong packets, settled, of[2], foreign, stale;
} watch;

static void watch_one(size_t flow)
{
	unsigned int before = atomic_load(&watch.turn);
	uint32_t backend = answer(flow);
	unsigned int after = atomic_load(&watch.turn);

	for (int side = 0; side < 2; side++) {
		if (backend != watch.sides[side]->answers[flow])
			continue;
		watch.of[side]++;
		if (before == after && before % 2 == 0) {
			watch.settled++;
			watch.stale += before / 2 % 2 != (unsigned int)side;
		}
		return;
	}
	watch.foreign++;
}

static void *watch_answers(void *unused)
{
	(void)unused;
	while (!atomic_load(&watch.stop)) {
		watch_one(watch.packets % FLOWS);
		watch.packets++;
	}
	return NULL;
}

static bool time_left(const struct timespec *start, int64_t ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000 < ms;
}

/* Both rings were seen at work, and the live one between two swaps. */
static bool saw_enough(unsigned int swaps)
{
	return swaps >= 10 && watch.of[0] > 100 && watch.of[1] > 100 && watch.settled > 10;
}

static void swap_under_packets(const struct side *a, const struct side *b)
{
	struct timespec start;
	pthread_t thread;
	unsigned int swaps = 0;

	memset(&watch, 0, sizeof(watch));
	watch.sides[0] = a;
	watch.sides[1] = b;
	rig_publish(&rig, POOL, a->ring, a->ids);
	assert_int_equal(pthread_create(&thread, NULL, watch_answers, NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	while ((swaps < SWAPS && time_left(&start, SWAP_MS_MAX)) ||
	       (!saw_enough(swaps) && time_left(&start, SEEN_MS_MAX))) {
		const struct side *next = watch.sides[(swaps + 1) % 2];

		atomic_store(&watch.turn, 2 * swaps + 1);
		rig_publish(&rig, POOL, next->ring, next->ids);
		atomic_store(&watch.turn, 2 * ++swaps);
		for (size_t i = 0; i < CHECKED_FLOWS; i++) {
			if (answer(i) != next->answers[i])
				watch.stale++;
		}
	}
	atomic_store(&watch.stop, true);
	pthread_join(thread, NULL);
	print_message("# %u swaps, %lu packets meanwhile: %lu and %lu, %lu between swaps\n", swaps,
		      (unsigned long)watch.packets, (unsigned long)watch.of[0],
		      (unsigned long)watch.of[1], (unsigned long)watch.settled);
	assert_int_equal(watch.foreign, 0);
	assert_int_equal(watch.stale, 0);
	assert_true(saw_enough(swaps));
}

static void test_swaps_within_a_class(void **state)
{
	(void)state;
	swap_under_packets(&sides[1], &sides[2]);
}

static void test_swaps_between_classes(void **state)
{
	(void)state;
	swap_under_packets(&sides[0], &sides[1]);
}

static void test_swaps_of_large_rings(void **state)
{
	(void)state;
	swap_under_packets(&sides[3], &sides[4]);
}

static int rings_of(const char *class)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), DATAPLANE_PIN_DIR "/%s", class);
	fd = bpf_obj_get(path);
	assert_true(fd >= 0);
	return fd;
}

static bool has_ring(int rings)
{
	uint32_t pool = POOL, id;

	return bpf_map_lookup_elem(rings, &pool, &id) == 0;
}

static void load_again(void)
{
	struct dataplane_error error;

	dataplane_close(rig.dp);
	assert_int_equal(dataplane_open(&rig.dp, DATAPLANE_PIN_DIR, &error), 0);
	rig.program = dataplane_program_fd(rig.dp);
}

static uint32_t live_map(int rings)
{
	uint32_t pool = POOL, id = 0;

	assert_int_equal(bpf_map_lookup_elem(rings, &pool, &id), 0);
	return id;
}

/* Two maps take turns; a ring that was given up, or one of another size, ends that. */
static void test_large_maps_take_turns(void **state)
{
	int rings = rings_of("rings_4"), fd;
	uint32_t ids[6];

	(void)state;
	for (int i = 0; i < 4; i++) {
		rig_publish(&rig, POOL, sides[3 + i % 2].ring, sides[3 + i % 2].ids);
		ids[i] = live_map(rings);
		assert_answers_of(&sides[3 + i % 2], FLOWS);
	}
	assert_int_not_equal(ids[0], ids[1]);
	assert_int_equal(ids[2], ids[0]);
	assert_int_equal(ids[3], ids[1]);
	fd = rig_prepare(&rig, POOL, sides[3].ring, sides[3].ids);
	close(fd);
	rig_publish(&rig, POOL, sides[3].ring, sides[3].ids);
	assert_answers_of(&sides[3], FLOWS);
	ids[4] = live_map(rings);
	assert_int_not_equal(ids[4], ids[2]);
	rig_publish(&rig, POOL, sides[0].ring, sides[0].ids);
	assert_answers_of(&sides[0], FLOWS);
	rig_publish(&rig, POOL, sides[4].ring, sides[4].ids);
	assert_answers_of(&sides[4], FLOWS);
	ids[5] = live_map(rings);
	assert_int_not_equal(ids[5], ids[4]);
	assert_int_not_equal(ids[5], ids[3]);
	close(rings);
}

/* Killed before the class changed, or after: one ring counts, the other is freed. */
static void test_cut_short_between_classes(void **state)
{
	int small = rings_of("rings_0"), large = rings_of("rings_1");
	uint32_t pool = POOL;
	int fd;

	(void)state;
	for (int to = 0; to < 2; to++) {
		rig_publish(&rig, POOL, sides[!to].ring, sides[!to].ids);
		assert_false(has_ring(to ? large : small));
		fd = rig_prepare(&rig, POOL, sides[to].ring, sides[to].ids);
		assert_int_equal(bpf_map_update_elem(to ? large : small, &pool, &fd, BPF_ANY), 0);
		close(fd);
		assert_answers_of(&sides[!to], FLOWS);
		load_again();
		assert_true(rig_is_live(&rig, POOL, sides[!to].ring, sides[!to].ids));
		assert_answers_of(&sides[!to], FLOWS);
		assert_false(has_ring(to ? large : small));
	}
	close(small);
	close(large);
}

/* One backend, many backends, no backend, no ring, and back. */
static void test_each_after_each(void **state)
{
	struct ring *empty = ring_numbered(&ring_hash_xxh64, 7, 1, 0);
	uint64_t before;

	(void)state;
	for (int round = 0; round < 2; round++) {
		rig_publish(&rig, POOL, sides[round].ring, sides[round].ids);
		assert_answers_of(&sides[round], FLOWS);

		rig_publish(&rig, POOL, empty, NULL);
		before = rig_verdict(&rig, DROP_NO_BACKEND);
		assert_int_equal(rig_run(&rig, rig.ingress, &frames[0], &frames[0]), XDP_DROP);
		assert_int_equal(rig_verdict(&rig, DROP_NO_BACKEND), before + 1);

		assert_int_equal(dataplane_remove_ring(rig.dp, POOL), 0);
		assert_int_equal(dataplane_remove_ring(rig.dp, POOL), 0);
		before = rig_verdict(&rig, DROP_NO_RING);
		assert_int_equal(rig_run(&rig, rig.ingress, &frames[0], &frames[0]), XDP_DROP);
		assert_int_equal(rig_verdict(&rig, DROP_NO_RING), before + 1);
	}
	ring_free(empty);
}

static void test_lookup_without_backends(void **state)
{
	struct ring *empty = ring_numbered(&ring_hash_xxh64, 7, 1, 0);
	struct flow other = flows[0];
	struct dataplane_match match = {.len = 1};

	(void)state;
	rig_publish(&rig, POOL, empty, NULL);
	assert_int_equal(dataplane_lookup(rig.dp, &flows[0], &match), 0);
	assert_int_equal(match.len, 0);
	assert_int_equal(match.pool, POOL);
	assert_true(rig_is_live(&rig, POOL, empty, NULL));
	assert_int_equal(dataplane_remove_ring(rig.dp, POOL), 0);
	assert_false(rig_is_live(&rig, POOL, empty, NULL));
	assert_int_equal(dataplane_lookup(rig.dp, &flows[0], &match), -ENODATA);
	other.destination[0]++;
	assert_int_equal(dataplane_lookup(rig.dp, &other, &match), -ENOENT);
	ring_free(empty);
}

/* Rings that say nearly the same: one owner, position, id, or the seed differs. */
static void test_ring_is_live(void **state)
{
	const struct side *side = &sides[1];
	const struct ring *ring = side->ring;
	uint16_t *owners = calloc(ring->len, sizeof(*owners));
	uint64_t *positions = calloc(ring->len, sizeof(*positions));
	struct ring other = *ring;
	uint32_t ids[64];

	(void)state;
	rig_publish(&rig, POOL, ring, side->ids);
	assert_true(rig_is_live(&rig, POOL, ring, side->ids));
	assert_false(rig_is_live(&rig, POOL + 1, ring, side->ids));

	memcpy(ids, side->ids, sizeof(ids));
	ids[5] += 1000;
	assert_false(rig_is_live(&rig, POOL, ring, ids));

	other.owners = memcpy(owners, ring->owners, ring->len * sizeof(*owners));
	other.positions = memcpy(positions, ring->positions, ring->len * sizeof(*positions));
	assert_true(rig_is_live(&rig, POOL, &other, side->ids));
	for (size_t at = 0; at < ring->len; at += ring->len / 3) {
		owners[at] = (owners[at] + 1) % ring->n_members;
		assert_false(rig_is_live(&rig, POOL, &other, side->ids));
		owners[at] = ring->owners[at];
		positions[at] ^= 1;
		assert_false(rig_is_live(&rig, POOL, &other, side->ids));
		positions[at] = ring->positions[at];
	}
	owners[ring->len - 1] = (owners[ring->len - 1] + 1) % ring->n_members;
	assert_false(rig_is_live(&rig, POOL, &other, side->ids));
	owners[ring->len - 1] = ring->owners[ring->len - 1];
	other.params.seed ^= UINT64_C(1) << 63;
	assert_false(rig_is_live(&rig, POOL, &other, side->ids));
	other.params.seed = ring->params.seed;
	other.len--;
	assert_false(rig_is_live(&rig, POOL, &other, side->ids));
	free(owners);
	free(positions);
}

/* A ring that was prepared and given up changes nothing; one pool's swap is no other's. */
static void test_others_stay(void **state)
{
	int fd;

	(void)state;
	rig_publish(&rig, POOL, sides[0].ring, sides[0].ids);
	fd = rig_prepare(&rig, POOL, sides[1].ring, sides[1].ids);
	assert_answers_of(&sides[0], FLOWS);
	assert_true(rig_is_live(&rig, POOL, sides[0].ring, sides[0].ids));
	assert_int_equal(dataplane_publish_ring(rig.dp, POOL + 1, fd), 0);
	assert_answers_of(&sides[0], FLOWS);
	assert_int_equal(dataplane_remove_ring(rig.dp, POOL + 1), 0);
	assert_answers_of(&sides[0], FLOWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_after_each),
		cmocka_unit_test(test_swaps_within_a_class),
		cmocka_unit_test(test_swaps_between_classes),
		cmocka_unit_test(test_swaps_of_large_rings),
		cmocka_unit_test(test_large_maps_take_turns),
		cmocka_unit_test(test_cut_short_between_classes),
		cmocka_unit_test(test_lookup_without_backends),
		cmocka_unit_test(test_ring_is_live),
		cmocka_unit_test(test_others_stay),
	};
	int failed;

	test_seed_print();
	rig_open(&rig);
	rig_set_vip(&rig, &vip, 0, POOL);
	make_flows();
	side_init(&sides[0], 11, 50, 10, 100);
	side_init(&sides[1], 12, 200, 16, 1000);
	side_init(&sides[2], 13, 100, 16, 2000);
	side_init(&sides[3], 14, 4000, 16, 3000);
	side_init(&sides[4], 15, 3500, 16, 4000);
	failed = cmocka_run_group_tests_name("publish", tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		ring_free(sides[i].ring);
	rig_close(&rig);
	return failed;
}
