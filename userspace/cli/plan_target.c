/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/plan_target.h"

#include <stdlib.h>
#include <string.h>

#include "cli/offline.h"
#include "control/lookup.h"
#include "ring/balance.h"

#define CHANGE_MUST                                                                                \
	"must be add:NAME, add:NAME=WEIGHT, remove:NAME, drain:NAME or weight:NAME=WEIGHT"

static size_t find_member(const struct plan_target *target, const char *name)
{
	size_t i = 0;

	while (i < target->n_members && strcmp(target->members[i].name, name) != 0)
		i++;
	return i;
}

static int refuse_change(const char *change)
{
	cli_error("change " CHANGE_MUST ", got '%s'", change);
	return CLI_USAGE;
}

static int add_member(struct plan_target *target, const struct ring_member *member)
{
	struct ring_member *members;

	if (find_member(target, member->name) < target->n_members) {
		cli_error("backend '%s' exists already", member->name);
		return CLI_FAILED;
	}
	members = realloc(target->members, (target->n_members + 1) * sizeof(*members));
	if (!members)
		return cli_no_memory();
	members[target->n_members++] = *member;
	target->members = members;
	return CLI_DONE;
}

/* "add", "remove", "drain", "weight" and the member behind the colon. */
static int apply_change(struct plan_target *target, const char *change)
{
	const char *colon = strchr(change, ':'), *equals = strchr(change, '=');
	size_t len = colon ? (size_t)(colon - change) : 0, at;
	bool removes = len == 6 && !strncmp(change, "remove", len);
	bool drains = len == 5 && !strncmp(change, "drain", len);
	bool weighs = len == 6 && !strncmp(change, "weight", len) && equals;
	bool adds = len == 3 && !strncmp(change, "add", len);
	struct ring_member *list, member;
	size_t n;
	int status;

	if (!(removes || drains) && !weighs && !adds)
		return refuse_change(change);
	if ((removes || drains) && equals)
		return refuse_change(change);
	/* A name of digits only would be a number of servers. */
	if (colon[1 + strspn(colon + 1, "0123456789")] == '\0' || strchr(colon, ','))
		return refuse_change(change);
	status = fleet_members("change", colon + 1, &list, &n);
	if (status)
		return status;
	member = list[0];
	free(list);
	if (adds)
		return add_member(target, &member);
	at = find_member(target, member.name);
	if (at == target->n_members) {
		cli_error("there is no backend '%s'", member.name);
		return CLI_FAILED;
	}
	if (removes)
		target->members[at] = target->members[--target->n_members];
	else
		target->members[at].weight_milli = weighs ? member.weight_milli : 0;
	return CLI_DONE;
}

int plan_moved(const struct ring *before, const struct ring *after, double *moved,
	       struct ring_range **ranges, size_t *n_ranges)
{
	ring_length sum = 0;
	int err = ring_compare(before, after, ranges, n_ranges);

	if (err)
		return cli_no_memory();
	for (size_t i = 0; i < *n_ranges; i++)
		sum += (*ranges)[i].length;
	*moved = ring_share(before, sum);
	return CLI_DONE;
}

static double expected_of(const struct ring *ring, const char *name)
{
	uint16_t member = ring_find_member(ring, name);

	return member == RING_NONE ? 0 : ring_expected(ring, member);
}

double plan_least(const struct ring *before, const struct ring *after)
{
	double least = 0;

	for (size_t i = 0; i < after->n_members; i++) {
		double gain = ring_expected(after, (uint16_t)i) -
			      expected_of(before, after->members[i].name);

		least += gain > 0 ? gain : 0;
	}
	return least;
}

/* Make the changes one after the other and sum up what each would move alone. */
static int apply_changes(struct plan_target *target, const struct fleet *fleet,
			 char *const *changes)
{
	struct ring *last = NULL;
	int status = fleet_build(&last, &fleet->params, fleet->members, fleet->n_members);

	for (; !status && *changes; changes++) {
		struct ring *next = NULL;
		struct ring_range *ranges = NULL;
		size_t n_ranges;
		double moved = 0;

		status = apply_change(target, *changes);
		if (!status)
			status = fleet_build(&next, &fleet->params, target->members,
					     target->n_members);
		if (!status)
			status = plan_moved(last, next, &moved, &ranges, &n_ranges);
		if (!status) {
			target->one_by_one += moved;
			target->least_one_by_one += plan_least(last, next);
		}
		free(ranges);
		ring_free(last);
		last = next;
	}
	ring_free(last);
	return status;
}

static bool is_file(const char *text)
{
	size_t len = strlen(text);

	return strchr(text, '/') || (len > 5 && !strcmp(text + len - 5, ".yaml"));
}

/* The same pool in another file. */
static int target_from_file(struct plan_target *target, const struct fleet *fleet, const char *path)
{
	struct config config = {0};
	const struct config_pool *pool;
	struct config_error error;
	int status = CLI_FAILED;

	if (offline_read(&config, path, &error))
		return CLI_FAILED;
	pool = config_find_pool(&config, fleet->name);
	if (!pool && config.n_pools == 1)
		pool = &config.pools[0];
	if (pool) {
		target->members = lookup_pool_members(pool);
		target->n_members = pool->n_backends;
		status = target->members ? CLI_DONE : cli_no_memory();
	} else {
		cli_error("%s has no pool '%s'", path, fleet->name);
	}
	config_release(&config);
	return status;
}

int plan_target_read(struct plan_target *target, const struct fleet *fleet,
		     const struct cli_options *options, char *const *changes)
{
	if (options->to && *changes) {
		cli_error("either changes or --to can be given, got '%s' and --to", *changes);
		return CLI_USAGE;
	}
	if (options->to && is_file(options->to))
		return target_from_file(target, fleet, options->to);
	if (options->to)
		return fleet_members("to", options->to, &target->members, &target->n_members);
	if (!*changes) {
		cli_error("no change given: it " CHANGE_MUST ", or --to SET");
		return CLI_USAGE;
	}
	target->members = calloc(fleet->n_members + 1, sizeof(*target->members));
	if (!target->members)
		return cli_no_memory();
	memcpy(target->members, fleet->members, fleet->n_members * sizeof(*target->members));
	target->n_members = fleet->n_members;
	return apply_changes(target, fleet, changes);
}
