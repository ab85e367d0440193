/* SPDX-License-Identifier: GPL-2.0-only */
/* Is a packet one of those that somebody wants to see? */
#ifndef RINGLB_BPF_CAPTURE_FILTER_H
#define RINGLB_BPF_CAPTURE_FILTER_H

#include <stdbool.h>

#include <bpf/bpf_endian.h>

#include "bpf/maps.h"

static __always_inline bool capture_is_peer(const struct capture_peer *peer, __u8 family,
					    const __be32 address[4])
{
	if (!peer->family)
		return true;
	return peer->family == family && !((address[0] ^ peer->address[0]) & peer->mask[0] ||
					   (address[1] ^ peer->address[1]) & peer->mask[1] ||
					   (address[2] ^ peer->address[2]) & peer->mask[2] ||
					   (address[3] ^ peer->address[3]) & peer->mask[3]);
}

/* Port 0 is that of a packet which has none: it is on no port, unless any will do. */
static __always_inline bool capture_is_port(const struct capture_filter *filter, __be16 port)
{
	__u16 number = bpf_ntohs(port);

	return filter->first_port <= number && number <= filter->last_port;
}

/* To @filter's backend, or from its address. */
static __always_inline bool capture_is_backend(const struct capture_filter *filter,
					       const struct captured *copy)
{
	__u32 id = filter->backend;
	const struct backend *backend;

	if (id == BACKEND_NONE)
		return true;
	if (!(copy->stages & CAPTURE_REPLY))
		return copy->backend == id;
	backend = bpf_map_lookup_elem(&backends, &id);
	return backend && backend->family == copy->flow.family &&
	       (!backend->port || backend->port == copy->flow.source_port) &&
	       backend->address[0] == copy->flow.source[0] &&
	       backend->address[1] == copy->flow.source[1] &&
	       backend->address[2] == copy->flow.source[2] &&
	       backend->address[3] == copy->flow.source[3];
}

static __always_inline bool capture_lets_through(const struct capture_filter *filter,
						 const struct captured *copy)
{
	const __be32 *client = copy->flow.source, *vip = copy->flow.destination;
	__be16 port = copy->flow.destination_port;
	__u32 verdict = copy->verdict;

	if (verdict >= VERDICTS_MAX || !(filter->verdicts[verdict / 64] >> (verdict % 64) & 1))
		return false;
	if (copy->stages & CAPTURE_REPLY) {
		client = copy->flow.destination;
		vip = copy->reply.address;
		port = copy->reply.port ? copy->reply.port : copy->flow.source_port;
	}
	return (!filter->protocol || filter->protocol == copy->flow.protocol) &&
	       capture_is_peer(&filter->client, copy->flow.family, client) &&
	       capture_is_peer(&filter->vip, copy->flow.family, vip) &&
	       capture_is_port(filter, port) && capture_is_backend(filter, copy);
}

#endif
