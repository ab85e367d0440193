/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an ICMP error quotes -> the flow that it is about. The error goes to the sender of the
 * packet that it quotes, so the flow is that packet's tuple with its ends swapped: client to
 * VIP if a backend sent it, and nat backend to client if a client did.
 *
 * At least the IP header and 8 bytes are quoted (RFC 792, RFC 4443), of which the ports are
 * all that is asked for. No packet is changed here.
 */
#ifndef RINGLB_BPF_ICMP_QUOTE_H
#define RINGLB_BPF_ICMP_QUOTE_H

#include "bpf/extensions.h"
#include "bpf/parse.h"

#define QUOTE_PORTS_LEN 4
#define QUOTE_CHECK_LEN 18 /* TCP as far as its checksum, which nat may have to change */

/* The packet that is quoted. Offsets count from the start of the frame. */
struct quote {
	__u32 at;    /* its IP header */
	__u32 l4_at; /* what follows that */
	__u32 end;   /* of the error, and so of what is quoted */
	__u32 pad;
};

/*
 * Are @len bytes at @at quoted, and in the frame's first buffer? Returns CONTINUE or a verdict.
 * The verifier wants to see the same of the pointer once more.
 */
static __always_inline enum verdict quote_has(struct xdp_md *ctx, const struct quote *quote,
					      __u32 at, __u32 len)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (at + len > quote->end)
		return DROP_SHORT_QUOTE;
	if (at > OFFSET_LIMIT || start + (at & OFFSET_LIMIT) + len > end)
		return PASS_SPLIT;
	return CONTINUE;
}

/* Source: RFC 791, section 3.1. */
static __always_inline enum verdict quote_read_ipv4(struct xdp_md *ctx, struct quote *quote,
						    struct flow *flow)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const struct iphdr *ip = start + (quote->at & OFFSET_LIMIT);
	enum verdict verdict = quote_has(ctx, quote, quote->at, sizeof(*ip));

	if (verdict != CONTINUE)
		return verdict;
	if ((void *)(ip + 1) > end)
		return PASS_SPLIT;
	if (ip->version != 4 || ip->ihl < IPV4_IHL_MIN)
		return DROP_BAD_QUOTE;
	if (ip->saddr != flow->destination[0])
		return PASS_QUOTE;
	if (ip->frag_off & bpf_htons(IPV4_OFFSET_MASK))
		return DROP_QUOTE_FRAGMENT;
	flow->source[0] = ip->daddr;
	flow->protocol = ip->protocol;
	quote->l4_at = quote->at + ip->ihl * 4U;
	return CONTINUE;
}

/* Step over the extension headers that are quoted. */
static __always_inline enum verdict quote_walk(struct xdp_md *ctx, struct quote *quote,
					       struct flow *flow)
{
	struct extensions chain = {
		.at = quote->l4_at,
		.end = quote->end,
		.protocol = flow->protocol,
	};
	int verdict = extensions_walk(ctx, &chain);

	if (verdict == PASS_SHORT_PORTS)
		return DROP_SHORT_QUOTE;
	if (verdict != CONTINUE)
		return verdict;
	if (chain.fragment_word & bpf_htons(FRAGMENT_OFFSET_MASK))
		return DROP_QUOTE_FRAGMENT;
	flow->protocol = chain.protocol;
	quote->l4_at = chain.at;
	return CONTINUE;
}

/* Source: RFC 8200, section 3. */
static __always_inline enum verdict quote_read_ipv6(struct xdp_md *ctx, struct quote *quote,
						    struct flow *flow)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const struct ipv6hdr *ip = start + (quote->at & OFFSET_LIMIT);
	enum verdict verdict = quote_has(ctx, quote, quote->at, sizeof(*ip));

	if (verdict != CONTINUE)
		return verdict;
	if ((void *)(ip + 1) > end)
		return PASS_SPLIT;
	if (ip->version != 6)
		return DROP_BAD_QUOTE;
	if (__builtin_memcmp(&ip->saddr, flow->destination, sizeof(ip->saddr)))
		return PASS_QUOTE;
	__builtin_memcpy(flow->source, &ip->daddr, sizeof(ip->daddr));
	flow->protocol = ip->nexthdr;
	quote->l4_at = quote->at + sizeof(*ip);
	return protocol_is_extension(ip->nexthdr) ? quote_walk(ctx, quote, flow) : CONTINUE;
}

/*
 * Read the packet that is quoted in the frame from @at to @end. @packet is what is known of
 * the error; its flow becomes the one that is quoted, but for the destination, which is the
 * same.
 *
 * Return: CONTINUE or a verdict.
 */
static __always_inline enum verdict quote_read(struct xdp_md *ctx, __u32 at, __u32 end,
					       struct traits *packet)
{
	struct quote quote = {.at = at, .end = end};
	void *start = (void *)(long)ctx->data;
	struct flow *flow = &packet->flow;
	enum verdict verdict;
	__be16 *ports;
	__u32 len;

	verdict = flow->family == ENDPOINT_IPV6 ? quote_read_ipv6(ctx, &quote, flow)
						: quote_read_ipv4(ctx, &quote, flow);
	if (verdict != CONTINUE)
		return verdict;
	if (!protocol_has_ports(flow->protocol))
		return PASS_QUOTE;
	if (quote.l4_at + QUOTE_PORTS_LEN > end)
		return DROP_SHORT_QUOTE;
	len = end - quote.l4_at;
	verdict =
		quote_has(ctx, &quote, quote.l4_at, len < QUOTE_CHECK_LEN ? len : QUOTE_CHECK_LEN);
	if (verdict != CONTINUE)
		return verdict;
	ports = start + (quote.l4_at & OFFSET_LIMIT);
	if ((void *)(ports + 2) > (void *)(long)ctx->data_end)
		return PASS_SPLIT;
	flow->source_port = ports[1];
	flow->destination_port = ports[0];
	packet->quote_at = quote.at;
	packet->quote_l4_at = quote.l4_at;
	packet->quote_l4_len = len;
	return CONTINUE;
}

#endif
