/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packet that is too long for the way to its backend: the client is told by ICMP how long
 * one may be, as a router would, but in the name of the VIP. The answer quotes the packet, so
 * it is made of it: cut off behind what is quoted, and new headers in front.
 *
 *   IPv4   destination unreachable, fragmentation needed    RFC 792; RFC 1191, section 4
 *   IPv6   packet too big                                   RFC 4443, section 3.2
 *
 * An IPv4 packet that may be fragmented is answered too, as nobody can do that here: senders
 * then fragment it themselves, or send shorter ones.
 */
#ifndef RINGLB_BPF_TOO_BIG_H
#define RINGLB_BPF_TOO_BIG_H

#include "bpf/csum_frame.h"
#include "bpf/forward_encap.h"
#include "bpf/maps.h"
#include "bpf/parse.h"
#include "bpf/unicast.h"

/* How long answers may be. Source: RFC 1812, section 4.3.2.3; RFC 4443, section 3.2. */
#define TOO_BIG_ANSWER_MAX_IPV4 576U
#define TOO_BIG_ANSWER_MAX_IPV6 1280U
/* What every link has to carry. Source: RFC 791, section 3.2; RFC 8200, section 5. */
#define TOO_BIG_MTU_MIN_IPV4 68U
#define TOO_BIG_MTU_MIN_IPV6 1280U

#define TOO_BIG_TYPE_IPV4 3
#define TOO_BIG_CODE_IPV4 4
#define TOO_BIG_TYPE_IPV6 2
/* Internetwork control. Source: RFC 1812, section 4.3.2.5. */
#define TOO_BIG_TOS 0xc0

/* In IPv4 the upper half of `mtu` is not used: RFC 1191, section 4. */
struct too_big_header {
	__u8 type;
	__u8 code;
	__be16 check;
	__be32 mtu;
};

/* Next to nothing for packets that fit. */
static __always_inline bool too_big(const struct packet *packet, const struct backend *backend)
{
	return backend->mtu && packet->ip_len + encap_overhead(packet->span.way) > backend->mtu;
}

/*
 * A token bucket that is one number: when it is full again. Each answer puts that off by what
 * one token takes to come back, and not beyond the time in which an empty one fills.
 */
static __always_inline bool too_big_take_token(void)
{
	__u64 now = bpf_ktime_get_ns(), *full;
	__u32 zero = 0;

	full = bpf_map_lookup_elem(&too_big_times, &zero);
	if (!full)
		return false;
	if (*full < now)
		*full = now;
	if (*full + TOO_BIG_EVERY_NS > now + TOO_BIG_BURST * TOO_BIG_EVERY_NS)
		return false;
	*full += TOO_BIG_EVERY_NS;
	return true;
}

/* Read the MAC addresses, swapped, and the tags. */
static __always_inline bool too_big_read_link(void *start, void *end, struct nexthop *back,
					      __u64 *tags)
{
	const struct ethhdr *eth = start;

	if (start + TAGS_AT + sizeof(*tags) > end)
		return false;
	__builtin_memcpy(back->destination, eth->h_source, ETH_ALEN);
	__builtin_memcpy(back->source, eth->h_dest, ETH_ALEN);
	*tags = *(const __u64 *)(start + TAGS_AT);
	return true;
}

/* May the sender of the packet at @ip be answered? @may_fragment: IPv4, and without DF. */
static __always_inline bool too_big_read_ip(const void *ip, void *end, bool is_ipv6,
					    bool *may_fragment)
{
	const struct ipv6hdr *ipv6 = ip;
	const struct iphdr *ipv4 = ip;

	if (is_ipv6)
		return (void *)(ipv6 + 1) <= end && ipv6_is_unicast(ipv6->saddr.in6_u.u6_addr32);
	if ((void *)(ipv4 + 1) > end)
		return false;
	*may_fragment = !(ipv4->frag_off & bpf_htons(OUTER_DONT_FRAGMENT));
	return ipv4_is_unicast(ipv4->saddr);
}

/* The IP header of an answer that quotes @len bytes, which follow. */
static __always_inline struct too_big_header *too_big_write_ipv4(void *pos, void *end, __u32 len)
{
	struct iphdr *ip = pos, *quoted = pos + sizeof(*ip) + sizeof(struct too_big_header);

	if ((void *)(quoted + 1) > end)
		return 0;
	ip->version = 4;
	ip->ihl = OUTER_IPV4_WORDS;
	ip->tos = TOO_BIG_TOS;
	ip->tot_len = bpf_htons(sizeof(*ip) + sizeof(struct too_big_header) + len);
	ip->id = 0;
	ip->frag_off = bpf_htons(OUTER_DONT_FRAGMENT);
	ip->ttl = OUTER_TTL;
	ip->protocol = IPPROTO_ICMP;
	ip->check = 0;
	ip->saddr = quoted->daddr;
	ip->daddr = quoted->saddr;
	ip->check = outer_ipv4_checksum(ip);
	return (void *)(ip + 1);
}

/* The same for IPv6. */
static __always_inline struct too_big_header *too_big_write_ipv6(void *pos, void *end, __u32 len)
{
	struct ipv6hdr *ip = pos, *quoted = pos + sizeof(*ip) + sizeof(struct too_big_header);

	if ((void *)(quoted + 1) > end)
		return 0;
	*(__be32 *)ip = bpf_htonl(6U << 28);
	ip->payload_len = bpf_htons(sizeof(struct too_big_header) + len);
	ip->nexthdr = IPPROTO_ICMPV6;
	ip->hop_limit = OUTER_TTL;
	ip->saddr = quoted->daddr;
	ip->daddr = quoted->saddr;
	return (void *)(ip + 1);
}

/*
 * Write the answer around the bytes of the packet that are left, but for its checksum. @fits
 * is how long one may be.
 */
static __always_inline bool too_big_write(struct xdp_md *ctx, __u64 tags,
					  const struct nexthop *back, const struct span *quote,
					  __u32 fits)
{
	bool is_ipv6 = quote->is_ipv6;
	void *pos = outer_write_link(ctx, tags, quote->l3_offset, back,
				     is_ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP));
	void *end = (void *)(long)ctx->data_end;
	__u32 least = is_ipv6 ? TOO_BIG_MTU_MIN_IPV6 : TOO_BIG_MTU_MIN_IPV4;
	struct too_big_header *icmp;

	if (!pos)
		return false;
	icmp = is_ipv6 ? too_big_write_ipv6(pos, end, quote->ip_len)
		       : too_big_write_ipv4(pos, end, quote->ip_len);
	if (!icmp)
		return false;
	icmp->type = is_ipv6 ? TOO_BIG_TYPE_IPV6 : TOO_BIG_TYPE_IPV4;
	icmp->code = is_ipv6 ? 0 : TOO_BIG_CODE_IPV4;
	icmp->check = 0;
	icmp->mtu = bpf_htonl(fits > least ? fits : least);
	return true;
}

/*
 * Fill in the checksum of the answer whose IP header is at @l3_offset. A function of its own,
 * and called after the next one, for the stack. Return: 1, or 0 if it is not there.
 */
__attribute__((noinline)) int too_big_sum(struct xdp_md *ctx, __u32 l3_offset, __u32 is_ipv6)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv6hdr *ipv6 = start + (l3_offset & OFFSET_LIMIT);
	struct iphdr *ipv4 = (void *)ipv6;
	struct too_big_header *icmp;
	__u64 sum = 0;
	__u32 len;
	int all;

	if ((void *)(ipv4 + 1) > end || (is_ipv6 && (void *)(ipv6 + 1) > end))
		return 0;
	if (is_ipv6) {
		icmp = (void *)(ipv6 + 1);
		len = bpf_ntohs(ipv6->payload_len);
		/* ICMPv6 has a pseudo-header. */
		sum = outer_sum_ipv6(ipv6) + ipv6->payload_len + bpf_htons(IPPROTO_ICMPV6);
	} else {
		icmp = (void *)(ipv4 + 1);
		len = bpf_ntohs(ipv4->tot_len) - sizeof(*ipv4);
	}
	if ((void *)(icmp + 1) > end)
		return 0;
	all = csum_frame(ctx, (void *)icmp - start, len, csum_fold32(sum));
	if (all < 0)
		return 0;
	icmp->check = ~all;
	return 1;
}

/*
 * Make the frame, whose IP packet at @span is longer than @fits, the answer to its sender,
 * unless it may not have one. No pointer into the frame is good afterwards.
 *
 * A function of its own for the stack: it is called instead of forward_encap(), not below it.
 *
 * Return: the verdict.
 */
__attribute__((noinline)) int too_big_answer(struct xdp_md *ctx, const struct span *span,
					     __u32 fits)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip;
	__u32 most = TOO_BIG_ANSWER_MAX_IPV4, headers = sizeof(struct too_big_header);
	struct nexthop back = {};
	__u64 tags = 0;
	bool may_fragment = false;
	struct span quote;

	if (!span)
		return VERDICT_COUNT; /* never, but the verifier asks */
	quote = *span;
	ip = start + (quote.l3_offset & OFFSET_LIMIT);
	if (!too_big_read_link(start, end, &back, &tags))
		return DROP_NO_ROOM;
	if (!too_big_read_ip(ip, end, quote.is_ipv6, &may_fragment))
		return DROP_TOO_BIG_SENDER;
	if (!too_big_take_token())
		return DROP_TOO_BIG_RATE;
	if (quote.is_ipv6) {
		most = TOO_BIG_ANSWER_MAX_IPV6;
		headers += sizeof(struct ipv6hdr);
	} else {
		headers += sizeof(struct iphdr);
	}
	/* What is beyond the frame's first buffer is not quoted. */
	if (quote.ip_len > (__u64)(end - ip))
		quote.ip_len = end - ip;
	if (quote.ip_len > most - headers)
		quote.ip_len = most - headers;
	quote.frame_len = bpf_xdp_get_buff_len(ctx);
	if (!encap_make_room(ctx, &quote, headers) ||
	    !too_big_write(ctx, tags, &back, &quote, fits))
		return DROP_NO_ROOM;
	return may_fragment ? TX_TOO_BIG_NO_DF : TX_TOO_BIG;
}

/*
 * @packet is too big() for @backend. Of fragments only the first is answered, and ICMP errors
 * never: RFC 1812.
 */
static __always_inline enum verdict too_big_refuse(struct xdp_md *ctx, struct packet *packet,
						   const struct backend *backend)
{
	int verdict;

	if (packet->no_ports)
		return packet->no_ports == NO_PORTS_QUOTE ? DROP_TOO_BIG_ERROR
							  : DROP_TOO_BIG_FRAGMENT;
	packet->span.is_ipv6 = packet_is_ipv6(packet);
	verdict =
		too_big_answer(ctx, &packet->span, backend->mtu - encap_overhead(packet->span.way));
	if ((verdict == TX_TOO_BIG || verdict == TX_TOO_BIG_NO_DF) &&
	    !too_big_sum(ctx, packet->l3_offset, packet->span.is_ipv6))
		return DROP_NO_ROOM;
	return verdict;
}

#endif
