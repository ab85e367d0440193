/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The model -> YAML -> the model: random models, with the names and addresses that mislead. */
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
#include <unistd.h>

#include "config/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Waiting for the disk 2,000 times would tell nothing. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

static void draw_address(struct config_address *address, unsigned int *seed)
{
	static const char *const texts[] = {"1:2:3:4:5:6:7:8", "2001:db8::", "::2",
					    "2001:db8::1:0",   "10.0.0.1",   "1.2.3.4",
					    "192.0.2.10",      "2001:db8::a"};
	size_t i = (size_t)rand_r(seed) % COUNT(texts);

	assert_int_equal(text_parse_address(texts[i], address), 0);
	/* Nearly never twice the same. */
	for (size_t j = 1; j < 3; j++)
		address->bytes[j] = (uint8_t)rand_r(seed);
}

/* Names that a careless writer would turn into something else. */
static const char *const names[] = {"a",   "no",   "Yes", "null", "NULL", "true", "1",
				    "1e3", "0x10", "010", "1.5",  "y",	  "Off",  "a.b_c-d",
				    "a-",  "a--",  "1_0", "nan",  "inf",  "2001", "1.2.3.4"};
static const char *const interfaces[] = {
	"eth0", "#a",	"-",   "?",  "*a",  "&a",   "!a",  "%a",     "@a",	"`a",
	"'a'",	"\"a",	"{a}", "[a", "a#b", "a\\b", "---", "...",    "~",	"null",
	"a,b",	"\x7f", "|",   ">",  "=",   "<<",   "0x1", "a\x01z", "\xc3\xa9"};

/* Texts that a careless writer would fold, cut or turn into something else. */
static void draw_text(char out[CONFIG_CHECK_TEXT_MAX + 1], unsigned int *seed)
{
	static const char *const parts[] = {" ",  "a",	"  word ", "\n",   "\r",	  "\"",
					    "'",  "\\", "\t",	   "\x01", "\xc3\xa9",	  "\x7f",
					    ": ", " #", "%",	   "null", "\xe2\x80\xa8"};
	size_t n = 1 + (size_t)rand_r(seed) % (CONFIG_CHECK_TEXT_MAX / 8);

	out[0] = '\0';
	while (n-- > 0)
		strcat(out, parts[(size_t)rand_r(seed) % COUNT(parts)]);
}

static void draw_check(struct config_check *check, unsigned int *seed)
{
	check->type = (enum config_check_type)((unsigned int)rand_r(seed) % 6);
	if (check->type == CONFIG_CHECK_NONE)
		return;
	if (check->type != CONFIG_CHECK_ICMP)
		check->port = (uint16_t)(1 + rand_r(seed) % 65535);
	if (check->type == CONFIG_CHECK_HTTP || check->type == CONFIG_CHECK_HTTPS) {
		strcpy(check->path, rand_r(seed) % 2 ? "/" : "/~a?b=\"%20&{c}");
		strcpy(check->host, rand_r(seed) % 2 ? "" : "1e3");
		check->expect_first = (uint16_t)(200 + rand_r(seed) % 200);
		check->expect_last = (uint16_t)(check->expect_first + rand_r(seed) % 200);
		if (rand_r(seed) % 2)
			draw_text(check->body, seed);
	}
	if (check->type == CONFIG_CHECK_UDP) {
		draw_text(check->send, seed);
		draw_text(check->receive, seed);
	}
	check->interval_ms = 100 + (uint32_t)rand_r(seed) % 3599901;
	check->timeout_ms = 50 + (uint32_t)rand_r(seed) % (check->interval_ms - 49);
	check->rise = 1 + (uint32_t)rand_r(seed) % 100;
	check->fall = 1 + (uint32_t)rand_r(seed) % 100;
	check->jitter_percent = (uint32_t)rand_r(seed) % 51;
}

static void draw_flows(struct config_flows *flows, unsigned int *seed)
{
	flows->established = 1024 + (uint32_t)rand_r(seed) % 100000;
	flows->remembered = 1024 + (uint32_t)rand_r(seed) % 100000;
	flows->embryonic = 1024 + (uint32_t)rand_r(seed) % 100000;
	flows->other = 1024 + (uint32_t)rand_r(seed) % 100000;
	flows->learn_tcp_ms = 1000 + (uint32_t)rand_r(seed) % 100000;
	flows->learn_other_ms = 1000 + (uint32_t)rand_r(seed) % 100000;
	flows->idle_tcp_ms = flows->learn_tcp_ms + (uint32_t)rand_r(seed) % 100000;
	flows->idle_other_ms = flows->learn_other_ms + (uint32_t)rand_r(seed) % 100000;
	flows->opening_ms = 1000 + (uint32_t)rand_r(seed) % 100000;
	flows->closing_ms = 1000 + (uint32_t)rand_r(seed) % 100000;
}

static void draw_prefix(struct config_prefix *prefix, uint8_t family, unsigned int *seed)
{
	unsigned int bits = family == AF_INET ? 32 : 128;

	*prefix = (struct config_prefix){.address = {.family = family}};
	prefix->len = (uint8_t)(8 + (unsigned int)rand_r(seed) % (bits - 7));
	prefix->address.bytes[0] = family == AF_INET ? 10 : 0x20;
	for (unsigned int bit = 8; bit < prefix->len; bit++)
		if (rand_r(seed) % 2)
			prefix->address.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
}

static void draw_forward(struct config_pool *pool, unsigned int *seed)
{
	pool->forward = (enum config_forward)(rand_r(seed) % 4);
	pool->mtu = (uint16_t)(rand_r(seed) % 2 ? 1280 + rand_r(seed) % 64256 : 0);
	pool->mss_clamp = (uint16_t)(rand_r(seed) % 2 ? 536 + rand_r(seed) % 64960 : 0);
	if (pool->forward != CONFIG_GUE)
		return;
	pool->gue_port = (uint16_t)(1 + rand_r(seed) % 65535);
	pool->gue_checksum = rand_r(seed) % 2 ? CONFIG_GUE_ZERO : CONFIG_GUE_FULL;
}

static void draw_config(struct config *config, unsigned int *seed)
{
	draw_flows(&config->flows, seed);
	draw_prefix(&config->encap.source_ipv4, AF_INET, seed);
	draw_prefix(&config->encap.source_ipv6, AF_INET6, seed);
	config->seed = (uint64_t)rand_r(seed) << 33 ^ (uint64_t)rand_r(seed);
	config->n_interfaces = 1 + (size_t)rand_r(seed) % 3;
	config->interfaces = calloc(config->n_interfaces, sizeof(*config->interfaces));
	for (size_t i = 0; i < config->n_interfaces; i++) {
		strcpy(config->interfaces[i].name,
		       interfaces[(size_t)rand_r(seed) % COUNT(interfaces)]);
		config->interfaces[i].mode = rand_r(seed) % 2 ? CONFIG_NATIVE : CONFIG_GENERIC;
	}
	config->n_pools = 1 + (size_t)rand_r(seed) % 3;
	config->pools = calloc(config->n_pools, sizeof(*config->pools));
	for (size_t i = 0; i < config->n_pools; i++) {
		struct config_pool *pool = &config->pools[i];

		strcpy(pool->name, names[(size_t)rand_r(seed) % COUNT(names)]);
		draw_forward(pool, seed);
		pool->vnodes = 1 + (uint32_t)rand_r(seed) % 500;
		if (rand_r(seed) % 2) {
			pool->placement = CONFIG_CAPPED;
			pool->cells = 1U << (16 + rand_r(seed) % 6);
			pool->epsilon_milli = 100 + (uint32_t)rand_r(seed) % 9901;
		}
		if (rand_r(seed) % 2) {
			pool->load_cap_milli = 1010 + (uint32_t)rand_r(seed) % 8991;
			pool->load_interval_ms = 1000 + (uint32_t)rand_r(seed) % 599001;
		}
		pool->panic = rand_r(seed) % 2 ? CONFIG_PANIC_ALL : CONFIG_PANIC_NONE;
		draw_check(&pool->check, seed);
		pool->n_backends = (size_t)rand_r(seed) % 4;
		pool->backends = calloc(pool->n_backends + 1, sizeof(*pool->backends));
		for (size_t j = 0; j < pool->n_backends; j++) {
			struct config_backend *backend = &pool->backends[j];

			strcpy(backend->name, names[(size_t)rand_r(seed) % COUNT(names)]);
			draw_address(&backend->address, seed);
			backend->port = (uint16_t)(pool->forward == CONFIG_NAT ? rand_r(seed) : 0);
			backend->weight_milli = (uint32_t)rand_r(seed) % 1000000;
			if (rand_r(seed) % 2)
				snprintf(backend->rack, sizeof(backend->rack), "rack%d",
					 rand_r(seed) % 4);
			backend->drain = (enum config_drain)(rand_r(seed) % 3);
			if (backend->drain != CONFIG_NO_DRAIN && rand_r(seed) % 2)
				backend->drain_until_s = 1 + (uint64_t)rand_r(seed);
		}
	}
	config->n_vips = (size_t)rand_r(seed) % 3;
	config->vips = calloc(config->n_vips + 1, sizeof(*config->vips));
	for (size_t i = 0; i < config->n_vips; i++) {
		struct config_vip *vip = &config->vips[i];

		draw_address(&vip->address, seed);
		vip->protocol = rand_r(seed) % 2 ? IPPROTO_TCP : IPPROTO_UDP;
		if (rand_r(seed) % 4 == 0)
			vip->protocol = IPPROTO_SCTP;
		vip->port = (uint16_t)rand_r(seed);
		if (rand_r(seed) % 3 == 0)
			vip->port_last = (uint16_t)rand_r(seed);
		vip->hash = (enum config_hash)(rand_r(seed) % 3);
		if (rand_r(seed) % 3 == 0) {
			vip->prefix_len = (uint8_t)(16 + rand_r(seed) % 3 * 8);
			memset(vip->address.bytes + vip->prefix_len / 8, 0,
			       sizeof(vip->address.bytes) - vip->prefix_len / 8);
		}
		strcpy(vip->pool, config->pools[(size_t)rand_r(seed) % config->n_pools].name);
	}
}

static void test_round_trip(void **state)
{
	char path[] = "/tmp/ringlb-test.XXXXXX";
	struct config_error error = {0};
	unsigned int seed = 20240229;
	size_t n_written = 0;
	int fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	print_message("# seed %u\n", seed);
	for (size_t i = 0; i < 2000; i++) {
		struct config config = {0}, read;
		int err;

		draw_config(&config, &seed);
		/* Chance makes some models that are not valid; those cannot be written. */
		err = config_write_file(&config, path, &error);
		if (err) {
			assert_int_equal(err, -EINVAL);
			config_release(&config);
			continue;
		}
		n_written++;
		err = config_read_file(&read, path, &error);
		if (err)
			fail_msg("line %zu: %s", error.line, error.what);
		assert_true(config_equal(&read, &config));
		config_release(&read);
		config_release(&config);
	}
	unlink(path);
	assert_true(n_written > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests_name("config round trip", tests, NULL, NULL);
}
