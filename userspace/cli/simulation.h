/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `ringlb simulate` is asked to do, from its options or from a preset. */
#ifndef RINGLB_CLI_SIMULATION_H
#define RINGLB_CLI_SIMULATION_H

#include <stdio.h>

#include "cli/cli.h"
#include "schemes/experiment.h"
#include "schemes/loads.h"

#define SIMULATION_LIST_MAX 64

/* Members that have a key, for the number of sets of them. */
#define SIMULATION_REPLICAS 3

/**
 * struct simulation - the product of all lists is run, each on the same keys
 * @servers: texts as of --servers, the sets before the change
 * @to: the set after it; NULL: one more server
 * @prefix, @n_keys: key i is "PREFIXi"
 * @keys: instead, keys that are given; NULL-terminated
 * @loads: how often keys are asked for
 * @load_cap: of rings; 0: none
 */
struct simulation {
	const char *servers[SIMULATION_LIST_MAX];
	size_t n_servers;
	const char *to;
	uint32_t vnodes[SIMULATION_LIST_MAX];
	size_t n_vnodes;
	const struct scheme *schemes[SIMULATION_LIST_MAX];
	size_t n_schemes;
	const char *prefix;
	uint64_t n_keys;
	char *const *keys;
	struct loads_spec loads;
	double load_cap;
	struct scheme_params params;
	char *text; /* what servers[] points into */
};

/*
 * One row of the result. sets is the number of sets of SIMULATION_REPLICAS, and 0 where a
 * scheme has none; bounded is all 0 without a load_cap or if it is no ring.
 */
struct simulation_row {
	const struct scheme *scheme;
	size_t servers_before;
	size_t servers_after;
	uint32_t vnodes;
	size_t n_keys;
	struct experiment_moves moves;
	double least;
	struct experiment_load before;
	struct experiment_load after;
	const struct scheme_built *built_before;
	const struct scheme_built *built_after;
	double build_ms;
	double lookup_ns;
	size_t sets;
	struct loads_bounded bounded;
};

/** simulation_read() - Return: enum cli_exit, with the reason on stderr. */
int simulation_read(struct simulation *out, const struct cli_options *options, char *const *keys);

void simulation_release(struct simulation *simulation);

/**
 * simulation_run() - run it all
 * @row: called for each experiment, in the order of servers, vnodes, schemes
 *
 * Return: enum cli_exit, with the reason on stderr.
 */
int simulation_run(const struct simulation *simulation,
		   int (*row)(void *context, const struct simulation_row *row), void *context);

#endif
