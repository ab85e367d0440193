/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/print.h"

static int print_stats(const struct cli_options *options, const json_t *result)
{
	int status;

	status = print_verdicts(json_object_get(result, "verdicts"), options->all);
	if (status)
		return status;
	status = print_counts("IN MOVING ARCS", json_object_get(result, "flows"), options->all);
	if (status)
		return status;
	status = print_counts("QUIC", json_object_get(result, "quic"), options->all);
	if (status)
		return status;
	putchar('\n');
	status = print_vips(json_object_get(result, "vips"));
	if (status)
		return status;
	putchar('\n');
	return print_backend_counters(json_object_get(result, "backends"));
}

static int run_stats(const struct cli_options *options, char *const *operands)
{
	(void)operands;
	return cli_ask(options, json_pack("{s:s}", "command", "stats"), CLIENT_TIMEOUT_S,
		       print_stats);
}

const struct cli_command cmd_stats = {
	.name = "stats",
	.options = CLI_ALL,
	.summary = "what became of the packets",
	.about = "Shows how many packets met each verdict, what happened to those in moving arcs,\n"
		 "and the counters of each VIP and each backend. What no packet had is left out\n"
		 "unless --all is given; with --json all is there.",
	.examples = "  ringlb stats\n"
		    "  ringlb stats --all\n"
		    "  ringlb stats --json | jq '.verdicts[] | select(.action == \"DROP\")'",
	.run = run_stats,
};
