/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules that values must obey, each with what it still allows beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "tests/unit/config_rows.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Lines 1 to 3. */
#define HEAD "seed: 1\ninterfaces:\n  - name: eth0\n"
/* Lines 4 to 5, then a backend a line. */
#define POOLS(first)	 HEAD "pools:\n  - " first "\n"
#define NAT		 "{name: web, forward: nat, backends: ["
#define DR		 "{name: web, forward: dr, backends: ["
#define WEB(backends)	 HEAD "pools:\n  - " NAT "\n" backends "]}\n"
#define WEB_DR(backends) HEAD "pools:\n  - " DR "\n" backends "]}\n"
#define B(name, rest)	 "{name: " name ", address: " rest "},\n"
#define VIPS		 "vips:\n"
#define V(address, port) "  - {address: '" address "', protocol: tcp, port: " #port ", pool: web}\n"
#define V2(address, port)                                                                          \
	"  - {address: '" address "', protocol: tcp, port: " #port ", pool: web2}\n"
#define LONG62 "23456789012345678901234567890123456789012345678901234567890123"
#define LONG63 "a" LONG62

static void test_seed(void **state)
{
#define SEED(text) "seed: " text "\ninterfaces: [{name: eth0}]\n"
	/* The seed is a secret, so a wrong one is not repeated. */
	static const char what[] = "seed must be a number of at most 64 bits, decimal or 0x "
				   "hexadecimal";
	static const struct row rows[] = {
		{SEED("0xffffffffffffffff"), 0, NULL},
		{SEED("0x10000000000000000"), 1, what},
		{SEED("18446744073709551615"), 0, NULL},
		{SEED("18446744073709551616"), 1, what},
		{SEED("'0x5eed'"), 0, NULL},
		{SEED(""), 1, what},
		{SEED("-1"), 1, what},
		{SEED("secret"), 1, what},
		{SEED("\"1\\0\""), 1, what},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "");
}

static void test_interfaces(void **state)
{
#define INTERFACE(text) "seed: 1\ninterfaces:\n  - " text "\n"
#define MUST		"interfaces[0].name must be 1 to 15 bytes without '/', ':' or spaces, got "
	static const struct row rows[] = {
		{INTERFACE("name: a23456789012345"), 0, NULL},
		{INTERFACE("name: a234567890123456"), 3, MUST "'a234567890123456'"},
		{INTERFACE("name: ..."), 0, NULL},
		{INTERFACE("name: .."), 3, MUST "'..'"},
		{INTERFACE("name: ."), 3, MUST "'.'"},
		{INTERFACE("name: ''"), 3, MUST "''"},
		{INTERFACE("name: br-lan.100@x"), 0, NULL},
		{INTERFACE("name: a/b"), 3, MUST "'a/b'"},
		{INTERFACE("name: a:b"), 3, MUST "'a:b'"},
		{INTERFACE("name: a b"), 3, MUST "'a b'"},
		{INTERFACE("name: \"a\\nb\""), 3, MUST "'a\\x0ab'"},
		{INTERFACE("{name: eth0, mode: native}"), 0, NULL},
		{INTERFACE("{name: eth0, mode: generic}"), 0, NULL},
		{INTERFACE("{name: eth0, mode: offload}"), 3,
		 "interfaces[0].mode must be native or generic, got 'offload'"},
		{HEAD "  - name: ETH0\n", 0, NULL},
		{HEAD "  - name: eth0\n", 4,
		 "interfaces[1].name 'eth0' is given twice (first at line 3)"},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "");
#undef MUST
}

static void test_pools(void **state)
{
#define MUST                                                                                       \
	" must be 1 to 63 letters, digits, '.', '_' or '-', starting with a letter or digit, got "
	static const struct row rows[] = {
		{POOLS("{name: " LONG63 ", forward: nat}"), 0, NULL},
		{POOLS("{name: " LONG63 "4, forward: nat}"), 5,
		 "pools[0].name" MUST "'" LONG63 "4'"},
		{POOLS("{name: a.b_c-d, forward: nat}"), 0, NULL},
		{POOLS("{name: -a, forward: nat}"), 5, "pools[0].name" MUST "'-a'"},
		{POOLS("{name: , forward: nat}"), 5, "pools[0].name" MUST "''"},
		{POOLS("{name: \"web\\0\", forward: nat}"), 5, "pools[0].name" MUST "'web\\x00'"},
		{POOLS("{name: web, forward: dr}"), 0, NULL},
		{POOLS("{name: web, forward: dr, placement: capped}"), 0, NULL},
		{POOLS("{name: web, forward: dr, placement: capped, cells: 256, epsilon: 10}"), 0,
		 NULL},
		{POOLS("{name: web, forward: dr, placement: even}"), 5,
		 "pools[0].placement must be ring or capped, got 'even'"},
		{POOLS("{name: web, forward: dr, placement: capped, cells: 1000}"), 5,
		 "pools[0].cells must be a power of two from 256 to 2097152, got '1000'"},
		{POOLS("{name: web, forward: dr, placement: capped, epsilon: 0}"), 5,
		 "pools[0].epsilon must be 0.001 to 10 with at most three decimals, got '0'"},
		{POOLS("{name: web, forward: dr, load_cap: 1.25}"), 0, NULL},
		{POOLS("{name: web, forward: dr, load_cap: 10, load_interval: 1s}"), 0, NULL},
		{POOLS("{name: web, forward: dr, load_cap: 1.01, load_interval: 10m}"), 0, NULL},
		{POOLS("{name: web, forward: dr, load_cap: 1}"), 5,
		 "pools[0].load_cap must be 1.01 to 10 with at most three decimals, got '1'"},
		{POOLS("{name: web, forward: dr, load_cap: 0}"), 5,
		 "pools[0].load_cap must be 1.01 to 10 with at most three decimals, got '0'"},
		{POOLS("{name: web, forward: dr, load_cap: 10.001}"), 5,
		 "pools[0].load_cap must be 1.01 to 10 with at most three decimals, got '10.001'"},
		{POOLS("{name: web, forward: dr, load_cap: 125%}"), 5,
		 "pools[0].load_cap must be 1.01 to 10 with at most three decimals, got '125%'"},
		{POOLS("{name: web, forward: dr, load_cap: 2, load_interval: 999ms}"), 5,
		 "pools[0].load_interval must be a number of ms, s, m or h without spaces, from 1s "
		 "to 10m, got '999ms'"},
		{POOLS("{name: web, forward: dr, load_cap: 2, load_interval: 11m}"), 5,
		 "pools[0].load_interval must be a number of ms, s, m or h without spaces, from 1s "
		 "to 10m, got '11m'"},
		{POOLS("{name: web, forward: dr, load_interval: 10s}"), 5,
		 "pools[0].load_interval goes with load_cap only"},
		{POOLS("{name: web, forward: dr, cells: 256}"), 5,
		 "pools[0].cells goes with placement capped only"},
		{POOLS("{name: web, forward: dr, epsilon: 0.1}"), 5,
		 "pools[0].epsilon goes with placement capped only"},
		{POOLS("{name: web, forward: dr, placement: capped, cells: 256, epsilon: 0.001, "
		       "backends: [{name: a, address: 10.0.0.1}]}"),
		 5,
		 "pools[0].cells are too few for 1 backends: cells times epsilon is 0 and must be "
		 "at least as many; raise either"},
		{POOLS("{name: web, forward: dr, backends: [{name: a, address: 10.0.0.1, rack: "
		       "r1}]}"),
		 0, NULL},
		{POOLS("{name: web, forward: ipip}"), 0, NULL},
		{POOLS("{name: web, forward: gue}"), 0, NULL},
		{POOLS("{name: web, forward: gre}"), 5,
		 "pools[0].forward must be nat, dr, ipip or gue, got 'gre'"},
		{POOLS("{name: web, forward: dr, vnodes: 1}"), 0, NULL},
		{POOLS("{name: web, forward: dr, vnodes: 0}"), 5,
		 "pools[0].vnodes must be 1 to 2097152, got '0'"},
		{POOLS("{name: web, forward: dr, vnodes: 2097152}"), 0, NULL},
		{POOLS("{name: web, forward: dr, vnodes: 2097153}"), 5,
		 "pools[0].vnodes must be 1 to 2097152, got '2097153'"},
		{POOLS("{name: web, forward: dr, vnodes: -1}"), 5,
		 "pools[0].vnodes must be 1 to 2097152, got '-1'"},
		{POOLS("{name: web, forward: dr, vnodes: 0x10}"), 5,
		 "pools[0].vnodes must be 1 to 2097152, got '0x10'"},
		{POOLS("{name: web, forward: dr, vnodes: 1.5}"), 5,
		 "pools[0].vnodes must be 1 to 2097152, got '1.5'"},
		{POOLS("{name: web, forward: dr, vnodes: 99999999999999999999}"), 5,
		 "pools[0].vnodes must be 1 to 2097152, got '99999999999999999999'"},
		{POOLS("{name: web, forward: dr, vnodes: }"), 5,
		 "pools[0].vnodes must be 1 to 2097152, got ''"},
		{POOLS("{name: web, forward: nat}\n  - {name: Web, forward: dr}"), 0, NULL},
		{POOLS("{name: web, forward: nat}\n  - {name: api, forward: nat}\n"
		       "  - {name: web, forward: dr}"),
		 7, "pools[2].name 'web' is given twice (first at line 5)"},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "");
}

static void test_backends(void **state)
{
	static const struct row rows[] = {
		{WEB(B(LONG63, "10.0.0.1")), 0, NULL},
		{WEB(B(LONG63 "4", "10.0.0.1")), 6,
		 "pools[0].backends[0].name" MUST "'" LONG63 "4'"},
		{WEB(B("a/b", "10.0.0.1")), 6, "pools[0].backends[0].name" MUST "'a/b'"},
		{WEB(B("a", "10.0.0.256")), 6,
		 "pools[0].backends[0].address must be an IPv4 or IPv6 address, got "
		 "'10.0.0.256'"},
		{WEB(B("a", "web1.example.org")), 6,
		 "pools[0].backends[0].address must be an IPv4 or IPv6 address, got "
		 "'web1.example.org'"},
		{WEB(B("a", "10.0.0.1, port: 65535")), 0, NULL},
		{WEB(B("a", "10.0.0.1, port: 65536")), 6,
		 "pools[0].backends[0].port must be 0 to 65535, got '65536'"},
		{WEB(B("a", "10.0.0.1, port: http")), 6,
		 "pools[0].backends[0].port must be 0 to 65535, got 'http'"},
		{WEB(B("a", "10.0.0.1, weight: 0")), 0, NULL},
		{WEB(B("a", "10.0.0.1, weight: -1")), 6,
		 "pools[0].backends[0].weight must be 0 to 1000, got '-1'"},
		{WEB(B("a", "10.0.0.1, weight: 1000")), 0, NULL},
		{WEB(B("a", "10.0.0.1, weight: 1001")), 6,
		 "pools[0].backends[0].weight must be 0 to 1000, got '1001'"},
		{WEB(B("a", "10.0.0.1, weight: 0.001")), 0, NULL},
		{WEB(B("a", "10.0.0.1, weight: 0.0001")), 6,
		 "pools[0].backends[0].weight must be 0 to 1000, got '0.0001' (at most three "
		 "decimals)"},
		{WEB(B("a", "10.0.0.1") B("b", "10.0.0.2") B("A", "10.0.0.3")), 0, NULL},
		{WEB(B("a", "10.0.0.1") B("b", "10.0.0.2") B("a", "10.0.0.3")), 8,
		 "pools[0].backends[2].name 'a' is given twice (first at line 6)"},
		/* c, a, c, a, b, b: of three pairs the one that is complete first. */
		{WEB(B("c", "10.0.0.1") B("a", "10.0.0.2") B("c", "10.0.0.3") B("a", "10.0.0.4")
			     B("b", "10.0.0.5") B("b", "10.0.0.6")),
		 8, "pools[0].backends[2].name 'c' is given twice (first at line 6)"},
		/* Of two pairs the one that is complete first. */
		{WEB(B("b", "10.0.0.1") B("a", "10.0.0.2") B("b", "10.0.0.3") B("a", "10.0.0.4")),
		 8, "pools[0].backends[2].name 'b' is given twice (first at line 6)"},
		{WEB(B("a", "10.0.0.1, port: 80") B("b", "10.0.0.1, port: 81") B("c", "10.0.0.1")),
		 0, NULL},
		{WEB(B("a", "10.0.0.1, port: 80") B("b", "10.0.0.1, port: 80")), 7,
		 "pools[0].backends[1].address 10.0.0.1:80 is given twice (first at line 6)"},
		{WEB(B("a", "2001:db8::1") B("b", "2001:db8:0::1")), 7,
		 "pools[0].backends[1].address 2001:db8::1 is given twice (first at line 6)"},
		{WEB_DR(B("a", "10.0.0.1, port: 0")), 0, NULL},
		{WEB_DR(B("a", "10.0.0.1, port: 80")), 6,
		 "pools[0].backends[0].port must be left out, got '80' (a dr pool cannot rewrite "
		 "ports)"},
		/* The same backend may serve two pools. */
		{WEB(B("a", "10.0.0.1")) "  - {name: web2, forward: dr, backends: [" B(
			 "a", "10.0.0.1") "]}\n",
		 0, NULL},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "");
#undef MUST
}

static void test_vips(void **state)
{
#define VIP(text) WEB("") VIPS "  - {" text ", pool: web}\n"
	static const struct row rows[] = {
		{VIP("address: 192.0.2.10, protocol: udp, port: 0"), 0, NULL},
		{VIP("address: 192.0.2.10, protocol: icmp, port: 80"), 8,
		 "vips[0].protocol must be tcp, udp or sctp, got 'icmp'"},
		{VIP("address: 192.0.2.10, protocol: tcp, port: 65535"), 0, NULL},
		{VIP("address: 192.0.2.10, protocol: tcp, port: 65536"), 8,
		 "vips[0].port must be 0 to 65535, any, or a range such as 1000-2000, got '65536'"},
		{POOLS("{name: web, forward: dr}") VIPS V("192.0.2.10", 80) V2("192.0.2.11", 80), 8,
		 "vips[1].pool 'web2' does not exist (did you mean 'web'?)"},
		{POOLS("{name: " LONG63 ", forward: dr}") VIPS
		 "  - {address: 192.0.2.10, protocol: tcp, port: 80, pool: b" LONG62 "}\n",
		 7, "vips[0].pool 'b" LONG62 "' does not exist (did you mean '" LONG63 "'?)"},
		{POOLS("{name: api, forward: dr}") VIPS V("192.0.2.10", 80), 7,
		 "vips[0].pool 'web' does not exist"},
		{HEAD VIPS V("192.0.2.10", 80), 5, "vips[0].pool 'web' does not exist"},
		{WEB("") VIPS V("192.0.2.10", 80) V("192.0.2.10", 81) V("192.0.2.11", 80)
			 V("192.0.2.10",
			   0) "  - {address: 192.0.2.10, protocol: udp, port: 80, pool: web}\n",
		 0, NULL},
		{WEB("") VIPS V("192.0.2.10", 80) V("192.0.2.11", 80) V("192.0.2.10", 80), 10,
		 "vips[2] 192.0.2.10:80/tcp is given twice (first at line 8)"},
		{WEB("") VIPS V("2001:db8::1", 0) V("2001:db8:0::1", 0), 9,
		 "vips[1] [2001:db8::1]:0/tcp is given twice (first at line 8)"},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "");
}

/* NULL: the address is usable. */
static void check_addresses(const char *address, const char *flaw)
{
	char yaml[512], what[256];
	struct row row = {yaml, 6, flaw ? what : NULL};

	snprintf(what, sizeof(what), "pools[0].backends[0].address must not be %s, got '%s'",
		 flaw ? flaw : "", address);
	snprintf(yaml, sizeof(yaml), WEB_DR("{name: a, address: '%s'}"), address);
	check_row(&row, "");
	row.line = 8;
	snprintf(what, sizeof(what), "vips[0].address must not be %s, got '%s'", flaw ? flaw : "",
		 address);
	snprintf(yaml, sizeof(yaml),
		 WEB_DR("") VIPS "  - {address: '%s', protocol: tcp, port: 1, pool: web}", address);
	check_row(&row, "");
}

static void test_addresses(void **state)
{
	static const char unspecified[] = "the unspecified address";
	static const char loopback[] = "a loopback address";
	static const char multicast[] = "a multicast address";
	static const char broadcast[] = "the broadcast address";
	static const char link_local[] = "a link-local address";
	static const char mapped[] = "an IPv4 address mapped into IPv6";
	static const struct {
		const char *address;
		const char *flaw;
	} rows[] = {
		{"0.0.0.0", unspecified},
		{"0.0.0.1", NULL},
		{"126.255.255.255", NULL},
		{"127.0.0.0", loopback},
		{"127.255.255.255", loopback},
		{"128.0.0.0", NULL},
		{"223.255.255.255", NULL},
		{"224.0.0.0", multicast},
		{"239.255.255.255", multicast},
		{"240.0.0.0", NULL},
		{"255.255.255.254", NULL},
		{"255.255.255.255", broadcast},
		{"::", unspecified},
		{"::1", loopback},
		{"::2", NULL},
		{"fe7f:ffff::", NULL},
		{"fe80::1", link_local},
		{"febf:ffff::1", link_local},
		{"fec0::1", NULL},
		{"feff::", NULL},
		{"ff00::", multicast},
		{"ff02::1", multicast},
		{"ffff::", multicast},
		{"::fffe:10.0.0.1", NULL},
		{"::ffff:10.0.0.1", mapped},
		{"::1:0:0:1", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check_addresses(rows[i].address, rows[i].flaw);
}

/* Weights as ring_build() counts them: rounded, halves up, and at least one position. */
static void test_positions(void **state)
{
#define POSITIONS(vnodes, backends)                                                                \
	POOLS("{name: web, forward: dr, vnodes: " #vnodes ", backends: [\n" backends "]}")
#define WEIGHT(name, address, weight) B(name, address ", weight: " #weight)
	static const struct row rows[] = {
		{POSITIONS(2097152, WEIGHT("a", "10.0.0.1", 1)), 0, NULL},
		{POSITIONS(2097152, WEIGHT("a", "10.0.0.1", 1.001)), 5,
		 "pools[0] has 2099249 positions (vnodes times weight, summed), at most 2097152 "
		 "fit; lower vnodes or the weights"},
		{POSITIONS(2097, WEIGHT("a", "10.0.0.1", 1000) WEIGHT("b", "10.0.0.2", 0.072)), 0,
		 NULL},
		/* 2,097,000 + round(2097 * 0.073) = 2,097,153. */
		{POSITIONS(2097, WEIGHT("a", "10.0.0.1", 1000) WEIGHT("b", "10.0.0.2", 0.073)), 5,
		 "pools[0] has 2097153 positions (vnodes times weight, summed), at most 2097152 "
		 "fit; lower vnodes or the weights"},
		/* A backend of any weight has one, a backend of none has none. */
		{POSITIONS(2097152, WEIGHT("a", "10.0.0.1", 1) WEIGHT("b", "10.0.0.2", 0)), 0,
		 NULL},
		{POSITIONS(1, WEIGHT("a", "10.0.0.1", 1000) WEIGHT("b", "10.0.0.2", 0.001)), 0,
		 NULL},
		{POSITIONS(2097152, WEIGHT("a", "10.0.0.1", 0.5) WEIGHT("b", "10.0.0.2", 0.5)
					    WEIGHT("c", "10.0.0.3", 0.001)),
		 5,
		 "pools[0] has 2099249 positions (vnodes times weight, summed), at most 2097152 "
		 "fit; lower vnodes or the weights"},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seed),	  cmocka_unit_test(test_interfaces),
		cmocka_unit_test(test_pools),	  cmocka_unit_test(test_backends),
		cmocka_unit_test(test_vips),	  cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_positions),
	};

	return cmocka_run_group_tests_name("config rules", tests, NULL, NULL);
}
