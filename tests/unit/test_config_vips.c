/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* VIPs of prefixes and port ranges: their rules, and which of them a packet is for. */
#include "tests/unit/vip_reference.h"

#include "config/match.h"
#include "config/text.h"
#include "tests/unit/config_rows.h"

/* Lines 1 to 6, then a VIP a line. */
#define HEAD                                                                                       \
	"seed: 1\ninterfaces:\n  - name: eth0\npools:\n  - {name: web, forward: dr, backends: ["   \
	"]}\nvips:\n"
#define V(address, port) "  - {address: '" address "', protocol: tcp, port: " port ", pool: web}\n"
#define MUST_PREFIX                                                                                \
	"must be an IPv4 or IPv6 address, or a prefix: IPv4 /8 to /32, IPv6 /16 to /128, got "
#define MUST_PORTS "must be 0 to 65535, any, or a range such as 1000-2000, got "
#define SETS	   300
#define PACKETS	   1000
#define VIPS_MOST  60

static void test_prefixes(void **state)
{
	static const struct row rows[] = {
		{HEAD V("192.0.2.0/24", "80"), 0, NULL},
		{HEAD V("10.0.0.0/8", "80"), 0, NULL},
		{HEAD V("10.0.0.0/7", "80"), 7, "vips[0].address " MUST_PREFIX "'10.0.0.0/7'"},
		{HEAD V("0.0.0.0/0", "80"), 7, "vips[0].address " MUST_PREFIX "'0.0.0.0/0'"},
		{HEAD V("192.0.2.0/33", "80"), 7, "vips[0].address " MUST_PREFIX "'192.0.2.0/33'"},
		{HEAD V("192.0.2.0/", "80"), 7, "vips[0].address " MUST_PREFIX "'192.0.2.0/'"},
		{HEAD V("192.0.2.0/ 24", "80"), 7,
		 "vips[0].address " MUST_PREFIX "'192.0.2.0/ 24'"},
		{HEAD V("192.0.2/24", "80"), 7, "vips[0].address " MUST_PREFIX "'192.0.2/24'"},
		{HEAD V("2001::/16", "80"), 0, NULL},
		{HEAD V("2000::/15", "80"), 7, "vips[0].address " MUST_PREFIX "'2000::/15'"},
		{HEAD V("2001:db8::/129", "80"), 7,
		 "vips[0].address " MUST_PREFIX "'2001:db8::/129'"},
		{HEAD V("192.0.2.1/24", "80"), 7,
		 "vips[0].address 192.0.2.1/24 has bits set behind its first 24: the prefix is "
		 "192.0.2.0/24"},
		{HEAD V("192.0.2.3/31", "80"), 7,
		 "vips[0].address 192.0.2.3/31 has bits set behind its first 31: the prefix is "
		 "192.0.2.2/31"},
		{HEAD V("2001:db8:0:1:8000::/64", "80"), 7,
		 "vips[0].address 2001:db8:0:1:8000::/64 has bits set behind its first 64: the "
		 "prefix is 2001:db8:0:1::/64"},
		/* What may not be an address may not be in a prefix either. */
		{HEAD V("127.0.0.0/8", "80"), 7,
		 "vips[0].address must not be a loopback address, got '127.0.0.0'"},
		{HEAD V("224.0.0.0/24", "80"), 7,
		 "vips[0].address must not be a multicast address, got '224.0.0.0'"},
		{HEAD V("255.255.255.0/24", "80"), 7,
		 "vips[0].address must not have the broadcast address, got '255.255.255.0/24'"},
		{HEAD V("fe80::/64", "80"), 7,
		 "vips[0].address must not be a link-local address, got 'fe80::'"},
		{HEAD V("0:0:0:0:0:ff00::/88", "80"), 7,
		 "vips[0].address must not have an IPv4 address mapped into IPv6, got "
		 "'::ff00:0:0/88'"},
		/* All bits are no prefix. */
		{HEAD V("192.0.2.1/32", "80") V("192.0.2.1", "80"), 8,
		 "vips[1] 192.0.2.1:80/tcp is given twice (first at line 7)"},
		{HEAD V("2001:db8::1/128", "80") V("2001:db8::1", "80"), 8,
		 "vips[1] [2001:db8::1]:80/tcp is given twice (first at line 7)"},
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), "");
}

static void test_ports(void **state)
{
	static const struct row rows[] = {
		{HEAD V("192.0.2.1", "any"), 0, NULL},
		{HEAD V("192.0.2.1", "1-65535"), 0, NULL},
		{HEAD V("192.0.2.1", "2000-1000"), 7,
		 "vips[0].port must be a range that ascends, or one port, got '2000-1000'"},
		{HEAD V("192.0.2.1", "80-80"), 7,
		 "vips[0].port must be a range that ascends, or one port, got '80-80'"},
		{HEAD V("192.0.2.1", "0-5"), 7,
		 "vips[0].port must be a range that starts at 1 or above, got '0-5'"},
		{HEAD V("192.0.2.1", "5-0"), 7, "vips[0].port " MUST_PORTS "'5-0'"},
		{HEAD V("192.0.2.1", "0-65536"), 7, "vips[0].port " MUST_PORTS "'0-65536'"},
		{HEAD V("192.0.2.1", "1000 - 2000"), 7, "vips[0].port " MUST_PORTS "'1000 - 2000'"},
		{HEAD V("192.0.2.1", "1000-"), 7, "vips[0].port " MUST_PORTS "'1000-'"},
		{HEAD V("192.0.2.1", "'-5'"), 7, "vips[0].port " MUST_PORTS "'-5'"},
		{HEAD V("192.0.2.1", "all"), 7, "vips[0].port " MUST_PORTS "'all'"},
		{HEAD V("192.0.2.1", "any") V("192.0.2.1", "0"), 8,
		 "vips[1] 192.0.2.1:0/tcp is given twice (first at line 7)"},
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), "");
}

static void test_hash(void **state)
{
#define HASHED(hash) HEAD V("192.0.2.1", "80, hash: " hash)
	static const struct row rows[] = {
		{HASHED("5-tuple"), 0, NULL},
		{HASHED("source"), 0, NULL},
		{HASHED("source-port-less"), 0, NULL},
		{HASHED("port"), 7,
		 "vips[0].hash must be 5-tuple, source or source-port-less, got 'port'"},
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), "");
#undef HASHED
}

static void test_overlaps(void **state)
{
#define APART " in part; let one lie within the other, or apart"
	static const struct row rows[] = {
		/* Within each other, apart, and on other prefixes. */
		{HEAD V("192.0.2.1", "1000-2000") V("192.0.2.1", "1000-1999") V(
			 "192.0.2.1", "1200-1300") V("192.0.2.1", "1300-1999") V("192.0.2.1", "any")
			 V("192.0.2.1", "2001-3000") V("192.0.2.1", "1000")
				 V("192.0.2.0/24", "1500-2500") V("192.0.2.2", "1500-2500"),
		 10, "vips[3].port 1300-1999 overlaps VIP 192.0.2.1:1200-1300/tcp (line 9)" APART},
		{HEAD V("192.0.2.1", "1000-2000") V("192.0.2.1", "1000-1999") V(
			 "192.0.2.1", "1200-1300") V("192.0.2.1", "1301-1999") V("192.0.2.1", "any")
			 V("192.0.2.1", "2001-3000") V("192.0.2.1", "1000")
				 V("192.0.2.0/24", "1500-2500") V("192.0.2.2", "1500-2500"),
		 0, NULL},
		{HEAD V("192.0.2.0/24", "1000-2000") V("192.0.2.0/24", "1000-2000"), 8,
		 "vips[1] 192.0.2.0/24:1000-2000/tcp is given twice (first at line 7)"},
		{HEAD V("192.0.2.0/24", "1000-2000") V("192.0.2.0/24", "2000-3000"), 8,
		 "vips[1].port 2000-3000 overlaps VIP 192.0.2.0/24:1000-2000/tcp (line 7)" APART},
		{HEAD V("192.0.2.0/24", "2000-3000") V("192.0.2.0/24", "1000-2000"), 8,
		 "vips[1].port 1000-2000 overlaps VIP 192.0.2.0/24:2000-3000/tcp (line 7)" APART},
		/* As wide as each other. */
		{HEAD V("2001:db8::/64", "1-2") V("2001:db8::/64", "2-3"), 8,
		 "vips[1].port 2-3 overlaps VIP [2001:db8::/64]:1-2/tcp (line 7)" APART},
		{HEAD V("192.0.2.0/24", "1000-2000") V("192.0.2.0/25", "1500-2500")
			 V("192.0.3.0/24", "1500-2500") "  - {address: 192.0.2.0/24, protocol: "
							"udp, port: 1500-2500, pool: web}\n",
		 0, NULL},
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), "");
#undef APART
}

/* @n VIPs of @address with the ports @first, @first + 1... */
static void add_ports(struct config *config, const char *address, uint16_t first, int n)
{
	struct config_vip vip = {.protocol = IPPROTO_TCP, .pool = "web"};
	struct config_error error;

	assert_int_equal(text_parse_prefix(address, &vip.address, &vip.prefix_len), 0);
	for (int i = 0; i < n; i++) {
		vip.port = first + i;
		if (config_add_vip(config, &vip, &error))
			fail_msg("%s", error.what);
	}
}

static struct config config_empty(void)
{
	struct config config = {0};
	struct config_error error;

	if (config_read(&config, HEAD, strlen(HEAD), &error))
		fail_msg("%s", error.what);
	return config;
}

static void test_too_many(void **state)
{
	struct config_vip vip = {.protocol = IPPROTO_TCP, .pool = "web"};
	struct config config = config_empty();
	struct config_error error = {0};

	(void)state;
	/* Ports of one address are not counted: they are found another way. */
	add_ports(&config, "192.0.2.1", 1, 100);
	add_ports(&config, "192.0.2.0/24", 1, 10);
	add_ports(&config, "192.0.2.0/28", 11, 6);
	/* The same ports as the /24 has: those of the /24 are never met. */
	add_ports(&config, "192.0.2.16/28", 1, 10);
	assert_int_equal(text_parse_vip("192.0.2.0/28:17/tcp", &vip), 0);
	assert_int_equal(config_add_vip(&config, &vip, &error), -EINVAL);
	assert_string_equal(error.what,
			    "VIP 192.0.2.0/28:17/tcp is more than the 16 ports and ranges that a "
			    "prefix may have, counting those of prefixes that cover it");
	/* That the /24 gets one more is too much for the /28. */
	assert_int_equal(text_parse_vip("192.0.2.0/24:17/tcp", &vip), 0);
	assert_int_equal(config_add_vip(&config, &vip, &error), -EINVAL);
	/* A range that has all the ports is the last that is met. */
	assert_int_equal(text_parse_vip("192.0.2.16/28:any/tcp", &vip), 0);
	assert_int_equal(config_add_vip(&config, &vip, &error), 0);
	assert_int_equal(text_parse_vip("192.0.2.0/28:17/udp", &vip), 0);
	assert_int_equal(config_add_vip(&config, &vip, &error), 0);
	config_release(&config);
}

/* A set is refused where these say so, and where a prefix would have too many. */
static bool must_refuse(const struct config *config, const struct config_vip *vip)
{
	for (size_t i = 0; i < config->n_vips; i++) {
		const struct config_vip *other = &config->vips[i];
		int first = first_port(vip), last = last_port(vip);
		int other_first = first_port(other), other_last = last_port(other);

		if (other->protocol != vip->protocol || prefix_of(other) != prefix_of(vip) ||
		    !same_bits(&other->address, &vip->address, prefix_of(vip)))
			continue;
		if (first == other_first && last == other_last)
			return true;
		if (first < other_first && last >= other_first && last < other_last)
			return true;
		if (other_first < first && other_last >= first && other_last < last)
			return true;
	}
	return false;
}

static void draw_vips(struct config *config, size_t n, struct rng *rng, size_t *n_refused)
{
	for (size_t i = 0; i < n; i++) {
		struct config_vip vip = random_vip(rng);
		struct config_error error = {0};
		bool refuse = must_refuse(config, &vip);
		char text[TEXT_ENDPOINT_LEN];
		int err;

		strcpy(vip.pool, "web");
		err = config_add_vip(config, &vip, &error);
		*n_refused += refuse;
		if (refuse != !!err && !strstr(error.what, "16 ports"))
			fail_msg("%s: %d %s", text_vip(&vip, text), err, error.what);
	}
}

/* As packets find it: an exact entry, or the first that fits of the longest prefix. */
static const struct config_vip *find_in_lists(const struct config *config,
					      const struct config_vip_list *lists, size_t n,
					      const struct packet_to *packet)
{
	const struct config_vip_list *longest = NULL;

	for (size_t i = 0; i < config->n_vips; i++)
		if (config_vip_is_exact(&config->vips[i]) && fits(&config->vips[i], packet))
			return &config->vips[i];
	for (size_t i = 0; i < n; i++)
		if (lists[i].own->protocol == packet->protocol &&
		    same_bits(&lists[i].own->address, &packet->address, prefix_of(lists[i].own)) &&
		    (!longest || prefix_of(lists[i].own) > prefix_of(longest->own)))
			longest = &lists[i];
	for (size_t i = 0; longest && i < longest->n; i++)
		if (first_port(longest->vips[i]) <= packet->port &&
		    packet->port <= last_port(longest->vips[i]))
			return longest->vips[i];
	return NULL;
}

static void test_precedence(void **state)
{
	struct rng rng = rng_start(1);
	size_t found = 0, missed = 0, inherited = 0, refused = 0;

	(void)state;
	for (int set = 0; set < SETS; set++) {
		struct config config = config_empty();
		struct config_vip_list *lists;
		size_t n;

		draw_vips(&config, rng_below(&rng, VIPS_MOST), &rng, &refused);
		assert_int_equal(config_list_vips(&config, &lists, &n, NULL), 0);
		for (int i = 0; i < PACKETS; i++) {
			struct packet_to packet = random_packet_to(&config, &rng);
			const struct config_vip *vip = vip_by_walk(&config, &packet);

			assert_ptr_equal(config_match_vip(&config, &packet.address, packet.protocol,
							  packet.port),
					 vip);
			assert_ptr_equal(find_in_lists(&config, lists, n, &packet), vip);
			found += vip != NULL;
			missed += !vip;
		}
		for (size_t i = 0; i < n; i++)
			inherited +=
				prefix_of(lists[i].own) > prefix_of(lists[i].vips[lists[i].n - 1]);
		free(lists);
		config_release(&config);
	}
	print_message("# found %zu missed %zu inherited %zu refused %zu\n", found, missed,
		      inherited, refused);
	/* None of what this is about may be missing unseen. */
	assert_true(found > SETS * PACKETS / 4 && missed > SETS * PACKETS / 10);
	assert_true(inherited > SETS && refused > SETS / 2);
}

/* Text, model, text: as files and commands have VIPs. */
static void test_text(void **state)
{
	struct rng rng = rng_start(2);

	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct config_vip vip = random_vip(&rng), read = {0};
		char text[TEXT_ENDPOINT_LEN];

		assert_int_equal(text_parse_vip(text_vip(&vip, text), &read), 0);
		assert_memory_equal(&read, &vip, sizeof(vip));
	}
}

static void test_nat(void **state)
{
#define NAT_HEAD                                                                                   \
	"seed: 1\ninterfaces:\n  - name: eth0\npools:\n"                                           \
	"  - {name: web, forward: nat, backends: [{name: a, address: 10.0.0.1}]}\n"                \
	"  - {name: tls, forward: nat, backends: [{name: b, address: 10.0.0.1, port: 8443}]}\n"    \
	"  - {name: dns, forward: dr}\nvips:\n"
#define P(address, port, pool)                                                                     \
	"  - {address: '" address "', protocol: tcp, port: " port ", pool: " pool "}\n"
#define TELL ": nat could not tell their replies apart"
	static const struct row rows[] = {
		{NAT_HEAD P("192.0.2.1", "1000-2000", "web"), 0, NULL},
		{NAT_HEAD P("192.0.2.0/24", "80", "web"), 9,
		 "vips[0].address 192.0.2.0/24 is a prefix, which nat pool 'web' cannot serve: a "
		 "reply tells its backend, not which address the client asked for"},
		{NAT_HEAD P("192.0.2.1", "1000-2000", "tls"), 9,
		 "vips[0].port 1000-2000 does not go with port 8443 of backend 'b' in nat pool "
		 "'tls': replies could not get back the client's port"},
		{NAT_HEAD "  - {address: 192.0.2.1, protocol: sctp, port: 80, pool: web}\n", 9,
		 "vips[0].protocol sctp does not go with nat pool 'web': its CRC32c covers ports "
		 "and data, all of which nat would have to read again, and the data names "
		 "addresses"},
		{NAT_HEAD "  - {address: 192.0.2.1, protocol: sctp, port: 80, pool: dns}\n", 0,
		 NULL},
		/* Ranges and ports of one address: whichever it is, the source is the same. */
		{NAT_HEAD P("192.0.2.1", "1000-2000", "web") P("192.0.2.1", "3000-4000", "web")
			 P("192.0.2.1", "1500-1600", "web") P("192.0.2.1", "80", "web")
				 P("192.0.2.1", "1000", "web") P("192.0.2.1", "any", "web"),
		 0, NULL},
		{NAT_HEAD P("192.0.2.1", "1000-2000", "web") P("192.0.2.2", "3000-4000", "web"), 10,
		 "vips[1] 192.0.2.2:3000-4000/tcp and VIP 192.0.2.1:1000-2000/tcp (line 9) share "
		 "backend 10.0.0.1" TELL},
		/* A port outside the range of another address; and one inside. */
		{NAT_HEAD P("192.0.2.1", "1000-2000", "web") P("192.0.2.2", "80", "web"), 0, NULL},
		{NAT_HEAD P("192.0.2.1", "1000-2000", "web") P("192.0.2.2", "1500", "web"), 10,
		 "vips[1] 192.0.2.2:1500/tcp and VIP 192.0.2.1:1000-2000/tcp (line 9) share "
		 "backend 10.0.0.1:1500" TELL},
		/* By the port of the backend, not that of the VIP. */
		{NAT_HEAD P("192.0.2.1", "8000-8442", "web") P("192.0.2.1", "443", "tls"), 0, NULL},
		{NAT_HEAD P("192.0.2.1", "8000-8443", "web") P("192.0.2.1", "443", "tls"), 10,
		 "vips[1] 192.0.2.1:443/tcp and VIP 192.0.2.1:8000-8443/tcp (line 9) share "
		 "backend 10.0.0.1:8443" TELL},
		/* Of several ranges the second is the one that has it. */
		{NAT_HEAD P("192.0.2.1", "1000-2000", "web") P("192.0.2.1", "8000-9000", "web")
			 P("192.0.2.1", "443", "tls"),
		 11,
		 "vips[2] 192.0.2.1:443/tcp and VIP 192.0.2.1:8000-9000/tcp (line 10) share "
		 "backend 10.0.0.1:8443" TELL},
		/* A nat backend within a prefix that is balanced. */
		{NAT_HEAD P("192.0.2.1", "80", "web") P("10.0.0.0/24", "53", "dns"), 5,
		 "pools[0].backends[0].address 10.0.0.1 is also that of VIP 10.0.0.0/24:53/tcp: "
		 "what nat sends there would come back"},
		{NAT_HEAD P("10.0.0.0/25", "80", "dns") P("10.0.0.0/24", "53", "dns")
			 P("10.0.0.2", "53", "dns") P("9.0.0.0/8", "53", "dns"),
		 5,
		 "pools[0].backends[0].address 10.0.0.1 is also that of VIP 10.0.0.0/25:80/tcp: "
		 "what nat sends there would come back"},
		{NAT_HEAD P("10.0.0.2/31", "80", "dns") P("10.0.0.0", "53", "dns")
			 P("9.0.0.0/8", "53", "dns") P("10.0.1.0/24", "53", "dns"),
		 0, NULL},
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefixes), cmocka_unit_test(test_ports),
		cmocka_unit_test(test_hash),	 cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_too_many), cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_text),	 cmocka_unit_test(test_nat),
	};

	test_seed_print();
	return cmocka_run_group_tests_name("config vips", tests, NULL, NULL);
}
