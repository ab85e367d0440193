/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/client.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_SIZE_MIN 65536
#define ANSWER_SIZE_MAX (128U << 20) /* twice what ringlbd sends at most */

struct connection {
	const char *path;
	int fd;
	int timeout_s;
	int64_t until_ms;
	char *error;
};

__attribute__((format(printf, 3, 4))) static int fail(const struct connection *connection, int err,
						      const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(connection->error, CLIENT_ERROR_LEN, format, list);
	va_end(list);
	return err;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int fail_timeout(const struct connection *connection)
{
	return fail(connection, -ETIMEDOUT, "ringlbd at '%s' did not answer within %d s",
		    connection->path, connection->timeout_s);
}

static int fail_connect(const struct connection *connection, int err)
{
	const char *hint = "";

	if (err == EAGAIN) /* SO_SNDTIMEO: its backlog stayed full */
		return fail_timeout(connection);
	if (err == ENOENT || err == ECONNREFUSED)
		hint = " (is ringlbd running?)";
	else if (err == EACCES || err == EPERM)
		hint = " (this takes root or membership of group ringlb)";
	return fail(connection, -err, "cannot reach ringlbd at '%s': %s%s", connection->path,
		    strerror(err), hint);
}

/* Return: the connected socket or -errno. */
static int connection_open(const struct connection *connection)
{
	struct timeval timeout = {.tv_sec = connection->timeout_s};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(connection->path);
	int err, fd;

	if (len == 0)
		return fail_connect(connection, ENOENT);
	if (len >= sizeof(address.sun_path))
		return fail_connect(connection, ENAMETOOLONG);
	memcpy(address.sun_path, connection->path, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail_connect(connection, errno);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		err = errno;
		close(fd);
		return fail_connect(connection, err);
	}
	return fd;
}

/* Return: 0 once the socket is ready for @events, or -ETIMEDOUT. */
static int connection_wait(const struct connection *connection, short events)
{
	struct pollfd fd = {.fd = connection->fd, .events = events};
	int64_t left_ms;

	do {
		left_ms = connection->until_ms - now_ms();
		if (left_ms <= 0)
			return fail_timeout(connection);
	} while (poll(&fd, 1, (int)left_ms) <= 0);
	return 0;
}

/* A daemon that hangs up early may have said why, so that is found out by reading. */
static int connection_send(const struct connection *connection, const char *text, size_t len)
{
	size_t sent = 0;
	ssize_t done;
	int err;

	while (sent < len) {
		done = send(connection->fd, text + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (done >= 0) {
			sent += (size_t)done;
			continue;
		}
		if (errno == EPIPE || errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return fail(connection, -errno, "cannot send to ringlbd at '%s': %s",
				    connection->path, strerror(errno));
		err = connection_wait(connection, POLLOUT);
		if (err)
			return err;
	}
	return 0;
}

/* Read up to the first newline. @text: grown as needed; its owner frees it in any case. */
static int connection_receive(const struct connection *connection, char **text, size_t *len)
{
	size_t size = 0, end = 0;
	const char *newline;
	ssize_t got;
	char *more;
	int err;

	for (;;) {
		if (end == size) {
			size = size ? size * 2 : ANSWER_SIZE_MIN;
			more = size <= ANSWER_SIZE_MAX ? realloc(*text, size) : NULL;
			if (!more)
				return fail(connection, -ENOMEM, "the answer is too long");
			*text = more;
		}
		err = connection_wait(connection, POLLIN);
		if (err)
			return err;
		got = recv(connection->fd, *text + end, size - end, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return fail(connection, -EPROTO,
				    "ringlbd at '%s' hung up without an answer", connection->path);
		newline = memchr(*text + end, '\n', (size_t)got);
		if (newline) {
			*len = (size_t)(newline - *text);
			return 0;
		}
		end += (size_t)got;
	}
}

static int answer_read(const struct connection *connection, const char *text, size_t len,
		       json_t **result)
{
	json_t *answer = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *ok = json_object_get(answer, "ok");
	const char *reason = json_string_value(json_object_get(answer, "error"));
	json_t *value = json_object_get(answer, "result");
	int err = 0;

	if (json_is_true(ok) && value)
		*result = json_incref(value);
	else if (json_is_false(ok) && reason)
		err = fail(connection, -EREMOTEIO, "%s", reason);
	else
		err = fail(connection, -EPROTO, "ringlbd at '%s' sent an answer that is not valid",
			   connection->path);
	json_decref(answer);
	return err;
}

int client_ask(const char *path, int timeout_s, const json_t *request, json_t **result,
	       char error[CLIENT_ERROR_LEN])
{
	struct connection connection = {.path = path,
					.fd = -1,
					.timeout_s = timeout_s,
					.until_ms = now_ms() + timeout_s * 1000LL,
					.error = error};
	char *line = NULL, *answer = NULL, *text = json_dumps(request, JSON_COMPACT);
	size_t len = 0;
	int err;

	if (!text || asprintf(&line, "%s\n", text) < 0) {
		line = NULL;
		err = fail(&connection, -ENOMEM, "out of memory");
		goto out;
	}
	connection.fd = connection_open(&connection);
	if (connection.fd < 0) {
		err = connection.fd;
		goto out;
	}
	err = connection_send(&connection, line, strlen(line));
	if (!err)
		err = connection_receive(&connection, &answer, &len);
	if (!err)
		err = answer_read(&connection, answer, len, result);
out:
	if (connection.fd >= 0)
		close(connection.fd);
	free(answer);
	free(line);
	free(text);
	return err;
}
