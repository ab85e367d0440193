/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The set of backends that `ringlb plan` is asked about. */
#ifndef RINGLB_CLI_PLAN_TARGET_H
#define RINGLB_CLI_PLAN_TARGET_H

#include "cli/cli.h"
#include "cli/fleet.h"

/* The set of members as it would be. */
struct plan_target {
	struct ring_member *members;
	size_t n_members;
	double one_by_one; /* shares moved if each change were made alone, summed */
	double least_one_by_one;
};

/**
 * plan_target_read() - the set that @changes, or --to, make of a fleet
 * @target: all zero before; its members are the caller's to free, whatever is returned
 *
 * Return: enum cli_exit; says why on stderr.
 */
int plan_target_read(struct plan_target *target, const struct fleet *fleet,
		     const struct cli_options *options, char *const *changes);

/**
 * plan_moved() - compare two rings
 * @moved: receives the share of all hashes that changes its owner
 * @ranges: as of ring_compare(); the caller's to free
 *
 * Return: enum cli_exit.
 */
int plan_moved(const struct ring *before, const struct ring *after, double *moved,
	       struct ring_range **ranges, size_t *n_ranges);

/** plan_least() - what the weights alone make move: all that somebody is to get more of */
double plan_least(const struct ring *before, const struct ring *after);

#endif
