/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What veth.bpf.c and veth.c share. */
#ifndef RINGLB_TESTS_VETH_H
#define RINGLB_TESTS_VETH_H

#include <linux/types.h>

#define VETH_FRAME_WORDS 15
#define VETH_FRAME_LEN	 (VETH_FRAME_WORDS * 8)
#define VETH_SOURCE_AT	 (14 + 12) /* of the IPv4 source */
#define VETH_OUTER_LEN	 (14 + 20)

/* A veth's ring holds 256 frames; more would be dropped. */
#define VETH_UNDER_WAY_MAX 176

/**
 * struct veth_bench - two CPUs write it, so what one writes has a line of its own
 * @frame: of the first flow
 * @mask: of flow numbers: a power of two, less 1
 * @sent: frames made, by the one CPU
 * @stalled: frames that were not made because others had not come back for seconds
 * @received: frames that came back, by the other CPU
 */
struct veth_bench {
	__u64 frame[VETH_FRAME_WORDS];
	__u64 mask;
	__u8 outer[VETH_OUTER_LEN];
	__u64 sent __attribute__((aligned(64)));
	__u64 stalled;
	__u64 received __attribute__((aligned(64)));
};

#endif
