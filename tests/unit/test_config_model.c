/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copying and comparing models, finding parts of them, picking the pool that is meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/text.h"

static const char yaml[] =
	"seed: 1\n"
	"interfaces: [{name: eth0}, {name: eth1, mode: generic}]\n"
	"pools:\n"
	"  - name: web\n"
	"    forward: nat\n"
	"    backends:\n"
	"      - {name: b1, address: 10.0.0.1, port: 8080}\n"
	"      - {name: b2, address: 10.0.0.2, port: 8080}\n"
	"  - {name: dns, forward: dr, backends: [{name: b1, address: 10.0.1.1}]}\n"
	"  - {name: idle, forward: dr}\n"
	"vips:\n"
	"  - {address: 192.0.2.10, protocol: tcp, port: 80, pool: web}\n"
	"  - {address: 192.0.2.53, protocol: udp, port: 53, pool: dns}\n";

/* The same, everything in another order. */
static const char shuffled[] =
	"vips:\n"
	"  - {address: 192.0.2.53, protocol: udp, port: 53, pool: dns}\n"
	"  - {pool: web, address: 192.0.2.10, protocol: tcp, port: 80}\n"
	"pools:\n"
	"  - {name: idle, forward: dr, vnodes: 200, backends: []}\n"
	"  - name: web\n"
	"    backends:\n"
	"      - {name: b2, address: 10.0.0.2, port: 8080, weight: 1.000}\n"
	"      - {name: b1, address: 10.0.0.1, port: 8080}\n"
	"    forward: nat\n"
	"  - {name: dns, forward: dr, backends: [{name: b1, address: 10.0.1.1, port: 0}]}\n"
	"interfaces: [{name: eth1, mode: generic}, {name: eth0, mode: native}]\n"
	"seed: 0x1\n";

static int setup(void **state)
{
	struct config *config = test_calloc(1, sizeof(*config));

	*state = config;
	return config_read(config, yaml, strlen(yaml), NULL);
}

static int teardown(void **state)
{
	config_release(*state);
	test_free(*state);
	return 0;
}

static void test_copy(void **state)
{
	const struct config *config = *state;
	struct config copy, empty = {0};

	assert_int_equal(config_copy(&copy, config), 0);
	assert_true(config_equal(&copy, config));
	assert_ptr_not_equal(copy.interfaces, config->interfaces);
	assert_ptr_not_equal(copy.pools, config->pools);
	assert_ptr_not_equal(copy.vips, config->vips);
	assert_ptr_not_equal(copy.pools[0].backends, config->pools[0].backends);
	/* Nothing is shared: what happens to the copy does not reach the model. */
	memset(copy.pools[0].backends, 0x5a, 2 * sizeof(*copy.pools[0].backends));
	assert_string_equal(config->pools[0].backends[0].name, "b1");
	config_release(&copy);
	assert_int_equal(config_copy(&copy, &empty), 0);
	assert_true(config_equal(&copy, &empty));
	assert_false(config_equal(&copy, config));
	config_release(&copy);
}

static void test_order_does_not_count(void **state)
{
	const struct config *config = *state;
	struct config other;

	assert_int_equal(config_read(&other, shuffled, strlen(shuffled), NULL), 0);
	assert_true(config_equal(config, &other));
	assert_true(config_equal(&other, config));
	/* Bytes after an IPv4 address carry nothing. */
	memset(other.vips[0].address.bytes + 4, 0x5a, 12);
	memset(other.pools[1].backends[0].address.bytes + 4, 0x5a, 12);
	assert_true(config_equal(config, &other));
	config_release(&other);
}

static void assert_counts(const struct config *config, const struct config *changed)
{
	assert_false(config_equal(config, changed));
	assert_false(config_equal(changed, config));
}

/* Each field makes a difference. */
static void test_each_field_counts(void **state)
{
	struct config *config = *state;
	struct config copy;

	assert_int_equal(config_copy(&copy, config), 0);
#define DIFFERS(field, value)                                                                      \
	do {                                                                                       \
		__typeof__(copy.field) kept = copy.field;                                          \
		copy.field = value;                                                                \
		assert_counts(config, &copy);                                                      \
		copy.field = kept;                                                                 \
		assert_true(config_equal(config, &copy));                                          \
	} while (0)
	DIFFERS(seed, 2);
	DIFFERS(n_interfaces, 1);
	DIFFERS(interfaces[0].name[0], 'f');
	DIFFERS(interfaces[1].mode, CONFIG_NATIVE);
	DIFFERS(n_pools, 2);
	DIFFERS(pools[0].name[0], 'W');
	DIFFERS(pools[0].forward, CONFIG_DR);
	DIFFERS(pools[0].gue_port, 7);
	DIFFERS(pools[0].gue_checksum, CONFIG_GUE_FULL);
	DIFFERS(pools[0].mtu, 1500);
	DIFFERS(pools[0].mss_clamp, 1400);
	DIFFERS(encap.source_ipv4.len, 31);
	DIFFERS(encap.source_ipv6.address.bytes[15], 1);
	DIFFERS(pools[0].vnodes, 201);
	DIFFERS(pools[0].placement, CONFIG_CAPPED);
	DIFFERS(pools[0].cells, 256);
	DIFFERS(pools[0].epsilon_milli, 1);
	DIFFERS(pools[0].load_cap_milli, 1250);
	DIFFERS(pools[0].load_interval_ms, 1000);
	DIFFERS(pools[0].n_backends, 1);
	DIFFERS(pools[0].backends[1].name[1], '3');
	DIFFERS(pools[0].backends[1].address.bytes[3], 3);
	DIFFERS(pools[0].backends[1].address.family, 10);
	DIFFERS(pools[0].backends[1].port, 8081);
	DIFFERS(pools[0].backends[1].weight_milli, 999);
	DIFFERS(pools[0].backends[1].rack[0], 'r');
	DIFFERS(n_vips, 1);
	DIFFERS(vips[1].address.bytes[3], 54);
	DIFFERS(vips[1].protocol, 6);
	DIFFERS(vips[1].port, 54);
	DIFFERS(vips[1].pool[0], 'D');
#undef DIFFERS
	config_release(&copy);
}

static void test_find(void **state)
{
	const struct config *config = *state;
	struct config_vip vip = {0};

	assert_ptr_equal(config_find_pool(config, "dns"), &config->pools[1]);
	assert_null(config_find_pool(config, "DNS"));
	assert_null(config_find_pool(config, ""));
	assert_ptr_equal(config_find_backend(&config->pools[0], "b2"),
			 &config->pools[0].backends[1]);
	assert_null(config_find_backend(&config->pools[2], "b2"));
	assert_int_equal(text_parse_vip("192.0.2.53:53/udp", &vip), 0);
	assert_ptr_equal(config_find_vip(config, &vip), &config->vips[1]);
	assert_int_equal(text_parse_vip("192.0.2.53:0/udp", &vip), 0);
	assert_null(config_find_vip(config, &vip));
}

static void test_pick(void **state)
{
	const struct config *config = *state;
	struct config_pool *pool = NULL;
	struct config_error error;

	assert_int_equal(config_pick_pool(config, "dns", NULL, &pool, &error), 0);
	assert_ptr_equal(pool, &config->pools[1]);
	assert_int_equal(config_pick_pool(config, "web", "b1", &pool, &error), 0);
	assert_ptr_equal(pool, &config->pools[0]);
	assert_int_equal(config_pick_pool(config, NULL, "b2", &pool, &error), 0);
	assert_ptr_equal(pool, &config->pools[0]);

	pool = NULL;
	assert_int_equal(config_pick_pool(config, "wbe", "b1", &pool, &error), -ENOENT);
	assert_string_equal(error.what, "there is no pool 'wbe' (did you mean 'web'?)");
	assert_int_equal(error.line, 0);
	assert_int_equal(config_pick_pool(config, "idle", "b1", &pool, &error), -ENOENT);
	assert_string_equal(error.what, "pool 'idle' has no backend 'b1'");
	assert_int_equal(config_pick_pool(config, NULL, "b9", &pool, &error), -ENOENT);
	assert_string_equal(error.what, "no pool has a backend 'b9'");
	assert_int_equal(config_pick_pool(config, NULL, "b1", &pool, &error), -EINVAL);
	assert_string_equal(error.what,
			    "backend 'b1' is in several pools, name one of 'web', 'dns'");
	assert_int_equal(config_pick_pool(config, NULL, NULL, &pool, &error), -EINVAL);
	assert_string_equal(error.what,
			    "there are several pools, name one of 'web', 'dns', 'idle'");
	assert_int_equal(config_pick_pool(config, "a\nb", NULL, &pool, &error), -ENOENT);
	assert_string_equal(error.what, "there is no pool 'a\\x0ab'");
	assert_null(pool);
}

/* A pool without the backend, before those that have it, is not listed and stops nothing. */
static void test_pick_between(void **state)
{
	struct config_pool *pool = NULL;
	struct config_error error;
	struct config config;

	(void)state;
	assert_int_equal(config_read(&config, shuffled, strlen(shuffled), NULL), 0);
	assert_int_equal(config_pick_pool(&config, NULL, "b1", &pool, &error), -EINVAL);
	assert_string_equal(error.what,
			    "backend 'b1' is in several pools, name one of 'web', 'dns'");
	assert_int_equal(config_pick_pool(&config, NULL, "b2", &pool, &error), 0);
	assert_ptr_equal(pool, &config.pools[1]);
	config_release(&config);
}

static void test_pick_few_and_many(void **state)
{
	struct config_pool pools[CONFIG_POOLS_MAX] = {0}, *pool = NULL;
	struct config config = {.pools = pools};
	struct config_error error;

	(void)state;
	for (size_t i = 0; i < CONFIG_POOLS_MAX; i++)
		snprintf(pools[i].name, sizeof(pools[i].name), "%050zu", i);
	assert_int_equal(config_pick_pool(&config, NULL, NULL, &pool, &error), -ENOENT);
	assert_string_equal(error.what, "there is no pool");
	assert_null(pool);
	config.n_pools = 1;
	assert_int_equal(config_pick_pool(&config, NULL, NULL, &pool, &error), 0);
	assert_ptr_equal(pool, pools);
	config.n_pools = CONFIG_POOLS_MAX;
	assert_int_equal(config_pick_pool(&config, NULL, NULL, &pool, &error), -EINVAL);
	assert_string_equal(error.what, "there are several pools, name one of "
					"'00000000000000000000000000000000000000000000000000' and "
					"511 more");
}

#define MODEL(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODEL(test_copy),
		MODEL(test_order_does_not_count),
		MODEL(test_each_field_counts),
		MODEL(test_find),
		MODEL(test_pick),
		cmocka_unit_test(test_pick_between),
		cmocka_unit_test(test_pick_few_and_many),
	};

	return cmocka_run_group_tests_name("config model", tests, NULL, NULL);
}
