/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments that came before the first one of their datagram wait here, as XDP cannot
 * wait: until that one has come, or for FRAGMENTS_WAIT_MS after the first of them. What
 * there is no room for stays in the ring buffer; when that is full the program drops it.
 */
#ifndef RINGLB_CONTROL_FRAGMENTS_H
#define RINGLB_CONTROL_FRAGMENTS_H

#include <systemd/sd-event.h>

#include "control/control.h"

#define FRAGMENTS_HELD_MAX 1024
#define FRAGMENTS_WAIT_MS  200

struct fragments;

/**
 * fragments_open() - take fragments from @control's data plane in @loop
 *
 * Return: 0 or -errno; then *@out is left as it was.
 */
int fragments_open(struct fragments **out, sd_event *loop, struct control *control);

/** fragments_close() - give back all that wait; they are sent or dropped. NULL is allowed. */
void fragments_close(struct fragments *fragments);

#endif
