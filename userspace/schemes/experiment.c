/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "schemes/experiment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY SIZE_MAX

static double weight_of(const struct scheme_built *built, size_t member)
{
	return built->scheme->weighs ? built->members[member].weight_milli : 1;
}

static double weight_sum(const struct scheme_built *built)
{
	double sum = 0;

	for (size_t i = 0; i < built->n_members; i++)
		sum += weight_of(built, i);
	return sum;
}

static void measure(const struct scheme_built *built, struct experiment_load *load)
{
	double total = 0, sum = weight_sum(built), squares = 0, n = (double)built->n_members;

	load->peak = 0;
	for (size_t i = 0; i < built->n_members; i++)
		total += load->loads[i];
	for (size_t i = 0; i < built->n_members; i++) {
		double expected = total * weight_of(built, i) / sum;
		double relative = expected > 0 ? load->loads[i] / expected : 0;

		load->peak = relative > load->peak ? relative : load->peak;
		squares += (relative - 1) * (relative - 1);
	}
	load->cv = sqrt(squares / n);
}

int experiment_place(const struct scheme_built *built, const uint64_t *hashes, const double *loads,
		     size_t n_keys, uint16_t *owners, struct experiment_load *load)
{
	load->keys = calloc(built->n_members, sizeof(*load->keys));
	load->loads = calloc(built->n_members, sizeof(*load->loads));
	if (!load->keys || !load->loads)
		return -ENOMEM;
	for (size_t i = 0; i < n_keys; i++) {
		owners[i] = built->scheme->owner(built, hashes[i]);
		load->keys[owners[i]]++;
		load->loads[owners[i]] += loads[i];
	}
	measure(built, load);
	return 0;
}

void experiment_load_release(struct experiment_load *load)
{
	free(load->keys);
	free(load->loads);
	*load = (struct experiment_load){0};
}

static int compare_names(const void *a, const void *b)
{
	const struct ring_member *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Where each member of @from stands in @to, or NOBODY. NULL without memory. */
static size_t *map_members(const struct scheme_built *from, const struct scheme_built *to)
{
	size_t *map = malloc((from->n_members + 1) * sizeof(*map));
	const struct ring_member **sorted = malloc((to->n_members + 1) * sizeof(*sorted));

	for (size_t i = 0; sorted && i < to->n_members; i++)
		sorted[i] = &to->members[i];
	if (sorted)
		qsort(sorted, to->n_members, sizeof(*sorted), compare_names);
	for (size_t i = 0; map && sorted && i < from->n_members; i++) {
		const struct ring_member *member = &from->members[i];
		const struct ring_member **found =
			bsearch(&member, sorted, to->n_members, sizeof(*sorted), compare_names);

		map[i] = found ? (size_t)(*found - to->members) : NOBODY;
	}
	if (!sorted) {
		free(map);
		map = NULL;
	}
	free(sorted);
	return map;
}

static bool is_unchanged(const struct scheme_built *before, size_t member,
			 const struct scheme_built *after, size_t other)
{
	return other != NOBODY &&
	       before->members[member].weight_milli == after->members[other].weight_milli;
}

int experiment_compare(const struct scheme_built *before, const uint16_t *owners_before,
		       const struct scheme_built *after, const uint16_t *owners_after,
		       size_t n_keys, struct experiment_moves *moves)
{
	size_t *map = map_members(before, after), *back = map_members(after, before);
	int err = map && back ? 0 : -ENOMEM;

	*moves = (struct experiment_moves){0};
	for (size_t i = 0; !err && i < n_keys; i++) {
		size_t old = owners_before[i], new = owners_after[i];

		if (map[old] == new)
			continue;
		moves->moved++;
		moves->astray += is_unchanged(before, old, after, map[old]) &&
				 is_unchanged(after, new, before, back[new]);
	}
	free(map);
	free(back);
	return err;
}

double experiment_least(const struct scheme_built *before, const struct scheme_built *after)
{
	double before_sum = weight_sum(before), after_sum = weight_sum(after), least = 0;
	size_t *back = map_members(after, before);

	for (size_t i = 0; back && i < after->n_members; i++) {
		double had = back[i] == NOBODY ? 0 : weight_of(before, back[i]) / before_sum;
		double gain = weight_of(after, i) / after_sum - had;

		least += gain > 0 ? gain : 0;
	}
	free(back);
	return least;
}
