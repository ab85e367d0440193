/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket: one JSON object a line in, one out, on an sd-event loop.
 * docs/api.md has the protocol. Knows nothing about what requests mean.
 *
 * No client can block the daemon: sockets are non-blocking, input and output are
 * buffered within limits, and idle or stalled clients are cut off.
 */
#ifndef RINGLB_CONTROL_SERVER_H
#define RINGLB_CONTROL_SERVER_H

#include <jansson.h>
#include <systemd/sd-event.h>

#define SERVER_REQUEST_MAX     (1U << 20) /* bytes of one request line */
#define SERVER_CLIENTS_MAX     64
#define SERVER_IDLE_TIMEOUT_MS 60000 /* without taking any of an answer */

struct server;

/**
 * typedef server_handler - answer one request
 * @request: a JSON object; borrowed
 *
 * Return: a new reference to the whole answer, never NULL.
 */
typedef json_t *(*server_handler)(void *context, json_t *request);

/**
 * server_open() - listen on @path and serve requests from @loop
 * @path: unix socket; a stale one is replaced, one that answers is refused
 *
 * The socket gets mode 0660 and, where it exists, the group `ringlb`. It is
 * created under a temporary name and renamed, so it is never open to others and
 * never missing.
 *
 * Return: 0; -EADDRINUSE if another process serves @path; -ENOTSOCK if a file that
 * is no socket is there; -ENAMETOOLONG; -errno, -ENOENT if its directory is missing.
 * On error *@out is left as it was.
 */
int server_open(struct server **out, sd_event *loop, const char *path, server_handler handle,
		void *context);

/**
 * server_close() - stop listening, send what is still buffered for a moment, unlink
 * the socket. NULL is allowed. Not from within the handler: leave the loop first.
 */
void server_close(struct server *server);

/** server_set_idle_timeout() - other than SERVER_IDLE_TIMEOUT_MS, for clients to come */
void server_set_idle_timeout(struct server *server, unsigned int timeout_ms);

/** server_error() - {"ok": false, "error": ...} from a printf() format */
json_t *server_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** server_result() - {"ok": true, "result": @result}; takes over the reference */
json_t *server_result(json_t *result);

#endif
