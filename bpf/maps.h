/* SPDX-License-Identifier: GPL-2.0-only */
/* Every map of the data plane. abi.h says what keys and values mean. */
#ifndef RINGLB_BPF_MAPS_H
#define RINGLB_BPF_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/front.h"

/* One element: the layout version that everything else here was made with. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} layout SEC(".maps");

/* VIPs of one address and one port. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VIPS_MAX);
	__type(key, struct endpoint);
	__type(value, struct vip);
} vips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FRONT_SLOTS);
	__type(key, __u32);
	__type(value, struct front_slot);
} vip_front SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct front);
} front SEC(".maps");

/* All VIPs but those of one address and one port. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, VIP_PREFIXES_MAX);
	__type(key, struct vip_prefix);
	__type(value, struct vip_ranges);
} vip_prefixes SEC(".maps");

/* Where packets from nat backends come back: backend endpoint -> VIP endpoint. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REPLIES_MAX);
	__type(key, struct endpoint);
	__type(value, struct reply);
} replies SEC(".maps");

/* Which of the next maps has the ring of a pool that counts: a number of RING_CLASSES. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, POOLS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} ring_classes SEC(".maps");

/*
 * Published rings by pool, in as many sizes as there are classes. With BPF_F_INNER_MAP one
 * map would take rings of any size, but a look-up in them would be a call, three times as
 * slow. mmap() lets userspace fill one without a system call an element.
 */
#define RING_CLASS_MAPS(number, bytes)                                                             \
	struct ring_map_##number {                                                                 \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1);                                                            \
		__uint(key_size, sizeof(__u32));                                                   \
		__uint(value_size, bytes);                                                         \
	};                                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                                          \
		__uint(max_entries, POOLS_MAX);                                                    \
		__type(key, __u32);                                                                \
		__array(values, struct ring_map_##number);                                         \
	} rings_##number SEC(".maps");
RING_CLASSES(RING_CLASS_MAPS)
#undef RING_CLASS_MAPS

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BACKENDS_MAX);
	__type(key, __u32);
	__type(value, struct backend);
} backends SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct encap);
} encap SEC(".maps");

/* When each CPU may again answer TOO_BIG_BURST packets at once: monotonic nanoseconds. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} too_big_times SEC(".maps");

/* Scratch, for sums of bytes: for each CPU, which has one packet at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct csum_block);
} csum_blocks SEC(".maps");

/* Interfaces that packets may leave by when they did not come in there. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, EGRESS_MAX);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
} egress SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, VERDICTS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} verdicts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, VIPS_MAX);
	__type(key, __u32);
	__type(value, struct counter);
} vip_counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BACKENDS_MAX);
	__type(key, __u32);
	__type(value, struct counter);
} backend_count SEC(".maps");

/*
 * Flows in moving arcs. What a flood can fill is apart from what must stay: SYNs go
 * to `embryos`, and what claims to be an old flow to `old_flows`. Userspace sets the
 * sizes before loading.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS_MAX_DEFAULT);
	__type(key, struct flow);
	__type(value, struct flow_entry);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS_MAX_DEFAULT);
	__type(key, struct flow);
	__type(value, struct flow_entry);
} old_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, EMBRYOS_MAX_DEFAULT);
	__type(key, struct flow);
	__type(value, struct flow_entry);
} embryos SEC(".maps");

/* UDP and SCTP: no packet says that it opens a flow. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS_MAX_DEFAULT);
	__type(key, struct flow);
	__type(value, struct flow_entry);
} other_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_times);
} flow_times SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FLOW_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} flow_counts SEC(".maps");

/* Without ids there is no memory to hold. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, QUIC_IDS_MAX);
	__type(key, struct quic_id);
	__type(value, struct quic_backend);
} quic_ids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, QUIC_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} quic_counts SEC(".maps");

/* For what has no ports: fragments and ICMP. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ADDRESSES_MAX);
	__type(key, struct address);
	__type(value, __u32);
} addresses SEC(".maps");

/* A table of their own, so no flood of them hurts a flow. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FRAGMENTS_MAX);
	__type(key, struct fragment_key);
	__type(value, struct fragment_entry);
} fragments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, HELD_RING_BYTES);
} held_fragments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture);
} capture SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_note);
} capture_notes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CAPTURE_RING_BYTES);
} captures SEC(".maps");

/* For userspace only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BACKENDS_MAX + POOLS_MAX);
	__type(key, struct label_key);
	__type(value, struct label);
} labels SEC(".maps");

#endif
