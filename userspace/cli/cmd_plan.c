/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a change would move, before anything is done. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/fleet.h"
#include "cli/offline.h"
#include "cli/plan_flows.h"
#include "cli/plan_target.h"
#include "cli/svg.h"
#include "cli/table.h"
#include "cli/values.h"
#include "config/text.h"
#include "control/lookup.h"
#include "ring/balance.h"

struct plan {
	const struct ring *before;
	const struct ring *after;
	struct ring_range *ranges;
	size_t n_ranges;
	double moved;
	double least;
	double modulo;
	double one_by_one;
	double least_one_by_one;
	struct ring_balance balance_before;
	struct ring_balance balance_after;
};

static size_t count_weighted(const struct ring *ring)
{
	size_t n = 0;

	for (size_t i = 0; i < ring->n_members; i++)
		n += ring->members[i].weight_milli > 0;
	return n;
}

/* Of lcm(n, m) neighbouring hashes, min(n, m) have the same rest by both. */
static double modulo_between(const struct ring *before, const struct ring *after)
{
	size_t n = count_weighted(before), m = count_weighted(after), a = n, b = m;

	if (!n || !m)
		return n == m ? 0 : 1;
	while (b) {
		size_t rest = a % b;

		a = b;
		b = rest;
	}
	return 1 - (double)(n < m ? n : m) / ((double)n / (double)a * (double)m);
}

static const char *name_of(const struct ring *ring, uint16_t member)
{
	return member == RING_NONE ? "-" : ring->members[member].name;
}

/* A range as part of the sum of what moves from one backend to another. */
static int compare_pairs(const void *a, const void *b)
{
	const struct ring_range *x = a, *y = b;

	if (x->old_owner != y->old_owner)
		return x->old_owner < y->old_owner ? -1 : 1;
	if (x->new_owner != y->new_owner)
		return x->new_owner < y->new_owner ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

typedef int each_pair(void *context, const struct plan *plan, const char *from, const char *to,
		      double share);

/* Call @each with the share that moves between each pair; the ranges are sorted for it. */
static int for_each_pair(const struct plan *plan, each_pair *each, void *context)
{
	struct ring_range *sorted = malloc((plan->n_ranges + 1) * sizeof(*sorted));
	int status = CLI_DONE;

	if (!sorted)
		return cli_no_memory();
	if (plan->n_ranges)
		memcpy(sorted, plan->ranges, plan->n_ranges * sizeof(*sorted));
	qsort(sorted, plan->n_ranges, sizeof(*sorted), compare_pairs);
	for (size_t i = 0, next; i < plan->n_ranges && !status; i = next) {
		ring_length sum = 0;

		for (next = i;
		     next < plan->n_ranges && sorted[next].old_owner == sorted[i].old_owner &&
		     sorted[next].new_owner == sorted[i].new_owner;
		     next++)
			sum += sorted[next].length;
		status = each(context, plan, name_of(plan->before, sorted[i].old_owner),
			      name_of(plan->after, sorted[i].new_owner),
			      ring_share(plan->before, sum));
	}
	free(sorted);
	return status;
}

static int add_row(void *context, const struct plan *plan, const char *from, const char *to,
		   double share)
{
	(void)plan;
	table_cell(context, "%s", from);
	table_cell(context, "%s", to);
	table_cell(context, "%.4f %%", 100 * share);
	return CLI_DONE;
}

static int print_pairs(const struct plan *plan)
{
	static const struct table_column columns[] = {
		{"FROM", TABLE_LEFT}, {"TO", TABLE_LEFT}, {"SHARE", TABLE_RIGHT}};
	struct table table;
	int status;

	table_init(&table, columns, 3);
	status = for_each_pair(plan, add_row, &table);
	if (status)
		table_release(&table);
	else if (table_print(&table))
		status = cli_no_memory();
	return status;
}

static int print_ranges(const struct plan *plan)
{
	static const struct table_column columns[] = {{"FIRST", TABLE_LEFT},
						      {"LAST", TABLE_LEFT},
						      {"SHARE", TABLE_RIGHT},
						      {"FROM", TABLE_LEFT},
						      {"TO", TABLE_LEFT}};
	char place[FLEET_PLACE_LEN];
	struct table table;

	putchar('\n');
	table_init(&table, columns, 5);
	for (size_t i = 0; i < plan->n_ranges; i++) {
		const struct ring_range *range = &plan->ranges[i];

		table_cell(&table, "%s", fleet_place(plan->before, range->first, place));
		table_cell(&table, "%s", fleet_place(plan->before, range->last, place));
		table_cell(&table, "%.6f %%", 100 * ring_share(plan->before, range->length));
		table_cell(&table, "%s", name_of(plan->before, range->old_owner));
		table_cell(&table, "%s", name_of(plan->after, range->new_owner));
	}
	return table_print(&table) ? cli_no_memory() : CLI_DONE;
}

static int print_plan(const struct cli_options *options, const struct plan *plan,
		      const struct plan_flows *flows)
{
	int status = print_pairs(plan);

	if (status)
		return status;
	printf("\nmoves      %.4f %% of the hash space in %zu ranges\n", 100 * plan->moved,
	       plan->n_ranges);
	printf("least      %.4f %%, what the weights ask for\n", 100 * plan->least);
	if (plan->one_by_one > 0)
		printf("one by one %.4f %%, each change by itself, summed; at least %.4f %%\n",
		       100 * plan->one_by_one, 100 * plan->least_one_by_one);
	printf("modulo     %.4f %%\n", 100 * plan->modulo);
	printf("peak/mean  %.4f before, %.4f after\n", plan->balance_before.peak,
	       plan->balance_after.peak);
	plan_flows_print(flows, plan->moved);
	return options->ranges ? print_ranges(plan) : CLI_DONE;
}

static int add_json(void *context, const struct plan *plan, const char *from, const char *to,
		    double share)
{
	(void)plan;
	return json_array_append_new(context, json_pack("{s:s, s:s, s:f}", "from", from, "to", to,
							"share", share))
		       ? cli_no_memory()
		       : CLI_DONE;
}

static json_t *ranges_json(const struct plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->n_ranges; i++) {
		const struct ring_range *range = &plan->ranges[i];
		char first[FLEET_PLACE_LEN], last[FLEET_PLACE_LEN];

		fleet_place(plan->before, range->first, first);
		fleet_place(plan->before, range->last, last);
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:f, s:s, s:s}", "first", first, "last", last,
					"share", ring_share(plan->before, range->length), "from",
					name_of(plan->before, range->old_owner), "to",
					name_of(plan->after, range->new_owner)));
	}
	return list;
}

static int json_plan(const struct cli_options *options, const struct plan *plan,
		     const struct plan_flows *flows)
{
	json_t *pairs = json_array(), *result;
	int status = for_each_pair(plan, add_json, pairs);

	result = json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "moves", pairs, "moved",
			   plan->moved, "least", plan->least, "one_by_one", plan->one_by_one,
			   "least_one_by_one", plan->least_one_by_one, "modulo", plan->modulo,
			   "peak_before", plan->balance_before.peak, "peak_after",
			   plan->balance_after.peak, "ranges_moved", (json_int_t)plan->n_ranges);
	if (status || !result) {
		json_decref(result);
		return status ? status : cli_no_memory();
	}
	plan_flows_json(flows, plan->moved, result);
	if (options->ranges)
		json_object_set_new(result, "ranges", ranges_json(plan));
	cli_print_json(result);
	json_decref(result);
	return CLI_DONE;
}

static int show_plan(const struct cli_options *options, const struct fleet *fleet,
		     const struct ring *after, const struct plan_target *target)
{
	struct plan plan = {
		.before = fleet->ring,
		.after = after,
		.one_by_one = target->one_by_one,
		.least_one_by_one = target->least_one_by_one,
	};
	struct plan_flows flows;
	int status = plan_flows_read(&flows, options, fleet->name);

	if (status)
		return status;
	status = plan_moved(plan.before, after, &plan.moved, &plan.ranges, &plan.n_ranges);
	if (status)
		return status;
	plan.least = plan_least(plan.before, after);
	plan.modulo = modulo_between(plan.before, after);
	if (ring_balance(plan.before, &plan.balance_before) ||
	    ring_balance(after, &plan.balance_after))
		status = cli_no_memory();
	if (!status)
		status = options->json ? json_plan(options, &plan, &flows)
				       : print_plan(options, &plan, &flows);
	if (!status && options->svg)
		status = svg_ring(options->svg, plan.before, after);
	free(plan.ranges);
	return status;
}

/* A ring of given points has no vnodes to add: the new one is given by points, too. */
static int plan_points(const struct cli_options *options, const struct fleet *fleet,
		       char *const *operands)
{
	const struct plan_target nothing = {0};
	struct cli_options to = *options;
	struct fleet after;
	int status;

	if (*operands || !options->to) {
		cli_error("with --points the new set is given by --to, in points too");
		return CLI_USAGE;
	}
	to.points = options->to;
	status = fleet_read(&after, &to);
	if (status)
		return status;
	status = show_plan(options, fleet, after.ring, &nothing);
	fleet_release(&after);
	return status;
}

static int plan_members(const struct cli_options *options, const struct fleet *fleet,
			char *const *operands)
{
	struct plan_target target = {0};
	struct ring *after = NULL;
	int status = plan_target_read(&target, fleet, options, operands);

	if (!status)
		status = fleet_build(&after, &fleet->params, target.members, target.n_members);
	if (!status)
		status = show_plan(options, fleet, after, &target);
	ring_free(after);
	free(target.members);
	return status;
}

static int run_plan(const struct cli_options *options, char *const *operands)
{
	struct fleet fleet;
	int status = fleet_read(&fleet, options);

	if (status)
		return status;
	if (options->points)
		status = plan_points(options, &fleet, operands);
	else
		status = plan_members(options, &fleet, operands);
	fleet_release(&fleet);
	return status;
}

const struct cli_command cmd_plan = {
	.name = "plan",
	.operands = {"CHANGE"},
	.repeats = true,
	.optional = true,
	.options = CLI_FLEET | CLI_CONFIG | CLI_POOL | CLI_TO | CLI_FLOWS | CLI_RANGES | CLI_SVG,
	.summary = "what a change would move, before it is made",
	.about = "Shows how much of the hash space would go from whom to whom, beside the least\n"
		 "that the weights allow and beside what a modulo would move. CHANGE is\n"
		 "add:NAME[=WEIGHT], remove:NAME, drain:NAME or weight:NAME=WEIGHT; several are\n"
		 "made at once. Nothing is changed. How many flows would be tracked follows from\n"
		 "--flows: ringlbd stores nothing of flows in settled arcs and cannot count them.\n"
		 "It says how many it remembers now, in arcs that move already. What load caps\n"
		 "make backends lend (docs/load-cap.md) is not in a plan.",
	.examples = "  ringlb plan add:web9 --config /etc/ringlb/ringlb.yaml --pool web\n"
		    "  ringlb plan remove:s3 weight:s4=2 --servers 16 --flows 100000\n"
		    "  ringlb plan --to new.yaml --config /etc/ringlb/ringlb.yaml --ranges",
	.run = run_plan,
};
