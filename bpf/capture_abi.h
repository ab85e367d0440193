/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies of frames, between the program and `ringlb capture`. Part of abi.h. */
#ifndef RINGLB_BPF_CAPTURE_ABI_H
#define RINGLB_BPF_CAPTURE_ABI_H

#include <linux/types.h>

/*
 * The one value of map `capture`: until when frames are copied to `captures`; 0: they are not.
 * Whoever captures puts the end off again and again, so that it comes with theirs.
 */
struct capture {
	__u64 until_ns; /* monotonic */
	__u64 lost;	/* copies for which there was no room */
	__u32 next;	/* counts packets while it is on */
	__u32 every;	/* one in so many is copied; not 0 */
};
_Static_assert(sizeof(struct capture) == 24, "capture value");

/* A record of the ring buffer `captures`. With its header of 8 bytes it has 2 KiB. */
#define CAPTURE_RING_BYTES (1U << 22)
#define CAPTURE_FRAME_MAX  2008

struct captured {
	__u64 time_ns; /* monotonic */
	__u32 id;      /* of the packet: the same as it came in and as it left */
	__s32 verdict; /* enum verdict; CONTINUE: as it came in */
	__u32 ifindex; /* where it came in */
	__u32 frame_len;
	__u32 len; /* of `frame` */
	__u8 frame[CAPTURE_FRAME_MAX];
	__u32 pad;
};
_Static_assert(sizeof(struct captured) == 2040, "captured frame");

#endif
