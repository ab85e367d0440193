/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Edits: what they change, what they refuse, and that a refused one changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char start[] =
	"seed: 1\n"
	"interfaces: [{name: eth0}]\n"
	"pools:\n"
	"  - name: web\n"
	"    forward: nat\n"
	"    backends:\n"
	"      - {name: web1, address: 10.0.0.1, port: 8080}\n"
	"      - {name: web2, address: 10.0.0.2, port: 8080}\n"
	"      - {name: web3, address: 10.0.0.3, port: 8080}\n"
	"  - name: dns\n"
	"    forward: dr\n"
	"    backends:\n"
	"      - {name: dns1, address: 10.0.1.1}\n"
	"      - {name: web1, address: 10.0.0.1}\n"
	"  - {name: any, forward: nat, backends: [{name: a, address: 10.0.2.1}]}\n"
	"vips:\n"
	"  - {address: 192.0.2.10, protocol: tcp, port: 80, pool: web}\n"
	"  - {address: 192.0.2.53, protocol: udp, port: 53, pool: dns}\n"
	"  - {address: 192.0.2.60, protocol: tcp, port: 0, pool: any}\n";

struct fixture {
	struct config config;
	struct config before;
	struct config_error error;
};

static int setup(void **state)
{
	struct fixture *fixture = test_calloc(1, sizeof(*fixture));
	int err = config_read(&fixture->config, start, strlen(start), &fixture->error);

	if (!err)
		err = config_copy(&fixture->before, &fixture->config);
	*state = fixture;
	return err;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	config_release(&fixture->config);
	config_release(&fixture->before);
	test_free(fixture);
	return 0;
}

/* The edit failed this way and left everything as it was. */
static void assert_refused(const struct fixture *fixture, int err, int expected, const char *what)
{
	assert_string_equal(fixture->error.what, what);
	assert_int_equal(err, expected);
	assert_int_equal(fixture->error.line, 0);
	assert_int_equal(fixture->error.column, 0);
	assert_true(config_equal(&fixture->config, &fixture->before));
}

static struct config_vip vip_of(const char *text, const char *pool)
{
	struct config_vip vip;

	/* What a caller leaves in bytes that carry nothing must not matter. */
	memset(&vip, 0x5a, sizeof(vip));
	assert_int_equal(text_parse_vip(text, &vip), 0);
	vip.hash = CONFIG_HASH_FLOW;
	snprintf(vip.pool, sizeof(vip.pool), "%s", pool);
	if (vip.address.family == AF_INET)
		memset(vip.address.bytes + 4, 0x5a, 12);
	return vip;
}

static struct config_backend backend_of(const char *name, const char *endpoint)
{
	struct config_backend backend;

	memset(&backend, 0x5a, sizeof(backend));
	backend.drain = CONFIG_NO_DRAIN;
	backend.drain_until_s = 0;
	memset(backend.quic_ids, 0, sizeof(backend.quic_ids));
	backend.weight_milli = CONFIG_WEIGHT_ONE;
	assert_int_equal(text_parse_endpoint(endpoint, &backend.address, &backend.port), 0);
	snprintf(backend.name, sizeof(backend.name), "%s", name);
	if (backend.address.family == AF_INET)
		memset(backend.address.bytes + 4, 0x5a, 12);
	return backend;
}

static void test_add_vip(void **state)
{
	struct fixture *fixture = *state;
	struct config_vip vip = vip_of("192.0.2.53:53/tcp", "dns"), clean = {0};

	assert_int_equal(config_add_vip(&fixture->config, &vip, &fixture->error), 0);
	assert_int_equal(fixture->config.n_vips, 4);
	assert_int_equal(text_parse_vip("192.0.2.53:53/tcp", &clean), 0);
	strcpy(clean.pool, "dns");
	assert_memory_equal(&fixture->config.vips[3], &clean, sizeof(clean));
	assert_ptr_equal(config_find_vip(&fixture->config, &vip), &fixture->config.vips[3]);
	assert_false(config_equal(&fixture->config, &fixture->before));
	assert_int_equal(config_remove_vip(&fixture->config, &vip, &fixture->error), 0);
	assert_true(config_equal(&fixture->config, &fixture->before));
}

static void test_add_vip_refused(void **state)
{
	static const struct {
		const char *vip;
		const char *pool;
		int err;
		const char *what;
	} rows[] = {
		{"192.0.2.10:80/tcp", "dns", -EEXIST,
		 "VIP 192.0.2.10:80/tcp exists already, with pool 'web'"},
		{"192.0.2.11:80/tcp", "wbe", -EINVAL,
		 "VIP 192.0.2.11:80/tcp: pool 'wbe' does not exist (did you mean 'web'?)"},
		{"192.0.2.11:80/tcp", "", -EINVAL,
		 "VIP 192.0.2.11:80/tcp: pool must be 1 to 63 letters, digits, '.', '_' or '-', "
		 "starting with a letter or digit, got ''"},
		{"127.0.0.1:80/tcp", "dns", -EINVAL,
		 "VIP 127.0.0.1:80/tcp: address must not be a loopback address, got "
		 "'127.0.0.1'"},
		{"[2001:db8::1]:80/tcp", "web", -EINVAL,
		 "VIP [2001:db8::1]:80/tcp: address 2001:db8::1 is IPv6, but backend 'web1' of "
		 "nat pool 'web' is IPv4"},
		{"192.0.2.11:0/tcp", "web", -EINVAL,
		 "VIP 192.0.2.11:0/tcp: port 0 (any) does not go with port 8080 of backend "
		 "'web1' in nat pool 'web': replies could not get back the client's port"},
		{"192.0.2.11:80/tcp", "web", -EINVAL,
		 "VIP 192.0.2.11:80/tcp and VIP 192.0.2.10:80/tcp share backend 10.0.0.1:8080: "
		 "nat could not tell their replies apart"},
		{"10.0.0.2:80/udp", "dns", -EINVAL,
		 "backend 'web2': address 10.0.0.2 is also that of VIP 10.0.0.2:80/udp: what nat "
		 "sends there would come back"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct config_vip vip = vip_of(rows[i].vip, rows[i].pool);
		int err = config_add_vip(&fixture->config, &vip, &fixture->error);

		assert_refused(fixture, err, rows[i].err, rows[i].what);
	}
}

/* A caller may fill the structs without the parsers. */
static void test_add_vip_raw(void **state)
{
	struct fixture *fixture = *state;
	struct config_vip vip = vip_of("192.0.2.11:80/tcp", "dns");
	int err;

	vip.protocol = IPPROTO_ICMP;
	err = config_add_vip(&fixture->config, &vip, &fixture->error);
	assert_refused(fixture, err, -EINVAL,
		       "VIP 192.0.2.11:80/?: protocol must be tcp, udp or sctp, got '1'");
	vip.address.family = AF_UNIX;
	err = config_add_vip(&fixture->config, &vip, &fixture->error);
	assert_refused(fixture, err, -EINVAL,
		       "VIP ?:80/?: address must be an IPv4 or IPv6 address");
	vip = vip_of("192.0.2.11:80/tcp", "");
	memset(vip.pool, 'a', sizeof(vip.pool));
	err = config_add_vip(&fixture->config, &vip, &fixture->error);
	assert_int_equal(err, -EINVAL);
	assert_true(config_equal(&fixture->config, &fixture->before));
	assert_int_equal(config_add_vip(&fixture->config, &vip, NULL), -EINVAL);
}

static void test_remove_vip(void **state)
{
	struct fixture *fixture = *state;
	struct config_vip vip = vip_of("192.0.2.10:80/udp", "web"), *left;
	int err = config_remove_vip(&fixture->config, &vip, &fixture->error);

	assert_refused(fixture, err, -ENOENT, "there is no VIP 192.0.2.10:80/udp");
	/* The pool that the caller names does not count. */
	vip = vip_of("192.0.2.10:80/tcp", "nonsense");
	assert_int_equal(config_remove_vip(&fixture->config, &vip, &fixture->error), 0);
	assert_int_equal(fixture->config.n_vips, 2);
	assert_null(config_find_vip(&fixture->config, &vip));
	left = fixture->config.vips;
	assert_string_equal(left[0].pool, "dns");
	assert_string_equal(left[1].pool, "any");
	assert_int_equal(config_remove_vip(&fixture->config, &left[1], &fixture->error), 0);
	assert_int_equal(config_remove_vip(&fixture->config, &left[0], &fixture->error), 0);
	assert_int_equal(fixture->config.n_vips, 0);
	assert_int_equal(config_add_vip(&fixture->config, &vip, &fixture->error), -EINVAL);
}

static void test_add_backend(void **state)
{
	struct fixture *fixture = *state;
	struct config_backend backend = backend_of("web4", "10.0.0.4:8080"), clean = {0};
	struct config_pool *web = config_find_pool(&fixture->config, "web");

	assert_int_equal(config_add_backend(&fixture->config, "web", &backend, &fixture->error), 0);
	/* Pointers to pools stay good. */
	assert_ptr_equal(config_find_pool(&fixture->config, "web"), web);
	assert_int_equal(web->n_backends, 4);
	strcpy(clean.name, "web4");
	clean.weight_milli = CONFIG_WEIGHT_ONE;
	assert_int_equal(text_parse_endpoint("10.0.0.4:8080", &clean.address, &clean.port), 0);
	assert_memory_equal(config_find_backend(web, "web4"), &clean, sizeof(clean));
	assert_int_equal(config_remove_backend(&fixture->config, "web", "web4", &fixture->error),
			 0);
	assert_true(config_equal(&fixture->config, &fixture->before));
}

static void test_add_backend_refused(void **state)
{
	static const struct {
		const char *pool;
		const char *name;
		const char *endpoint;
		int err;
		const char *what;
	} rows[] = {
		{"wbe", "web4", "10.0.0.4:8080", -ENOENT,
		 "there is no pool 'wbe' (did you mean 'web'?)"},
		{"web", "web1", "10.0.0.4:8080", -EEXIST,
		 "pool 'web' already has a backend 'web1'"},
		{"web", "web4", "10.0.0.1:8080", -EINVAL,
		 "backend 'web4': address 10.0.0.1:8080 is given twice (first by backend "
		 "'web1')"},
		{"web", "we b", "10.0.0.4:8080", -EINVAL,
		 "backend 'we b': name must be 1 to 63 letters, digits, '.', '_' or '-', "
		 "starting with a letter or digit, got 'we b'"},
		{"web", "web4", "[2001:db8::4]:8080", -EINVAL,
		 "VIP 192.0.2.10:80/tcp: address 192.0.2.10 is IPv4, but backend 'web4' of nat "
		 "pool 'web' is IPv6"},
		{"web", "web4", "224.0.0.1:8080", -EINVAL,
		 "backend 'web4': address must not be a multicast address, got '224.0.0.1'"},
		{"web", "web4", "192.0.2.53:8080", -EINVAL,
		 "backend 'web4': address 192.0.2.53 is also that of VIP 192.0.2.53:53/udp: what "
		 "nat sends there would come back"},
		{"dns", "dns2", "10.0.1.2:53", -EINVAL,
		 "backend 'dns2': port must be left out, got '53' (a dr pool cannot rewrite "
		 "ports)"},
		{"any", "b", "10.0.2.2:80", -EINVAL,
		 "VIP 192.0.2.60:0/tcp: port 0 (any) does not go with port 80 of backend 'b' in "
		 "nat pool 'any': replies could not get back the client's port"},
		{"any", "b", "10.0.0.1", -EINVAL,
		 "VIP 192.0.2.60:0/tcp and VIP 192.0.2.10:80/tcp share backend 10.0.0.1:8080: "
		 "nat could not tell their replies apart"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct config_backend backend = backend_of(rows[i].name, rows[i].endpoint);
		int err = config_add_backend(&fixture->config, rows[i].pool, &backend,
					     &fixture->error);

		assert_refused(fixture, err, rows[i].err, rows[i].what);
	}
}

static void test_add_backend_raw(void **state)
{
	struct fixture *fixture = *state;
	struct config_backend backend = backend_of("", "10.0.0.4:8080");
	int err;

	memset(backend.name, 'a', sizeof(backend.name));
	err = config_add_backend(&fixture->config, "web", &backend, &fixture->error);
	assert_int_equal(err, -EINVAL);
	assert_true(config_equal(&fixture->config, &fixture->before));
	backend = backend_of("web4", "10.0.0.4:8080");
	backend.weight_milli = CONFIG_WEIGHT_MAX + 1;
	err = config_add_backend(&fixture->config, "web", &backend, &fixture->error);
	assert_refused(fixture, err, -EINVAL,
		       "backend 'web4': weight must be 0 to 1000, got '1000.001'");
	backend.weight_milli = CONFIG_WEIGHT_MAX;
	assert_int_equal(config_add_backend(&fixture->config, "web", &backend, &fixture->error), 0);
}

static void test_remove_backend(void **state)
{
	struct fixture *fixture = *state;
	struct config *config = &fixture->config;
	const struct config_pool *web = config_find_pool(config, "web");
	int err;

	err = config_remove_backend(config, "api", "web1", &fixture->error);
	assert_refused(fixture, err, -ENOENT, "there is no pool 'api'");
	err = config_remove_backend(config, "web", "web9", &fixture->error);
	assert_refused(fixture, err, -ENOENT, "pool 'web' has no backend 'web9'");
	assert_int_equal(config_remove_backend(config, "web", "web2", &fixture->error), 0);
	assert_int_equal(web->n_backends, 2);
	assert_string_equal(web->backends[0].name, "web1");
	assert_string_equal(web->backends[1].name, "web3");
	assert_int_equal(config_remove_backend(config, "web", "web3", &fixture->error), 0);
	assert_int_equal(config_remove_backend(config, "web", "web1", &fixture->error), 0);
	assert_int_equal(web->n_backends, 0);
	/* Only of the pool that is named. */
	assert_int_equal(config_find_pool(config, "dns")->n_backends, 2);
}

static void test_set_weight(void **state)
{
	struct fixture *fixture = *state;
	struct config *config = &fixture->config;
	const struct config_pool *web = config_find_pool(config, "web");
	int err;

	err = config_set_weight(config, "api", "web1", 1, &fixture->error);
	assert_refused(fixture, err, -ENOENT, "there is no pool 'api'");
	err = config_set_weight(config, "web", "web9", 1, &fixture->error);
	assert_refused(fixture, err, -ENOENT, "pool 'web' has no backend 'web9'");
	err = config_set_weight(config, "web", "web2", CONFIG_WEIGHT_MAX + 1, &fixture->error);
	assert_refused(fixture, err, -EINVAL,
		       "backend 'web2': weight must be 0 to 1000, got '1000.001'");
	assert_int_equal(config_set_weight(config, "web", "web2", 0, &fixture->error), 0);
	assert_int_equal(web->backends[1].weight_milli, 0);
	assert_int_equal(
		config_set_weight(config, "web", "web2", CONFIG_WEIGHT_MAX, &fixture->error), 0);
	assert_int_equal(web->backends[0].weight_milli, CONFIG_WEIGHT_ONE);
	assert_int_equal(web->backends[1].weight_milli, CONFIG_WEIGHT_MAX);
}

static void test_positions(void **state)
{
	struct fixture *fixture = *state;
	struct config *config = &fixture->config;
	int err;

	/* 2^20 positions each for two of the three, and none for the other. */
	config->pools[0].vnodes = CONFIG_POSITIONS_MAX / 2;
	assert_int_equal(config_set_weight(config, "web", "web1", 0, &fixture->error), 0);
	config_release(&fixture->before);
	assert_int_equal(config_copy(&fixture->before, config), 0);
	err = config_set_weight(config, "web", "web1", 1, &fixture->error);
	assert_refused(fixture, err, -EINVAL,
		       "pool 'web' has 2098201 positions (vnodes times weight, summed), at most "
		       "2097152 fit; lower vnodes or the weights");
}

static void test_empty(void **state)
{
	struct config_vip vip = vip_of("192.0.2.11:80/tcp", "dns");
	struct config config = {0};
	struct config_error error;

	(void)state;
	assert_int_equal(config_add_vip(&config, &vip, &error), -EINVAL);
	assert_string_equal(error.what, "interfaces must have at least one entry");
	assert_int_equal(config.n_vips, 0);
	assert_null(config.vips);
	assert_int_equal(config_remove_vip(&config, &vip, &error), -ENOENT);
}

#define EDIT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EDIT(test_add_vip),	      EDIT(test_add_vip_refused),
		EDIT(test_add_vip_raw),	      EDIT(test_remove_vip),
		EDIT(test_add_backend),	      EDIT(test_add_backend_refused),
		EDIT(test_add_backend_raw),   EDIT(test_remove_backend),
		EDIT(test_set_weight),	      EDIT(test_positions),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests_name("config edit", tests, NULL, NULL);
}
