/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket with real clients and a handler that only echoes. Server and
 * clients share one thread: whoever waits for an answer turns the server's loop.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/server.h"

#define LARGE_BYTES (2U << 20) /* many times what a socket buffers */
#define TURN_US	    2000
#define PATIENCE_S  20
#define ANSWER_SIZE (LARGE_BYTES + 4096)

struct fixture {
	char dir[32];
	char path[64];
	sd_event *loop;
	struct server *server;
	unsigned int handled;
	char *answer; /* ANSWER_SIZE: the line that was read last */
};

static json_t *handle(void *context, json_t *request)
{
	const char *command = json_string_value(json_object_get(request, "command"));
	struct fixture *f = context;
	json_t *result;
	char *text;

	f->handled++;
	if (command && !strcmp(command, "nothing"))
		return NULL;
	if (command && !strcmp(command, "refuse"))
		return server_error("pool '%s' is not there", "web");
	if (!command || strcmp(command, "large"))
		return server_result(json_incref(request));
	text = malloc(LARGE_BYTES);
	assert_non_null(text);
	memset(text, 'x', LARGE_BYTES);
	result = json_stringn(text, LARGE_BYTES);
	free(text);
	return server_result(result);
}

static void turn(struct fixture *f)
{
	assert_true(sd_event_run(f->loop, TURN_US) >= 0);
}

static void check_patience(time_t since)
{
	if (time(NULL) - since > PATIENCE_S)
		fail_msg("no answer within %d s", PATIENCE_S);
}

static int client_open(const struct fixture *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	strcpy(address.sun_path, f->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void client_send(struct fixture *f, int fd, const void *data, size_t len)
{
	const char *bytes = data;
	time_t since = time(NULL);
	ssize_t sent;

	while (len > 0) {
		sent = send(fd, bytes, len, MSG_NOSIGNAL);
		if (sent < 0) {
			assert_int_equal(errno, EAGAIN);
			check_patience(since);
			turn(f);
			continue;
		}
		bytes += sent;
		len -= (size_t)sent;
	}
}

static void client_say(struct fixture *f, int fd, const char *text)
{
	client_send(f, fd, text, strlen(text));
}

/* Read one byte as soon as there is one. Return: it, or -1 if the server hung up. */
static int client_byte(struct fixture *f, int fd)
{
	time_t since = time(NULL);
	unsigned char byte;
	ssize_t got;

	for (;;) {
		got = recv(fd, &byte, 1, 0);
		if (got == 1)
			return byte;
		if (got == 0 || errno == ECONNRESET)
			return -1;
		assert_int_equal(errno, EAGAIN);
		check_patience(since);
		turn(f);
	}
}

/* The next line, into f->answer, without its newline. Read in pieces that are not lost. */
static const char *client_line(struct fixture *f, int fd)
{
	time_t since = time(NULL);
	size_t len = 0;
	ssize_t got;

	for (;;) {
		got = recv(fd, f->answer + len, ANSWER_SIZE - len - 1, MSG_PEEK);
		if (got < 0) {
			assert_int_equal(errno, EAGAIN);
			check_patience(since);
			turn(f);
			continue;
		}
		if (got == 0)
			fail_msg("the server hung up");
		f->answer[len + (size_t)got] = '\0';
		char *newline = strchr(f->answer + len, '\n');

		if (newline)
			got = newline + 1 - (f->answer + len);
		assert_int_equal(recv(fd, f->answer + len, (size_t)got, 0), got);
		len += (size_t)got;
		if (newline) {
			*newline = '\0';
			return f->answer;
		}
	}
}

static void assert_refused(struct fixture *f, int fd, const char *reason)
{
	json_t *answer = json_loads(client_line(f, fd), 0, NULL);
	const char *error = json_string_value(json_object_get(answer, "error"));

	assert_true(json_is_false(json_object_get(answer, "ok")));
	assert_non_null(error);
	if (!strstr(error, reason))
		fail_msg("got \"%s\", expected \"...%s...\"", error, reason);
	json_decref(answer);
}

static void assert_echo(struct fixture *f, int fd, json_int_t value)
{
	json_t *answer = json_loads(client_line(f, fd), 0, NULL);
	json_t *result = json_object_get(answer, "result");

	assert_true(json_is_true(json_object_get(answer, "ok")));
	assert_int_equal(json_integer_value(json_object_get(result, "value")), value);
	json_decref(answer);
}

static void assert_alive(struct fixture *f, int fd)
{
	client_say(f, fd, "{\"command\": \"echo\", \"value\": 7}\n");
	assert_echo(f, fd, 7);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->answer = malloc(ANSWER_SIZE);
	assert_non_null(f->answer);
	strcpy(f->dir, "/tmp/test_server.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/socket", f->dir);
	assert_true(sd_event_new(&f->loop) >= 0);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char lock[80];

	server_close(f->server);
	sd_event_unref(f->loop);
	snprintf(lock, sizeof(lock), "%s.lock", f->path);
	unlink(lock);
	unlink(f->path);
	assert_int_equal(rmdir(f->dir), 0); /* nothing else was left behind */
	free(f->answer);
	free(f);
	return 0;
}

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
	int silent, dripping, stalled, active;
	unsigned int handled;

	server_set_idle_timeout(f->server, 100);
	silent = client_open(f);
	dripping = client_open(f);
	stalled = client_open(f);
	client_say(f, stalled, "{\"command\": \"large\"}\n");
	for (int i = 0; i < 40; i++) { /* 200 ms */
		send(dripping, " ", 1, MSG_NOSIGNAL);
		usleep(5000);
		for (int j = 0; j < 4; j++)
			sd_event_run(f->loop, 0);
	}
	assert_int_equal(client_byte(f, silent), -1);
	assert_int_equal(client_byte(f, dripping), -1);
	while (client_byte(f, stalled) > 0)
		;

	active = client_open(f);
	handled = f->handled;
	for (int i = 0; i < 10; i++) {
		usleep(20000);
		assert_alive(f, active);
	}
	assert_int_equal(f->handled, handled + 10);
	close(silent);
	close(dripping);
	close(stalled);
	close(active);
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

static void socket_is_private(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	mode_t masks[] = {0, 0777, 022}, old = umask(0);
	char name[80];

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		server_close(f->server);
		f->server = NULL;
		assert_int_equal(access(f->path, F_OK), -1); /* closing unlinks */
		umask(masks[i]);
		assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), 0);
		umask(old);
		assert_int_equal(stat(f->path, &st), 0);
		assert_true(S_ISSOCK(st.st_mode));
		assert_int_equal(st.st_mode & 07777, 0660);
	}
	snprintf(name, sizeof(name), "%s.new", f->path);
	assert_int_equal(access(name, F_OK), -1);
}

static void live_socket_is_refused(void **state)
{
	struct fixture *f = *state;
	struct server *second = (struct server *)state;
	struct stat before, after;
	int fd;

	assert_int_equal(stat(f->path, &before), 0);
	assert_int_equal(server_open(&second, f->loop, f->path, handle, f), -EADDRINUSE);
	assert_ptr_equal(second, state);
	assert_int_equal(stat(f->path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	fd = client_open(f);
	assert_alive(f, fd);
	close(fd);
}

/* Another one that is between looking for a live socket and putting its own in place. */
static void locked_path_is_refused(void **state)
{
	struct fixture *f = *state;
	char name[80];
	int fd;

	server_close(f->server);
	f->server = NULL;
	snprintf(name, sizeof(name), "%s.lock", f->path);
	fd = open(name, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* closing has let go of it */
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), -EADDRINUSE);
	assert_null(f->server);
	close(fd);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), 0);
}

/* A socket at the fixture's path that is not made by the server. Return: its descriptor. */
static int foreign_socket(struct fixture *f, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	server_close(f->server);
	f->server = NULL;
	strcpy(address.sun_path, f->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void foreign_sockets_are_refused(void **state)
{
	struct fixture *f = *state;
	int fd = foreign_socket(f, SOCK_STREAM);

	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), -EADDRINUSE);
	close(fd);
	unlink(f->path);
	fd = foreign_socket(f, SOCK_DGRAM);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), -EADDRINUSE);
	assert_null(f->server);
	assert_int_equal(access(f->path, F_OK), 0);
	close(fd);
}

static void stale_socket_is_replaced(void **state)
{
	struct fixture *f = *state;
	char name[80];
	int fd;

	close(foreign_socket(f, SOCK_STREAM));
	assert_int_equal(access(f->path, F_OK), 0);
	snprintf(name, sizeof(name), "%s.new", f->path); /* of a server that died at a bad moment */
	fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), 0);
	fd = client_open(f);
	assert_alive(f, fd);
	close(fd);
}

static void other_files_are_left_alone(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	int fd;

	server_close(f->server);
	f->server = NULL;
	fd = open(f->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), -ENOTSOCK);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_size, 8);

	/* Nor is what took the place of our socket unlinked with it. */
	unlink(f->path);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), 0);
	unlink(f->path);
	fd = open(f->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	server_close(f->server);
	f->server = NULL;
	assert_int_equal(access(f->path, F_OK), 0);
}

static void paths_that_cannot_be(void **state)
{
	struct fixture *f = *state;
	struct server *none = NULL;
	char path[256];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(server_open(&none, f->loop, path, handle, f), -ENAMETOOLONG);
	assert_int_equal(server_open(&none, f->loop, "", handle, f), -EINVAL);
	snprintf(path, sizeof(path), "%s/none/socket", f->dir);
	assert_int_equal(server_open(&none, f->loop, path, handle, f), -ENOENT);
	assert_null(none);
	server_close(NULL);
}

struct reader {
	int fd;
	size_t len;
};

/* In a thread of its own, as server_close() does not return meanwhile. */
static void *read_to_the_end(void *context)
{
	struct reader *reader = context;
	char bytes[65536];
	ssize_t got;

	while ((got = read(reader->fd, bytes, sizeof(bytes))) > 0)
		reader->len += (size_t)got;
	return NULL;
}

/* As for `down`: the handler answers, the loop ends, and the answer must still arrive. */
static void close_sends_what_waits(void **state)
{
	struct fixture *f = *state;
	struct reader reader = {.fd = client_open(f)};
	pthread_t thread;

	client_say(f, reader.fd, "{\"command\": \"large\"}\n");
	while (f->handled < 1)
		turn(f);
	assert_true(fcntl(reader.fd, F_SETFL, 0) >= 0);
	assert_int_equal(pthread_create(&thread, NULL, read_to_the_end, &reader), 0);
	server_close(f->server);
	f->server = NULL;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(reader.len, strlen("{\"ok\":true,\"result\":\"\"}\n") + LARGE_BYTES);
	close(reader.fd);
}

static void close_does_not_wait_for_stalled_readers(void **state)
{
	struct fixture *f = *state;
	struct timespec before, after;
	int fd = client_open(f);

	client_say(f, fd, "{\"command\": \"large\"}\n");
	while (f->handled < 1)
		turn(f);
	clock_gettime(CLOCK_MONOTONIC, &before);
	server_close(f->server);
	f->server = NULL;
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec <= 3);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(many_requests_in_one_piece),
		TEST(one_byte_at_a_time),
		TEST(clients_take_turns),
		TEST(answers_of_the_handler),
		TEST(garbage),
		TEST(deep_nesting),
		TEST(longest_line_and_one_more),
		TEST(half_closed_clients),
		TEST(clients_that_vanish),
		TEST(one_client_too_many),
		TEST(stalled_reader),
		TEST(idle_clients_are_cut_off),
		TEST(late_answer_is_no_idleness),
		TEST(socket_is_private),
		TEST(live_socket_is_refused),
		TEST(locked_path_is_refused),
		TEST(foreign_sockets_are_refused),
		TEST(stale_socket_is_replaced),
		TEST(other_files_are_left_alone),
		TEST(paths_that_cannot_be),
		TEST(close_sends_what_waits),
		TEST(close_does_not_wait_for_stalled_readers),
		cmocka_unit_test(errors_are_always_valid_json),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
