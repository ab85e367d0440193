/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which pools were told to have moving arcs, so that beginning and end are told once each. */
#ifndef RINGLB_CONTROL_MOVING_LOG_H
#define RINGLB_CONTROL_MOVING_LOG_H

#include "control/control.h"

/* By id of the pool. All zero: nothing moves. */
struct moving_log {
	bool moving[POOLS_MAX];
};

/** moving_log_sync() - log what began to move and what has settled since the last call */
void moving_log_sync(struct moving_log *log, const struct control *control);

#endif
