/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which members hold a key together when it has several replicas. Pure, as all of
 * userspace/ring.
 */
#ifndef RINGLB_RING_REPLICAS_H
#define RINGLB_RING_REPLICAS_H

#include "ring/ring.h"

#define RING_REPLICAS_MAX 8

/**
 * ring_preference_spread() - ring_preference() over distinct racks as far as possible
 * @racks: racks[i] is the rack of member i; NULL: every member is its own rack
 *
 * Walks clockwise from @hash taking members of racks not listed yet; once every rack
 * is listed, goes round again for the members that were passed over.
 *
 * Return: as ring_preference().
 */
int ring_preference_spread(const struct ring *ring, const uint16_t *racks, uint64_t hash,
			   uint16_t *owners, size_t max);

/**
 * ring_replica_sets() - count the distinct sets of members that hold a key together
 * @replicas: members a key has, 1 to RING_REPLICAS_MAX
 * @n_sets: receives the number of distinct sets, over all arcs
 * @possible: receives how many sets of @replicas there are, as a double: it may be huge
 *
 * n_sets / possible is the chance that as many failures at once, at random, take all
 * replicas of some key.
 *
 * Return: 0; -EINVAL for @replicas out of range; -ENOMEM.
 */
int ring_replica_sets(const struct ring *ring, const uint16_t *racks, size_t replicas,
		      size_t *n_sets, double *possible);

#endif
