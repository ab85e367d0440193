/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sum of a stretch of the frame, for checksums that cover bytes which no checksum in
 * the packet has covered before.
 *
 * bpf_csum_diff() takes fours of bytes, and 512 at most. They are copied out of the frame
 * first, also where they could be summed in place: that way the stretch may have any length,
 * lie in several buffers, and is one path to the verifier instead of one for each length.
 */
#ifndef RINGLB_BPF_CSUM_FRAME_H
#define RINGLB_BPF_CSUM_FRAME_H

#include "bpf/csum.h"
#include "bpf/maps.h"

/* All that an IP packet can have, and the UDP header. */
#define CSUM_BLOCKS_MAX (65536 / CSUM_BLOCK_MAX)

static __always_inline __u32 csum_fold32(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	return (sum & 0xffffffff) + (sum >> 32);
}

/* The last @len bytes, less than a block. What is left of their last word counts as zero. */
static __always_inline bool csum_rest(struct xdp_md *ctx, __u32 at, __u32 len,
				      struct csum_block *block, __u32 *sum)
{
	if (!len)
		return true;
	/* Which changes nothing, but says to Linux 6.1's verifier that it is 1 to 512. */
	barrier_var(len);
	len = ((len - 1) & (CSUM_BLOCK_MAX - 1)) + 1;
	if (bpf_xdp_load_bytes(ctx, at, block->bytes, len))
		return false;
	__builtin_memset(block->bytes + len, 0, sizeof(__u32));
	*sum = bpf_csum_diff(0, 0, (__be32 *)block->bytes, (len + 3) & ~3U, *sum);
	return true;
}

/*
 * Add to @sum the one's complement sum of the @len bytes from @at on in the frame; an odd
 * last one counts as if a zero followed it.
 *
 * Return: the sum in 16 bits, whose complement is the checksum; -1 if they are not there.
 */
__attribute__((noinline)) int csum_frame(struct xdp_md *ctx, __u32 at, __u32 len, __u32 sum)
{
	__u32 key = 0;
	struct csum_block *block = bpf_map_lookup_elem(&csum_blocks, &key);

	if (!block)
		return -1;
	for (int i = 0; i < CSUM_BLOCKS_MAX && len >= CSUM_BLOCK_MAX; i++) {
		if (bpf_xdp_load_bytes(ctx, at, block->bytes, CSUM_BLOCK_MAX))
			return -1;
		sum = bpf_csum_diff(0, 0, (__be32 *)block->bytes, CSUM_BLOCK_MAX, sum);
		at += CSUM_BLOCK_MAX;
		len -= CSUM_BLOCK_MAX;
	}
	if (len >= CSUM_BLOCK_MAX || !csum_rest(ctx, at, len, block, &sum))
		return -1;
	return (__u16)~csum_apply(0xffff, sum);
}

#endif
