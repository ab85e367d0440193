/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Out of memory at every allocation in turn: -ENOMEM, the model as it was,
 * nothing leaked.
 */
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
#include "tests/unit/failing_malloc.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char yaml[] = "seed: 1\n"
			   "interfaces: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, "
			   "{name: f}, {name: g}, {name: h}, {name: i}, {name: j}, {name: k}, "
			   "{name: l}, {name: m}, {name: n}, {name: o}, {name: p}, {name: q}]\n"
			   "pools:\n"
			   "  - name: web\n"
			   "    forward: nat\n"
			   "    backends: &web\n"
			   "      - {name: \"web\\x31\", address: 10.0.0.1, port: 8080}\n"
			   "      - {name: web2, address: 10.0.0.2, port: 8080}\n"
			   "      - {name: web3, address: &a 10.0.0.3, port: 8080}\n"
			   "  - {name: idle, forward: nat, backends: *web}\n"
			   "  - {name: dns, forward: dr, backends: [{name: dns1, address: *a}]}\n"
			   "vips:\n"
			   "  - {address: 192.0.2.10, protocol: tcp, port: 80, pool: web}\n"
			   "  - {address: '2001:db8::53', protocol: udp, port: 53, pool: dns}\n";
static const char *const bad[] = {
	"seed: 1\ninterfaces: [{name: eth0}, {name: eth0}]\n",
	"seed: 1\ninterfaces: [{name: &a eth0}]\npools: [*b]\n",
	"seed: 1\ninterfaces: [{name: eth0}]\npools: [{name: a, forward: nat, backends: [{}]}]\n",
	"seed: 1\ninterfaces: [{name: eth0, mode: 'native\n",
	"seed: 1\ninterfaces: [&a {name: &b eth0}, [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]\n",
	"seed: 1\ninterfaces: [{name: eth0}]\n---\n",
	"seed: 1\ninterfaces: !!seq [{name: eth0}]\n",
};
static const char path[] = "/tmp/ringlb-test-memory.yaml";

/* What an attempt works on; it changes @config only if it succeeds. */
struct attempt {
	struct config config;
	struct config_error error;
	const char *text;
};

static int do_read(struct attempt *attempt)
{
	struct config read;
	int err = config_read(&read, attempt->text, strlen(attempt->text), &attempt->error);

	if (!err)
		config_release(&read);
	return err;
}

static int do_read_file(struct attempt *attempt)
{
	struct config read;
	int err = config_read_file(&read, attempt->text, &attempt->error);

	if (!err)
		config_release(&read);
	return err;
}

static int do_write_file(struct attempt *attempt)
{
	return config_write_file(&attempt->config, path, &attempt->error);
}

static int do_copy(struct attempt *attempt)
{
	struct config copy;
	int err = config_copy(&copy, &attempt->config);

	if (!err)
		config_release(&copy);
	return err;
}

static int do_add_vip(struct attempt *attempt)
{
	struct config_vip vip = {.pool = "dns"};

	assert_int_equal(text_parse_vip(attempt->text, &vip), 0);
	return config_add_vip(&attempt->config, &vip, &attempt->error);
}

static int do_add_backend(struct attempt *attempt)
{
	struct config_backend backend = {.name = "web4", .weight_milli = CONFIG_WEIGHT_ONE};

	assert_int_equal(text_parse_endpoint(attempt->text, &backend.address, &backend.port), 0);
	return config_add_backend(&attempt->config, "web", &backend, &attempt->error);
}

static int do_set_weight(struct attempt *attempt)
{
	return config_set_weight(&attempt->config, "web", "web1", 500, &attempt->error);
}

/*
 * Fail the first allocation, then the second, and so on until the attempt makes
 * fewer of them; then it must end as it does with enough memory.
 */
static void fail_each(int (*attempt_function)(struct attempt *attempt), const char *text,
		      int expected)
{
	struct attempt attempt = {.text = text};
	struct config before;
	bool done = false;
	int err;

	if (!CAN_FAIL)
		skip();
	assert_int_equal(config_read(&attempt.config, yaml, strlen(yaml), NULL), 0);
	assert_int_equal(config_copy(&before, &attempt.config), 0);
	for (long call = 1; !done; call++) {
		long n_live_before = n_live;

		n_calls = 0;
		failing_call = call;
		err = attempt_function(&attempt);
		failing_call = 0;
		done = n_calls < call;
		if (err != (done ? expected : -ENOMEM))
			fail_msg("allocation %ld: %d (%s)", call, err, attempt.error.what);
		assert_int_equal(n_live, n_live_before);
		if (!done || err)
			assert_true(config_equal(&attempt.config, &before));
		assert_true(call < 10000);
	}
	config_release(&attempt.config);
	config_release(&before);
}

static void test_read(void **state)
{
	(void)state;
	fail_each(do_read, yaml, 0);
	for (size_t i = 0; i < COUNT(bad); i++)
		fail_each(do_read, bad[i], -EINVAL);
}

static void test_copy(void **state)
{
	(void)state;
	fail_each(do_copy, NULL, 0);
}

static void test_edits(void **state)
{
	(void)state;
	fail_each(do_add_vip, "192.0.2.11:80/tcp", 0);
	fail_each(do_add_vip, "10.0.0.1:80/tcp", -EINVAL);
	fail_each(do_add_vip, "[2001:db8::53]:53/udp", -EEXIST);
	fail_each(do_add_backend, "10.0.0.4:8080", 0);
	fail_each(do_add_backend, "10.0.0.1:8080", -EINVAL);
	fail_each(do_set_weight, NULL, 0);
}

static void test_files(void **state)
{
	(void)state;
	fail_each(do_write_file, NULL, 0);
	fail_each(do_read_file, path, 0);
	assert_int_equal(unlink(path), 0);
	fail_each(do_read_file, path, -ENOENT);
}

/* Without memory for its index the comparison is slow, never wrong. */
static void test_equal(void **state)
{
	struct config config, other;

	(void)state;
	assert_int_equal(config_read(&config, yaml, strlen(yaml), NULL), 0);
	assert_int_equal(config_copy(&other, &config), 0);
	for (long call = 1; call < 10; call++) {
		n_calls = 0;
		failing_call = call;
		assert_true(config_equal(&config, &other));
		other.pools[1].backends[2].port++;
		n_calls = 0;
		assert_false(config_equal(&config, &other));
		failing_call = 0;
		other.pools[1].backends[2].port--;
	}
	config_release(&config);
	config_release(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),  cmocka_unit_test(test_copy),
		cmocka_unit_test(test_edits), cmocka_unit_test(test_files),
		cmocka_unit_test(test_equal),
	};

	return cmocka_run_group_tests_name("config memory", tests, NULL, NULL);
}
