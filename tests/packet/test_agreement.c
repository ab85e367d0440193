/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The XDP program, the ring library and dataplane_lookup() name the same backend:
 * for random flows on rings of every size, and for rings whose positions are laid
 * around the hashes of real flows.
 *
 * The library's answer is ring_owner() of XXH64 of xxHash; nothing of it goes
 * through bpf/. The program's answer is read from the frame that it sends.
 */
#include "tests/packet/icmp_frame.h"
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <netinet/in.h>

#include "control/lookup.h"
#include "ringlb.skel.h"

#define POOL	     511 /* the last one */
#define FLOWS	     100000
#define LOOKUP_EVERY 500
#define ERROR_EVERY  10
#define VIPS	     12 /* of four kinds and three ways to hash */
#define BACKENDS     10000
#define CROWD_MAX    200
#define OTHERS_MAX   700

static struct rig rig;
static struct ringlb_bpf *plain;
static size_t flows_per_ring = FLOWS;
static struct endpoint vips[VIPS];

/* Scattered over all ids, 65534 among them, and never the member's index. */
static uint32_t ids[BACKENDS];

/* Of vips[i], the abi's and the model's value of which are the same. */
static uint8_t what_is_hashed(size_t i)
{
	return (uint8_t)(i / 4);
}

static size_t vip_of(const struct flow *flow)
{
	size_t i = 0;

	while (memcmp(flow->destination, vips[i].address, sizeof(vips[i].address)) != 0)
		i++;
	return i;
}

static uint64_t hash_of(const struct flow *flow, uint64_t seed)
{
	struct lookup_query query = {
		.protocol = flow->protocol,
		.source.family = flow->family == ENDPOINT_IPV6 ? AF_INET6 : AF_INET,
		.destination.family = flow->family == ENDPOINT_IPV6 ? AF_INET6 : AF_INET,
		.source_port = ntohs(flow->source_port),
		.destination_port = ntohs(flow->destination_port),
	};

	memcpy(query.source.bytes, flow->source, sizeof(query.source.bytes));
	memcpy(query.destination.bytes, flow->destination, sizeof(query.destination.bytes));
	return lookup_hash(&query, (enum config_hash)what_is_hashed(vip_of(flow)), seed);
}

static struct flow random_flow_to(const struct endpoint *vip, struct rng *rng)
{
	const uint64_t random[4] = {rng_next(rng), rng_next(rng), rng_next(rng), rng_next(rng)};
	struct flow flow = frame_flow(vip->family, vip->protocol, random);

	memcpy(flow.destination, vip->address, sizeof(flow.destination));
	return flow;
}

/* Of any of the four kinds. */
static struct flow random_flow(struct rng *rng)
{
	return random_flow_to(&vips[rng_below(rng, VIPS)], rng);
}

/* The backend that the program sends @frame to; all but the MAC addresses must stay. */
static uint32_t frame_backend(const struct frame *frame)
{
	struct frame out;

	assert_int_equal(rig_run(&rig, rig.ingress, frame, &out), XDP_TX);
	assert_int_equal(out.len, frame->len);
	assert_memory_equal(out.bytes + 12, frame->bytes + 12, frame->len - 12);
	return rig_backend_of(&out);
}

static uint32_t program_backend(const struct flow *flow, uint64_t fill)
{
	const struct frame_spec spec = {
		.flow = *flow, .ttl = 64, .payload_len = fill % 3, .fill = fill};
	struct frame frame;

	frame_build(&frame, &spec);
	return frame_backend(&frame);
}

/* That of an ICMP error about the flow. */
static uint32_t error_backend(const struct flow *flow)
{
	struct frame frame;

	icmp_error_of(&frame, flow);
	return frame_backend(&frame);
}

static void assert_lookup_agrees(const struct ring *ring, const struct flow *flow, uint64_t hash)
{
	struct dataplane_match match = {};
	int slot = ring_search(ring, hash);

	assert_int_equal(dataplane_lookup(rig.dp, flow, &match), 0);
	assert_int_equal(match.pool, POOL);
	assert_int_equal(match.hash, hash);
	assert_int_equal(match.len, ring->len);
	assert_int_equal(match.slot, slot);
	assert_int_equal(match.position, ring->positions[slot]);
	assert_int_equal(match.backend, ids[ring->owners[slot]]);
}

/* Counts by family and protocol, so that no kind can be missing unseen. */
static void assert_random_flows_agree(const struct ring *ring, struct rng *rng)
{
	size_t kinds[2][2] = {};

	for (size_t i = 0; i < flows_per_ring; i++) {
		struct flow flow = random_flow(rng);
		uint64_t hash = hash_of(&flow, ring->params.seed);
		uint32_t expected = ids[ring_owner(ring, hash)];

		kinds[flow.family == ENDPOINT_IPV6][flow.protocol == IPPROTO_UDP]++;
		assert_int_equal(program_backend(&flow, hash), expected);
		if (i % LOOKUP_EVERY == 0)
			assert_lookup_agrees(ring, &flow, hash);
		if (i % ERROR_EVERY == 0)
			assert_int_equal(error_backend(&flow), expected);
	}
	for (int i = 0; i < 4; i++)
		assert_true(kinds[i / 2][i % 2] > flows_per_ring / 5);
}

/* What is left out of the hash may change, and the flow finds the same backend. */
static void test_affinity(void **state)
{
	struct ring *ring = ring_numbered(&ring_hash_xxh64, 7, 200, 16);
	struct rng rng = rng_start(5);

	(void)state;
	rig_publish(&rig, POOL, ring, ids);
	for (int i = 0; i < 2000; i++) {
		const struct endpoint *vip = &vips[4 + rng_below(&rng, VIPS - 4)];
		struct flow flow = random_flow_to(vip, &rng), other = flow;
		bool source_only = what_is_hashed(vip_of(&flow)) == VIP_HASH_SOURCE;

		other.source_port = (uint16_t)rng_next(&rng);
		if (source_only)
			other.destination_port = (uint16_t)rng_next(&rng);
		assert_int_equal(program_backend(&other, 0), program_backend(&flow, 0));
	}
	ring_free(ring);
}

static void test_size(uint32_t vnodes, size_t members, size_t len)
{
	struct rng rng = rng_start(len);
	struct ring *ring = ring_numbered(&ring_hash_xxh64, rng_next(&rng), vnodes, members);

	assert_int_equal(ring->len, len);
	rig_publish(&rig, POOL, ring, ids);
	assert_random_flows_agree(ring, &rng);
	ring_free(ring);
}

static void test_1_position(void **state)
{
	(void)state;
	test_size(1, 1, 1);
}

static void test_2_positions(void **state)
{
	(void)state;
	test_size(1, 2, 2);
}

static void test_200_positions(void **state)
{
	(void)state;
	test_size(10, 20, 200);
}

static void test_3200_positions(void **state)
{
	(void)state;
	test_size(200, 16, 3200);
}

static void test_200000_positions(void **state)
{
	(void)state;
	test_size(200, 1000, 200000);
}

static void test_2000000_positions(void **state)
{
	(void)state;
	test_size(200, BACKENDS, 2000000);
}

/* How many hashes share a bucket of a ring with @len positions; 0: 2^64. */
static uint64_t bucket_len(size_t len)
{
	uint64_t buckets = 1;

	while (buckets < len * RING_BUCKETS_PER_POSITION || buckets < 1 << RING_GROUP_BITS)
		buckets *= 2;
	return UINT64_MAX / buckets + 1;
}

/* Up to four members at positions that are given. The owner of positions[i] is "s<i>". */
static struct ring *ring_given(const uint64_t *positions, size_t len)
{
	static const uint16_t owners[] = {0, 1, 2, 3};
	struct ring_member *members = members_numbered(4);
	struct ring *ring = NULL;

	assert_true(len <= ARRAY_LEN(owners));
	assert_int_equal(ring_from_positions(&ring, UINT64_MAX, members, 4, positions, owners, len),
			 0);
	free(members);
	return ring;
}

struct edge {
	const char *what;
	size_t len;
	uint64_t positions[4];
	uint16_t owner; /* of the flow's hash, known without any search */
};

static void assert_edge(const struct flow *flow, uint64_t hash, const struct edge *edge)
{
	struct ring *ring = ring_given(edge->positions, edge->len);
	uint32_t backend;

	rig_publish(&rig, POOL, ring, ids);
	backend = program_backend(flow, hash);
	if (backend != ids[edge->owner])
		fail_msg("%s: hash %016" PRIx64 " went to %u, not to %u", edge->what, hash, backend,
			 ids[edge->owner]);
	assert_int_equal(ring_owner(ring, hash), edge->owner);
	assert_lookup_agrees(ring, flow, hash);
	ring_free(ring);
}

/* For a flow of each kind. Each row is wrong for a search that takes `<=` for `<` or the reverse,
 * or does not wrap. */
static void test_edges_around_hashes(void **state)
{
	struct rng rng = rng_start(1);

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct flow flow = random_flow_to(&vips[kind], &rng);
		uint64_t h = hash_of(&flow, 0);
		const struct edge edges[] = {
			{"exact hit, alone", 1, {h}, 0},
			{"exact hit between", 3, {h - 1, h, h + 1}, 1},
			{"exact hit, the first", 3, {h, h + 1, h + 2}, 0},
			{"exact hit, the last", 3, {h - 2, h - 1, h}, 2},
			{"one past a position", 2, {h - 1, h + 1}, 1},
			{"one before the last", 3, {h - 2, h - 1, h + 1}, 2},
			{"below the first", 3, {h + 1, h + 2, UINT64_MAX}, 0},
			{"past the last, wrapping", 3, {1, h - 2, h - 1}, 0},
			{"past the last of two", 2, {h - 2, h - 1}, 0},
			{"past the only one", 1, {h - 1}, 0},
			{"between the ends", 2, {0, UINT64_MAX}, 1},
			{"two at the hash", 4, {h - 1, h, h, h + 1}, 1},
			{"two below, two above", 4, {h - 1, h - 1, h + 1, h + 1}, 2},
		};

		assert_true(h > 2 && h < UINT64_MAX - 2);
		for (size_t e = 0; e < ARRAY_LEN(edges); e++)
			assert_edge(&flow, h, &edges[e]);
	}
}

/* Lengths around powers of two, each slot hit exactly, from just before and just after. */
static void test_every_slot_of_small_rings(void **state)
{
	static const size_t lengths[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 33, 63};
	struct ring_member *members = members_numbered(64);
	uint64_t positions[64];
	struct flow flows[64];
	uint16_t owners[64];
	struct rng rng = rng_start(2);

	(void)state;
	for (size_t i = 0; i < 64; i++)
		owners[i] = i;
	for (size_t l = 0; l < ARRAY_LEN(lengths); l++) {
		for (int shift = -1; shift <= 1; shift++) {
			struct ring *ring = NULL;

			for (size_t i = 0; i < lengths[l]; i++) {
				flows[i] = random_flow(&rng);
				positions[i] = hash_of(&flows[i], 0) + shift;
			}
			assert_int_equal(ring_from_positions(&ring, UINT64_MAX, members, 64,
							     positions, owners, lengths[l]),
					 0);
			rig_publish(&rig, POOL, ring, ids);
			for (size_t i = 0; i < lengths[l]; i++) {
				uint64_t hash = hash_of(&flows[i], 0);

				assert_int_equal(program_backend(&flows[i], hash),
						 ids[owner_by_walk(ring, hash)]);
				assert_lookup_agrees(ring, &flows[i], hash);
			}
			ring_free(ring);
		}
	}
	free(members);
}

/*
 * The largest ring there may be, of positions side by side, so that a flow's hash
 * hits a chosen slot: slot 1 takes as many steps as a search can take.
 */
static void test_ends_of_the_largest_ring(void **state)
{
	static const size_t slots[] = {0, 1, RING_POSITIONS_MAX - 1};
	struct ring_member *members = members_numbered(BACKENDS);
	uint64_t *positions = calloc(RING_POSITIONS_MAX, sizeof(*positions));
	uint16_t *owners = calloc(RING_POSITIONS_MAX, sizeof(*owners));
	struct rng rng = rng_start(4);

	(void)state;
	for (size_t s = 0; s < ARRAY_LEN(slots); s++) {
		struct flow flow = random_flow(&rng);
		uint64_t hash = hash_of(&flow, 0);
		struct ring *ring = NULL;

		assert_true(hash > RING_POSITIONS_MAX && hash < UINT64_MAX - RING_POSITIONS_MAX);
		for (size_t i = 0; i < RING_POSITIONS_MAX; i++) {
			positions[i] = hash - slots[s] + i;
			owners[i] = i % BACKENDS;
		}
		assert_int_equal(ring_from_positions(&ring, UINT64_MAX, members, BACKENDS,
						     positions, owners, RING_POSITIONS_MAX),
				 0);
		rig_publish(&rig, POOL, ring, ids);
		assert_int_equal(program_backend(&flow, hash), ids[ring->owners[slots[s]]]);
		assert_lookup_agrees(ring, &flow, hash);
		ring_free(ring);
	}
	free(positions);
	free(owners);
	free(members);
}

/*
 * A ring around @hash: @crowd positions one after the other, the last one at @edge + @delta,
 * among @others which are far apart. @edge is where a bucket, or a group of them, ends.
 */
static struct ring *ring_crowded(uint64_t edge, int delta, size_t crowd, size_t others,
				 const struct ring_member *members)
{
	uint64_t positions[CROWD_MAX + OTHERS_MAX];
	uint16_t owners[CROWD_MAX + OTHERS_MAX];
	struct ring *ring = NULL;

	for (size_t i = 0; i < crowd + others; i++) {
		positions[i] = i < crowd ? edge + delta - i : UINT64_MAX / others * (i - crowd);
		owners[i] = i % 64;
	}
	assert_int_equal(ring_from_positions(&ring, UINT64_MAX, members, 64, positions, owners,
					     crowd + others),
			 0);
	return ring;
}

/* Hashes at either end of their bucket and of its group, beside many positions or none. */
static void test_bucket_edges(void **state)
{
	static const size_t crowds[] = {0, 1, 2, 7, 8, 9, 17, CROWD_MAX};
	static const size_t others[] = {1, 3, 50, OTHERS_MAX};
	struct ring_member *members = members_numbered(64);
	struct rng rng = rng_start(6);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(crowds) * ARRAY_LEN(others) * 4 * 3; i++) {
		size_t crowd = crowds[i / 12 % ARRAY_LEN(crowds)];
		size_t far = others[i / 12 / ARRAY_LEN(crowds)];
		struct flow flow = random_flow(&rng);
		uint64_t hash = hash_of(&flow, 0), bucket = bucket_len(crowd + far), edge;
		struct ring *ring;

		if (i / 2 % 2)
			bucket <<= RING_GROUP_BITS;
		edge = hash - (bucket ? hash % bucket : hash) - (i % 2 ? 1 : 0);
		/* In every other round the crowd ends right at the hash, be that wherever. */
		if (i % 5 == 0)
			edge = hash;
		ring = ring_crowded(edge, (int)(i / 4 % 3) - 1, crowd, far, members);
		rig_publish(&rig, POOL, ring, ids);
		assert_int_equal(program_backend(&flow, hash), ids[owner_by_walk(ring, hash)]);
		assert_lookup_agrees(ring, &flow, hash);
		ring_free(ring);
	}
	free(members);
}

static void make_vips(void)
{
	struct rng rng = rng_start(3);

	for (uint32_t i = 0; i < VIPS; i++) {
		struct endpoint *vip = &vips[i];

		vip->family = i & 1 ? ENDPOINT_IPV6 : ENDPOINT_IPV4;
		vip->protocol = i & 2 ? IPPROTO_UDP : IPPROTO_TCP;
		for (int word = 0; word < (vip->family == ENDPOINT_IPV6 ? 4 : 1); word++)
			vip->address[word] = (uint32_t)rng_next(&rng);
		rig_set_vip_value(&rig, vip,
				  &(struct vip){.vip = i, .pool = POOL, .hash = what_is_hashed(i)});
	}
}

static void make_backends(void)
{
	const struct backend backend = {.forward = FORWARD_DR};

	for (uint32_t i = 0; i < BACKENDS; i++) {
		ids[i] = BACKENDS_MAX - 1 - i * 40507U % BACKENDS_MAX;
		rig_set_backend(&rig, ids[i], &backend, rig.ingress);
	}
}

/* RINGLB_TEST_FLOWS=N: so many for each ring, where all is slow. */
static void read_flows(void)
{
	const char *wanted = getenv("RINGLB_TEST_FLOWS");

	if (wanted)
		flows_per_ring = strtoul(wanted, NULL, 10);
	rig_require(flows_per_ring >= 1000, "RINGLB_TEST_FLOWS must be 1000 or more");
}

/* Each test after it is one of the search without the buckets, which is the reference. */
static void test_plain_search_from_now_on(void **state)
{
	(void)state;
	plain = ringlb_bpf__open();
	rig_require(plain != NULL, "cannot open the program");
	plain->rodata->plain_search = true;
	rig_reuse_maps(plain->obj);
	rig_require(!ringlb_bpf__load(plain), "cannot load the program with the plain search");
	rig.program = bpf_program__fd(plain->progs.ringlb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1_position),
		cmocka_unit_test(test_2_positions),
		cmocka_unit_test(test_200_positions),
		cmocka_unit_test(test_3200_positions),
		cmocka_unit_test(test_200000_positions),
		cmocka_unit_test(test_2000000_positions),
		cmocka_unit_test(test_affinity),
		cmocka_unit_test(test_edges_around_hashes),
		cmocka_unit_test(test_every_slot_of_small_rings),
		cmocka_unit_test(test_ends_of_the_largest_ring),
		cmocka_unit_test(test_bucket_edges),
		cmocka_unit_test(test_plain_search_from_now_on),
		cmocka_unit_test(test_3200_positions),
		cmocka_unit_test(test_edges_around_hashes),
		cmocka_unit_test(test_every_slot_of_small_rings),
		cmocka_unit_test(test_ends_of_the_largest_ring),
		cmocka_unit_test(test_bucket_edges),
	};
	int failed;

	test_seed_print();
	read_flows();
	rig_open(&rig);
	make_vips();
	make_backends();
	failed = cmocka_run_group_tests_name("agreement", tests, NULL, NULL);
	ringlb_bpf__destroy(plain);
	rig_close(&rig);
	return failed;
}
