/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that come back from nat backends. The kernel's routing table says where
 * the client is; what it cannot answer at once, the kernel forwards itself.
 */
#ifndef RINGLB_BPF_REPLY_H
#define RINGLB_BPF_REPLY_H

#include "bpf/forward_nat.h"
#include "bpf/mss.h"
#include "bpf/transmit.h"

#define REPLY_AF_INET	   2
#define REPLY_AF_INET6	   10
#define REPLY_LEN_MAX	   0xffff
#define IPV4_DONT_FRAGMENT 0x4000

/* Ask for the way to the client, as for a packet that the VIP itself sends. */
static __always_inline long reply_route(struct xdp_md *ctx, struct packet *packet,
					const struct reply *reply, struct bpf_fib_lookup *fib)
{
	fib->ifindex = packet->ingress;
	fib->l4_protocol = packet->flow.protocol;
	fib->tot_len = packet->ip_len < REPLY_LEN_MAX ? packet->ip_len : REPLY_LEN_MAX;
	if (packet_is_ipv6(packet)) {
		fib->family = REPLY_AF_INET6;
		fib->flowinfo = *(__be32 *)packet->ipv6 & bpf_htonl(0x0fffffff);
		__builtin_memcpy(fib->ipv6_src, reply->address, sizeof(fib->ipv6_src));
		__builtin_memcpy(fib->ipv6_dst, packet->flow.destination, sizeof(fib->ipv6_dst));
	} else {
		fib->family = REPLY_AF_INET;
		fib->tos = packet->ipv4->tos;
		fib->ipv4_src = reply->address[0];
		fib->ipv4_dst = packet->flow.destination[0];
	}
	return bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
}

/*
 * Too long for its way out. A packet that may not be fragmented goes to the kernel
 * as it is, whose ICMP error then quotes what the backend sent; any other one is
 * rewritten first and fragmented by the kernel.
 */
static __always_inline enum verdict reply_too_big(struct packet *packet, const struct reply *reply)
{
	if (packet_is_ipv6(packet) || packet->ipv4->frag_off & bpf_htons(IPV4_DONT_FRAGMENT))
		return PASS_REPLY_TOO_BIG;
	forward_nat_reply(packet, reply);
	return PASS_REPLY_BY_KERNEL;
}

static __always_inline enum verdict reply_forward(struct xdp_md *ctx, struct packet *packet,
						  const struct reply *reply)
{
	struct bpf_fib_lookup fib = {};
	long route;

	if (packet_ttl(packet) <= 1)
		return PASS_REPLY_TTL;
	route = reply_route(ctx, packet, reply, &fib);
	if (route == BPF_FIB_LKUP_RET_FWD_DISABLED)
		return PASS_REPLY_FORWARDING_OFF;
	if (route == BPF_FIB_LKUP_RET_FRAG_NEEDED)
		return reply_too_big(packet, reply);
	if (route != BPF_FIB_LKUP_RET_SUCCESS && route != BPF_FIB_LKUP_RET_NO_NEIGH &&
	    route != BPF_FIB_LKUP_RET_UNSUPP_LWT)
		return PASS_REPLY_NOT_ROUTED;
	if (packet->fragment.authenticated)
		return DROP_NAT_AUTHENTICATED;
	mss_clamp_reply(ctx, packet, reply);
	forward_nat_reply(packet, reply);
	if (route != BPF_FIB_LKUP_RET_SUCCESS || !transmit_can(packet, fib.ifindex))
		return PASS_REPLY_BY_KERNEL;
	nat_decrement_ttl(packet);
	__builtin_memcpy(packet->eth->h_dest, fib.dmac, ETH_ALEN);
	__builtin_memcpy(packet->eth->h_source, fib.smac, ETH_ALEN);
	return transmit(packet, fib.ifindex, TX_REPLY, REDIRECT_REPLY);
}

#endif
