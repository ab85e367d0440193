/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nat: the destination becomes the backend; in its replies the source becomes the
 * VIP again. Neither direction remembers anything. A nat hop is a router's hop,
 * so TTL and hop limit go down by one.
 *
 * An ICMP error quotes a packet of the other direction, in which the other side is the one
 * that changes: whoever gets the error must find in it what it sent.
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
 * A UDP checksum of 0 means that there is none, and one that comes to 0 is sent as all ones:
 * RFC 768.
 */
static __always_inline __u16 nat_udp_check(__u16 check, __u64 change)
{
	if (!check)
		return 0;
	check = csum_apply(check, change);
	return check ? check : 0xffff;
}

/* Update the layer 4 checksum, which covers the pseudo-header. */
static __always_inline void nat_update_l4(struct packet *packet, __u64 change)
{
	if (packet->tcp)
		packet->tcp->check = csum_apply(packet->tcp->check, change);
	else if (packet->udp)
		packet->udp->check = nat_udp_check(packet->udp->check, change);
}

enum nat_side { NAT_SOURCE, NAT_DESTINATION };

static __always_inline __u64 nat_rewrite_ipv4(struct iphdr *ip, enum nat_side side,
					      const __be32 address[4])
{
	__u64 change = nat_write_address(side == NAT_SOURCE ? &ip->saddr : &ip->daddr, address, 1);

	ip->check = csum_apply(ip->check, change);
	return change;
}

static __always_inline __u64 nat_rewrite_ipv6(struct ipv6hdr *ip, enum nat_side side,
					      const __be32 address[4])
{
	return nat_write_address(side == NAT_SOURCE ? ip->saddr.in6_u.u6_addr32
						    : ip->daddr.in6_u.u6_addr32,
				 address, 4);
}

/*
 * Update the checksum of layer 4 at @l4 if it is among the quoted bytes. Returns the change
 * for the checksum of the error.
 */
static __always_inline __u64 nat_update_quoted_l4(const struct traits *packet, void *l4, void *end,
						  __u64 change)
{
	struct tcphdr *tcp = l4;
	struct udphdr *udp = l4;
	__u16 before;

	if (packet->flow.protocol == IPPROTO_TCP &&
	    packet->quote_l4_len >= offsetof(struct tcphdr, urg_ptr) &&
	    (void *)&tcp->urg_ptr <= end) {
		before = tcp->check;
		tcp->check = csum_apply(before, change);
		return csum_replace16(0, before, tcp->check);
	}
	if (packet->flow.protocol == IPPROTO_UDP && packet->quote_l4_len >= sizeof(*udp) &&
	    (void *)(udp + 1) <= end) {
		before = udp->check;
		udp->check = nat_udp_check(before, change);
		return csum_replace16(0, before, udp->check);
	}
	return 0;
}

/*
 * Replace the address at one side of an ICMP error, whose IP header is at @l3_offset; and at the
 * other side of the packet that it quotes the address and, unless it is 0 in @to, the port.
 *
 * A function of its own for the verifier and the stack; for the rare packet. Returns 0.
 */
__attribute__((noinline)) int nat_rewrite_error(struct xdp_md *ctx, const struct traits *packet,
						const struct reply *to, __u32 side, __u32 l3_offset)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 other = side == NAT_SOURCE ? NAT_DESTINATION : NAT_SOURCE;
	void *ip = start + (l3_offset & OFFSET_LIMIT), *quoted;
	struct icmp_header *icmp;
	__u64 change, inside;
	__be16 *ports;

	if (!packet || !to)
		return 0; /* never, but the verifier asks */
	quoted = start + (packet->quote_at & OFFSET_LIMIT);
	icmp = start + ((packet->quote_at - sizeof(*icmp)) & OFFSET_LIMIT);
	ports = start + (packet->quote_l4_at & OFFSET_LIMIT);
	if ((void *)(icmp + 1) > end || (void *)(ports + 2) > end)
		return 0;
	if (packet->flow.family == ENDPOINT_IPV6) {
		if (ip + sizeof(struct ipv6hdr) > end || quoted + sizeof(struct ipv6hdr) > end)
			return 0;
		/* The error's own addresses are in its checksum, as ICMP's are not. */
		change = nat_rewrite_ipv6(ip, side, to->address);
		inside = nat_rewrite_ipv6(quoted, other, to->address);
	} else {
		struct iphdr *ipv4 = quoted;
		__u16 before;

		if (ip + sizeof(*ipv4) > end || (void *)(ipv4 + 1) > end)
			return 0;
		nat_rewrite_ipv4(ip, side, to->address);
		before = ipv4->check;
		inside = nat_rewrite_ipv4(ipv4, other, to->address);
		change = csum_replace16(0, before, ipv4->check);
	}
	if (to->port) {
		__be16 *port = other == NAT_SOURCE ? ports : ports + 1;

		inside = csum_replace16(inside, *port, to->port);
		*port = to->port;
	}
	change += inside + nat_update_quoted_l4(packet, ports, end, inside);
	icmp->check = csum_apply(icmp->check, change);
	return 0;
}

/*
 * Replace the address and, unless it is 0 in @to, the port of one side of the flow. Of the
 * fragments of a packet only the first has ports and the checksum over all of them.
 */
static __always_inline void nat_rewrite(struct xdp_md *ctx, struct packet *packet,
					enum nat_side side, const struct reply *to)
{
	__be16 *field;
	__u64 change;

	if (packet->no_ports == NO_PORTS_QUOTE) {
		nat_rewrite_error(ctx, &packet->traits, to, side, packet->l3_offset);
		return;
	}
	if (packet_is_ipv6(packet))
		change = nat_rewrite_ipv6(packet->ipv6, side, to->address);
	else
		change = nat_rewrite_ipv4(packet->ipv4, side, to->address);
	if (packet->no_ports)
		return;
	field = &packet->ports[side];
	if (to->port) {
		change = csum_replace16(change, *field, to->port);
		*field = to->port;
	}
	nat_update_l4(packet, change);
}

/* Client to backend. @backend is of the packet's address family. */
static __always_inline void forward_nat(struct xdp_md *ctx, struct packet *packet,
					const struct backend *backend)
{
	/* That needs no memory on the stack. */
	_Static_assert(offsetof(struct backend, address) == offsetof(struct reply, address) &&
			       offsetof(struct backend, port) == offsetof(struct reply, port),
		       "a backend begins as a reply does");

	nat_rewrite(ctx, packet, NAT_DESTINATION, (const struct reply *)backend);
	nat_decrement_ttl(packet);
}

/* Backend to client, except for the TTL: the kernel sees to that if it forwards. */
static __always_inline void forward_nat_reply(struct xdp_md *ctx, struct packet *packet,
					      const struct reply *reply)
{
	nat_rewrite(ctx, packet, NAT_SOURCE, reply);
}

#endif
