/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Internet checksums, updated for the fields that changed instead of recomputed.
 * Pure: compiled by BPF, userspace and tests. Words are taken as they lie in the
 * packet; one's complement sums do not depend on byte order (RFC 1071, section 2).
 *
 * Source: RFC 1624, equation 3: HC' = ~(~HC + ~m + m'). A checksum that was wrong
 * stays wrong, so a corrupted packet is never made to look good.
 */
#ifndef RINGLB_BPF_CSUM_H
#define RINGLB_BPF_CSUM_H

#include <linux/types.h>

/* Add to @change that a 32-bit word @from became @to. Start with a @change of 0. */
static inline __attribute__((always_inline)) __u64 csum_replace32(__u64 change, __u32 from,
								  __u32 to)
{
	return change + (__u32)~from + to;
}

/* The same for a 16-bit word at an even offset. */
static inline __attribute__((always_inline)) __u64 csum_replace16(__u64 change, __u16 from,
								  __u16 to)
{
	return change + (__u16)~from + to;
}

/* The checksum @check after all the replacements summed up in @change. */
static inline __attribute__((always_inline)) __u16 csum_apply(__u16 check, __u64 change)
{
	__u64 sum = change + (__u16)~check;

	/* A few dozen 32-bit addends stay below 2^38: each fold shortens the carry. */
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)~sum;
}

#endif
