/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ICMP and ICMPv6.
 *
 *   echo request to the address of a VIP    answered from there, out of where it came in
 *   error that quotes a packet of a flow    goes where the flow's own packets go: the main
 *                                           program takes it from there, icmp_quote.h reads it
 *   anything else                           to the kernel
 *
 * A fragment of any of them goes to the kernel, too.
 */
#ifndef RINGLB_BPF_ICMP_H
#define RINGLB_BPF_ICMP_H

#include "bpf/icmp_quote.h"
#include "bpf/parse.h"
#include "bpf/unicast.h"
#include "bpf/vip.h"

#define ECHO_TTL 64

/* Source: RFC 792. */
#define ICMP_ECHO_REPLY	       0
#define ICMP_UNREACHABLE       3
#define ICMP_ECHO_REQUEST      8
#define ICMP_TIME_EXCEEDED     11
#define ICMP_PARAMETER_PROBLEM 12

/* Source: RFC 4443, section 2.1; the errors are 1 to 4 of those that there are. */
#define ICMPV6_UNREACHABLE	 1
#define ICMPV6_PARAMETER_PROBLEM 4
#define ICMPV6_ECHO_REQUEST	 128
#define ICMPV6_ECHO_REPLY	 129

static __always_inline bool icmp_is_echo(__u8 family, __u8 type)
{
	return type == (family == ENDPOINT_IPV6 ? ICMPV6_ECHO_REQUEST : ICMP_ECHO_REQUEST);
}

static __always_inline bool icmp_is_error(__u8 family, __u8 type)
{
	if (family == ENDPOINT_IPV6)
		return type >= ICMPV6_UNREACHABLE && type <= ICMPV6_PARAMETER_PROBLEM;
	return type == ICMP_UNREACHABLE || type == ICMP_TIME_EXCEEDED ||
	       type == ICMP_PARAMETER_PROBLEM;
}

/* That the addresses change places is nothing to any checksum; the new TTL is. */
static __always_inline void echo_turn_ipv4(struct iphdr *ip)
{
	__be16 *word = (__be16 *)&ip->ttl, before = *word;
	__be32 source = ip->saddr;

	ip->saddr = ip->daddr;
	ip->daddr = source;
	ip->ttl = ECHO_TTL;
	ip->check = csum_apply(ip->check, csum_replace16(0, before, *word));
}

static __always_inline void echo_turn_ipv6(struct ipv6hdr *ip)
{
	struct in6_addr source = ip->saddr;

	ip->saddr = ip->daddr;
	ip->daddr = source;
	ip->hop_limit = ECHO_TTL;
}

static __always_inline void echo_turn_link(struct ethhdr *eth)
{
	__u8 source[ETH_ALEN];

	__builtin_memcpy(source, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, source, ETH_ALEN);
}

/*
 * What is all zeros adds up to 0, and its checksum is ffff; whatever else adds up to ffff,
 * never to 0. Here that takes a payload of zeros, which is not looked at: with any other one
 * that comes here ffff is as good as 0.
 */
static __always_inline void echo_turn_icmp(struct icmp_header *icmp, __u8 type)
{
	__u16 *word = (__u16 *)icmp, before = *word;

	icmp->type = type;
	icmp->check = csum_apply(icmp->check, csum_replace16(0, before, *word));
	if (!icmp->check && !*word && !icmp->id && !icmp->sequence)
		icmp->check = 0xffff;
}

/* Turn the request at @icmp round where it lies. Returns a verdict. */
static __always_inline enum verdict echo_answer(struct xdp_md *ctx, const struct span *span,
						const struct flow *flow, struct icmp_header *icmp)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *ip = start + (span->l3_offset & OFFSET_LIMIT);
	struct ethhdr *eth = start;

	if ((void *)(eth + 1) > end)
		return PASS_SPLIT;
	if (flow->family == ENDPOINT_IPV6) {
		if (ip + sizeof(struct ipv6hdr) > end)
			return PASS_SPLIT;
		if (ip + sizeof(struct ipv6hdr) != icmp)
			return PASS_ECHO_OPTIONS;
		if (!ipv6_is_unicast(flow->source))
			return DROP_ECHO_SOURCE;
		echo_turn_ipv6(ip);
		echo_turn_icmp(icmp, ICMPV6_ECHO_REPLY);
	} else {
		if (ip + sizeof(struct iphdr) > end)
			return PASS_SPLIT;
		if (ip + sizeof(struct iphdr) != icmp)
			return PASS_ECHO_OPTIONS;
		if (!ipv4_is_unicast(flow->source[0]))
			return DROP_ECHO_SOURCE;
		echo_turn_ipv4(ip);
		echo_turn_icmp(icmp, ICMP_ECHO_REPLY);
	}
	echo_turn_link(eth);
	return TX_ECHO;
}

/*
 * A whole ICMP or ICMPv6 message that begins at @at. @packet is what is known of it; of an
 * error that may be about one of our flows it becomes what is to be known of that flow.
 *
 * A function of its own for the verifier and the stack; for the rare packet.
 *
 * Return: CONTINUE for such an error, or a verdict.
 */
__attribute__((noinline)) int icmp_read(struct xdp_md *ctx, const struct span *span,
					struct traits *packet, __u32 at)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct icmp_header *icmp = start + (at & OFFSET_LIMIT);
	enum verdict verdict;
	__u32 packet_end;

	if (!span || !packet)
		return VERDICT_COUNT; /* never, but the verifier asks */
	packet_end = span->l3_offset + span->ip_len;
	if (at + sizeof(*icmp) > packet_end)
		return vip_has_address(&packet->flow) ? DROP_SHORT_ICMP : PASS_OTHER_PROTOCOL;
	if (at > OFFSET_LIMIT || (void *)(icmp + 1) > end)
		return PASS_SPLIT;
	if (icmp_is_echo(packet->flow.family, icmp->type))
		return vip_has_address(&packet->flow) ? echo_answer(ctx, span, &packet->flow, icmp)
						      : PASS_OTHER_PROTOCOL;
	if (!icmp_is_error(packet->flow.family, icmp->type))
		return PASS_OTHER_PROTOCOL;
	verdict = quote_read(ctx, at + sizeof(*icmp), packet_end, packet);
	if (verdict != CONTINUE && !vip_has_address(&packet->flow))
		return PASS_QUOTE;
	return verdict;
}

/* A packet of a protocol without ports. @packet is filled as far as layer 3. */
static __always_inline enum verdict icmp_take(struct xdp_md *ctx, struct packet *packet)
{
	__u8 protocol = packet_is_ipv6(packet) ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	enum verdict verdict;

	if (packet->flow.protocol != protocol)
		return PASS_OTHER_PROTOCOL;
	if (packet->fragment.more)
		return PASS_FRAGMENT;
	verdict = icmp_read(ctx, &packet->span, &packet->traits,
			    packet->l3_offset + packet->ip_len - packet->l4_len);
	if (verdict == CONTINUE)
		packet->no_ports = NO_PORTS_QUOTE;
	return verdict;
}

#endif
