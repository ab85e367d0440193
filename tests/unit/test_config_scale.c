/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The limits: the largest model there is loads, one more of anything is refused,
 * and neither a large model nor a hostile file takes long. The bounds on time are
 * far above what is measured; only work that grows with the square passes them.
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
#include <time.h>

#include "config/text.h"

#define HEAD "seed: 1\ninterfaces: [{name: eth0}]\n"

/* YAML in the making; freed by check(). */
struct draft {
	FILE *file;
	char *text;
	size_t len;
};

static void draft_open(struct draft *draft)
{
	draft->file = open_memstream(&draft->text, &draft->len);
	assert_non_null(draft->file);
}

/* Of this process alone: a busy machine must not fail a test. */
static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void assert_quick(const char *what, double start, double limit)
{
	double taken = seconds() - start;

	print_message("# %s: %.3f s\n", what, taken);
	if (taken > limit)
		fail_msg("%s took %.3f s, more than %.3f s", what, taken, limit);
}

/* @what: the whole error, or NULL if the text is accepted; @config may be NULL. */
static void check(struct draft *draft, struct config *config, const char *name, const char *what)
{
	struct config_error error = {0};
	struct config read;
	double start;
	int err;

	assert_int_equal(fclose(draft->file), 0);
	start = seconds();
	err = config_read(&read, draft->text, draft->len, &error);
	assert_quick(name, start, 10);
	free(draft->text);
	if (what) {
		assert_int_equal(err, -EINVAL);
		assert_string_equal(error.what, what);
		return;
	}
	if (err)
		fail_msg("line %zu: %s", error.line, error.what);
	if (config)
		*config = read;
	else
		config_release(&read);
}

static void draft_backends(struct draft *draft, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		fprintf(draft->file,
			"      - {name: backend-%zu, address: 10.%zu.%zu.%zu, port: 8080}\n", i,
			i >> 16, i >> 8 & 255, i & 255);
}

static void draft_pool(struct draft *draft, const char *name, const char *forward)
{
	fprintf(draft->file, "  - name: %s\n    forward: %s\n    vnodes: 20\n    backends:\n", name,
		forward);
}

static void check_one_more_backend(struct config *config)
{
	struct config_backend backend = {.name = "more", .weight_milli = 1};
	struct config_error error;

	assert_int_equal(text_parse_address("10.255.0.1", &backend.address), 0);
	assert_int_equal(config_add_backend(config, "web", &backend, &error), -EINVAL);
	assert_string_equal(error.what, "65536 backends over all pools, at most 65535 fit");
	assert_int_equal(config->pools[0].n_backends, CONFIG_BACKENDS_MAX);
}

static void test_backends(void **state)
{
	static const char vip[] =
		"vips: [{address: 192.0.2.10, protocol: tcp, port: 80, pool: web}]\n";
	struct config config, copy;
	struct draft draft;
	double start;

	(void)state;
	draft_open(&draft);
	fputs(HEAD "pools:\n", draft.file);
	draft_pool(&draft, "web", "nat");
	draft_backends(&draft, 0, CONFIG_BACKENDS_MAX);
	fputs(vip, draft.file);
	check(&draft, &config, "65,535 backends", NULL);
	assert_int_equal(config.pools[0].n_backends, CONFIG_BACKENDS_MAX);

	start = seconds();
	assert_int_equal(config_copy(&copy, &config), 0);
	/* In another order, so that none is found at its own index. */
	for (size_t i = 0, j = CONFIG_BACKENDS_MAX - 1; i < j; i++, j--) {
		struct config_backend backend = copy.pools[0].backends[i];

		copy.pools[0].backends[i] = copy.pools[0].backends[j];
		copy.pools[0].backends[j] = backend;
	}
	assert_true(config_equal(&copy, &config));
	assert_quick("copying and comparing them", start, 2);
	check_one_more_backend(&copy);
	config_release(&copy);
	config_release(&config);

	draft_open(&draft);
	fputs(HEAD "pools:\n", draft.file);
	draft_pool(&draft, "web", "nat");
	draft_backends(&draft, 0, 40000);
	draft_pool(&draft, "api", "nat");
	draft_backends(&draft, 40000, CONFIG_BACKENDS_MAX + 1 - 40000);
	fputs(vip, draft.file);
	check(&draft, NULL, "65,536 backends",
	      "pools[1].backends makes 65536 backends over all pools, at most 65535 fit");
}

static void test_duplicates(void **state)
{
	struct draft draft;

	(void)state;
	draft_open(&draft);
	fputs(HEAD "pools:\n", draft.file);
	draft_pool(&draft, "web", "nat");
	draft_backends(&draft, 0, CONFIG_BACKENDS_MAX - 1);
	draft_backends(&draft, 30000, 1);
	check(&draft, NULL, "65,535 backends, one of them twice",
	      "pools[0].backends[65534].name 'backend-30000' is given twice (first at line "
	      "30008)");
}

static void draft_vips(struct draft *draft, size_t n, const char *pool)
{
	fputs("vips:\n", draft->file);
	for (size_t i = 0; i < n; i++)
		fprintf(draft->file,
			"  - {address: 198.51.100.%zu, protocol: tcp, port: %zu, pool: %s}\n",
			i % 250 + 1, i / 250 + 1, pool);
}

static void test_other_limits(void **state)
{
	struct draft draft;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		draft_open(&draft);
		fputs("seed: 1\ninterfaces:\n", draft.file);
		for (size_t i = 0; i < CONFIG_INTERFACES_MAX + more; i++)
			fprintf(draft.file, "  - name: eth%zu\n", i);
		check(&draft, NULL, "interfaces",
		      more ? "interfaces must have at most 64 entries, got 65" : NULL);

		draft_open(&draft);
		fputs(HEAD "pools:\n", draft.file);
		for (size_t i = 0; i < CONFIG_POOLS_MAX + more; i++)
			fprintf(draft.file, "  - {name: pool-%zu, forward: nat}\n", i);
		check(&draft, NULL, "pools",
		      more ? "pools must have at most 512 entries, got 513" : NULL);

		draft_open(&draft);
		fputs(HEAD "pools: [{name: web, forward: dr}]\n", draft.file);
		draft_vips(&draft, CONFIG_VIPS_MAX + more, "web");
		check(&draft, NULL, "VIPs",
		      more ? "vips must have at most 4096 entries, got 4097" : NULL);
	}
}

/* Each VIP of a nat pool needs a reply entry for each backend: 32 x 4,096 = 131,072. */
static void test_replies(void **state)
{
	struct draft draft;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		draft_open(&draft);
		fputs(HEAD "pools:\n", draft.file);
		fputs("  - name: web\n    forward: nat\n    backends:\n", draft.file);
		for (size_t i = 0; i < 4096; i++)
			fprintf(draft.file, "      - {name: b%zu, address: 10.0.%zu.%zu}\n", i,
				i >> 8, i & 255);
		fputs("  - name: one\n    forward: nat\n    backends:\n"
		      "      - {name: b, address: 10.1.0.1}\n",
		      draft.file);
		fputs("vips:\n", draft.file);
		for (size_t i = 0; i < 32; i++)
			fprintf(draft.file,
				"  - {address: 192.0.2.10, protocol: tcp, port: %zu, pool: web}\n",
				i + 1);
		if (more)
			fputs("  - {address: 192.0.2.10, protocol: udp, port: 1, pool: one}\n",
			      draft.file);
		check(&draft, NULL, "nat replies",
		      more ? "vips[32] makes 131073 pairs of a VIP and a nat backend, at most "
			     "131072 fit"
			   : NULL);
	}
}

/* Files that ask for much more than they are long. */
static void test_hostile(void **state)
{
	struct draft draft;

	(void)state;
	draft_open(&draft);
	fputs(HEAD "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n", draft.file);
	for (int i = 1; i < 100; i++)
		fprintf(draft.file, "b%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1,
			i - 1, i - 1);
	check(&draft, NULL, "aliases of aliases", "unknown field 'a' at the top level");

	draft_open(&draft);
	fputs(HEAD "pools:\n  - name: web\n    forward: nat\n    backends: &all\n", draft.file);
	draft_backends(&draft, 0, 60000);
	for (int i = 1; i < CONFIG_POOLS_MAX; i++)
		fprintf(draft.file, "  - {name: p%d, forward: nat, backends: *all}\n", i);
	check(&draft, NULL, "60,000 backends 512 times",
	      "pools[1].backends makes 120000 backends over all pools, at most 65535 fit");

	draft_open(&draft);
	fputs(HEAD "pools:\n", draft.file);
	for (int i = 0; i < 1000000; i++)
		fprintf(draft.file, "- &a%d\n", i);
	check(&draft, NULL, "a million anchors", "more than 256 anchors");

	draft_open(&draft);
	fputs(HEAD "pools: [", draft.file);
	for (int i = 0; i < 8000000; i++)
		fputs(", x" + (i ? 0 : 2), draft.file);
	fputs("]\n", draft.file);
	check(&draft, NULL, "eight million values", "more values than any valid file has");

	draft_open(&draft);
	fputs(HEAD "pools: ", draft.file);
	for (int i = 0; i < 1000000; i++)
		fputs("[", draft.file);
	check(&draft, NULL, "a million brackets", "nested more than 16 deep");

	draft_open(&draft);
	for (int i = 0; i < 1000000; i++)
		fprintf(draft.file, "%%TAG !%d! tag:example.org:\n", i);
	check(&draft, NULL, "a million tags",
	      "YAML tags have no meaning here, remove the %TAG directive");

	draft_open(&draft);
	fputs(HEAD "pools:\n  - name: ", draft.file);
	for (int i = 0; i < 8000000; i++)
		fputs("name", draft.file);
	check(&draft, NULL, "a long word",
	      "pools[0].name must be 1 to 63 letters, digits, '.', '_' or '-', starting with a "
	      "letter or digit, got 'namenamenamenamenamenamenamenamenamenamenamename"
	      "namenamenamenamenamenam...'");
}

static void test_one_more_vip(void **state)
{
	struct config_vip vip = {.pool = "web"};
	struct config_error error;
	struct config config;
	struct draft draft;

	(void)state;
	draft_open(&draft);
	fputs(HEAD "pools: [{name: web, forward: dr}]\n", draft.file);
	draft_vips(&draft, CONFIG_VIPS_MAX, "web");
	check(&draft, &config, "VIPs", NULL);
	assert_int_equal(text_parse_vip("192.0.2.10:80/tcp", &vip), 0);
	assert_int_equal(config_add_vip(&config, &vip, &error), -EINVAL);
	assert_string_equal(error.what, "vips must have at most 4096 entries, got 4097");
	assert_int_equal(config.n_vips, CONFIG_VIPS_MAX);
	config_release(&config);
}

static void test_edits(void **state)
{
	struct config_backend backend = {.weight_milli = CONFIG_WEIGHT_ONE};
	struct config_error error = {0};
	struct config config;
	struct draft draft;
	double start;

	(void)state;
	draft_open(&draft);
	fputs(HEAD "pools:\n", draft.file);
	draft_pool(&draft, "web", "nat");
	draft_backends(&draft, 0, 10000);
	fputs("vips: [{address: 192.0.2.10, protocol: tcp, port: 80, pool: web}]\n", draft.file);
	check(&draft, &config, "10,000 backends", NULL);
	start = seconds();
	for (int i = 0; i < 10; i++) {
		snprintf(backend.name, sizeof(backend.name), "new-%d", i);
		assert_int_equal(text_parse_address("10.255.0.1", &backend.address), 0);
		backend.port = (uint16_t)(i + 1);
		assert_int_equal(config_add_backend(&config, "web", &backend, &error), 0);
	}
	assert_quick("adding 10 to 10,000 backends", start, 1);
	config_release(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backends),     cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_other_limits), cmocka_unit_test(test_replies),
		cmocka_unit_test(test_hostile),	     cmocka_unit_test(test_edits),
		cmocka_unit_test(test_one_more_vip),
	};

	return cmocka_run_group_tests_name("config scale", tests, NULL, NULL);
}
