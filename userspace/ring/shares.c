/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "ring/ring.h"

ring_length ring_circle(const struct ring *ring)
{
	return (ring_length)ring->params.hash->top + 1;
}

double ring_share(const struct ring *ring, ring_length length)
{
	return (double)length / (double)ring_circle(ring);
}

void ring_shares(const struct ring *ring, ring_length *lengths)
{
	uint64_t previous = 0;

	for (size_t i = 0; i < ring->n_members; i++)
		lengths[i] = 0;
	if (ring->len == 0)
		return;
	/* Of equal positions the first has the arc and the others have 0 hashes. */
	for (size_t slot = 0; slot < ring->len; slot++) {
		lengths[ring->owners[slot]] += ring->positions[slot] - previous;
		previous = ring->positions[slot];
	}
	/* Hash 0 and what lies past the last position: the first one's, by wrapping. */
	lengths[ring->owners[0]] += ring_circle(ring) - previous;
}
