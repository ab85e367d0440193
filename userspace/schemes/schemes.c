/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "schemes/schemes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct scheme *const schemes[] = {
	&scheme_modulo,	    &scheme_ring,   &scheme_capped,	 &scheme_jump,
	&scheme_rendezvous, &scheme_maglev, &scheme_multi_probe, NULL,
};

const struct scheme *scheme_find(const char *name)
{
	for (size_t i = 0; schemes[i]; i++)
		if (!strcmp(schemes[i]->name, name))
			return schemes[i];
	return NULL;
}

uint64_t scheme_spread(uint64_t hash)
{
	hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
	hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
	return hash ^ (hash >> 33);
}

uint64_t scheme_hash(const struct scheme_built *built, size_t member, uint32_t number)
{
	const struct ring_params *params = &built->params.ring;
	char label[RING_NAME_MAX + 16];
	int len = snprintf(label, sizeof(label), "%s#%u", built->members[member].name, number);

	return scheme_spread(params->hash->hash(label, (size_t)len, params->seed));
}

int scheme_build(struct scheme_built *out, const struct scheme *scheme,
		 const struct scheme_params *params, const struct ring_member *members,
		 size_t n_members)
{
	struct scheme_built built = {.scheme = scheme, .params = *params};
	int err;

	built.members = calloc(n_members + 1, sizeof(*built.members));
	if (!built.members)
		return -ENOMEM;
	for (size_t i = 0; i < n_members; i++)
		if (members[i].weight_milli)
			built.members[built.n_members++] = members[i];
	err = built.n_members ? scheme->build(&built) : -EDOM;
	if (err)
		scheme_release(&built);
	else
		*out = built;
	return err;
}

void scheme_release(struct scheme_built *built)
{
	free(built->members);
	ring_free(built->ring);
	free(built->table);
	free(built->keys);
	free(built->members_of);
	*built = (struct scheme_built){0};
}
