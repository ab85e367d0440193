/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/screen.h"
#include "cli/top.h"
#include "cli/values.h"
#include "config/text.h"

#define INTERVAL_MS_DEFAULT 1000
#define INTERVAL_MS_MIN	    100
#define KEY_CTRL_C	    3
#define ASK_PART	    4
/* Meanwhile no key is read. */
#define TIMEOUT_S 5

/**
 * struct top - a running `ringlb top`
 * @before, @now: the last two samples
 * @pid: of ringlbd when it answered first
 * @trouble: why there is no newer one, or empty
 */
struct top {
	const struct cli_options *options;
	uint32_t interval_ms;
	enum top_sort sort;
	struct top_sample before;
	struct top_sample now;
	json_int_t pid;
	char trouble[CLIENT_ERROR_LEN];
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Return: as top_sample_take(); then the samples are as they were. */
static int sample(struct top *top)
{
	struct top_sample next = {};
	char error[CLIENT_ERROR_LEN];
	int err = top_sample_take(&next, top->options->socket, TIMEOUT_S, error);

	if (err) {
		snprintf(top->trouble, sizeof(top->trouble), "%s", error);
		return err;
	}
	top_sample_release(&top->before);
	top->before = top->now;
	top->now = next;
	top->trouble[0] = 0;
	if (!top->pid)
		top->pid = answer_integer(next.status, "pid");
	return 0;
}

static int build(const struct top *top, struct top_view *view)
{
	json_int_t pid;

	if (top_view_build(view, &top->before, &top->now, top->options->pool))
		return cli_no_memory();
	top_view_sort(view, top->sort);
	/* What is shown is old, and that comes first. */
	pid = answer_integer(top->now.status, "pid");
	if (top->options->pool && !view->n_pools)
		snprintf(view->note, sizeof(view->note), "there is no pool '%s'",
			 top->options->pool);
	else if (top->trouble[0])
		snprintf(view->note, sizeof(view->note), "trying again: %s", top->trouble);
	else if (pid != top->pid)
		snprintf(view->note, sizeof(view->note),
			 "ringlbd was restarted: pid %" JSON_INTEGER_FORMAT
			 ", before %" JSON_INTEGER_FORMAT,
			 pid, top->pid);
	return CLI_DONE;
}

/* One line each; of --once, for people to read. */
static int print_json(const struct top_view *view, bool once)
{
	json_t *object = top_view_json(view);

	if (!object)
		return cli_no_memory();
	if (once) {
		cli_print_json(object);
	} else {
		json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
		putchar('\n');
		fflush(stdout);
	}
	json_decref(object);
	return CLI_DONE;
}

static int print_frame(const struct top *top)
{
	bool once = top->options->once;
	struct top_view view = {};
	int status = build(top, &view);

	/* It may come: on a screen that is waited for. */
	if (!status && once && top->options->pool && !view.n_pools) {
		cli_error("%s", view.note);
		status = CLI_FAILED;
	}
	if (!status && top->options->json)
		status = print_json(&view, once);
	else if (!status)
		top_print(stdout, &view, top->sort, 0, 0, "\n");
	top_view_release(&view);
	return status;
}

static void sleep_ms(uint32_t ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static int fail(const struct top *top)
{
	cli_error("%s", top->trouble);
	return CLI_FAILED;
}

/* Frames on standard output, one or, with --json, until its reader leaves. */
static int run_lines(struct top *top)
{
	int status;

	if (sample(top))
		return fail(top);
	do {
		sleep_ms(top->interval_ms);
		/* A daemon that is being restarted comes back; of one frame there is no next. */
		if (!sample(top) || !top->options->once)
			status = print_frame(top);
		else
			status = fail(top);
	} while (!status && !top->options->once && !ferror(stdout));
	return status;
}

/* Everything is written anew, from the upper left corner on, in one go. */
static int draw(const struct top *top)
{
	unsigned int width, height;
	struct top_view view = {};
	int status;

	screen_size(&width, &height);
	fputs("\033[H", stdout);
	if (!top->now.stats) {
		printf("%.*s\033[K\n\033[Jq quit", (int)width, top->trouble);
		return fflush(stdout) ? CLI_FAILED : CLI_DONE;
	}
	status = build(top, &view);
	if (!status)
		top_print(stdout, &view, top->sort, width, height, "\033[K\n");
	fputs("\033[J", stdout);
	top_view_release(&view);
	return fflush(stdout) ? CLI_FAILED : status;
}

static bool is_quit(char key)
{
	return key == 'q' || key == 'Q' || key == KEY_CTRL_C;
}

/* The first counts twice: there are counters at once, and no rates yet. */
static void sample_again(struct top *top)
{
	if (sample(top) || top->before.stats)
		return;
	top->before.status = json_incref(top->now.status);
	top->before.stats = json_incref(top->now.stats);
	top->before.at_s = top->now.at_s;
}

/*
 * Answers about 10,000 backends take ringlbd a second, in which it does nothing else: it is
 * not asked for more than a fifth of the time.
 */
static int64_t next_sample_ms(const struct top *top, int64_t asked_ms, int64_t answered_ms)
{
	int64_t rest_ms = ASK_PART * (answered_ms - asked_ms);

	return answered_ms + (rest_ms > top->interval_ms ? rest_ms : top->interval_ms);
}

static int run_screen(struct top *top)
{
	int64_t next_ms = now_ms();
	int status = CLI_DONE;

	while (!status) {
		int64_t asked_ms = now_ms(), left_ms = next_ms - asked_ms;
		char key[2] = "";
		enum screen_event event;

		if (left_ms <= 0) {
			sample_again(top);
			next_ms = next_sample_ms(top, asked_ms, now_ms());
			status = draw(top);
			continue;
		}
		event = screen_wait((int)left_ms, key);
		if (event == SCREEN_END || (event == SCREEN_KEY && is_quit(key[0])))
			break;
		if (event == SCREEN_KEY)
			top_sort_find(key, &top->sort);
		if (event != SCREEN_TIME)
			status = draw(top);
	}
	return status;
}

static bool read_options(struct top *top)
{
	const struct cli_options *options = top->options;

	if (!value_is_duration("interval", options->interval) ||
	    !value_is_name("pool", options->pool))
		return false;
	if (options->interval)
		text_parse_duration_ms(options->interval, &top->interval_ms);
	if (top->interval_ms < INTERVAL_MS_MIN) {
		cli_error("interval must be %dms or more, got '%s'", INTERVAL_MS_MIN,
			  options->interval);
		return false;
	}
	if (!options->sort || !top_sort_find(options->sort, &top->sort))
		return true;
	cli_error("sort must be packets, bits, share, deviation, flows, health or name, got '%s'",
		  options->sort);
	return false;
}

static int run_top(const struct cli_options *options, char *const *operands)
{
	struct top top = {.options = options, .interval_ms = INTERVAL_MS_DEFAULT};
	int status;

	(void)operands;
	if (!read_options(&top))
		return CLI_USAGE;
	if (options->once || options->json) {
		status = run_lines(&top);
	} else if (screen_open()) {
		cli_error("top needs a terminal: with --once it prints one frame, with --json one "
			  "object a line");
		return CLI_FAILED;
	} else {
		status = run_screen(&top);
		screen_close();
	}
	top_sample_release(&top.before);
	top_sample_release(&top.now);
	return status;
}

const struct cli_command cmd_top = {
	.name = "top",
	.options = CLI_POOL | CLI_TOP,
	.summary = "live rates, shares and health of the backends",
	.about =
		"Shows, anew each second, what becomes of packets, what moves and what drains, "
		"and\n"
		"for each backend its health, the share that it should have of its pool's packets\n"
		"beside the one that it had, and its rates. As many as fit, in the order of\n"
		"--sort or of a key. It goes on while ringlbd restarts. With --once one frame of\n"
		"all is printed; with --json that, or else an object a line until interrupted.",
	.examples = "  ringlb top\n"
		    "  ringlb top --pool web --sort deviation --interval 5s\n"
		    "  ringlb top --once\n"
		    "  ringlb top --json | jq .dropped_per_s",
	.run = run_top,
};
