/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>

#include "ring/ring.h"

int ring_search(const struct ring *ring, uint64_t hash)
{
	size_t low = 0;
	size_t high = ring->len;

	if (ring->len == 0)
		return -ENOENT;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ring->positions[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low == ring->len ? 0 : (int)low;
}

uint16_t ring_owner(const struct ring *ring, uint64_t hash)
{
	int slot = ring_search(ring, hash);

	return slot < 0 ? RING_NONE : ring->owners[slot];
}
