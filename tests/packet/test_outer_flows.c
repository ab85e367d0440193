/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many flows through ipip and gue: thousands of outer sources, always the same for one flow
 * whatever the packet and whatever becomes of the backends, and those that `ringlb lookup`
 * names.
 */
#include "tests/packet/encap_setup.h"

#include <arpa/inet.h>

#include "control/control.h"
#include "control/lookup_outer.h"

#define FLOWS 10000

/* Of 16 bits, 9,285 different ones are to be expected of so many; of 14 bits 7,485. */
#define SOURCES_IPV4_MIN 9000
#define PORTS_MIN	 7200

static struct rig rig;
static const struct config config = {
	.seed = 0x5eed,
	.encap.source_ipv4 = {{AF_INET, {198, 18}}, 16},
	.encap.source_ipv6 = {{AF_INET6, {1}}, 64},
};

/* What is to be seen of a packet's outer header. */
struct seen {
	uint8_t source[16];
	uint16_t port;
};

static struct seen seen[FLOWS];

static size_t address_len(uint32_t pool)
{
	return encap_to_ipv6(pool) ? 16 : 4;
}

/* Returns the backend. */
static uint32_t send_one(uint32_t pool, const struct flow *flow, struct rng *rng, struct seen *out)
{
	const struct frame_spec spec = {
		.flow = *flow,
		.ttl = (uint8_t)(2 + rng_below(rng, 200)),
		.payload_len = rng_below(rng, 50),
		.fill = rng_next(rng),
	};
	size_t at = FRAME_ETHERNET_LEN + (encap_to_ipv6(pool) ? 8 : 12);
	struct frame frame;

	frame_build(&frame, &spec);
	assert_int_equal(rig_run(&rig, rig.ingress, &frame, &frame), XDP_TX);
	*out = (struct seen){.port = encap_by_gue(pool) ? frame_word(&frame, encap_l4_at(pool))
							: 0};
	memcpy(out->source, &frame.bytes[at], address_len(pool));
	return rig_backend_of(&frame);
}

static struct config_address config_address(uint8_t family, const uint32_t address[4])
{
	struct config_address out = {.family = family == ENDPOINT_IPV6 ? AF_INET6 : AF_INET};

	memcpy(out.bytes, address, out.family == AF_INET6 ? 16 : 4);
	return out;
}

static void assert_text_is(const json_t *object, const char *member, uint8_t family,
			   const void *address)
{
	char text[INET6_ADDRSTRLEN];

	assert_non_null(inet_ntop(family == ENDPOINT_IPV6 ? AF_INET6 : AF_INET, address, text,
				  sizeof(text)));
	assert_string_equal(json_string_value(json_object_get(object, member)), text);
}

static void assert_lookup_agrees(uint32_t pool, const struct flow *flow, const struct seen *is)
{
	const struct backend backend = encap_backend(pool, 0);
	const struct config_backend to = {.address =
						  config_address(backend.family, backend.address)};
	const struct config_pool of = {
		.forward = encap_by_gue(pool) ? CONFIG_GUE : CONFIG_IPIP,
		.gue_port = encap_by_gue(pool) ? ENCAP_GUE_PORT : 0,
	};
	const struct lookup_query query = {
		.protocol = flow->protocol,
		.source = config_address(flow->family, flow->source),
		.destination = config_address(flow->family, flow->destination),
		.source_port = ntohs(flow->source_port),
		.destination_port = ntohs(flow->destination_port),
	};
	struct encap live;
	json_t *outer;

	assert_int_equal(dataplane_get_encap(rig.dp, &live), 0);
	outer = lookup_outer(&live, &query, &of, &to);
	assert_non_null(outer);
	assert_text_is(outer, "source", backend.family, is->source);
	assert_text_is(outer, "destination", backend.family, backend.address);
	assert_int_equal(json_integer_value(json_object_get(outer, "source_port")), is->port);
	assert_int_equal(json_integer_value(json_object_get(outer, "destination_port")),
			 of.gue_port);
	assert_int_equal(json_object_size(outer), encap_by_gue(pool) ? 4 : 2);
	json_decref(outer);
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct seen));
}

static int compare_ports(const void *a, const void *b)
{
	return ((const struct seen *)a)->port - ((const struct seen *)b)->port;
}

static int compare_sources(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct seen *)0)->source));
}

static size_t count_different(int (*order)(const void *, const void *))
{
	size_t count = 1;

	qsort(seen, FLOWS, sizeof(seen[0]), order);
	for (size_t i = 1; i < FLOWS; i++)
		count += order(&seen[i - 1], &seen[i]) != 0;
	return count;
}

static void assert_they_differ(uint32_t pool)
{
	/* The port has bits that the source lacks. */
	if (encap_to_ipv6(pool) || encap_by_gue(pool))
		assert_true(count_different(compare) > FLOWS - 5);
	assert_true(count_different(compare_sources) >
		    (encap_to_ipv6(pool) ? FLOWS - 5 : SOURCES_IPV4_MIN));
	if (encap_by_gue(pool))
		assert_true(count_different(compare_ports) > PORTS_MIN);
}

/* Each flow once more for each size of its pool: its backend may change, not the sources. */
static void many_flows(uint32_t pool)
{
	static uint32_t backends[FLOWS];
	static struct flow flows[FLOWS];
	struct rng rng = rng_start(pool);
	size_t moved = 0;

	for (size_t i = 0; i < FLOWS; i++) {
		flows[i] = encap_random_flow(pool, &rng);
		backends[i] = send_one(pool, &flows[i], &rng, &seen[i]);
		assert_lookup_agrees(pool, &flows[i], &seen[i]);
	}
	for (size_t members = 2; members <= ENCAP_POOL_MEMBERS; members++) {
		encap_publish(&rig, pool, members);
		for (size_t i = 0; i < FLOWS; i++) {
			struct seen again;

			moved += send_one(pool, &flows[i], &rng, &again) != backends[i];
			assert_memory_equal(&again, &seen[i], sizeof(again));
		}
	}
	assert_true(moved > FLOWS);
	encap_publish(&rig, pool, 1);
	assert_they_differ(pool);
}

static void case_31_ipip_over_ipv4(void **state)
{
	(void)state;
	many_flows(0);
}

static void case_31_ipip_over_ipv6(void **state)
{
	(void)state;
	many_flows(1);
}

static void case_31_gue_over_ipv4(void **state)
{
	(void)state;
	many_flows(2);
}

static void case_31_gue_over_ipv6(void **state)
{
	(void)state;
	many_flows(3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_31_ipip_over_ipv4),
		cmocka_unit_test(case_31_ipip_over_ipv6),
		cmocka_unit_test(case_31_gue_over_ipv4),
		cmocka_unit_test(case_31_gue_over_ipv6),
	};
	const struct encap encap = control_encap(&config);
	int failed;

	test_seed_print();
	rig_open(&rig);
	encap_set_up(&rig, &encap);
	failed = cmocka_run_group_tests_name("outer flows", tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
