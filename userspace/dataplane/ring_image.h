/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing a ring into the value of a map, which is new or has an earlier ring: most of that
 * is as it should be then, and only what differs is written. Pure: no map and no system call.
 */
#ifndef RINGLB_DATAPLANE_RING_IMAGE_H
#define RINGLB_DATAPLANE_RING_IMAGE_H

#include "dataplane/dataplane.h"
#include "dataplane/ring_layout.h"

/**
 * struct ring_image - a ring that is to be written
 * @moves: how the ring's moves are written, parallel to them
 * @clocks: header.clocks of them
 */
struct ring_image {
	const struct dataplane_ring *ring;
	struct ring_header header;
	struct ring_move *moves;
	int64_t *clocks;
};

/**
 * ring_image_init() - see how a ring lies in a map
 * @ring: stays the caller's, and must outlast @image
 *
 * Return: the class of its map; -ENOSPC for too many positions or different learning times;
 * -ENOMEM. On error there is nothing to release.
 */
int ring_image_init(struct ring_image *image, const struct dataplane_ring *ring);

/**
 * ring_image_write() - write a ring
 * @value: of ring_class_bytes(ring_image_init()) bytes
 * @written: @value has a ring that this function wrote, or ended writing of; else it is all zero
 *
 * Return: 0; -ENOMEM, then @value is as it was.
 */
int ring_image_write(const struct ring_image *image, void *value, bool written);

/** ring_image_release() - free what is inside */
void ring_image_release(struct ring_image *image);

#endif
