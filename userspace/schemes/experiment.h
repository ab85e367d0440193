/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One experiment: the same keys given to a set of servers and then to another one, by one
 * scheme. Pure: the caller measures time.
 */
#ifndef RINGLB_SCHEMES_EXPERIMENT_H
#define RINGLB_SCHEMES_EXPERIMENT_H

#include "schemes/schemes.h"

/**
 * struct experiment_load - how the keys are spread over the servers of one set
 * @keys: keys of each member of @built
 * @loads: what these are asked for, all together
 * @cv, @peak: of loads / (what its weight asks for)
 */
struct experiment_load {
	size_t *keys;
	double *loads;
	double cv;
	double peak;
};

/**
 * experiment_place() - the owner of each key
 * @loads: of each key
 * @owners: receives @n_keys of them, indexes of built->members
 * @load: experiment_load_release() it, also after an error
 *
 * Return: 0 or -ENOMEM.
 */
int experiment_place(const struct scheme_built *built, const uint64_t *hashes, const double *loads,
		     size_t n_keys, uint16_t *owners, struct experiment_load *load);

void experiment_load_release(struct experiment_load *load);

/**
 * struct experiment_moves - what became of the keys
 * @moved: keys with another owner
 * @astray: of those, keys that moved between two servers that are in both sets and whose
 *	weights did not change; a scheme that moves no more than it must has none
 */
struct experiment_moves {
	size_t moved;
	size_t astray;
};

/** experiment_compare() - Return: 0 or -ENOMEM. */
int experiment_compare(const struct scheme_built *before, const uint16_t *owners_before,
		       const struct scheme_built *after, const uint16_t *owners_after,
		       size_t n_keys, struct experiment_moves *moves);

/** experiment_least() - fraction of keys that the weights alone make move, 0 to 1 */
double experiment_least(const struct scheme_built *before, const struct scheme_built *after);

#endif
