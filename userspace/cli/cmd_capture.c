/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/capturing.h"
#include "cli/commands.h"
#include "cli/pcapng.h"
#include "cli/trace_line.h"

/* A capture to a file. */
struct to_file {
	struct capturing capturing;
	struct pcapng out;
};

static int begin(struct capturing *capturing)
{
	struct to_file *to = (struct to_file *)capturing;

	capturing->file = !strcmp(capturing->name, "-") ? stdout : fopen(capturing->name, "w");
	if (!capturing->file) {
		cli_error("cannot write to '%s': %s", capturing->name, strerror(errno));
		return -1;
	}
	capturing->err = pcapng_begin(&to->out, capturing->file, "ringlb");
	fprintf(stderr, "capturing to '%s'; Ctrl-C ends it\n", capturing->name);
	return 0;
}

static int write_packet(struct capturing *capturing, const struct control_packet *packet)
{
	struct to_file *to = (struct to_file *)capturing;
	char comment[TRACE_LINE_LEN];

	return pcapng_packet(&to->out, packet, trace_comment(packet, comment));
}

static void report(const struct cli_options *options, const struct capturing *capturing)
{
	uint64_t packets = capturing->packets;
	json_t *result;

	if (!options->json) {
		fprintf(stderr, "%" PRIu64 " packets in %" PRIu64 " frames, %" PRIu64 " lost\n",
			packets, 2 * packets, capturing->lost);
		return;
	}
	result = json_pack("{s:I, s:I, s:I}", "packets", (json_int_t)packets, "frames",
			   (json_int_t)(2 * packets), "lost", (json_int_t)capturing->lost);
	cli_print_json(result);
	json_decref(result);
}

static int run_capture(const struct cli_options *options, char *const *operands)
{
	struct to_file to = {
		.capturing = {.begin = begin, .packet = write_packet, .name = options->write},
	};
	bool ended;
	int status;

	(void)operands;
	if (options->json && !strcmp(options->write, "-")) {
		cli_error("--json and --write - would both go to the standard output");
		return CLI_USAGE;
	}
	status = capturing_run(&to.capturing, options, &ended);
	if (ended)
		report(options, &to.capturing);
	if (to.capturing.file && to.capturing.file != stdout)
		fclose(to.capturing.file);
	return status;
}

const struct cli_command cmd_capture = {
	.name = "capture",
	.options = CLI_WRITE | CLI_CAPTURE | CLI_PIN_DIR,
	.required = CLI_WRITE,
	.summary = "packets as the program sees them, for Wireshark",
	.about = "Writes packets to a file in pcapng format, each as it came in and as it was left "
		 "by\n"
		 "the program, with what happened to it in between as a comment (`ringlb trace` "
		 "shows\n"
		 "the same without the packets). tcpdump on this host does not see what XDP "
		 "sends.\n"
		 "Frames are cut after 2008 bytes. Works without ringlbd, needs root, and costs\n"
		 "nothing while nobody captures. FILE - is the standard output.",
	.examples = "  ringlb capture --write /tmp/lb.pcapng --packets 1000\n"
		    "  ringlb capture --write drops.pcapng --verdict drop\n"
		    "  ringlb capture --write - --vip 192.0.2.10:80/tcp --sample 100 | tshark -r -",
	.run = run_capture,
};
