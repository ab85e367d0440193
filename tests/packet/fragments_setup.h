/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagrams of many flows in PIECES fragments each, to UDP VIPs of both families and
 * BACKENDS dr backends, which are told apart by the destination MAC address.
 */
#ifndef RINGLB_TESTS_FRAGMENTS_SETUP_H
#define RINGLB_TESTS_FRAGMENTS_SETUP_H

#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <netinet/in.h>

#define POOL	     3
#define BACKENDS     16
#define PIECES	     4
#define PIECE_LEN    16
#define DATAGRAM_LEN (PIECES * PIECE_LEN - 5)

static struct rig rig;
static const struct endpoint vips[] = {
	{.address[0] = 0x010200c0, .protocol = IPPROTO_UDP, .family = ENDPOINT_IPV4},
	{.address[0] = 0xb80d0120, .protocol = IPPROTO_UDP, .family = ENDPOINT_IPV6},
};

/* @id is the same for many, but not with the same addresses. */
struct datagram {
	struct flow flow;
	uint32_t id;
	uint32_t backend;
};

static inline void make_whole(struct frame *whole, const struct datagram *datagram)
{
	const struct frame_spec spec = {
		.flow = datagram->flow,
		.ttl = 64,
		.payload_len = DATAGRAM_LEN - 8,
	};

	frame_build(whole, &spec);
}

static inline struct datagram *make_datagrams(size_t count, struct rng *rng)
{
	struct datagram *datagrams = calloc(count, sizeof(*datagrams));

	rig_require(datagrams != NULL, "out of memory");
	for (size_t i = 0; i < count; i++) {
		const struct endpoint *vip = &vips[i & 1];
		const uint64_t random[4] = {rng_next(rng), rng_next(rng), 0, rng_next(rng)};
		struct frame whole, out;

		datagrams[i].id = (uint32_t)i % 7;
		datagrams[i].flow = frame_flow(vip->family, IPPROTO_UDP, random);
		memcpy(datagrams[i].flow.destination, vip->address, sizeof(vip->address));
		make_whole(&whole, &datagrams[i]);
		rig_require(rig_run(&rig, rig.ingress, &whole, &out) == XDP_TX, "not balanced");
		datagrams[i].backend = rig_backend_of(&out);
	}
	return datagrams;
}

/* Fragment @piece of @datagram as it comes in. */
static inline void make_piece(struct frame *frame, const struct datagram *datagram, size_t piece)
{
	size_t from = piece * PIECE_LEN;
	struct frame whole;

	make_whole(&whole, datagram);
	frame_fragment(frame, &whole, datagram->id, from,
		       from + PIECE_LEN > DATAGRAM_LEN ? DATAGRAM_LEN - from : PIECE_LEN);
}

static inline void read_counters(uint64_t counters[VERDICT_COUNT])
{
	for (int v = 0; v < VERDICT_COUNT; v++)
		counters[v] = rig_verdict(&rig, v);
}

/* How often @verdict was counted since @before. */
static inline uint64_t counted(const uint64_t before[VERDICT_COUNT], enum verdict verdict)
{
	return rig_verdict(&rig, verdict) - before[verdict];
}

static inline int set_up(void **state)
{
	const struct backend backend = {.forward = FORWARD_DR};
	struct ring *ring = ring_numbered(&ring_hash_xxh64, test_seed(), 50, BACKENDS);
	uint32_t ids[BACKENDS];

	(void)state;
	rig_open(&rig);
	for (uint32_t id = 0; id < BACKENDS; id++) {
		ids[id] = id;
		rig_set_backend(&rig, id, &backend, rig.ingress);
	}
	rig_publish(&rig, POOL, ring, ids);
	for (uint32_t i = 0; i < ARRAY_LEN(vips); i++)
		rig_set_vip(&rig, &vips[i], i, POOL);
	ring_free(ring);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

#endif
