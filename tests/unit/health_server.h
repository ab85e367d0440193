/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An HTTP server in the rig's loop that says what it is told to, in a manner of choice. */
#ifndef RINGLB_TESTS_HEALTH_SERVER_H
#define RINGLB_TESTS_HEALTH_SERVER_H

#include "health_rig.h"

#define OK	    "HTTP/1.1 200 OK\r\n"
#define REQUEST_MAX 2048
#define CLIENTS_MAX 64
#define TRICKLE_US  5000

/* What follows the answer. */
enum manner {
	HANG_UP,
	HOLD,	 /* keep the connection open and silent */
	TRICKLE, /* a byte at a time, for ever */
	FLOOD,	 /* the answer but its first line again and again, for ever */
};

struct client {
	struct server *server;
	struct client *next;
	int fd;
	sd_event_source *io;
	sd_event_source *timer;
	size_t received, sent;
	char request[REQUEST_MAX];
};

struct server {
	struct rig *rig;
	int fd;
	sd_event_source *io;
	struct client *clients;
	enum manner manner;
	bool blunt; /* answers before it is asked */
	const char *answer;
	size_t answer_len;
	unsigned int accepted;
	char request[REQUEST_MAX]; /* the last one */
};

static void client_free(struct client *client)
{
	struct client **at = &client->server->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->timer);
	close(client->fd);
	free(client);
}

static int client_trickle(sd_event_source *source, uint64_t usec, void *context)
{
	struct client *client = context;

	(void)usec;
	if (send(client->fd, "x", 1, MSG_NOSIGNAL) < 0) {
		client_free(client);
		return 0;
	}
	sd_event_source_set_time_relative(source, TRICKLE_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void client_answered(struct client *client)
{
	const struct server *server = client->server;

	switch (server->manner) {
	case HANG_UP:
		client_free(client);
		return;
	case FLOOD:
		client->sent = (size_t)(strchr(server->answer, '\n') + 1 - server->answer);
		return;
	case TRICKLE:
		sd_event_add_time_relative(server->rig->loop, &client->timer, CLOCK_MONOTONIC,
					   TRICKLE_US, 1000, client_trickle, client);
		/* fallthrough */
	case HOLD:
		sd_event_source_set_io_events(client->io, EPOLLRDHUP);
	}
}

static int client_ready(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct client *client = context;
	const struct server *server = client->server;
	ssize_t n;

	if (events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) {
		client_free(client);
		return 0;
	}
	if (events & EPOLLIN) {
		n = recv(fd, client->request + client->received, REQUEST_MAX - 1 - client->received,
			 0);
		if (n <= 0) {
			client_free(client);
			return 0;
		}
		client->received += (size_t)n;
		if (!strstr(client->request, "\r\n\r\n"))
			return 0;
		memcpy(client->server->request, client->request, REQUEST_MAX);
		return sd_event_source_set_io_events(source, EPOLLOUT);
	}
	n = send(fd, server->answer + client->sent, server->answer_len - client->sent,
		 MSG_NOSIGNAL);
	if (n < 0) {
		client_free(client);
		return 0;
	}
	client->sent += (size_t)n;
	if (client->sent == server->answer_len)
		client_answered(client);
	return 0;
}

static int server_accept(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct server *server = context;
	struct client *client;
	int accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)source;
	(void)events;
	if (accepted < 0)
		return 0;
	client = calloc(1, sizeof(*client));
	client->server = server;
	client->fd = accepted;
	client->next = server->clients;
	server->clients = client;
	server->accepted++;
	assert_true(sd_event_add_io(server->rig->loop, &client->io, accepted,
				    server->blunt ? EPOLLOUT : EPOLLIN, client_ready, client) >= 0);
	return 0;
}

static void server_answer(struct server *server, enum manner manner, const char *answer)
{
	server->manner = manner;
	server->answer = answer;
	server->answer_len = strlen(answer);
}

static void server_open(struct rig *rig, struct server *server, const char *address)
{
	*server = (struct server){.rig = rig, .fd = rig_socket(address, 80, SOCK_STREAM)};
	server_answer(server, HANG_UP, OK "\r\n");
	assert_true(sd_event_add_io(rig->loop, &server->io, server->fd, EPOLLIN, server_accept,
				    server) >= 0);
}

static void server_close(struct server *server)
{
	while (server->clients)
		client_free(server->clients);
	sd_event_source_disable_unref(server->io);
	close(server->fd);
}

#endif
