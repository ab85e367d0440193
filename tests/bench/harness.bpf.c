/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The data path under measurement, and floors to hold it against. BPF_PROG_TEST_RUN
 * repeats a program without restoring the packet, so each run here first puts the packet
 * back as it was, what the last one put in front of it included, and gives it the next
 * flow: floors and data path alike, so that this cancels out. Everything is run on one CPU.
 */
#include "bpf/ringlb.bpf.c"

#include "tests/bench/copy.h"
#include "tests/bench/harness.h"

#define FRAME_ROUND 128 /* the next power of two */
#define TABLE_SMALL 65537
#define TABLE_LARGE (1 << 24)

struct bench bench;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TABLE_SMALL);
	__type(key, __u32);
	__type(value, __u32);
} small_table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TABLE_LARGE);
	__type(key, __u32);
	__type(value, __u32);
} large_table SEC(".maps");

/* Make the frame the next flow's. Returns 0, or 1 if it cannot. */
__attribute__((noinline)) int bench_next(struct xdp_md *ctx)
{
	int grown = (int)(ctx->data_end - ctx->data) - (int)BENCH_FRAME_LEN;
	__u64 flow = bench.next++ & bench.mask, source_at = bench.source_at;
	__u64 port_at = bench.port_at;
	void *start, *end, *source, *port;

	if (grown && bpf_xdp_adjust_head(ctx, grown))
		return 1;
	start = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	source = start + (source_at & (FRAME_ROUND - 1));
	port = start + (port_at & (FRAME_ROUND - 1));
	if (start + BENCH_FRAME_LEN > end || source + sizeof(__u32) > end ||
	    port + sizeof(__u16) > end)
		return 1;
	copy_words(start, bench.frame, BENCH_FRAME_LEN);
	*(__u32 *)source += flow >> BENCH_PORT_BITS << 8;
	*(__be16 *)port = bpf_htons(BENCH_PORT_FIRST + (flow & ((1 << BENCH_PORT_BITS) - 1)));
	return 0;
}

/* What ringlb() does. */
SEC("xdp.frags")
int bench_path(struct xdp_md *ctx)
{
	return bench_next(ctx) ? XDP_ABORTED : handle_frame(ctx);
}

SEC("xdp")
int bench_pass(struct xdp_md *ctx)
{
	return bench_next(ctx) ? XDP_ABORTED : XDP_PASS;
}

/*
 * The short way as far as some step, so that the differences between scenes say what each
 * takes. What was found must seem to be used, or clang leaves it out.
 */
#define BENCH_KEEP(pointer) asm volatile("" : : "r"(pointer) : "memory")
enum bench_step { STEP_READ, STEP_VIP, STEP_CHOOSE };

static __always_inline int bench_step(struct xdp_md *ctx, enum bench_step last)
{
	struct express memory = {}, *e = &memory;
	const struct encap *values;
	__u32 zero = 0;

	barrier_var(e);
	if (bench_next(ctx) || !express_read(ctx, e))
		return XDP_ABORTED;
	if (last >= STEP_VIP && vip_find_front(&e->flow, &e->vip) != FRONT_FOUND)
		return XDP_ABORTED;
	values = bpf_map_lookup_elem(&encap, &zero);
	if (last >= STEP_CHOOSE && values)
		BENCH_KEEP(express_choose(e, values));
	BENCH_KEEP(e);
	return XDP_PASS;
}

SEC("xdp")
int bench_read(struct xdp_md *ctx)
{
	return bench_step(ctx, STEP_READ);
}

SEC("xdp")
int bench_vip(struct xdp_md *ctx)
{
	return bench_step(ctx, STEP_VIP);
}

SEC("xdp")
int bench_choose(struct xdp_md *ctx)
{
	return bench_step(ctx, STEP_CHOOSE);
}

SEC("xdp")
int bench_swap(struct xdp_md *ctx)
{
	struct ethhdr *eth;
	struct ethhdr old;

	if (bench_next(ctx))
		return XDP_ABORTED;
	eth = (void *)(long)ctx->data;
	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	old = *eth;
	__builtin_memcpy(eth->h_source, old.h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, old.h_source, ETH_ALEN);
	return XDP_TX;
}

/* A constant outer header of @len bytes. */
static __always_inline int bench_outer(struct xdp_md *ctx, __u32 len)
{
	void *start;

	if (bench_next(ctx) || bpf_xdp_adjust_head(ctx, -(int)len))
		return XDP_ABORTED;
	start = (void *)(long)ctx->data;
	if (start + ETH_HLEN + len > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	copy_words(start, bench.outer, ETH_HLEN + len);
	return XDP_TX;
}

SEC("xdp")
int bench_outer_20(struct xdp_md *ctx)
{
	return bench_outer(ctx, sizeof(struct iphdr));
}

SEC("xdp")
int bench_outer_28(struct xdp_md *ctx)
{
	return bench_outer(ctx, sizeof(struct iphdr) + sizeof(struct udphdr));
}

SEC("xdp")
int bench_outer_40(struct xdp_md *ctx)
{
	return bench_outer(ctx, sizeof(struct ipv6hdr));
}

SEC("xdp")
int bench_outer_48(struct xdp_md *ctx)
{
	return bench_outer(ctx, sizeof(struct ipv6hdr) + sizeof(struct udphdr));
}

/* What is found for a random key. Functions of their own, or the verifier does not get through. */
static __always_inline int bench_find_in_place(__u64 key)
{
	return key >> 48;
}

__attribute__((noinline)) int bench_find_nothing(__u64 key)
{
	return key >> 48;
}

__attribute__((noinline)) int bench_find_small(__u64 key)
{
	__u32 at = (key >> 32) * TABLE_SMALL >> 32;
	const __u32 *value = bpf_map_lookup_elem(&small_table, &at);

	return value ? *value : -1;
}

__attribute__((noinline)) int bench_find_large(__u64 key)
{
	__u32 at = key >> 40;
	const __u32 *value = bpf_map_lookup_elem(&large_table, &at);

	return value ? *value : -1;
}

__attribute__((noinline)) int bench_find_owner(__u64 key)
{
	struct ring_view ring = {};
	struct ring_move move = {};
	__u32 backend = 0;

	if (ring_open(bench.pool, &ring) != CONTINUE ||
	    ring_find_owner(&ring, key, &backend, &move) != CONTINUE)
		return -1;
	return backend;
}

/* Source: Marsaglia, "Xorshift RNGs", 2003. */
static __always_inline __u64 bench_next_key(__u64 key)
{
	key ^= key << 13;
	key ^= key >> 7;
	return key ^ key << 17;
}

static __always_inline int bench_find(int (*find)(__u64 key))
{
	__u64 key = bench.key, sum = 0, missed = 0;

	for (int i = 0; i < BENCH_KEYS; i++) {
		int found;

		key = bench_next_key(key);
		found = find(key);
		sum += found;
		missed += found < 0;
	}
	bench.key = key;
	bench.sum += sum;
	bench.missed += missed;
	return XDP_PASS;
}

SEC("xdp")
int bench_no_call(void *ctx __attribute__((unused)))
{
	return bench_find(bench_find_in_place);
}

SEC("xdp")
int bench_keys(void *ctx __attribute__((unused)))
{
	return bench_find(bench_find_nothing);
}

SEC("xdp")
int bench_small(void *ctx __attribute__((unused)))
{
	return bench_find(bench_find_small);
}

SEC("xdp")
int bench_large(void *ctx __attribute__((unused)))
{
	return bench_find(bench_find_large);
}

SEC("xdp")
int bench_search(void *ctx __attribute__((unused)))
{
	return bench_find(bench_find_owner);
}
