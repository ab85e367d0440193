/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random packets through nat and back, each compared byte by byte with the same
 * packet rewritten and summed anew in full, without any of bpf/'s arithmetic.
 */
#include "tests/packet/nat_setup.h"

#define REWRITES 20000

static struct rig rig;
static struct nat_setup setup;

/* One rewrite: what came in, and what has to come out. */
struct rewrite {
	struct frame in;
	struct frame expected;
};

static uint16_t ones_add(uint16_t a, uint16_t b)
{
	uint32_t sum = (uint32_t)a + b;

	return (uint16_t)(sum + (sum >> 16));
}

/*
 * Change the payload so that the checksum of what comes out is 0: TCP sends that,
 * UDP sends 0xffff. Adding a checksum to the words that it covers does it.
 */
static void make_checksum_zero(struct rewrite *rewrite)
{
	struct frame *expected = &rewrite->expected;
	size_t check_at = frame_l4_check_at(expected);
	size_t at = frame_l4_at(expected) + (frame_is_tcp(expected) ? 20 : 8);
	uint16_t word = ones_add(frame_word(expected, at), frame_word(expected, check_at));

	frame_put_word(expected, at, word);
	frame_put_word(&rewrite->in, at, word);
	frame_checksums(expected);
	frame_checksums(&rewrite->in);
	assert_int_equal(frame_word(expected, check_at), frame_is_tcp(expected) ? 0 : 0xffff);
}

static bool same_number(uint16_t a, uint16_t b)
{
	return a % 0xffff == b % 0xffff;
}

/* Make the checksum at @at wrong in what comes in; false if that could not be. */
static bool spoil(struct frame *in, size_t at, struct rng *rng)
{
	uint16_t right = frame_word(in, at), wrong = right ^ (uint16_t)rng_next(rng);

	if (wrong == 0 || right == 0 || same_number(wrong, right))
		return false;
	frame_put_word(in, at, wrong);
	return true;
}

/* What was wrong must still be wrong; all other bytes must be as expected. */
static void assert_wrong(struct frame *out, const struct frame *expected, size_t at)
{
	assert_false(same_number(frame_word(out, at), frame_word(expected, at)));
	frame_put_word(out, at, frame_word(expected, at));
}

static void assert_rewritten(struct rewrite *rewrite, const struct frame_spec *spec,
			     struct rng *rng)
{
	size_t check_at = frame_l4_check_at(&rewrite->in);
	bool l4_wrong = false, ip_wrong = false;
	struct frame out;

	if (spec->payload_len >= 2 && !spec->without_udp_checksum && rng_below(rng, 16) == 0)
		make_checksum_zero(rewrite);
	else if (!spec->without_udp_checksum && rng_below(rng, 8) == 0)
		l4_wrong = spoil(&rewrite->in, check_at, rng);
	if (!frame_is_ipv6(&rewrite->in) && rng_below(rng, 8) == 0)
		ip_wrong = spoil(&rewrite->in, FRAME_ETHERNET_LEN + 10, rng);
	assert_int_equal(rig_run(&rig, rig.ingress, &rewrite->in, &out), XDP_TX);
	assert_int_equal(out.len, rewrite->in.len);
	if (l4_wrong)
		assert_wrong(&out, &rewrite->expected, check_at);
	if (ip_wrong)
		assert_wrong(&out, &rewrite->expected, FRAME_ETHERNET_LEN + 10);
	assert_memory_equal(out.bytes, rewrite->expected.bytes, out.len);
}

/* Which backend it is, only the program says here; that it is the right one is another test. */
static void test_to_backends(void **state)
{
	uint64_t before = rig_verdict(&rig, TX_BACKEND);
	size_t used[2 * NAT_BACKENDS] = {};
	struct rng rng = rng_start(1);

	(void)state;
	for (int i = 0; i < REWRITES; i++) {
		struct frame_spec spec;
		struct rewrite rewrite;
		struct frame out;
		uint32_t id;

		nat_random_spec(&spec, &setup, &rng);
		frame_build(&rewrite.in, &spec);
		assert_int_equal(rig_run(&rig, rig.ingress, &rewrite.in, &out), XDP_TX);
		id = rig_backend_of(&out);
		assert_true(id < 2 * NAT_BACKENDS);
		used[id]++;
		rewrite.expected = rewrite.in;
		frame_rewrite(&rewrite.expected, false, setup.backends[id].address,
			      setup.backends[id].port);
		frame_decrement_ttl(&rewrite.expected);
		frame_checksums(&rewrite.expected);
		rig_expect_macs(&rewrite.expected, id);
		assert_rewritten(&rewrite, &spec, &rng);
	}
	assert_int_equal(rig_verdict(&rig, TX_BACKEND), before + 2 * REWRITES);
	for (size_t id = 0; id < ARRAY_LEN(used); id++)
		assert_true(used[id] > 0);
}

static void test_replies(void **state)
{
	uint64_t before = rig_verdict(&rig, TX_REPLY);
	struct rng rng = rng_start(2);

	(void)state;
	for (int i = 0; i < REWRITES; i++) {
		struct frame_spec spec;
		struct rewrite rewrite;
		uint32_t id;

		nat_random_spec(&spec, &setup, &rng);
		id = nat_turn_round(&spec, &setup, &rng);
		frame_build(&rewrite.in, &spec);
		rewrite.expected = rewrite.in;
		frame_rewrite(&rewrite.expected, true, setup.replies[id].address,
			      setup.replies[id].port);
		frame_decrement_ttl(&rewrite.expected);
		frame_checksums(&rewrite.expected);
		memcpy(rewrite.expected.bytes, nat_route_macs, sizeof(nat_route_macs));
		assert_rewritten(&rewrite, &spec, &rng);
	}
	assert_int_equal(rig_verdict(&rig, TX_REPLY), before + REWRITES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_to_backends),
		cmocka_unit_test(test_replies),
	};
	struct rng rng = rng_start(3);
	int failed;

	test_seed_print();
	rig_open(&rig);
	nat_set_up(&rig, &setup, &rng);
	failed = cmocka_run_group_tests_name("nat", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
