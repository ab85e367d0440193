/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields mtu and mss_clamp of a pool: what is taken, and what is said of the rest. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "tests/unit/config_rows.h"

#define CONFIG(fields, backend, vip)                                                               \
	"seed: 1\ninterfaces: [{name: eth0}]\npools:\n  - {name: web, forward: ipip, " fields      \
	", backends: [{name: a, address: '" backend "'}]}\n"                                       \
	"vips:\n  - {address: '" vip "', protocol: tcp, port: 80, pool: web}\n",                   \
		4

#define VIP4	  "192.0.2.1"
#define VIP6	  "2001:db8::1"
#define MUST	  "mtu must be 576 to 65535, got "
#define MUST_IPV6 "mtu must be 1280 to 65535 with IPv6 among its backends and VIPs, got "
#define MUST_MSS  "mss_clamp must be 536 to 65495, got "

static void fields_are_read_and_refused(void **state)
{
	static const struct row rows[] = {
		{CONFIG("mtu: 576", "10.0.0.1", VIP4), NULL},
		{CONFIG("mtu: 65535", "10.0.0.1", VIP4), NULL},
		{CONFIG("mtu: 575", "10.0.0.1", VIP4), MUST "'575'"},
		{CONFIG("mtu: 0", "10.0.0.1", VIP4), MUST "'0'"},
		{CONFIG("mtu: 65536", "10.0.0.1", VIP4), MUST "'65536'"},
		{CONFIG("mtu: 0x5dc", "10.0.0.1", VIP4), MUST "'0x5dc'"},
		{CONFIG("mtu: auto", "10.0.0.1", VIP4), MUST "'auto'"},
		{CONFIG("mtu: 1280", "fd00::1", VIP4), NULL},
		{CONFIG("mtu: 1279", "fd00::1", VIP4), MUST_IPV6 "'1279'"},
		{CONFIG("mtu: 1280", "10.0.0.1", VIP6), NULL},
		{CONFIG("mtu: 576", "10.0.0.1", VIP6), MUST_IPV6 "'576'"},
		{CONFIG("mss_clamp: 536", "10.0.0.1", VIP4), NULL},
		{CONFIG("mss_clamp: 65495", "fd00::1", VIP6), NULL},
		{CONFIG("mss_clamp: 535", "10.0.0.1", VIP4), MUST_MSS "'535'"},
		{CONFIG("mss_clamp: 65496", "10.0.0.1", VIP4), MUST_MSS "'65496'"},
		{CONFIG("mss_clamp: -1", "10.0.0.1", VIP4), MUST_MSS "'-1'"},
		{CONFIG("mss_clamp: 1e3", "10.0.0.1", VIP4), MUST_MSS "'1e3'"},
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(rows[0]), "pools[0].");
}

/* What makes a small MTU wrong may come later. */
static void ipv6_that_comes_later_is_refused(void **state)
{
	static const char text[] = "seed: 1\ninterfaces: [{name: eth0}]\n"
				   "pools: [{name: web, forward: ipip, mtu: 1000}]\n";
	const struct config_vip vip = {
		.address = {.family = 10, .bytes = {0x20, 1}},
		.protocol = 6,
		.port = 80,
		.pool = "web",
	};
	const struct config_backend backend = {
		.name = "a",
		.address = {.family = 10, .bytes = {0xfd, 1}},
		.weight_milli = CONFIG_WEIGHT_ONE,
	};
	const char *refused = "pool 'web': mtu must be 1280 to 65535 with IPv6 among its backends "
			      "and VIPs, got '1000'";
	struct config config = {};
	struct config_error error = {};

	(void)state;
	assert_int_equal(config_read(&config, text, strlen(text), &error), 0);
	assert_int_equal(config.pools[0].mtu, 1000);
	assert_int_equal(config.pools[0].mss_clamp, 0);
	assert_int_equal(config_add_vip(&config, &vip, &error), -EINVAL);
	assert_string_equal(error.what, refused);
	assert_int_equal(config_add_backend(&config, "web", &backend, &error), -EINVAL);
	assert_string_equal(error.what, refused);
	config_release(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_read_and_refused),
		cmocka_unit_test(ipv6_that_comes_later_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
