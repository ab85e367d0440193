/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What harness.bpf.c and bench.c share. */
#ifndef RINGLB_TESTS_HARNESS_H
#define RINGLB_TESTS_HARNESS_H

#include <linux/types.h>

#define BENCH_FRAME_WORDS 15
#define BENCH_FRAME_LEN	  (BENCH_FRAME_WORDS * 8)
#define BENCH_PORT_BITS                                                                            \
	4 /* so many bits of a flow's number are in its port, the rest in its address */
#define BENCH_PORT_FIRST 1024
#define BENCH_OUTER_MAX	 (14 + 40 + 8)
#define BENCH_KEYS	 64 /* that one run of a search program looks up */

/**
 * struct bench - what userspace sets before it runs a program
 * @frame: of the first flow
 * @next: number of the next flow
 * @mask: of flow numbers: a power of two, less 1
 * @source_at, @port_at: where the frame has what differs between flows
 * @key: where the random keys go on
 * @sum: of what was found, so that the search is not left out
 * @missed: keys for which nothing was found
 */
struct bench {
	__u64 frame[BENCH_FRAME_WORDS];
	__u64 next;
	__u64 mask;
	__u64 source_at;
	__u64 port_at;
	__u64 key;
	__u64 sum;
	__u64 missed;
	__u32 pool;
	__u8 outer[BENCH_OUTER_MAX];
};

#endif
