/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of frames for `ringlb capture`, as they come in and as they leave: what an XDP
 * program sends, no packet socket sees. While nobody captures it costs the read of a word.
 */
#ifndef RINGLB_BPF_CAPTURE_H
#define RINGLB_BPF_CAPTURE_H

#include <stdbool.h>

#include <linux/if_ether.h>

#include "bpf/maps.h"

static __always_inline struct capture *capture_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&capture, &zero);
}

/* Copy the frame of packet @id, which has got @verdict. */
static __always_inline void capture_copy(struct xdp_md *ctx, __u32 id, int verdict)
{
	struct captured *copy = bpf_ringbuf_reserve(&captures, sizeof(*copy), 0);
	__u64 len = bpf_xdp_get_buff_len(ctx);
	struct capture *state;

	if (!copy) {
		state = capture_state();
		if (state)
			__sync_fetch_and_add(&state->lost, 1);
		return;
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
}

/* The number of this packet among those to be captured; 0: it is not one. */
static __always_inline __u32 capture_pick(struct capture *state)
{
	__u64 until_ns = *(volatile __u64 *)&state->until_ns;
	__u32 count;

	if (until_ns < bpf_ktime_get_ns()) {
		/* Who captured is gone. Another one may have just begun. */
		__sync_val_compare_and_swap(&state->until_ns, until_ns, 0);
		return 0;
	}
	count = __sync_fetch_and_add(&state->next, 1);
	if (state->every && count % state->every)
		return 0;
	return count + 1;
}

/*
 * Pick this packet as it comes in, @verdict being CONTINUE, and copy what is picked then and
 * when it has its verdict. Returns 0.
 */
__attribute__((noinline)) int capture_frame(struct xdp_md *ctx, int verdict)
{
	struct capture *state = capture_state();
	__u32 zero = 0, *id = bpf_map_lookup_elem(&capture_ids, &zero);

	if (!state || !id)
		return 0;
	if (verdict == CONTINUE)
		*id = capture_pick(state);
	if (*id)
		capture_copy(ctx, *id, verdict);
	if (verdict != CONTINUE)
		*id = 0;
	return 0;
}

/*
 * To be called before anything is done with the packet; true while somebody captures. Up to
 * capture_end() the program holds nothing for it: the verifier would go every way twice.
 */
static __always_inline bool capture_begin(struct xdp_md *ctx)
{
	const struct capture *state = capture_state();

	if (!state || !*(const volatile __u64 *)&state->until_ns)
		return false;
	capture_frame(ctx, CONTINUE);
	return true;
}

/* What came in goes out, too, whether somebody captures still, again or not any more. */
static __always_inline void capture_end(struct xdp_md *ctx, enum verdict verdict)
{
	__u32 zero = 0, *id = bpf_map_lookup_elem(&capture_ids, &zero);

	if (id && *id)
		capture_frame(ctx, verdict);
}

#endif
