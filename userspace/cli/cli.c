/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/client.h"

void cli_error(const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	/* File names and answers may hold anything: keep the terminal and the line whole. */
	for (char *c = text; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	fprintf(stderr, "ringlb: %s\n", text ? text : "out of memory");
	free(text);
}

int cli_no_memory(void)
{
	cli_error("out of memory");
	return CLI_FAILED;
}

void cli_print_json(const json_t *value)
{
	/* Reals with as many digits as they came with. */
	json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	putchar('\n');
}

/* What was done all the same, but should be known. */
static void print_warnings(const json_t *result)
{
	const json_t *warnings = json_object_get(result, "warnings");
	const char *line;

	for (size_t i = 0; i < json_array_size(warnings); i++) {
		line = json_string_value(json_array_get(warnings, i));
		cli_error("warning: %s", line ? line : "-");
	}
}

int cli_ask(const struct cli_options *options, json_t *request, int timeout_s,
	    int (*print)(const struct cli_options *options, const json_t *result))
{
	char error[CLIENT_ERROR_LEN];
	json_t *result = NULL;
	int err, status = CLI_DONE;

	if (!request) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	err = client_ask(options->socket, timeout_s, request, &result, error);
	json_decref(request);
	if (err) {
		cli_error("%s", error);
		return CLI_FAILED;
	}
	if (options->json) {
		cli_print_json(result);
	} else {
		status = print(options, result);
		print_warnings(result);
	}
	json_decref(result);
	return status;
}
