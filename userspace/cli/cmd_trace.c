/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>

#include "cli/capturing.h"
#include "cli/commands.h"
#include "cli/trace_json.h"
#include "cli/trace_line.h"

static int begin(struct capturing *capturing)
{
	capturing->file = stdout;
	fputs("tracing; Ctrl-C ends it\n", stderr);
	return 0;
}

static int print_line(struct capturing *capturing, const struct control_packet *packet)
{
	char line[TRACE_LINE_LEN];

	errno = 0;
	return fprintf(capturing->file, "%s\n", trace_line(packet, line)) < 0 ? -errno : 0;
}

static int print_json(struct capturing *capturing, const struct control_packet *packet)
{
	json_t *object = trace_json(packet);
	int err;

	if (!object)
		return -ENOMEM;
	errno = 0;
	err = json_dumpf(object, capturing->file, JSON_COMPACT) ||
	      putc('\n', capturing->file) == EOF;
	json_decref(object);
	return err ? errno ? -errno : -EIO : 0;
}

static int run_trace(const struct cli_options *options, char *const *operands)
{
	struct capturing capturing = {
		.begin = begin,
		.packet = options->json ? print_json : print_line,
		.name = "standard output",
	};
	bool ended;
	int status = capturing_run(&capturing, options, &ended);

	(void)operands;
	if (ended)
		fprintf(stderr, "%" PRIu64 " packets, %" PRIu64 " lost\n", capturing.packets,
			capturing.lost);
	return status;
}

const struct cli_command cmd_trace = {
	.name = "trace",
	.options = CLI_CAPTURE | CLI_PIN_DIR,
	.summary = "what happens to each packet, stage by stage, one line each",
	.about = "Prints a line for each packet when it has left the program: when and where it "
		 "came in,\n"
		 "its flow, hash, arc and the arc's owner, what the flow tables said if the arc is "
		 "moving,\n"
		 "how it was sent to which backend, and the verdict. Filters are applied by the "
		 "program\n"
		 "itself, all of them before --sample. With --json each line is an object. Works\n"
		 "without ringlbd, needs root, and costs nothing while nobody traces "
		 "(docs/trace.md).",
	.examples = "  ringlb trace --vip 192.0.2.10:80/tcp --packets 20\n"
		    "  ringlb trace --client 198.51.100.0/24 --verdict drop,pass\n"
		    "  ringlb trace --backend web/web1 --sample 1000 --duration 1m\n"
		    "  ringlb trace --json | jq -r .backend",
	.run = run_trace,
};
