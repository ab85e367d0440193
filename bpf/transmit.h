/* SPDX-License-Identifier: GPL-2.0-only */
/* Out of which interface a finished frame goes, and how. */
#ifndef RINGLB_BPF_TRANSMIT_H
#define RINGLB_BPF_TRANSMIT_H

#include <stdbool.h>

#include "bpf/maps.h"
#include "bpf/parse.h"

/* Send by @ifindex: back out if the frame came in there, by @ingress; by redirect otherwise. */
static __always_inline enum verdict transmit(__u32 ingress, __u32 ifindex, enum verdict same,
					     enum verdict other)
{
	if (ifindex == ingress)
		return same;
	if (bpf_redirect_map(&egress, ifindex, XDP_DROP) != XDP_REDIRECT)
		return DROP_NO_EGRESS;
	return other;
}

static __always_inline bool transmit_can(const struct packet *packet, __u32 ifindex)
{
	return ifindex == packet->ingress || bpf_map_lookup_elem(&egress, &ifindex);
}

#endif
