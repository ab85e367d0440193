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

static bool is_listed(const uint16_t *owners, size_t n_owners, uint16_t owner)
{
	for (size_t i = 0; i < n_owners; i++) {
		if (owners[i] == owner)
			return true;
	}
	return false;
}

int ring_preference(const struct ring *ring, uint64_t hash, uint16_t *owners, size_t max)
{
	size_t n_owners = 0;
	size_t slot;

	if (max == 0)
		return -EINVAL;
	if (ring->len == 0)
		return -ENOENT;
	slot = ring_search(ring, hash);
	for (size_t visited = 0; visited < ring->len && n_owners < max; visited++) {
		if (!is_listed(owners, n_owners, ring->owners[slot]))
			owners[n_owners++] = ring->owners[slot];
		slot = slot + 1 == ring->len ? 0 : slot + 1;
	}
	return n_owners;
}
