/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The outer UDP checksum of gue, always there over IPv6 and on demand over IPv4, and the
 * checksum of an outer IPv4 header, against sums of all bytes; around random packets of all
 * lengths, and what is around them changes nothing inside.
 */
#include "tests/packet/encap_setup.h"

#define PACKETS	  1000000
#define POOL_GUE4 2
#define POOL_GUE6 3

static struct rig rig;

/* Mostly short ones, which have all the odd lengths just as well. */
static struct frame_spec random_spec(uint32_t pool, struct rng *rng)
{
	struct flow flow = encap_random_flow(pool, rng);
	bool udp = flow.protocol == IPPROTO_UDP;

	return (struct frame_spec){
		.flow = flow,
		.ttl = 64,
		.options_words = rng_below(rng, 4) ? 0 : rng_below(rng, FRAME_OPTIONS_WORDS + 1),
		.payload_len = rng_below(rng, rng_below(rng, 64) ? 80 : 1400),
		.padding_len = rng_below(rng, 4) ? 0 : rng_below(rng, 47),
		.fill = rng_next(rng),
		.without_udp_checksum = udp && rng_below(rng, 4) == 0,
	};
}

static uint16_t udp_sum(const struct frame *frame, uint32_t pool)
{
	size_t at = encap_l4_at(pool), addresses_len = encap_to_ipv6(pool) ? 32 : 8;
	uint16_t sum = frame_sum(&frame->bytes[at - addresses_len], addresses_len, IPPROTO_UDP);

	sum = frame_sum(&frame->bytes[at + 4], 2, sum);
	return frame_sum(&frame->bytes[at], frame->len - at, sum);
}

static void assert_outer_is_right(const struct frame *out, uint32_t pool)
{
	size_t l4_at = encap_l4_at(pool);

	assert_int_equal(frame_word(out, l4_at + 2), ENCAP_GUE_PORT);
	assert_int_equal(frame_word(out, l4_at + 4), out->len - l4_at);
	assert_int_not_equal(frame_word(out, l4_at + 6), 0);
	assert_int_equal(udp_sum(out, pool), 0xffff);
	if (encap_to_ipv6(pool)) {
		assert_int_equal(frame_word(out, FRAME_ETHERNET_LEN + 4), out->len - l4_at);
		return;
	}
	assert_int_equal(frame_word(out, FRAME_ETHERNET_LEN + 2), out->len - FRAME_ETHERNET_LEN);
	assert_int_equal(frame_sum(&out->bytes[FRAME_ETHERNET_LEN], ENCAP_IPV4_LEN, 0), 0xffff);
}

static void one_packet(uint32_t pool, const struct frame_spec *spec)
{
	size_t inner_at = encap_inner_at(pool), len;
	struct frame in, out;

	frame_build(&in, spec);
	len = in.len - FRAME_ETHERNET_LEN - spec->padding_len;
	assert_int_equal(rig_run(&rig, rig.ingress, &in, &out), XDP_TX);
	assert_int_equal(out.len, inner_at + len);
	assert_memory_equal(&out.bytes[inner_at], &in.bytes[FRAME_ETHERNET_LEN], len);
	assert_outer_is_right(&out, pool);
}

static void case_32_random_packets(void **state)
{
	struct rng rng = rng_start(1);

	(void)state;
	for (size_t i = 0; i < PACKETS; i++) {
		uint32_t pool = i & 1 ? POOL_GUE6 : POOL_GUE4;
		struct frame_spec spec = random_spec(pool, &rng);

		one_packet(pool, &spec);
	}
}

/* Each length once that a frame can have. */
static void test_each_length(void **state)
{
	struct rng rng = rng_start(2);

	(void)state;
	for (uint32_t pool = POOL_GUE4; pool <= POOL_GUE6; pool++) {
		for (size_t len = 0; len <= 1400; len++) {
			struct frame_spec spec = random_spec(pool, &rng);

			spec.payload_len = len;
			one_packet(pool, &spec);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_32_random_packets),
		cmocka_unit_test(test_each_length),
	};
	/* All of the outer source is from the flow's hash, so that the sums are of all kinds. */
	const struct encap encap = {
		.seed = 7,
		.hosts_ipv4 = UINT32_MAX,
		.source_ipv6 = {htonl(0xfd000000)},
		.hosts_ipv6 = {UINT32_MAX, UINT32_MAX},
	};
	int failed;

	test_seed_print();
	rig_open(&rig);
	encap_set_up(&rig, &encap);
	failed = cmocka_run_group_tests_name("outer checksums", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
