/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nat: the destination becomes the backend; in its replies the source becomes the
 * VIP again. Neither direction remembers anything. A nat hop is a router's hop,
 * so TTL and hop limit go down by one.
 */
#ifndef RINGLB_BPF_FORWARD_NAT_H
#define RINGLB_BPF_FORWARD_NAT_H

#include "bpf/csum.h"
#include "bpf/parse.h"

/*
 * Write @to over the 4 or 16 address bytes at @field. Returns the change for the
 * checksums that cover them.
 */
static __always_inline __u64 nat_write_address(__be32 *field, const __be32 to[4], __u32 words)
{
	__u64 change = 0;

	for (__u32 i = 0; i < words; i++) {
		change = csum_replace32(change, field[i], to[i]);
		field[i] = to[i];
	}
	return change;
}

static __always_inline void nat_decrement_ttl(struct packet *packet)
{
	__be16 *word, before;

	if (packet_is_ipv6(packet)) {
		packet->ipv6->hop_limit--;
		return;
	}
	/* TTL and protocol are one word of the header checksum. */
	word = (__be16 *)&packet->ipv4->ttl;
	before = *word;
	packet->ipv4->ttl--;
	packet->ipv4->check = csum_apply(packet->ipv4->check, csum_replace16(0, before, *word));
}

/*
 * Update the layer 4 checksum, which covers the pseudo-header. A UDP checksum of 0
 * means that there is none, and one that comes to 0 is sent as all ones: RFC 768.
 */
static __always_inline void nat_update_l4(struct packet *packet, __u64 change)
{
	__u16 check;

	if (packet->tcp) {
		packet->tcp->check = csum_apply(packet->tcp->check, change);
		return;
	}
	if (!packet->udp || !packet->udp->check)
		return;
	check = csum_apply(packet->udp->check, change);
	packet->udp->check = check ? check : 0xffff;
}

enum nat_side { NAT_SOURCE, NAT_DESTINATION };

static __always_inline __u64 nat_rewrite_ipv4(struct packet *packet, enum nat_side side,
					      const __be32 address[4])
{
	struct iphdr *ip = packet->ipv4;
	__u64 change = nat_write_address(side == NAT_SOURCE ? &ip->saddr : &ip->daddr, address, 1);

	ip->check = csum_apply(ip->check, change);
	return change;
}

static __always_inline __u64 nat_rewrite_ipv6(struct packet *packet, enum nat_side side,
					      const __be32 address[4])
{
	struct ipv6hdr *ip = packet->ipv6;

	return nat_write_address(side == NAT_SOURCE ? ip->saddr.in6_u.u6_addr32
						    : ip->daddr.in6_u.u6_addr32,
				 address, 4);
}

/*
 * Replace the address and, unless @port is 0, the port of one side of the flow. Of the
 * fragments of a packet only the first has ports and the checksum over all of them.
 */
static __always_inline void nat_rewrite(struct packet *packet, enum nat_side side,
					const __be32 address[4], __be16 port)
{
	__be16 *field;
	__u64 change;

	if (packet_is_ipv6(packet))
		change = nat_rewrite_ipv6(packet, side, address);
	else
		change = nat_rewrite_ipv4(packet, side, address);
	if (packet->no_ports)
		return;
	field = &packet->ports[side];
	if (port) {
		change = csum_replace16(change, *field, port);
		*field = port;
	}
	nat_update_l4(packet, change);
}

/* Client to backend. @backend is of the packet's address family. */
static __always_inline void forward_nat(struct packet *packet, const struct backend *backend)
{
	nat_rewrite(packet, NAT_DESTINATION, backend->address, backend->port);
	nat_decrement_ttl(packet);
}

/* Backend to client, except for the TTL: the kernel sees to that if it forwards. */
static __always_inline void forward_nat_reply(struct packet *packet, const struct reply *reply)
{
	nat_rewrite(packet, NAT_SOURCE, reply->address, reply->port);
}

#endif
