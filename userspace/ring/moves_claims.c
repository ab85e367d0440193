/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/moves.h"

static void later(int64_t *latest_ms, int64_t until_ms)
{
	if (until_ms > *latest_ms)
		*latest_ms = until_ms;
}

static void add_move(struct moves_claim *claim, const struct move *move)
{
	claim->arcs++;
	claim->learning += moves_learning(move);
	claim->length += (ring_length)(move->last - move->first) + 1;
	later(&claim->tcp_until_ms, move->tcp_until_ms);
	later(&claim->other_until_ms, move->other_until_ms);
}

int moves_claims(const struct moves *moves, const uint32_t *ids, size_t n,
		 struct moves_claim *claims)
{
	/* index[id] is the place of an id in @ids, or RING_NONE. */
	uint16_t *index = malloc((RING_NONE + 1) * sizeof(*index));

	if (!index)
		return -ENOMEM;
	memset(index, 0xff, (RING_NONE + 1) * sizeof(*index));
	for (size_t i = 0; i < n; i++) {
		index[ids[i]] = (uint16_t)i;
		claims[i] = (struct moves_claim){};
	}
	for (size_t i = 0; i < moves->len; i++) {
		uint16_t at = index[moves->list[i].previous];

		if (at != RING_NONE)
			add_move(&claims[at], &moves->list[i]);
	}
	free(index);
	return 0;
}
