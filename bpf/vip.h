/* SPDX-License-Identifier: GPL-2.0-only */
/* Destination -> VIP, and source -> nat backend whose replies need a VIP's face. */
#ifndef RINGLB_BPF_VIP_H
#define RINGLB_BPF_VIP_H

#include <stdbool.h>

#include <bpf/bpf_endian.h>

#include "bpf/maps.h"

static __always_inline void endpoint_of(struct endpoint *key, const __be32 address[4], __be16 port,
					const struct flow *flow)
{
	__builtin_memcpy(key->address, address, sizeof(key->address));
	key->port = port;
	key->protocol = flow->protocol;
	key->family = flow->family;
}

/* What the longest prefix that has @address says; NULL if there is none. */
static __always_inline const struct vip_ranges *vip_ranges_of(__u8 family, __u8 protocol,
							      const __be32 address[4])
{
	struct vip_prefix key = {
		.prefixlen = VIP_PREFIX_BITS + 8 * sizeof(key.address),
		.family = family,
		.protocol = protocol,
	};

	__builtin_memcpy(key.address, address, sizeof(key.address));
	return bpf_map_lookup_elem(&vip_prefixes, &key);
}

/* As vip_find_at(), by the longest prefix alone. */
static __always_inline bool vip_find_prefix(const struct endpoint *at, struct vip *vip)
{
	const struct vip_ranges *found = vip_ranges_of(at->family, at->protocol, at->address);
	__u16 port = bpf_ntohs(at->port);

	if (!found)
		return false;
	for (__u32 i = 0; i < VIP_RANGES_MAX; i++) {
		const struct vip_range *range = &found->ranges[i];

		if (i >= found->len)
			return false;
		if (range->first <= port && port <= range->last) {
			*vip = range->vip;
			return true;
		}
	}
	return false;
}

/*
 * Copy the VIP at an address and port to @vip. Returns false if there is none: most
 * packets of a host that is more than a load balancer pay for these two look-ups.
 */
static __always_inline bool vip_find_at(const struct endpoint *at, struct vip *vip)
{
	const struct vip *found = bpf_map_lookup_elem(&vips, at);

	if (!found)
		return vip_find_prefix(at, vip);
	*vip = *found;
	return true;
}

/*
 * The same for the flow's destination, by both tables.
 *
 * A function of its own for the verifier, which goes through it once, and for the stack,
 * on which the caller has no room for its keys.
 */
__attribute__((noinline)) int vip_find_behind(const struct flow *flow, struct vip *vip)
{
	struct endpoint at;

	if (!flow || !vip)
		return 0; /* never, but the verifier asks */
	endpoint_of(&at, flow->destination, flow->destination_port, flow);
	return vip_find_at(&at, vip);
}

enum front_answer { FRONT_NONE, FRONT_FOUND, FRONT_ASK };

/* What `vip_front` says of the flow's destination: FRONT_FOUND with *@found set. */
static __always_inline enum front_answer vip_find_front(const struct flow *flow, __u64 *found)
{
	struct front_key key =
		front_key(flow->destination, flow->destination_port, flow->protocol, flow->family);
	__u32 index = front_index(&key);
	const volatile struct front_slot *slot = bpf_map_lookup_elem(&vip_front, &index);
	bool same;
	__u64 word;

	if (!slot)
		return FRONT_ASK;
	word = slot->word;
	same = word & FRONT_VIP && slot->key.address[0] == key.address[0] &&
	       slot->key.address[1] == key.address[1] && slot->key.rest == key.rest;
	if (slot->word != word || (!same && word & FRONT_MORE))
		return FRONT_ASK;
	if (!same)
		return FRONT_NONE;
	*found = word;
	return FRONT_FOUND;
}

/* What `front` has. */
static __always_inline const struct front *front_value(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&front, &zero);
}

/* Copy the VIP of the flow's destination to @vip, which is all zero. False if there is none. */
static __always_inline bool vip_find(const struct flow *flow, struct vip *vip)
{
	const struct front *values = front_value();
	__u64 word;
	enum front_answer answer = vip_find_front(flow, &word);

	if (answer == FRONT_FOUND) {
		front_vip(word, vip);
		return true;
	}
	if (answer == FRONT_NONE && values && !values->prefixes)
		return false;
	return vip_find_behind(flow, vip);
}

/* May @address be a nat backend's? */
static __always_inline bool reply_may_be(const __be32 address[4])
{
	const struct front *values = front_value();
	__u32 bit = front_bit(address);

	return !values || values->backends[bit / 64] >> (bit % 64) & 1;
}

/* Is a packet that `vip_front` has no VIP for anybody else's, too, as far as `front` tells? */
static __always_inline bool front_spares(const struct flow *flow)
{
	const struct front *values = front_value();

	return values && !values->prefixes && !reply_may_be(flow->source);
}

/*
 * Has some VIP the flow's destination, whatever its protocol and port? Returns 1 or 0. A
 * function of its own for the same reasons; for the rare packet.
 */
__attribute__((noinline)) int vip_has_address(const struct flow *flow)
{
	struct address key = {};
	const __u32 *flags;

	if (!flow)
		return 0; /* never, but the verifier asks */
	key.family = flow->family;
	__builtin_memcpy(key.address, flow->destination, sizeof(key.address));
	flags = bpf_map_lookup_elem(&addresses, &key);
	return (flags && *flags & ADDRESS_VIP) || vip_ranges_of(flow->family, 0, flow->destination);
}

/*
 * Does what @reply says hold for a packet of this source port? Returns 1 or 0. A function
 * of its own for the same reasons.
 */
__attribute__((noinline)) int reply_fits(const struct reply *reply, const struct flow *flow)
{
	struct endpoint at;
	struct vip vip;

	if (!reply || !flow)
		return 0; /* never, but the verifier asks */
	if (!(reply->flags & REPLY_IF_VIP))
		return 1;
	endpoint_of(&at, reply->address, flow->source_port, flow);
	return vip_find_at(&at, &vip) && vip.flags & VIP_NAT;
}

/* What a nat backend's packet gets as its source, by the source that it has. */
static __always_inline const struct reply *reply_find(const struct flow *flow)
{
	struct endpoint key;
	const struct reply *reply;

	if (!reply_may_be(flow->source))
		return 0;
	endpoint_of(&key, flow->source, flow->source_port, flow);
	reply = bpf_map_lookup_elem(&replies, &key);
	if (!reply) {
		key.port = 0;
		reply = bpf_map_lookup_elem(&replies, &key);
	}
	return reply && reply_fits(reply, flow) ? reply : 0;
}

#endif
