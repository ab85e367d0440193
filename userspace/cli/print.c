/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/print.h"

#include <stdio.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/table.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))
#define COLUMNS_MAX    16

/* How a member reads. */
enum kind {
	TEXT,
	NUMBER, /* that the answer has as text */
	INTEGER,
	INTEGER_IF_KNOWN,
	ROUNDED,
	FACTOR,
	SECONDS,
	SECONDS_OR_NEVER,
	SECONDS_IF_ANY,
	PERCENT,
	MEBIBYTES,
	TABLE_SIZE,
};

struct column {
	const char *title;
	const char *member;
	enum kind kind;
};

/* A table that is there keeps its size, whatever the configuration says since. */
static void size_cell(struct table *table, const json_t *row, const char *member)
{
	json_int_t size = answer_integer(row, member), wanted = answer_integer(row, "configured");

	if (!wanted || wanted == size)
		table_cell(table, "%" JSON_INTEGER_FORMAT, size);
	else
		table_cell(table,
			   "%" JSON_INTEGER_FORMAT " (%" JSON_INTEGER_FORMAT
			   " after 'ringlb down')",
			   size, wanted);
}

static void cell(struct table *table, const json_t *row, const struct column *column)
{
	const char *member = column->member;

	switch (column->kind) {
	case TEXT:
	case NUMBER:
		table_cell(table, "%s", answer_text(row, member));
		return;
	case INTEGER_IF_KNOWN:
		if (!json_is_integer(json_object_get(row, member))) {
			table_cell(table, "-");
			return;
		}
		/* fall through */
	case INTEGER:
		table_cell(table, "%" JSON_INTEGER_FORMAT, answer_integer(row, member));
		return;
	case ROUNDED:
		table_cell(table, "%.0f", json_number_value(json_object_get(row, member)));
		return;
	case FACTOR:
		table_cell(table, "%.3f", json_number_value(json_object_get(row, member)));
		return;
	case SECONDS_OR_NEVER:
	case SECONDS_IF_ANY:
		if (!json_is_integer(json_object_get(row, member))) {
			table_cell(table, column->kind == SECONDS_IF_ANY ? "-" : "never");
			return;
		}
		/* fall through */
	case SECONDS:
		table_cell(table, "%" JSON_INTEGER_FORMAT " s", answer_integer(row, member));
		return;
	case PERCENT:
		table_cell(table, "%.2f %%", answer_percent(row, member));
		return;
	case MEBIBYTES:
		table_cell(table, "%.1f MiB", (double)answer_integer(row, member) / (1 << 20));
		return;
	case TABLE_SIZE:
		size_cell(table, row, member);
		return;
	}
}

/* @rows as a table; one of @columns is one of its columns. */
static int print_rows(const struct column *columns, size_t n_columns, const json_t *rows)
{
	struct table_column heads[COLUMNS_MAX];
	struct table table;

	for (size_t i = 0; i < n_columns; i++)
		heads[i] = (struct table_column){
			columns[i].title, columns[i].kind == TEXT ? TABLE_LEFT : TABLE_RIGHT};
	table_init(&table, heads, n_columns);
	for (size_t i = 0; i < json_array_size(rows); i++)
		for (size_t c = 0; c < n_columns; c++)
			cell(&table, json_array_get(rows, i), &columns[c]);
	if (!table_print(&table))
		return CLI_DONE;
	return cli_no_memory();
}

/* The same below another table, and nothing if there are no rows. */
static int print_below(const struct column *columns, size_t n_columns, const json_t *rows)
{
	if (!json_array_size(rows))
		return CLI_DONE;
	putchar('\n');
	return print_rows(columns, n_columns, rows);
}

int print_interfaces(const json_t *interfaces)
{
	static const struct column columns[] = {
		{"INTERFACE", "name", TEXT},
		{"INDEX", "ifindex", INTEGER},
		{"MODE", "mode", TEXT},
		{"ATTACH", "attach", TEXT},
	};

	return print_rows(columns, COUNT(columns), interfaces);
}

int print_pools(const json_t *pools)
{
	static const struct column columns[] = {
		{"POOL", "name", TEXT},
		{"FORWARD", "forward", TEXT},
		{"BACKENDS", "backends", INTEGER},
		{"WEIGHT", "weight", NUMBER},
		{"VNODES", "vnodes", INTEGER},
		{"POSITIONS", "positions", INTEGER},
		{"MTU", "mtu", INTEGER_IF_KNOWN},
		{"MSS CLAMP", "mss_clamp", INTEGER_IF_KNOWN},
	};

	return print_rows(columns, COUNT(columns), pools);
}

/* What moves in each of @pools, under the pool's name. */
static json_t *moving_rows(const json_t *pools)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(pools); i++) {
		const json_t *pool = json_array_get(pools, i);
		json_t *row = json_copy(json_object_get(pool, "moving"));

		if (!json_is_object(row))
			continue;
		json_object_set(row, "name", json_object_get(pool, "name"));
		json_array_append_new(rows, row);
	}
	return rows;
}

int print_moving(const json_t *pools)
{
	static const struct column columns[] = {
		{"MOVING IN POOL", "name", TEXT},
		{"ARCS", "arcs", INTEGER},
		{"SHARE", "share", PERCENT},
		{"OLD FLOWS", "flows", INTEGER},
		{"LEARNING TCP", "learning_tcp_s", SECONDS},
		{"LEARNING OTHER", "learning_other_s", SECONDS},
	};
	json_t *rows = moving_rows(pools);
	int status = print_below(columns, COUNT(columns), rows);

	json_decref(rows);
	return status;
}

/* The backends of those of @pools that have a load_cap, with the pool and its cap. */
static json_t *load_rows(const json_t *pools)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(pools); i++) {
		const json_t *pool = json_array_get(pools, i);
		const json_t *load = json_object_get(pool, "load");
		const json_t *backends = json_object_get(load, "backends");

		for (size_t b = 0; b < json_array_size(backends); b++) {
			json_t *row = json_copy(json_array_get(backends, b));

			json_object_set(row, "pool", json_object_get(pool, "name"));
			json_object_set(row, "cap", json_object_get(load, "cap"));
			json_array_append_new(rows, row);
		}
	}
	return rows;
}

int print_loads(const json_t *pools)
{
	static const struct column columns[] = {
		{"LOAD OF", "name", TEXT},
		{"POOL", "pool", TEXT},
		{"PACKETS/S", "packets_per_s", ROUNDED},
		{"OF MEAN", "of_mean", FACTOR},
		{"CAP", "cap", FACTOR},
		{"SPILLED OUT", "spilled_out", PERCENT},
		{"SPILLED IN", "spilled_in", PERCENT},
		{"FOR", "since_s", SECONDS_IF_ANY},
	};
	json_t *rows = load_rows(pools);
	int status = print_below(columns, COUNT(columns), rows);

	json_decref(rows);
	return status;
}

int print_draining(const json_t *draining)
{
	static const struct column columns[] = {
		{"DRAINING", "name", TEXT},
		{"POOL", "pool", TEXT},
		{"ARCS", "arcs", INTEGER},
		{"SHARE", "share", PERCENT},
		{"FLOWS", "flows", INTEGER},
		{"LEARNING TCP", "learning_tcp_s", SECONDS},
		{"LEARNING OTHER", "learning_other_s", SECONDS},
		{"CUT OFF IN", "cut_off_s", SECONDS_OR_NEVER},
		{"THEN", "then", TEXT},
	};

	return print_below(columns, COUNT(columns), draining);
}

int print_tables(const json_t *tables)
{
	static const struct column columns[] = {
		{"FLOW TABLE", "name", TEXT},
		{"ENTRIES", "size", TABLE_SIZE},
		{"MEMORY", "bytes", MEBIBYTES},
	};

	return print_rows(columns, COUNT(columns), tables);
}

int print_vips(const json_t *vips)
{
	static const struct column columns[] = {
		{"VIP", "vip", TEXT},	     {"POOL", "pool", TEXT},
		{"HASH", "hash", TEXT},	     {"PACKETS", "packets", INTEGER},
		{"BYTES", "bytes", INTEGER},
	};

	return print_rows(columns, COUNT(columns), vips);
}

int print_backends(const json_t *backends)
{
	static const struct column columns[] = {
		{"POOL", "pool", TEXT},
		{"BACKEND", "name", TEXT},
		{"ADDRESS", "address", TEXT},
		{"WEIGHT", "weight", NUMBER},
		{"SHARE", "share", PERCENT},
		{"STATE", "state", TEXT},
		{"FLOWS", "flows", INTEGER},
		{"INTERFACE", "interface", TEXT},
		{"MAC", "mac", TEXT},
		{"MTU", "mtu", INTEGER_IF_KNOWN},
		{"PACKETS", "packets", INTEGER},
		{"BYTES", "bytes", INTEGER},
	};

	return print_rows(columns, COUNT(columns), backends);
}

int print_backend_counters(const json_t *backends)
{
	static const struct column columns[] = {
		{"POOL", "pool", TEXT},
		{"BACKEND", "name", TEXT},
		{"PACKETS", "packets", INTEGER},
		{"BYTES", "bytes", INTEGER},
	};

	return print_rows(columns, COUNT(columns), backends);
}

/* Those of @counts that had a packet, or all. The caller's to release. */
static json_t *counted(const json_t *counts, bool all)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(counts); i++) {
		json_t *one = json_array_get(counts, i);

		if (all || answer_integer(one, "packets"))
			json_array_append(rows, one);
	}
	return rows;
}

int print_counts(const char *title, const json_t *counts, bool all)
{
	const struct column columns[] = {
		{title, "name", TEXT},
		{"PACKETS", "packets", INTEGER},
		{"MEANING", "text", TEXT},
	};
	json_t *rows = counted(counts, all);
	int status = print_below(columns, COUNT(columns), rows);

	json_decref(rows);
	return status;
}

int print_verdicts(const json_t *verdicts, bool all)
{
	static const struct column columns[] = {
		{"VERDICT", "name", TEXT},
		{"ACTION", "action", TEXT},
		{"PACKETS", "packets", INTEGER},
		{"MEANING", "text", TEXT},
	};
	json_t *rows = counted(verdicts, all);
	int status = print_rows(columns, COUNT(columns), rows);

	json_decref(rows);
	return status;
}

void print_moved(const json_t *result)
{
	printf(", moved %.2f %% of the hash space\n", answer_percent(result, "moved"));
}
