/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/simulation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/fleet.h"
#include "cli/values.h"
#include "config/text.h"

#define KEYS_DEFAULT 200000
#define KEYS_MOST    100000000
#define MANY_KEYS    500000 /* seconds, for some schemes */
#define KEY_LEN	     256

static bool is_numbers(const char *text)
{
	return *text && text[strspn(text, "0123456789,")] == '\0';
}

/* "4,10,100" are three fleets, "a,b=2" is one. */
static int read_servers(struct simulation *out, const char *text)
{
	char *part, *rest = NULL;

	out->text = strdup(text);
	if (!out->text)
		return cli_no_memory();
	if (!is_numbers(text)) {
		out->servers[out->n_servers++] = out->text;
		return CLI_DONE;
	}
	for (part = strtok_r(out->text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
		if (out->n_servers == SIMULATION_LIST_MAX) {
			cli_error("servers must be at most %d numbers", SIMULATION_LIST_MAX);
			return CLI_USAGE;
		}
		out->servers[out->n_servers++] = part;
	}
	return CLI_DONE;
}

static int read_vnodes(struct simulation *out, const char *text)
{
	while (text && *text) {
		size_t len = strcspn(text, ",");
		uint64_t number;
		char part[16];

		snprintf(part, sizeof(part), "%.*s", (int)len, text);
		if (out->n_vnodes == SIMULATION_LIST_MAX) {
			cli_error("vnodes must be at most %d numbers", SIMULATION_LIST_MAX);
			return CLI_USAGE;
		}
		if (!value_read_number("vnodes", part, 1, RING_POSITIONS_MAX_LEN, &number))
			return CLI_USAGE;
		out->vnodes[out->n_vnodes++] = (uint32_t)number;
		text += len + (text[len] == ',');
	}
	if (!out->n_vnodes)
		out->vnodes[out->n_vnodes++] = RING_VNODES_DEFAULT;
	return CLI_DONE;
}

static int read_schemes(struct simulation *out, const char *text)
{
	for (size_t i = 0; !text && schemes[i]; i++)
		out->schemes[out->n_schemes++] = schemes[i];
	while (text && *text) {
		size_t len = strcspn(text, ",");
		const struct scheme *scheme;
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)len, text);
		scheme = scheme_find(name);
		if (!scheme || out->n_schemes == SIMULATION_LIST_MAX) {
			cli_error("schemes must be a list of modulo, ring, capped, jump, "
				  "rendezvous, maglev, multi-probe, got '%s'",
				  name);
			return CLI_USAGE;
		}
		out->schemes[out->n_schemes++] = scheme;
		text += len + (text[len] == ',');
	}
	return CLI_DONE;
}

/* "5:0.3" are 5 keys with 30 % of the load. */
static bool read_hot_keys(struct loads_spec *loads, const char *text)
{
	const char *colon = text ? strchr(text, ':') : NULL;
	uint32_t share_milli;
	uint64_t number = 0;
	char count[16];

	if (!text)
		return true;
	snprintf(count, sizeof(count), "%.*s", colon ? (int)(colon - text) : 0, text);
	if (!colon || text_parse_seed(count, &number) || number < 1 || number > KEYS_MOST ||
	    text_parse_weight(colon + 1, &share_milli) || share_milli > RING_WEIGHT_ONE) {
		cli_error("hot keys must be like 5:0.3, so many with this share of the load, "
			  "got '%s'",
			  text);
		return false;
	}
	loads->n_hot = number;
	loads->hot_share = (double)share_milli / RING_WEIGHT_ONE;
	return true;
}

static bool read_thousandths(const char *what, const char *text, uint32_t least, uint32_t most,
			     const char *must, double *out)
{
	uint32_t milli;

	if (!text)
		return true;
	if (text_parse_weight(text, &milli) || milli < least || milli > most) {
		cli_error("%s must be %s with at most three decimals, got '%s'", what, must, text);
		return false;
	}
	*out = (double)milli / RING_WEIGHT_ONE;
	return true;
}

static int read_loads(struct simulation *out, const struct cli_options *options)
{
	return read_hot_keys(&out->loads, options->hot_keys) &&
			       read_thousandths("zipf", options->zipf, 0, 10000, "0 to 10",
						&out->loads.zipf) &&
			       read_thousandths("load cap", options->load_cap, 1010, 10000,
						"1.01 to 10", &out->load_cap)
		       ? CLI_DONE
		       : CLI_USAGE;
}

static int read_rest(struct simulation *out, const struct cli_options *options)
{
	struct cli_options single = *options;
	uint64_t table = SCHEMES_TABLE_DEFAULT, probes = SCHEMES_PROBES_DEFAULT;
	int status;

	single.vnodes = NULL; /* a list here */
	out->params.ring = (struct ring_params){.hash = &ring_hash_xxh64,
						.vnodes = RING_VNODES_DEFAULT,
						.cells = RING_CELLS_DEFAULT,
						.epsilon_milli = RING_EPSILON_DEFAULT};
	status = fleet_params(&out->params.ring, &single);
	if (status)
		return status;
	if (!value_read_number("count", options->count, 1, KEYS_MOST, &out->n_keys) ||
	    !value_read_number("table", options->table, 2, RING_POSITIONS_MAX_LEN, &table) ||
	    !value_read_number("probes", options->probes, 1, 1000, &probes))
		return CLI_USAGE;
	out->params.table_len = (uint32_t)table;
	out->params.probes = (uint32_t)probes;
	return CLI_DONE;
}

int simulation_read(struct simulation *out, const struct cli_options *options, char *const *keys)
{
	struct simulation read = {
		.to = options->to,
		.prefix = options->keys ? options->keys : "key:",
		.n_keys = KEYS_DEFAULT,
		.keys = *keys ? keys : NULL,
	};
	int status = read_servers(&read, options->servers ? options->servers : "16");

	if (!status)
		status = read_vnodes(&read, options->vnodes);
	if (!status)
		status = read_schemes(&read, options->schemes);
	if (!status)
		status = read_rest(&read, options);
	if (!status)
		status = read_loads(&read, options);
	if (status)
		simulation_release(&read);
	else
		*out = read;
	return status;
}

void simulation_release(struct simulation *simulation)
{
	free(simulation->text);
	*simulation = (struct simulation){0};
}

static uint64_t *hash_keys(const struct simulation *simulation, size_t *n_keys)
{
	const struct ring_params *params = &simulation->params.ring;
	size_t n = simulation->n_keys;
	uint64_t *hashes;

	if (simulation->keys)
		for (n = 0; simulation->keys[n];)
			n++;
	hashes = malloc((n + 1) * sizeof(*hashes));
	for (size_t i = 0; hashes && i < n; i++) {
		char key[KEY_LEN];
		const char *text = key;

		if (simulation->keys)
			text = simulation->keys[i];
		else
			snprintf(key, sizeof(key), "%s%zu", simulation->prefix, i);
		hashes[i] = params->hash->hash(text, strlen(text), params->seed);
	}
	*n_keys = n;
	return hashes;
}

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Two sets of members, by one scheme. */
struct trial {
	struct scheme_built before;
	struct scheme_built after;
	uint16_t *owners_before;
	uint16_t *owners_after;
};

static int explain(const struct scheme *scheme, int err)
{
	if (err == -ENOMEM)
		return cli_no_memory();
	if (err == -EDOM)
		cli_error("%s: too few cells for so many servers within epsilon, or no server",
			  scheme->name);
	else if (err == -ENOSPC)
		cli_error("%s: too many positions: at most %u fit", scheme->name,
			  RING_POSITIONS_MAX_LEN);
	else
		cli_error("%s: %s", scheme->name, strerror(-err));
	return CLI_FAILED;
}

/* Keys, as hashes, and how often they are asked for. */
struct keys {
	uint64_t *hashes;
	double *loads;
	size_t n;
};

static int measure_more(const struct simulation *simulation, const struct trial *trial,
			const struct keys *keys, struct simulation_row *row)
{
	int err = loads_replica_sets(&trial->before, SIMULATION_REPLICAS, &row->sets);

	if (!err && simulation->load_cap > 0)
		err = loads_bound(&trial->before, keys->hashes, keys->loads, keys->n,
				  simulation->load_cap, &row->bounded);
	return err == -EOPNOTSUPP ? 0 : err;
}

static int measure(struct trial *trial, const struct keys *keys, struct simulation_row *row)
{
	size_t n_keys = keys->n;
	double start = cpu_ms();
	int err;

	err = experiment_place(&trial->before, keys->hashes, keys->loads, n_keys,
			       trial->owners_before, &row->before);
	row->lookup_ns = n_keys ? (cpu_ms() - start) * 1e6 / (double)n_keys : 0;
	if (!err)
		err = experiment_place(&trial->after, keys->hashes, keys->loads, n_keys,
				       trial->owners_after, &row->after);
	if (!err)
		err = experiment_compare(&trial->before, trial->owners_before, &trial->after,
					 trial->owners_after, n_keys, &row->moves);
	row->n_keys = n_keys;
	row->servers_before = trial->before.n_members;
	row->servers_after = trial->after.n_members;
	row->built_before = &trial->before;
	row->built_after = &trial->after;
	row->least = experiment_least(&trial->before, &trial->after);
	return err;
}

struct sets {
	struct ring_member *before, *after;
	size_t n_before, n_after;
};

static int read_sets(const struct simulation *simulation, const char *servers, struct sets *sets)
{
	int status = fleet_members("servers", servers, &sets->before, &sets->n_before);

	if (status)
		return status;
	if (simulation->to)
		return fleet_members("to", simulation->to, &sets->after, &sets->n_after);
	sets->n_after = sets->n_before + 1;
	sets->after = calloc(sets->n_after, sizeof(*sets->after));
	if (!sets->after)
		return cli_no_memory();
	memcpy(sets->after, sets->before, sets->n_before * sizeof(*sets->after));
	sets->after[sets->n_before].weight_milli = RING_WEIGHT_ONE;
	snprintf(sets->after[sets->n_before].name, RING_NAME_MAX, "s%zu", sets->n_before);
	return CLI_DONE;
}

static int run_one(const struct simulation *simulation, const struct scheme *scheme,
		   uint32_t vnodes, const struct sets *sets, const struct keys *keys,
		   struct simulation_row *row, struct trial *trial)
{
	struct scheme_params params = simulation->params;
	double start = cpu_ms();
	int err;

	params.ring.vnodes = vnodes;
	*row = (struct simulation_row){.scheme = scheme, .vnodes = vnodes};
	err = scheme_build(&trial->before, scheme, &params, sets->before, sets->n_before);
	row->build_ms = cpu_ms() - start;
	if (!err)
		err = scheme_build(&trial->after, scheme, &params, sets->after, sets->n_after);
	if (!err)
		err = measure(trial, keys, row);
	return err ? err : measure_more(simulation, trial, keys, row);
}

/* For people, and only where there is something to wait for. */
static void show_progress(size_t done, size_t all, size_t n_keys)
{
	if (isatty(STDERR_FILENO) && (all > 4 || n_keys >= MANY_KEYS))
		fprintf(stderr, "\r[%-30.*s] %zu of %zu%s", (int)(30 * done / all),
			"##############################", done, all, done == all ? "\n" : "");
}

/* All vnodes and schemes for one pair of sets. */
static int run_sets(const struct simulation *simulation, const struct sets *sets,
		    const struct keys *keys, size_t *done,
		    int (*each)(void *context, const struct simulation_row *row), void *context)
{
	size_t all = simulation->n_servers * simulation->n_vnodes * simulation->n_schemes;
	struct trial trial = {0};
	int status = CLI_DONE;

	trial.owners_before = malloc((keys->n + 1) * sizeof(uint16_t));
	trial.owners_after = malloc((keys->n + 1) * sizeof(uint16_t));
	if (!trial.owners_before || !trial.owners_after)
		status = cli_no_memory();
	if (!status)
		show_progress(*done, all, keys->n);
	for (size_t i = 0; !status && i < simulation->n_vnodes * simulation->n_schemes; i++) {
		const struct scheme *scheme = simulation->schemes[i % simulation->n_schemes];
		uint32_t vnodes = simulation->vnodes[i / simulation->n_schemes];
		struct simulation_row row;
		int err = run_one(simulation, scheme, vnodes, sets, keys, &row, &trial);

		status = err ? explain(scheme, err) : each(context, &row);
		experiment_load_release(&row.before);
		experiment_load_release(&row.after);
		scheme_release(&trial.before);
		scheme_release(&trial.after);
		show_progress(++*done, all, keys->n);
	}
	free(trial.owners_before);
	free(trial.owners_after);
	return status;
}

int simulation_run(const struct simulation *simulation,
		   int (*row)(void *context, const struct simulation_row *row), void *context)
{
	struct keys keys = {.hashes = hash_keys(simulation, &keys.n)};
	size_t done = 0;
	int status;

	keys.loads = loads_make(&simulation->loads, keys.n);
	status = keys.hashes && keys.loads ? CLI_DONE : cli_no_memory();
	for (size_t i = 0; !status && i < simulation->n_servers; i++) {
		struct sets sets = {0};

		status = read_sets(simulation, simulation->servers[i], &sets);
		if (!status)
			status = run_sets(simulation, &sets, &keys, &done, row, context);
		free(sets.before);
		free(sets.after);
	}
	free(keys.hashes);
	free(keys.loads);
	return status;
}
