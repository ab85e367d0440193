/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The log: what a line looks like, what is left out and told, what the journal gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/log.h"
#include "control/log_limit.h"

#define JOURNAL_DIR    "/run/systemd/journal"
#define JOURNAL_SOCKET JOURNAL_DIR "/socket"

static int saved, output[2];

/* From here on stderr is a pipe that is read back. */
static int take_stderr(void **state)
{
	(void)state;
	saved = dup(STDERR_FILENO);
	return saved < 0 || pipe2(output, O_NONBLOCK) || dup2(output[1], STDERR_FILENO) < 0;
}

static int give_back(void **state)
{
	(void)state;
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(output[0]);
	close(output[1]);
	unsetenv("JOURNAL_STREAM");
	log_open();
	return 0;
}

static const char *said(void)
{
	static char text[65536];
	ssize_t len = read(output[0], text, sizeof(text) - 1);

	text[len > 0 ? len : 0] = 0;
	return text;
}

static void test_line(void **state)
{
	(void)state;
	log_event(EVENT_BACKEND_DOWN, LOG_FIELDS({"pool", "web"}, {"backend", "b1"}), "down");
	assert_string_equal(said(),
			    "level=warning event=backend_down pool=web backend=b1 msg=down\n");
	log_event(EVENT_READY, NULL, "ready: %d", 5);
	assert_string_equal(said(), "level=info event=ready msg=\"ready: 5\"\n");
}

static void test_quotes(void **state)
{
	(void)state;
	log_event(EVENT_FAILED,
		  LOG_FIELDS({"a", "x=1"}, {"b", "say \"no\" \\"}, {"c", ""}, {"d", NULL},
			     {"e", "two\nlines"}),
		  "it's");
	assert_string_equal(said(), "level=error event=failed a=\"x=1\" b=\"say \\\"no\\\" \\\\\" "
				    "e=\"two?lines\" msg=it's\n");
}

/* One line, whatever the length. */
static void test_long(void **state)
{
	char *text = calloc(1, 9000);
	const char *line;

	(void)state;
	memset(text, '"', 8999);
	log_event(EVENT_FAILED, LOG_FIELDS({"a", text}, {"b", text}), "%s", text);
	line = said();
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_true(strlen(line) <= 4096);
	free(text);
}

static void test_trouble(void **state)
{
	(void)state;
	log_trouble(EVENT_TICK_TROUBLE, NULL);
	assert_string_equal(said(), "");
	log_trouble(EVENT_TICK_TROUBLE, "full");
	assert_string_equal(said(), "level=error event=tick_trouble msg=full\n");
	log_trouble(EVENT_TICK_TROUBLE, "full");
	assert_string_equal(said(), "");
	log_trouble(EVENT_TICK_TROUBLE, "fuller");
	assert_string_equal(said(), "level=error event=tick_trouble msg=fuller\n");
	log_trouble(EVENT_TICK_TROUBLE, NULL);
	assert_string_equal(
		said(),
		"level=notice event=recovered from=tick_trouble msg=\"no more of: fuller\"\n");
	log_trouble(EVENT_TICK_TROUBLE, NULL);
	assert_string_equal(said(), "");
}

static void test_limit(void **state)
{
	struct log_limit limit = {};
	int taken = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		taken += log_limit_take(&limit, 5000);
	assert_int_equal(taken, LOG_LIMIT_LINES);
	assert_int_equal(log_limit_over(&limit, 5000 + LOG_LIMIT_WINDOW_MS - 1), 0);
	assert_false(log_limit_take(&limit, 5000 + LOG_LIMIT_WINDOW_MS - 1));
	assert_int_equal(log_limit_over(&limit, 5000 + LOG_LIMIT_WINDOW_MS), 901);
	assert_int_equal(log_limit_over(&limit, 5000 + LOG_LIMIT_WINDOW_MS), 0);
	assert_true(log_limit_take(&limit, 5000 + LOG_LIMIT_WINDOW_MS));
	/* A clock that starts at 0 is none that is over. */
	limit = (struct log_limit){};
	for (int i = 0; i < LOG_LIMIT_LINES; i++)
		assert_true(log_limit_take(&limit, 0));
	assert_false(log_limit_take(&limit, 0));
}

/* Each kind has a limit of its own. */
static void test_kinds(void **state)
{
	size_t lines = 0;

	(void)state;
	for (int i = 0; i < 2 * LOG_LIMIT_LINES; i++)
		log_event(EVENT_BACKEND_UP, NULL, "x");
	for (const char *c = said(); *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, LOG_LIMIT_LINES);
	log_event(EVENT_SETTLED, NULL, "x");
	assert_string_equal(said(), "level=info event=arcs_settled msg=x\n");
}

/* A journal that this test is: a socket where libsystemd looks for it, in a /run of its own. */
static int journal(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_return_code(unshare(CLONE_NEWNS), errno);
	assert_return_code(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), errno);
	assert_return_code(mount("none", "/run", "tmpfs", 0, NULL), errno);
	assert_return_code(mkdir("/run/systemd", 0755), errno);
	assert_return_code(mkdir(JOURNAL_DIR, 0755), errno);
	assert_return_code(bind(fd, (void *)&address, sizeof(address)), errno);
	return fd;
}

static void set_stream(ino_t more)
{
	struct stat status;
	char stream[64];

	assert_int_equal(fstat(STDERR_FILENO, &status), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
		 (uintmax_t)(status.st_ino + more));
	setenv("JOURNAL_STREAM", stream, 1);
	log_open();
}

static void test_journal(void **state)
{
	char entry[4096];
	int fd = journal();
	ssize_t len;

	(void)state;
	set_stream(0);
	log_event(EVENT_BACKEND_DOWN, LOG_FIELDS({"pool", "web"}, {"reason", "no answer"}), "down");
	assert_string_equal(said(), "");
	len = recv(fd, entry, sizeof(entry) - 1, 0);
	assert_true(len > 0);
	entry[len] = 0;
	assert_non_null(strstr(entry, "MESSAGE=down\n"));
	assert_non_null(strstr(entry, "PRIORITY=4\n"));
	assert_non_null(strstr(entry, "RINGLB_EVENT=backend_down\n"));
	assert_non_null(strstr(entry, "RINGLB_POOL=web\n"));
	assert_non_null(strstr(entry, "RINGLB_REASON=no answer\n"));
	/* Some other stream is the journal's, as when stderr was redirected. */
	set_stream(1);
	log_event(EVENT_BACKEND_DOWN, NULL, "down");
	assert_string_equal(said(), "level=warning event=backend_down msg=down\n");
	assert_int_equal(recv(fd, entry, sizeof(entry), 0), -1);
	setenv("JOURNAL_STREAM", "nonsense", 1);
	log_open();
	log_event(EVENT_BACKEND_DOWN, NULL, "down");
	assert_string_equal(said(), "level=warning event=backend_down msg=down\n");
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, take_stderr, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_line),  TEST(test_quotes), TEST(test_long),	 TEST(test_trouble),
		TEST(test_limit), TEST(test_kinds),  TEST(test_journal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
