/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is used elsewhere: modulo, jump, rendezvous, Maglev. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "schemes/schemes.h"

static int build_nothing(struct scheme_built *out)
{
	(void)out;
	return 0;
}

static uint16_t owner_modulo(const struct scheme_built *built, uint64_t hash)
{
	return (uint16_t)(hash % built->n_members);
}

const struct scheme scheme_modulo = {
	.name = "modulo",
	.about = "hash modulo the number of servers",
	.build = build_nothing,
	.owner = owner_modulo,
};

/*
 * Source: Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014.
 * A key jumps ahead to the next number of buckets at which it would move, until that is
 * past the end.
 */
static int64_t jump(uint64_t key, int64_t buckets)
{
	int64_t bucket = -1, next = 0;

	while (next < buckets) {
		bucket = next;
		key = key * 2862933555777941757ULL + 1;
		next = (int64_t)((double)(bucket + 1) *
				 ((double)(1LL << 31) / (double)((key >> 33) + 1)));
	}
	return bucket;
}

static uint16_t owner_jump(const struct scheme_built *built, uint64_t hash)
{
	return (uint16_t)jump(hash, (int64_t)built->n_members);
}

const struct scheme scheme_jump = {
	.name = "jump",
	.about = "jump consistent hash: numbered buckets, only the last can leave",
	.build = build_nothing,
	.owner = owner_jump,
};

static int build_rendezvous(struct scheme_built *out)
{
	out->keys = malloc(out->n_members * sizeof(*out->keys));
	if (!out->keys)
		return -ENOMEM;
	for (size_t i = 0; i < out->n_members; i++)
		out->keys[i] = scheme_hash(out, i, 0);
	out->bytes = out->n_members * sizeof(*out->keys);
	return 0;
}

/*
 * Every member scores every key: -weight / ln(u) with u uniform in (0, 1). Source: Thaler
 * and Ravishankar, 1998; for the weights Schindelhauer and Schomaker, "Weighted
 * distributed hash tables", SPAA 2005.
 */
static uint16_t owner_rendezvous(const struct scheme_built *built, uint64_t hash)
{
	double best = -1;
	uint16_t owner = 0;

	for (size_t i = 0; i < built->n_members; i++) {
		uint64_t bits = scheme_spread(hash ^ built->keys[i]) >> 11;
		double u = ((double)bits + 0.5) / (double)(1ULL << 53);
		double score = -(double)built->members[i].weight_milli / log(u);

		if (score > best) {
			best = score;
			owner = (uint16_t)i;
		}
	}
	return owner;
}

const struct scheme scheme_rendezvous = {
	.name = "rendezvous",
	.weighs = true,
	.about = "highest random weight: every server scores every key",
	.build = build_rendezvous,
	.owner = owner_rendezvous,
};

#define EMPTY UINT32_MAX

/* The next free entry in the order of one member: offset, offset + skip, ... */
static uint32_t take_entry(const uint32_t *table, size_t len, uint64_t *next, uint64_t skip)
{
	while (table[*next] != EMPTY)
		*next = (*next + skip) % len;
	return (uint32_t)*next;
}

/*
 * Source: Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer",
 * NSDI 2016, section 3.4. Members take turns, as many as their weight has earned so far.
 */
static int fill_maglev(struct scheme_built *out, uint64_t *next, uint64_t *skip, uint64_t *earned)
{
	uint32_t heaviest = 0;
	size_t filled = 0;

	if (out->table_len < 2)
		return -EINVAL;
	for (size_t i = 0; i < out->n_members; i++) {
		next[i] = scheme_hash(out, i, 0) % out->table_len;
		skip[i] = scheme_hash(out, i, 1) % (out->table_len - 1) + 1;
		if (out->members[i].weight_milli > heaviest)
			heaviest = out->members[i].weight_milli;
	}
	while (filled < out->table_len) {
		for (size_t i = 0; i < out->n_members && filled < out->table_len; i++) {
			earned[i] += out->members[i].weight_milli;
			if (earned[i] < heaviest)
				continue;
			earned[i] -= heaviest;
			out->table[take_entry(out->table, out->table_len, &next[i], skip[i])] =
				(uint32_t)i;
			filled++;
		}
	}
	return 0;
}

static int build_maglev(struct scheme_built *out)
{
	uint64_t *scratch = calloc(out->n_members, 3 * sizeof(*scratch));
	int err = -ENOMEM;

	out->table_len = out->params.table_len;
	out->table = malloc(out->table_len * sizeof(*out->table));
	if (scratch && out->table) {
		for (size_t i = 0; i < out->table_len; i++)
			out->table[i] = EMPTY;
		out->bytes = out->table_len * sizeof(*out->table);
		err = fill_maglev(out, scratch, scratch + out->n_members,
				  scratch + 2 * out->n_members);
	}
	free(scratch);
	return err;
}

static uint16_t owner_maglev(const struct scheme_built *built, uint64_t hash)
{
	return (uint16_t)built->table[hash % built->table_len];
}

const struct scheme scheme_maglev = {
	.name = "maglev",
	.weighs = true,
	.about = "a table that servers fill in turns, each in its own order",
	.build = build_maglev,
	.owner = owner_maglev,
};
