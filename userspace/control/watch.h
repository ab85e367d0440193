/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Health checks and the control, joined: what is checked follows the running
 * configuration, and what the checks find follows into the rings. However many
 * backends change at once, they change in one step.
 */
#ifndef RINGLB_CONTROL_WATCH_H
#define RINGLB_CONTROL_WATCH_H

#include "control/control.h"
#include "control/health.h"

struct watch;

/**
 * watch_open() - check the backends of @control's running configuration
 *
 * Each change of a backend's state is logged. A backend that was down when the daemon ended is down
 * until a check finds otherwise.
 *
 * Return: 0 or -errno; then *@out is left as it was.
 */
int watch_open(struct watch **out, sd_event *loop, struct control *control);

/**
 * watch_sync() - bring checks and rings up to date; to be called after each change
 *
 * Cheap if nothing changed. Return: 0; -errno with @error filled, to be tried again.
 */
int watch_sync(struct watch *watch, struct control_error *error);

/** watch_health() - for health_status(); owned by @watch */
const struct health *watch_health(const struct watch *watch);

/** watch_close() - end the checks. NULL is allowed. */
void watch_close(struct watch *watch);

#endif
