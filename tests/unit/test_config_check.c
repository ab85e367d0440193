/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Health checks and panic in the configuration: what is read, what is refused, what is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/text.h"
#include "tests/unit/config_rows.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Lines 1 to 5; the check begins at line 6. */
#define HEAD                                                                                       \
	"seed: 1\ninterfaces: [{name: eth0}]\npools:\n"                                            \
	"  - name: web\n    forward: nat\n"
#define BACKENDS                                                                                   \
	"    backends:\n"                                                                          \
	"      - {name: a, address: 10.0.0.1, port: 80}\n"                                         \
	"      - {name: b, address: 10.0.0.2, port: 80}\n"
/* One field a line, after "    check:" in line 6. */
#define CHECK(lines) HEAD "    check:\n" lines BACKENDS
#define F(field)     "      " field "\n"

#define X50  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X250 X50 X50 X50 X50 X50

static struct config read_config(const char *yaml)
{
	struct config_error error = {0};
	struct config config;

	if (config_read(&config, yaml, strlen(yaml), &error))
		fail_msg("refused: %s\nline %zu: %s", yaml, error.line, error.what);
	return config;
}

static void test_defaults(void **state)
{
	struct config config = read_config(HEAD BACKENDS);
	const struct config_check *check;

	(void)state;
	assert_int_equal(config.pools[0].panic, CONFIG_PANIC_ALL);
	assert_int_equal(config.pools[0].check.type, CONFIG_CHECK_NONE);
	config_release(&config);

	config = read_config(CHECK(F("type: tcp")));
	check = &config.pools[0].check;
	assert_int_equal(check->type, CONFIG_CHECK_TCP);
	assert_int_equal(check->port, 0);
	assert_string_equal(check->path, "");
	assert_int_equal(check->expect_last, 0);
	assert_int_equal(check->interval_ms, 2000);
	assert_int_equal(check->timeout_ms, 1000);
	assert_int_equal(check->rise, 2);
	assert_int_equal(check->fall, 3);
	assert_int_equal(check->jitter_percent, 10);
	config_release(&config);

	config = read_config(CHECK(F("type: https") F("interval: 500ms")));
	check = &config.pools[0].check;
	assert_int_equal(check->type, CONFIG_CHECK_HTTPS);
	assert_string_equal(check->path, "/");
	assert_string_equal(check->host, "");
	assert_int_equal(check->expect_first, 200);
	assert_int_equal(check->expect_last, 399);
	assert_string_equal(check->body, "");
	assert_int_equal(check->timeout_ms, 500);
	config_release(&config);
}

static void test_values(void **state)
{
	struct config config = read_config(
		HEAD "    panic: none\n"
		     "    check: {type: http, port: 8081, path: '/h?a=1', host: www.example, "
		     "expect: 204, body: \"o\\tk\", interval: 1m, timeout: 30s, rise: 4, fall: 5, "
		     "jitter: 0%}\n" BACKENDS);
	const struct config_check *check = &config.pools[0].check;

	(void)state;
	assert_int_equal(config.pools[0].panic, CONFIG_PANIC_NONE);
	assert_int_equal(check->type, CONFIG_CHECK_HTTP);
	assert_int_equal(check->port, 8081);
	assert_string_equal(check->path, "/h?a=1");
	assert_string_equal(check->host, "www.example");
	assert_int_equal(check->expect_first, 204);
	assert_int_equal(check->expect_last, 204);
	assert_string_equal(check->body, "o\tk");
	assert_int_equal(check->interval_ms, 60000);
	assert_int_equal(check->timeout_ms, 30000);
	assert_int_equal(check->rise, 4);
	assert_int_equal(check->fall, 5);
	assert_int_equal(check->jitter_percent, 0);
	config_release(&config);

	config = read_config(CHECK(F("type: udp") F("send: ping") F("receive: pong")));
	check = &config.pools[0].check;
	assert_int_equal(check->type, CONFIG_CHECK_UDP);
	assert_string_equal(check->send, "ping");
	assert_string_equal(check->receive, "pong");
	config_release(&config);
}

static void test_fields(void **state)
{
	static const struct row rows[] = {
		{HEAD "    panic: both\n", 6, "panic must be all or none, got 'both'"},
		{HEAD "    panic:\n", 6, "panic must be all or none, got ''"},
		{HEAD "    check:\n", 6, "check must be a mapping, got a single value"},
		{HEAD "    check: tcp\n", 6, "check must be a mapping, got a single value"},
		{HEAD "    check: [tcp]\n", 6, "check must be a mapping, got a list"},
		{CHECK(F("type: sctp")), 7,
		 "check.type must be tcp, http, https, udp or icmp, got 'sctp'"},
		{CHECK(F("type: none")), 7,
		 "check.type must be tcp, http, https, udp or icmp, got 'none'"},
		{CHECK(F("type: [tcp]")), 7, "check.type must be a single value, got a list"},
		{CHECK(F("type: tcp") F("port: 0")), 8, "check.port must be 1 to 65535, got '0'"},
		{CHECK(F("type: tcp") F("port: 65536")), 8,
		 "check.port must be 1 to 65535, got '65536'"},
		{CHECK(F("type: tcp") F("port: 65535")), 0, NULL},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "pools[0].");
}

static void test_names_of_fields(void **state)
{
	static const struct {
		const char *yaml;
		size_t line;
		const char *what;
	} rows[] = {
		{CHECK(F("port: 80")), 7, "missing required field 'type' in pools[0].check"},
		{CHECK(F("type: tcp") F("intervall: 1s")), 8,
		 "unknown field 'intervall' in pools[0].check (did you mean 'interval'?)"},
		{CHECK(F("type: tcp") F("rise: 1") F("rise: 2")), 9,
		 "field 'rise' is given twice in pools[0].check (first at line 8)"},
		{HEAD "    chek: {type: tcp}\n", 6,
		 "unknown field 'chek' in pools[0] (did you mean 'check'?)"},
	};
	struct config_error error;
	struct config config;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(config_read(&config, rows[i].yaml, strlen(rows[i].yaml), &error),
				 -EINVAL);
		assert_string_equal(error.what, rows[i].what);
		assert_int_equal(error.line, rows[i].line);
	}
}

#define HTTP F("type: http")

static void test_http(void **state)
{
#define PATH                                                                                       \
	"check.path must be 1 to 255 printable characters without spaces or '#', starting with "   \
	"'/', got "
#define HOST   "check.host must be a host name: 1 to 253 letters, digits, '.', '_' or '-', got "
#define EXPECT "check.expect must be a status or a range of them, 200 to 599, as in 200-299, got "
	static const struct row rows[] = {
		{CHECK(HTTP F("path: '/a?b=%20&c={}'")), 0, NULL},
		{CHECK(HTTP F("path: healthz")), 8, PATH "'healthz'"},
		{CHECK(HTTP F("path: ''")), 8, PATH "''"},
		{CHECK(HTTP F("path: '/a b'")), 8, PATH "'/a b'"},
		{CHECK(HTTP F("path: '/a#b'")), 8, PATH "'/a#b'"},
		{CHECK(HTTP F("path: \"/a\\r\\nb\"")), 8, PATH "'/a\\x0d\\x0ab'"},
		{CHECK(HTTP F("path: \"/\\u00e9\"")), 8, PATH "'/\\xc3\\xa9'"},
		{CHECK(HTTP F("path: /1234" X250)), 0, NULL},
		{CHECK(HTTP F("path: /12345" X250)), 8,
		 PATH "'/12345xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		      "...'"},
		{CHECK(HTTP F("host: a-b_c.example")), 0, NULL},
		{CHECK(HTTP F("host: 192.0.2.1")), 0, NULL},
		{CHECK(HTTP F("host: ''")), 8, HOST "''"},
		{CHECK(HTTP F("host: -a")), 8, HOST "'-a'"},
		{CHECK(HTTP F("host: 'a:80'")), 8, HOST "'a:80'"},
		{CHECK(HTTP F("host: a/b")), 8, HOST "'a/b'"},
		{CHECK(HTTP F("host: \"a\\nb\"")), 8, HOST "'a\\x0ab'"},
		{CHECK(HTTP F("host: 123" X250)), 0, NULL},
		{CHECK(HTTP F("expect: 200")), 0, NULL},
		{CHECK(HTTP F("expect: 200-599")), 0, NULL},
		{CHECK(HTTP F("expect: 404-404")), 0, NULL},
		{CHECK(HTTP F("expect: 199")), 8, EXPECT "'199'"},
		{CHECK(HTTP F("expect: 200-600")), 8, EXPECT "'200-600'"},
		{CHECK(HTTP F("expect: 299-200")), 8, EXPECT "'299-200'"},
		{CHECK(HTTP F("expect: 200-")), 8, EXPECT "'200-'"},
		{CHECK(HTTP F("expect: -200")), 8, EXPECT "'-200'"},
		{CHECK(HTTP F("expect: 200-250-299")), 8, EXPECT "'200-250-299'"},
		{CHECK(HTTP F("expect: 2xx")), 8, EXPECT "'2xx'"},
		{CHECK(HTTP F("expect: '0200'")), 8, EXPECT "'0200'"},
		{CHECK(HTTP F("body: ''")), 8, "check.body must be 1 to 255 bytes, got ''"},
		{CHECK(HTTP F("body: 12345" X250)), 0, NULL},
		{CHECK(HTTP F("body: \"a\\0b\"")), 8,
		 "check.body must be 1 to 255 bytes, got 'a\\x00b'"},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "pools[0].");
}

static void test_times(void **state)
{
	static const struct row rows[] = {
		{CHECK(HTTP F("interval: 100ms")), 0, NULL},
		{CHECK(HTTP F("interval: 99ms")), 8,
		 "check.interval must be 100ms to 1h, got '99ms'"},
		{CHECK(HTTP F("interval: 1h")), 0, NULL},
		{CHECK(HTTP F("interval: 3601s")), 8,
		 "check.interval must be 100ms to 1h, got '3601s'"},
		{CHECK(HTTP F("interval: 2")), 8,
		 "check.interval must be 100ms to 1h, got '2' (a unit is missing: ms, s, m or h)"},
		{CHECK(HTTP F("interval: 0.5s")), 8,
		 "check.interval must be 100ms to 1h, got '0.5s' (a whole number of ms, s, m or "
		 "h)"},
		{CHECK(HTTP F("interval: 2 s")), 8,
		 "check.interval must be 100ms to 1h, got '2 s'"},
		{CHECK(HTTP F("timeout: 50ms")), 0, NULL},
		{CHECK(HTTP F("timeout: 49ms")), 8,
		 "check.timeout must be 50ms to the interval, got '49ms'"},
		{CHECK(HTTP F("timeout: 2s")), 0, NULL},
		{CHECK(HTTP F("timeout: 2001ms")), 8,
		 "check.timeout must be 50ms to the interval, got '2001ms'"},
		{CHECK(HTTP F("timeout: 1h") F("interval: 1h")), 0, NULL},
		{CHECK(HTTP F("timeout: soon")), 8,
		 "check.timeout must be 50ms to the interval, got 'soon'"},
		{CHECK(HTTP F("rise: 0")), 8, "check.rise must be 1 to 100, got '0'"},
		{CHECK(HTTP F("rise: 1")), 0, NULL},
		{CHECK(HTTP F("rise: 100")), 0, NULL},
		{CHECK(HTTP F("rise: 101")), 8, "check.rise must be 1 to 100, got '101'"},
		{CHECK(HTTP F("rise: 1000")), 8, "check.rise must be 1 to 100, got '1000'"},
		{CHECK(HTTP F("rise: 010")), 8, "check.rise must be 1 to 100, got '010'"},
		{CHECK(HTTP F("fall: 0")), 8, "check.fall must be 1 to 100, got '0'"},
		{CHECK(HTTP F("fall: 101")), 8, "check.fall must be 1 to 100, got '101'"},
		{CHECK(HTTP F("fall: -1")), 8, "check.fall must be 1 to 100, got '-1'"},
		{CHECK(HTTP F("jitter: 50%")), 0, NULL},
		{CHECK(HTTP F("jitter: 51%")), 8, "check.jitter must be 0% to 50%, got '51%'"},
		{CHECK(HTTP F("jitter: 10")), 8, "check.jitter must be 0% to 50%, got '10'"},
		{CHECK(HTTP F("jitter: '%'")), 8, "check.jitter must be 0% to 50%, got '%'"},
		{CHECK(HTTP F("jitter: 10%%")), 8, "check.jitter must be 0% to 50%, got '10%%'"},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "pools[0].");
}

static void test_fields_of_types(void **state)
{
#define UDP F("type: udp") F("send: ping")
	static const struct row rows[] = {
		{CHECK(F("type: tcp") F("path: /")), 8,
		 "check.path means nothing to a check of type tcp"},
		{CHECK(UDP F("host: a")), 9, "check.host means nothing to a check of type udp"},
		{CHECK(F("type: icmp") F("expect: 200")), 8,
		 "check.expect means nothing to a check of type icmp"},
		{CHECK(F("body: a") F("type: tcp")), 7,
		 "check.body means nothing to a check of type tcp"},
		{CHECK(F("type: https") F("send: a")), 8,
		 "check.send means nothing to a check of type https"},
		{CHECK(HTTP F("receive: a")), 8,
		 "check.receive means nothing to a check of type http"},
		{CHECK(F("type: icmp") F("port: 80")), 8,
		 "check.port means nothing to a check of type icmp"},
		{CHECK(F("type: udp")), 7, "check.send is required by a check of type udp"},
		{CHECK(F("type: udp") F("send: ''")), 8,
		 "check.send must be 1 to 255 bytes, got ''"},
		{CHECK(UDP), 0, NULL},
		{CHECK(UDP F("receive: ''")), 9, "check.receive must be 1 to 255 bytes, got ''"},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "pools[0].");
}

static void test_port_is_needed(void **state)
{
#define NO_PORT                                                                                    \
	"    backends: [{name: a, address: 10.0.0.1, port: 80}, {name: b, address: 10.0.0.2}]\n"
	static const struct row rows[] = {
		{HEAD "    check: {type: tcp}\n" NO_PORT, 6,
		 "check.port is required, as backend 'b' has no port"},
		{HEAD "    check: {type: https}\n" NO_PORT, 6,
		 "check.port is required, as backend 'b' has no port"},
		{HEAD "    check: {type: udp, send: a}\n" NO_PORT, 6,
		 "check.port is required, as backend 'b' has no port"},
		{HEAD "    check: {type: tcp, port: 80}\n" NO_PORT, 0, NULL},
		{HEAD "    check: {type: icmp}\n" NO_PORT, 0, NULL},
		{HEAD "    check: {type: tcp}\n", 0, NULL},
	};
	struct config_backend backend = {.name = "c", .weight_milli = CONFIG_WEIGHT_ONE};
	struct config config = read_config(CHECK(F("type: tcp")));
	struct config_error error;

	(void)state;
	check_rows(rows, COUNT(rows), "pools[0].");
	/* An edit can break the rule too. */
	assert_int_equal(text_parse_endpoint("10.0.0.3", &backend.address, &backend.port), 0);
	assert_int_equal(config_add_backend(&config, "web", &backend, &error), -EINVAL);
	assert_string_equal(error.what,
			    "pool 'web': check.port is required, as backend 'c' has no port");
	assert_int_equal(config.pools[0].n_backends, 2);
	config_release(&config);
}

/* Each field makes a difference, unless there is no check at all. */
static void test_equal(void **state)
{
	struct config config = read_config(CHECK(UDP F("receive: a")));
	struct config_check *check = &config.pools[0].check;
	struct config copy;

	(void)state;
	assert_int_equal(config_copy(&copy, &config), 0);
	assert_true(config_equal(&copy, &config));
#define DIFFERS(field)                                                                             \
	do {                                                                                       \
		copy.pools[0].field ^= 1;                                                          \
		assert_false(config_equal(&copy, &config));                                        \
		copy.pools[0].field ^= 1;                                                          \
		assert_true(config_equal(&copy, &config));                                         \
	} while (0)
	DIFFERS(panic);
	DIFFERS(check.type);
	DIFFERS(check.port);
	DIFFERS(check.path[0]);
	DIFFERS(check.host[0]);
	DIFFERS(check.expect_first);
	DIFFERS(check.expect_last);
	DIFFERS(check.body[0]);
	DIFFERS(check.send[0]);
	DIFFERS(check.receive[0]);
	DIFFERS(check.interval_ms);
	DIFFERS(check.timeout_ms);
	DIFFERS(check.rise);
	DIFFERS(check.fall);
	DIFFERS(check.jitter_percent);
	check->type = copy.pools[0].check.type = CONFIG_CHECK_NONE;
	check->rise++;
	assert_true(config_equal(&copy, &config));
	config_release(&copy);
	config_release(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_names_of_fields),
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_fields_of_types),
		cmocka_unit_test(test_port_is_needed),
		cmocka_unit_test(test_equal),
	};

	return cmocka_run_group_tests_name("config check", tests, NULL, NULL);
}
