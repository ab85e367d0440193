/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The section `flows`, and the drain of a backend, as the file has them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "config/flows.h"

#define REST "interfaces:\n  - name: eth0\n"

static int read_text(struct config *config, const char *text, struct config_error *error)
{
	memset(error, 0, sizeof(*error));
	return config_read(config, text, strlen(text), error);
}

static void what_is_not_given_is_the_default(void **state)
{
	struct config config = {};
	struct config_error error;

	(void)state;
	assert_int_equal(read_text(&config, "seed: 1\n" REST, &error), 0);
	assert_memory_equal(&config.flows, &config_flows_default, sizeof(config.flows));
	config_release(&config);
	assert_int_equal(read_text(&config, "seed: 1\nflows:\n  other: 1024\n" REST, &error), 0);
	assert_int_equal(config.flows.other, 1024);
	assert_int_equal(config.flows.established, config_flows_default.established);
	config_release(&config);
}

static void all_is_read(void **state)
{
	static const char text[] = "seed: 1\n"
				   "flows:\n"
				   "  established: 1024\n  remembered: 2048\n"
				   "  embryonic: 4096\n  other: 16777216\n"
				   "  learn_tcp: 1s\n  learn_other: 2s\n"
				   "  idle_tcp: 168h\n  idle_other: 4m\n"
				   "  opening: 5s\n  closing: 1500ms\n" REST;
	static const struct config_flows wanted = {
		.established = 1024,
		.remembered = 2048,
		.embryonic = 4096,
		.other = 16777216,
		.learn_tcp_ms = 1000,
		.learn_other_ms = 2000,
		.idle_tcp_ms = 604800000,
		.idle_other_ms = 240000,
		.opening_ms = 5000,
		.closing_ms = 1500,
	};
	struct config config = {};
	struct config_error error;

	(void)state;
	assert_int_equal(read_text(&config, text, &error), 0);
	assert_memory_equal(&config.flows, &wanted, sizeof(wanted));
	config_release(&config);
}

static void refusals_name_the_field_and_the_line(void **state)
{
	static const struct {
		const char *line;
		const char *what;
	} rows[] = {
		{"  established: 1023\n",
		 "flows.established must be 1024 to 16777216 entries, got '1023'"},
		{"  embryonic: 16777217\n",
		 "flows.embryonic must be 1024 to 16777216 entries, got '16777217'"},
		{"  other: -1\n", "flows.other must be 1024 to 16777216 entries, got '-1'"},
		{"  learn_tcp: 999ms\n", "flows.learn_tcp must be 1s to 168h, got '999ms'"},
		{"  closing: 169h\n", "flows.closing must be 1s to 168h, got '169h'"},
		{"  opening: 5\n", "flows.opening must be 1s to 168h, got '5'"},
		{"  idle_tcp: 59m\n", "flows.idle_tcp must not be shorter than learn_tcp"},
		{"  learn_other: 61s\n", "flows.idle_other must not be shorter than learn_other"},
	};
	struct config config = {};
	struct config_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text), "seed: 1\nflows:\n%s" REST, rows[i].line);
		assert_int_equal(read_text(&config, text, &error), -EINVAL);
		assert_string_equal(error.what, rows[i].what);
		assert_int_equal(error.line, 3);
	}
}

static void a_drain_is_read_and_edited(void **state)
{
	static const char text[] = "seed: 1\n" REST "pools:\n  - name: web\n    forward: dr\n"
				   "    backends:\n"
				   "      - {name: a, address: 10.0.0.1, drain: keep}\n"
				   "      - {name: b, address: 10.0.0.2, drain: remove, "
				   "drain_until: 1900000000}\n";
	struct config config = {};
	struct config_error error;
	const struct config_backend *backends;

	(void)state;
	assert_int_equal(read_text(&config, text, &error), 0);
	backends = config.pools[0].backends;
	assert_int_equal(backends[0].drain, CONFIG_DRAIN_KEEP);
	assert_int_equal(backends[0].drain_until_s, 0);
	assert_int_equal(backends[1].drain, CONFIG_DRAIN_REMOVE);
	assert_int_equal(backends[1].drain_until_s, 1900000000);
	assert_int_equal(config_set_drain(&config, "web", "b", CONFIG_NO_DRAIN, 7, &error), 0);
	assert_int_equal(backends[1].drain, CONFIG_NO_DRAIN);
	assert_int_equal(backends[1].drain_until_s, 0);
	assert_int_equal(config_set_drain(&config, "web", "c", CONFIG_DRAIN_KEEP, 0, &error),
			 -ENOENT);
	config_release(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_given_is_the_default),
		cmocka_unit_test(all_is_read),
		cmocka_unit_test(refusals_name_the_field_and_the_line),
		cmocka_unit_test(a_drain_is_read_and_edited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
