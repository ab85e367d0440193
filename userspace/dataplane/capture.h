/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets as the live program sees them. Needs no struct dataplane, which one process at a
 * time may have: only the pinned maps.
 */
#ifndef RINGLB_DATAPLANE_CAPTURE_H
#define RINGLB_DATAPLANE_CAPTURE_H

#include "dataplane/dataplane.h"

struct dataplane_capture;

/**
 * dataplane_capture_open() - open the pins; nothing is copied yet
 *
 * Return: 0; -ENOENT if nothing is pinned in @pin_dir; -errno.
 */
int dataplane_capture_open(struct dataplane_capture **out, const char *pin_dir,
			   struct dataplane_error *error);

/**
 * dataplane_capture_begin() - have one in @every of the packets that @filter lets through copied
 * @every: at least 1
 *
 * It ends by itself some seconds after the last dataplane_capture_read(), so that none
 * outlives its process.
 *
 * Return: 0; -EBUSY if somebody else captures.
 */
int dataplane_capture_begin(struct dataplane_capture *capture, const struct capture_filter *filter,
			    uint32_t every, struct dataplane_error *error);

/**
 * dataplane_capture_read() - wait for copies, and hand them over
 * @take: gets each, in the order of their leaving; false ends the call early
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

/** dataplane_capture_lost() - packets that were not copied, as there was no room for them */
uint64_t dataplane_capture_lost(const struct dataplane_capture *capture);

/** dataplane_capture_label() - the name that an id has now. Return: 0; -ENOENT */
int dataplane_capture_label(const struct dataplane_capture *capture, enum label_kind kind,
			    uint32_t id, struct label *label);

/**
 * dataplane_capture_find_backend() - the id of a backend
 * @pool: NULL: any
 *
 * Return: 0; -ENOENT if there is none; -ENOTUNIQ if several pools have one of this name.
 */
int dataplane_capture_find_backend(const struct dataplane_capture *capture, const char *pool,
				   const char *name, uint32_t *id);

/** dataplane_capture_close() - end it. NULL is allowed. */
void dataplane_capture_close(struct dataplane_capture *capture);

#endif
