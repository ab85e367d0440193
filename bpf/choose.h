/* SPDX-License-Identifier: GPL-2.0-only */
/* Flow -> backend id: the ring's owner, or in a moving arc what the flow tables say. */
#ifndef RINGLB_BPF_CHOOSE_H
#define RINGLB_BPF_CHOOSE_H

#include "bpf/capture.h"
#include "bpf/flows.h"
#include "bpf/ring_search.h"

/*
 * The backend that the flow's hash gives @packet, which is for @vip, or where that moves,
 * the flow tables.
 *
 * A function of its own for the verifier, which would otherwise go through the search and
 * the flow tables once for every kind of packet that leads here.
 *
 * Return: CONTINUE with *@backend set, or a verdict.
 */
__attribute__((noinline)) int choose_by_hash(const struct traits *packet, const struct vip *vip,
					     __u32 *backend)
{
	struct ring_move move = {};
	enum verdict verdict;
	struct traits copy;
	__u64 hash;
	__u32 id;

	if (!packet || !vip || !backend)
		return VERDICT_COUNT; /* never, but the verifier asks */
	verdict = ring_find_backend(vip, &packet->flow, &id, &move, &hash);
	if (verdict != CONTINUE)
		return verdict;
	capture_choice(vip, hash, id, &move);
	if (move.flags) {
		/* Linux 6.1 takes no key of a map from the caller's memory. */
		copy = *packet;
		id = copy.quote_at ? flows_look(&copy, vip, id, &move)
				   : flows_choose(&copy, vip, id, &move);
	}
	*backend = id;
	return id == BACKEND_NONE ? DROP_NO_BACKEND : CONTINUE;
}

#endif
