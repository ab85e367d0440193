/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Both ends of a veth for the bench: one makes frames and takes them off when they come
 * back, the other one has a floor, or the program under measurement, which sends them back.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "tests/bench/copy.h"
#include "tests/bench/veth.h"

/* Looks at what has come back: some seconds, in which the other CPU may have had other work. */
#define LOOKS (1 << 23)
#define WAITS 128

struct veth_bench veth;

static __s64 under_way(void)
{
	return (__s64)veth.sent - *(volatile __s64 *)&veth.received;
}

static long look(__u32 index __attribute__((unused)), void *unused __attribute__((unused)))
{
	return under_way() < VETH_UNDER_WAY_MAX;
}

static long wait_once(__u32 index __attribute__((unused)), void *unused __attribute__((unused)))
{
	bpf_loop(LOOKS, look, NULL, 0);
	return under_way() < VETH_UNDER_WAY_MAX;
}

SEC("xdp")
int veth_generate(struct xdp_md *ctx)
{
	void *start = (void *)(long)ctx->data;
	__u64 flow;

	if (under_way() >= VETH_UNDER_WAY_MAX && !veth.stalled)
		bpf_loop(WAITS, wait_once, NULL, 0);
	if (start + VETH_FRAME_LEN > (void *)(long)ctx->data_end ||
	    under_way() >= VETH_UNDER_WAY_MAX) {
		veth.stalled++;
		return XDP_DROP;
	}
	flow = veth.sent++ & veth.mask;
	copy_words(start, veth.frame, VETH_FRAME_LEN);
	*(__u32 *)(start + VETH_SOURCE_AT) += __builtin_bswap32((__u32)flow);
	return XDP_TX;
}

/* All frames are of IPv4. What the kernel says by itself on an interface is not. */
SEC("xdp")
int veth_receive(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;

	if ((void *)(eth + 1) <= (void *)(long)ctx->data_end && eth->h_proto == bpf_htons(ETH_P_IP))
		veth.received++;
	return XDP_DROP;
}

SEC("xdp")
int veth_swap(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ethhdr old;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	old = *eth;
	__builtin_memcpy(eth->h_source, old.h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, old.h_source, ETH_ALEN);
	return XDP_TX;
}

SEC("xdp")
int veth_outer(struct xdp_md *ctx)
{
	void *start;

	if (bpf_xdp_adjust_head(ctx, ETH_HLEN - VETH_OUTER_LEN))
		return XDP_ABORTED;
	start = (void *)(long)ctx->data;
	if (start + VETH_OUTER_LEN > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	copy_words(start, veth.outer, VETH_OUTER_LEN);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
