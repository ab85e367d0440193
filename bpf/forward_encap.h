/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ipip and gue: the packet travels unchanged inside a packet of ours, whose destination is
 * the backend. Any family in any family. The backend takes the outer header off and answers
 * the client directly.
 *
 *   ipip   IP in IP                                   RFC 2003, RFC 2473, RFC 4213
 *   gue    IP in UDP in IP, nothing in between        draft-ietf-intarea-gue-09, variant 1
 *
 * The inner TTL stays too, though a tunnel that is part of a router's hop would take one:
 * the backend is the packet's destination, and whose TTL ends at the load balancer is
 * dropped before it gets here.
 */
#ifndef RINGLB_BPF_FORWARD_ENCAP_H
#define RINGLB_BPF_FORWARD_ENCAP_H

#include "bpf/csum.h"
#include "bpf/forward_dr.h"
#include "bpf/maps.h"
#include "bpf/outer.h"
#include "bpf/parse.h"

#define OUTER_TTL		  64
#define OUTER_DONT_FRAGMENT	  0x4000
#define OUTER_IPV4_WORDS	  (sizeof(struct iphdr) / sizeof(__u32))
#define OUTER_TRAFFIC_CLASS_SHIFT 20
#define TAGS_AT			  12 /* behind the MAC addresses */

/* What the outer header needs to know of the packet: no pointer outlives moving its head. */
struct inner {
	__u64 hash;
	__u64 tags; /* eight bytes of the frame from TAGS_AT on: VLAN tags, if it has some */
	__u32 l3_offset;
	__u32 len;
	struct way way;
	__be16 id;
	__be16 frag_off;
	__u8 tos; /* DSCP and ECN */
	__u8 protocol;
};

/* Userspace may change it between two reads: a packet goes by what one of them says. */
static __always_inline struct way way_of(const struct backend *backend)
{
	union {
		__u32 word;
		struct way way;
	} read = {.word = *(const volatile __u32 *)&backend->way};

	return read.way;
}

static __always_inline bool way_is_encap(struct way way)
{
	return way.forward == FORWARD_IPIP || way.forward == FORWARD_GUE;
}

/* Bytes that the outer header adds to an IP packet; 0 for nat and dr. */
static __always_inline __u32 encap_overhead(struct way way)
{
	__u32 len = way.family == ENDPOINT_IPV6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);

	if (!way_is_encap(way))
		return 0;
	return way.forward == FORWARD_GUE ? len + sizeof(struct udphdr) : len;
}

/*
 * An IPv4 packet that may be fragmented keeps that right, and needs an id of its own for it:
 * its sender's, plus the offset where it is itself one of several fragments with one id.
 * Any other packet needs none. Source: RFC 2003, section 3.1; RFC 6864, section 4.
 */
static __always_inline void inner_read_ipv4(struct inner *inner, const struct iphdr *ip)
{
	inner->tos = ip->tos;
	inner->protocol = IPPROTO_IPIP;
	inner->frag_off = ip->frag_off & bpf_htons(OUTER_DONT_FRAGMENT);
	if (!inner->frag_off)
		inner->id =
			bpf_htons(bpf_ntohs(ip->id) + (bpf_ntohs(ip->frag_off) & IPV4_OFFSET_MASK));
}

/* Nobody on the way fragments an IPv6 packet. */
static __always_inline void inner_read_ipv6(struct inner *inner, const struct ipv6hdr *ip)
{
	inner->tos = bpf_ntohl(*(const __be32 *)ip) >> OUTER_TRAFFIC_CLASS_SHIFT;
	inner->protocol = IPPROTO_IPV6;
	inner->frag_off = bpf_htons(OUTER_DONT_FRAGMENT);
}

/* Read what @inner needs from the frame. False if it is not there. */
static __always_inline bool inner_read(struct xdp_md *ctx, struct inner *inner,
				       const struct span *span)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *ip = start + (span->l3_offset & OFFSET_LIMIT);

	inner->l3_offset = span->l3_offset;
	inner->len = span->ip_len;
	inner->way = span->way;
	if (start + TAGS_AT + sizeof(inner->tags) > end)
		return false;
	inner->tags = *(const __u64 *)(start + TAGS_AT);
	if (span->is_ipv6) {
		if (ip + sizeof(struct ipv6hdr) > end)
			return false;
		inner_read_ipv6(inner, ip);
	} else {
		if (ip + sizeof(struct iphdr) > end)
			return false;
		inner_read_ipv4(inner, ip);
	}
	return true;
}

static __always_inline __u8 outer_protocol(const struct inner *inner)
{
	return inner->way.forward == FORWARD_GUE ? IPPROTO_UDP : inner->protocol;
}

/* The 20 bytes without options add up to 16 bits. */
static __always_inline __u16 outer_ipv4_checksum(const struct iphdr *ip)
{
	const __u32 *words = (const __u32 *)ip;
	__u64 sum = 0;

	for (__u32 i = 0; i < OUTER_IPV4_WORDS; i++)
		sum += words[i];
	return csum_apply(0xffff, sum);
}

/* The addresses of an outer header, for checksums that cover them too. */
static __always_inline __u64 outer_sum_ipv4(const struct iphdr *ip)
{
	return (__u64)ip->saddr + ip->daddr;
}

static __always_inline __u64 outer_sum_ipv6(const struct ipv6hdr *ip)
{
	const __be32 *words = ip->saddr.in6_u.u6_addr32;
	__u64 sum = 0;

	/* The destination follows the source. */
	for (__u32 i = 0; i < 8; i++)
		sum += words[i];
	return sum;
}

/*
 * By words, whose sum is the checksum's: to read back what was just written in smaller parts
 * makes the processor wait. As they lie in memory, lowest byte first.
 */
static __always_inline enum verdict outer_write_ipv4(void **pos, void *end,
						     const struct inner *inner,
						     const struct encap *values,
						     const struct backend *backend)
{
	__u32 len = (__u16)bpf_htons(inner->len + encap_overhead(inner->way)), *words = *pos;
	__u32 first = 0x40 | OUTER_IPV4_WORDS | inner->tos << 8 | len << 16;
	__u32 second = inner->id | (__u32)inner->frag_off << 16;
	__u32 third = OUTER_TTL | (__u32)outer_protocol(inner) << 8;
	__be32 source = outer_source_ipv4(values, inner->hash);
	__be32 destination = backend->address[0];
	__u64 sum = (__u64)first + second + third + source + destination;

	if ((void *)(words + OUTER_IPV4_WORDS) > end)
		return DROP_NO_ROOM;
	words[0] = first;
	words[1] = second;
	words[2] = third | (__u32)csum_apply(0xffff, sum) << 16;
	words[3] = source;
	words[4] = destination;
	*pos = words + OUTER_IPV4_WORDS;
	return CONTINUE;
}

static __always_inline enum verdict outer_write_ipv6(void **pos, void *end,
						     const struct inner *inner,
						     const struct encap *values,
						     const struct backend *backend)
{
	__u32 len = inner->len + encap_overhead(inner->way) - sizeof(struct ipv6hdr);
	struct ipv6hdr *ip = *pos;
	__u32 *words = *pos;

	if ((void *)(ip + 1) > end)
		return DROP_NO_ROOM;
	words[0] = bpf_htonl(6U << 28 | (__u32)inner->tos << OUTER_TRAFFIC_CLASS_SHIFT |
			     outer_label(inner->hash));
	words[1] = (__u32)(__u16)bpf_htons(len) | (__u32)outer_protocol(inner) << 16 |
		   (__u32)OUTER_TTL << 24;
	outer_source_ipv6(values, inner->hash, &words[2]);
	for (int i = 0; i < 4; i++)
		words[6 + i] = backend->address[i];
	*pos = ip + 1;
	return CONTINUE;
}

/* Without a checksum, which outer_csum.h fills in where there has to be one. */
static __always_inline enum verdict outer_write_udp(void *pos, void *end, const struct inner *inner)
{
	__u32 *words = pos;

	if (pos + sizeof(struct udphdr) > end)
		return DROP_NO_ROOM;
	words[0] = (__u32)(__u16)bpf_htons(outer_port(inner->hash)) | (__u32)inner->way.port << 16;
	words[1] = (__u16)bpf_htons(inner->len + sizeof(struct udphdr));
	return CONTINUE;
}

/*
 * Cut what follows the IP packet in the frame, and make room in front. Ethernet padding
 * is no part of the packet, and behind a longer one it is not needed.
 */
static __always_inline bool encap_make_room(struct xdp_md *ctx, const struct span *span,
					    __u32 overhead)
{
	__u32 padding = span->frame_len - span->l3_offset - span->ip_len;

	if (padding && bpf_xdp_adjust_tail(ctx, -(int)padding))
		return false;
	return !bpf_xdp_adjust_head(ctx, -(int)overhead);
}

/*
 * The MAC addresses of the next hop, the tags as they were, and the type of what follows.
 * The tags are written as if there were two: what is too much of it is written over.
 *
 * Return: what follows, or NULL.
 */
static __always_inline void *outer_write_link(struct xdp_md *ctx, __u64 tags, __u32 l3_offset,
					      const struct nexthop *nexthop, __be16 type)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__be16 *type_at = start + ((l3_offset - sizeof(type)) & OFFSET_LIMIT);

	if (start + TAGS_AT + sizeof(tags) > end || (void *)(type_at + 1) > end)
		return 0;
	nexthop_write(start, nexthop);
	*(__u64 *)(start + TAGS_AT) = tags;
	*type_at = type;
	return type_at + 1;
}

static __always_inline enum verdict outer_write(struct xdp_md *ctx, const struct inner *inner,
						const struct encap *values,
						const struct backend *backend,
						const struct nexthop *nexthop)
{
	bool is_ipv6 = inner->way.family == ENDPOINT_IPV6;
	__be16 type = is_ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	void *end = (void *)(long)ctx->data_end;
	void *pos = outer_write_link(ctx, inner->tags, inner->l3_offset, nexthop, type);
	enum verdict verdict;

	if (!pos)
		return DROP_NO_ROOM;
	if (is_ipv6)
		verdict = outer_write_ipv6(&pos, end, inner, values, backend);
	else
		verdict = outer_write_ipv4(&pos, end, inner, values, backend);
	if (verdict == CONTINUE && inner->way.forward == FORWARD_GUE)
		verdict = outer_write_udp(pos, end, inner);
	return verdict;
}

/*
 * Encapsulate the packet of @flow at @span for @backend, by way of @nexthop. No pointer into
 * the frame is good afterwards.
 *
 * A function of its own for the verifier, which then goes through it once.
 *
 * Return: CONTINUE or a verdict.
 */
__attribute__((noinline)) int forward_encap(struct xdp_md *ctx, const struct span *span,
					    const struct flow *flow, const struct backend *backend,
					    const struct nexthop *nexthop)
{
	const struct encap *values;
	struct inner inner = {};
	__u32 zero = 0;

	if (!span || !flow || !backend || !nexthop)
		return VERDICT_COUNT; /* never, but the verifier asks */
	values = bpf_map_lookup_elem(&encap, &zero);
	if (!values || !inner_read(ctx, &inner, span))
		return DROP_NO_ROOM;
	inner.hash = outer_hash(values, flow);
	if (!encap_make_room(ctx, span, encap_overhead(inner.way)))
		return DROP_NO_ROOM;
	return outer_write(ctx, &inner, values, backend, nexthop);
}

#endif
