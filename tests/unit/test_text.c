/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values as people write them: what is accepted, what is refused, how it is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "config/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Refused values must leave this in the output. */
#define UNTOUCHED 0x5a

static void fill(void *out, size_t size)
{
	memset(out, UNTOUCHED, size);
}

static void assert_untouched(const void *out, size_t size)
{
	const unsigned char *bytes = out;

	for (size_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], UNTOUCHED);
}

/* What a parser that accepts @text stores, printed again; NULL if it is refused. */
struct row {
	const char *text;
	const char *printed;
};

static void check_address(const struct row *row)
{
	char text[TEXT_ADDRESS_LEN];
	struct config_address address;

	fill(&address, sizeof(address));
	if (!row->printed) {
		assert_int_equal(text_parse_address(row->text, &address), -EINVAL);
		assert_untouched(&address, sizeof(address));
		return;
	}
	assert_int_equal(text_parse_address(row->text, &address), 0);
	assert_string_equal(text_address(&address, text), row->printed);
}

static void test_address(void **state)
{
	static const struct row rows[] = {
		{"192.0.2.1", "192.0.2.1"},
		{"0.0.0.0", "0.0.0.0"},
		{"255.255.255.255", "255.255.255.255"},
		{"2001:db8::1", "2001:db8::1"},
		{"2001:DB8:0:0::1", "2001:db8::1"},
		{"::", "::"},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.1"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"", NULL},
		{"192.0.2", NULL},
		{"192.0.2.256", NULL},
		{"192.0.2.01", NULL},
		{"192.0.2.1 ", NULL},
		{" 192.0.2.1", NULL},
		{"192.0.2.1/32", NULL},
		{"192.0.2.1:80", NULL},
		{"0xc0000201", NULL},
		{"3221225985", NULL},
		{"[2001:db8::1]", NULL},
		{"2001:db8::1%eth0", NULL},
		{"2001:db8::1/128", NULL},
		{"2001:db8:::1", NULL},
		{"12345::", NULL},
		{"1:2:3:4:5:6:7:8:9", NULL},
		{"localhost", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check_address(&rows[i]);
}

static void test_address_bytes(void **state)
{
	static const uint8_t ipv4[16] = {192, 0, 2, 1};
	static const uint8_t ipv6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
	struct config_address address;
	char text[TEXT_ADDRESS_LEN];

	(void)state;
	fill(&address, sizeof(address));
	assert_int_equal(text_parse_address("192.0.2.1", &address), 0);
	assert_int_equal(address.family, AF_INET);
	assert_memory_equal(address.bytes, ipv4, sizeof(ipv4));
	assert_int_equal(text_parse_address("2001:db8::1", &address), 0);
	assert_int_equal(address.family, AF_INET6);
	assert_memory_equal(address.bytes, ipv6, sizeof(ipv6));
	address.family = 0;
	assert_string_equal(text_address(&address, text), "?");
}

static void test_port(void **state)
{
	static const char *const refused[] = {"",      "65536", "99999999999999999999",
					      "-1",    "+1",	" 80",
					      "80 ",   "0x50",	"8.0",
					      "080",   "00",	"http",
					      "80/tcp"};
	uint16_t port;

	(void)state;
	assert_int_equal(text_parse_port("0", &port), 0);
	assert_int_equal(port, 0);
	assert_int_equal(text_parse_port("1", &port), 0);
	assert_int_equal(port, 1);
	assert_int_equal(text_parse_port("65535", &port), 0);
	assert_int_equal(port, 65535);
	for (size_t i = 0; i < COUNT(refused); i++) {
		fill(&port, sizeof(port));
		assert_int_equal(text_parse_port(refused[i], &port), -EINVAL);
		assert_untouched(&port, sizeof(port));
	}
}

static void test_weight(void **state)
{
	static const struct {
		const char *text;
		uint32_t milli;
		const char *printed;
	} rows[] = {
		{"0", 0, "0"},
		{"0.0", 0, "0"},
		{"0.001", 1, "0.001"},
		{"0.5", 500, "0.5"},
		{"0.50", 500, "0.5"},
		{"0.05", 50, "0.05"},
		{"1", 1000, "1"},
		{"1.25", 1250, "1.25"},
		{"10", 10000, "10"},
		{"999.999", 999999, "999.999"},
		{"1000", 1000000, "1000"},
		{"1000.000", 1000000, "1000"},
	};
	static const char *const refused[] = {
		"",	"-1", "+1",   "1000.001", "1001", "0.0001",
		"1.",	".5", "1e3",  "1,5",	  "01",	  "0x1",
		"1.5 ", " 1", "1.-5", "inf",	  "nan",  "99999999999999999999999"};
	char text[TEXT_WEIGHT_LEN];
	uint32_t milli;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(text_parse_weight(rows[i].text, &milli), 0);
		assert_int_equal(milli, rows[i].milli);
		assert_string_equal(text_weight(milli, text), rows[i].printed);
	}
	for (size_t i = 0; i < COUNT(refused); i++) {
		fill(&milli, sizeof(milli));
		assert_int_equal(text_parse_weight(refused[i], &milli), -EINVAL);
		assert_untouched(&milli, sizeof(milli));
	}
	assert_string_equal(text_weight(UINT32_MAX, text), "4294967.295");
}

/* Every weight there is reads back as itself. */
static void test_weight_round_trip(void **state)
{
	char text[TEXT_WEIGHT_LEN];
	uint32_t milli;

	(void)state;
	for (uint32_t i = 0; i <= CONFIG_WEIGHT_MAX; i++) {
		if (text_parse_weight(text_weight(i, text), &milli) || milli != i)
			fail_msg("%s is not %u", text, i);
	}
}

static void test_protocol(void **state)
{
	static const char *const refused[] = {"", "TCP", "icmp", "6", "tcp ", "tcpp", "sctp4"};
	uint8_t protocol;

	(void)state;
	assert_int_equal(text_parse_protocol("tcp", &protocol), 0);
	assert_int_equal(protocol, IPPROTO_TCP);
	assert_string_equal(text_protocol(protocol), "tcp");
	assert_int_equal(text_parse_protocol("udp", &protocol), 0);
	assert_int_equal(protocol, IPPROTO_UDP);
	assert_string_equal(text_protocol(protocol), "udp");
	assert_int_equal(text_parse_protocol("sctp", &protocol), 0);
	assert_int_equal(protocol, IPPROTO_SCTP);
	assert_string_equal(text_protocol(protocol), "sctp");
	for (size_t i = 0; i < COUNT(refused); i++) {
		fill(&protocol, sizeof(protocol));
		assert_int_equal(text_parse_protocol(refused[i], &protocol), -EINVAL);
		assert_untouched(&protocol, sizeof(protocol));
	}
	assert_string_equal(text_protocol(0), "?");
}

static void check_endpoint(const struct row *row)
{
	char text[TEXT_ENDPOINT_LEN];
	struct config_address address;
	uint16_t port;

	fill(&address, sizeof(address));
	fill(&port, sizeof(port));
	if (!row->printed) {
		assert_int_equal(text_parse_endpoint(row->text, &address, &port), -EINVAL);
		assert_untouched(&address, sizeof(address));
		assert_untouched(&port, sizeof(port));
		return;
	}
	assert_int_equal(text_parse_endpoint(row->text, &address, &port), 0);
	assert_string_equal(text_endpoint(&address, port, text), row->printed);
}

static void test_endpoint(void **state)
{
	static const struct row rows[] = {
		{"192.0.2.1:80", "192.0.2.1:80"},
		{"192.0.2.1:65535", "192.0.2.1:65535"},
		{"192.0.2.1:0", "192.0.2.1"},
		{"192.0.2.1", "192.0.2.1"},
		{"[2001:db8::1]:80", "[2001:db8::1]:80"},
		{"[2001:db8::1]", "2001:db8::1"},
		{"2001:db8::1", "2001:db8::1"},
		/* Without brackets the last group is a part of the address. */
		{"2001:db8::1:80", "2001:db8::1:80"},
		{"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535",
		 "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
		{"", NULL},
		{":80", NULL},
		{"192.0.2.1:", NULL},
		{"192.0.2.1:65536", NULL},
		{"192.0.2.1:80:80", NULL},
		{"192.0.2.1:-80", NULL},
		{"[192.0.2.1]:80", NULL},
		{"[2001:db8::1", NULL},
		{"[2001:db8::1]:", NULL},
		{"[2001:db8::1]80", NULL},
		{"[2001:db8::1]]:80", NULL},
		{"[]:80", NULL},
		{"[", NULL},
		{"192.0.2.1:80/tcp", NULL},
		{"example.org:80", NULL},
		{"192.0.2.1:80                                                      ", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check_endpoint(&rows[i]);
}

static void test_hash(void **state)
{
	static const char *const texts[] = {"5-tuple", "source", "source-port-less"};
	static const char *const refused[] = {"", "5", "5-tuples", "Source", "source-port", "?"};
	enum config_hash hash;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_int_equal(text_parse_hash(texts[i], &hash), 0);
		assert_int_equal(hash, i);
		assert_string_equal(text_hash(hash), texts[i]);
	}
	for (size_t i = 0; i < COUNT(refused); i++) {
		fill(&hash, sizeof(hash));
		assert_int_equal(text_parse_hash(refused[i], &hash), -EINVAL);
		assert_untouched(&hash, sizeof(hash));
	}
}

static void check_vip(const struct row *row)
{
	char text[TEXT_ENDPOINT_LEN];
	struct config_vip vip;

	fill(&vip, sizeof(vip));
	if (!row->printed) {
		assert_int_equal(text_parse_vip(row->text, &vip), -EINVAL);
		assert_untouched(&vip, sizeof(vip));
		return;
	}
	assert_int_equal(text_parse_vip(row->text, &vip), 0);
	assert_string_equal(text_vip(&vip, text), row->printed);
	assert_untouched(vip.pool, sizeof(vip.pool));
}

static void test_vip(void **state)
{
	static const struct row rows[] = {
		{"192.0.2.1:80/tcp", "192.0.2.1:80/tcp"},
		{"192.0.2.1:0/udp", "192.0.2.1:0/udp"},
		{"[2001:db8::1]:443/udp", "[2001:db8::1]:443/udp"},
		{"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535/tcp",
		 "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535/tcp"},
		{"192.0.2.1:any/tcp", "192.0.2.1:0/tcp"},
		{"192.0.2.1:1000-2000/tcp", "192.0.2.1:1000-2000/tcp"},
		{"192.0.2.0/24:80/tcp", "192.0.2.0/24:80/tcp"},
		{"192.0.2.0/24:1-65535/udp", "192.0.2.0/24:1-65535/udp"},
		{"10.0.0.0/8:any/udp", "10.0.0.0/8:0/udp"},
		{"192.0.2.1/32:80/tcp", "192.0.2.1:80/tcp"},
		{"[2001:db8::/64]:443/udp", "[2001:db8::/64]:443/udp"},
		{"[2001::/16]:any/udp", "[2001::/16]:0/udp"},
		{"[2001:db8::1/128]:443/udp", "[2001:db8::1]:443/udp"},
		{"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127]:10000-65535/tcp",
		 "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127]:10000-65535/tcp"},
		/* What is written well and makes no sense is for the model's rules to explain. */
		{"192.0.2.1/24:80/tcp", "192.0.2.1/24:80/tcp"},
		{"192.0.2.1:2000-1000/tcp", "192.0.2.1:2000-1000/tcp"},
		{"192.0.2.1:0-5/tcp", "192.0.2.1:0-5/tcp"},
		{"192.0.2.0/7:80/tcp", NULL},
		{"192.0.2.0/33:80/tcp", NULL},
		{"192.0.2.0/0:80/tcp", NULL},
		{"192.0.2.0/024:80/tcp", NULL},
		{"192.0.2.0/+24:80/tcp", NULL},
		{"192.0.2.0/:80/tcp", NULL},
		{"192.0.2.0/24/24:80/tcp", NULL},
		{"[2001:db8::/15]:80/tcp", NULL},
		{"[2001:db8::/129]:80/tcp", NULL},
		{"[2001:db8::]/64:80/tcp", NULL},
		{"2001:db8::/64:80/tcp", NULL},
		{"[192.0.2.0/24]:80/tcp", NULL},
		{"192.0.2.1:any-5/tcp", NULL},
		{"192.0.2.1:5-any/tcp", NULL},
		{"192.0.2.1:0-0/tcp", NULL},
		{"192.0.2.1:5-0/tcp", NULL},
		{"192.0.2.1:5-/tcp", NULL},
		{"192.0.2.1:-5/tcp", NULL},
		{"192.0.2.1:1-65536/tcp", NULL},
		{"192.0.2.1:1 - 5/tcp", NULL},
		{"192.0.2.1:1-2-3/tcp", NULL},
		{"192.0.2.1:all/tcp", NULL},
		{"192.0.2.1:anyany/tcp", NULL},
		{"192.0.2.1:any                    /tcp", NULL},
		{"192.0.2.1:80", NULL},
		{"192.0.2.1/tcp", NULL},
		{"2001:db8::1/tcp", NULL},
		{"[2001:db8::1]/tcp", NULL},
		{"192.0.2.1:80/", NULL},
		{"192.0.2.1:80/icmp", NULL},
		{"192.0.2.1:3868/sctp", "192.0.2.1:3868/sctp"},
		{"[2001:db8::/64]:any/sctp", "[2001:db8::/64]:0/sctp"},
		{"192.0.2.1:80/tcp/udp", NULL},
		{"192.0.2.1:/tcp", NULL},
		{"/tcp", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check_vip(&rows[i]);
}

static void test_seed(void **state)
{
	static const struct {
		const char *text;
		uint64_t seed;
	} rows[] = {
		{"0", 0},
		{"1", 1},
		{"18446744073709551615", UINT64_MAX},
		{"0x0", 0},
		{"0x5eed5eed5eed5eed", 0x5eed5eed5eed5eed},
		{"0XABCDEFabcdef", 0xabcdefabcdef},
		{"0x0000000000000001", 1},
		{"0xffffffffffffffff", UINT64_MAX},
	};
	static const char *const refused[] = {
		"",	"18446744073709551616",
		"0x",	"0x10000000000000000",
		"5eed", "0xg",
		"-1",	"0x-1",
		"01",	"1 ",
		"0x 1", "1.0",
		"x1",	"0x1\x10",
		"0x5P",
	};
	uint64_t seed;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(text_parse_seed(rows[i].text, &seed), 0);
		assert_true(seed == rows[i].seed);
	}
	for (size_t i = 0; i < COUNT(refused); i++) {
		fill(&seed, sizeof(seed));
		assert_int_equal(text_parse_seed(refused[i], &seed), -EINVAL);
		assert_untouched(&seed, sizeof(seed));
	}
}

static void test_name(void **state)
{
	static const char *const accepted[] = {"a", "z",     "A",	"Z",	"0",
					       "9", "web-1", "a.b_c-d", "1.2.3"};
	static const char *const refused[] = {"",    "/",   ":",   "@",	       "[",	   "`",
					      "{",   "-a",  ".a",  "_a",       "a b",	   "a/b",
					      "a\n", "a#1", "a:b", "\xc3\xa9", "a\xc3\xa9"};
	char name[CONFIG_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < COUNT(accepted); i++)
		assert_true(text_is_name(accepted[i]));
	for (size_t i = 0; i < COUNT(refused); i++)
		assert_false(text_is_name(refused[i]));
	memset(name, 'a', sizeof(name));
	name[CONFIG_NAME_MAX + 1] = '\0';
	assert_false(text_is_name(name));
	name[CONFIG_NAME_MAX] = '\0';
	assert_true(text_is_name(name));
}

static void test_words(void **state)
{
	(void)state;
	assert_string_equal(text_forward(CONFIG_NAT), "nat");
	assert_string_equal(text_forward(CONFIG_DR), "dr");
	assert_string_equal(text_forward(CONFIG_IPIP), "ipip");
	assert_string_equal(text_forward(CONFIG_GUE), "gue");
	assert_string_equal(text_gue_checksum(CONFIG_GUE_ZERO), "zero");
	assert_string_equal(text_gue_checksum(CONFIG_GUE_FULL), "full");
	assert_string_equal(text_mode(CONFIG_NATIVE), "native");
	assert_string_equal(text_mode(CONFIG_GENERIC), "generic");
}

static void test_duration(void **state)
{
	static const struct {
		const char *text;
		uint32_t ms;
		const char *printed;
	} rows[] = {
		{"0ms", 0, "0s"},
		{"0s", 0, "0s"},
		{"1ms", 1, "1ms"},
		{"1500ms", 1500, "1500ms"},
		{"2000ms", 2000, "2s"},
		{"90s", 90000, "90s"},
		{"120s", 120000, "2m"},
		{"60m", 3600000, "1h"},
		{"4294967295ms", UINT32_MAX, "4294967295ms"},
		{"1193h", 4294800000, "1193h"},
	};
	static const char *const refused[] = {"",    "0",    "2",    "s",     "2 s",	     " 2s",
					      "2s ", "02s",  "-2s",  "+2s",   "2S",	     "2sec",
					      "2d",  "2h2m", "1.5s", "1194h", "4294967296ms"};
	char text[TEXT_DURATION_LEN];
	uint32_t ms;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(text_parse_duration_ms(rows[i].text, &ms), 0);
		assert_int_equal(ms, rows[i].ms);
		assert_string_equal(text_duration(ms, text), rows[i].printed);
	}
	for (size_t i = 0; i < COUNT(refused); i++) {
		fill(&ms, sizeof(ms));
		assert_int_equal(text_parse_duration_ms(refused[i], &ms), -EINVAL);
		assert_untouched(&ms, sizeof(ms));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),	 cmocka_unit_test(test_address_bytes),
		cmocka_unit_test(test_hash),	 cmocka_unit_test(test_port),
		cmocka_unit_test(test_weight),	 cmocka_unit_test(test_weight_round_trip),
		cmocka_unit_test(test_protocol), cmocka_unit_test(test_endpoint),
		cmocka_unit_test(test_vip),	 cmocka_unit_test(test_seed),
		cmocka_unit_test(test_duration), cmocka_unit_test(test_name),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
