/* SPDX-License-Identifier: GPL-2.0-only */
/* dr, direct return: the frame gets the backend's MAC address, the rest stays. */
#ifndef RINGLB_BPF_FORWARD_DR_H
#define RINGLB_BPF_FORWARD_DR_H

#include "bpf/parse.h"

/*
 * Write both MAC addresses to the start of a frame: they lie side by side there and in
 * @nexthop, so as three words, where clang would take them byte by byte.
 */
static __always_inline void nexthop_write(void *start, const struct nexthop *nexthop)
{
	const __u32 *from = (const __u32 *)nexthop->destination;
	__u32 *to = start;

	to[0] = from[0];
	to[1] = from[1];
	to[2] = from[2];
}

static __always_inline void forward_dr(struct packet *packet, const struct nexthop *nexthop)
{
	nexthop_write(packet->eth, nexthop);
}

#endif
