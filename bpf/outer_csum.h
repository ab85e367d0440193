/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The UDP checksum of an outer header, over bytes which no checksum in the packet has
 * covered before. To trust the inner checksum would be quicker, but it need not be there,
 * nor right, nor for all of the packet.
 */
#ifndef RINGLB_BPF_OUTER_CSUM_H
#define RINGLB_BPF_OUTER_CSUM_H

#include "bpf/csum_frame.h"
#include "bpf/forward_encap.h"
#include "bpf/maps.h"

/* Zero stands for no checksum, which IPv6 has no room for: RFC 8200, section 8.1. */
static __always_inline bool outer_has_checksum(struct way way, const struct backend *backend)
{
	return way.forward == FORWARD_GUE &&
	       (way.family == ENDPOINT_IPV6 || backend->flags & BACKEND_UDP_CHECKSUM);
}

/*
 * Fill in the checksum of the outer UDP header in front of the packet at @span.
 * A function of its own for the verifier, which then goes through it once.
 *
 * Return: CONTINUE; DROP_NO_ROOM if not all of the packet is there.
 */
__attribute__((noinline)) int outer_checksum(struct xdp_md *ctx, const struct span *span)
{
	struct ipv6hdr *ipv6;
	struct iphdr *ipv4;
	struct udphdr *udp;
	void *start, *end;
	__u16 check;
	__u32 len;
	__u64 sum;
	int all;

	if (!span)
		return VERDICT_COUNT; /* never, but the verifier asks */
	start = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	ipv4 = start + (span->l3_offset & OFFSET_LIMIT);
	ipv6 = (void *)ipv4;
	if (span->way.family == ENDPOINT_IPV6) {
		udp = (void *)(ipv6 + 1);
		if ((void *)(udp + 1) > end)
			return DROP_NO_ROOM;
		sum = outer_sum_ipv6(ipv6);
	} else {
		udp = (void *)(ipv4 + 1);
		if ((void *)(udp + 1) > end)
			return DROP_NO_ROOM;
		sum = outer_sum_ipv4(ipv4);
	}
	len = span->ip_len + sizeof(*udp);
	/* The rest of the pseudo-header. */
	sum += bpf_htons(IPPROTO_UDP) + bpf_htons(len);
	all = csum_frame(ctx, (void *)udp - start, len, csum_fold32(sum));
	if (all < 0)
		return DROP_NO_ROOM;
	check = ~all;
	udp->check = check ? check : 0xffff;
	return CONTINUE;
}

#endif
