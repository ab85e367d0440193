/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The control socket: requests, answers, and clients that do not behave. */
#include "tests/unit/server_fixture.h"

/* Requests with the values 0 to @n - 1, in one piece: answers are not read in between. */
static void client_say_many(struct fixture *f, int fd, int n)
{
	char *text = malloc((size_t)n * 64), *at = text;

	assert_non_null(text);
	for (int i = 0; i < n; i++)
		at += sprintf(at, "{\"command\": \"echo\", \"value\": %d}\n", i);
	client_send(f, fd, text, (size_t)(at - text));
	free(text);
}

static void many_requests_in_one_piece(void **state)
{
	struct fixture *f = *state;
	int fd = client_open(f), n = 3000;

	client_say_many(f, fd, n);
	for (int i = 0; i < n; i++)
		assert_echo(f, fd, i);
	assert_int_equal(f->handled, n);
	close(fd);
}

static void one_byte_at_a_time(void **state)
{
	static const char request[] = "{\"command\": \"echo\", \"value\": 12}\r\n";
	struct fixture *f = *state;
	int fd = client_open(f);

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < strlen(request); i++) {
			client_send(f, fd, request + i, 1);
			turn(f);
		}
		assert_echo(f, fd, 12);
	}
	close(fd);
}

static void clients_take_turns(void **state)
{
	struct fixture *f = *state;
	int greedy = client_open(f), modest = client_open(f), n = 1000;

	client_say_many(f, greedy, n);
	client_say(f, modest, "{\"command\": \"echo\", \"value\": 2}\n");
	assert_echo(f, modest, 2);
	assert_true(f->handled < 10);
	for (int i = 0; i < n; i++)
		assert_echo(f, greedy, i);
	close(greedy);
	close(modest);
}

static void answers_of_the_handler(void **state)
{
	struct fixture *f = *state;
	int fd = client_open(f);

	client_say(f, fd, "{\"command\": \"refuse\"}\n");
	assert_refused(f, fd, "pool 'web' is not there");
	client_say(f, fd, "{\"command\": \"nothing\"}\n");
	assert_refused(f, fd, "out of memory");
	assert_alive(f, fd);
	close(fd);
}

/* Whatever comes in is answered on its line, and the next line is served. */
static void garbage(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *reason;
	} rows[] = {
#define ROW(bytes, reason) {bytes, sizeof(bytes) - 1, reason}
		ROW("\n", "not valid JSON"),
		ROW("hello\n", "not valid JSON"),
		ROW("{\"command\": \n", "not valid JSON"),
		ROW("{\"command\": \"echo\"} x\n", "end of file expected"),
		ROW("{\"command\": \"echo\"}{\"command\": \"echo\"}\n", "end of file expected"),
		ROW("[{\"command\": \"echo\"}]\n", "not a JSON object"),
		ROW("[]\n", "not a JSON object"),
		ROW("\"echo\"\n", "not valid JSON"),
		ROW("17\n", "not valid JSON"),
		ROW("{\"value\": 1, \"value\": 2}\n", "duplicate"),
		ROW("{\"a\": {\"value\": 1, \"value\": 2}}\n", "duplicate"),
		ROW("{\"value\": \0 1}\n", "NUL"),
		ROW("\0\n", "NUL"),
		ROW("{\"value\": \"\\u0000\"}\n", "not valid JSON"),
		ROW("{\"value\": \"\xff\xfe\"}\n", "not valid JSON"),
		ROW("\xff\xff\xff\xff\n", "not valid JSON"),
		ROW("{\"value\": 99999999999999999999}\n", "too big"),
		ROW("{\"value\": 1e999}\n", "overflow"),
#undef ROW
	};
	struct fixture *f = *state;
	int fd = client_open(f);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		client_send(f, fd, rows[i].bytes, rows[i].len);
		assert_refused(f, fd, rows[i].reason);
	}
	assert_int_equal(f->handled, 0);
	assert_alive(f, fd);
	close(fd);
}

static void deep_nesting(void **state)
{
	struct fixture *f = *state;
	size_t len = SERVER_REQUEST_MAX;
	char *text = malloc(len + 1);
	int fd = client_open(f);

	assert_non_null(text);
	memset(text, '[', len);
	text[len] = '\n';
	client_send(f, fd, text, len + 1);
	assert_refused(f, fd, "depth");
	assert_alive(f, fd);
	free(text);
	close(fd);
}

/* {"value": 7,   ...   } of exactly @len bytes, and a newline */
static char *request_of_len(size_t len)
{
	static const char start[] = "{\"value\": 7";
	char *text = malloc(len + 1);

	assert_non_null(text);
	memset(text, ' ', len);
	memcpy(text, start, strlen(start));
	text[len - 1] = '}';
	text[len] = '\n';
	return text;
}

static void longest_line_and_one_more(void **state)
{
	struct fixture *f = *state;
	int fd = client_open(f);
	char *text;

	text = request_of_len(SERVER_REQUEST_MAX);
	client_send(f, fd, text, SERVER_REQUEST_MAX + 1);
	assert_echo(f, fd, 7);
	free(text);
	text = request_of_len(SERVER_REQUEST_MAX + 1);
	client_send(f, fd, text, SERVER_REQUEST_MAX + 2);
	assert_refused(f, fd, "longer than 1048576 bytes");
	assert_alive(f, fd);
	free(text);

	text = request_of_len(5 * SERVER_REQUEST_MAX);
	client_send(f, fd, text, 5 * SERVER_REQUEST_MAX + 1);
	assert_refused(f, fd, "longer than");
	assert_alive(f, fd); /* one refusal, however long the line */
	assert_int_equal(f->handled, 3);
	free(text);
	close(fd);
}

static void half_closed_clients(void **state)
{
	struct fixture *f = *state;
	int fd = client_open(f);

	client_say(f, fd, "{\"value\": 1}\n{\"value\": 2}\n");
	shutdown(fd, SHUT_WR);
	assert_echo(f, fd, 1);
	assert_echo(f, fd, 2);
	assert_int_equal(client_byte(f, fd), -1);
	close(fd);

	fd = client_open(f);
	client_say(f, fd, "{\"value\": 3}\n{\"value\": 4}");
	shutdown(fd, SHUT_WR);
	assert_echo(f, fd, 3);
	assert_refused(f, fd, "ends without a newline");
	assert_int_equal(client_byte(f, fd), -1);
	close(fd);

	fd = client_open(f);
	client_say(f, fd, "{\"command\": \"large\"}\n");
	shutdown(fd, SHUT_WR);
	assert_true(strlen(client_line(f, fd)) > LARGE_BYTES);
	assert_int_equal(client_byte(f, fd), -1);
	close(fd);
}

static void clients_that_vanish(void **state)
{
	struct fixture *f = *state;
	int fds[SERVER_CLIENTS_MAX], fd;

	for (int i = 0; i < SERVER_CLIENTS_MAX; i++) {
		fds[i] = client_open(f);
		client_say(f, fds[i], i % 2 ? "{\"command\": \"large\"}\n" : "{\"val");
	}
	while (f->handled < SERVER_CLIENTS_MAX / 2)
		turn(f);
	for (int i = 0; i < SERVER_CLIENTS_MAX; i++)
		close(fds[i]);
	for (int i = 0; i < 4 * SERVER_CLIENTS_MAX; i++)
		turn(f);
	fd = client_open(f);
	assert_alive(f, fd);
	close(fd);
}

static void one_client_too_many(void **state)
{
	struct fixture *f = *state;
	int fds[SERVER_CLIENTS_MAX], fd;

	for (int i = 0; i < SERVER_CLIENTS_MAX; i++) {
		fds[i] = client_open(f);
		assert_alive(f, fds[i]);
	}
	fd = client_open(f);
	assert_refused(f, fd, "serves 64 clients already");
	assert_int_equal(client_byte(f, fd), -1);
	close(fd);
	assert_alive(f, fds[0]);
	assert_alive(f, fds[SERVER_CLIENTS_MAX - 1]);

	close(fds[3]);
	turn(f);
	fds[3] = client_open(f);
	assert_alive(f, fds[3]);
	for (int i = 0; i < SERVER_CLIENTS_MAX; i++)
		close(fds[i]);
}

static void clients_leave_in_any_order(void **state)
{
	static const int order[] = {3, 7, 0, 6, 1};
	struct fixture *f = *state;
	int fds[8];

	for (int i = 0; i < 8; i++) {
		fds[i] = client_open(f);
		assert_alive(f, fds[i]);
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		shutdown(fds[order[i]], SHUT_WR);
		assert_int_equal(client_byte(f, fds[order[i]]), -1);
		close(fds[order[i]]);
	}
	assert_alive(f, fds[2]);
	assert_alive(f, fds[4]);
	assert_alive(f, fds[5]); /* teardown frees these three, each once */
	close(fds[2]);
	close(fds[4]);
	close(fds[5]);
}

static void stalled_reader(void **state)
{
	struct fixture *f = *state;
	int stalled = client_open(f), other = client_open(f);

	client_say(f, stalled, "{\"command\": \"large\"}\n{\"value\": 9}\n");
	while (f->handled < 1)
		turn(f);
	for (int i = 0; i < 50; i++)
		assert_alive(f, other);
	assert_int_equal(f->handled, 51); /* its second request waits for its first answer */
	client_line(f, stalled);
	assert_int_equal(strspn(strchr(f->answer, 'x'), "x"), LARGE_BYTES);
	assert_echo(f, stalled, 9);
	close(stalled);
	close(other);
}

static void idle_clients_are_cut_off(void **state)
{
	struct fixture *f = *state;
	int silent, dripping, stalled;
	time_t since = time(NULL);

	server_set_idle_timeout(f->server, 100);
	silent = client_open(f);
	dripping = client_open(f);
	stalled = client_open(f);
	client_say(f, stalled, "{\"command\": \"large\"}\n");
	while (send(dripping, " ", 1, MSG_NOSIGNAL) == 1) {
		check_patience(since);
		for (int i = 0; i < 4; i++)
			turn(f);
	}
	assert_int_equal(errno, EPIPE);
	assert_int_equal(client_byte(f, silent), -1);
	while (client_byte(f, stalled) > 0)
		;
	close(silent);
	close(dripping);
	close(stalled);
}

static void answered_clients_are_kept(void **state)
{
	struct fixture *f = *state;
	int fd;

	server_set_idle_timeout(f->server, 500);
	fd = client_open(f);
	for (int i = 0; i < 8; i++) { /* 800 ms and more in all */
		for (int j = 0; j < 50; j++)
			turn(f);
		assert_alive(f, fd);
	}
	close(fd);
}

/* The loop was away, as in a long reload: who asked meanwhile is answered all the same. */
static void late_answer_is_no_idleness(void **state)
{
	struct fixture *f = *state;
	int fd;

	server_set_idle_timeout(f->server, 30);
	fd = client_open(f);
	assert_alive(f, fd);
	client_say(f, fd, "{\"value\": 5}\n");
	usleep(60000);
	assert_echo(f, fd, 5);
	close(fd);
}

static void errors_are_always_valid_json(void **state)
{
	char long_name[2000], *text;
	json_t *error;

	(void)state;
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	/* Odd offsets cut two-byte characters in half wherever the text ends. */
	for (size_t i = 1; i + 2 < sizeof(long_name); i += 2)
		memcpy(long_name + i, "\xc3\xa9", 2);
	for (int skip = 0; skip < 2; skip++) {
		error = server_error("no '%s'\n", long_name + skip);
		assert_non_null(error);
		text = json_dumps(error, JSON_COMPACT);
		assert_non_null(text);
		assert_null(strchr(text, '\n'));
		free(text);
		json_decref(error);
	}
	assert_null(server_result(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(many_requests_in_one_piece),
		WITH_FIXTURE(one_byte_at_a_time),
		WITH_FIXTURE(clients_take_turns),
		WITH_FIXTURE(answers_of_the_handler),
		WITH_FIXTURE(garbage),
		WITH_FIXTURE(deep_nesting),
		WITH_FIXTURE(longest_line_and_one_more),
		WITH_FIXTURE(half_closed_clients),
		WITH_FIXTURE(clients_that_vanish),
		WITH_FIXTURE(one_client_too_many),
		WITH_FIXTURE(clients_leave_in_any_order),
		WITH_FIXTURE(stalled_reader),
		WITH_FIXTURE(idle_clients_are_cut_off),
		WITH_FIXTURE(answered_clients_are_kept),
		WITH_FIXTURE(late_answer_is_no_idleness),
		cmocka_unit_test(errors_are_always_valid_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
