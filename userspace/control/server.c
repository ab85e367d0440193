/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/server.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control/server_input.h"
#include "control/server_socket.h"

#define ANSWER_MAX	 (64U << 20) /* three times a list of all backends */
#define CLOSE_TIMEOUT_US 500000
/* Without free file descriptors accept() fails and the socket stays ready: don't spin on it. */
#define ACCEPT_INTERVAL_US 1000000
#define ACCEPT_BURST	   2000

/* With 15 digits, 1.2 is not 1.2000000000000002; a share is off by no more than 1e-15. */
#define ANSWER_FORM (JSON_COMPACT | JSON_REAL_PRECISION(15))

static const char out_of_memory[] = "{\"ok\":false,\"error\":\"out of memory\"}";

/*
 * A client's next request is taken up when its last answer has left, so there is
 * never more than one answer to keep, and one request for each turn of the loop, so
 * that clients take turns.
 */
struct client {
	struct server *server;
	size_t index; /* in server->clients */
	int fd;
	sd_event_source *io;
	sd_event_source *idle;
	struct server_input input;
	bool ended; /* nothing more will come in: close when all is answered */
	char *output;
	size_t output_len, output_sent;
};

struct server {
	sd_event *loop;
	struct server_socket listening;
	sd_event_source *accept;
	server_handler handle;
	void *context;
	uint64_t idle_us;
	struct client *clients[SERVER_CLIENTS_MAX];
	size_t n_clients;
};

json_t *server_error(const char *format, ...)
{
	char text[512];
	json_t *what;
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	what = json_string(text);
	if (!what) { /* not UTF-8, perhaps because it was cut within a character */
		for (char *c = text; *c; c++)
			if ((unsigned char)*c >= 0x80)
				*c = '?';
		what = json_string(text);
	}
	return json_pack("{s:b, s:o}", "ok", 0, "error", what);
}

json_t *server_result(json_t *result)
{
	return json_pack("{s:b, s:o}", "ok", 1, "result", result);
}

static void client_free(struct client *client)
{
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->idle);
	close(client->fd);
	server_input_release(&client->input);
	free(client->output);
	free(client);
}

static void client_leave(struct client *client)
{
	struct server *server = client->server;
	struct client *last = server->clients[--server->n_clients];

	server->clients[client->index] = last;
	last->index = client->index;
	client_free(client);
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/*
 * Only answers that are taken count as life, so nobody keeps a place by dripping
 * requests. The time is now, not sd_event_now(): a handler may have taken long.
 */
static void client_touch(struct client *client)
{
	sd_event_source_set_time(client->idle, now_us() + client->server->idle_us);
	sd_event_source_set_enabled(client->idle, SD_EVENT_ONESHOT);
}

/* Return: 0 if nothing waits any more; -EAGAIN if something does; -errno if the client is lost. */
static int client_flush(struct client *client)
{
	ssize_t sent;

	while (client->output) {
		sent = send(client->fd, client->output + client->output_sent,
			    client->output_len - client->output_sent, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -errno;
		client->output_sent += (size_t)sent;
		client_touch(client);
		if (client->output_sent == client->output_len) {
			free(client->output);
			client->output = NULL;
		}
	}
	return 0;
}

/* Takes over the reference. The output is empty before. Return: 0 or -errno. */
static int client_answer(struct client *client, json_t *answer)
{
	char *text = answer ? json_dumps(answer, ANSWER_FORM) : NULL;

	json_decref(answer);
	if (text && strlen(text) > ANSWER_MAX) {
		free(text);
		answer = server_error("the answer is longer than %u bytes", ANSWER_MAX);
		text = json_dumps(answer, ANSWER_FORM);
		json_decref(answer);
	}
	if (!text)
		text = strdup(out_of_memory);
	if (!text)
		return -ENOMEM;
	client->output = text;
	client->output_len = strlen(text) + 1;
	client->output_sent = 0;
	text[client->output_len - 1] = '\n'; /* where the final zero was */
	return client_flush(client);
}

static int client_request(struct client *client, const char *line, size_t len)
{
	struct server *server = client->server;
	json_t *request, *answer;
	json_error_t error;

	if (memchr(line, '\0', len))
		return client_answer(client, server_error("the request contains a NUL byte"));
	request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (!request)
		return client_answer(client,
				     server_error("the request is not valid JSON: %s", error.text));
	if (!json_is_object(request))
		answer = server_error("the request is not a JSON object");
	else
		answer = server->handle(server->context, request);
	json_decref(request);
	return client_answer(client, answer);
}

/* Read once what has come in. Return: 0, -EAGAIN, or -errno if the client is lost. */
static int client_receive(struct client *client)
{
	int got = server_input_receive(&client->input, client->fd);

	if (got == -EMSGSIZE)
		return client_answer(client, server_error("the request is longer than %u bytes",
							  SERVER_REQUEST_MAX));
	if (got < 0)
		return got;
	client->ended = got == 0;
	if (client->ended && server_input_drop(&client->input))
		return client_answer(client, server_error("the request ends without a newline"));
	return 0;
}

/* One turn: what waits goes out, else one request is answered, else more is read. */
static int client_step(struct client *client)
{
	const char *line;
	size_t len;
	int err;

	err = client_flush(client);
	if (err)
		return err;
	if (!client->ended && !server_input_has_line(&client->input)) {
		err = client_receive(client);
		if (err)
			return err;
	}
	if (!server_input_take_line(&client->input, &line, &len))
		return 0;
	return client_request(client, line, len);
}

static int client_ready(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct client *client = userdata;
	int err;

	(void)fd;
	(void)revents;
	err = client_step(client);
	if (err && err != -EAGAIN) {
		client_leave(client);
		return 0;
	}
	/* With a request in hand, being writable is what calls us for the next turn. */
	if (client->output || server_input_has_line(&client->input))
		sd_event_source_set_io_events(source, EPOLLOUT);
	else if (client->ended)
		client_leave(client);
	else
		sd_event_source_set_io_events(source, EPOLLIN);
	return 0;
}

static int client_idle(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source;
	(void)usec;
	client_leave(userdata);
	return 0;
}

static void client_refuse(int fd)
{
	json_t *answer = server_error("ringlbd serves %u clients already", SERVER_CLIENTS_MAX);
	char *text = json_dumps(answer, ANSWER_FORM);
	char line[256];
	int len;

	len = snprintf(line, sizeof(line), "%s\n", text ? text : out_of_memory);
	/* A new socket's buffer is empty: the line fits, or the client is gone. */
	(void)!send(fd, line, (size_t)len, MSG_NOSIGNAL);
	free(text);
	json_decref(answer);
	close(fd);
}

static int server_accept(sd_event_source *source, int listen_fd, uint32_t revents, void *userdata)
{
	struct server *server = userdata;
	struct client *client;
	int fd;

	(void)source;
	(void)revents;
	fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return 0;
	client = server->n_clients < SERVER_CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;
	if (!client) {
		client_refuse(fd);
		return 0;
	}
	client->server = server;
	client->fd = fd;
	client->index = server->n_clients;
	server->clients[server->n_clients++] = client;
	/* The low priority: whoever asked in time is served first, however long the loop was away.
	 */
	if (sd_event_add_io(server->loop, &client->io, fd, EPOLLIN, client_ready, client) < 0 ||
	    sd_event_add_time(server->loop, &client->idle, CLOCK_MONOTONIC,
			      now_us() + server->idle_us, 0, client_idle, client) < 0 ||
	    sd_event_source_set_priority(client->idle, SD_EVENT_PRIORITY_IDLE) < 0)
		client_leave(client);
	return 0;
}

int server_open(struct server **out, sd_event *loop, const char *path, server_handler handle,
		void *context)
{
	struct server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return -ENOMEM;
	server->loop = loop;
	server->handle = handle;
	server->context = context;
	server->idle_us = SERVER_IDLE_TIMEOUT_MS * 1000ULL;
	err = server_socket_open(&server->listening, path);
	if (err) {
		free(server);
		return err;
	}
	err = sd_event_add_io(loop, &server->accept, server->listening.fd, EPOLLIN, server_accept,
			      server);
	if (err >= 0)
		err = sd_event_source_set_ratelimit(server->accept, ACCEPT_INTERVAL_US,
						    ACCEPT_BURST);
	if (err < 0) {
		server_close(server);
		return err;
	}
	*out = server;
	return 0;
}

void server_set_idle_timeout(struct server *server, unsigned int timeout_ms)
{
	server->idle_us = timeout_ms * 1000ULL;
}

/* Whoever reads gets the rest of an answer; who doesn't cannot hold up the end. */
static void server_flush(struct server *server)
{
	uint64_t now, until = now_us() + CLOSE_TIMEOUT_US;
	struct pollfd fds[SERVER_CLIENTS_MAX];
	nfds_t n;

	do {
		n = 0;
		for (size_t i = 0; i < server->n_clients; i++)
			if (client_flush(server->clients[i]) == -EAGAIN)
				fds[n++] = (struct pollfd){.fd = server->clients[i]->fd,
							   .events = POLLOUT};
		now = now_us();
	} while (n > 0 && now < until && poll(fds, n, (int)((until - now) / 1000)) > 0);
}

void server_close(struct server *server)
{
	if (!server)
		return;
	sd_event_source_disable_unref(server->accept);
	server_socket_close(&server->listening);
	server_flush(server);
	for (size_t i = 0; i < server->n_clients; i++)
		client_free(server->clients[i]);
	free(server);
}
