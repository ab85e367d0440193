/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What --help prints, made from the descriptions of commands and options. */
#ifndef RINGLB_CLI_HELP_H
#define RINGLB_CLI_HELP_H

#include "cli/cli.h"

/** help_all() - all commands, in short */
void help_all(void);

/** help_group() - all about the commands that start with the word @group */
void help_group(const char *group);

/** help_command() - all about one command */
void help_command(const struct cli_command *command);

#endif
