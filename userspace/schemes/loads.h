/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys that are not all asked for as often, and rings that bound what comes of it. */
#ifndef RINGLB_SCHEMES_LOADS_H
#define RINGLB_SCHEMES_LOADS_H

#include "schemes/schemes.h"

/**
 * struct loads_spec - how often keys are asked for
 * @zipf: the i-th key, from 1, is asked for in proportion to 1 / i^zipf; 0: all alike
 * @n_hot: so many of the first keys...
 * @hot_share: ...have this share of all, evenly, and the others what is left; 0 to 1
 */
struct loads_spec {
	double zipf;
	size_t n_hot;
	double hot_share;
};

/** loads_make() - a load for each of @n keys, 1 in the mean. Return: NULL without memory. */
double *loads_make(const struct loads_spec *spec, size_t n);

/* Steps that loads_bound() makes; the second half of them is measured. */
#define LOADS_STEPS 200

/**
 * struct loads_bounded - a ring with a load cap, once it has come to rest
 * @peak: load over what the weight asks for, of the busiest, in the mean of the steps
 * @spilled: share of the hash space that is lent in the end
 */
struct loads_bounded {
	double peak;
	double spilled;
};

/**
 * loads_bound() - what a load cap makes of a scheme that is a ring
 * @loads: of each key
 *
 * Every step sees the loads as they are, without delay or error.
 *
 * Return: 0; -EOPNOTSUPP for other schemes; -ENOMEM.
 */
int loads_bound(const struct scheme_built *built, const uint64_t *hashes, const double *loads,
		size_t n_keys, double cap, struct loads_bounded *out);

/**
 * loads_replica_sets() - distinct sets of @replicas members that hold a key together
 *
 * Return: 0; -EOPNOTSUPP for schemes that are no ring; -ENOMEM.
 */
int loads_replica_sets(const struct scheme_built *built, size_t replicas, size_t *n_sets);

#endif
