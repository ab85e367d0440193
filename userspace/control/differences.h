/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What became different from one configuration to the next, in lines for people. Pure. */
#ifndef RINGLB_CONTROL_DIFFERENCES_H
#define RINGLB_CONTROL_DIFFERENCES_H

#include "config/config.h"

/**
 * differences_list() - one line a difference
 * @line: called with each, without a final newline: "added backend 'web4' to pool 'web'"
 *
 * Costs a sort of each pool's backends. Return: 0; -ENOMEM, then @line may have been called.
 */
int differences_list(const struct config *before, const struct config *after,
		     void (*line)(void *context, const char *text), void *context);

#endif
