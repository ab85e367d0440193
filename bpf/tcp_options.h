/* SPDX-License-Identifier: GPL-2.0-only */
/* TCP options: where the MSS is, for who lowers it. No packet is changed. */
#ifndef RINGLB_BPF_TCP_OPTIONS_H
#define RINGLB_BPF_TCP_OPTIONS_H

#include <linux/types.h>

#define TCP_OPTIONS_MAX 40 /* TCP data offset is at most 15 words, 5 of them fixed */
#define TCP_OPTIONS_LEN 48 /* one byte more is looked at; whole words */
#define TCP_MSS_LEN	4

/* Source: RFC 9293, section 3.2. */
#define TCP_OPTION_END 0
#define TCP_OPTION_NOP 1
#define TCP_OPTION_MSS 2

/*
 * Where the MSS option is, from the start of the options, or -1. Looks at each byte in its
 * turn and skips those inside of options: jumping from one to the next would be shorter, but
 * the verifier of Linux 6.1 follows each combination of jumps on its own and gives up.
 */
static inline __attribute__((always_inline)) int tcp_options_find_mss(
	const __u8 options[TCP_OPTIONS_LEN], __u32 len)
{
	__u32 next = 0;

	for (__u32 at = 0; at < TCP_OPTIONS_MAX && at < len; at++) {
		__u8 kind = options[at], size = options[at + 1];

		if (at != next)
			continue;
		if (kind == TCP_OPTION_END)
			return -1;
		if (kind == TCP_OPTION_NOP) {
			next = at + 1;
			continue;
		}
		if (at + 1 >= len || size < 2 || at + size > len)
			return -1;
		if (kind == TCP_OPTION_MSS)
			return size == TCP_MSS_LEN ? (int)at : -1;
		next = at + size;
	}
	return -1;
}

#endif
