/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The same keys by several schemes, before and after a change of the fleet. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/presets.h"
#include "cli/simulation.h"
#include "cli/simulation_svg.h"
#include "cli/table.h"

struct output {
	const struct cli_options *options;
	struct table table;
	json_t *rows;
	struct simulation_point *points;
	size_t n_points;
};

static double fraction(const struct simulation_row *row, size_t keys)
{
	return row->n_keys ? (double)keys / (double)row->n_keys : 0;
}

static int add_table(struct output *output, const struct simulation_row *row)
{
	struct table *table = &output->table;
	bool has_vnodes = row->built_before->ring && row->scheme != &scheme_capped;

	table_cell(table, "%s", row->scheme->name);
	table_cell(table, "%zu -> %zu", row->servers_before, row->servers_after);
	table_cell(table, has_vnodes ? "%u" : "-", row->vnodes);
	table_cell(table, "%zu", row->moves.moved);
	table_cell(table, "%.4f", fraction(row, row->moves.moved));
	table_cell(table, "%.4f", row->least);
	table_cell(table, "%zu", row->moves.astray);
	table_cell(table, "%.4f", row->before.peak);
	table_cell(table, "%.4f", row->before.cv);
	table_cell(table, "%zu", row->built_before->bytes);
	table_cell(table, "%.2f", row->build_ms);
	table_cell(table, "%.0f", row->lookup_ns);
	table_cell(table, row->sets ? "%zu" : "-", row->sets);
	if (!output->options->load_cap)
		return CLI_DONE;
	table_cell(table, row->bounded.peak > 0 ? "%.4f" : "-", row->bounded.peak);
	table_cell(table, row->bounded.peak > 0 ? "%.4f" : "-", row->bounded.spilled);
	return CLI_DONE;
}

static json_t *keys_json(const struct scheme_built *built, const struct experiment_load *load)
{
	json_t *object = json_object();

	for (size_t i = 0; i < built->n_members; i++)
		json_object_set_new(object, built->members[i].name,
				    json_integer((json_int_t)load->keys[i]));
	return object;
}

/* Null where no load cap was asked for, or the scheme has none. */
static json_t *known(const struct simulation_row *row, double value)
{
	return row->bounded.peak > 0 ? json_real(value) : json_null();
}

static int add_json(struct output *output, const struct simulation_row *row)
{
	json_t *object = json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:f, s:f, s:f, s:f, s:I, s:f, s:f}",
		"scheme", row->scheme->name, "servers", (json_int_t)row->servers_before, "to",
		(json_int_t)row->servers_after, "vnodes", (json_int_t)row->vnodes, "count",
		(json_int_t)row->n_keys, "moved", (json_int_t)row->moves.moved, "fraction",
		fraction(row, row->moves.moved), "least", row->least, "astray",
		(json_int_t)row->moves.astray, "peak", row->before.peak, "cv", row->before.cv,
		"peak_after", row->after.peak, "cv_after", row->after.cv, "bytes",
		(json_int_t)row->built_before->bytes, "build_ms", row->build_ms, "lookup_ns",
		row->lookup_ns);

	if (!object || json_array_append_new(output->rows, object))
		return cli_no_memory();
	json_object_set_new(object, "sets_of_3",
			    row->sets ? json_integer((json_int_t)row->sets) : json_null());
	json_object_set_new(object, "peak_capped", known(row, row->bounded.peak));
	json_object_set_new(object, "spilled", known(row, row->bounded.spilled));
	json_object_set_new(object, "keys", keys_json(row->built_before, &row->before));
	json_object_set_new(object, "keys_after", keys_json(row->built_after, &row->after));
	return CLI_DONE;
}

static int add_csv(const struct simulation_row *row)
{
	printf("%s,%zu,%zu,%u,%zu,%zu,%.6f,%.6f,%zu,%.6f,%.6f,%zu,%.3f,%.1f,", row->scheme->name,
	       row->servers_before, row->servers_after, row->vnodes, row->n_keys, row->moves.moved,
	       fraction(row, row->moves.moved), row->least, row->moves.astray, row->before.peak,
	       row->before.cv, row->built_before->bytes, row->build_ms, row->lookup_ns);
	if (row->sets)
		printf("%zu", row->sets);
	if (row->bounded.peak > 0)
		printf(",%.6f,%.6f\n", row->bounded.peak, row->bounded.spilled);
	else
		puts(",,");
	return CLI_DONE;
}

static int add_row(void *context, const struct simulation_row *row)
{
	struct output *output = context;

	if (output->n_points < SIMULATION_POINTS_MAX)
		output->points[output->n_points++] = (struct simulation_point){
			.scheme = row->scheme,
			.servers = (double)row->servers_before,
			.vnodes = row->vnodes,
			.fraction = fraction(row, row->moves.moved),
			.cv = row->before.cv,
		};
	if (output->options->csv)
		return add_csv(row);
	return output->options->json ? add_json(output, row) : add_table(output, row);
}

static int finish(struct output *output, int status)
{
	if (!status && output->options->svg)
		status = simulation_svg(output->options->svg, output->points, output->n_points);
	free(output->points);
	if (!status && output->options->json)
		cli_print_json(output->rows);
	json_decref(output->rows);
	if (status || output->options->json || output->options->csv) {
		table_release(&output->table);
		return status;
	}
	if (!table_print(&output->table))
		return CLI_DONE;
	return cli_no_memory();
}

static int run_simulation(const struct cli_options *options, char *const *keys)
{
	static const struct table_column columns[] = {
		{"SCHEME", TABLE_LEFT},	    {"SERVERS", TABLE_RIGHT},
		{"VNODES", TABLE_RIGHT},    {"MOVED", TABLE_RIGHT},
		{"FRACTION", TABLE_RIGHT},  {"LEAST", TABLE_RIGHT},
		{"ASTRAY", TABLE_RIGHT},    {"PEAK/MEAN", TABLE_RIGHT},
		{"CV", TABLE_RIGHT},	    {"BYTES", TABLE_RIGHT},
		{"BUILD MS", TABLE_RIGHT},  {"LOOKUP NS", TABLE_RIGHT},
		{"SETS OF 3", TABLE_RIGHT}, {"CAPPED PEAK", TABLE_RIGHT},
		{"SPILLED", TABLE_RIGHT},
	};
	/* The last two are about a cap. */
	size_t n_columns = sizeof(columns) / sizeof(columns[0]) - (options->load_cap ? 0 : 2);
	struct output output = {
		.options = options,
		.rows = json_array(),
		.points = calloc(SIMULATION_POINTS_MAX, sizeof(struct simulation_point)),
	};
	struct simulation simulation;
	int status = output.points ? simulation_read(&simulation, options, keys) : CLI_FAILED;

	table_init(&output.table, columns, n_columns);
	if (!status) {
		if (options->csv)
			puts("scheme,servers,to,vnodes,keys,moved,fraction,least,astray,peak,cv,"
			     "bytes,build_ms,lookup_ns,sets_of_3,peak_capped,spilled");
		status = simulation_run(&simulation, add_row, &output);
		simulation_release(&simulation);
	}
	return finish(&output, status);
}

static int run_simulate(const struct cli_options *options, char *const *operands)
{
	struct cli_options preset;

	if (!options->preset)
		return run_simulation(options, operands);
	if (!presets_find(options->preset, options, &preset))
		return CLI_USAGE;
	return run_simulation(&preset, operands);
}

const struct cli_command cmd_simulate = {
	.name = "simulate",
	.operands = {"KEY"},
	.repeats = true,
	.optional = true,
	.options = CLI_FLEET | CLI_TO | CLI_SIMULATE | CLI_SVG,
	.summary = "compare ways to give keys to servers",
	.about =
		"Gives the same keys to a fleet before and after a change, by several schemes,\n"
		"and shows how many move, beside the least that can, how even the load is, and\n"
		"what it costs in memory and time. --servers and --vnodes take lists: 4,10,100.\n"
		"Without --to one more server joins. ASTRAY keys moved between servers that\n"
		"nothing happened to. SETS OF 3 neighbours hold a key together if each has three\n"
		"replicas. PEAK/MEAN and CV are of the load: keys, or what --zipf and --hot-keys\n"
		"make of them. With --load-cap, CAPPED PEAK is what is left of the peak once\n"
		"servers have lent what is too much, and SPILLED the share of the hash space lent.",
	.examples =
		"  ringlb simulate --servers 16\n"
		"  ringlb simulate --servers 10 --to 11 --count 1000000\n"
		"  ringlb simulate --servers 4,10,100 --vnodes 1,100,1000 --schemes ring --csv\n"
		"  ringlb simulate --servers 10 --zipf 1 --load-cap 1.25\n"
		"  ringlb simulate --preset movement",
	.run = run_simulate,
};
