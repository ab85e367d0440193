/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ringlb's own placements, and probing a ring more than once. */
#include <errno.h>
#include <stdlib.h>

#include "schemes/schemes.h"

#define SLOT_BYTES (sizeof(uint64_t) + sizeof(uint16_t))

static int build_placed(struct scheme_built *out, enum ring_placement placement)
{
	int err;

	out->params.ring.placement = placement;
	out->members_of = malloc(out->n_members * sizeof(*out->members_of));
	if (!out->members_of)
		return -ENOMEM;
	err = ring_build(&out->ring, &out->params.ring, out->members, out->n_members);
	if (err)
		return err;
	for (size_t i = 0; i < out->n_members; i++)
		out->members_of[ring_find_member(out->ring, out->members[i].name)] = (uint16_t)i;
	out->bytes = out->ring->len * SLOT_BYTES;
	return 0;
}

static int build_ring(struct scheme_built *out)
{
	return build_placed(out, RING_PLAIN);
}

static int build_capped(struct scheme_built *out)
{
	return build_placed(out, RING_CAPPED);
}

static uint16_t owner_ring(const struct scheme_built *built, uint64_t hash)
{
	return built->members_of[ring_owner(built->ring, hash)];
}

const struct scheme scheme_ring = {
	.name = "ring",
	.weighs = true,
	.about = "vnodes at hashed positions, the next one clockwise",
	.build = build_ring,
	.owner = owner_ring,
};

const struct scheme scheme_capped = {
	.name = "capped",
	.weighs = true,
	.about = "equal cells, first visitor with room",
	.build = build_capped,
	.owner = owner_ring,
};

/*
 * Of several places that a key hashes to, the one with the nearest position counts.
 * Source: Appleton and O'Reilly, "Multi-probe consistent hashing", 2015.
 */
static uint16_t owner_multi_probe(const struct scheme_built *built, uint64_t hash)
{
	const struct ring *ring = built->ring;
	uint64_t top = ring->params.hash->top, nearest = UINT64_MAX, probe = hash;
	uint16_t owner = 0;

	for (uint32_t i = 0; i < built->params.probes; i++) {
		int slot = ring_search(ring, probe);
		uint64_t distance = ring->positions[slot] - probe;

		/* Past the last position: on to the top, and from 0 to the first one. */
		if (ring->positions[slot] < probe)
			distance = top - probe + ring->positions[slot] + 1;
		if (distance < nearest) {
			nearest = distance;
			owner = ring->owners[slot];
		}
		probe = scheme_spread(hash + (i + 1) * 0x9e3779b97f4a7c15ULL);
		if (top != UINT64_MAX)
			probe %= top + 1;
	}
	return built->members_of[owner];
}

const struct scheme scheme_multi_probe = {
	.name = "multi-probe",
	.weighs = true,
	.about = "a ring asked at several places, the nearest position counts",
	.build = build_ring,
	.owner = owner_multi_probe,
};
