/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ways to give keys to servers, side by side: ringlb's own two and those that it is
 * compared with. Each is built for a set of members and then asked for the owner of a
 * key's hash. For `ringlb simulate` and its tests only: no packet ever meets these.
 *
 * Pure: no I/O, no clock, no state. May include userspace/ring only.
 */
#ifndef RINGLB_SCHEMES_SCHEMES_H
#define RINGLB_SCHEMES_SCHEMES_H

#include "ring/ring.h"

#define SCHEMES_TABLE_DEFAULT  65537
#define SCHEMES_PROBES_DEFAULT 21

/**
 * struct scheme_params - what the schemes depend on besides their members
 * @ring: of ring, capped and multi-probe; its hash and seed are those of all
 * @table_len: of Maglev: a prime
 * @probes: of multi-probe
 */
struct scheme_params {
	struct ring_params ring;
	uint32_t table_len;
	uint32_t probes;
};

struct scheme;

/**
 * struct scheme_built - a scheme, built for some members
 * @bytes: memory that a look-up needs
 * @members: those with a weight, in the order given: modulo and jump go by it. owner()
 *	answers with indexes in it
 *
 * The fields behind are each scheme's own.
 */
struct scheme_built {
	const struct scheme *scheme;
	struct scheme_params params;
	struct ring_member *members;
	size_t n_members;
	size_t bytes;
	struct ring *ring;
	uint32_t *table;
	size_t table_len;
	uint64_t *keys;	      /* one of each member */
	uint16_t *members_of; /* ring->members -> members */
};

/**
 * struct scheme - one way
 * @name: as written on the command line
 * @weighs: it honours weights; if not, all members count alike
 * @about: one line
 * @build: @out has its members and params. Return: 0 or -errno
 * @owner: index of the member that has a key of this hash; n_members > 0
 */
struct scheme {
	const char *name;
	bool weighs;
	const char *about;
	int (*build)(struct scheme_built *out);
	uint16_t (*owner)(const struct scheme_built *built, uint64_t hash);
};

extern const struct scheme scheme_modulo, scheme_ring, scheme_capped, scheme_jump,
	scheme_rendezvous, scheme_maglev, scheme_multi_probe;

/* All of them, in the order in which they are shown; ends with NULL. */
extern const struct scheme *const schemes[];

/** scheme_find() - the scheme called @name, or NULL */
const struct scheme *scheme_find(const char *name);

/**
 * scheme_build() - build a scheme
 * @out: scheme_release() it
 * @members: copied; those of weight 0 are left out
 *
 * Return: 0; -EDOM if nobody has a weight; as ring_build().
 */
int scheme_build(struct scheme_built *out, const struct scheme *scheme,
		 const struct scheme_params *params, const struct ring_member *members,
		 size_t n_members);

void scheme_release(struct scheme_built *built);

/* A hash of a member's name with a number, spread over 64 bits. Internal. */
uint64_t scheme_hash(const struct scheme_built *built, size_t member, uint32_t number);

/* Spread what a hash of any width gives over 64 bits. Internal. */
uint64_t scheme_spread(uint64_t hash);

#endif
