/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses and prefixes of ringlb-backend, and the file that says what to put back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/address.h"
#include "backend/record.h"

static char dir[] = "/tmp/ringlb-record-XXXXXX";
static char path[64];

static struct backend_address address_of(const char *text)
{
	struct backend_address address;

	assert_int_equal(address_parse(text, &address), 0);
	return address;
}

static void test_address(void **state)
{
	const char *const good[] = {"192.0.2.1", "0.0.0.0", "2001:db8::1", "::", "fe80::1"};
	const char *const bad[] = {"",		 "192.0.2",  "192.0.2.256",    "192.0.2.1/32",
				   "192.0.2.1 ", "2001:db8", "2001:db8::1%lo", "localhost"};
	struct backend_address address = {.family = 9};
	char text[ADDRESS_TEXT_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		address = address_of(good[i]);
		assert_string_equal(address_text(&address, text), good[i]);
	}
	address.family = 9;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(address_parse(bad[i], &address), -EINVAL);
	assert_int_equal(address.family, 9);
}

static void test_prefix(void **state)
{
	const char *const good[] = {"10.0.0.0/8",    "10.0.0.1", "0.0.0.0/0", "10.0.0.128/25",
				    "2001:db8::/32", "::/0",	 "fd00::1"};
	const char *const bad[] = {"10.0.0.1/31", "10.0.0.0/33", "10.0.0.0/",	  "10.0.0.0/-1",
				   "10.0.0.0/ 8", "10.0.0.0/8x", "10.0.0.129/25", "fd00::1/127",
				   "fd00::/129",  "/8",		 "10.0.0.0//8",	  "0.0.0.1/0"};
	struct backend_prefix prefix;
	char text[ADDRESS_TEXT_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(prefix_parse(good[i], &prefix), 0);
		assert_string_equal(prefix_text(&prefix, text), good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(prefix_parse(bad[i], &prefix), -EINVAL);
	assert_int_equal(prefix_parse("10.0.0.1/32", &prefix), 0);
	assert_int_equal(prefix.len_bits, BACKEND_FAMILY_BITS + 32);
	assert_int_equal(prefix_parse("fd00::1/128", &prefix), 0);
	assert_int_equal(prefix.len_bits, BACKEND_FAMILY_BITS + 128);
}

static void test_usable(void **state)
{
	const char *const usable[] = {"192.0.2.1", "10.0.0.1", "223.255.255.255", "2001:db8::1",
				      "fd00::1"};
	const char *const not_usable[] = {
		"0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "255.255.255.255",
		"::",	   "::1",     "fe80::1",   "ff02::1",	"::ffff:192.0.2.1"};

	(void)state;
	for (size_t i = 0; i < sizeof(usable) / sizeof(usable[0]); i++) {
		const struct backend_address address = address_of(usable[i]);

		assert_true(address_is_usable(&address));
	}
	for (size_t i = 0; i < sizeof(not_usable) / sizeof(not_usable[0]); i++) {
		const struct backend_address address = address_of(not_usable[i]);

		assert_false(address_is_usable(&address));
	}
}

/* In any order, twice, up to the limit: the set is the same. */
static void test_set(void **state)
{
	const char *const order[] = {"10.0.0.2", "fd00::1", "10.0.0.1", "fd00::1", "10.0.0.2"};
	struct backend_address set[3] = {}, other = address_of("10.0.0.3");
	uint32_t len = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct backend_address address = address_of(order[i]);

		assert_int_equal(addresses_add(set, &len, 3, &address), 0);
	}
	assert_int_equal(len, 3);
	for (uint32_t i = 1; i < len; i++)
		assert_true(memcmp(&set[i - 1], &set[i], sizeof(set[i])) < 0);
	assert_int_equal(addresses_add(set, &len, 3, &other), -ENOSPC);
	assert_int_equal(len, 3);
	assert_false(addresses_have(set, len, &other));
	assert_true(addresses_have(set, len, &set[1]));
}

static struct backend_prefix prefix_from(const char *text)
{
	struct backend_prefix prefix;

	assert_int_equal(prefix_parse(text, &prefix), 0);
	return prefix;
}

static void test_covers(void **state)
{
	const struct {
		const char *prefix, *inside[3], *outside[3];
	} cases[] = {
		{"10.8.0.0/13",
		 {"10.8.0.0", "10.15.255.255", "10.11.3.4"},
		 {"10.7.255.255", "10.16.0.0", "a08::"}},
		{"192.0.2.1",
		 {"192.0.2.1", "192.0.2.1", "192.0.2.1"},
		 {"192.0.2.0", "192.0.2.2", "::"}},
		{"2001:db8:0:8000::/49",
		 {"2001:db8:0:8000::", "2001:db8:0:ffff:ffff::1", "2001:db8:0:9000::"},
		 {"2001:db8:0:7fff::1", "2001:db8:1:8000::", "32.1.13.184"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct backend_prefix prefix = prefix_from(cases[i].prefix);

		for (size_t a = 0; a < 3; a++) {
			const struct backend_address inside = address_of(cases[i].inside[a]);
			const struct backend_address outside = address_of(cases[i].outside[a]);

			assert_true(prefix_covers(&prefix, &inside));
			assert_false(prefix_covers(&prefix, &outside));
		}
	}
}

static void add_vip(struct attach_options *options, const char *text)
{
	const struct backend_prefix vip = prefix_from(text);

	assert_int_equal(prefixes_add(options->vips, &options->n_vips, BACKEND_VIPS_MAX, &vip), 0);
}

/* Two interfaces with all that can be said of one. */
static void fill(struct record *record)
{
	struct record_interface *first = &record->interfaces[0];
	struct record_interface *second = &record->interfaces[1];
	const struct backend_prefix from = prefix_from("10.0.0.0/8");

	memset(record, 0, sizeof(*record));
	record->n_interfaces = 2;
	snprintf(first->name, sizeof(first->name), "eth0.100");
	first->ifindex = 7;
	first->egress_ifindex = 9;
	first->clsact = true;
	first->rp_filter = (struct change){.made = true, .before = 1, .set = 2};
	first->options.mode = MODE_GUE;
	first->options.gue_port = 6081;
	first->options.mss = 1400;
	snprintf(first->options.egress, sizeof(first->options.egress), "eth1");
	add_vip(&first->options, "192.0.2.1");
	add_vip(&first->options, "2001:db8::1");
	add_vip(&first->options, "198.51.100.0/24");
	assert_int_equal(
		prefixes_add(first->options.from, &first->options.n_from, BACKEND_FROM_MAX, &from),
		0);
	snprintf(second->name, sizeof(second->name), "a'b\"c\\d");
	second->ifindex = 0x7fffffff;
	second->options.mode = MODE_DR;
	add_vip(&second->options, "2001:db8::2");
	record->added[record->n_added++] = prefix_from("198.51.100.0/24");
	record->added[record->n_added++] = prefix_from("192.0.2.1");
	record->arp_ignore = (struct change){.made = true, .before = 0, .set = 1};
}

static void test_round_trip(void **state)
{
	struct record *wrote = malloc(sizeof(*wrote)), *read = malloc(sizeof(*read));
	struct failure failure;

	(void)state;
	assert_int_equal(record_read(dir, read, &failure), 0);
	assert_int_equal(read->n_interfaces, 0);
	fill(wrote);
	assert_int_equal(record_write(dir, wrote, &failure), 0);
	memset(read, 0xff, sizeof(*read));
	assert_int_equal(record_read(dir, read, &failure), 0);
	assert_memory_equal(wrote, read, sizeof(*read));
	/* Without interfaces there is nothing to put back, and no file. */
	wrote->n_interfaces = 0;
	assert_int_equal(record_write(dir, wrote, &failure), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(record_write(dir, wrote, &failure), 0);
	free(wrote);
	free(read);
}

/* The file, with @from replaced by @to. */
static void edit(const char *from, const char *to)
{
	char text[8192] = "", *at;
	FILE *file = fopen(path, "r");
	size_t len = fread(text, 1, sizeof(text) - 1, file);

	fclose(file);
	assert_true(len > 0 && len < sizeof(text) - 1);
	at = strstr(text, from);
	assert_non_null(at);
	file = fopen(path, "w");
	fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	fclose(file);
}

static void test_damaged(void **state)
{
	static const struct {
		const char *from, *to;
		int err;
	} rows[] = {
		{"\"version\": 1", "\"version\": 2", -EINVAL},
		{"\"mode\": \"gue\"", "\"mode\": \"gre\"", -EINVAL},
		{"192.0.2.1", "192.0.2", -EINVAL},
		{"10.0.0.0/8", "10.0.0.0/99", -EINVAL},
		{"\"ifindex\": 7", "\"ifindex\": 0", -EINVAL},
		{"\"ifindex\": 7", "\"ifindex\": -7", -EINVAL},
		{"\"eth0.100\"", "\"eth0.100.much.too.long\"", -EINVAL},
		{"\"gue_port\": 6081", "\"gue_port\": 65536", -EINVAL},
		{"\"clsact\": true,", "", -EINVAL},
		{"\"before\": 1", "\"before\": \"1\"", -EINVAL},
		{"}", "", -EINVAL},
		{"\"boot\": \"", "\"boot\": \"another", 0},
		{"\"namespace\": ", "\"namespace\": 1", -EXDEV},
	};
	struct record *record = malloc(sizeof(*record));
	struct failure failure;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fill(record);
		assert_int_equal(record_write(dir, record, &failure), 0);
		edit(rows[i].from, rows[i].to);
		failure.what[0] = '\0';
		assert_int_equal(record_read(dir, record, &failure), rows[i].err);
		if (rows[i].err)
			assert_non_null(strstr(failure.what, path));
		assert_int_equal(record->n_interfaces, 0);
	}
	assert_int_equal(unlink(path), 0);
	free(record);
}

/* What cannot be written leaves what was there. */
static void test_write_fails(void **state)
{
	struct record *record = malloc(sizeof(*record));
	struct failure failure;
	char temporary[80];

	(void)state;
	fill(record);
	assert_int_equal(record_write(dir, record, &failure), 0);
	snprintf(temporary, sizeof(temporary), "%s/.state.json.new", dir);
	assert_int_equal(mkdir(temporary, 0700), 0);
	record->n_interfaces = 1;
	assert_int_equal(record_write(dir, record, &failure), -EISDIR);
	assert_int_equal(rmdir(temporary), 0);
	assert_int_equal(record_read(dir, record, &failure), 0);
	assert_int_equal(record->n_interfaces, 2);
	assert_int_equal(record_write("/nonexistent", record, &failure), -ENOENT);
	assert_int_equal(record_lock("/nonexistent/dir", &failure), -ENOENT);
	assert_int_equal(unlink(path), 0);
	free(record);
}

static void test_find(void **state)
{
	struct record *record = malloc(sizeof(*record));
	const struct backend_prefix vip = prefix_from("2001:db8::2"),
				    other = prefix_from("10.0.0.1");
	const struct backend_address inside = address_of("198.51.100.7");

	(void)state;
	fill(record);
	/* The number tells; the name does where there is no such number. */
	assert_ptr_equal(record_find(record, "renamed", 7), &record->interfaces[0]);
	assert_ptr_equal(record_find(record, "eth0.100", 0), &record->interfaces[0]);
	assert_ptr_equal(record_find(record, "eth0.100", 8), &record->interfaces[0]);
	assert_null(record_find(record, "eth1", 8));
	assert_null(record_find(record, "eth1", 0));
	assert_true(record_uses_vip(record, &vip));
	assert_false(record_uses_vip(record, &other));
	assert_true(record_covers(record, &vip.address));
	assert_true(record_covers(record, &inside));
	assert_false(record_covers(record, &other.address));
	assert_true(record_has_ipv4(record));
	record_forget(record, &record->interfaces[0]);
	assert_int_equal(record->n_interfaces, 1);
	assert_int_equal(record->interfaces[0].ifindex, 0x7fffffff);
	assert_false(record_has_ipv4(record));
	free(record);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/state.json", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address), cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_usable),	cmocka_unit_test(test_set),
		cmocka_unit_test(test_covers),	cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_write_fails),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
