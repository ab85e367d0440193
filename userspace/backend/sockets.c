/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/sockets.h"

#include <stdio.h>
#include <string.h>

#include "backend/address.h"

#define TCP_LISTENS   0x0a /* TCP_LISTEN, as the kernel numbers states */
#define UDP_UNBOUND   0x07 /* TCP_CLOSE: not connected */
#define WORD_DIGITS   8
#define LINE_LEN      512
#define MAPPED_PREFIX 0xffff0000U /* third word of ::ffff:0:0, as it lies in memory */

/* Address words as in memory, that is in network order; the port as a number. */
struct line {
	uint32_t words[4];
	unsigned int n_words;
	unsigned int port;
	unsigned int state;
};

/* "  0: 0100007F:1F90 00000000:0000 0A ...": words are printed as numbers of this machine. */
static bool read_line(const char *text, struct line *line)
{
	char local[64], *colon;

	memset(line, 0, sizeof(*line));
	if (sscanf(text, "%*u: %63s %*s %x", local, &line->state) != 2)
		return false;
	colon = strchr(local, ':');
	if (!colon || sscanf(colon, ":%x", &line->port) != 1)
		return false;
	line->n_words = (unsigned int)(colon - local) / WORD_DIGITS;
	if (line->n_words != 1 && line->n_words != 4)
		return false;
	for (unsigned int i = 0; i < line->n_words; i++)
		if (sscanf(local + (size_t)i * WORD_DIGITS, "%8x", &line->words[i]) != 1)
			return false;
	return true;
}

static bool any_line(const char *path, bool (*is_it)(const struct line *line, const void *context),
		     const void *context)
{
	FILE *file = fopen(path, "re");
	char text[LINE_LEN];
	struct line line;
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(text, sizeof(text), file))
		found = read_line(text, &line) && is_it(&line, context);
	fclose(file);
	return found;
}

/* A socket for all addresses of IPv6 takes IPv4 too, unless it was asked not to. */
static bool takes(const struct line *line, const struct backend_prefix *vip)
{
	static const uint32_t any[4];
	struct backend_address address = {.family = line->n_words == 1 ? 4 : 6};

	if (!memcmp(line->words, any, sizeof(any)))
		return line->n_words == 4 || vip->address.family == 4;
	memcpy(address.address, line->words, sizeof(address.address));
	if (line->n_words == 4 && !line->words[0] && !line->words[1] &&
	    line->words[2] == MAPPED_PREFIX)
		address = (struct backend_address){.family = 4, .address = {line->words[3]}};
	return prefix_covers(vip, &address);
}

static bool listens(const struct line *line, const void *context)
{
	return line->state == TCP_LISTENS && takes(line, context);
}

static bool receives(const struct line *line, const void *context)
{
	return line->state == UDP_UNBOUND && takes(line, context);
}

static bool has_port(const struct line *line, const void *context)
{
	return line->port == *(const uint16_t *)context;
}

bool sockets_serve(const struct backend_prefix *vip)
{
	return any_line("/proc/net/tcp", listens, vip) ||
	       any_line("/proc/net/tcp6", listens, vip) ||
	       any_line("/proc/net/udp", receives, vip) ||
	       any_line("/proc/net/udp6", receives, vip);
}

bool sockets_have_udp(uint16_t port)
{
	return any_line("/proc/net/udp", has_port, &port) ||
	       any_line("/proc/net/udp6", has_port, &port);
}
