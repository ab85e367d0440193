/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capturing.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "cli/values.h"
#include "config/text.h"

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void catch_signals(void)
{
	const struct sigaction action = {.sa_handler = stop};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static bool take(void *context, const struct control_packet *packet)
{
	struct capturing *to = context;

	to->err = to->packet(to, packet);
	to->packets += !to->err;
	return !to->err && to->packets < to->most && (!stopped || to->finishing);
}

/* Each round's packets are on disk, or at their reader, before the next. */
static int capture(struct capturing *to, struct control_capture *from)
{
	int err = 0;

	while (!err && !to->err && !stopped && to->packets < to->most) {
		err = control_capture_read(from, take, to);
		if (err == -EINTR)
			err = 0;
		if (fflush(to->file) && !to->err)
			to->err = -errno;
	}
	if (!stopped || err || to->err || to->packets >= to->most)
		return err;
	to->finishing = true;
	err = control_capture_finish(from, take, to);
	if (fflush(to->file) && !to->err)
		to->err = -errno;
	return err;
}

static int run(struct capturing *to, struct control_capture *from)
{
	int err = capture(to, from);

	to->lost = control_capture_lost(from);
	if (to->err == -EPIPE)
		to->err = 0;
	if (to->err)
		cli_error("cannot write to '%s': %s", to->name, strerror(-to->err));
	else if (err == -ESTALE)
		cli_error("the capture ended, as this process was away for too long");
	else if (err)
		cli_error("cannot capture: %s", strerror(-err));
	return to->err || err ? CLI_FAILED : CLI_DONE;
}

/* A VIP as it is named everywhere, or an address or a prefix alone: all that are there. */
static bool read_vip(const char *text, struct control_filter *filter)
{
	struct config_vip vip = {0};
	struct config_prefix prefix;

	if (!text)
		return true;
	if (!strchr(text, ':') || !text_split_prefix(text, &prefix))
		return value_read_network("--vip", text, &filter->vip);
	if (!value_is_vip(text) || text_parse_vip(text, &vip))
		return false;
	filter->vip.address = vip.address;
	filter->vip.len = vip.prefix_len ? vip.prefix_len : text_address_bits(&vip.address);
	filter->protocol = vip.protocol;
	filter->port = vip.port;
	filter->port_last = vip.port_last;
	return true;
}

static bool are_verdicts(const char *list)
{
	char bad[CAPTURE_NAME_LEN];

	if (!list || control_capture_verdicts(list, bad))
		return true;
	cli_error("--verdict must be one of `ringlb stats --all`, several with commas, or pass, "
		  "drop, tx, redirect or hold, got '%s'",
		  bad);
	return false;
}

static bool read_options(const struct cli_options *options, struct capturing *capturing,
			 struct control_filter *filter, uint32_t *duration_ms)
{
	uint64_t every = 1;

	if (!value_read_number("--sample", options->sample, 1, UINT32_MAX, &every) ||
	    !value_read_number("--packets", options->packets, 1, UINT64_MAX, &capturing->most) ||
	    !value_is_duration("--duration", options->duration) ||
	    !value_read_network("--client", options->client, &filter->client) ||
	    !read_vip(options->vip, filter) || !are_verdicts(options->verdict))
		return false;
	if (options->duration &&
	    (text_parse_duration_ms(options->duration, duration_ms) || !*duration_ms)) {
		cli_error("--duration must be above 0, got '%s'", options->duration);
		return false;
	}
	filter->every = (uint32_t)every;
	filter->backend = options->backend;
	filter->verdicts = options->verdict;
	return true;
}

int capturing_run(struct capturing *capturing, const struct cli_options *options, bool *ended)
{
	char error[CAPTURE_ERROR_LEN] = "out of memory";
	struct control_capture *from = NULL;
	struct control_filter filter = {0};
	struct itimerval timer = {0};
	uint32_t duration_ms = 0;
	int status = CLI_FAILED;

	*ended = false;
	capturing->most = UINT64_MAX;
	if (!read_options(options, capturing, &filter, &duration_ms))
		return CLI_USAGE;
	timer.it_value.tv_sec = duration_ms / 1000;
	timer.it_value.tv_usec = duration_ms % 1000 * 1000;
	catch_signals();
	if (control_capture_open(&from, options->pin_dir, &filter, error)) {
		cli_error("%s", error);
	} else if (!capturing->begin(capturing)) {
		setitimer(ITIMER_REAL, &timer, NULL);
		status = run(capturing, from);
		*ended = true;
	}
	control_capture_close(from);
	return status;
}
