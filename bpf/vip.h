/* SPDX-License-Identifier: GPL-2.0-only */
/* Destination -> VIP, and source -> nat backend whose replies need a VIP's face. */
#ifndef RINGLB_BPF_VIP_H
#define RINGLB_BPF_VIP_H

#include <stdbool.h>

#include "bpf/maps.h"

static __always_inline void endpoint_of(struct endpoint *key, const __be32 address[4], __be16 port,
					const struct flow *flow)
{
	__builtin_memcpy(key->address, address, sizeof(key->address));
	key->port = port;
	key->protocol = flow->protocol;
	key->family = flow->family;
}

/*
 * Copy the VIP of the flow's destination to @vip: the one with its port or else with
 * port 0. Returns false if there is none.
 *
 * A copy, so that the verifier need not walk what follows once for each place that
 * the VIP may have been found in.
 */
static __always_inline bool vip_find(const struct flow *flow, struct vip *vip)
{
	struct endpoint key;
	const struct vip *found;

	endpoint_of(&key, flow->destination, flow->destination_port, flow);
	found = bpf_map_lookup_elem(&vips, &key);
	if (!found) {
		key.port = 0;
		found = bpf_map_lookup_elem(&vips, &key);
	}
	if (!found)
		return false;
	*vip = *found;
	return true;
}

/* The same by the flow's source, for packets that come back from nat backends. */
static __always_inline const struct reply *reply_find(const struct flow *flow)
{
	struct endpoint key;
	const struct reply *reply;

	endpoint_of(&key, flow->source, flow->source_port, flow);
	reply = bpf_map_lookup_elem(&replies, &key);
	if (reply)
		return reply;
	key.port = 0;
	return bpf_map_lookup_elem(&replies, &key);
}

#endif
