/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of frames for `ringlb capture`, as they come in and as they leave: what an XDP
 * program sends, no packet socket sees. While nobody captures it costs the read of a word.
 */
#ifndef RINGLB_BPF_CAPTURE_H
#define RINGLB_BPF_CAPTURE_H

#include <linux/if_ether.h>

#include "bpf/maps.h"

static __always_inline struct capture *capture_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&capture, &zero);
}

/* Copy the frame of packet @id, which has got @verdict. Returns 0. */
__attribute__((noinline)) int capture_frame(struct xdp_md *ctx, __u32 id, int verdict)
{
	struct captured *copy = bpf_ringbuf_reserve(&captures, sizeof(*copy), 0);
	__u64 len = bpf_xdp_get_buff_len(ctx);
	struct capture *state;

	if (!copy) {
		state = capture_state();
		if (state)
			__sync_fetch_and_add(&state->lost, 1);
		return 0;
	}
	copy->time_ns = bpf_ktime_get_ns();
	copy->id = id;
	copy->verdict = verdict;
	copy->ifindex = ctx->ingress_ifindex;
	copy->frame_len = len;
	if (len > CAPTURE_FRAME_MAX)
		len = CAPTURE_FRAME_MAX;
	copy->len = len;
	if (len < sizeof(struct ethhdr) || bpf_xdp_load_bytes(ctx, 0, copy->frame, len))
		bpf_ringbuf_discard(copy, 0);
	else
		bpf_ringbuf_submit(copy, 0);
	return 0;
}

/* Pick this packet, or not, while somebody captures. Returns its id, or 0. */
__attribute__((noinline)) int capture_pick(struct xdp_md *ctx)
{
	struct capture *state = capture_state();
	__u64 until_ns;
	__u32 count;

	if (!state)
		return 0;
	until_ns = *(volatile __u64 *)&state->until_ns;
	if (until_ns < bpf_ktime_get_ns()) {
		/* Who captured is gone. Another one may have just begun. */
		__sync_val_compare_and_swap(&state->until_ns, until_ns, 0);
		return 0;
	}
	count = __sync_fetch_and_add(&state->next, 1);
	if (state->every && count % state->every)
		return 0;
	count++;
	capture_frame(ctx, count, CONTINUE);
	return count;
}

/* To be called before anything is done with the packet. Returns its id, or 0. */
static __always_inline __u32 capture_begin(struct xdp_md *ctx)
{
	const struct capture *state = capture_state();

	if (!state || !*(const volatile __u64 *)&state->until_ns)
		return 0;
	return capture_pick(ctx);
}

#endif
