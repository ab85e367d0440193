/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a service manager is told of the daemon, as sd_notify(3) has it. Nobody listens
 * unless NOTIFY_SOCKET is set; then nothing happens here, and no error is of interest.
 */
#ifndef RINGLB_CONTROL_NOTIFY_H
#define RINGLB_CONTROL_NOTIFY_H

#include "control/control.h"

/** notify_ready() - the data plane is up and requests are answered; also what is balanced */
void notify_ready(const struct control *control);

/** notify_status() - what is balanced, if that has changed since generation *@told */
void notify_status(const struct control *control, uint64_t *told);

/** notify_stopping() - the daemon ends */
void notify_stopping(void);

/** notify_reload() - control_reload(), announced before and after; returns what it returns */
int notify_reload(struct control *control, const char *by, struct control_error *error);

#endif
