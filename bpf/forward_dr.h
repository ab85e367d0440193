/* SPDX-License-Identifier: GPL-2.0-only */
/* dr, direct return: the frame gets the backend's MAC address, the rest stays. */
#ifndef RINGLB_BPF_FORWARD_DR_H
#define RINGLB_BPF_FORWARD_DR_H

#include "bpf/parse.h"

static __always_inline void forward_dr(struct packet *packet, const struct nexthop *nexthop)
{
	__builtin_memcpy(packet->eth->h_dest, nexthop->destination, ETH_ALEN);
	__builtin_memcpy(packet->eth->h_source, nexthop->source, ETH_ALEN);
}

#endif
