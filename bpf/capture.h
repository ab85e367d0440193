/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of packets for `ringlb capture` and `ringlb trace`: what an XDP program sends, no packet
 * socket sees. Each is kept in `capture_notes` from when it comes in, with what it meets on its
 * way, until it leaves: then all is known that the filter asks for. While nobody captures it
 * costs the read of a word, and on the long way two more.
 */
#ifndef RINGLB_BPF_CAPTURE_H
#define RINGLB_BPF_CAPTURE_H

#include <stdbool.h>

#include <linux/if_ether.h>

#include "bpf/capture_filter.h"
#include "bpf/maps.h"
#include "bpf/ring_search.h"

static __always_inline struct capture *capture_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&capture, &zero);
}

static __always_inline struct capture_note *capture_note(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&capture_notes, &zero);
}

/* What is kept of the packet that is in the program; NULL: it is not captured. */
static __always_inline struct captured *capture_copy(void)
{
	struct capture_note *note = capture_note();

	return note && note->on ? &note->copy : NULL;
}

/* How often this CPU has counted number @index. The kernel puts look-ups of one map in place. */
static __always_inline __u64 capture_count(void *map, __u32 index)
{
	const __u64 *count = bpf_map_lookup_elem(map, &index);

	return count ? *count : 0;
}

/* Bits of the counters that are not as they were @before, which then are. */
static __always_inline __u32 capture_counts(void *map, __u64 *before, __u32 len)
{
	__u32 bits = 0;

#pragma unroll
	for (__u32 i = 0; i < len; i++) {
		__u64 count = capture_count(map, i);

		bits |= (count != before[i]) << i;
		before[i] = count;
	}
	return bits;
}

/* Is somebody there still? Another one may have just begun. */
static __always_inline bool capture_goes_on(struct capture *state)
{
	__u64 until_ns = *(volatile __u64 *)&state->until_ns;

	if (until_ns >= bpf_ktime_get_ns())
		return true;
	__sync_val_compare_and_swap(&state->until_ns, until_ns, 0);
	return false;
}

/* Copy the frame as it is behind the @at bytes that `frames` has. */
static __always_inline void capture_frame(struct xdp_md *ctx, struct captured *copy, __u64 at,
					  struct captured_frame *frame)
{
	__u64 len = bpf_xdp_get_buff_len(ctx);

	frame->frame_len = len;
	if (len > CAPTURE_FRAME_MAX)
		len = CAPTURE_FRAME_MAX;
	frame->len = 0;
	/* Clang would test what is equal, but not to the verifier; nor is "not 0" enough for it. */
	barrier_var(len);
	if (len >= sizeof(struct ethhdr) && at <= CAPTURE_FRAME_MAX &&
	    !bpf_xdp_load_bytes(ctx, 0, copy->frames + at, len))
		frame->len = len;
}

/* A packet comes in. Returns 0, as the next ones. */
__attribute__((noinline)) int capture_in(struct xdp_md *ctx)
{
	struct capture_note *note = capture_note();
	struct capture *state = capture_state();

	if (!state || !note || !capture_goes_on(state))
		return 0;
	__builtin_memset(&note->copy, 0, CAPTURED_HEAD);
	note->copy.came_ns = bpf_ktime_get_ns();
	note->copy.ingress = ctx->ingress_ifindex;
	note->copy.backend = BACKEND_NONE;
	capture_counts(&flow_counts, note->flow_counts, FLOW_COUNT);
	capture_counts(&quic_counts, note->quic_counts, QUIC_COUNT);
	capture_frame(ctx, &note->copy, 0, &note->copy.in);
	note->on = 1;
	return 0;
}

/* Where it is to go was decided, or that it goes nowhere: @flow is what was read until then. */
__attribute__((noinline)) int capture_decision(const struct flow *flow, const struct reply *reply,
					       __u32 backend)
{
	struct captured *copy = capture_copy();

	if (!copy || !flow)
		return 0;
	copy->flow = *flow;
	copy->backend = backend;
	if (flow->family)
		copy->stages |= CAPTURE_FLOW;
	if (reply) {
		copy->reply = *reply;
		copy->stages |= CAPTURE_REPLY;
	}
	return 0;
}

/* The ring has given it to @owner; what moves there, the flow tables decide after this. */
static __always_inline void capture_choice(const struct vip *vip, __u64 hash, __u32 owner,
					   const struct ring_move *move)
{
	struct captured *copy = capture_copy();

	if (!copy)
		return;
	copy->pool = vip->pool;
	copy->what = vip->hash;
	copy->hash = hash;
	copy->owner = owner;
	copy->move = *move;
	copy->stages |= CAPTURE_HASHED;
}

/* In which arc that was, unless the ring is another one by now. */
static __always_inline void capture_arc(struct captured *copy)
{
	__u64 position = 0;

	if (copy->stages & CAPTURE_HASHED &&
	    ring_find_position(copy->pool, copy->hash, &position) == copy->owner)
		copy->position = position;
}

/* How it is sent to its backend, and by which interface. */
static __always_inline void capture_way(struct captured *copy)
{
	const struct backend *backend = bpf_map_lookup_elem(&backends, &copy->backend);

	if (!backend || copy->stages & CAPTURE_REPLY)
		return;
	copy->forward = backend->forward;
	copy->egress = backend->nexthops[*(const volatile __u32 *)&backend->active & 1].ifindex;
}

/* Hand the copy to who captures. */
static __always_inline void capture_hand_over(struct capture *state, struct captured *copy)
{
	__u64 len = copy->in.len + (__u64)copy->out.len;

	barrier_var(len);
	if (len > sizeof(copy->frames) ||
	    bpf_ringbuf_output(&captures, copy, CAPTURED_HEAD + len, 0))
		__sync_fetch_and_add(&state->lost, 1);
}

/* It leaves, with @verdict. */
__attribute__((noinline)) int capture_out(struct xdp_md *ctx, int verdict)
{
	struct capture_note *note = capture_note();
	struct capture *state = capture_state();
	struct captured *copy;
	__u32 count;

	if (!state || !note)
		return 0;
	note->on = 0;
	copy = &note->copy;
	copy->verdict = verdict;
	if (!capture_lets_through(&state->filter, copy))
		return 0;
	count = __sync_fetch_and_add(&state->next, 1);
	if (state->every && count % state->every)
		return 0;
	copy->id = count + 1;
	copy->left_ns = bpf_ktime_get_ns();
	capture_arc(copy);
	capture_way(copy);
	copy->flow_counts = capture_counts(&flow_counts, note->flow_counts, FLOW_COUNT);
	copy->quic_counts = capture_counts(&quic_counts, note->quic_counts, QUIC_COUNT);
	capture_frame(ctx, copy, copy->in.len, &copy->out);
	capture_hand_over(state, copy);
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
	capture_in(ctx);
	return true;
}

/* What came in goes out, too, whether somebody captures still, again or not any more. */
static __always_inline void capture_end(struct xdp_md *ctx, enum verdict verdict)
{
	if (capture_copy())
		capture_out(ctx, verdict);
}

#endif
