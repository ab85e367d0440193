/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "schemes/loads.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "ring/replicas.h"
#include "ring/spill.h"

double *loads_make(const struct loads_spec *spec, size_t n)
{
	size_t n_hot = spec->n_hot < n ? spec->n_hot : n;
	double *loads = malloc((n + 1) * sizeof(*loads));
	double sum[2] = {0};

	if (!loads)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		loads[i] = i < n_hot ? 1 : pow((double)(i + 1 - n_hot), -spec->zipf);
		sum[i < n_hot] += loads[i];
	}
	for (size_t i = 0; i < n; i++) {
		bool hot = i < n_hot;
		double share = !n_hot ? 1 : hot ? spec->hot_share : 1 - spec->hot_share;

		loads[i] *= share * (double)n / sum[hot];
	}
	return loads;
}

static bool is_ring(const struct scheme_built *built)
{
	return built->scheme == &scheme_ring || built->scheme == &scheme_capped;
}

int loads_replica_sets(const struct scheme_built *built, size_t replicas, size_t *n_sets)
{
	double possible;

	if (!is_ring(built))
		return -EOPNOTSUPP;
	return ring_replica_sets(built->ring, NULL, replicas, n_sets, &possible);
}

/* A pool in small. */
struct pool {
	const struct ring *ring;
	struct spills spills;
	struct spill_member *members;
	double weights;
};

static int measure(struct pool *pool, const uint64_t *hashes, const double *loads, size_t n_keys,
		   double *peak)
{
	struct ring *laid;
	int err = spills_lay(&laid, pool->ring, &pool->spills);

	if (err)
		return err;
	for (size_t m = 0; m < pool->ring->n_members; m++)
		pool->members[m].load = 0;
	for (size_t i = 0; i < n_keys; i++)
		pool->members[ring_owner(laid, hashes[i])].load += loads[i];
	ring_free(laid);
	*peak = 0;
	for (size_t m = 0; m < pool->ring->n_members; m++)
		*peak = fmax(*peak, pool->members[m].load * pool->weights /
					    pool->ring->members[m].weight_milli);
	return 0;
}

static int run(struct pool *pool, const uint64_t *hashes, const double *loads, size_t n_keys,
	       double cap, struct loads_bounded *out)
{
	struct spill_terms terms = {.cap = cap};
	double sum = 0, total = 0;
	int err = 0;

	for (size_t i = 0; i < n_keys; i++)
		total += loads[i];
	for (terms.step = 1; terms.step <= LOADS_STEPS && err >= 0; terms.step++) {
		struct spills next = {};
		double peak;

		err = measure(pool, hashes, loads, n_keys, &peak);
		if (err)
			break;
		sum += terms.step > LOADS_STEPS / 2 ? peak : 0;
		err = spill_step(&next, pool->ring, &pool->spills, pool->members, &terms);
		if (err > 0) {
			spills_release(&pool->spills);
			pool->spills = next;
		}
	}
	out->peak = total > 0 ? sum / (LOADS_STEPS / 2.0) / total : 0;
	return err < 0 ? err : 0;
}

int loads_bound(const struct scheme_built *built, const uint64_t *hashes, const double *loads,
		size_t n_keys, double cap, struct loads_bounded *out)
{
	struct pool pool = {.ring = built->ring};
	ring_length *lengths, sum = 0;
	size_t n;
	int err;

	if (!is_ring(built))
		return -EOPNOTSUPP;
	n = pool.ring->n_members;
	pool.members = calloc(n + 1, sizeof(*pool.members));
	lengths = calloc(2 * n + 1, sizeof(*lengths));
	for (size_t m = 0; pool.members && m < n; m++) {
		pool.members[m].takes = true;
		pool.weights += pool.ring->members[m].weight_milli;
	}
	err = pool.members && lengths ? run(&pool, hashes, loads, n_keys, cap, out) : -ENOMEM;
	if (!err) {
		spills_sum(&pool.spills, n, lengths, lengths + n);
		for (size_t m = 0; m < n; m++)
			sum += lengths[m];
		out->spilled = ring_share(pool.ring, sum);
	}
	spills_release(&pool.spills);
	free(pool.members);
	free(lengths);
	return err;
}
