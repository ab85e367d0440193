/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The servers and the ring that a question is about, from a configuration file or from
 * options alone.
 */
#ifndef RINGLB_CLI_FLEET_H
#define RINGLB_CLI_FLEET_H

#include "cli/cli.h"
#include "ring/ring.h"

/**
 * struct fleet - members and what their ring depends on
 * @ring: built of them
 * @racks: rack number of each of ring->members, or NULL if none has one
 * @name: of the pool, or "servers"
 */
struct fleet {
	char name[64];
	struct ring_params params;
	struct ring_member *members;
	size_t n_members;
	struct ring *ring;
	uint16_t *racks;
	bool with_racks;
	uint16_t *member_racks; /* parallel to @members */
};

/**
 * fleet_read() - from --config or ringlbd and --pool, --servers or --points, and the
 * other options
 *
 * Return: enum cli_exit, with the reason on stderr; then @fleet is empty.
 */
int fleet_read(struct fleet *fleet, const struct cli_options *options);

void fleet_release(struct fleet *fleet);

/** fleet_params() - what the options say about hash, seed and placement, over @params */
int fleet_params(struct ring_params *params, const struct cli_options *options);

/**
 * fleet_members() - members as text: "16", "a,b=2.5,c"
 * @members: receives an array to be freed
 *
 * Return: enum cli_exit, with the reason on stderr.
 */
int fleet_members(const char *what, const char *text, struct ring_member **members,
		  size_t *n_members);

/** fleet_build() - ring_build() that says what is wrong. Return: enum cli_exit. */
int fleet_build(struct ring **ring, const struct ring_params *params,
		const struct ring_member *members, size_t n_members);

/** fleet_place() - a place of the circle as text: hexadecimal, or decimal if it is small */
#define FLEET_PLACE_LEN 21
const char *fleet_place(const struct ring *ring, uint64_t place, char out[FLEET_PLACE_LEN]);

/** fleet_key() - the place of a key on the circle of @ring */
uint64_t fleet_key(const struct fleet *fleet, const char *key);

#endif
