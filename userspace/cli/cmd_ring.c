/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions to a ring: who has a key, who comes next, who has how much. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/fleet.h"
#include "cli/svg.h"
#include "cli/table.h"
#include "cli/values.h"
#include "ring/balance.h"
#include "ring/replicas.h"

static int need_backends(const struct fleet *fleet)
{
	if (fleet->ring->len)
		return CLI_DONE;
	cli_error("'%s' has no backend with a weight above 0", fleet->name);
	return CLI_FAILED;
}

static int check_key(const struct fleet *fleet, const char *key, uint64_t *place)
{
	*place = fleet_key(fleet, key);
	if (*place <= fleet->ring->params.hash->top)
		return CLI_DONE;
	cli_error("the hash of '%s' is beyond the top of the circle", key);
	return CLI_USAGE;
}

static int print_owners(const struct cli_options *options, const struct fleet *fleet,
			char *const *keys)
{
	static const struct table_column columns[] = {{"KEY", TABLE_LEFT},
						      {"HASH", TABLE_LEFT},
						      {"POSITION", TABLE_LEFT},
						      {"OWNER", TABLE_LEFT}};
	const struct ring *ring = fleet->ring;
	json_t *list = json_array();
	struct table table;
	int status = CLI_DONE;

	table_init(&table, columns, 4);
	for (; *keys && !status; keys++) {
		char hash[FLEET_PLACE_LEN], position[FLEET_PLACE_LEN];
		const char *owner;
		uint64_t place;
		int slot;

		status = check_key(fleet, *keys, &place);
		if (status)
			break;
		slot = ring_search(ring, place);
		owner = ring->members[ring->owners[slot]].name;
		fleet_place(ring, place, hash);
		fleet_place(ring, ring->positions[slot], position);
		table_cell(&table, "%s", *keys);
		table_cell(&table, "%s", hash);
		table_cell(&table, "%s", position);
		table_cell(&table, "%s", owner);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "key", *keys, "hash",
						      hash, "position", position, "owner", owner));
	}
	if (!status && options->json)
		cli_print_json(list);
	json_decref(list);
	if (status || options->json)
		table_release(&table);
	else if (table_print(&table))
		return cli_no_memory();
	return status;
}

static int run_owner(const struct cli_options *options, char *const *operands)
{
	struct fleet fleet;
	int status = fleet_read(&fleet, options);

	if (status)
		return status;
	status = need_backends(&fleet);
	if (!status)
		status = print_owners(options, &fleet, operands);
	fleet_release(&fleet);
	return status;
}

static int read_replicas(const struct cli_options *options, uint64_t *replicas, bool *spread)
{
	*replicas = 3;
	*spread = false;
	if (!value_read_number("replicas", options->replicas, 1, RING_REPLICAS_MAX, replicas))
		return CLI_USAGE;
	if (!options->spread)
		return CLI_DONE;
	*spread = !strcmp(options->spread, "rack");
	if (*spread)
		return CLI_DONE;
	cli_error("spread must be rack, got '%s'", options->spread);
	return CLI_USAGE;
}

static void print_names(const struct fleet *fleet, const uint16_t *owners, int n)
{
	for (int i = 0; i < n; i++)
		printf("%s%s", i ? " " : "", fleet->ring->members[owners[i]].name);
	putchar('\n');
}

static json_t *names_json(const struct fleet *fleet, const uint16_t *owners, int n)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(list, json_string(fleet->ring->members[owners[i]].name));
	return list;
}

static int print_preference(const struct cli_options *options, const struct fleet *fleet,
			    const char *key)
{
	uint16_t owners[RING_REPLICAS_MAX];
	uint64_t replicas, place;
	bool spread;
	json_t *names;
	int n, status = read_replicas(options, &replicas, &spread);

	if (!status)
		status = check_key(fleet, key, &place);
	if (status)
		return status;
	n = ring_preference_spread(fleet->ring, spread ? fleet->racks : NULL, place, owners,
				   replicas);
	if (!options->json) {
		print_names(fleet, owners, n);
		return CLI_DONE;
	}
	names = names_json(fleet, owners, n);
	cli_print_json(names);
	json_decref(names);
	return CLI_DONE;
}

static int run_prefer(const struct cli_options *options, char *const *operands)
{
	struct fleet fleet;
	int status = fleet_read(&fleet, options);

	if (status)
		return status;
	status = need_backends(&fleet);
	if (!status)
		status = print_preference(options, &fleet, operands[0]);
	fleet_release(&fleet);
	return status;
}

/* One line of the shares. */
struct share {
	const struct ring_member *member;
	double share;
	double expected;
	double relative;
};

static struct share share_of(const struct ring *ring, const ring_length *lengths, uint16_t member)
{
	struct share share = {
		.member = &ring->members[member],
		.share = ring_share(ring, lengths[member]),
		.expected = ring_expected(ring, member),
	};

	share.relative = share.expected > 0 ? share.share / share.expected : 0;
	return share;
}

static int table_shares(const struct ring *ring, const ring_length *lengths)
{
	static const struct table_column columns[] = {{"BACKEND", TABLE_LEFT},
						      {"WEIGHT", TABLE_RIGHT},
						      {"SHARE", TABLE_RIGHT},
						      {"EXPECTED", TABLE_RIGHT},
						      {"DEVIATION", TABLE_RIGHT}};
	struct table table;

	table_init(&table, columns, 5);
	for (size_t i = 0; i < ring->n_members; i++) {
		struct share share = share_of(ring, lengths, (uint16_t)i);

		table_cell(&table, "%s", share.member->name);
		table_cell(&table, "%g", share.member->weight_milli / 1000.0);
		table_cell(&table, "%.6f", share.share);
		table_cell(&table, "%.6f", share.expected);
		table_cell(&table, "%+.2f %%", share.expected > 0 ? 100 * (share.relative - 1) : 0);
	}
	return table_print(&table) ? cli_no_memory() : CLI_DONE;
}

/* What theory says of a plain ring of equal weights; NAN where it says nothing. */
static double expected_cv(const struct ring *ring)
{
	double n = (double)ring->n_members;

	if (ring->params.placement != RING_PLAIN || !ring->params.hash->hash)
		return NAN;
	for (size_t i = 0; i < ring->n_members; i++)
		if (ring->members[i].weight_milli != RING_WEIGHT_ONE)
			return NAN;
	return sqrt((n - 1) / (n * ring->params.vnodes + 1));
}

/* What the ring weighs and how it spreads replicas. */
struct summary {
	struct ring_balance balance;
	uint64_t replicas;
	size_t n_sets;
	double possible;
	double expected_cv;
	size_t bytes;
};

static int summarize(const struct cli_options *options, const struct fleet *fleet,
		     struct summary *out)
{
	bool spread;
	int status = read_replicas(options, &out->replicas, &spread);

	if (status)
		return status;
	out->expected_cv = expected_cv(fleet->ring);
	out->bytes = fleet->ring->len * (sizeof(uint64_t) + sizeof(uint16_t));
	if (ring_balance(fleet->ring, &out->balance) ||
	    ring_replica_sets(fleet->ring, spread ? fleet->racks : NULL, out->replicas,
			      &out->n_sets, &out->possible))
		return cli_no_memory();
	return CLI_DONE;
}

static void print_summary(const struct fleet *fleet, const struct summary *summary)
{
	const struct ring_balance *balance = &summary->balance;

	printf("\n%zu backends, %zu positions, %zu bytes\n", fleet->ring->n_members,
	       fleet->ring->len, summary->bytes);
	printf("cv         %.4f", balance->cv);
	if (!isnan(summary->expected_cv))
		printf(" (sqrt((N-1)/(NV+1)) = %.4f)", summary->expected_cv);
	printf("\npeak/mean  %.4f", balance->peak);
	if (balance->busiest != RING_NONE)
		printf(" (%s), least/mean %.4f", fleet->ring->members[balance->busiest].name,
		       balance->least);
	printf("\nsets       %zu of %.0f possible sets of %" PRIu64
	       " replicas: %.4g %% chance that as many failures take some key\n",
	       summary->n_sets, summary->possible, summary->replicas,
	       summary->possible > 0 ? 100 * (double)summary->n_sets / summary->possible : 0);
}

static json_t *shares_json(const struct ring *ring, const ring_length *lengths)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ring->n_members; i++) {
		struct share share = share_of(ring, lengths, (uint16_t)i);

		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:f}", "backend",
						      share.member->name, "weight",
						      share.member->weight_milli / 1000.0, "share",
						      share.share, "expected", share.expected,
						      "relative", share.relative));
	}
	return list;
}

static json_t *positions_json(const struct ring *ring)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ring->len; i++) {
		char place[FLEET_PLACE_LEN];

		json_array_append_new(list, json_pack("[s, s]",
						      fleet_place(ring, ring->positions[i], place),
						      ring->members[ring->owners[i]].name));
	}
	return list;
}

static void print_positions(const struct ring *ring)
{
	char place[FLEET_PLACE_LEN];

	putchar('\n');
	for (size_t i = 0; i < ring->len; i++)
		printf("%s  %s\n", fleet_place(ring, ring->positions[i], place),
		       ring->members[ring->owners[i]].name);
}

static int json_shares(const struct cli_options *options, const struct fleet *fleet,
		       const ring_length *lengths, const struct summary *summary)
{
	json_t *cv = isnan(summary->expected_cv) ? json_null() : json_real(summary->expected_cv);
	json_t *result = json_pack(
		"{s:s, s:o, s:I, s:I, s:f, s:o, s:f, s:f, s:I, s:I, s:f}", "pool", fleet->name,
		"backends", shares_json(fleet->ring, lengths), "positions",
		(json_int_t)fleet->ring->len, "bytes", (json_int_t)summary->bytes, "cv",
		summary->balance.cv, "expected_cv", cv, "peak", summary->balance.peak, "least",
		summary->balance.least, "replicas", (json_int_t)summary->replicas, "replica_sets",
		(json_int_t)summary->n_sets, "possible_sets", summary->possible);

	if (!result)
		return cli_no_memory();
	if (options->positions)
		json_object_set_new(result, "positions_listed", positions_json(fleet->ring));
	cli_print_json(result);
	json_decref(result);
	return CLI_DONE;
}

static int print_shares(const struct cli_options *options, const struct fleet *fleet)
{
	ring_length *lengths = calloc(fleet->ring->n_members + 1, sizeof(*lengths));
	struct summary summary = {0};
	int status;

	if (!lengths)
		return cli_no_memory();
	ring_shares(fleet->ring, lengths);
	status = summarize(options, fleet, &summary);
	if (!status && options->json)
		status = json_shares(options, fleet, lengths, &summary);
	else if (!status)
		status = table_shares(fleet->ring, lengths);
	if (!status && !options->json)
		print_summary(fleet, &summary);
	if (!status && !options->json && options->positions)
		print_positions(fleet->ring);
	if (!status && options->svg)
		status = svg_shares(options->svg, fleet->ring);
	free(lengths);
	return status;
}

static int run_shares(const struct cli_options *options, char *const *operands)
{
	struct fleet fleet;
	int status = fleet_read(&fleet, options);

	(void)operands;
	if (status)
		return status;
	status = need_backends(&fleet);
	if (!status)
		status = print_shares(options, &fleet);
	fleet_release(&fleet);
	return status;
}

const struct cli_command cmd_owner = {
	.name = "owner",
	.operands = {"KEY"},
	.repeats = true,
	.options = CLI_FLEET | CLI_CONFIG | CLI_POOL,
	.summary = "which backend owns a key",
	.about = "Shows where keys, which may be any text, lie on a ring and who owns them. For\n"
		 "the flow of a packet see 'ringlb lookup'.",
	.examples = "  ringlb owner user:1 user:2 --servers 16\n"
		    "  ringlb owner user:1 --config /etc/ringlb/ringlb.yaml --pool web\n"
		    "  ringlb owner 5 30 91 --points s0@15,s1@40,s2@65,s3@90 --top 99",
	.run = run_owner,
};

const struct cli_command cmd_prefer = {
	.name = "prefer",
	.operands = {"KEY"},
	.options = CLI_FLEET | CLI_CONFIG | CLI_POOL | CLI_REPLICAS,
	.summary = "the backends to try for a key, in order",
	.about = "Lists the owner of a key and the next distinct backends clockwise.",
	.examples = "  ringlb prefer user:8842 -r 3 --servers 16 --hash blake2b-64\n"
		    "  ringlb prefer user:8842 --spread rack --config ringlb.yaml",
	.run = run_prefer,
};

const struct cli_command cmd_shares = {
	.name = "shares",
	.options = CLI_FLEET | CLI_CONFIG | CLI_POOL | CLI_REPLICAS | CLI_POSITIONS | CLI_SVG,
	.summary = "how much of the hash space each backend owns",
	.about = "Shows the exact share of each backend, by arc length, beside what its weight\n"
		 "asks for; how evenly they are spread (cv: standard deviation over mean); and\n"
		 "how many different sets of backends hold a key together.",
	.examples = "  ringlb shares --config /etc/ringlb/ringlb.yaml\n"
		    "  ringlb shares --servers 16 --vnodes 1000\n"
		    "  ringlb shares --servers big=10,small --placement capped --json",
	.run = run_shares,
};
