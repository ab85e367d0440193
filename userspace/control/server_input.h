/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client of server.c has sent: bytes in, lines of a bounded length out.
 * Costs O(bytes), however they are cut into pieces.
 */
#ifndef RINGLB_CONTROL_SERVER_INPUT_H
#define RINGLB_CONTROL_SERVER_INPUT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * All zero when empty. [start, end) is not taken yet, and there is no newline in
 * [start, scanned). @discarding: inside a line that was reported as too long.
 */
struct server_input {
	char *bytes;
	size_t size, start, scanned, end;
	bool discarding;
};

/**
 * server_input_receive() - read once from a non-blocking socket
 *
 * To be called when no line waits. A line of more than SERVER_REQUEST_MAX bytes is
 * reported once and skipped up to its newline.
 *
 * Return: 1; 0 at the end of the stream; -EMSGSIZE if a line is too long; -EAGAIN
 * if there is nothing to read; -ENOMEM; -errno.
 */
int server_input_receive(struct server_input *input, int fd);

/** server_input_has_line() - true if a whole line waits */
bool server_input_has_line(struct server_input *input);

/**
 * server_input_take_line() - the first line that waits, without its newline
 * @line: points into @input, valid until the next server_input_receive()
 *
 * Return: false if there is none; then the outputs are left as they were.
 */
bool server_input_take_line(struct server_input *input, const char **line, size_t *len_bytes);

/** server_input_drop() - forget all that waits. Return: true if that was anything. */
bool server_input_drop(struct server_input *input);

/** server_input_release() - free what is inside */
void server_input_release(struct server_input *input);

#endif
