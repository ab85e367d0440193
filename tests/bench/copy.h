/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copying in BPF programs of the bench. */
#ifndef RINGLB_TESTS_COPY_H
#define RINGLB_TESTS_COPY_H

#include <linux/types.h>

/* Copy @len bytes by words, of which the last two may overlap. Neither is aligned. */
static inline __attribute__((always_inline)) void copy_words(void *to, const void *from, __u32 len)
{
	for (__u32 at = 0; at + sizeof(__u64) <= len; at += sizeof(__u64))
		*(__u64 *)(to + at) = *(const __u64 *)(from + at);
	*(__u64 *)(to + len - sizeof(__u64)) = *(const __u64 *)(from + len - sizeof(__u64));
}

#endif
