/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Backends that a new configuration does not have any more. */
#ifndef RINGLB_CONTROL_LEFTOVERS_H
#define RINGLB_CONTROL_LEFTOVERS_H

#include "config/config.h"

/**
 * control_drain_leftovers() - give @next the backends that only @running has, draining
 *
 * They drain first, like those that are removed one by one. One whose address another name has
 * now cannot: that name's ring position is new, but its machine is the same.
 *
 * Return: 0 or -ENOMEM.
 */
int control_drain_leftovers(struct config *next, const struct config *running);

#endif
