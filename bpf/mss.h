/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The MSS option of SYNs to a VIP, and of SYN-ACKs that come back from nat backends: never
 * above what the VIP's pool says, so that segments fit through what is behind. It is lowered
 * where it is, and neither raised nor added.
 */
#ifndef RINGLB_BPF_MSS_H
#define RINGLB_BPF_MSS_H

#include "bpf/csum.h"
#include "bpf/parse.h"
#include "bpf/tcp_options.h"
#include "bpf/vip.h"

#define MSS_TCP_WORDS  5 /* without options */
#define MSS_WORDS_MASK 0xf
#define MSS_OFFSET_AT  12
#define MSS_CHECK_AT   16

static __always_inline bool mss_is_asked(const struct packet *packet)
{
	return !packet->no_ports && packet->tcp_flags & TCP_SYN && !packet->fragment.authenticated;
}

/* From the start of the frame to the TCP header. Only if mss_is_asked(). */
static __always_inline __u32 mss_tcp_at(const struct packet *packet)
{
	return (void *)packet->ports - (void *)packet->eth;
}

/*
 * Lower the MSS option of the TCP header at @tcp_at of the frame to @mss. A function of its
 * own for the stack, and for the verifier, which goes through it once.
 *
 * Return: 0, whatever there was to do.
 */
__attribute__((noinline)) int mss_lower(struct xdp_md *ctx, __u32 tcp_at, __u32 mss)
{
	__u8 options[4 * (MSS_WORDS_MASK + 1)] = {}, offset;
	__u32 at = tcp_at + MSS_TCP_WORDS * 4, words, len;
	__be16 before, after = bpf_htons(mss);
	__u16 check;
	int found;

	if (bpf_xdp_load_bytes(ctx, tcp_at + MSS_OFFSET_AT, &offset, sizeof(offset)) ||
	    bpf_xdp_load_bytes(ctx, tcp_at + MSS_CHECK_AT, &check, sizeof(check)))
		return 0;
	words = (offset >> 4) - MSS_TCP_WORDS;
	if (words < 1 || words > TCP_OPTIONS_MAX / 4)
		return 0;
	len = words * 4;
	/*
	 * Linux 6.1 loses what these tests say where the compiler puts a copy aside before them.
	 * Its verifier gets a number of bytes that is above 0 and has an end by itself.
	 */
	barrier_var(words);
	if (bpf_xdp_load_bytes(ctx, at, options, ((words - 1) & MSS_WORDS_MASK) * 4 + 4))
		return 0;
	found = tcp_options_find_mss(options, len);
	if (found < 0)
		return 0;
	at += found + 2;
	if (bpf_xdp_load_bytes(ctx, at, &before, sizeof(before)) || bpf_ntohs(before) <= mss ||
	    bpf_xdp_store_bytes(ctx, at, &after, sizeof(after)))
		return 0;
	/* At an odd place its bytes belong to two words: as if they were swapped. */
	if (found & 1) {
		before = __builtin_bswap16(before);
		after = __builtin_bswap16(after);
	}
	check = csum_apply(check, csum_replace16(0, before, after));
	bpf_xdp_store_bytes(ctx, tcp_at + MSS_CHECK_AT, &check, sizeof(check));
	return 0;
}

/* What the VIP says, as which the packet of @flow is going to leave by @reply; 0: any. */
__attribute__((noinline)) int mss_of_reply(const struct reply *reply, const struct flow *flow)
{
	struct endpoint at;
	struct vip vip;

	if (!reply || !flow)
		return 0; /* never, but the verifier asks */
	endpoint_of(&at, reply->address, reply->port ? reply->port : flow->source_port, flow);
	return vip_find_at(&at, &vip) ? vip.mss : 0;
}

/* A packet to @vip. */
static __always_inline void mss_clamp(struct xdp_md *ctx, const struct packet *packet,
				      const struct vip *vip)
{
	if (vip->mss && mss_is_asked(packet))
		mss_lower(ctx, mss_tcp_at(packet), vip->mss);
}

/* A packet from a nat backend, before it leaves by @reply. */
static __always_inline void mss_clamp_reply(struct xdp_md *ctx, const struct packet *packet,
					    const struct reply *reply)
{
	__u32 mss;

	if (!mss_is_asked(packet))
		return;
	mss = mss_of_reply(reply, &packet->flow);
	if (mss)
		mss_lower(ctx, mss_tcp_at(packet), mss);
}

#endif
