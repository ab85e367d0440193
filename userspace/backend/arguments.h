/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line of ringlb-backend. Says on stderr what is wrong with it. */
#ifndef RINGLB_BACKEND_ARGUMENTS_H
#define RINGLB_BACKEND_ARGUMENTS_H

#include "backend/backend.h"

enum command {
	COMMAND_NONE,
	COMMAND_ATTACH,
	COMMAND_DETACH,
	COMMAND_CHECK,
	COMMAND_STATUS,
};

/**
 * struct arguments
 * @ifname: NULL if none was given
 * @has_options: there were some for attach; if not, @options is what they are by default
 */
struct arguments {
	enum command command;
	const char *ifname;
	const char *state_dir;
	bool json;
	bool help;
	bool version;
	bool verbose;
	bool has_options;
	struct attach_options options;
};

/** backend_arguments_read() - Return: BACKEND_DONE or BACKEND_USAGE */
int backend_arguments_read(struct arguments *out, int argc, char **argv);

/** say() - "ringlb-backend: ..." on stderr */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** print_help() - usage and examples on stdout */
void print_help(void);

#endif
