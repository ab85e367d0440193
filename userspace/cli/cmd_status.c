/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/print.h"

#define UPTIME_LEN 64

static const char *uptime_text(json_int_t seconds, char out[UPTIME_LEN])
{
	long long days = seconds / 86400, hours = seconds / 3600 % 24;
	long long minutes = seconds / 60 % 60;

	if (days)
		snprintf(out, UPTIME_LEN, "%lld d %lld h", days, hours);
	else if (hours)
		snprintf(out, UPTIME_LEN, "%lld h %lld min", hours, minutes);
	else if (minutes)
		snprintf(out, UPTIME_LEN, "%lld min %lld s", minutes, (long long)seconds % 60);
	else
		snprintf(out, UPTIME_LEN, "%lld s", (long long)seconds);
	return out;
}

static int print_status(const struct cli_options *options, const json_t *result)
{
	char uptime[UPTIME_LEN];
	int status;

	(void)options;
	printf("ringlbd %s, pid %" JSON_INTEGER_FORMAT ", up %s\n", answer_text(result, "version"),
	       answer_integer(result, "pid"),
	       uptime_text(answer_integer(result, "uptime_s"), uptime));
	printf("config    %s%s\n", answer_text(result, "config"),
	       answer_true(result, "changed") ? " (what is live differs: ringlb save or reload)"
					      : "");
	printf("pins      %s\n", answer_text(result, "pin_dir"));
	printf("vips      %" JSON_INTEGER_FORMAT "\n", answer_integer(result, "vips"));
	printf("backends  %" JSON_INTEGER_FORMAT "\n\n", answer_integer(result, "backends"));
	status = print_interfaces(json_object_get(result, "interfaces"));
	if (status)
		return status;
	putchar('\n');
	status = print_pools(json_object_get(result, "pools"));
	if (!status)
		status = print_moving(json_object_get(result, "pools"));
	if (!status)
		status = print_loads(json_object_get(result, "pools"));
	if (!status)
		status = print_draining(json_object_get(result, "draining"));
	if (status)
		return status;
	putchar('\n');
	return print_tables(json_object_get(result, "tables"));
}

static int run_status(const struct cli_options *options, char *const *operands)
{
	(void)operands;
	return cli_ask(options, json_pack("{s:s}", "command", "status"), CLIENT_TIMEOUT_S,
		       print_status);
}

const struct cli_command cmd_status = {
	.name = "status",
	.summary = "the daemon, its interfaces and its pools",
	.about =
		"Shows ringlbd's version and uptime, its configuration file and whether what is\n"
		"live differs from it, the interfaces with the way the program is attached to "
		"each,\n"
		"and the pools. While arcs move: how many of each pool, their share of the hash\n"
		"space, the old flows that hold them, and for how long unknown flows still count\n"
		"as old (LEARNING). The same for each backend that drains, of the arcs that were\n"
		"its own, with its flows, when the drain's timeout cuts them off and what becomes\n"
		"of the backend then. In pools with a load_cap: each backend's packets a second,\n"
		"that over what its weight asks for, the shares of the hash space that it spills\n"
		"to others and has of others, and for how long it has been spilling.",
	.examples = "  ringlb status\n"
		    "  ringlb status --json | jq -r '.interfaces[].mode'",
	.run = run_status,
};
