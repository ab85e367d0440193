/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The short way of the plain packet: no VLAN tag, no IP options or extension headers, no
 * fragment, TCP or UDP, all that a look-up needs in front, and no nat. It calls nothing but what
 * makes room for an outer header and, for a hash in ten, the search; the long way does the
 * same for every packet there is, and much more (`make bench` has both).
 *
 * Nothing is written or counted before it is sure that the packet goes this way to its end;
 * whatever is not as it must be leaves it to the long way, which knows why. So the two must
 * agree, and the tests hold one against the other.
 */
#ifndef RINGLB_BPF_EXPRESS_H
#define RINGLB_BPF_EXPRESS_H

#include "bpf/count.h"
#include "bpf/forward_dr.h"
#include "bpf/forward_encap.h"
#include "bpf/outer_csum.h"
#include "bpf/ring_search.h"
#include "bpf/transmit.h"
#include "bpf/vip.h"

/* Set before the program is loaded: every packet goes the long way, as tests compare. */
const volatile bool no_express = false;

#define EXPRESS_IPV4_FIRST  0x45   /* version 4, no options */
#define EXPRESS_NO_FRAGMENT 0x3fff /* more to come, or an offset */

/* What is read of the packet. */
struct express {
	struct flow flow;
	struct inner inner;
	__u64 vip; /* front_vip() */
	__u32 backend;
	__u32 frame_len;
	__u8 ttl;
	__u8 tcp_flags;
};

static __always_inline bool express_read_ipv4(const struct iphdr *ip, void *end, struct express *e)
{
	if ((void *)(ip + 1) > end || *(const __u8 *)ip != EXPRESS_IPV4_FIRST ||
	    ip->frag_off & bpf_htons(EXPRESS_NO_FRAGMENT))
		return false;
	e->inner.len = bpf_ntohs(ip->tot_len);
	e->ttl = ip->ttl;
	e->flow.family = ENDPOINT_IPV4;
	e->flow.protocol = ip->protocol;
	e->flow.source[0] = ip->saddr;
	e->flow.destination[0] = ip->daddr;
	inner_read_ipv4(&e->inner, ip);
	return e->inner.len >= sizeof(*ip);
}

static __always_inline bool express_read_ipv6(const struct ipv6hdr *ip, void *end,
					      struct express *e)
{
	if ((void *)(ip + 1) > end || ip->version != 6)
		return false;
	e->inner.len = bpf_ntohs(ip->payload_len) + sizeof(*ip);
	e->ttl = ip->hop_limit;
	e->flow.family = ENDPOINT_IPV6;
	e->flow.protocol = ip->nexthdr;
	__builtin_memcpy(e->flow.source, &ip->saddr, sizeof(ip->saddr));
	__builtin_memcpy(e->flow.destination, &ip->daddr, sizeof(ip->daddr));
	inner_read_ipv6(&e->inner, ip);
	return true;
}

/* As parse_l4() wants the @len bytes at @pos. */
static __always_inline bool express_read_l4(void *pos, void *end, __u32 len, struct express *e)
{
	struct tcphdr *tcp = pos;
	struct udphdr *udp = pos;

	if (e->flow.protocol == IPPROTO_TCP) {
		if ((void *)(tcp + 1) > end || tcp->doff < TCP_DOFF_MIN || tcp->doff * 4U > len)
			return false;
		e->tcp_flags = ((__u8 *)tcp)[TCP_FLAGS_AT];
	} else if (e->flow.protocol == IPPROTO_UDP) {
		if ((void *)(udp + 1) > end || bpf_ntohs(udp->len) < sizeof(*udp) ||
		    bpf_ntohs(udp->len) > len)
			return false;
	} else {
		return false;
	}
	e->flow.source_port = udp->source;
	e->flow.destination_port = udp->dest;
	return true;
}

static __always_inline bool express_fits(const struct express *e)
{
	return ETH_HLEN + e->inner.len <= e->frame_len;
}

static __always_inline bool express_read(struct xdp_md *ctx, struct express *e)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = start;
	void *ip = eth + 1;

	e->frame_len = end - start;
	e->inner.l3_offset = ETH_HLEN;
	if (ip > end || eth->h_dest[0] & 1)
		return false;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return express_read_ipv4(ip, end, e) && express_fits(e) &&
		       express_read_l4(ip + sizeof(struct iphdr), end,
				       e->inner.len - sizeof(struct iphdr), e);
	return eth->h_proto == bpf_htons(ETH_P_IPV6) && express_read_ipv6(ip, end, e) &&
	       express_fits(e) &&
	       express_read_l4(ip + sizeof(struct ipv6hdr), end,
			       e->inner.len - sizeof(struct ipv6hdr), e);
}

/* Padding would have to be cut off first, and a checksum goes over all of the packet. */
static __always_inline bool express_can_encap(const struct express *e,
					      const struct backend *backend)
{
	return way_is_encap(e->inner.way) && !outer_has_checksum(e->inner.way, backend) &&
	       e->frame_len == ETH_HLEN + e->inner.len;
}

/*
 * The backend of @e. The hash is that of the outer header too, and does not wait for the VIP:
 * rings have the same seed, but while that changes.
 */
static __always_inline const struct backend *express_choose(struct express *e,
							    const struct encap *values)
{
	const struct backend *backend;
	struct vip vip;

	front_vip(e->vip, &vip);
	if (vip.hash != VIP_HASH_FLOW || e->ttl <= 1 || (vip.mss && e->tcp_flags & TCP_SYN))
		return NULL;
	e->inner.hash = outer_hash(values, &e->flow);
	e->backend = ring_find_at_once(vip.pool, e->inner.hash, values->seed);
	if (e->backend == RING_BUCKET_SEARCH)
		return NULL;
	backend = bpf_map_lookup_elem(&backends, &e->backend);
	if (!backend)
		return NULL;
	e->inner.way = way_of(backend);
	if (e->inner.way.forward != FORWARD_DR && !express_can_encap(e, backend))
		return NULL;
	if (backend->mtu && e->inner.len + encap_overhead(e->inner.way) > backend->mtu)
		return NULL;
	return backend;
}

/* Make it what @backend is to get. From here on there is no way back. */
static __always_inline enum verdict express_rewrite(struct xdp_md *ctx, struct express *e,
						    const struct encap *values,
						    const struct backend *backend,
						    const struct nexthop *nexthop)
{
	void *start = (void *)(long)ctx->data;

	if (!way_is_encap(e->inner.way)) {
		if (start + ETH_HLEN > (void *)(long)ctx->data_end)
			return DROP_NO_ROOM; /* never, but the verifier asks */
		nexthop_write(start, nexthop);
		return CONTINUE;
	}
	if (bpf_xdp_adjust_head(ctx, -(int)encap_overhead(e->inner.way)))
		return DROP_NO_ROOM;
	return outer_write(ctx, &e->inner, values, backend, nexthop);
}

/* Return: the verdict, or CONTINUE: go the long way. */
static __always_inline enum verdict express(struct xdp_md *ctx)
{
	const struct nexthop *nexthop;
	const struct backend *backend;
	const struct encap *values;
	enum front_answer answer;
	struct express memory = {}, *e = &memory;
	enum verdict verdict;
	__u32 zero = 0;

	/* In memory, which the long way has the use of again: registers would be saved apart. */
	barrier_var(e);
	if (no_express || !express_read(ctx, e))
		return CONTINUE;
	answer = vip_find_front(&e->flow, &e->vip);
	if (answer == FRONT_NONE && front_spares(&e->flow))
		return PASS_NOT_VIP;
	values = bpf_map_lookup_elem(&encap, &zero);
	if (answer != FRONT_FOUND || front_is_nat(e->vip) || !values)
		return CONTINUE;
	backend = express_choose(e, values);
	if (!backend)
		return CONTINUE;
	nexthop = &backend->nexthops[*(const volatile __u32 *)&backend->active & 1];
	if (!nexthop->ifindex)
		return CONTINUE;
	count_frame(&vip_counters, e->vip & 0xffff, e->frame_len);
	verdict = express_rewrite(ctx, e, values, backend, nexthop);
	if (verdict != CONTINUE)
		return verdict;
	count_frame(&backend_count, e->backend, e->frame_len);
	return transmit(ctx->ingress_ifindex, nexthop->ifindex, TX_BACKEND, REDIRECT_BACKEND);
}

#endif
