/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading a configuration file for the commands that work without ringlbd. */
#ifndef RINGLB_CLI_OFFLINE_H
#define RINGLB_CLI_OFFLINE_H

#include "config/config.h"

/**
 * offline_read() - config_read_file() that says on stderr what is wrong
 * @error: filled on error, what it says always being set
 *
 * Return: as config_read_file().
 */
int offline_read(struct config *config, const char *path, struct config_error *error);

#endif
