/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QUIC packets through the program: hand-made ones, each cut at every length, and random
 * ones held against a reading of the RFCs that takes one octet after the other.
 *
 * The ring has one owner, OWNER, and no connection id names it, so where a packet went
 * tells whether its id or its hash decided.
 */
#include "tests/packet/moving_setup.h"

#define PAYLOAD_MAX 64
#define RANDOM	    200000
#define OTHER_POOL  (MOVING_POOL + 1)

enum { OWNER = 1, A, B, PREVIOUS, BACKENDS_END };

/* Configuration 0 has ids of 2 octets, 5 of 15, 6 of 1. */
static const struct {
	uint16_t pool;
	uint8_t config;
	uint8_t len;
	uint8_t octets[QUIC_ID_LEN_MAX + 1];
	uint32_t backend;
} ids[] = {
	{MOVING_POOL, 0, 2, {0x12, 0x34}, A},
	{MOVING_POOL, 0, 2, {0, 0}, B},
	{MOVING_POOL, 5, 15, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, B},
	{MOVING_POOL, 6, 1, {0x7f}, A},
	/* Of the pool, but of no length that its configuration has. */
	{MOVING_POOL, 0, 1, {0x12}, PREVIOUS},
	{OTHER_POOL, 0, 2, {0xab, 0xcd}, PREVIOUS},
	{OTHER_POOL, 1, 2, {0x12, 0x34}, PREVIOUS},
};

static const uint32_t lengths = QUIC_LEN_AT(2, 0) | QUIC_LEN_AT(15, 5) | QUIC_LEN_AT(1, 6);
static uint32_t length_of[8] = {[0] = 2, [5] = 15, [6] = 1};
static uint64_t counts[QUIC_COUNT];

struct row {
	const char *what;
	const char *payload; /* hex; spaces between what belongs together */
	enum quic_count count;
	uint32_t backend;
	/* From this many octets of it on, it is what it is; before: UNROUTABLE or OTHER. */
	size_t whole;
	enum quic_count cut;
};

#define SHORT(what, payload, count, backend, whole)                                                \
	{what, payload, QUIC_##count, backend, whole, QUIC_UNROUTABLE}
#define LONG(what, payload, count, backend, whole)                                                 \
	{what, payload, QUIC_##count, backend, whole, QUIC_OTHER}
#define NONCE " a1b2c3d4 e5"
#define ID15  " 0102030405060708090a0b0c0d0e0f"
#define V1    " 00000001"
#define V2    " 6b3343cf"

/* clang-format off */
static struct row rows[] = {
	SHORT("short header", "40 00 1234" NONCE, ID, A, 4),
	SHORT("its low bits do not count", "7f 1f 1234" NONCE, ID, A, 4),
	SHORT("nor does the second bit, which peers may clear", "00 00 1234" NONCE, ID, A, 4),
	SHORT("an id of zeros", "40 00 0000" NONCE, ID, B, 4),
	SHORT("the longest id", "41 a7" ID15 " 00", ID, B, 17),
	SHORT("the shortest id", "5a c3 7f ff", ID, A, 3),
	SHORT("no nonce", "40 00 1234", ID, A, 4),
	SHORT("unknown id", "40 00 1235" NONCE, UNKNOWN, OWNER, 4),
	SHORT("its octets swapped", "40 00 3412" NONCE, UNKNOWN, OWNER, 4),
	SHORT("the longest id, but its last octet",
	      "40 a7 0102030405060708090a0b0c0d0e10 00", UNKNOWN, OWNER, 17),
	SHORT("an id of another pool", "40 00 abcd" NONCE, UNKNOWN, OWNER, 4),
	SHORT("a configuration without ids here", "40 20 1234" NONCE, UNROUTABLE, OWNER, 0),
	SHORT("configuration 4", "40 80 1234" NONCE, UNROUTABLE, OWNER, 0),
	SHORT("configuration 7, which says that it names nobody", "40 e0 1234" NONCE, UNROUTABLE,
	      OWNER, 0),

	LONG("Handshake", "e0" V1 " 08 00 1234" NONCE, ID, A, 9),
	LONG("Handshake, all low bits", "ef" V1 " 08 1f 1234" NONCE, ID, A, 9),
	LONG("Handshake, second bit cleared", "a0" V1 " 08 00 1234" NONCE, ID, A, 9),
	LONG("Handshake, just long enough", "e0" V1 " 03 00 1234" NONCE, ID, A, 9),
	LONG("Handshake, the longest", "e0" V1 " 10 bf" ID15, ID, B, 22),
	LONG("Handshake, connection id of 255", "e0" V1 " ff 00 1234" NONCE, ID, A, 9),
	LONG("Handshake, one too short", "e0" V1 " 02 00 1234" NONCE, UNROUTABLE, OWNER, 6),
	LONG("Handshake, empty connection id", "e0" V1 " 00 00 1234" NONCE, UNROUTABLE, OWNER, 6),
	LONG("Handshake, unknown id", "e0" V1 " 08 00 9999" NONCE, UNKNOWN, OWNER, 9),
	LONG("Handshake, configuration 7", "e0" V1 " 08 e7 1234" NONCE, UNROUTABLE, OWNER, 6),
	LONG("Initial with a known id", "c0" V1 " 08 00 1234" NONCE, OPENING, OWNER, 6),
	LONG("0-RTT with a known id", "d0" V1 " 08 00 1234" NONCE, OPENING, OWNER, 6),
	LONG("Retry with a known id", "f0" V1 " 08 00 1234" NONCE, OTHER, OWNER, 0),
	LONG("version 2: Handshake", "f0" V2 " 08 00 1234" NONCE, ID, A, 9),
	LONG("version 2: Initial", "d0" V2 " 08 00 1234" NONCE, OPENING, OWNER, 6),
	LONG("version 2: 0-RTT", "e0" V2 " 08 00 1234" NONCE, OPENING, OWNER, 6),
	LONG("version 2: Retry", "c0" V2 " 08 00 1234" NONCE, OTHER, OWNER, 0),
	LONG("version negotiation", "e0 00000000 08 00 1234" NONCE, OTHER, OWNER, 0),
	LONG("an unknown version", "e0 0a1a2a3a 08 00 1234" NONCE, OTHER, OWNER, 0),
	LONG("version 1 the other way round", "e0 01000000 08 00 1234" NONCE, OTHER, OWNER, 0),
	LONG("all ones", "ffffffffffffffffffffff", OTHER, OWNER, 0),
};
/* clang-format on */

static size_t read_hex(const char *text, uint8_t *bytes)
{
	size_t len = 0;

	for (; *text; text++) {
		if (*text == ' ')
			continue;
		assert_int_equal(sscanf(text, "%2hhx", &bytes[len++]), 1);
		text++;
	}
	return len;
}

static void build(struct frame *frame, const struct flow *flow, const uint8_t *payload, size_t len,
		  size_t padding)
{
	const struct frame_spec spec = {
		.flow = *flow, .ttl = 64, .payload_len = len, .padding_len = padding};

	frame_build(frame, &spec);
	memcpy(&frame->bytes[frame_l4_at(frame) + 8], payload, len);
	frame_checksums(frame);
}

/* Send the frame, which must reach @backend unchanged, and which one count must note. */
static void send_frame(const char *what, const struct frame *frame, enum quic_count count,
		       uint32_t backend)
{
	struct frame out, expected = *frame;

	rig_expect_macs(&expected, backend);
	if (rig_run(&rig, rig.ingress, frame, &out) != XDP_TX)
		fail_msg("%s: not sent", what);
	if (rig_backend_of(&out) != backend)
		fail_msg("%s: reaches %u, not %u", what, rig_backend_of(&out), backend);
	assert_int_equal(out.len, expected.len);
	assert_memory_equal(out.bytes, expected.bytes, out.len);
	for (int c = 0; c < QUIC_COUNT; c++) {
		uint64_t before = counts[c];

		assert_int_equal(dataplane_count_quic(rig.dp, c, &counts[c]), 0);
		if (counts[c] - before != (c == (int)count))
			fail_msg("%s: %s rose by %d", what, quic_count_name(c),
				 (int)(counts[c] - before));
	}
}

static void send_payload(const char *what, const struct flow *flow, const uint8_t *payload,
			 size_t len, enum quic_count count, uint32_t backend)
{
	struct frame frame;

	build(&frame, flow, payload, len, 0);
	send_frame(what, &frame, count, backend);
}

static void set_ids(void)
{
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		struct quic_id key = {ids[i].pool, ids[i].config, ids[i].len, {0}};
		struct quic_backend value = {.backend = ids[i].backend};

		memcpy(key.octets, ids[i].octets, sizeof(key.octets));
		value.incarnation = dataplane_get_backend(rig.dp, value.backend)->incarnation;
		rig_require(dataplane_set_quic_id(rig.dp, &key, &value) == 0, "cannot set an id");
	}
}

static void publish(uint16_t owner, bool moving)
{
	uint64_t position = UINT64_MAX;
	struct dataplane_move move = {.previous = PREVIOUS, .other_until_ms = INT64_MAX};
	const struct dataplane_ring ring = {.len = 1,
					    .positions = &position,
					    .owners = &owner,
					    .moves = &move,
					    .n_moves = moving};
	int fd = -1;

	rig_require(dataplane_prepare_ring(rig.dp, MOVING_POOL, &ring, &fd) == 0,
		    "cannot prepare a ring");
	rig_require(dataplane_publish_ring(rig.dp, MOVING_POOL, fd) == 0, "cannot publish");
}

/* As new: everybody up, nothing moving. */
static void set_up(void)
{
	assert_true(dataplane_forget_flows(rig.dp) >= 0);
	for (uint32_t id = OWNER; id < BACKENDS_END; id++)
		moving_backend(id, 0);
	set_ids();
	publish(OWNER, false);
	for (size_t i = 0; i < ARRAY_LEN(moving_vips); i++) {
		const struct vip vip = {
			.vip = (uint32_t)i,
			.pool = MOVING_POOL,
			.quic = moving_vips[i].protocol == IPPROTO_UDP ? lengths : 0,
		};

		rig_set_vip_value(&rig, &moving_vips[i], &vip);
	}
	for (int c = 0; c < QUIC_COUNT; c++)
		assert_int_equal(dataplane_count_quic(rig.dp, c, &counts[c]), 0);
}

static enum quic_count count_of_cut(const struct row *row, size_t len)
{
	if (len >= row->whole && len)
		return row->count;
	if (!len)
		return QUIC_OTHER;
	/* A long header that ends inside its connection id. */
	return row->cut == QUIC_OTHER && len < 6 ? QUIC_OTHER : QUIC_UNROUTABLE;
}

/* At each length the datagram ends there, by its own or only by the UDP header's word. */
static void cut_row(const struct row *row, const struct flow *flow, const uint8_t *payload,
		    size_t len)
{
	for (size_t cut = 0; cut <= len; cut++) {
		enum quic_count count = count_of_cut(row, cut);
		uint32_t backend = count == QUIC_ID ? row->backend : OWNER;
		struct frame frame;

		send_payload(row->what, flow, payload, cut, count, backend);
		/* Padding, and then octets of the IP packet, go on as the payload would have. */
		build(&frame, flow, payload, cut, len - cut);
		memcpy(&frame.bytes[frame_l4_at(&frame) + 8], payload, len);
		send_frame(row->what, &frame, count, backend);
		build(&frame, flow, payload, len, 0);
		frame_put_word(&frame, frame_l4_at(&frame) + 4, (uint16_t)(8 + cut));
		send_frame(row->what, &frame, count, backend);
	}
}

static void test_row(void **state)
{
	const struct row *row = *state;
	struct rng rng = rng_start((uint64_t)(row - rows));
	uint8_t payload[PAYLOAD_MAX];
	size_t len = read_hex(row->payload, payload);
	struct flow flows[2] = {
		moving_flow(ENDPOINT_IPV4, IPPROTO_UDP, &rng),
		moving_flow(ENDPOINT_IPV6, IPPROTO_UDP, &rng),
	};

	set_up();
	for (size_t i = 0; i < ARRAY_LEN(flows); i++) {
		send_payload(row->what, &flows[i], payload, len, row->count, row->backend);
		cut_row(row, &flows[i], payload, len);
	}
}

/* The obvious version: who is named by the octets from @cid to @end? */
static enum quic_count count_of_id(const uint8_t *cid, const uint8_t *end, uint32_t *backend)
{
	uint32_t config, len;

	if (cid >= end)
		return QUIC_UNROUTABLE;
	config = *cid / 32;
	len = length_of[config];
	if (!len || (size_t)(end - cid) < 1 + len)
		return QUIC_UNROUTABLE;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		if (ids[i].pool != MOVING_POOL || ids[i].config != config || ids[i].len != len ||
		    memcmp(ids[i].octets, cid + 1, len) != 0)
			continue;
		*backend = ids[i].backend;
		return QUIC_ID;
	}
	return QUIC_UNKNOWN;
}

static enum quic_count count_of(const uint8_t *payload, size_t len, uint32_t *backend)
{
	static const char *const kinds_1[] = {"Initial", "0-RTT", "Handshake", "Retry"};
	static const char *const kinds_2[] = {"Retry", "Initial", "0-RTT", "Handshake"};
	const uint8_t *end = payload + len, *cid_end;
	const char *kind;

	*backend = OWNER;
	if (len == 0)
		return QUIC_OTHER;
	if (payload[0] < 0x80)
		return count_of_id(payload + 1, end, backend);
	if (len < 6)
		return QUIC_OTHER;
	if (memcmp(payload + 1, "\x00\x00\x00\x01", 4) == 0)
		kind = kinds_1[payload[0] / 16 % 4];
	else if (memcmp(payload + 1, "\x6b\x33\x43\xcf", 4) == 0)
		kind = kinds_2[payload[0] / 16 % 4];
	else
		return QUIC_OTHER;
	if (strcmp(kind, "Retry") == 0)
		return QUIC_OTHER;
	if (strcmp(kind, "Handshake") != 0)
		return QUIC_OPENING;
	cid_end = payload + 6 + payload[5];
	return count_of_id(payload + 6, cid_end < end ? cid_end : end, backend);
}

/* Random, but mostly near to what has a meaning. */
static size_t random_payload(uint8_t *payload, struct rng *rng)
{
	static const uint8_t versions[][4] = {
		{0, 0, 0, 1}, {0x6b, 0x33, 0x43, 0xcf}, {0, 0, 0, 0}, {0, 0, 0, 2}};
	size_t cid_at = 1, which = rng_below(rng, ARRAY_LEN(ids));

	for (size_t i = 0; i < PAYLOAD_MAX; i++)
		payload[i] = (uint8_t)rng_next(rng);
	if (payload[0] & 0x80) {
		cid_at = 6;
		if (rng_below(rng, 8))
			memcpy(payload + 1, versions[rng_below(rng, 12) % 4 % 3], 4);
		if (rng_below(rng, 8))
			payload[5] = (uint8_t)rng_below(rng, 24);
	}
	if (rng_below(rng, 4)) {
		payload[cid_at] = (uint8_t)(ids[which].config << 5 | (payload[cid_at] & 31));
		memcpy(payload + cid_at + 1, ids[which].octets, ids[which].len);
	}
	if (rng_below(rng, 8) == 0)
		payload[cid_at + 1 + rng_below(rng, 15)] ^= (uint8_t)(1 << rng_below(rng, 8));
	return rng_below(rng, 3) ? rng_below(rng, 26) : rng_below(rng, PAYLOAD_MAX + 1);
}

static void test_random(void **state)
{
	struct rng rng = rng_start(1000);
	size_t seen[QUIC_COUNT] = {};

	(void)state;
	set_up();
	for (size_t i = 0; i < RANDOM; i++) {
		uint8_t payload[PAYLOAD_MAX + 16] = {};
		struct flow flow =
			moving_flow(i & 1 ? ENDPOINT_IPV6 : ENDPOINT_IPV4, IPPROTO_UDP, &rng);
		size_t len = random_payload(payload, &rng);
		uint32_t backend;
		enum quic_count count = count_of(payload, len, &backend);
		struct frame frame;
		char what[32];

		snprintf(what, sizeof(what), "random packet %zu", i);
		build(&frame, &flow, payload, len, rng_below(&rng, 4) ? 0 : rng_below(&rng, 24));
		send_frame(what, &frame, count, backend);
		seen[count]++;
	}
	/* GONE has tests of its own; of all others there were many. */
	for (int c = 0; c < QUIC_COUNT; c++)
		if (c != QUIC_GONE && seen[c] < RANDOM / 100)
			fail_msg("only %zu packets of %s", seen[c], quic_count_name(c));
}

static const uint8_t of_a[] = {0x40, 0x00, 0x12, 0x34, 1, 2, 3, 4, 5, 6, 7, 8};

static void send_of_a(const char *what, enum quic_count count, uint32_t backend)
{
	struct rng rng = rng_start(2000);
	struct flow flow = moving_flow(ENDPOINT_IPV4, IPPROTO_UDP, &rng);

	send_payload(what, &flow, of_a, sizeof(of_a), count, backend);
	flow = moving_flow(ENDPOINT_IPV6, IPPROTO_UDP, &rng);
	send_payload(what, &flow, of_a, sizeof(of_a), count, backend);
}

static void test_life_of_a_backend(void **state)
{
	(void)state;
	set_up();
	send_of_a("up", QUIC_ID, A);
	dataplane_set_takes(rig.dp, A, BACKEND_TAKES_OLD);
	send_of_a("draining", QUIC_ID, A);
	dataplane_set_takes(rig.dp, A, 0);
	send_of_a("down", QUIC_GONE, OWNER);
	dataplane_set_takes(rig.dp, A, BACKEND_TAKES_OLD | BACKEND_TAKES_NEW);
	send_of_a("up again, not yet named again", QUIC_GONE, OWNER);
	set_ids();
	send_of_a("named again", QUIC_ID, A);
	dataplane_remove_backend(rig.dp, A);
	send_of_a("removed", QUIC_GONE, OWNER);
	moving_backend(A, 7);
	send_of_a("another backend with its id", QUIC_GONE, OWNER);
}

static bool keep_others(void *context, const void *key)
{
	const struct quic_id *id = key;

	(void)context;
	return id->pool != MOVING_POOL || id->octets[0] != 0x12;
}

static void test_pruned(void **state)
{
	static const uint8_t of_b[] = {0x40, 0x00, 0, 0, 0};
	struct rng rng = rng_start(2001);
	struct flow flow = moving_flow(ENDPOINT_IPV6, IPPROTO_UDP, &rng);

	(void)state;
	set_up();
	assert_int_equal(dataplane_prune_quic_ids(rig.dp, keep_others, NULL), 0);
	send_of_a("pruned", QUIC_UNKNOWN, OWNER);
	send_payload("kept", &flow, of_b, sizeof(of_b), QUIC_ID, B);
}

/* A known id asks no flow table and writes none; what goes by hash does as ever. */
static void test_moving_arc(void **state)
{
	static const uint8_t unknown[] = {0x40, 0x00, 0x99, 0x99, 0};
	struct rng rng = rng_start(2002);
	struct flow flow = moving_flow(ENDPOINT_IPV4, IPPROTO_UDP, &rng);
	uint64_t asked = moving_count(FLOW_ASKED);

	(void)state;
	set_up();
	publish(OWNER, true);
	send_payload("id in a moving arc", &flow, of_a, sizeof(of_a), QUIC_ID, A);
	assert_int_equal(moving_count(FLOW_ASKED), asked);
	for (int table = 0; table < TABLES; table++)
		assert_int_equal(moving_len(table), 0);
	send_payload("by hash in a moving arc", &flow, unknown, sizeof(unknown), QUIC_UNKNOWN,
		     PREVIOUS);
	assert_int_equal(moving_count(FLOW_ASKED), asked + 1);
	assert_int_equal(moving_len(OTHER_FLOWS), 1);
	send_payload("id of a flow that is remembered", &flow, of_a, sizeof(of_a), QUIC_ID, A);
}

static void assert_not_counted(void)
{
	for (int c = 0; c < QUIC_COUNT; c++) {
		uint64_t before = counts[c];

		assert_int_equal(dataplane_count_quic(rig.dp, c, &counts[c]), 0);
		assert_int_equal(counts[c], before);
	}
}

/* An empty ring takes no new flows; a connection that a backend has goes on. */
static void test_empty_ring(void **state)
{
	static const uint8_t initial[] = {0xc0, 0, 0, 0, 1, 8, 0, 0x12, 0x34, 1, 2, 3, 4, 5};
	struct rng rng = rng_start(2003);
	struct flow flow = moving_flow(ENDPOINT_IPV4, IPPROTO_UDP, &rng);
	struct frame frame, out;

	(void)state;
	set_up();
	publish(BACKEND_NONE, false);
	send_of_a("nobody owns the ring", QUIC_ID, A);
	build(&frame, &flow, initial, sizeof(initial), 0);
	assert_int_equal(rig_run(&rig, rig.ingress, &frame, &out), XDP_DROP);
}

static void test_not_quic(void **state)
{
	struct rng rng = rng_start(2004);
	struct flow udp = moving_flow(ENDPOINT_IPV4, IPPROTO_UDP, &rng);
	struct flow tcp = moving_flow(ENDPOINT_IPV4, IPPROTO_TCP, &rng);
	const struct vip plain = {.vip = 1, .pool = MOVING_POOL};
	struct frame frame, out;

	(void)state;
	set_up();
	moving_frame(&frame, &tcp);
	memcpy(&frame.bytes[frame_l4_at(&frame) + 8], of_a, sizeof(of_a));
	frame.bytes[frame_l4_at(&frame) + 12] = 5 << 4;
	assert_int_equal(rig_run(&rig, rig.ingress, &frame, &out), XDP_TX);
	assert_int_equal(rig_backend_of(&out), OWNER);
	assert_not_counted();
	rig_set_vip_value(&rig, &moving_vips[1], &plain);
	build(&frame, &udp, of_a, sizeof(of_a), 0);
	assert_int_equal(rig_run(&rig, rig.ingress, &frame, &out), XDP_TX);
	assert_int_equal(rig_backend_of(&out), OWNER);
	assert_not_counted();
}

/* What userspace says of a connection id is what the program does with it. */
static void test_match_agrees(void **state)
{
	struct rng rng = rng_start(2005);
	struct flow flow = moving_flow(ENDPOINT_IPV6, IPPROTO_UDP, &rng);
	struct dataplane_match match;

	(void)state;
	set_up();
	assert_int_equal(dataplane_lookup(rig.dp, &flow, &match), 0);
	for (size_t i = 0; i < RANDOM / 10; i++) {
		uint8_t payload[PAYLOAD_MAX + 16] = {};
		size_t len = random_payload(payload, &rng);
		uint32_t expected = OWNER, backend = OWNER;
		enum quic_count count;

		payload[0] &= 0x7f;
		len += !len;
		count = count_of(payload, len, &expected);
		assert_int_equal(
			dataplane_match_quic(rig.dp, &match, payload + 1, len - 1, &backend),
			count);
		assert_int_equal(backend, expected);
	}
	dataplane_set_takes(rig.dp, A, 0);
	assert_int_equal(dataplane_match_quic(rig.dp, &match, of_a + 1, 3, &(uint32_t){0}),
			 QUIC_GONE);
}

int main(void)
{
	const struct flow_times times = {100, 100, 100, 100};
	const struct CMUnitTest others[] = {
		cmocka_unit_test(test_random),	     cmocka_unit_test(test_life_of_a_backend),
		cmocka_unit_test(test_pruned),	     cmocka_unit_test(test_moving_arc),
		cmocka_unit_test(test_empty_ring),   cmocka_unit_test(test_not_quic),
		cmocka_unit_test(test_match_agrees),
	};
	struct CMUnitTest tests[ARRAY_LEN(rows) + ARRAY_LEN(others)] = {};
	int failed;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		tests[i].name = rows[i].what;
		tests[i].test_func = test_row;
		tests[i].initial_state = &rows[i];
	}
	memcpy(&tests[ARRAY_LEN(rows)], others, sizeof(others));
	test_seed_print();
	moving_open(&times);
	failed = cmocka_run_group_tests_name("quic", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
