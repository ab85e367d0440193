/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that come back from nat backends. The kernel's routing table says where
 * the client is; what it cannot answer at once, the kernel forwards itself.
 */
#ifndef RINGLB_BPF_REPLY_H
#define RINGLB_BPF_REPLY_H

#include "bpf/forward_dr.h"
#include "bpf/forward_nat.h"
#include "bpf/mss.h"
#include "bpf/transmit.h"

#define REPLY_AF_INET	   2
#define REPLY_AF_INET6	   10
#define REPLY_LEN_MAX	   0xffff
#define IPV4_DONT_FRAGMENT 0x4000

/*
 * Ask for the way of the packet at @span to the destination of @flow, as if the VIP itself
 * sent it.
 *
 * A function of its own, as the stack of the caller is scarce. Return: BPF_FIB_LKUP_RET_*, with
 * SUCCESS @nexthop filled.
 */
__attribute__((noinline)) int reply_route(struct xdp_md *ctx, const struct span *span,
					  const struct flow *flow, const struct reply *reply,
					  struct nexthop *nexthop)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip;
	struct bpf_fib_lookup fib = {.ifindex = ctx->ingress_ifindex};
	long route;

	if (!span || !flow || !reply || !nexthop)
		return BPF_FIB_LKUP_RET_BLACKHOLE; /* never, but the verifier asks */
	ip = start + (span->l3_offset & OFFSET_LIMIT);
	if (ip + sizeof(struct iphdr) > end)
		return BPF_FIB_LKUP_RET_BLACKHOLE;
	fib.l4_protocol = flow->protocol;
	fib.tot_len = span->ip_len < REPLY_LEN_MAX ? span->ip_len : REPLY_LEN_MAX;
	if (flow->family == ENDPOINT_IPV6) {
		fib.family = REPLY_AF_INET6;
		fib.flowinfo = *(__be32 *)ip & bpf_htonl(0x0fffffff);
		__builtin_memcpy(fib.ipv6_src, reply->address, sizeof(fib.ipv6_src));
		__builtin_memcpy(fib.ipv6_dst, flow->destination, sizeof(fib.ipv6_dst));
	} else {
		fib.family = REPLY_AF_INET;
		fib.tos = ((struct iphdr *)ip)->tos;
		fib.ipv4_src = reply->address[0];
		fib.ipv4_dst = flow->destination[0];
	}
	route = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	nexthop->ifindex = fib.ifindex;
	__builtin_memcpy(nexthop->destination, fib.dmac, ETH_ALEN);
	__builtin_memcpy(nexthop->source, fib.smac, ETH_ALEN);
	return route;
}

/*
 * Too long for its way out. A packet that may not be fragmented goes to the kernel
 * as it is, whose ICMP error then quotes what the backend sent; any other one is
 * rewritten first and fragmented by the kernel.
 */
static __always_inline enum verdict reply_too_big(struct xdp_md *ctx, struct packet *packet,
						  const struct reply *reply)
{
	if (packet_is_ipv6(packet) || packet->ipv4->frag_off & bpf_htons(IPV4_DONT_FRAGMENT))
		return PASS_REPLY_TOO_BIG;
	forward_nat_reply(ctx, packet, reply);
	return PASS_REPLY_BY_KERNEL;
}

static __always_inline enum verdict reply_forward(struct xdp_md *ctx, struct packet *packet,
						  const struct reply *reply)
{
	struct nexthop nexthop = {};
	int route;

	if (packet_ttl(packet) <= 1)
		return PASS_REPLY_TTL;
	route = reply_route(ctx, &packet->span, &packet->flow, reply, &nexthop);
	if (route == BPF_FIB_LKUP_RET_FWD_DISABLED)
		return PASS_REPLY_FORWARDING_OFF;
	if (route == BPF_FIB_LKUP_RET_FRAG_NEEDED)
		return reply_too_big(ctx, packet, reply);
	if (route != BPF_FIB_LKUP_RET_SUCCESS && route != BPF_FIB_LKUP_RET_NO_NEIGH &&
	    route != BPF_FIB_LKUP_RET_UNSUPP_LWT)
		return PASS_REPLY_NOT_ROUTED;
	if (packet->fragment.authenticated)
		return DROP_NAT_AUTHENTICATED;
	mss_clamp_reply(ctx, packet, reply);
	forward_nat_reply(ctx, packet, reply);
	if (route != BPF_FIB_LKUP_RET_SUCCESS || !transmit_can(packet, nexthop.ifindex))
		return PASS_REPLY_BY_KERNEL;
	nat_decrement_ttl(packet);
	forward_dr(packet, &nexthop);
	return transmit(packet->ingress, nexthop.ifindex, TX_REPLY, REDIRECT_REPLY);
}

#endif
