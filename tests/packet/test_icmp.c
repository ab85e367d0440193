/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random echo requests, and random packets quoted in ICMP errors that pass nat either way:
 * each compared byte by byte with what it must be, all checksums summed anew in full.
 */
#include "tests/packet/icmp_frame.h"
#include "tests/packet/nat_setup.h"

#define ECHOES	 20000
#define ERRORS	 20000
#define ECHO_MAX 1400

static struct rig rig;
static struct nat_setup setup;

static void swap(uint8_t *a, uint8_t *b, size_t len)
{
	uint8_t kept[16];

	memcpy(kept, a, len);
	memcpy(a, b, len);
	memcpy(b, kept, len);
}

static void make_answer(struct frame *frame)
{
	bool ipv6 = frame_is_ipv6(frame);
	uint8_t *addresses = &frame->bytes[icmp_addresses_at[ipv6]];
	size_t address_len = ipv6 ? 16 : 4;

	swap(frame->bytes, frame->bytes + 6, 6);
	swap(addresses, addresses + address_len, address_len);
	frame->bytes[icmp_ttl_at[ipv6]] = 64;
	frame->bytes[icmp_at(frame)] = ipv6 ? 129 : 0;
	icmp_checksums(frame);
}

/* Of a random client to one of the VIPs, some with few different bytes. */
static void make_request(struct frame *frame, struct rng *rng)
{
	const struct endpoint *vip = &setup.vips[rng_below(rng, NAT_KINDS)];
	bool ipv6 = vip->family == ENDPOINT_IPV6;
	const uint64_t random[4] = {rng_next(rng), rng_next(rng)};
	const struct flow flow = frame_flow(vip->family, IPPROTO_UDP, random);
	size_t len = rng_below(rng, rng_below(rng, 8) ? 64 : ECHO_MAX);
	uint8_t mask = rng_below(rng, 4) ? 0xff : (uint8_t)rng_next(rng);

	memcpy(frame->bytes, nat_route_macs, sizeof(nat_route_macs));
	icmp_head(frame, ipv6, flow.source, vip->address, ICMP_HEADER_LEN + len);
	frame->bytes[icmp_ttl_at[ipv6]] = (uint8_t)rng_next(rng);
	for (size_t at = icmp_at(frame); at < frame->len; at++)
		frame->bytes[at] = (uint8_t)rng_next(rng) & mask;
	frame->bytes[icmp_at(frame)] = ipv6 ? 128 : 8;
	frame->bytes[icmp_at(frame) + 1] = 0;
	icmp_checksums(frame);
}

/* Make the checksum of the request, or of the answer, 0, if there are bytes for that. */
static void make_checksum_zero(struct frame *request, bool of_answer)
{
	struct frame summed = *request;
	size_t at = icmp_at(request);
	uint32_t word;

	if (of_answer)
		make_answer(&summed);
	word = frame_word(&summed, at + 6);
	word += frame_word(&summed, at + 2);
	frame_put_word(request, at + 6, (uint16_t)(word + (word >> 16)));
	icmp_checksums(request);
}

static void test_echoes(void **state)
{
	struct rng rng = rng_start(1);
	uint64_t before = rig_verdict(&rig, TX_ECHO);
	size_t zeros = 0;

	(void)state;
	for (int i = 0; i < ECHOES; i++) {
		struct frame request, expected, out;

		make_request(&request, &rng);
		if (rng_below(&rng, 8) == 0)
			make_checksum_zero(&request, rng_below(&rng, 2));
		expected = request;
		make_answer(&expected);
		zeros += frame_word(&expected, icmp_at(&expected) + 2) == 0;
		assert_int_equal(rig_run(&rig, rig.ingress, &request, &out), XDP_TX);
		assert_int_equal(out.len, expected.len);
		assert_memory_equal(out.bytes, expected.bytes, out.len);
	}
	assert_int_equal(rig_verdict(&rig, TX_ECHO), before + ECHOES);
	assert_true(zeros > ECHOES / 32);
}

/* As many bytes of the IP packet as there may be, the ports at least, but not half a checksum. */
static size_t random_cut(const struct frame *quoted, size_t padding_len, struct rng *rng)
{
	size_t l4 = frame_l4_at(quoted) - FRAME_ETHERNET_LEN, check_at;
	size_t most = quoted->len - padding_len - FRAME_ETHERNET_LEN - l4, cut;

	check_at = frame_l4_check_at(quoted) - frame_l4_at(quoted);
	do {
		cut = rng_below(rng, 2) ? 8 : 4 + rng_below(rng, most - 3);
	} while (cut == check_at + 1);
	return l4 + cut;
}

static void random_router(uint32_t router[4], struct rng *rng)
{
	for (int word = 0; word < 4; word++)
		router[word] = (uint32_t)rng_next(rng);
}

/* What a backend has sent is quoted by somebody near the client. */
static void test_errors_to_backends(void **state)
{
	uint64_t before = rig_verdict(&rig, TX_BACKEND);
	struct rng rng = rng_start(2);
	size_t used[2 * NAT_BACKENDS] = {};

	(void)state;
	for (int i = 0; i < ERRORS; i++) {
		struct frame quoted, in, out, expected;
		struct frame_spec spec;
		struct flow flow;
		uint32_t router[4], id;
		size_t cut;

		nat_random_spec(&spec, &setup, &rng);
		flow = spec.flow;
		memcpy(spec.flow.source, flow.destination, sizeof(flow.source));
		memcpy(spec.flow.destination, flow.source, sizeof(flow.source));
		frame_build(&quoted, &spec);
		cut = random_cut(&quoted, spec.padding_len, &rng);
		random_router(router, &rng);
		icmp_error(&in, &quoted, router, cut);
		assert_int_equal(rig_run(&rig, rig.ingress, &in, &out), XDP_TX);
		id = rig_backend_of(&out);
		assert_true(id < 2 * NAT_BACKENDS);
		used[id]++;
		frame_rewrite(&quoted, true, setup.backends[id].address, setup.backends[id].port);
		frame_checksums(&quoted);
		icmp_error(&expected, &quoted, router, cut);
		frame_decrement_ttl(&expected);
		icmp_checksums(&expected);
		rig_expect_macs(&expected, id);
		assert_int_equal(out.len, expected.len);
		assert_memory_equal(out.bytes, expected.bytes, out.len);
	}
	assert_int_equal(rig_verdict(&rig, TX_BACKEND), before + ERRORS);
	for (size_t id = 0; id < ARRAY_LEN(used); id++)
		assert_true(used[id] > 0);
}

/* What a client has sent is quoted by the backend or somebody near. */
static void test_errors_to_clients(void **state)
{
	uint64_t before = rig_verdict(&rig, TX_REPLY);
	struct rng rng = rng_start(3);

	(void)state;
	for (int i = 0; i < ERRORS; i++) {
		struct frame quoted, in, out, expected;
		const struct reply *reply;
		struct frame_spec spec;
		uint32_t router[4], id;
		size_t cut;

		nat_random_spec(&spec, &setup, &rng);
		id = (uint32_t)rng_below(&rng, NAT_BACKENDS) +
		     (spec.flow.family == ENDPOINT_IPV6 ? NAT_BACKENDS : 0);
		reply = &setup.replies[id];
		memcpy(spec.flow.destination, setup.backends[id].address,
		       sizeof(spec.flow.destination));
		if (setup.backends[id].port)
			spec.flow.destination_port = setup.backends[id].port;
		frame_build(&quoted, &spec);
		cut = random_cut(&quoted, spec.padding_len, &rng);
		random_router(router, &rng);
		icmp_error(&in, &quoted, router, cut);
		frame_rewrite(&quoted, false, reply->address, reply->port);
		frame_checksums(&quoted);
		icmp_error(&expected, &quoted, reply->address, cut);
		frame_decrement_ttl(&expected);
		icmp_checksums(&expected);
		memcpy(expected.bytes, nat_route_macs, sizeof(nat_route_macs));
		assert_int_equal(rig_run(&rig, rig.ingress, &in, &out), XDP_TX);
		assert_int_equal(out.len, expected.len);
		assert_memory_equal(out.bytes, expected.bytes, out.len);
	}
	assert_int_equal(rig_verdict(&rig, TX_REPLY), before + ERRORS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echoes),
		cmocka_unit_test(test_errors_to_backends),
		cmocka_unit_test(test_errors_to_clients),
	};
	struct rng rng = rng_start(4);
	int failed;

	test_seed_print();
	rig_open(&rig);
	nat_set_up(&rig, &setup, &rng);
	failed = cmocka_run_group_tests_name("icmp", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
