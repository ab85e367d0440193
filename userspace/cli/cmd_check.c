/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/offline.h"

static void print_count(const char *before, size_t n, const char *noun)
{
	printf("%s%zu %s%s", before, n, noun, n == 1 ? "" : "s");
}

static size_t count_backends(const struct config *config)
{
	size_t n = 0;

	for (size_t i = 0; i < config->n_pools; i++)
		n += config->pools[i].n_backends;
	return n;
}

static void print_ok(const char *path, const struct config *config)
{
	printf("%s: ok", path);
	print_count(", ", config->n_interfaces, "interface");
	print_count(", ", config->n_pools, "pool");
	print_count(", ", count_backends(config), "backend");
	print_count(", ", config->n_vips, "VIP");
	putchar('\n');
}

static json_t *result_ok(const struct config *config)
{
	return json_pack("{s:b, s:n, s:n, s:n, s:I, s:I, s:I, s:I}", "ok", 1, "line", "column",
			 "error", "interfaces", (json_int_t)config->n_interfaces, "pools",
			 (json_int_t)config->n_pools, "backends",
			 (json_int_t)count_backends(config), "vips", (json_int_t)config->n_vips);
}

static json_t *result_error(const struct config_error *error)
{
	json_t *line = error->line ? json_integer((json_int_t)error->line) : json_null();
	json_t *column = error->line ? json_integer((json_int_t)error->column) : json_null();

	return json_pack("{s:b, s:o, s:o, s:s}", "ok", 0, "line", line, "column", column, "error",
			 error->what);
}

static int run_check(const struct cli_options *options, char *const *operands)
{
	struct config config = {0};
	struct config_error error;
	json_t *result = NULL;
	bool ok = !offline_read(&config, operands[0], &error);

	if (options->json) {
		result = ok ? result_ok(&config) : result_error(&error);
		cli_print_json(result);
		json_decref(result);
	} else if (ok) {
		print_ok(operands[0], &config);
	}
	config_release(&config);
	return ok ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cmd_check = {
	.name = "check",
	.operands = {"CONFIG"},
	.summary = "check a configuration file, without ringlbd",
	.about = "Reads a configuration file as ringlbd would and says what is in it, or where it\n"
		 "is wrong. Nothing else is looked at: neither interfaces nor routes.",
	.examples = "  ringlb check /etc/ringlb/ringlb.yaml\n"
		    "  ringlb check new.yaml && install -m 600 new.yaml /etc/ringlb/ringlb.yaml",
	.run = run_check,
};
