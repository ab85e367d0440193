/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/print.h"

static int print_list(const struct cli_options *options, const json_t *result)
{
	(void)options;
	return print_pools(result);
}

static int run_list(const struct cli_options *options, char *const *operands)
{
	(void)operands;
	return cli_ask(options, json_pack("{s:s}", "command", "pool.list"), CLIENT_TIMEOUT_S,
		       print_list);
}

const struct cli_command cmd_pool_list = {
	.group = "pool",
	.name = "list",
	.summary = "the pools and their rings",
	.about = "Lists the pools: how each forwards, its backends and the sum of their weights,\n"
		 "the vnodes of a backend of weight 1, and the positions of its ring.",
	.examples = "  ringlb pool list",
	.run = run_list,
};
