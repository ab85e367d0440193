/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows of configurations with the error that each is to give. Include it after <cmocka.h>. */
#ifndef RINGLB_TESTS_CONFIG_ROWS_H
#define RINGLB_TESTS_CONFIG_ROWS_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/text.h"

/* @what is the whole error behind the rows' common beginning; NULL if the text is accepted. */
struct row {
	const char *yaml;
	size_t line;
	const char *what;
};

/* What is refused leaves the caller's struct alone. */
static void check_row(const struct row *row, const char *beginning)
{
	struct config config, before;
	struct config_error error = {0};
	char what[sizeof(error.what)];
	int err;

	memset(&config, 0x5a, sizeof(config));
	before = config;
	err = config_read(&config, row->yaml, strlen(row->yaml), &error);
	if (!row->what) {
		if (err)
			fail_msg("refused: %s\nline %zu: %s", row->yaml, error.line, error.what);
		config_release(&config);
		return;
	}
	if (!err)
		fail_msg("accepted: %s\ninstead of: %s", row->yaml, row->what);
	snprintf(what, sizeof(what), "%s%s", beginning, row->what);
	assert_string_equal(error.what, what);
	assert_int_equal(error.line, row->line);
	assert_int_equal(err, -EINVAL);
	assert_memory_equal(&config, &before, sizeof(config));
}

static void check_rows(const struct row *rows, size_t n, const char *beginning)
{
	for (size_t i = 0; i < n; i++)
		check_row(&rows[i], beginning);
}

#endif
