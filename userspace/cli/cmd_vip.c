/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/values.h"

static int print_list(const struct cli_options *options, const json_t *result)
{
	(void)options;
	return print_vips(result);
}

static int print_added(const struct cli_options *options, const json_t *result)
{
	(void)options;
	printf("added %s to pool '%s'\n", answer_text(result, "vip"), answer_text(result, "pool"));
	return CLI_DONE;
}

static int print_removed(const struct cli_options *options, const json_t *result)
{
	(void)options;
	printf("removed %s\n", answer_text(result, "vip"));
	return CLI_DONE;
}

static int run_list(const struct cli_options *options, char *const *operands)
{
	(void)operands;
	return cli_ask(options, json_pack("{s:s}", "command", "vip.list"), CLIENT_TIMEOUT_S,
		       print_list);
}

static int run_add(const struct cli_options *options, char *const *operands)
{
	json_t *request;

	if (!value_is_vip(operands[0]) || !value_is_name("pool", options->pool) ||
	    !value_is_hash(options->hash))
		return CLI_USAGE;
	request = json_pack("{s:s, s:s, s:s, s:s*}", "command", "vip.add", "vip", operands[0],
			    "pool", options->pool, "hash", options->hash);
	return cli_ask(options, request, CLIENT_TIMEOUT_S, print_added);
}

static int run_remove(const struct cli_options *options, char *const *operands)
{
	json_t *request;

	if (!value_is_vip(operands[0]))
		return CLI_USAGE;
	request = json_pack("{s:s, s:s}", "command", "vip.remove", "vip", operands[0]);
	return cli_ask(options, request, CLIENT_TIMEOUT_S, print_removed);
}

const struct cli_command cmd_vip_list = {
	.group = "vip",
	.name = "list",
	.summary = "the VIPs, their pools and counters",
	.about = "Lists the virtual addresses that ringlbd balances, each with its pool and the\n"
		 "packets and bytes that came for it.",
	.examples = "  ringlb vip list\n"
		    "  ringlb vip list --json | jq -r '.[].vip'",
	.run = run_list,
};

const struct cli_command cmd_vip_add = {
	.group = "vip",
	.name = "add",
	.operands = {"VIP"},
	.options = CLI_POOL | CLI_HASH,
	.required = CLI_POOL,
	.summary = "balance a VIP over a pool",
	.about =
		"Balances the packets for a VIP over the backends of a pool from now on. A VIP is\n"
		"ADDRESS:PORT/PROTOCOL. The address may be a prefix, the port a range or 'any'. A\n"
		"packet's VIP is that of the longest prefix that has its port and protocol, and\n"
		"there that with the fewest ports. --hash source has all flows of a client go to\n"
		"one backend. The change is live at once; 'ringlb save' writes it to the\n"
		"configuration file.",
	.examples = "  ringlb vip add 192.0.2.10:80/tcp --pool web\n"
		    "  ringlb vip add '[2001:db8::1]:443/udp' --pool web\n"
		    "  ringlb vip add 192.0.2.0/24:any/tcp --pool web\n"
		    "  ringlb vip add 192.0.2.10:10000-20000/udp --pool media --hash source",
	.run = run_add,
};

const struct cli_command cmd_vip_remove = {
	.group = "vip",
	.name = "remove",
	.operands = {"VIP"},
	.summary = "leave a VIP's packets to the kernel",
	.about = "Stops balancing a VIP: its packets go to this machine's own network stack from\n"
		 "now on, or to a wider VIP that has them too. Connections through it break.",
	.examples = "  ringlb vip remove 192.0.2.10:80/tcp\n"
		    "  ringlb vip remove 192.0.2.0/24:any/tcp",
	.run = run_remove,
};
