/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is said of each difference between two configurations, which are given as YAML. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "control/differences.h"

#define HEAD  "seed: 1\ninterfaces:\n  - name: eth0\n"
#define WEB   "  - name: web\n    forward: nat\n    backends:\n"
#define POOLS "pools:\n" WEB
#define B1    "      - {name: b1, address: 10.0.0.1, port: 80}\n"
#define B2    "      - {name: b2, address: 10.0.0.2, port: 80}\n"
#define B3    "      - {name: b3, address: 10.0.0.3, port: 80}\n"
#define VIPS  "vips:\n  - {address: 192.0.2.1, protocol: tcp, port: 80, pool: web}\n"
#define REST                                                                                       \
	"  - name: rest\n    forward: dr\n    backends:\n      - {name: b1, address: 10.0.0.9}\n"

static const struct row {
	const char *before, *after, *lines;
} rows[] = {
	{HEAD POOLS B1 VIPS, HEAD POOLS B1 VIPS, ""},
	/* Order is no difference. */
	{HEAD POOLS B1 B2 B3, HEAD POOLS B3 B1 B2, ""},
	{HEAD, "seed: 2\ninterfaces:\n  - name: eth0\n",
	 "changed seed: every flow is hashed anew\n"},
	{HEAD, HEAD "  - name: eth1\n", "added interface 'eth1'\n"},
	{HEAD "  - name: eth1\n", HEAD, "removed interface 'eth1'\n"},
	{HEAD, HEAD "    mode: generic\n", "changed interface 'eth0': native to generic\n"},
	{HEAD, HEAD "flows:\n  established: 1024\n  other: 2048\n",
	 "changed flows.established: 262144 to 1024 entries\n"
	 "changed flows.other: 262144 to 2048 entries\n"},
	{HEAD, HEAD "flows:\n  learn_tcp: 5s\n  opening: 1500ms\n",
	 "changed flows.learn_tcp: 1h to 5s\nchanged flows.opening: 1m to 1500ms\n"},
	{HEAD POOLS B1, HEAD POOLS B1 REST, "added pool 'rest'\n"},
	{HEAD POOLS B1 REST, HEAD POOLS B1, "removed pool 'rest'\n"},
	{HEAD POOLS B1,
	 HEAD "pools:\n  - name: web\n    forward: nat\n    vnodes: 9\n    panic: none\n"
	      "    check: {type: tcp}\n    backends:\n" B1,
	 "changed vnodes of pool 'web': 200 to 9\nchanged panic of pool 'web': all to none\n"
	 "changed health check of pool 'web'\n"},
	{HEAD POOLS B1,
	 HEAD "pools:\n  - name: web\n    forward: nat\n    placement: capped\n    "
	      "backends:\n" B1,
	 "changed placement of pool 'web': ring to capped\n"},
	{HEAD "pools:\n  - {name: a, forward: dr, placement: capped}\n",
	 HEAD "pools:\n  - {name: a, forward: dr, placement: capped, cells: 4096, epsilon: 0.2}\n",
	 "changed cells of pool 'a': 65536 to 4096\nchanged epsilon of pool 'a': 0.02 to 0.2\n"},
	{HEAD "pools:\n" REST,
	 HEAD "pools:\n  - name: rest\n    forward: nat\n    backends:\n      - "
	      "{name: b1, address: 10.0.0.9}\n",
	 "changed forward of pool 'rest': dr to nat\n"},
	{HEAD POOLS B1 B2, HEAD POOLS B2 B3,
	 "removed backend 'b1' from pool 'web'\nadded backend 'b3' to pool 'web'\n"},
	{HEAD POOLS B1, HEAD "pools:\n" WEB, "removed backend 'b1' from pool 'web'\n"},
	{HEAD "pools:\n" WEB, HEAD POOLS B1, "added backend 'b1' to pool 'web'\n"},
	{HEAD POOLS B1,
	 HEAD POOLS B1 "      - {name: b0, address: 10.0.0.8, port: 80, drain: remove}\n",
	 "added backend 'b0' to pool 'web', draining\n"},
	{HEAD POOLS B1,
	 HEAD POOLS "      - {name: b1, address: 10.0.0.7, port: 8080, weight: 0.5}\n",
	 "changed address of backend 'b1' of pool 'web': 10.0.0.1:80 to 10.0.0.7:8080\n"
	 "changed weight of backend 'b1' of pool 'web': 1 to 0.5\n"},
	{HEAD POOLS B1, HEAD POOLS "      - {name: b1, address: 10.0.0.1, port: 80, drain: keep}\n",
	 "draining backend 'b1' of pool 'web'\n"},
	{HEAD POOLS B1,
	 HEAD POOLS "      - {name: b1, address: 10.0.0.1, port: 80, drain: remove}\n",
	 "draining backend 'b1' of pool 'web', to be removed\n"},
	{HEAD POOLS "      - {name: b1, address: 10.0.0.1, port: 80, drain: keep}\n", HEAD POOLS B1,
	 "undrained backend 'b1' of pool 'web'\n"},
	{HEAD POOLS "      - {name: b1, address: 10.0.0.1, port: 80, drain: keep}\n",
	 HEAD POOLS
	 "      - {name: b1, address: 10.0.0.1, port: 80, drain: keep, drain_until: 99}\n",
	 "changed timeout of draining backend 'b1' of pool 'web'\n"},
	{HEAD POOLS B1, HEAD POOLS B1 VIPS, "added vip 192.0.2.1:80/tcp with pool 'web'\n"},
	{HEAD POOLS B1 VIPS, HEAD POOLS B1, "removed vip 192.0.2.1:80/tcp\n"},
	{HEAD POOLS B1 REST
	 "vips:\n  - {address: 192.0.2.1, protocol: udp, port: 53, pool: rest}\n",
	 HEAD POOLS B1 REST "vips:\n  - {address: 192.0.2.1, protocol: udp, port: 53, pool: web}\n",
	 "changed pool of vip 192.0.2.1:53/udp: 'rest' to 'web'\n"},
	/* The same address twice is two VIPs. */
	{HEAD POOLS B1 REST "vips:\n  - {address: 192.0.2.1, protocol: udp, port: 53, pool: rest}\n"
			    "  - {address: '2001:db8::1', protocol: udp, port: 0, pool: rest}\n",
	 HEAD POOLS B1 REST "vips:\n  - {address: 192.0.2.1, protocol: tcp, port: 53, pool: rest}\n"
			    "  - {address: '2001:db8::1', protocol: udp, port: 0, pool: rest}\n",
	 "removed vip 192.0.2.1:53/udp\nadded vip 192.0.2.1:53/tcp with pool 'rest'\n"},
};

static void take_line(void *context, const char *text)
{
	char *lines = context;

	strcat(lines, text);
	strcat(lines, "\n");
}

static void read_text(struct config *config, const char *text)
{
	struct config_error error = {};

	if (config_read(config, text, strlen(text), &error))
		fail_msg("line %zu: %s\n%s", error.line, error.what, text);
}

/* The lines, in any order: nobody is promised one. */
static bool same_lines(const char *got, const char *wanted)
{
	char copy[4096];

	if (strlen(got) != strlen(wanted))
		return false;
	strcpy(copy, wanted);
	for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
		if (!strstr(got, line))
			return false;
	return true;
}

static void each_difference_has_its_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config before = {}, after = {};
		char lines[4096] = "";

		read_text(&before, rows[i].before);
		read_text(&after, rows[i].after);
		assert_int_equal(differences_list(&before, &after, take_line, lines), 0);
		if (!same_lines(lines, rows[i].lines))
			fail_msg("row %zu: got\n%swanted\n%s", i, lines, rows[i].lines);
		config_release(&before);
		config_release(&after);
	}
}

static void count_line(void *context, const char *text)
{
	(void)text;
	(*(size_t *)context)++;
}

/* One pool with all the backends that there may be, in opposite orders. */
static void many_backends(void **state)
{
	struct config_pool pools[2] = {{.name = "a"}, {.name = "a"}};
	struct config configs[2] = {{.pools = &pools[0], .n_pools = 1},
				    {.pools = &pools[1], .n_pools = 1}};
	size_t n = CONFIG_BACKENDS_MAX, lines = 0;

	(void)state;
	for (size_t side = 0; side < 2; side++) {
		pools[side].backends = calloc(n, sizeof(*pools[side].backends));
		pools[side].n_backends = n;
		assert_non_null(pools[side].backends);
		for (size_t b = 0; b < n; b++)
			snprintf(pools[side].backends[b].name, sizeof(pools[side].backends[b].name),
				 "b%zu", side ? n - b : b);
	}
	assert_int_equal(differences_list(&configs[0], &configs[1], count_line, &lines), 0);
	/* b0 went, bN came. */
	assert_int_equal(lines, 2);
	free(pools[0].backends);
	free(pools[1].backends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_difference_has_its_line),
		cmocka_unit_test(many_backends),
	};

	return cmocka_run_group_tests_name("differences", tests, NULL, NULL);
}
