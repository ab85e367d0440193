/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "control/down.h"

static int print_reloaded(const struct cli_options *options, const json_t *result)
{
	(void)options;
	answer_lines(json_object_get(result, "changes"), "nothing changed");
	return CLI_DONE;
}

static int print_saved(const struct cli_options *options, const json_t *result)
{
	(void)options;
	printf("saved to '%s'\n", answer_text(result, "config"));
	return CLI_DONE;
}

static int print_down(const struct cli_options *options, const json_t *result)
{
	(void)options;
	answer_lines(json_object_get(result, "removed"), "nothing to remove");
	return CLI_DONE;
}

static int run_reload(const struct cli_options *options, char *const *operands)
{
	(void)operands;
	return cli_ask(options, json_pack("{s:s}", "command", "reload"), CLIENT_TIMEOUT_LONG_S,
		       print_reloaded);
}

static int run_save(const struct cli_options *options, char *const *operands)
{
	(void)operands;
	return cli_ask(options, json_pack("{s:s}", "command", "save"), CLIENT_TIMEOUT_S,
		       print_saved);
}

static void remember_line(void *context, const char *line)
{
	json_array_append_new(context, json_string(line));
}

/* What the daemon would do, by ourselves. */
static int down_offline(const struct cli_options *options)
{
	char error[DOWN_ERROR_LEN] = "";
	json_t *removed = json_array();
	json_t *result = json_pack("{s:O?}", "removed", removed);
	int count = -ENOMEM;

	if (result)
		count = control_down_offline(options->pin_dir, remember_line, removed, error);
	if (result && options->json)
		cli_print_json(result);
	else if (result && (count >= 0 || json_array_size(removed) > 0))
		print_down(options, result);
	json_decref(result);
	json_decref(removed);
	if (count >= 0)
		return CLI_DONE;
	cli_error("%s", error[0] ? error : "out of memory");
	return CLI_FAILED;
}

static int run_down(const struct cli_options *options, char *const *operands)
{
	json_t *request = json_pack("{s:s}", "command", "down"), *result = NULL;
	char error[CLIENT_ERROR_LEN] = "out of memory";
	int err = -ENOMEM, status = CLI_DONE;

	(void)operands;
	if (request)
		err = client_ask(options->socket, CLIENT_TIMEOUT_LONG_S, request, &result, error);
	json_decref(request);
	if (err == -ENOENT || err == -ECONNREFUSED)
		return down_offline(options);
	if (err) {
		cli_error("%s", error);
		return CLI_FAILED;
	}
	if (options->json)
		cli_print_json(result);
	else
		status = print_down(options, result);
	json_decref(result);
	return status;
}

const struct cli_command cmd_reload = {
	.name = "reload",
	.summary = "read the configuration file again",
	.about =
		"Has ringlbd read its configuration file and make it so, and lists what changed. "
		"A\n"
		"file with an error changes nothing. Changes made by other commands and not saved\n"
		"are undone.",
	.examples = "  ringlb check /etc/ringlb/ringlb.yaml && ringlb reload",
	.run = run_reload,
};

const struct cli_command cmd_save = {
	.name = "save",
	.summary = "write what is live to the configuration file",
	.about = "Has ringlbd write what is live to its configuration file. Comments in the file "
		 "are\n"
		 "lost.",
	.examples = "  ringlb backend weight web1 0 && ringlb save",
	.run = run_save,
};

const struct cli_command cmd_down = {
	.name = "down",
	.options = CLI_PIN_DIR,
	.summary = "stop balancing and remove everything",
	.about = "Detaches the program from the interfaces, removes the pinned maps and ends "
		 "ringlbd:\n"
		 "nothing is balanced any more. If ringlbd is not running, that is done without "
		 "it.\n"
		 "To restart ringlbd without a pause in the traffic, just stop and start it.",
	.examples = "  ringlb down\n"
		    "  ringlb down --pin-dir /sys/fs/bpf/ringlb-test",
	.run = run_down,
};
