/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `ringlb capture` and `ringlb trace` share: the filter, the time, and the end. */
#ifndef RINGLB_CLI_CAPTURING_H
#define RINGLB_CLI_CAPTURING_H

#include <stdio.h>

#include "cli/cli.h"
#include "control/capture.h"

/**
 * struct capturing - where packets go
 * @begin: opens @file once the capture is on, so one that is refused leaves files as they were;
 *	   says why it cannot
 * @packet: writes one; 0 or -errno
 * @name: of @file, in messages
 * @packets, @lost: set when it has ended
 */
struct capturing {
	int (*begin)(struct capturing *capturing);
	int (*packet)(struct capturing *capturing, const struct control_packet *packet);
	FILE *file;
	const char *name;
	uint64_t packets;
	uint64_t lost;
	/* capturing_run()'s own: */
	uint64_t most;
	bool finishing;
	int err;
};

/**
 * capturing_run() - hand over packets until a signal, or until there were enough
 *
 * That nobody reads @file any more is an end like any other.
 *
 * Return: enum cli_exit; says why on stderr. @ended is false if it did not begin.
 */
int capturing_run(struct capturing *capturing, const struct cli_options *options, bool *ended);

#endif
