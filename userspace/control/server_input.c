/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/server_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "control/server.h"

#define SIZE_MIN      4096
#define SIZE_MAX_LINE (SERVER_REQUEST_MAX + 1) /* a request and its newline */

/* Make room for one byte at least. A line that is not too long always leaves some. */
static int input_reserve(struct server_input *input)
{
	size_t size = input->size ? input->size * 2 : SIZE_MIN;
	char *bytes;

	if (input->start > 0) {
		memmove(input->bytes, input->bytes + input->start, input->end - input->start);
		input->end -= input->start;
		input->scanned -= input->start;
		input->start = 0;
	}
	if (input->end < input->size)
		return 0;
	if (size > SIZE_MAX_LINE)
		size = SIZE_MAX_LINE;
	bytes = realloc(input->bytes, size);
	if (!bytes)
		return -ENOMEM;
	input->bytes = bytes;
	input->size = size;
	return 0;
}

bool server_input_has_line(struct server_input *input)
{
	const char *newline = NULL;

	if (input->scanned < input->end)
		newline = memchr(input->bytes + input->scanned, '\n', input->end - input->scanned);
	input->scanned = newline ? (size_t)(newline - input->bytes) : input->end;
	return newline;
}

bool server_input_take_line(struct server_input *input, const char **line, size_t *len_bytes)
{
	if (!server_input_has_line(input))
		return false;
	*line = input->bytes + input->start;
	*len_bytes = input->scanned - input->start;
	input->start = ++input->scanned;
	return true;
}

bool server_input_drop(struct server_input *input)
{
	bool any = input->end > input->start;

	input->start = input->scanned = input->end;
	return any;
}

int server_input_receive(struct server_input *input, int fd)
{
	const char *line;
	size_t line_len;
	ssize_t len;
	int err;

	err = input_reserve(input);
	if (err)
		return err;
	len = recv(fd, input->bytes + input->end, input->size - input->end, 0);
	if (len < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (len == 0)
		return 0;
	input->end += (size_t)len;

	if (input->discarding) {
		input->discarding = !server_input_take_line(input, &line, &line_len);
		if (input->discarding)
			server_input_drop(input);
	} else if (!server_input_has_line(input) &&
		   input->end - input->start > SERVER_REQUEST_MAX) {
		server_input_drop(input);
		input->discarding = true;
		return -EMSGSIZE;
	}
	return 1;
}

void server_input_release(struct server_input *input)
{
	free(input->bytes);
	*input = (struct server_input){0};
}
