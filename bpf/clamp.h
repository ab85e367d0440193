/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The MSS option of SYN-ACKs that leave with a VIP as their source. What the client sends
 * afterwards goes through the tunnel and has to leave room for its headers; with direct
 * return nobody but the backend can tell the client so.
 */
#ifndef RINGLB_BPF_CLAMP_H
#define RINGLB_BPF_CLAMP_H

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>

#include "bpf/backend_maps.h"
#include "bpf/link.h"
#include "bpf/tcp_options.h"

/* More than there can be options, as a power of two. */
#define CLAMP_ROOM 64

struct clamp {
	struct backend_address source;
	__u32 tcp_at; /* from the start of the frame */
	__u32 options_len;
};

/* Is this frame a SYN-ACK? Its bounds are checked as far as the fixed TCP header. */
static __always_inline bool clamp_read(void *data, void *end, struct clamp *clamp)
{
	struct link link = {};
	void *pos = link_read(data, end, &link);
	struct ipv6hdr *ipv6 = pos;
	struct iphdr *ipv4 = pos;
	struct tcphdr *tcp;

	if (link.type == bpf_htons(ETH_P_IP)) {
		if ((void *)(ipv4 + 1) > end || ipv4->protocol != IPPROTO_TCP || ipv4->ihl < 5)
			return false;
		clamp->source = (struct backend_address){.family = 4, .address = {ipv4->saddr}};
		pos += ipv4->ihl * 4U;
	} else if (link.type == bpf_htons(ETH_P_IPV6)) {
		if ((void *)(ipv6 + 1) > end || ipv6->nexthdr != IPPROTO_TCP)
			return false;
		clamp->source.family = 6;
		__builtin_memcpy(clamp->source.address, &ipv6->saddr, sizeof(ipv6->saddr));
		pos += sizeof(*ipv6);
	} else {
		return false;
	}
	tcp = pos;
	if ((void *)(tcp + 1) > end || !tcp->syn || !tcp->ack || tcp->doff < 5)
		return false;
	clamp->tcp_at = pos - data;
	clamp->options_len = tcp->doff * 4U - sizeof(*tcp);
	return true;
}

/* Lower the MSS of a SYN-ACK of a VIP. */
static __always_inline enum backend_verdict clamp_lower(struct __sk_buff *skb,
							const struct clamp *clamp)
{
	__u8 options[CLAMP_ROOM] = {};
	__u32 len = clamp->options_len, at;
	__be16 before, after = bpf_htons(settings.mss);
	int found;

	if (len < TCP_MSS_LEN || len > TCP_OPTIONS_MAX)
		return PASS_NOT_CLAMPED;
	/* So that Linux 6.1's verifier knows it for a number from 1 to CLAMP_ROOM; nothing changes.
	 */
	barrier_var(len);
	if (bpf_skb_load_bytes(skb, clamp->tcp_at + sizeof(struct tcphdr), options,
			       ((len - 1) & (CLAMP_ROOM - 1)) + 1))
		return PASS_NOT_CLAMPED;
	found = tcp_options_find_mss(options, len);
	if (found < 0)
		return PASS_NOT_CLAMPED;
	at = clamp->tcp_at + sizeof(struct tcphdr) + found + 2;
	if (bpf_skb_load_bytes(skb, at, &before, sizeof(before)) ||
	    bpf_ntohs(before) <= settings.mss)
		return PASS_NOT_CLAMPED;
	if (bpf_skb_store_bytes(skb, at, &after, sizeof(after), 0))
		return PASS_NOT_CLAMPED;
	/* At an odd place its bytes belong to two words: as if they were swapped. */
	if (found & 1) {
		before = __builtin_bswap16(before);
		after = __builtin_bswap16(after);
	}
	bpf_l4_csum_replace(skb, clamp->tcp_at + offsetof(struct tcphdr, check), before, after,
			    sizeof(after));
	return PASS_CLAMPED;
}

#endif
