/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* YAML text -> the model: what comes out, and what is said of text that is no such model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Lines 1 to 3. */
#define HEAD                                                                                       \
	"seed: 1\n"                                                                                \
	"interfaces:\n"                                                                            \
	"  - name: eth0\n"
/* Lines 4 to 6, after HEAD. */
#define POOL                                                                                       \
	"pools:\n"                                                                                 \
	"  - name: web\n"                                                                          \
	"    forward: nat\n"
/* Lines 7 to 9, after POOL. */
#define BACKEND                                                                                    \
	"    backends:\n"                                                                          \
	"      - name: web1\n"                                                                     \
	"        address: 10.0.0.1\n"
/* Lines 7 to 11, after POOL. */
#define VIP                                                                                        \
	"vips:\n"                                                                                  \
	"  - address: 192.0.2.10\n"                                                                \
	"    protocol: tcp\n"                                                                      \
	"    port: 80\n"                                                                           \
	"    pool: web\n"

/* @what is the whole error, or NULL if the text is accepted. */
struct row {
	const char *yaml;
	size_t line;
	size_t column;
	const char *what;
};

static void check_text(const char *yaml, size_t len, const struct row *row)
{
	struct config config, before;
	struct config_error error = {0};
	int err;

	memset(&config, 0x5a, sizeof(config));
	before = config;
	err = config_read(&config, yaml, len, &error);
	if (!row->what) {
		if (err)
			fail_msg("refused: %s\nline %zu: %s", yaml, error.line, error.what);
		config_release(&config);
		return;
	}
	if (!err)
		fail_msg("accepted: %s\ninstead of: %s", yaml, row->what);
	assert_string_equal(error.what, row->what);
	assert_int_equal(error.line, row->line);
	assert_int_equal(error.column, row->column);
	assert_int_equal(err, -EINVAL);
	assert_memory_equal(&config, &before, sizeof(config));
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_text(rows[i].yaml, strlen(rows[i].yaml), &rows[i]);
}

static void test_model(void **state)
{
	static const char yaml[] = "seed: 0x5eed5eed5eed5eed\n"
				   "interfaces:\n"
				   "  - {name: eth0, mode: generic}\n"
				   "  - {name: 'br lan'}\n";
	static const char full[] =
		"seed: 0x5eed5eed5eed5eed\n"
		"vips:\n"
		"  - {address: '2001:db8::10', protocol: udp, port: 0, pool: b}\n"
		"interfaces: [{name: eth0, mode: generic}, {name: eth1}]\n"
		"pools:\n"
		"  - name: a\n"
		"    forward: nat\n"
		"    vnodes: 7\n"
		"    backends:\n"
		"      - {weight: 0.5, port: 8080, address: 10.0.0.1, name: a1}\n"
		"      - {name: a2, address: 10.0.0.2}\n"
		"  - {name: b, forward: dr}\n";
	static const uint8_t address[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 0x10};
	struct config_error error;
	struct config config;

	(void)state;
	assert_int_equal(config_read(&config, yaml, strlen(yaml), &error), -EINVAL);
	assert_int_equal(config_read(&config, full, strlen(full), &error), 0);
	assert_true(config.seed == 0x5eed5eed5eed5eed);
	assert_int_equal(config.n_interfaces, 2);
	assert_string_equal(config.interfaces[0].name, "eth0");
	assert_int_equal(config.interfaces[0].mode, CONFIG_GENERIC);
	assert_string_equal(config.interfaces[1].name, "eth1");
	assert_int_equal(config.interfaces[1].mode, CONFIG_NATIVE);
	assert_int_equal(config.n_pools, 2);
	assert_string_equal(config.pools[0].name, "a");
	assert_int_equal(config.pools[0].forward, CONFIG_NAT);
	assert_int_equal(config.pools[0].vnodes, 7);
	assert_int_equal(config.pools[0].n_backends, 2);
	assert_string_equal(config.pools[0].backends[0].name, "a1");
	assert_int_equal(config.pools[0].backends[0].address.family, AF_INET);
	assert_memory_equal(config.pools[0].backends[0].address.bytes, "\x0a\x00\x00\x01", 4);
	assert_int_equal(config.pools[0].backends[0].port, 8080);
	assert_int_equal(config.pools[0].backends[0].weight_milli, 500);
	assert_int_equal(config.pools[0].backends[1].port, 0);
	assert_int_equal(config.pools[0].backends[1].weight_milli, 1000);
	assert_int_equal(config.pools[1].forward, CONFIG_DR);
	assert_int_equal(config.pools[1].vnodes, 200);
	assert_int_equal(config.pools[1].n_backends, 0);
	assert_int_equal(config.n_vips, 1);
	assert_int_equal(config.vips[0].address.family, AF_INET6);
	assert_memory_equal(config.vips[0].address.bytes, address, sizeof(address));
	assert_int_equal(config.vips[0].protocol, IPPROTO_UDP);
	assert_int_equal(config.vips[0].port, 0);
	assert_string_equal(config.vips[0].pool, "b");
	config_release(&config);
	assert_null(config.pools);
	config_release(&config);
	config_release(NULL);
}

/* The file that users start from. The tests run in the root of the tree. */
static void test_example(void **state)
{
	struct config_error error = {0};
	struct config config;
	int err = config_read_file(&config, "docs/ringlb.example.yaml", &error);

	(void)state;
	if (err)
		fail_msg("line %zu: %s", error.line, error.what);
	assert_int_equal(config.n_interfaces, 1);
	assert_int_equal(config.n_pools, 6);
	assert_int_equal(config.n_vips, 6);
	config_release(&config);
}

static void test_no_yaml(void **state)
{
	static const struct row rows[] = {
		{"", 1, 1, "the file is empty"},
		{"# only a comment\n", 1, 1, "the file is empty"},
		{"---\n", 1, 1, "the file is empty"},
		{"~\n", 1, 1, "the file is empty"},
		{"just text\n", 1, 1, "the file must be a mapping, got a single value"},
		{"- a\n", 1, 1, "the file must be a mapping, got a list"},
		{"--- \n" HEAD, 0, 0, NULL},
		{"%YAML 1.1\n---\n" HEAD "...\n", 0, 0, NULL},
		{"\xef\xbb\xbf" HEAD, 0, 0, NULL},
		{"seed: 1\r\ninterfaces:\r\n  - name: eth0\r\n", 0, 0, NULL},
		{HEAD "---\n", 4, 1, "a second YAML document begins, but a file holds one only"},
		{HEAD "---\n" HEAD, 4, 1,
		 "a second YAML document begins, but a file holds one only"},
		{"seed: [1\n", 2, 1,
		 "not YAML: did not find expected ',' or ']' while parsing a flow sequence"},
		{"seed: 1: 2\n", 1, 8, "not YAML: mapping values are not allowed in this context"},
		{"seed: 'a\n", 2, 1,
		 "not YAML: found unexpected end of stream while scanning a quoted scalar"},
		{"seed: 1\ninterfaces:\n\t- name: eth0\n", 3, 1,
		 "not YAML: found character that cannot start any token while scanning for the "
		 "next token (the line is indented with a tab, use spaces)"},
		{"seed: 1\ninterfaces:\n  - name: eth0\n\tmode: native\n", 4, 1,
		 "not YAML: found a tab character that violates indentation while scanning a "
		 "plain scalar (the line is indented with a tab, use spaces)"},
		{"seed:\t1\ninterfaces:\n  - name:\teth0\n", 0, 0, NULL},
		{"seed: 1\r\nx: \xff\n", 2, 4, "not YAML: invalid leading UTF-8 octet (byte 0xff)"},
		{"seed: 1\nx: \xc3(\n", 2, 5, "not YAML: invalid trailing UTF-8 octet (byte 0x28)"},
		{"seed: 1\nx: \xc3", 2, 4, "not YAML: incomplete UTF-8 octet sequence (byte 0xc3)"},
		{"seed: 1\nx: \x01\n", 2, 4,
		 "not YAML: control characters are not allowed (byte 0x01)"},
		{"seed: 1\r#\rx: \xff\n", 3, 4,
		 "not YAML: invalid leading UTF-8 octet (byte 0xff)"},
		{"seed: 1\n#\n\nx: \xff\n", 4, 4,
		 "not YAML: invalid leading UTF-8 octet (byte 0xff)"},
		/* UTF-16 with its mark, which libyaml would take if it were let. */
		{"\xff\xfes", 1, 1, "not YAML: invalid leading UTF-8 octet (byte 0xff)"},
	};
	static const char nul[] = HEAD "pools: \0\n";
	static const struct row nul_row = {
		nul, 4, 8, "not YAML: control characters are not allowed (byte 0x00)"};

	(void)state;
	check_rows(rows, COUNT(rows));
	check_text(nul, sizeof(nul) - 1, &nul_row);
}

/* Bounds on what a file may ask for before it is known to be a model. */
static void test_yaml_extras(void **state)
{
	static const struct row rows[] = {
		{HEAD "pools:\n"
		      "  - name: a\n"
		      "    forward: nat\n"
		      "    backends: &all\n"
		      "      - {name: web1, address: &one 10.0.0.1}\n"
		      "  - {name: b, forward: nat, backends: *all}\n"
		      "  - {name: c, forward: nat, backends: [{name: web1, address: *one}]}\n",
		 0, 0, NULL},
		{HEAD "pools: *all\n", 4, 8, "alias 'all' has no anchor before it"},
		{"&a seed: *a\n", 1, 1,
		 "seed must be a number of at most 64 bits, decimal or 0x "
		 "hexadecimal"},
		{HEAD "pools: &a [*a]\n", 4, 8, "pools[0] must be a mapping, got a list"},
		{HEAD "pools: [&a {name: web, forward: nat, backends: [*a]}]\n", 4, 24,
		 "unknown field 'forward' in pools[0].backends[0]"},
		{HEAD "pools: !!seq []\n", 4, 8,
		 "YAML tags have no meaning here, remove 'tag:yaml.org,2002:seq'"},
		{"seed: !!int 1\n", 1, 7,
		 "YAML tags have no meaning here, remove 'tag:yaml.org,2002:int'"},
		{"%TAG !e! tag:example.org,2000:\n---\n" HEAD, 1, 1,
		 "YAML tags have no meaning here, remove the %TAG directive"},
		{HEAD "# %TAG\n", 0, 0, NULL},
		{HEAD "pools: [[[[[[[[[[[[[[[]]]]]]]]]]]]]]]\n", 4, 9,
		 "pools[0] must be a mapping, got a list"},
		{HEAD "pools: [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]\n", 4, 23,
		 "nested more than 16 deep"},
	};

	(void)state;
	check_rows(rows, COUNT(rows));
}

static void test_fields(void **state)
{
	static const struct row rows[] = {
		{HEAD, 0, 0, NULL},
		{HEAD "vip: []\n", 4, 1,
		 "unknown field 'vip' at the top level (did you mean "
		 "'vips'?)"},
		{HEAD "Pools: []\n", 4, 1,
		 "unknown field 'Pools' at the top level (did you mean 'pools'?)"},
		{HEAD "color: red\n", 4, 1, "unknown field 'color' at the top level"},
		{HEAD "<<: {}\n", 4, 1, "unknown field '<<' at the top level"},
		{HEAD "[a]: b\n", 4, 1,
		 "a field's name at the top level must be a single value, got a list"},
		{HEAD "\"a\\0b\\n\\x1b\\u00e9\": b\n", 4, 1,
		 "unknown field 'a\\x00b\\x0a\\x1b\\xc3\\xa9' at the top level"},
		{HEAD "\"seed\\0\": 1\n", 4, 1,
		 "unknown field 'seed\\x00' at the top level (did you mean 'seed'?)"},
		{HEAD "a234567890123456789012345678901234567890123456789012345678901234567890123"
		      ": 1\n",
		 4, 1,
		 "unknown field 'a2345678901234567890123456789012345678901234567890123456789012345"
		 "678901...' at the top level"},
		{HEAD POOL "    backend: []\n", 7, 5,
		 "unknown field 'backend' in pools[0] (did you mean 'backends'?)"},
		{HEAD POOL BACKEND "        wieght: 1\n", 10, 9,
		 "unknown field 'wieght' in pools[0].backends[0] (did you mean 'weight'?)"},
		{HEAD POOL "    nvdoes: 1\n", 7, 5,
		 "unknown field 'nvdoes' in pools[0] (did you mean 'vnodes'?)"},
		{HEAD POOL "    nvdose: 1\n", 7, 5, "unknown field 'nvdose' in pools[0]"},
		{HEAD POOL "    \"~ \\x7f\": 1\n", 7, 5, "unknown field '~ \\x7f' in pools[0]"},
		{HEAD POOL BACKEND "        pool: web\n", 10, 9,
		 "unknown field 'pool' in pools[0].backends[0]"},
		{HEAD "    native: yes\n", 4, 5, "unknown field 'native' in interfaces[0]"},
		{HEAD POOL VIP "    prot: tcp\n", 12, 5,
		 "unknown field 'prot' in vips[0] (did you mean 'port'?)"},
		{HEAD "seed: 2\n", 4, 1,
		 "field 'seed' is given twice at the top level (first at line 1)"},
		{HEAD POOL BACKEND "        weight: 1\n        weight: 1\n", 11, 9,
		 "field 'weight' is given twice in pools[0].backends[0] (first at line 10)"},
		{"interfaces:\n  - name: eth0\n", 1, 1,
		 "missing required field 'seed' at the top level"},
		{"seed: 1\n", 1, 1, "missing required field 'interfaces' at the top level"},
		{"{}\n", 1, 1, "missing required field 'seed' at the top level"},
		{"seed: 1\ninterfaces:\n  - mode: native\n", 3, 5,
		 "missing required field 'name' in interfaces[0]"},
		{HEAD "pools:\n  - forward: nat\n", 5, 5,
		 "missing required field 'name' in pools[0]"},
		{HEAD "pools:\n  - name: web\n", 5, 5,
		 "missing required field 'forward' in pools[0]"},
		{HEAD POOL "    backends:\n      - address: 10.0.0.1\n", 8, 9,
		 "missing required field 'name' in pools[0].backends[0]"},
		{HEAD POOL "    backends:\n      - name: web1\n", 8, 9,
		 "missing required field 'address' in pools[0].backends[0]"},
		{HEAD POOL "vips:\n  - {protocol: tcp, port: 80, pool: web}\n", 8, 5,
		 "missing required field 'address' in vips[0]"},
		{HEAD POOL "vips:\n  - {address: 192.0.2.10, port: 80, pool: web}\n", 8, 5,
		 "missing required field 'protocol' in vips[0]"},
		{HEAD POOL "vips:\n  - {address: 192.0.2.10, protocol: tcp, pool: web}\n", 8, 5,
		 "missing required field 'port' in vips[0]"},
		{HEAD POOL "vips:\n  - {address: 192.0.2.10, protocol: tcp, port: 80}\n", 8, 5,
		 "missing required field 'pool' in vips[0]"},
	};

	(void)state;
	check_rows(rows, COUNT(rows));
}

static void test_kinds(void **state)
{
	static const struct row rows[] = {
		{HEAD POOL "    backends:\nvips:\n", 0, 0, NULL},
		{HEAD POOL "    backends: []\nvips: ~\n", 0, 0, NULL},
		{HEAD "pools: null\nvips: []\n", 0, 0, NULL},
		{HEAD "pools: 'null'\n", 4, 8, "pools must be a list, got a single value"},
		{HEAD "pools: web\n", 4, 8, "pools must be a list, got a single value"},
		{HEAD "pools: {name: web}\n", 4, 8, "pools must be a list, got a mapping"},
		{HEAD "pools:\n  - web\n", 5, 5, "pools[0] must be a mapping, got a single value"},
		{HEAD "pools:\n  -\n", 5, 4, "pools[0] must be a mapping, got a single value"},
		{HEAD POOL "    backends: 10.0.0.1\n", 7, 15,
		 "pools[0].backends must be a list, got a single value"},
		{HEAD POOL "    backends:\n      - [web1]\n", 8, 9,
		 "pools[0].backends[0] must be a mapping, got a list"},
		{HEAD "vips: {}\n", 4, 7, "vips must be a list, got a mapping"},
		{HEAD "vips: [1]\n", 4, 8, "vips[0] must be a mapping, got a single value"},
		{"seed: 1\ninterfaces: eth0\n", 2, 13,
		 "interfaces must be a list, got a single value"},
		{"seed: 1\ninterfaces: [eth0]\n", 2, 14,
		 "interfaces[0] must be a mapping, got a single value"},
		{"seed: [1]\n", 1, 7, "seed must be a single value, got a list"},
		{HEAD POOL BACKEND "        port: {from: 1}\n", 10, 15,
		 "pools[0].backends[0].port must be a single value, got a mapping"},
		{"seed: 1\ninterfaces:\n", 2, 12, "interfaces must have at least one entry"},
		{"seed: 1\ninterfaces: []\n", 2, 13, "interfaces must have at least one entry"},
	};

	(void)state;
	check_rows(rows, COUNT(rows));
}

static void test_larger_than_any(void **state)
{
	const struct row row = {NULL, 1, 1, "the file is larger than 64 MiB"};
	size_t len = CONFIG_FILE_MAX + 1;
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	memset(text, '\n', len);
	memcpy(text, HEAD, strlen(HEAD));
	check_text(text, len, &row);
	check_text(text, len - 1, &(struct row){0});
	free(text);
}

static void test_files(void **state)
{
	struct config config, before;
	struct config_error error = {0};

	(void)state;
	memset(&config, 0x5a, sizeof(config));
	before = config;
	assert_int_equal(config_read_file(&config, "/nonexistent.yaml", &error), -ENOENT);
	assert_string_equal(error.what,
			    "cannot open '/nonexistent.yaml': No such file or directory");
	assert_int_equal(error.line, 0);
	assert_int_equal(config_read_file(&config, "/", &error), -EISDIR);
	assert_string_equal(error.what, "cannot read '/': Is a directory");
	assert_int_equal(config_read_file(&config, "/dev/null", &error), -EINVAL);
	assert_string_equal(error.what, "the file is empty");
	assert_int_equal(config_read_file(&config, "/dev/zero", &error), -EINVAL);
	assert_string_equal(error.what, "the file is larger than 64 MiB");
	assert_memory_equal(&config, &before, sizeof(config));
	assert_int_equal(config_read_file(&config, "/dev/null", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),		cmocka_unit_test(test_example),
		cmocka_unit_test(test_no_yaml),		cmocka_unit_test(test_yaml_extras),
		cmocka_unit_test(test_fields),		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_larger_than_any), cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("config read", tests, NULL, NULL);
}
