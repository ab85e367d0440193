/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Explicit congestion notification at the end of a tunnel. Pure: compiled by BPF and tests.
 *
 * Source: RFC 6040, section 4.2, figure 4.
 */
#ifndef RINGLB_BPF_ECN_H
#define RINGLB_BPF_ECN_H

#include <stdbool.h>
#include <linux/types.h>

/* The low two bits of the traffic class. Source: RFC 3168, section 5. */
#define ECN_MASK    3
#define ECN_NOT_ECT 0
#define ECN_ECT_1   1
#define ECN_ECT_0   2
#define ECN_CE	    3

/**
 * ecn_decap() - what the inner header has to say from now on
 * @outer, @inner: of the two headers, ECN_*
 * @result: receives ECN_*, if the packet goes on
 *
 * Return: false if it must be dropped: a router on the way marked it instead of dropping
 * it, and its receiver would not understand the mark.
 */
static inline __attribute__((always_inline)) bool ecn_decap(__u8 outer, __u8 inner, __u8 *result)
{
	*result = inner;
	if (inner == ECN_NOT_ECT)
		return outer != ECN_CE;
	if (outer == ECN_CE)
		*result = ECN_CE;
	else if (outer == ECN_ECT_1 && inner == ECN_ECT_0)
		*result = ECN_ECT_1;
	return true;
}

#endif
