/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames as the live program sees them. Needs no struct dataplane, which one process at a
 * time may have: only the pinned maps.
 */
#ifndef RINGLB_DATAPLANE_CAPTURE_H
#define RINGLB_DATAPLANE_CAPTURE_H

#include "dataplane/dataplane.h"

struct dataplane_capture;

/**
 * dataplane_capture_open() - have one packet of @every copied from now on
 * @every: at least 1
 *
 * It ends by itself some seconds after the last dataplane_capture_read(), so that none
 * outlives its process.
 *
 * Return: 0; -EBUSY if somebody else captures; -ENOENT if nothing is pinned in @pin_dir;
 * -errno.
 */
int dataplane_capture_open(struct dataplane_capture **out, const char *pin_dir, uint32_t every,
			   struct dataplane_error *error);

/**
 * dataplane_capture_read() - wait for copies, and hand them over
 * @take: gets each, in the order of their making; false ends the call early
 *
 * Return: 0; -EINTR on a signal; -ESTALE if it had ended, because it was not read for too long;
 * -errno.
 */
int dataplane_capture_read(struct dataplane_capture *capture, int timeout_ms,
			   bool (*take)(void *context, const struct captured *copy), void *context);

/** dataplane_capture_finish() - end it, and hand over the copies that nobody has read yet */
int dataplane_capture_finish(struct dataplane_capture *capture,
			     bool (*take)(void *context, const struct captured *copy),
			     void *context);

/** dataplane_capture_lost() - copies that were not made, as there was no room for them */
uint64_t dataplane_capture_lost(const struct dataplane_capture *capture);

/** dataplane_capture_close() - end it. NULL is allowed. */
void dataplane_capture_close(struct dataplane_capture *capture);

#endif
