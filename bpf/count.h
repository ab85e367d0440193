/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters, and the one place where a verdict becomes an XDP action. */
#ifndef RINGLB_BPF_COUNT_H
#define RINGLB_BPF_COUNT_H

#include "bpf/maps.h"
#include "bpf/parse.h"

/* What is held was copied. */
#define XDP_HOLD XDP_DROP

#define VERDICT_ACTION(action, name, text) XDP_##action,
static const __u8 verdict_actions[] = {VERDICTS(VERDICT_ACTION)};
#undef VERDICT_ACTION

/* The maps are per CPU and a program runs on one CPU to its end: no atomics. */
static __always_inline void count_frame(void *counters, __u32 id, __u32 len)
{
	struct counter *counter = bpf_map_lookup_elem(counters, &id);

	if (!counter)
		return;
	counter->packets++;
	counter->bytes += len;
}

static __always_inline void count_packet(void *counters, __u32 id, const struct packet *packet)
{
	count_frame(counters, id, packet->frame_len);
}

static __always_inline int count_verdict(enum verdict verdict)
{
	__u32 index = verdict;
	__u64 *count = bpf_map_lookup_elem(&verdicts, &index);

	if (!count || index >= VERDICT_COUNT)
		return XDP_ABORTED;
	(*count)++;
	return verdict_actions[index];
}

#endif
