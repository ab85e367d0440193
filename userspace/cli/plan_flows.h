/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many flows a plan is about, as far as anybody knows. */
#ifndef RINGLB_CLI_PLAN_FLOWS_H
#define RINGLB_CLI_PLAN_FLOWS_H

#include <stdint.h>

#include "cli/cli.h"

/**
 * struct plan_flows
 * @given: live flows, by --flows; 0: not known, as in settled arcs nothing is stored
 * @remembered: flows that ringlbd remembers now in the pool's moving arcs; -1: the plan
 *	is not about a live pool
 */
struct plan_flows {
	uint64_t given;
	int64_t remembered;
};

/** plan_flows_read() - Return: enum cli_exit, with the reason on stderr. */
int plan_flows_read(struct plan_flows *flows, const struct cli_options *options, const char *pool);

/** plan_flows_print() - for a plan that moves a share of @moved */
void plan_flows_print(const struct plan_flows *flows, double moved);

/** plan_flows_json() - the same as members of @object */
void plan_flows_json(const struct plan_flows *flows, double moved, json_t *object);

#endif
