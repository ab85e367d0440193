/* SPDX-License-Identifier: GPL-2.0-only */
/* Every map of the backend's programs, their settings, and the counting of verdicts. */
#ifndef RINGLB_BPF_BACKEND_MAPS_H
#define RINGLB_BPF_BACKEND_MAPS_H

#include <stdbool.h>

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/backend_abi.h"

const volatile struct backend_settings settings = {.gue_port = BACKEND_GUE_PORT};

/* What this host serves. Keys only: the value means nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, BACKEND_VIPS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct backend_prefix);
	__type(value, __u32);
} backend_vips SEC(".maps");

/* Addresses of this host that packets may be tunnelled to. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BACKEND_LOCALS_MAX);
	__type(key, struct backend_address);
	__type(value, __u32);
} backend_locals SEC(".maps");

/* Where they may come from, if settings.from. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, BACKEND_FROM_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct backend_prefix);
	__type(value, __u32);
} backend_from SEC(".maps");

/* The port of the latest PASS_OTHER_PORT, host byte order; 0: there was none. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} backend_port SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BACKEND_VERDICT_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} backend_counts SEC(".maps");

/* Is @address in one of the prefixes of @trie? */
static __always_inline bool prefixes_cover(void *trie, const struct backend_address *address)
{
	struct backend_prefix whole = {
		.len_bits = BACKEND_FAMILY_BITS + 128,
		.address = *address,
	};

	return bpf_map_lookup_elem(trie, &whole);
}

/* Per CPU, and a program runs on one CPU to its end: no atomics. */
static __always_inline void verdict_count(enum backend_verdict verdict)
{
	__u32 index = verdict;
	__u64 *count = bpf_map_lookup_elem(&backend_counts, &index);

	if (count)
		(*count)++;
}

#endif
