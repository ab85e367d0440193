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
	return print_backends(result);
}

static int print_added(const struct cli_options *options, const json_t *result)
{
	(void)options;
	printf("added backend '%s' to pool '%s' with weight %s", answer_text(result, "name"),
	       answer_text(result, "pool"), answer_text(result, "weight"));
	print_moved(result);
	return CLI_DONE;
}

/* Removed at once the answer is a name, otherwise the backend that is still there. */
static int print_removed(const struct cli_options *options, const json_t *result)
{
	printf("%s backend '%s' %s pool '%s'", options->now ? "removed" : "draining",
	       answer_text(result, "name"), options->now ? "from" : "of",
	       answer_text(result, "pool"));
	print_moved(result);
	return CLI_DONE;
}

static int print_drain(const struct cli_options *options, const json_t *result)
{
	(void)options;
	printf("backend '%s' of pool '%s' is %s", answer_text(result, "name"),
	       answer_text(result, "pool"), answer_text(result, "state"));
	print_moved(result);
	return CLI_DONE;
}

static int print_weight(const struct cli_options *options, const json_t *result)
{
	(void)options;
	printf("backend '%s' of pool '%s' has weight %s", answer_text(result, "name"),
	       answer_text(result, "pool"), answer_text(result, "weight"));
	print_moved(result);
	return CLI_DONE;
}

static int run_list(const struct cli_options *options, char *const *operands)
{
	json_t *request;

	(void)operands;
	if (!value_is_name("pool", options->pool))
		return CLI_USAGE;
	request = json_pack("{s:s, s:s*}", "command", "backend.list", "pool", options->pool);
	return cli_ask(options, request, CLIENT_TIMEOUT_S, print_list);
}

static int run_add(const struct cli_options *options, char *const *operands)
{
	json_t *request;

	if (!value_is_name("name", operands[0]) || !value_is_endpoint(operands[1]) ||
	    !value_is_name("pool", options->pool) || !value_is_weight(options->weight) ||
	    !value_is_quic_id(options->quic_id))
		return CLI_USAGE;
	request = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*}", "command", "backend.add", "name",
			    operands[0], "address", operands[1], "pool", options->pool, "weight",
			    options->weight, "quic_id", options->quic_id);
	return cli_ask(options, request, CLIENT_TIMEOUT_S, print_added);
}

static int run_remove(const struct cli_options *options, char *const *operands)
{
	json_t *request;

	if (!value_is_name("name", operands[0]) || !value_is_name("pool", options->pool) ||
	    !value_is_duration("timeout", options->timeout))
		return CLI_USAGE;
	if (options->now && options->timeout) {
		cli_error("options '--now' and '--timeout' exclude each other, see 'ringlb backend "
			  "remove --help'");
		return CLI_USAGE;
	}
	request = json_pack("{s:s, s:s, s:s*, s:s*, s:s*}", "command", "backend.remove", "name",
			    operands[0], "pool", options->pool, "timeout", options->timeout, "now",
			    options->now ? "yes" : NULL);
	return cli_ask(options, request, CLIENT_TIMEOUT_S, print_removed);
}

static int run_drain(const struct cli_options *options, char *const *operands)
{
	json_t *request;

	if (!value_is_name("name", operands[0]) || !value_is_name("pool", options->pool) ||
	    !value_is_duration("timeout", options->timeout))
		return CLI_USAGE;
	request = json_pack("{s:s, s:s, s:s*, s:s*}", "command", "backend.drain", "name",
			    operands[0], "pool", options->pool, "timeout", options->timeout);
	return cli_ask(options, request, CLIENT_TIMEOUT_S, print_drain);
}

static int run_undrain(const struct cli_options *options, char *const *operands)
{
	json_t *request;

	if (!value_is_name("name", operands[0]) || !value_is_name("pool", options->pool))
		return CLI_USAGE;
	request = json_pack("{s:s, s:s, s:s*}", "command", "backend.undrain", "name", operands[0],
			    "pool", options->pool);
	return cli_ask(options, request, CLIENT_TIMEOUT_S, print_drain);
}

static int run_weight(const struct cli_options *options, char *const *operands)
{
	json_t *request;

	if (!value_is_name("name", operands[0]) || !value_is_weight(operands[1]) ||
	    !value_is_name("pool", options->pool))
		return CLI_USAGE;
	request = json_pack("{s:s, s:s, s:s, s:s*}", "command", "backend.weight", "name",
			    operands[0], "weight", operands[1], "pool", options->pool);
	return cli_ask(options, request, CLIENT_TIMEOUT_S, print_weight);
}

const struct cli_command cmd_backend_list = {
	.group = "backend",
	.name = "list",
	.options = CLI_POOL,
	.summary = "the backends, their shares, states and counters",
	.about = "Lists the backends of one pool or of all. SHARE is the part of the hash space\n"
		 "that a backend owns. STATE is up, or why it gets no new flows: down (its health\n"
		 "check fails), panic (down like all others, and used all the same), draining,\n"
		 "drained, no-weight, resolving (its MAC address is not known yet), no-route, "
		 "local\n"
		 "(this machine's own address) or not-ethernet. FLOWS are those remembered while\n"
		 "arcs move.",
	.examples = "  ringlb backend list\n"
		    "  ringlb backend list --pool web --json | jq -r '.[] | select(.state != "
		    "\"up\").name'",
	.run = run_list,
};

const struct cli_command cmd_backend_add = {
	.group = "backend",
	.name = "add",
	.operands = {"NAME", "ADDRESS[:PORT]"},
	.options = CLI_POOL | CLI_WEIGHT | CLI_QUIC_ID,
	.summary = "add a backend to a pool",
	.about = "Adds a backend, live at once, and tells which part of the hash space moved to\n"
		 "it. Only a nat pool's backend can have a port of its own. Without --pool the "
		 "only\n"
		 "pool is meant. 'ringlb save' writes the change to the configuration file.",
	.examples = "  ringlb backend add web4 10.0.0.14\n"
		    "  ringlb backend add web4 10.0.0.14:8080 --pool web --weight 0.5\n"
		    "  ringlb backend add web6 '[2001:db8::14]:8080' --pool web6\n"
		    "  ringlb backend add h3d 10.0.2.4:443 --pool h3 --quic-id 0:0104",
	.run = run_add,
};

const struct cli_command cmd_backend_remove = {
	.group = "backend",
	.name = "remove",
	.operands = {"NAME"},
	.options = CLI_POOL | CLI_TIMEOUT | CLI_NOW,
	.summary = "drain a backend, then take it out of its pool",
	.about = "Gives the backend no new flows and removes it when its old ones are gone, or\n"
		 "after --timeout. With --now it is removed at once and its flows go to other\n"
		 "backends, which do not know them. Without --pool the only pool that has such a\n"
		 "backend is meant.",
	.examples = "  ringlb backend remove web4\n"
		    "  ringlb backend remove web4 --pool web --timeout 10m\n"
		    "  ringlb backend remove web4 --now",
	.run = run_remove,
};

const struct cli_command cmd_backend_drain = {
	.group = "backend",
	.name = "drain",
	.operands = {"NAME"},
	.options = CLI_POOL | CLI_TIMEOUT,
	.summary = "give a backend no new flows, keep its old ones",
	.about = "The backend's arcs move to the others; flows that it has stay with it until\n"
		 "they end or --timeout is over. It stays listed, first as draining, then as\n"
		 "drained: 'ringlb backend undrain' brings it back. A silent flow may still be\n"
		 "there, so a drain takes at least flows.learn_tcp of the configuration (1h).",
	.examples = "  ringlb backend drain web1\n"
		    "  ringlb backend drain web1 --timeout 10m",
	.run = run_drain,
};

const struct cli_command cmd_backend_undrain = {
	.group = "backend",
	.name = "undrain",
	.operands = {"NAME"},
	.options = CLI_POOL,
	.summary = "give a draining or drained backend its arcs back",
	.about = "Ends a drain, also that of 'ringlb backend remove', whether it is over or not.\n"
		 "Flows that went to other backends meanwhile stay there.",
	.examples = "  ringlb backend undrain web1\n"
		    "  ringlb backend undrain web1 --pool web",
	.run = run_undrain,
};

const struct cli_command cmd_backend_weight = {
	.group = "backend",
	.name = "weight",
	.operands = {"NAME", "WEIGHT"},
	.options = CLI_POOL,
	.summary = "change a backend's weight",
	.about =
		"Changes a backend's weight, live at once, and tells which part of the hash space\n"
		"moved. WEIGHT is 0 to 1000 with at most three decimals; a backend of weight 0\n"
		"stays in its pool and gets nothing.",
	.examples = "  ringlb backend weight web1 0.5\n"
		    "  ringlb backend weight web1 0 --pool web",
	.run = run_weight,
};
