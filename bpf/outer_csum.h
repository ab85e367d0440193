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

/* All that an IP packet can have, and the UDP header. */
#define CSUM_BLOCKS_MAX (65536 / CSUM_BLOCK_MAX + 1)

/* Zero stands for no checksum, which IPv6 has no room for: RFC 8200, section 8.1. */
static __always_inline bool outer_has_checksum(const struct backend *backend)
{
	return backend->forward == FORWARD_GUE &&
	       (backend->family == ENDPOINT_IPV6 || backend->flags & BACKEND_UDP_CHECKSUM);
}

/*
 * csum_frame() of @len bytes from @at on in the frame that lie in several buffers, of which
 * only the first is in sight: they are copied out. A function of its own for the verifier,
 * as the next one.
 *
 * Return: the sum of these and of @sum, in 16 bits; -1 if they are not there.
 */
__attribute__((noinline)) int csum_buffers(struct xdp_md *ctx, __u32 at, __u32 len, __u32 sum)
{
	__u32 key = 0;
	struct csum_block *block = bpf_map_lookup_elem(&csum_blocks, &key);

	if (!block)
		return -1;
	for (int i = 0; i < CSUM_BLOCKS_MAX && len; i++) {
		__u32 some = len < CSUM_BLOCK_MAX ? len : CSUM_BLOCK_MAX;

		/* Which changes nothing, but says to Linux 6.1's verifier that it is 1 to 512. */
		barrier_var(some);
		some = ((some - 1) & (CSUM_BLOCK_MAX - 1)) + 1;
		if (bpf_xdp_load_bytes(ctx, at, block->bytes, some))
			return -1;
		/* What is left of the last word counts as zero. */
		__builtin_memset(block->bytes + some, 0, sizeof(__u32));
		sum = bpf_csum_diff(0, 0, (__be32 *)block->bytes, (some + 3) & ~3U, sum);
		at += some;
		len -= some;
	}
	return len ? -1 : (__u16)~csum_apply(0xffff, sum);
}

/*
 * Fill in the checksum of the outer UDP header in front of the packet at @span, for @backend.
 * A function of its own for the verifier, which then goes through it once.
 *
 * Return: CONTINUE; DROP_NO_ROOM if not all of the packet is there.
 */
__attribute__((noinline)) int outer_checksum(struct xdp_md *ctx, const struct span *span,
					     const struct backend *backend)
{
	struct ipv6hdr *ipv6;
	struct iphdr *ipv4;
	struct udphdr *udp;
	void *start, *end;
	__u16 check;
	__u32 len;
	__u64 sum;

	if (!span || !backend)
		return VERDICT_COUNT; /* never, but the verifier asks */
	start = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	ipv4 = start + (span->l3_offset & OFFSET_LIMIT);
	ipv6 = (void *)ipv4;
	if (backend->family == ENDPOINT_IPV6) {
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
	if (!csum_frame(udp, len, end, &sum)) {
		int slow = csum_buffers(ctx, (void *)udp - start, len, csum_fold32(sum));

		if (slow < 0)
			return DROP_NO_ROOM;
		sum = slow;
	}
	check = csum_apply(0xffff, sum);
	udp->check = check ? check : 0xffff;
	return CONTINUE;
}

#endif
