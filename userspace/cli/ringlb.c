/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line tool: talks to ringlbd, or works on a configuration file alone. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/help.h"

const struct cli_command *const cli_commands[] = {
	&cmd_status,
	&cmd_vip_list,
	&cmd_vip_add,
	&cmd_vip_remove,
	&cmd_pool_list,
	&cmd_backend_list,
	&cmd_backend_add,
	&cmd_backend_remove,
	&cmd_backend_drain,
	&cmd_backend_undrain,
	&cmd_backend_weight,
	&cmd_lookup,
	&cmd_why,
	&cmd_owner,
	&cmd_prefer,
	&cmd_shares,
	&cmd_plan,
	&cmd_simulate,
	&cmd_stats,
	&cmd_top,
	&cmd_trace,
	&cmd_capture,
	&cmd_reload,
	&cmd_save,
	&cmd_down,
	&cmd_check,
	NULL,
};

static int run_help(const struct arguments *arguments)
{
	const struct cli_command *command;
	char **operands;
	int status;

	if (arguments->n_words == 0) {
		help_all();
		return CLI_DONE;
	}
	if (arguments->n_words == 1 && arguments_is_group(arguments->words[0])) {
		help_group(arguments->words[0]);
		return CLI_DONE;
	}
	status = arguments_command(arguments, &command, &operands);
	if (!status)
		help_command(command);
	return status;
}

static int run(int argc, char **argv)
{
	const struct cli_command *command;
	struct arguments arguments;
	char **operands;
	int status;

	status = arguments_read(&arguments, argc, argv);
	if (status)
		return status;
	if (arguments.options.version) {
		puts("ringlb " RINGLB_VERSION);
		return CLI_DONE;
	}
	if (arguments.n_words > 0 && !strcmp(arguments.words[0], "help")) {
		arguments.options.help = true;
		arguments.words++;
		arguments.n_words--;
	}
	if (arguments.options.help)
		return run_help(&arguments);
	status = arguments_command(&arguments, &command, &operands);
	if (!status)
		status = arguments_check(&arguments, command, operands);
	if (!status)
		status = command->run(&arguments.options, operands);
	return status;
}

/* Output that nobody got is a failure too. */
static int finish(int status)
{
	bool lost = ferror(stdout);

	if (fclose(stdout) == EOF)
		cli_error("cannot write to standard output: %s", strerror(errno));
	else if (lost)
		cli_error("cannot write to standard output");
	else
		return status;
	return status ? status : CLI_FAILED;
}

int main(int argc, char **argv)
{
	/* A reader that left is an error to report, not a reason to die halfway. */
	signal(SIGPIPE, SIG_IGN);
	return finish(run(argc, argv));
}
