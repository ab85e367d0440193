/* SPDX-License-Identifier: GPL-2.0-only */
/* What is remembered of flows in moving arcs. Part of abi.h. */
#ifndef RINGLB_BPF_FLOWS_ABI_H
#define RINGLB_BPF_FLOWS_ABI_H

#include <linux/types.h>

/*
 * Value of the flow tables, keyed by struct flow. An entry counts until `expires_s`
 * (monotonic) and only while its backend is the same incarnation and alive.
 */
struct flow_entry {
	__u32 backend;
	__u32 incarnation;
	__u32 expires_s;
	__u16 pool;
	__u8 closing; /* a FIN or RST was seen */
	__u8 hash;    /* enum vip_hash of its VIP: in which arc the flow is */
};
_Static_assert(sizeof(struct flow_entry) == 16, "flow entry");

/* The one value of map `flow_times`: for how long a flow is remembered without a packet. */
struct flow_times {
	__u32 tcp_idle_s;
	__u32 other_idle_s;
	__u32 closing_s;
	__u32 embryo_s;
};
_Static_assert(sizeof(struct flow_times) == 16, "flow times");

/* Index of the per-CPU map `flow_counts`: what happened in moving arcs. */
#define FLOW_COUNTS(X)                                                                             \
	X(ASKED, "packets in moving arcs: the only ones that touch a flow table")                  \
	X(HIT, "followed what was remembered")                                                     \
	X(NEW, "opened a flow: to the owner, remembered as embryonic")                             \
	X(PROMOTED, "embryonic flow became established")                                           \
	X(OLD, "old flow: to the previous owner, remembered as old")                               \
	X(UNKNOWN, "not remembered and nothing to learn: to the owner")                            \
	X(STALE, "remembered, but expired or its backend gone: picked afresh")                     \
	X(NOT_KEPT, "the flow table refused the entry")

#define FLOW_COUNT_ENUM(name, text) FLOW_##name,
enum flow_count { FLOW_COUNTS(FLOW_COUNT_ENUM) FLOW_COUNT };
#undef FLOW_COUNT_ENUM

#endif
