/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The QUIC ids of backends in the configuration: what is read, refused, written and edited. */
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

#include "config/model.h"
#include "config/quic.h"
#include "config/text.h"
#include "tests/unit/config_rows.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Lines 1 to 6; backends begin at line 7, one a line. */
#define HEAD                                                                                       \
	"seed: 1\ninterfaces: [{name: eth0}]\npools:\n"                                            \
	"  - name: h3\n    forward: nat\n    backends:\n"
#define B(n, rest) "      - {name: b" #n ", address: 10.0.0." #n rest "}\n"
#define ID(text)   ", quic_id: \"" text "\""

#define FIFTEEN "000102030405060708090a0b0c0d0e"
#define MUST	"must be CONFIGURATION:BYTES in hexadecimal, as in 0:12ab or 0:12ab,1:07, got "

static struct config read_config(const char *yaml)
{
	struct config_error error = {0};
	struct config config;

	if (config_read(&config, yaml, strlen(yaml), &error))
		fail_msg("refused: %s\nline %zu: %s", yaml, error.line, error.what);
	return config;
}

static void spellings(void **state)
{
	static const struct row rows[] = {
		{HEAD B(1, ID("0:00")), 0, NULL},
		{HEAD B(1, ID("6:" FIFTEEN)), 0, NULL},
		{HEAD B(1, ID("0:Ab,3:CD01,1:ef")), 0, NULL},
		{HEAD "      - name: b1\n        address: 10.0.0.1\n        quic_id: 0:1234\n", 0,
		 NULL},
		{HEAD B(1, ID("")), 7,
		 "[0].quic_id " MUST "'' (the configuration, 0 to 6, comes first)"},
		{HEAD B(1, ID("1234")), 7,
		 "[0].quic_id " MUST "'1234' (the configuration, 0 to 6, comes first)"},
		{HEAD B(1, ID("7:1234")), 7,
		 "[0].quic_id " MUST
		 "'7:1234' (configuration 7 marks connection ids that name nobody)"},
		{HEAD B(1, ID("0:123")), 7, "[0].quic_id " MUST "'0:123' (a byte has two digits)"},
		{HEAD B(1, ID("0:" FIFTEEN "0f")), 7,
		 "[0].quic_id " MUST "'0:" FIFTEEN "0f' (at most 15 bytes)"},
		{HEAD B(1, ID("0:")), 7, "[0].quic_id " MUST "'0:'"},
		{HEAD B(1, ID("9:12")), 7, "[0].quic_id " MUST "'9:12'"},
		{HEAD B(1, ID("/:12")), 7, "[0].quic_id " MUST "'/:12'"},
		{HEAD B(1, ID("0:0x12")), 7,
		 "[0].quic_id " MUST "'0:0x12' (a byte has two digits)"},
		{HEAD B(1, ID("0:12 ")), 7, "[0].quic_id " MUST "'0:12 '"},
		{HEAD B(1, ID("0:12,")), 7, "[0].quic_id " MUST "'0:12,'"},
		{HEAD B(1, ID("0:12,0:13")), 7, "[0].quic_id " MUST "'0:12,0:13'"},
		{HEAD B(1, ID("0:12;1:13")), 7, "[0].quic_id " MUST "'0:12;1:13'"},
		{HEAD B(1, ", quic_id: [12]"), 7, "[0].quic_id must be a single value, got a list"},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "pools[0].backends");
}

static void what_belongs_together(void **state)
{
	static const struct row rows[] = {
		{HEAD B(1, ID("0:12")) B(2, ID("0:13")), 0, NULL},
		{HEAD B(1, ID("0:12,1:0012")) B(2, ID("0:13,1:0013")), 0, NULL},
		/* The same id in another configuration, and in another pool, is another. */
		{HEAD B(1, ID("0:12,1:13")) B(2, ID("0:13,1:12")), 0, NULL},
		{HEAD B(1, ID("0:12")) "  - name: other\n    forward: nat\n    backends:\n" B(
			 2, ID("0:12")),
		 0, NULL},
		{HEAD B(1, ID("0:12")) B(2, ID("0:12")), 8,
		 "[1].quic_id 0:12 is given twice (first at line 7)"},
		{HEAD B(1, ID("0:12")) B(2, ID("0:aa")) B(3, ID("0:AA")) B(4, ID("0:12")), 9,
		 "[2].quic_id 0:aa is given twice (first at line 8)"},
		{HEAD B(1, ID("0:12,5:01")) B(2, ID("0:13,5:01")), 8,
		 "[1].quic_id 5:01 is given twice (first at line 7)"},
		{HEAD B(1, ID("0:12")) B(2, ID("0:0012")), 8,
		 "[1].quic_id has 2 bytes for configuration 0, which has 1 (first at line 7)"},
		{HEAD B(1, ID("0:12")) B(2, ""), 8,
		 "[1].quic_id must have an id for configuration 0, as backend 'b1' has"},
		{HEAD B(1, "") B(2, ID("0:12")), 7,
		 "[0].quic_id must have an id for configuration 0, as backend 'b2' has"},
		{HEAD B(1, ID("0:12,1:07")) B(2, ID("0:13")), 8,
		 "[1].quic_id must have an id for configuration 1, as backend 'b1' has"},
		/* One that drains opens no connections; others need not have what it has. */
		{HEAD B(1, ID("0:12")) B(2, ", drain: keep"), 0, NULL},
		{HEAD B(1, ID("0:12") ", drain: remove") B(2, ""), 0, NULL},
		{HEAD B(1, ID("0:12") ", drain: remove") B(2, ID("0:12")), 8,
		 "[1].quic_id 0:12 is given twice (first at line 7)"},
	};

	(void)state;
	check_rows(rows, COUNT(rows), "pools[0].backends");
}

static void ids_are_read(void **state)
{
	struct config config = read_config(HEAD B(1, ID("4:0aFf,1:07")));
	const struct config_quic_id *ids = config.pools[0].backends[0].quic_ids;
	char text[CONFIG_QUIC_TEXT_LEN];

	(void)state;
	assert_int_equal(ids[4].len, 2);
	assert_memory_equal(ids[4].bytes, "\x0a\xff", 2);
	assert_int_equal(ids[1].len, 1);
	assert_int_equal(ids[1].bytes[0], 7);
	for (int c = 0; c < CONFIG_QUIC_CONFIGS; c++)
		assert_true(c == 4 || c == 1 || !ids[c].len);
	assert_string_equal(config_quic_text(ids, text), "1:07,4:0aff");
	config_release(&config);
}

static void the_longest_has_room(void **state)
{
	static const char longest[] = "0:" FIFTEEN ",1:" FIFTEEN ",2:" FIFTEEN ",3:" FIFTEEN
				      ",4:" FIFTEEN ",5:" FIFTEEN ",6:" FIFTEEN;
	struct config_quic_id ids[CONFIG_QUIC_CONFIGS];
	char text[CONFIG_QUIC_TEXT_LEN];

	(void)state;
	assert_int_equal(sizeof(longest), CONFIG_QUIC_TEXT_LEN);
	assert_int_equal(config_quic_parse(longest, ids), 0);
	assert_string_equal(config_quic_text(ids, text), longest);
	memset(ids, 0, sizeof(ids));
	assert_string_equal(config_quic_text(ids, text), "");
	assert_false(config_quic_given(ids));
}

static void written_and_read_back(void **state)
{
	static const char yaml[] = HEAD B(1, ID("6:12,0:01ff")) B(2, ID("0:0200,6:13"));
	struct config config = read_config(yaml), again;
	char *text;
	size_t len;

	(void)state;
	assert_int_equal(config_format(&config, &text, &len), 0);
	text = realloc(text, len + 1);
	text[len] = '\0';
	assert_non_null(strstr(text, "quic_id: \"0:01ff,6:12\""));
	again = read_config(text);
	assert_true(config_equal(&config, &again));
	again.pools[0].backends[1].quic_ids[6].bytes[0]++;
	assert_false(config_equal(&config, &again));
	config_release(&again);
	config_release(&config);
	free(text);
}

static struct config_backend new_backend(const char *quic)
{
	struct config_backend backend = {.name = "new", .weight_milli = CONFIG_WEIGHT_ONE};

	assert_int_equal(text_parse_address("10.0.0.9", &backend.address), 0);
	if (quic)
		assert_int_equal(config_quic_parse(quic, backend.quic_ids), 0);
	return backend;
}

static void edits_are_judged(void **state)
{
	static const struct {
		const char *quic;
		const char *what;
	} rows[] = {
		{NULL,
		 "backend 'new': quic_id must have an id for configuration 0, as backend 'b1' "
		 "has"},
		{"0:12", "backend 'new': quic_id 0:12 is given twice (first by backend 'b1')"},
		{"0:1212", "backend 'new': quic_id has 2 bytes for configuration 0, which has 1 "
			   "(first by backend 'b1')"},
		{"0:14,1:00",
		 "backend 'b1': quic_id must have an id for configuration 1, as backend "
		 "'new' has"},
	};
	struct config config = read_config(HEAD B(1, ID("0:12")) B(2, ID("0:13")));
	struct config_backend backend = new_backend("0:14");
	struct config_error error;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct config_backend refused = new_backend(rows[i].quic);

		assert_int_equal(config_add_backend(&config, "h3", &refused, &error), -EINVAL);
		assert_string_equal(error.what, rows[i].what);
		assert_int_equal(config.pools[0].n_backends, 2);
	}
	/* Bytes after the id's end are nobody's business. */
	memset(backend.quic_ids[0].bytes + 1, 0x5a, 14);
	assert_int_equal(config_add_backend(&config, "h3", &backend, &error), 0);
	assert_int_equal(config.pools[0].backends[2].quic_ids[0].bytes[0], 0x14);
	config_release(&config);
}

static void only_with_an_id_undrained(void **state)
{
	struct config config = read_config(HEAD B(1, ID("0:12")) B(2, ", drain: keep"));
	struct config_error error;

	(void)state;
	assert_int_equal(config_set_drain(&config, "h3", "b2", CONFIG_NO_DRAIN, 0, &error),
			 -EINVAL);
	assert_string_equal(error.what,
			    "backend 'b2': quic_id must have an id for configuration 0, "
			    "as backend 'b1' has");
	assert_int_equal(config.pools[0].backends[1].drain, CONFIG_DRAIN_KEEP);
	assert_int_equal(config_set_drain(&config, "h3", "b1", CONFIG_DRAIN_KEEP, 7, &error), 0);
	assert_int_equal(config_set_drain(&config, "h3", "b2", CONFIG_NO_DRAIN, 0, &error), 0);
	assert_int_equal(config_set_drain(&config, "h3", "b2", CONFIG_DRAIN_REMOVE, 0, &error), 0);
	config_release(&config);
}

static void too_long_an_id_of_a_model(void **state)
{
	struct config config = read_config(HEAD B(1, ID("0:12")));
	struct config_backend backend = new_backend("0:13");
	struct config_error error;

	(void)state;
	backend.quic_ids[0].len = 16;
	assert_int_equal(config_add_backend(&config, "h3", &backend, &error), -EINVAL);
	assert_string_equal(
		error.what,
		"backend 'new': quic_id must be CONFIGURATION:BYTES in hexadecimal, as in "
		"0:12ab or 0:12ab,1:07");
	config_release(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings),
		cmocka_unit_test(what_belongs_together),
		cmocka_unit_test(ids_are_read),
		cmocka_unit_test(the_longest_has_room),
		cmocka_unit_test(written_and_read_back),
		cmocka_unit_test(edits_are_judged),
		cmocka_unit_test(only_with_an_id_undrained),
		cmocka_unit_test(too_long_an_id_of_a_model),
	};

	return cmocka_run_group_tests_name("config_quic", tests, NULL, NULL);
}
