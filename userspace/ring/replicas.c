/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ring/replicas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/build.h"

struct replica_set {
	uint16_t members[RING_REPLICAS_MAX]; /* ascending, RING_NONE behind the last */
};

static bool is_listed(const uint16_t *owners, size_t n, const uint16_t *racks, uint16_t owner)
{
	for (size_t i = 0; i < n; i++)
		if (racks ? racks[owners[i]] == racks[owner] : owners[i] == owner)
			return true;
	return false;
}

/* Append members clockwise from @slot whose rack, or which themselves, are not listed. */
static size_t walk(const struct ring *ring, const uint16_t *racks, size_t slot, uint16_t *owners,
		   size_t n, size_t max)
{
	for (size_t i = 0; i < ring->len && n < max; i++) {
		uint16_t owner = ring->owners[(slot + i) % ring->len];

		if (!is_listed(owners, n, racks, owner))
			owners[n++] = owner;
	}
	return n;
}

int ring_preference_spread(const struct ring *ring, const uint16_t *racks, uint64_t hash,
			   uint16_t *owners, size_t max)
{
	int slot = ring_search(ring, hash);
	size_t n;

	if (!max)
		return -EINVAL;
	if (slot < 0)
		return slot;
	n = walk(ring, racks, (size_t)slot, owners, 0, max);
	if (racks)
		n = walk(ring, NULL, (size_t)slot, owners, n, max);
	return (int)n;
}

int ring_preference(const struct ring *ring, uint64_t hash, uint16_t *owners, size_t max)
{
	return ring_preference_spread(ring, NULL, hash, owners, max);
}

static int compare_members(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

static int compare_sets(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct replica_set));
}

static double sets_possible(size_t n, size_t replicas)
{
	double sets = 1;

	if (replicas > n)
		return 0;
	for (size_t i = 0; i < replicas; i++)
		sets = sets * (double)(n - i) / (double)(i + 1);
	return sets;
}

int ring_replica_sets(const struct ring *ring, const uint16_t *racks, size_t replicas,
		      size_t *n_sets, double *possible)
{
	struct replica_set *sets;
	size_t distinct = 0, able = 0;

	if (!replicas || replicas > RING_REPLICAS_MAX)
		return -EINVAL;
	sets = ring_array_alloc(ring->len, sizeof(*sets));
	if (!sets)
		return -ENOMEM;
	for (size_t slot = 0; slot < ring->len; slot++) {
		size_t n;

		memset(&sets[slot], 0xff, sizeof(sets[slot]));
		n = walk(ring, racks, slot, sets[slot].members, 0, replicas);
		if (racks)
			n = walk(ring, NULL, slot, sets[slot].members, n, replicas);
		qsort(sets[slot].members, n, sizeof(uint16_t), compare_members);
	}
	qsort(sets, ring->len, sizeof(*sets), compare_sets);
	for (size_t i = 0; i < ring->len; i++)
		distinct += !i || compare_sets(&sets[i - 1], &sets[i]);
	free(sets);
	for (size_t i = 0; i < ring->n_members; i++)
		able += ring->members[i].weight_milli > 0;
	*n_sets = distinct;
	*possible = sets_possible(able, replicas);
	return 0;
}
