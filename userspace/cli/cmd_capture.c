/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/pcapng.h"
#include "cli/values.h"
#include "control/capture.h"

#define PENDING 256 /* packets that are inside the program at once: one for each processor */

/* A frame as it came in, until it is known what became of it. */
struct pending {
	struct control_frame frame;
	uint8_t bytes[2048];
};

/**
 * struct capturing - a running capture
 * @verdict: only packets that get it; NULL: all
 * @most: packets, then it ends
 * @finishing: somebody ended it, and what was captured till then is written
 * @err: of writing
 */
struct capturing {
	const char *verdict;
	uint64_t most;
	struct pcapng out;
	struct pending *pending;
	uint64_t packets;
	uint64_t frames;
	bool finishing;
	int err;
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void remember(struct capturing *to, const struct control_frame *frame)
{
	struct pending *pending = &to->pending[frame->packet % PENDING];

	if (frame->len > sizeof(pending->bytes))
		return;
	pending->frame = *frame;
	memcpy(pending->bytes, frame->bytes, frame->len);
	pending->frame.bytes = pending->bytes;
}

static void write_frame(struct capturing *to, const struct control_frame *frame)
{
	if (to->err)
		return;
	to->err = pcapng_frame(&to->out, frame);
	to->frames += !to->err;
}

static bool take(void *context, const struct control_frame *frame)
{
	struct capturing *to = context;
	struct pending *before = &to->pending[frame->packet % PENDING];

	if (!frame->verdict) {
		remember(to, frame);
		return true;
	}
	if (to->verdict && strcmp(to->verdict, frame->verdict))
		return true;
	if (before->frame.packet == frame->packet)
		write_frame(to, &before->frame);
	write_frame(to, frame);
	to->packets++;
	return !to->err && to->packets < to->most && (!stopped || to->finishing);
}

/* Each round's frames are on disk, or at their reader, before the next. */
static int capture(struct capturing *to, struct control_capture *from)
{
	int err = 0;

	while (!err && !to->err && !stopped && to->packets < to->most) {
		err = control_capture_read(from, take, to);
		if (err == -EINTR)
			err = 0;
		if (fflush(to->out.file) && !to->err)
			to->err = -errno;
	}
	if (!stopped || err || to->err)
		return err;
	to->finishing = true;
	return control_capture_finish(from, take, to);
}

static void report(const struct cli_options *options, const struct capturing *to, uint64_t lost)
{
	json_t *result;

	if (!options->json) {
		fprintf(stderr, "%" PRIu64 " packets in %" PRIu64 " frames, %" PRIu64 " lost\n",
			to->packets, to->frames, lost);
		return;
	}
	result = json_pack("{s:I, s:I, s:I}", "packets", (json_int_t)to->packets, "frames",
			   (json_int_t)to->frames, "lost", (json_int_t)lost);
	cli_print_json(result);
	json_decref(result);
}

/* @from is open already, so a capture that is refused leaves the file as it was. */
static int capture_to_file(const struct cli_options *options, struct capturing *to,
			   struct control_capture *from, FILE *file)
{
	int err;

	to->err = pcapng_begin(&to->out, file, "ringlb");
	if (!options->json)
		fprintf(stderr, "capturing to '%s'; Ctrl-C ends it\n", options->write);
	err = capture(to, from);
	report(options, to, control_capture_lost(from));
	if (to->err)
		cli_error("cannot write to '%s': %s", options->write, strerror(-to->err));
	else if (err == -ESTALE)
		cli_error("the capture ended, as this process was away for too long");
	else if (err)
		cli_error("cannot capture: %s", strerror(-err));
	return to->err || err ? CLI_FAILED : CLI_DONE;
}

static int capture_from(const struct cli_options *options, struct capturing *to,
			struct control_capture *from)
{
	bool to_stdout = !strcmp(options->write, "-");
	FILE *file = to_stdout ? stdout : fopen(options->write, "w");
	int status;

	if (!file) {
		cli_error("cannot write to '%s': %s", options->write, strerror(errno));
		return CLI_FAILED;
	}
	status = capture_to_file(options, to, from, file);
	if (!to_stdout)
		fclose(file);
	return status;
}

static void catch_signals(void)
{
	const struct sigaction action = {.sa_handler = stop};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static bool values_are_good(const struct cli_options *options, struct capturing *to,
			    uint64_t *every)
{
	if (!value_read_number("--sample", options->sample, 1, UINT32_MAX, every) ||
	    !value_read_number("--packets", options->packets, 1, UINT64_MAX, &to->most))
		return false;
	if (to->verdict && !control_capture_is_verdict(to->verdict)) {
		cli_error("--verdict must be one of `ringlb stats --all`, got '%s'", to->verdict);
		return false;
	}
	if (options->json && !strcmp(options->write, "-")) {
		cli_error("--json and --write - would both go to the standard output");
		return false;
	}
	return true;
}

static int run_capture(const struct cli_options *options, char *const *operands)
{
	struct capturing to = {.verdict = options->verdict, .most = UINT64_MAX};
	char error[CAPTURE_ERROR_LEN] = "out of memory";
	struct control_capture *from = NULL;
	uint64_t every = 1;
	int status = CLI_FAILED;

	(void)operands;
	if (!values_are_good(options, &to, &every))
		return CLI_USAGE;
	catch_signals();
	to.pending = calloc(PENDING, sizeof(*to.pending));
	if (!to.pending || control_capture_open(&from, options->pin_dir, (uint32_t)every, error))
		cli_error("%s", error);
	else
		status = capture_from(options, &to, from);
	control_capture_close(from);
	free(to.pending);
	return status;
}

const struct cli_command cmd_capture = {
	.name = "capture",
	.options = CLI_WRITE | CLI_CAPTURE | CLI_PIN_DIR,
	.required = CLI_WRITE,
	.summary = "packets as the program sees them, for Wireshark",
	.about = "Writes packets to a file in pcapng format, each as it came in and as it was left "
		 "by\n"
		 "the program, with its verdict as a comment. tcpdump on this host does not see "
		 "what\n"
		 "XDP sends. Frames are cut after 2008 bytes. Works without ringlbd, needs root, "
		 "and\n"
		 "costs nothing while nobody captures. FILE - is the standard output.",
	.examples = "  ringlb capture --write /tmp/lb.pcapng --packets 1000\n"
		    "  ringlb capture --write drops.pcapng --verdict DROP_NO_NEXTHOP\n"
		    "  ringlb capture --write - --sample 100 | tshark -r - -V",
	.run = run_capture,
};
