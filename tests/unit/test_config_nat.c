/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What nat pools must obey so that replies find their way back. */
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

#include "config/text.h"
#include "tests/unit/config_rows.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Lines 1 to 4, then a pool or a VIP a line. */
#define HEAD		     "seed: 1\ninterfaces:\n  - name: eth0\npools:\n"
#define POOL(name, backends) "  - {name: " name ", forward: nat, backends: [" backends "]}\n"
#define DR(name, backends)   "  - {name: " name ", forward: dr, backends: [" backends "]}\n"
#define B(name, rest)	     "{name: " name ", address: " rest "}, "
#define VIPS		     "vips:\n"
#define V(address, rest)     "  - {address: '" address "', protocol: " rest "}\n"
#define LONG1		     "2001:db8:1111:1111:1111:1111:1111:1111"
#define LONG2		     "2001:db8:2222:2222:2222:2222:2222:2222"
#define LONG3		     "2001:db8:3333:3333:3333:3333:3333:3333"

static void test_families(void **state)
{
	static const struct row rows[] = {
		{HEAD POOL("web", B("a", "10.0.0.1")) POOL("web6", B("a", "'2001:db8::1'"))
			 VIPS V("192.0.2.10", "tcp, port: 80, pool: web")
				 V("2001:db8::10", "tcp, port: 80, pool: web6"),
		 0, NULL},
		{HEAD POOL("web", B("a", "10.0.0.1") B("b", "'2001:db8::1'"))
			 VIPS V("192.0.2.10", "tcp, port: 80, pool: web"),
		 7,
		 "vips[0].address 192.0.2.10 is IPv4, but backend 'b' of nat pool 'web' is IPv6"},
		{HEAD POOL("web", B("a", "10.0.0.1") B("b", "10.0.0.2"))
			 VIPS V("2001:db8::10", "tcp, port: 80, pool: web"),
		 7,
		 "vips[0].address 2001:db8::10 is IPv6, but backend 'a' of nat pool 'web' is "
		 "IPv4"},
		/* A pool without VIPs, or one that keeps the packet as it is, may mix. */
		{HEAD POOL("web", B("a", "10.0.0.1") B("b", "'2001:db8::1'")), 0, NULL},
		{HEAD DR("web", B("a", "10.0.0.1") B("b", "'2001:db8::1'"))
			 VIPS V("192.0.2.10", "tcp, port: 80, pool: web")
				 V("2001:db8::10", "tcp, port: 80, pool: web"),
		 0, NULL},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "");
}

static void test_any_port(void **state)
{
	static const struct row rows[] = {
		{HEAD POOL("web", B("a", "10.0.0.1"))
			 VIPS V("192.0.2.10", "tcp, port: 0, pool: web"),
		 0, NULL},
		{HEAD POOL("web", B("a", "10.0.0.1, port: 8080"))
			 VIPS V("192.0.2.10", "tcp, port: 1, pool: web"),
		 0, NULL},
		{HEAD POOL("web", B("a", "10.0.0.1") B("b", "10.0.0.2, port: 8080"))
			 VIPS V("192.0.2.10", "tcp, port: 0, pool: web"),
		 7,
		 "vips[0].port 0 (any) does not go with port 8080 of backend 'b' in nat pool "
		 "'web': replies could not get back the client's port"},
		{HEAD DR("web", B("a", "10.0.0.1")) VIPS V("192.0.2.10", "tcp, port: 0, pool: web"),
		 0, NULL},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "");
}

static void test_own_address(void **state)
{
	static const struct row rows[] = {
		{HEAD POOL("web", B("a", "192.0.2.11"))
			 VIPS V("192.0.2.10", "tcp, port: 80, pool: web"),
		 0, NULL},
		{HEAD POOL("web", B("a", "10.0.0.1") B("b", "192.0.2.10"))
			 VIPS V("192.0.2.10", "tcp, port: 80, pool: web"),
		 5,
		 "pools[0].backends[1].address 192.0.2.10 is also that of VIP 192.0.2.10:80/tcp: "
		 "what nat sends there would come back"},
		/* Any VIP's, whatever its pool; the first one that has the address is named. */
		{HEAD POOL("web", B("a", "192.0.2.10")) DR("dns", "")
			 VIPS V("192.0.2.9", "udp, port: 53, pool: dns")
				 V("192.0.2.10", "udp, port: 53, pool: dns")
					 V("192.0.2.10", "tcp, port: 53, pool: dns")
						 V("192.0.2.11", "udp, port: 53, pool: dns"),
		 5,
		 "pools[0].backends[0].address 192.0.2.10 is also that of VIP 192.0.2.10:53/udp: "
		 "what nat sends there would come back"},
		{HEAD DR("dns", B("a", "192.0.2.10"))
			 VIPS V("192.0.2.10", "udp, port: 53, pool: dns"),
		 0, NULL},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "");
}

#define TELL ": nat could not tell their replies apart"
static const struct row reply_rows[] = {
	/* One pool behind two VIPs: a reply from a:8080 could be from either. */
	{HEAD POOL("web", B("a", "10.0.0.1, port: 8080"))
		 VIPS V("192.0.2.10", "tcp, port: 80, pool: web")
			 V("192.0.2.11", "tcp, port: 80, pool: web"),
	 8,
	 "vips[1] 192.0.2.11:80/tcp and VIP 192.0.2.10:80/tcp (line 7) share backend "
	 "10.0.0.1:8080" TELL},
	{HEAD POOL("web", B("a", "10.0.0.1, port: 8080"))
		 VIPS V("192.0.2.10", "tcp, port: 80, pool: web")
			 V("192.0.2.10", "tcp, port: 443, pool: web"),
	 8,
	 "vips[1] 192.0.2.10:443/tcp and VIP 192.0.2.10:80/tcp (line 7) share backend "
	 "10.0.0.1:8080" TELL},
	/* The protocol tells them apart, and so does the packet's own port. */
	{HEAD POOL("web", B("a", "10.0.0.1, port: 8080"))
		 VIPS V("192.0.2.10", "tcp, port: 80, pool: web")
			 V("192.0.2.11", "udp, port: 80, pool: web"),
	 0, NULL},
	{HEAD POOL("web", B("a", "10.0.0.1")) VIPS V("192.0.2.10", "tcp, port: 80, pool: web")
		 V("192.0.2.10", "tcp, port: 443, pool: web"),
	 0, NULL},
	{HEAD POOL("web", B("a", "10.0.0.1")) VIPS V("192.0.2.10", "tcp, port: 80, pool: web")
		 V("192.0.2.11", "tcp, port: 80, pool: web"),
	 8,
	 "vips[1] 192.0.2.11:80/tcp and VIP 192.0.2.10:80/tcp (line 7) share backend "
	 "10.0.0.1:80" TELL},
	{HEAD DR("web", B("a", "10.0.0.1")) VIPS V("192.0.2.10", "tcp, port: 80, pool: web")
		 V("192.0.2.11", "tcp, port: 80, pool: web"),
	 0, NULL},
	/* Two pools that meet in one backend, the port given or the VIP's. */
	{HEAD POOL("web", B("a", "10.0.0.1, port: 8080"))
		 POOL("api", B("b", "10.0.0.1, port: 8081"))
			 VIPS V("192.0.2.10", "tcp, port: 80, pool: web")
				 V("192.0.2.11", "tcp, port: 80, pool: api"),
	 0, NULL},
	{HEAD POOL("web", B("a", "10.0.0.1, port: 8080")) POOL("api", B("b", "10.0.0.1"))
		 VIPS V("192.0.2.11", "tcp, port: 8080, pool: api")
			 V("192.0.2.10", "tcp, port: 80, pool: web"),
	 9,
	 "vips[1] 192.0.2.10:80/tcp and VIP 192.0.2.11:8080/tcp (line 8) share backend "
	 "10.0.0.1:8080" TELL},
	/* One VIP that reaches a backend twice gets its replies once. */
	{HEAD POOL("web", B("a", "10.0.0.1, port: 80") B("b", "10.0.0.1"))
		 VIPS V("192.0.2.10", "tcp, port: 80, pool: web"),
	 0, NULL},
	/* Any port. */
	{HEAD POOL("web", B("a", "10.0.0.1")) VIPS V("192.0.2.10", "tcp, port: 0, pool: web")
		 V("192.0.2.11", "tcp, port: 0, pool: web"),
	 8,
	 "vips[1] 192.0.2.11:0/tcp and VIP 192.0.2.10:0/tcp (line 7) share backend "
	 "10.0.0.1" TELL},
	{HEAD POOL("web", B("a", "10.0.0.1")) VIPS V("192.0.2.10", "tcp, port: 0, pool: web")
		 V("192.0.2.11", "udp, port: 0, pool: web"),
	 0, NULL},
	/* A client of 192.0.2.10:80 and one of 192.0.2.11:80 both reach 10.0.0.1:80. */
	{HEAD POOL("web", B("a", "10.0.0.1")) VIPS V("192.0.2.10", "tcp, port: 0, pool: web")
		 V("192.0.2.11", "tcp, port: 80, pool: web"),
	 8,
	 "vips[1] 192.0.2.11:80/tcp and VIP 192.0.2.10:0/tcp (line 7) share backend "
	 "10.0.0.1:80" TELL},
	{HEAD POOL("web", B("a", "10.0.0.1")) VIPS V("192.0.2.10", "tcp, port: 0, pool: web")
		 V("192.0.2.10", "tcp, port: 80, pool: web"),
	 0, NULL},
	{HEAD POOL("web", B("a", "10.0.0.1")) POOL("api", B("b", "10.0.0.1, port: 8080"))
		 VIPS V("192.0.2.10", "tcp, port: 0, pool: web")
			 V("192.0.2.10", "tcp, port: 80, pool: api"),
	 9,
	 "vips[1] 192.0.2.10:80/tcp and VIP 192.0.2.10:0/tcp (line 8) share backend "
	 "10.0.0.1:8080" TELL},
	/* The longest there can be still fits into an error. */
	{HEAD POOL("web", B("a", "'" LONG3 "', port: 65535")) VIPS V(
		 LONG1, "tcp, port: 65534, pool: web") V(LONG2, "tcp, port: 65533, pool: web"),
	 8,
	 "vips[1] [" LONG2 "]:65533/tcp and VIP [" LONG1
	 "]:65534/tcp (line 7) share backend [" LONG3 "]:65535" TELL},
	/* Of several, that of the VIP that comes first. */
	{HEAD POOL("web", B("a", "10.0.0.2, port: 8080") B("b", "10.0.0.1, port: 8080"))
		 POOL("api", B("a", "10.0.0.2, port: 8080"))
			 VIPS V("192.0.2.10", "tcp, port: 80, pool: api")
				 V("192.0.2.11", "tcp, port: 80, pool: web")
					 V("192.0.2.12", "tcp, port: 80, pool: web"),
	 9,
	 "vips[1] 192.0.2.11:80/tcp and VIP 192.0.2.10:80/tcp (line 8) share backend "
	 "10.0.0.2:8080" TELL},
};

static void test_replies(void **state)
{
	(void)state;
	check_rows(reply_rows, COUNT(reply_rows), "");
}

/* Ports that a client of these tests may ask for; enough, as no VIP has more than 2. */
#define PORTS 4

/* Where a client's packet ends up: the port at the backend, or -1 if the VIP does not take it. */
static int arrival(const struct config_vip *vip, const struct config_vip *other,
		   const struct config_backend *backend, uint16_t port)
{
	bool taken = other->port == port && other->protocol == vip->protocol &&
		     !memcmp(&other->address, &vip->address, sizeof(vip->address));

	if (vip->port ? vip->port != port : taken)
		return -1;
	return backend->port ? backend->port : port;
}

/* Can clients of two VIPs, with different places that they talk to, meet at one backend? */
static bool meet(const struct config_vip *x, const struct config_backend *a,
		 const struct config_vip *y, const struct config_backend *b)
{
	if (x->protocol != y->protocol || memcmp(&a->address, &b->address, sizeof(a->address)))
		return false;
	for (uint16_t p = 1; p <= PORTS; p++) {
		for (uint16_t q = 1; q <= PORTS; q++) {
			int at = arrival(x, y, a, p);

			if (at < 0 || at != arrival(y, x, b, q))
				continue;
			if (p != q || memcmp(&x->address, &y->address, sizeof(x->address)))
				return true;
		}
	}
	return false;
}

/* The obvious version: every client of every two VIPs at every two backends. */
static bool is_ambiguous(const struct config *config)
{
	for (size_t i = 0; i < config->n_vips; i++) {
		const struct config_vip *x = &config->vips[i];
		const struct config_pool *p = config_find_pool(config, x->pool);

		for (size_t j = 0; j < config->n_vips; j++) {
			const struct config_vip *y = &config->vips[j];
			const struct config_pool *q = config_find_pool(config, y->pool);

			for (size_t k = 0; i != j && k < p->n_backends * q->n_backends; k++)
				if (meet(x, &p->backends[k / q->n_backends], y,
					 &q->backends[k % q->n_backends]))
					return true;
		}
	}
	return false;
}

static bool has_port(const struct config_pool *pool)
{
	for (size_t i = 0; i < pool->n_backends; i++)
		if (pool->backends[i].port)
			return true;
	return false;
}

/* Two pools of up to two backends each, all of them on two addresses and few ports. */
static void draw_config(struct config *config, struct config_pool pools[2],
			struct config_backend backends[4], unsigned int *seed)
{
	static const char *const addresses[] = {"10.0.0.1", "10.0.0.2"};

	for (size_t i = 0; i < 2; i++) {
		struct config_pool *pool = &pools[i];

		*pool = (struct config_pool){.vnodes = 1, .forward = CONFIG_NAT};
		snprintf(pool->name, sizeof(pool->name), "pool%zu", i);
		pool->backends = &backends[2 * i];
		pool->n_backends = 1 + (size_t)rand_r(seed) % 2;
		for (size_t j = 0; j < pool->n_backends; j++) {
			struct config_backend *backend = &pool->backends[j];

			*backend = (struct config_backend){0};
			snprintf(backend->name, sizeof(backend->name), "b%zu", j);
			text_parse_address(addresses[rand_r(seed) % 2], &backend->address);
			backend->port = (uint16_t)(rand_r(seed) % 2 ? rand_r(seed) % 3 : 0);
		}
		if (pool->n_backends == 2 &&
		    !memcmp(&pool->backends[0].address, &pool->backends[1].address,
			    sizeof(pool->backends[0].address)) &&
		    pool->backends[0].port == pool->backends[1].port)
			pool->n_backends = 1;
	}
	config->pools = pools;
	config->n_pools = 2;
}

static void draw_vip(struct config_vip *vip, unsigned int *seed)
{
	static const char *const addresses[] = {"192.0.2.1", "192.0.2.2"};

	*vip = (struct config_vip){.protocol = rand_r(seed) % 4 ? IPPROTO_TCP : IPPROTO_UDP,
				   .port = (uint16_t)(rand_r(seed) % 3)};
	text_parse_address(addresses[rand_r(seed) % 2], &vip->address);
	snprintf(vip->pool, sizeof(vip->pool), "pool%d", rand_r(seed) % 2);
}

/* VIPs at random are refused exactly where clients of two of them could meet. */
static void test_replies_by_walk(void **state)
{
	unsigned int seed = 20240229;
	size_t n_accepted = 0, n_ambiguous = 0;

	(void)state;
	print_message("# seed %u\n", seed);
	for (size_t round = 0; round < 20000; round++) {
		struct config_interface interface = {.name = "eth0"};
		struct config config = {.interfaces = &interface, .n_interfaces = 1};
		struct config_backend backends[4];
		struct config_pool pools[2];

		draw_config(&config, pools, backends, &seed);
		for (size_t i = 0; i < 4; i++) {
			struct config_error error = {0};
			struct config_vip vip, both[8];
			struct config with;
			int err;

			draw_vip(&vip, &seed);
			err = config_add_vip(&config, &vip, &error);
			if (!err) {
				assert_false(is_ambiguous(&config));
				n_accepted++;
				continue;
			}
			if (err == -EEXIST ||
			    (!vip.port && has_port(config_find_pool(&config, vip.pool))))
				continue;
			with = config;
			if (config.n_vips)
				memcpy(both, config.vips, config.n_vips * sizeof(vip));
			both[with.n_vips++] = vip;
			with.vips = both;
			if (!is_ambiguous(&with))
				fail_msg("refused for nothing: %s", error.what);
			n_ambiguous++;
		}
		free(config.vips);
	}
	/* Neither verdict is rare. */
	assert_true(n_accepted > 20000);
	assert_true(n_ambiguous > 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),	cmocka_unit_test(test_any_port),
		cmocka_unit_test(test_own_address),	cmocka_unit_test(test_replies),
		cmocka_unit_test(test_replies_by_walk),
	};

	return cmocka_run_group_tests_name("config nat", tests, NULL, NULL);
}
