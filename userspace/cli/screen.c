/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended, resized;
static struct termios before;
static bool taken;

static void on_end(int signal)
{
	(void)signal;
	ended = 1;
}

static void on_resize(int signal)
{
	(void)signal;
	resized = 1;
}

/* Blocked but while we wait, so that none is missed between a look and the wait. */
static void take_signals(void)
{
	struct sigaction end = {.sa_handler = on_end}, resize = {.sa_handler = on_resize};
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGWINCH);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	sigaction(SIGWINCH, &resize, NULL);
}

int screen_open(void)
{
	struct termios raw;

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before))
		return -ENOTTY;
	take_signals();
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	/* One that is stopped would leave the terminal as it has it. */
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	taken = true;
	fputs("\033[?1049h\033[?25l", stdout);
	return 0;
}

void screen_close(void)
{
	if (!taken)
		return;
	taken = false;
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void screen_size(unsigned int *width, unsigned int *height)
{
	struct winsize size = {};

	*width = 80;
	*height = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return;
	*width = size.ws_col;
	*height = size.ws_row;
}

enum screen_event screen_wait(int ms, char *key)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	sigset_t none;
	int ready;

	sigemptyset(&none);
	ready = ppoll(&input, 1, &time, &none);
	if (ended)
		return SCREEN_END;
	if (resized) {
		resized = 0;
		return SCREEN_RESIZED;
	}
	if (ready <= 0)
		return SCREEN_TIME;
	/* The terminal is gone. */
	if (read(STDIN_FILENO, key, 1) != 1)
		return SCREEN_END;
	return SCREEN_KEY;
}
