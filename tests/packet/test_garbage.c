/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of random bytes and valid frames that were damaged: nothing makes the
 * program abort, change a frame's length, send what is not for a VIP nor from a
 * nat backend, change what it passes, or lose count.
 */
#include "tests/packet/nat_setup.h"

#define RANDOM_FRAMES  60000
#define DAMAGED_FRAMES 140000

/* What of a frame may have headers in it: two tags, IPv6, extension headers, TCP. */
#define HEADERS_MAX    (22 + 40 + EXTENSIONS_LEN + 60)
#define EXTENSIONS_LEN 96

static struct rig rig;
static struct nat_setup setup;

struct outcome {
	uint64_t of_action[XDP_REDIRECT + 1];
	uint64_t runs;
};

static bool bytes_at(const struct frame *frame, size_t at, const void *bytes, size_t len)
{
	return at + len <= frame->len && memcmp(frame->bytes + at, bytes, len) == 0;
}

/* Where the headers of a frame are. Read here from scratch. */
struct headers {
	uint16_t type; /* behind the tags */
	size_t ip_at;
	size_t l4_at;
	uint8_t protocol;
};

static bool is_tag(uint16_t type)
{
	return type == 0x8100 || type == 0x88a8;
}

/* Hop-by-hop options, routing, fragment, authentication, destination options. */
static bool is_extension(uint8_t protocol)
{
	return protocol == 0 || protocol == 43 || protocol == 44 || protocol == 51 ||
	       protocol == 60;
}

static size_t extension_len(uint8_t protocol, uint8_t len)
{
	if (protocol == 44)
		return 8;
	return protocol == 51 ? (len + 2) * (size_t)4 : (len + 1) * (size_t)8;
}

/* Bytes past the end of a frame are zero. */
static struct headers find_headers(const struct frame *in)
{
	static struct frame frame;
	struct headers found = {.ip_at = 14};

	memset(&frame, 0, sizeof(frame));
	memcpy(frame.bytes, in->bytes, in->len);
	found.type = frame_word(&frame, 12);
	for (int tags = 0; tags < 2 && is_tag(found.type); tags++) {
		found.type = frame_word(&frame, found.ip_at + 2);
		found.ip_at += 4;
	}
	if (found.type != 0x86dd) {
		found.protocol = frame.bytes[found.ip_at + 9];
		found.l4_at = found.ip_at + (frame.bytes[found.ip_at] & 15) * (size_t)4;
		return found;
	}
	found.protocol = frame.bytes[found.ip_at + 6];
	found.l4_at = found.ip_at + 40;
	for (int walked = 0; walked < 8 && is_extension(found.protocol) && found.l4_at < in->len;
	     walked++) {
		const uint8_t *header = &frame.bytes[found.l4_at];

		found.l4_at += extension_len(found.protocol, header[1]);
		found.protocol = header[0];
	}
	return found;
}

/* Does @key name one side of @frame? Port 0 is any. */
static bool names_side(const struct frame *frame, const struct endpoint *key, bool source)
{
	const struct headers headers = find_headers(frame);
	bool ipv6 = key->family == ENDPOINT_IPV6;
	size_t len = ipv6 ? 16 : 4, at = headers.ip_at + (ipv6 ? 8 : 12);

	return headers.type == (ipv6 ? 0x86dd : 0x0800) && headers.protocol == key->protocol &&
	       bytes_at(frame, at + (source ? 0 : len), key->address, len) &&
	       (!key->port || bytes_at(frame, headers.l4_at + (source ? 0 : 2), &key->port, 2));
}

static bool is_for_vip(const struct frame *frame)
{
	for (size_t i = 0; i < NAT_KINDS; i++) {
		if (names_side(frame, &setup.vips[i], false))
			return true;
	}
	return false;
}

static bool is_reply(const struct frame *frame)
{
	for (size_t i = 0; i < 2 * NAT_BACKENDS; i++) {
		const struct backend *backend = &setup.backends[i];
		struct endpoint key = {.family = backend->family, .port = backend->port};

		memcpy(key.address, backend->address, sizeof(key.address));
		key.protocol = IPPROTO_TCP;
		if (names_side(frame, &key, true))
			return true;
		key.protocol = IPPROTO_UDP;
		if (names_side(frame, &key, true))
			return true;
	}
	return false;
}

static void run_one(const struct frame *in, struct outcome *outcome)
{
	struct frame out;
	int action = rig_run(&rig, rig.ingress, in, &out);
	bool ours = is_for_vip(in) || is_reply(in);

	assert_in_range(action, XDP_DROP, XDP_REDIRECT);
	outcome->of_action[action]++;
	outcome->runs++;
	assert_int_equal(out.len, in->len);
	if (action == XDP_TX || action == XDP_REDIRECT)
		assert_true(ours);
	if (action == XDP_PASS && !is_reply(in))
		assert_memory_equal(out.bytes, in->bytes, in->len);
	if (action == XDP_TX && in->len > HEADERS_MAX)
		assert_memory_equal(out.bytes + HEADERS_MAX, in->bytes + HEADERS_MAX,
				    in->len - HEADERS_MAX);
}

static void random_bytes(struct frame *frame, size_t len, struct rng *rng)
{
	frame->len = len;
	for (size_t at = 0; at < len; at++)
		frame->bytes[at] = (uint8_t)rng_next(rng);
}

static void insert(struct frame *frame, size_t at, size_t len)
{
	memmove(frame->bytes + at + len, frame->bytes + at, frame->len - at);
	frame->len += len;
}

static void insert_tags(struct frame *frame, struct rng *rng)
{
	for (uint64_t tags = rng_below(rng, 4); tags; tags--) {
		insert(frame, 12, 4);
		frame_put_word(frame, 12, rng_below(rng, 2) ? 0x8100 : 0x88a8);
		frame_put_word(frame, 14, (uint16_t)rng_next(rng));
	}
}

/* In front of what the IPv6 header of an untagged frame leads to: random ones that fit. */
static void insert_extensions(struct frame *frame, struct rng *rng)
{
	static const uint8_t protocols[] = {0, 43, 44, 51, 60, 60, 0, 43, 60, 50, 59, 135};
	size_t room = EXTENSIONS_LEN, len;

	for (uint64_t headers = rng_below(rng, 11); headers && room >= 24; headers--) {
		uint8_t protocol = protocols[rng_below(rng, ARRAY_LEN(protocols))];
		uint8_t units = rng_below(rng, 2);

		len = extension_len(protocol, units);
		insert(frame, 54, len);
		for (size_t at = 54; at < 54 + len; at++)
			frame->bytes[at] = (uint8_t)rng_next(rng);
		frame->bytes[54] = frame->bytes[20];
		frame->bytes[55] = units;
		frame->bytes[57] &=
			rng_below(rng, 4) ? 0 : 0xff; /* segments left, or a fragment's */
		frame->bytes[56] &= rng_below(rng, 4) ? 0 : 0xff;
		frame->bytes[20] = protocol;
		frame_put_word(frame, 18, frame_word(frame, 18) + (uint16_t)len);
		room -= len;
	}
}

/* Half of them with an EtherType and a version that lead further in. */
static void random_frame(struct frame *frame, struct rng *rng)
{
	random_bytes(frame, RIG_FRAME_MIN + rng_below(rng, 200), rng);
	frame->bytes[0] &= 0xfe;
	if (rng_below(rng, 2) && frame->len > RIG_FRAME_MIN + 8) {
		bool ipv6 = rng_below(rng, 2);

		frame_put_word(frame, 12, ipv6 ? 0x86dd : 0x0800);
		frame->bytes[14] = ipv6 ? 0x60 : 0x40 | (frame->bytes[14] & 15);
		if (ipv6 && rng_below(rng, 2))
			frame->bytes[20] = rng_below(rng, 2) ? 60 : 0;
		insert_tags(frame, rng);
	}
}

static void damage(struct frame *frame, struct rng *rng)
{
	size_t headers = frame->len < 150 ? frame->len : 150;

	switch (rng_below(rng, 6)) {
	case 0:
		frame->bytes[rng_below(rng, headers)] ^= 1 << rng_below(rng, 8);
		break;
	case 1:
		frame->bytes[12 + rng_below(rng, headers - 12)] = (uint8_t)rng_next(rng);
		break;
	case 2:
		frame->len = RIG_FRAME_MIN + rng_below(rng, frame->len - RIG_FRAME_MIN + 1);
		break;
	case 3: /* the length field of the IP header */
		if (frame->len >= 20)
			frame_put_word(frame, frame_is_ipv6(frame) ? 18 : 16,
				       (uint16_t)rng_below(rng, frame->len + 40));
		break;
	case 4:
		if (frame->len + 40 < RIG_FRAME_TOP)
			frame->len += rng_below(rng, 40);
		break;
	default:
		break;
	}
}

static void test_random_frames(void **state)
{
	uint64_t before = rig_verdicts(&rig);
	struct outcome outcome = {};
	struct rng rng = rng_start(1);

	(void)state;
	for (int i = 0; i < RANDOM_FRAMES; i++) {
		struct frame frame;

		random_frame(&frame, &rng);
		run_one(&frame, &outcome);
	}
	assert_int_equal(rig_verdicts(&rig) - before, outcome.runs);
	assert_int_equal(outcome.of_action[XDP_TX] + outcome.of_action[XDP_REDIRECT], 0);
	assert_true(outcome.of_action[XDP_PASS] > RANDOM_FRAMES / 10);
	assert_true(outcome.of_action[XDP_DROP] > RANDOM_FRAMES / 10);
}

static void test_damaged_frames(void **state)
{
	uint64_t before = rig_verdicts(&rig);
	struct outcome outcome = {};
	struct rng rng = rng_start(2);

	(void)state;
	for (int i = 0; i < DAMAGED_FRAMES; i++) {
		struct frame_spec spec;
		struct frame frame = {};

		nat_random_spec(&spec, &setup, &rng);
		spec.ttl = (uint8_t)rng_next(&rng) % 4;
		if (rng_below(&rng, 2))
			nat_turn_round(&spec, &setup, &rng);
		frame_build(&frame, &spec);
		if (frame_is_ipv6(&frame) && rng_below(&rng, 2))
			insert_extensions(&frame, &rng);
		if (rng_below(&rng, 2))
			insert_tags(&frame, &rng);
		for (uint64_t times = 1 + rng_below(&rng, 3); times; times--)
			damage(&frame, &rng);
		run_one(&frame, &outcome);
	}
	assert_int_equal(rig_verdicts(&rig) - before, outcome.runs);
	assert_true(outcome.of_action[XDP_TX] > DAMAGED_FRAMES / 20);
	assert_true(outcome.of_action[XDP_PASS] > DAMAGED_FRAMES / 20);
	assert_true(outcome.of_action[XDP_DROP] > DAMAGED_FRAMES / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_frames),
		cmocka_unit_test(test_damaged_frames),
	};
	struct rng rng = rng_start(3);
	int failed;

	test_seed_print();
	rig_open(&rig);
	nat_set_up(&rig, &setup, &rng);
	failed = cmocka_run_group_tests_name("garbage", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
