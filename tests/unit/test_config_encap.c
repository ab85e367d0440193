/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ipip and gue pools, and the section `encap`, as the file has them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "config/config.h"
#include "config/encap.h"
#include "config/text.h"

#define REST "interfaces:\n  - name: eth0\n"

static int read_text(struct config *config, const char *text, struct config_error *error)
{
	memset(error, 0, sizeof(*error));
	return config_read(config, text, strlen(text), error);
}

static void assert_source(const struct config_prefix *prefix, const char *wanted)
{
	char text[TEXT_PREFIX_LEN];

	assert_string_equal(text_network(prefix, text), wanted);
}

static void what_is_not_given_is_the_default(void **state)
{
	static const char text[] = "seed: 1\nencap: {source_ipv6: '2001:db8::/32'}\n" REST;
	struct config config = {};
	struct config_error error;

	(void)state;
	assert_int_equal(read_text(&config, "seed: 1\n" REST, &error), 0);
	assert_memory_equal(&config.encap, &config_encap_default, sizeof(config.encap));
	assert_source(&config.encap.source_ipv4, "198.18.0.0/16");
	assert_source(&config.encap.source_ipv6, "100::/64");
	config_release(&config);
	assert_int_equal(read_text(&config, text, &error), 0);
	assert_source(&config.encap.source_ipv4, "198.18.0.0/16");
	assert_source(&config.encap.source_ipv6, "2001:db8::/32");
	config_release(&config);
}

static void sources_are_read_and_refused(void **state)
{
#define MUST4 "encap.source_ipv4 must be an IPv4 prefix of /8 to /32, as in 198.18.0.0/16, got "
#define MUST6                                                                                      \
	"encap.source_ipv6 must be an IPv6 prefix of /8 to /128, as in 2001:db8:0:1::/64, got "
	static const struct {
		const char *line;
		const char *what; /* NULL: fine */
	} rows[] = {
		{"source_ipv4: 10.0.0.0/8", NULL},
		{"source_ipv4: 192.0.2.7/32", NULL},
		{"source_ipv4: 192.0.2.6/31", NULL},
		{"source_ipv4: 10.0.0.0/7", MUST4 "'10.0.0.0/7'"},
		{"source_ipv4: 10.0.0.0/33", MUST4 "'10.0.0.0/33'"},
		{"source_ipv4: 10.0.0.0/+8", MUST4 "'10.0.0.0/+8'"},
		{"source_ipv4: 10.0.0.0/08", MUST4 "'10.0.0.0/08'"},
		{"source_ipv4: 10.0.0.0/", MUST4 "'10.0.0.0/'"},
		{"source_ipv4: /8", MUST4 "'/8'"},
		{"source_ipv4: 10.0.0.0/8/8", MUST4 "'10.0.0.0/8/8'"},
		{"source_ipv4: 10.0.0.1/8",
		 MUST4 "'10.0.0.1/8' (it has bits set behind its length)"},
		{"source_ipv4: 192.0.2.7", MUST4 "'192.0.2.7' (for this one address, append /32)"},
		{"source_ipv4: 224.0.0.0/8", MUST4 "'224.0.0.0/8' (a multicast address)"},
		{"source_ipv4: 127.0.0.0/8", MUST4 "'127.0.0.0/8' (a loopback address)"},
		{"source_ipv4: '100::/64'", MUST4 "'100::/64'"},
		{"source_ipv6: '2001:db8::1/128'", NULL},
		{"source_ipv6: 'fd00::/8'", NULL},
		{"source_ipv6: '2001:db8::1'",
		 MUST6 "'2001:db8::1' (for this one address, append /128)"},
		{"source_ipv6: '2001:db8::1/127'",
		 MUST6 "'2001:db8::1/127' (it has bits set behind its length)"},
		{"source_ipv6: 'fe80::/64'", MUST6 "'fe80::/64' (a link-local address)"},
		{"source_ipv6: 'fd00::/129'", MUST6 "'fd00::/129'"},
		{"source_ipv6: 10.0.0.0/8", MUST6 "'10.0.0.0/8'"},
		{"source: 10.0.0.0/8", "unknown field 'source' in encap"},
	};
	struct config config = {};
	struct config_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		int err;

		snprintf(text, sizeof(text), "seed: 1\nencap:\n  %s\n" REST, rows[i].line);
		err = read_text(&config, text, &error);
		assert_string_equal(error.what, rows[i].what ? rows[i].what : "");
		assert_int_equal(err, rows[i].what ? -EINVAL : 0);
		if (err)
			assert_int_equal(error.line, 3);
		else
			config_release(&config);
	}
}

static void pools_are_read_and_refused(void **state)
{
	static const struct {
		const char *pool;
		const char *what; /* NULL: fine */
	} rows[] = {
		{"forward: ipip", NULL},
		{"forward: gue, gue_port: 1, gue_checksum: full", NULL},
		{"gue_port: 65535, forward: gue, gue_checksum: zero", NULL},
		{"forward: gue, gue_port: 0", "pools[0].gue_port must be 1 to 65535, got '0'"},
		{"forward: gue, gue_checksum: none",
		 "pools[0].gue_checksum must be zero or full, got 'none'"},
		{"forward: ipip, gue_port: 6080",
		 "pools[0].gue_port is for gue, and this is an ipip pool: leave it out"},
		{"forward: nat, gue_checksum: zero",
		 "pools[0].gue_checksum is for gue, and this is a nat pool: leave it out"},
		{"forward: dr, gue_port: 1",
		 "pools[0].gue_port is for gue, and this is a dr pool: leave it out"},
		{"forward: ipip, backends: [{name: a, address: 10.0.0.1, port: 80}]",
		 "pools[0].backends[0].port must be left out, got '80' (an ipip pool cannot "
		 "rewrite "
		 "ports)"},
		{"forward: gue, backends: [{name: a, address: 10.0.0.1, port: 80}]",
		 "pools[0].backends[0].port must be left out, got '80' (a gue pool cannot rewrite "
		 "ports)"},
		{"forward: ipip, backends: [{name: a, address: 10.0.0.1}, "
		 "{name: b, address: 'fd00::1'}]",
		 NULL},
		{"forward: ipip, backends: [{name: a, address: 192.0.2.1}]",
		 "pools[0].backends[0].address 192.0.2.1 is also that of VIP 192.0.2.1:80/tcp: "
		 "what "
		 "ipip sends there would come back"},
	};
	struct config config = {};
	struct config_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		int err;

		snprintf(text, sizeof(text),
			 "seed: 1\n" REST "pools:\n  - {name: web, %s}\n"
			 "vips:\n  - {address: 192.0.2.1, protocol: tcp, port: 80, pool: web}\n",
			 rows[i].pool);
		err = read_text(&config, text, &error);
		assert_string_equal(error.what, rows[i].what ? rows[i].what : "");
		assert_int_equal(err, rows[i].what ? -EINVAL : 0);
		if (err)
			assert_int_equal(error.line, 5);
		else
			config_release(&config);
	}
}

static void gue_has_defaults_of_its_own(void **state)
{
	static const char text[] = "seed: 1\n" REST "pools:\n  - {name: a, forward: gue}\n"
				   "  - {name: b, forward: ipip}\n";
	struct config config = {};
	struct config_error error;

	(void)state;
	assert_int_equal(read_text(&config, text, &error), 0);
	assert_int_equal(config.pools[0].gue_port, 6080);
	assert_int_equal(config.pools[0].gue_checksum, CONFIG_GUE_ZERO);
	assert_int_equal(config.pools[1].gue_port, 0);
	assert_int_equal(config.pools[1].gue_checksum, CONFIG_GUE_NONE);
	config_release(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_given_is_the_default),
		cmocka_unit_test(sources_are_read_and_refused),
		cmocka_unit_test(pools_are_read_and_refused),
		cmocka_unit_test(gue_has_defaults_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
