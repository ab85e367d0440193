/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The outer header of a flow to an ipip or gue pool, for the daemon's answer and the CLI's. */
#ifndef RINGLB_CONTROL_LOOKUP_OUTER_H
#define RINGLB_CONTROL_LOOKUP_OUTER_H

#include <jansson.h>

#include "control/lookup.h"
#include "dataplane/dataplane.h"

/**
 * lookup_outer() - where packets of a flow come from and go to, outside
 * @encap: live, or control_encap() of a configuration
 * @backend: of @pool
 *
 * Return: an object with `source`, `destination` and, with gue, `source_port` and
 * `destination_port`; NULL if the pool does not encapsulate, or without memory.
 */
json_t *lookup_outer(const struct encap *encap, const struct lookup_query *query,
		     const struct config_pool *pool, const struct config_backend *backend);

#endif
