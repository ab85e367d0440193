/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of random bytes and valid frames that were damaged: nothing makes the
 * program abort, change a frame's length, send what is not for a VIP nor from a
 * nat backend, change what it passes, or lose count.
 */
#include "tests/packet/nat_setup.h"

#define RANDOM_FRAMES  60000
#define DAMAGED_FRAMES 140000

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

/* Does @key name one side of @frame? Read here from scratch; port 0 is any. */
static bool names_side(const struct frame *frame, const struct endpoint *key, bool source)
{
	bool ipv6 = key->family == ENDPOINT_IPV6;
	size_t len = ipv6 ? 16 : 4, at = ipv6 ? 22 : 26;
	size_t port_at = (ipv6 ? 54 : 14 + (frame->bytes[14] & 15) * (size_t)4) + (source ? 0 : 2);
	uint8_t type[2] = {ipv6 ? 0x86 : 0x08, ipv6 ? 0xdd : 0x00};

	return bytes_at(frame, 12, type, sizeof(type)) &&
	       bytes_at(frame, ipv6 ? 20 : 23, &key->protocol, 1) &&
	       bytes_at(frame, at + (source ? 0 : len), key->address, len) &&
	       (!key->port || bytes_at(frame, port_at, &key->port, 2));
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
	if (action == XDP_TX && in->len > 134)
		assert_memory_equal(out.bytes + 134, in->bytes + 134, in->len - 134);
}

static void random_bytes(struct frame *frame, size_t len, struct rng *rng)
{
	frame->len = len;
	for (size_t at = 0; at < len; at++)
		frame->bytes[at] = (uint8_t)rng_next(rng);
}

/* Half of them with an EtherType and a version that lead further in. */
static void random_frame(struct frame *frame, struct rng *rng)
{
	random_bytes(frame, RIG_FRAME_MIN + rng_below(rng, 200), rng);
	frame->bytes[0] &= 0xfe;
	if (rng_below(rng, 2) && frame->len > RIG_FRAME_MIN) {
		bool ipv6 = rng_below(rng, 2);

		frame_put_word(frame, 12, ipv6 ? 0x86dd : 0x0800);
		frame->bytes[14] = ipv6 ? 0x60 : 0x40 | (frame->bytes[14] & 15);
	}
}

static void damage(struct frame *frame, struct rng *rng)
{
	size_t headers = frame->len < 96 ? frame->len : 96;

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
