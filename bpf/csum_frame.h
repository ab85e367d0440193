/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sum of a stretch of the frame, for checksums that cover bytes which no checksum in
 * the packet has covered before.
 *
 * bpf_csum_diff() takes a number of bytes that the verifier knows, in fours, and 512 at
 * most. So the stretch is taken in blocks, from its end: 512 bytes as often as they fit,
 * and what is left in front by its binary digits. That way the verifier sees one unknown
 * offset instead of as many known ones as there are lengths, each of which it would follow.
 */
#ifndef RINGLB_BPF_CSUM_FRAME_H
#define RINGLB_BPF_CSUM_FRAME_H

#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/csum.h"

/* Longer than any packet that a frame of one piece holds, and far below 64 KiB. */
#define CSUM_LEN_MAX 16383

/* Add the @len bytes at @at in the stretch; true if they are there. */
#define CSUM_BLOCK(start, at, len, end, sum)                                                       \
	({                                                                                         \
		void *pos_ = (start) + (at);                                                       \
		bool there_ = pos_ + (len) <= (end);                                               \
                                                                                                   \
		if (there_)                                                                        \
			(sum) = bpf_csum_diff(0, 0, pos_, (len), (sum));                           \
		there_;                                                                            \
	})

/* The block that is one binary digit of the length in front, behind those of lower digits. */
#define CSUM_DIGIT(start, front, digit, end, sum)                                                  \
	(!((front) & (digit)) || CSUM_BLOCK(start, (front) & ((digit) - 1), digit, end, sum))

static __always_inline __u32 csum_fold32(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	return (sum & 0xffffffff) + (sum >> 32);
}

/* The last one to three bytes; an odd one counts as if a zero followed it. */
static __always_inline bool csum_odd(void *start, __u32 len, void *end, __u64 *sum)
{
	if (len & 1) {
		__u8 *last = start + (len & (CSUM_LEN_MAX - 1));

		if ((void *)(last + 1) > end)
			return false;
		*sum += *last;
	}
	if (len & 2) {
		__u16 *last = start + (len & (CSUM_LEN_MAX - 3));

		if ((void *)(last + 1) > end)
			return false;
		*sum += *last;
	}
	return true;
}

/*
 * Add the one's complement sum of @len bytes from @start to *@sum. csum_apply() of 0xffff
 * and that is the checksum. False if the stretch is longer than CSUM_LEN_MAX, or than the
 * frame, whose end is @end.
 */
static __always_inline bool csum_frame(void *start, __u32 len, void *end, __u64 *sum)
{
	__u32 front = len & (CSUM_LEN_MAX - 3), sum32;

	if (len > CSUM_LEN_MAX || !csum_odd(start, len, end, sum))
		return false;
	sum32 = csum_fold32(*sum);
	for (int i = 0; i <= CSUM_LEN_MAX / CSUM_BLOCK_MAX && front >= CSUM_BLOCK_MAX; i++) {
		front -= CSUM_BLOCK_MAX;
		if (!CSUM_BLOCK(start, front & CSUM_LEN_MAX, CSUM_BLOCK_MAX, end, sum32))
			return false;
	}
	if (!CSUM_DIGIT(start, front, 256, end, sum32) ||
	    !CSUM_DIGIT(start, front, 128, end, sum32) ||
	    !CSUM_DIGIT(start, front, 64, end, sum32) ||
	    !CSUM_DIGIT(start, front, 32, end, sum32) ||
	    !CSUM_DIGIT(start, front, 16, end, sum32) || !CSUM_DIGIT(start, front, 8, end, sum32) ||
	    !CSUM_DIGIT(start, front, 4, end, sum32))
		return false;
	*sum = sum32;
	return true;
}

#endif
