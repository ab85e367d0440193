/* SPDX-License-Identifier: GPL-2.0-only */
/* The chain of IPv6 extension headers: offsets and facts. No packet is changed. */
#ifndef RINGLB_BPF_EXTENSIONS_H
#define RINGLB_BPF_EXTENSIONS_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

#define EXTENSIONS_MAX 8
/* Offsets into a frame are below this, or the verifier gives up on the sum of pointers. */
#define OFFSET_LIMIT 0x7fff

#define FRAGMENT_MORE		0x0001
#define FRAGMENT_OFFSET_MASK	0xfff8
#define ROUTING_SEGMENTS_AT	3
#define EXTENSION_READ_LEN	8 /* none is shorter */
#define EXTENSION_LEN(units)	(((units) + 1U) * 8)
#define EXTENSION_AH_LEN(words) (((words) + 2U) * 4)

/* Offsets count from the start of the frame. */
struct extensions {
	__u32 at;	      /* in: the first header; out: what follows the last one */
	__u32 end;	      /* in: where the IP packet ends */
	__u32 fragment_at;    /* out: what follows the fragment header; 0 if there is none */
	__be32 fragment_id;   /* out, if there is one */
	__be16 fragment_word; /* the same: offset in bytes, and FRAGMENT_MORE */
	__u8 protocol;	      /* in: what is at `at`; out: what the chain leads to */
	__u8 authenticated;   /* out: 1 if there is an authentication header */
};

/* Source: RFC 8200, section 4.5. */
struct fragment_header {
	__u8 next;
	__u8 reserved;
	__be16 word;
	__be32 id;
};

static __always_inline bool protocol_is_extension(__u8 protocol)
{
	return protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING ||
	       protocol == IPPROTO_FRAGMENT || protocol == IPPROTO_AH ||
	       protocol == IPPROTO_DSTOPTS;
}

static __always_inline void extension_fragment(struct extensions *chain,
					       const struct fragment_header *header)
{
	chain->fragment_at = chain->at + sizeof(*header);
	chain->fragment_id = header->id;
	chain->fragment_word = header->word;
}

/* Read one header, of which EXTENSION_READ_LEN bytes are there. Source: RFC 8200, RFC 4302. */
static __always_inline enum verdict extension_step(struct extensions *chain, const __u8 *header)
{
	__u32 len = EXTENSION_LEN(header[1]);

	if (chain->protocol == IPPROTO_ROUTING && header[ROUTING_SEGMENTS_AT])
		return PASS_SEGMENTS_LEFT;
	if (chain->protocol == IPPROTO_AH) {
		len = EXTENSION_AH_LEN(header[1]);
		chain->authenticated = 1;
	}
	if (chain->protocol == IPPROTO_FRAGMENT) {
		len = sizeof(struct fragment_header);
		extension_fragment(chain, (const struct fragment_header *)header);
	}
	if (chain->at + len > chain->end)
		return PASS_SHORT_PORTS;
	chain->protocol = header[0];
	chain->at += len;
	return CONTINUE;
}

/*
 * True if no header follows that is known and to be read. What follows the header of a
 * fragment that is not the first is anything, and a second such header is nothing known.
 */
static __always_inline bool extension_ends(const struct extensions *chain)
{
	if (!protocol_is_extension(chain->protocol))
		return true;
	return chain->fragment_at && (chain->protocol == IPPROTO_FRAGMENT ||
				      chain->fragment_word & bpf_htons(FRAGMENT_OFFSET_MASK));
}

/*
 * Walk to the transport header, or to the payload of a fragment that is not the first
 * one. Headers that are not known end the walk too: the caller looks at the protocol.
 *
 * A function of its own for the verifier, which then goes through the loop once. Packets
 * without extension headers do not come here.
 *
 * Return: CONTINUE with @chain filled, or a verdict.
 */
__attribute__((noinline)) int extensions_walk(struct xdp_md *ctx, struct extensions *chain)
{
	void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (!chain)
		return VERDICT_COUNT; /* never, but the verifier asks */
	/* Unrolled: Linux 6.1 refuses loops that the compiler has turned round. */
#pragma unroll
	for (int walked = 0; walked < EXTENSIONS_MAX; walked++) {
		__u32 at = chain->at;
		__u8 *header = start + (at & OFFSET_LIMIT);
		int verdict;

		if (extension_ends(chain))
			return CONTINUE;
		if (at + EXTENSION_READ_LEN > chain->end)
			return PASS_SHORT_PORTS;
		if (at > OFFSET_LIMIT || (void *)(header + EXTENSION_READ_LEN) > end)
			return PASS_SPLIT;
		verdict = extension_step(chain, header);
		if (verdict != CONTINUE)
			return verdict;
	}
	return extension_ends(chain) ? CONTINUE : PASS_MANY_HEADERS;
}

#endif
