/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The other end of the control socket (docs/api.md): one request, one answer. */
#ifndef RINGLB_CLI_CLIENT_H
#define RINGLB_CLI_CLIENT_H

#include <jansson.h>

#define CLIENT_ERROR_LEN 1024
#define CLIENT_TIMEOUT_S 10
/* Rings are built anew, or interfaces detached one after the other. */
#define CLIENT_TIMEOUT_LONG_S 120

/**
 * client_ask() - connect, send a request, wait for the answer
 * @path: the daemon's socket
 * @timeout_s: for all of it
 * @request: borrowed
 * @result: receives a new reference to the `result` member of the answer
 * @error: filled on error with the whole reason, as cli_error() prints it
 *
 * Return: 0; -ENOENT or -ECONNREFUSED if no daemon serves @path; -EREMOTEIO if the
 * daemon refused; -ETIMEDOUT; -EPROTO if it sent no valid answer; -ENAMETOOLONG;
 * -errno.
 */
int client_ask(const char *path, int timeout_s, const json_t *request, json_t **result,
	       char error[CLIENT_ERROR_LEN]);

#endif
