/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packet's way through ringlb:
 *
 *   express.h       the short way of a plain packet, that of most; the others:
 *   parse.h         Ethernet, VLAN tags, IP, ports -> struct flow
 *   extensions.h    IPv6 extension headers
 *   icmp.h          echo is answered; an error goes on as the flow that icmp_quote.h finds in it
 *   fragments.h     a fragment that is not the first goes where that one went
 *   vip.h           is its destination a VIP, or its source a nat backend?
 *   quic.h          does the client say by its connection id which backend it has?
 *   choose.h        which backend?
 *   ring_search.h   flow -> hash -> slot of the ring -> backend
 *   flows.h         only where an arc is moving: did this flow have another backend?
 *   mss.h           may its SYNs announce so large segments?
 *   too_big.h       too long for the way there: tell the client
 *   forward_*.h     rewrite for the backend;  reply.h  rewrite for the client
 *   transmit.h      same interface or redirect
 *   count.h         verdict -> counter -> XDP action
 *   capture.h       copies of it, as it came in and as it leaves, and of what it met
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/capture.h"
#include "bpf/choose.h"
#include "bpf/count.h"
#include "bpf/express.h"
#include "bpf/forward_dr.h"
#include "bpf/forward_encap.h"
#include "bpf/forward_nat.h"
#include "bpf/fragments.h"
#include "bpf/icmp.h"
#include "bpf/maps.h"
#include "bpf/mss.h"
#include "bpf/outer_csum.h"
#include "bpf/parse.h"
#include "bpf/quic.h"
#include "bpf/reply.h"
#include "bpf/too_big.h"
#include "bpf/transmit.h"
#include "bpf/vip.h"

/* Make the packet what @backend is to get. */
static __always_inline enum verdict rewrite(struct xdp_md *ctx, struct packet *packet,
					    const struct backend *backend,
					    const struct nexthop *nexthop)
{
	struct way way = packet->span.way;

	if (way_is_encap(way)) {
		int verdict;

		packet->span.is_ipv6 = packet_is_ipv6(packet);
		verdict = forward_encap(ctx, &packet->span, &packet->flow, backend, nexthop);
		if (verdict == CONTINUE && outer_has_checksum(way, backend))
			verdict = outer_checksum(ctx, &packet->span);
		return verdict;
	}
	if (way.forward == FORWARD_NAT) {
		if (way.family != packet->flow.family)
			return DROP_WRONG_FAMILY;
		if (packet->fragment.authenticated)
			return DROP_NAT_AUTHENTICATED;
		forward_nat(ctx, packet, backend);
	}
	forward_dr(packet, nexthop);
	return CONTINUE;
}

static __always_inline enum verdict forward(struct xdp_md *ctx, struct packet *packet, __u32 id)
{
	const struct backend *backend = bpf_map_lookup_elem(&backends, &id);
	const struct nexthop *nexthop;
	enum verdict verdict;

	if (!backend)
		return DROP_BAD_RING;
	packet->span.way = way_of(backend);
	if (!packet->span.way.forward)
		return DROP_BAD_RING;
	nexthop = &backend->nexthops[*(const volatile __u32 *)&backend->active & 1];
	if (!nexthop->ifindex)
		return DROP_NO_NEXTHOP;
	if (too_big(packet, backend))
		return too_big_refuse(ctx, packet, backend);
	verdict = rewrite(ctx, packet, backend, nexthop);
	if (verdict != CONTINUE)
		return verdict;
	count_packet(&backend_count, id, packet);
	return transmit(packet->ingress, nexthop->ifindex, TX_BACKEND, REDIRECT_BACKEND);
}

/* A packet to a VIP. @cur is at the start of the layer 4 header. */
static __always_inline enum verdict balance(struct cursor *cur, struct packet *packet,
					    const struct vip *vip, struct fate *fate)
{
	enum verdict verdict = CONTINUE;

	if (packet_ttl(packet) <= 1)
		return DROP_TTL;
	count_packet(&vip_counters, vip->vip, packet);
	fate->backend = quic_backend_of(cur, packet, vip);
	if (fate->backend == BACKEND_NONE)
		verdict = choose_by_hash(&packet->traits, vip, &fate->backend);
	if (verdict != CONTINUE)
		return verdict;
	fragment_teach_backend(packet, vip->vip, fate->backend);
	mss_clamp(cur->ctx, packet, vip);
	return CONTINUE;
}

/* A packet with ports, be they quoted ones. @cur is at the start of the layer 4 header. */
static __always_inline enum verdict decide(struct cursor *cur, struct packet *packet,
					   struct fate *fate)
{
	enum verdict verdict;
	struct vip vip = {};
	bool to_vip = vip_find(&packet->flow, &vip);

	if (!to_vip)
		fate->reply = reply_find(&packet->flow);
	if (!to_vip && !fate->reply) {
		fragment_teach_pass(packet);
		return packet->no_ports ? PASS_QUOTE : PASS_NOT_VIP;
	}
	verdict = parse_l4(cur, packet);
	if (verdict != CONTINUE)
		return fragment_verdict(packet, verdict);
	if (to_vip)
		return balance(cur, packet, &vip, fate);
	fragment_teach_reply(packet, fate->reply);
	return CONTINUE;
}

static __always_inline enum verdict handle(struct xdp_md *ctx)
{
	struct cursor cur = {
		.ctx = ctx,
		.pos = (void *)(long)ctx->data,
		.end = (void *)(long)ctx->data_end,
	};
	struct packet packet = {.ingress = ctx->ingress_ifindex};
	enum verdict verdict = parse_flow(&cur, &packet);
	struct fate fate = {.backend = BACKEND_NONE};

	if (verdict == PASS_OTHER_PROTOCOL)
		verdict = icmp_take(ctx, &packet);
	if (verdict != CONTINUE) {
		capture_decision(&packet.flow, 0, BACKEND_NONE);
		return fragment_unparsed(&packet, verdict);
	}
	if (packet.no_ports == NO_PORTS_FRAGMENT)
		verdict = fragment_recall(ctx, &packet, &fate);
	else
		verdict = decide(&cur, &packet, &fate);
	capture_decision(&packet.flow, fate.reply, fate.backend);
	if (verdict != CONTINUE)
		return verdict;
	if (fate.reply)
		return reply_forward(ctx, &packet, fate.reply);
	return forward(ctx, &packet, fate.backend);
}

/* While somebody captures, all go the long way: the short one ends here. */
static __always_inline int handle_frame(struct xdp_md *ctx)
{
	enum verdict verdict;

	if (!capture_begin(ctx)) {
		verdict = express(ctx);
		if (verdict != CONTINUE)
			return count_verdict(verdict);
	}
	verdict = handle(ctx);
	capture_end(ctx, verdict);
	return count_verdict(verdict);
}

SEC("xdp.frags")
int ringlb(struct xdp_md *ctx)
{
	return handle_frame(ctx);
}

char LICENSE[] SEC("license") = "GPL";
