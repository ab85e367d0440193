/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket with real clients and a handler that only echoes. Server and
 * clients share one thread: whoever waits for an answer turns the server's loop.
 */
#ifndef RINGLB_TESTS_SERVER_FIXTURE_H
#define RINGLB_TESTS_SERVER_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/server.h"

#define LARGE_BYTES	   (2U << 20) /* many times what a socket buffers */
#define TURN_US		   2000
#define PATIENCE_S	   20
#define ANSWER_SIZE	   (LARGE_BYTES + 4096)
#define WITH_FIXTURE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

struct fixture {
	char dir[32];
	char path[64];
	sd_event *loop;
	struct server *server;
	unsigned int handled;
	char *answer; /* ANSWER_SIZE: the line that was read last */
};

static inline json_t *handle(void *context, json_t *request)
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

static inline void turn(struct fixture *f)
{
	assert_true(sd_event_run(f->loop, TURN_US) >= 0);
}

static inline void check_patience(time_t since)
{
	if (time(NULL) - since > PATIENCE_S)
		fail_msg("no answer within %d s", PATIENCE_S);
}

static inline int client_open(const struct fixture *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	strcpy(address.sun_path, f->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static inline void client_send(struct fixture *f, int fd, const void *data, size_t len)
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

static inline void client_say(struct fixture *f, int fd, const char *text)
{
	client_send(f, fd, text, strlen(text));
}

/* Read one byte as soon as there is one. Return: it, or -1 if the server hung up. */
static inline int client_byte(struct fixture *f, int fd)
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
static inline const char *client_line(struct fixture *f, int fd)
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

static inline void assert_refused(struct fixture *f, int fd, const char *reason)
{
	json_t *answer = json_loads(client_line(f, fd), 0, NULL);
	const char *error = json_string_value(json_object_get(answer, "error"));

	assert_true(json_is_false(json_object_get(answer, "ok")));
	assert_non_null(error);
	if (!strstr(error, reason))
		fail_msg("got \"%s\", expected \"...%s...\"", error, reason);
	json_decref(answer);
}

static inline void assert_echo(struct fixture *f, int fd, json_int_t value)
{
	json_t *answer = json_loads(client_line(f, fd), 0, NULL);
	json_t *result = json_object_get(answer, "result");

	assert_true(json_is_true(json_object_get(answer, "ok")));
	assert_int_equal(json_integer_value(json_object_get(result, "value")), value);
	json_decref(answer);
}

static inline void assert_alive(struct fixture *f, int fd)
{
	client_say(f, fd, "{\"command\": \"echo\", \"value\": 7}\n");
	assert_echo(f, fd, 7);
}

static inline int setup(void **state)
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

static inline int teardown(void **state)
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

#endif
