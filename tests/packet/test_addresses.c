/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which addresses have a VIP or a nat backend, as later fragments see it: such an address
 * counts as long as any VIP or reply has it, whatever its protocol and port.
 */
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <netinet/in.h>

static struct rig rig;
static const struct vip vip_value = {.vip = 1, .pool = 1};
static const struct reply reply_value = {.port = 80};

/* Host @host of one of two networks, by family. */
static struct endpoint endpoint_of(uint8_t family, uint8_t host, uint8_t protocol, uint16_t port)
{
	struct endpoint endpoint = {.port = port, .protocol = protocol, .family = family};
	uint8_t *bytes = (uint8_t *)endpoint.address;

	bytes[0] = 10;
	bytes[family == ENDPOINT_IPV6 ? 15 : 3] = host;
	return endpoint;
}

/* A later fragment of UDP between two hosts. */
static enum verdict verdict_of(uint8_t family, uint8_t source, uint8_t destination)
{
	const struct endpoint from = endpoint_of(family, source, 0, 0);
	const struct endpoint to = endpoint_of(family, destination, 0, 0);
	struct frame_spec spec = {.ttl = 64, .payload_len = 64};
	struct frame whole, frame;
	uint64_t before = rig_verdict(&rig, HOLD_FRAGMENT);
	uint64_t passed = rig_verdict(&rig, PASS_FRAGMENT);

	spec.flow.family = family;
	spec.flow.protocol = IPPROTO_UDP;
	memcpy(spec.flow.source, from.address, sizeof(from.address));
	memcpy(spec.flow.destination, to.address, sizeof(to.address));
	frame_build(&whole, &spec);
	frame_fragment(&frame, &whole, 5, 32, 16);
	rig_run(&rig, rig.ingress, &frame, &frame);
	if (rig_verdict(&rig, HOLD_FRAGMENT) > before)
		return HOLD_FRAGMENT;
	assert_int_equal(rig_verdict(&rig, PASS_FRAGMENT), passed + 1);
	return PASS_FRAGMENT;
}

static bool keep_all_but(void *context, const void *key)
{
	return memcmp(context, key, sizeof(struct endpoint)) != 0;
}

static void set_vip(const struct endpoint *key)
{
	assert_int_equal(dataplane_set_vip(rig.dp, key, &vip_value), 0);
}

static void set_reply(const struct endpoint *key)
{
	assert_int_equal(dataplane_set_reply(rig.dp, key, &reply_value), 0);
}

static void take_vip(struct endpoint *key)
{
	assert_int_equal(dataplane_prune_vips(rig.dp, keep_all_but, key), 0);
}

static void take_reply(struct endpoint *key)
{
	assert_int_equal(dataplane_prune_replies(rig.dp, keep_all_but, key), 0);
}

static void check_vips(uint8_t family)
{
	struct endpoint tcp = endpoint_of(family, 1, IPPROTO_TCP, 80);
	struct endpoint udp = endpoint_of(family, 1, IPPROTO_UDP, 53);
	struct endpoint other = endpoint_of(family, 2, IPPROTO_UDP, 53);

	assert_int_equal(verdict_of(family, 9, 1), PASS_FRAGMENT);
	set_vip(&tcp);
	assert_int_equal(verdict_of(family, 9, 1), HOLD_FRAGMENT);
	assert_int_equal(verdict_of(family, 1, 9), PASS_FRAGMENT);
	assert_int_equal(verdict_of(family, 9, 2), PASS_FRAGMENT);
	set_vip(&udp);
	set_vip(&other);
	set_vip(&udp);
	take_vip(&tcp);
	assert_int_equal(verdict_of(family, 9, 1), HOLD_FRAGMENT);
	take_vip(&udp);
	assert_int_equal(verdict_of(family, 9, 1), PASS_FRAGMENT);
	assert_int_equal(verdict_of(family, 9, 2), HOLD_FRAGMENT);
	take_vip(&other);
	assert_int_equal(verdict_of(family, 9, 2), PASS_FRAGMENT);
}

static void check_replies(uint8_t family)
{
	struct endpoint tcp = endpoint_of(family, 1, IPPROTO_TCP, 80);
	struct endpoint udp = endpoint_of(family, 1, IPPROTO_UDP, 53);

	set_reply(&tcp);
	set_reply(&udp);
	assert_int_equal(verdict_of(family, 1, 9), HOLD_FRAGMENT);
	assert_int_equal(verdict_of(family, 9, 1), PASS_FRAGMENT);
	/* The same address is a VIP's, too. */
	set_vip(&tcp);
	assert_int_equal(verdict_of(family, 9, 1), HOLD_FRAGMENT);
	take_reply(&tcp);
	assert_int_equal(verdict_of(family, 1, 9), HOLD_FRAGMENT);
	take_reply(&udp);
	assert_int_equal(verdict_of(family, 1, 9), PASS_FRAGMENT);
	assert_int_equal(verdict_of(family, 9, 1), HOLD_FRAGMENT);
	take_vip(&tcp);
	assert_int_equal(verdict_of(family, 9, 1), PASS_FRAGMENT);
}

static void test_vips(void **state)
{
	(void)state;
	check_vips(ENDPOINT_IPV4);
	check_vips(ENDPOINT_IPV6);
}

static void test_replies(void **state)
{
	(void)state;
	check_replies(ENDPOINT_IPV4);
	check_replies(ENDPOINT_IPV6);
}

/* An IPv4 address is not the IPv6 address that begins with its bytes. */
static void test_families(void **state)
{
	struct endpoint key = {.address = {0x0100000a}, .port = 80};

	(void)state;
	key.protocol = IPPROTO_UDP;
	key.family = ENDPOINT_IPV6;
	set_vip(&key);
	assert_int_equal(verdict_of(ENDPOINT_IPV4, 9, 1), PASS_FRAGMENT);
	key.family = ENDPOINT_IPV4;
	set_vip(&key);
	assert_int_equal(verdict_of(ENDPOINT_IPV4, 9, 1), HOLD_FRAGMENT);
}

static int set_up(void **state)
{
	(void)state;
	rig_open(&rig);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vips),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_families),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
