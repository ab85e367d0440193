/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Experiments that have been published, by name. */
#ifndef RINGLB_CLI_PRESETS_H
#define RINGLB_CLI_PRESETS_H

#include "cli/cli.h"

/**
 * presets_find() - the options that redo an experiment
 * @given: what the user wrote; it wins over the preset
 *
 * Return: false for an unknown name, which is said on stderr with those that exist.
 */
bool presets_find(const char *name, const struct cli_options *given, struct cli_options *out);

#endif
