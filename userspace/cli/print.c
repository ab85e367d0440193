/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/print.h"

#include <stdio.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/table.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

static void text(struct table *table, const json_t *object, const char *member)
{
	table_cell(table, "%s", answer_text(object, member));
}

static void integer(struct table *table, const json_t *object, const char *member)
{
	table_cell(table, "%" JSON_INTEGER_FORMAT, answer_integer(object, member));
}

static void seconds(struct table *table, const json_t *object, const char *member)
{
	table_cell(table, "%" JSON_INTEGER_FORMAT " s", answer_integer(object, member));
}

static int finish(struct table *table)
{
	if (!table_print(table))
		return CLI_DONE;
	cli_error("out of memory");
	return CLI_FAILED;
}

int print_interfaces(const json_t *interfaces)
{
	static const struct table_column columns[] = {
		{"INTERFACE", TABLE_LEFT},
		{"INDEX", TABLE_RIGHT},
		{"MODE", TABLE_LEFT},
		{"ATTACH", TABLE_LEFT},
	};
	struct table table;

	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(interfaces); i++) {
		const json_t *interface = json_array_get(interfaces, i);

		text(&table, interface, "name");
		integer(&table, interface, "ifindex");
		text(&table, interface, "mode");
		text(&table, interface, "attach");
	}
	return finish(&table);
}

int print_pools(const json_t *pools)
{
	static const struct table_column columns[] = {
		{"POOL", TABLE_LEFT},	 {"FORWARD", TABLE_LEFT}, {"BACKENDS", TABLE_RIGHT},
		{"WEIGHT", TABLE_RIGHT}, {"VNODES", TABLE_RIGHT}, {"POSITIONS", TABLE_RIGHT},
	};
	struct table table;

	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(pools); i++) {
		const json_t *pool = json_array_get(pools, i);

		text(&table, pool, "name");
		text(&table, pool, "forward");
		integer(&table, pool, "backends");
		text(&table, pool, "weight");
		integer(&table, pool, "vnodes");
		integer(&table, pool, "positions");
	}
	return finish(&table);
}

/* Nothing is printed while nothing moves. */
int print_moving(const json_t *pools)
{
	static const struct table_column columns[] = {
		{"MOVING IN POOL", TABLE_LEFT}, {"ARCS", TABLE_RIGHT},
		{"SHARE", TABLE_RIGHT},		{"OLD FLOWS", TABLE_RIGHT},
		{"LEARNING TCP", TABLE_RIGHT},	{"LEARNING OTHER", TABLE_RIGHT},
	};
	struct table table;
	bool any = false;

	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(pools); i++) {
		const json_t *pool = json_array_get(pools, i);
		const json_t *moving = json_object_get(pool, "moving");

		if (!json_is_object(moving))
			continue;
		any = true;
		text(&table, pool, "name");
		integer(&table, moving, "arcs");
		table_cell(&table, "%.2f %%", answer_percent(moving, "share"));
		integer(&table, moving, "flows");
		seconds(&table, moving, "learning_tcp_s");
		seconds(&table, moving, "learning_other_s");
	}
	/* An empty table holds nothing that would have to be released. */
	if (!any)
		return CLI_DONE;
	putchar('\n');
	return finish(&table);
}

/* Nothing is printed while nobody drains. */
int print_draining(const json_t *draining)
{
	static const struct table_column columns[] = {
		{"DRAINING", TABLE_LEFT},
		{"POOL", TABLE_LEFT},
		{"ARCS", TABLE_RIGHT},
		{"SHARE", TABLE_RIGHT},
		{"FLOWS", TABLE_RIGHT},
		{"LEARNING TCP", TABLE_RIGHT},
		{"LEARNING OTHER", TABLE_RIGHT},
		{"CUT OFF IN", TABLE_RIGHT},
		{"THEN", TABLE_LEFT},
	};
	struct table table;

	if (!json_array_size(draining))
		return CLI_DONE;
	putchar('\n');
	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(draining); i++) {
		const json_t *one = json_array_get(draining, i);

		text(&table, one, "name");
		text(&table, one, "pool");
		integer(&table, one, "arcs");
		table_cell(&table, "%.2f %%", answer_percent(one, "share"));
		integer(&table, one, "flows");
		seconds(&table, one, "learning_tcp_s");
		seconds(&table, one, "learning_other_s");
		if (json_is_integer(json_object_get(one, "cut_off_s")))
			seconds(&table, one, "cut_off_s");
		else
			table_cell(&table, "never");
		text(&table, one, "then");
	}
	return finish(&table);
}

/* A table that is there keeps its size, whatever the configuration says since. */
static void print_size(struct table *table, const json_t *one)
{
	json_int_t size = answer_integer(one, "size"), wanted = answer_integer(one, "configured");

	if (!wanted || wanted == size)
		integer(table, one, "size");
	else
		table_cell(table,
			   "%" JSON_INTEGER_FORMAT " (%" JSON_INTEGER_FORMAT
			   " after 'ringlb down')",
			   size, wanted);
}

int print_tables(const json_t *tables)
{
	static const struct table_column columns[] = {
		{"FLOW TABLE", TABLE_LEFT},
		{"ENTRIES", TABLE_RIGHT},
		{"MEMORY", TABLE_RIGHT},
	};
	struct table table;

	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(tables); i++) {
		const json_t *one = json_array_get(tables, i);

		text(&table, one, "name");
		print_size(&table, one);
		table_cell(&table, "%.1f MiB", (double)answer_integer(one, "bytes") / (1 << 20));
	}
	return finish(&table);
}

int print_vips(const json_t *vips)
{
	static const struct table_column columns[] = {
		{"VIP", TABLE_LEFT},	  {"POOL", TABLE_LEFT},	  {"HASH", TABLE_LEFT},
		{"PACKETS", TABLE_RIGHT}, {"BYTES", TABLE_RIGHT},
	};
	struct table table;

	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(vips); i++) {
		const json_t *vip = json_array_get(vips, i);

		text(&table, vip, "vip");
		text(&table, vip, "pool");
		text(&table, vip, "hash");
		integer(&table, vip, "packets");
		integer(&table, vip, "bytes");
	}
	return finish(&table);
}

int print_backends(const json_t *backends)
{
	static const struct table_column columns[] = {
		{"POOL", TABLE_LEFT},	  {"BACKEND", TABLE_LEFT},   {"ADDRESS", TABLE_LEFT},
		{"WEIGHT", TABLE_RIGHT},  {"SHARE", TABLE_RIGHT},    {"STATE", TABLE_LEFT},
		{"FLOWS", TABLE_RIGHT},	  {"INTERFACE", TABLE_LEFT}, {"MAC", TABLE_LEFT},
		{"PACKETS", TABLE_RIGHT}, {"BYTES", TABLE_RIGHT},
	};
	struct table table;

	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(backends); i++) {
		const json_t *backend = json_array_get(backends, i);

		text(&table, backend, "pool");
		text(&table, backend, "name");
		text(&table, backend, "address");
		text(&table, backend, "weight");
		table_cell(&table, "%.2f %%", answer_percent(backend, "share"));
		text(&table, backend, "state");
		integer(&table, backend, "flows");
		text(&table, backend, "interface");
		text(&table, backend, "mac");
		integer(&table, backend, "packets");
		integer(&table, backend, "bytes");
	}
	return finish(&table);
}

int print_backend_counters(const json_t *backends)
{
	static const struct table_column columns[] = {
		{"POOL", TABLE_LEFT},
		{"BACKEND", TABLE_LEFT},
		{"PACKETS", TABLE_RIGHT},
		{"BYTES", TABLE_RIGHT},
	};
	struct table table;

	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(backends); i++) {
		const json_t *backend = json_array_get(backends, i);

		text(&table, backend, "pool");
		text(&table, backend, "name");
		integer(&table, backend, "packets");
		integer(&table, backend, "bytes");
	}
	return finish(&table);
}

/* Nothing is printed if there was no packet, unless @all. */
int print_counts(const char *title, const json_t *counts, bool all)
{
	const struct table_column columns[] = {
		{title, TABLE_LEFT},
		{"PACKETS", TABLE_RIGHT},
		{"MEANING", TABLE_LEFT},
	};
	struct table table;
	bool any = false;

	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(counts); i++) {
		const json_t *one = json_array_get(counts, i);

		if (!all && !answer_integer(one, "packets"))
			continue;
		any = true;
		text(&table, one, "name");
		integer(&table, one, "packets");
		text(&table, one, "text");
	}
	if (!any)
		return CLI_DONE;
	putchar('\n');
	return finish(&table);
}

int print_verdicts(const json_t *verdicts, bool all)
{
	static const struct table_column columns[] = {
		{"VERDICT", TABLE_LEFT},
		{"ACTION", TABLE_LEFT},
		{"PACKETS", TABLE_RIGHT},
		{"MEANING", TABLE_LEFT},
	};
	struct table table;

	table_init(&table, columns, COUNT(columns));
	for (size_t i = 0; i < json_array_size(verdicts); i++) {
		const json_t *verdict = json_array_get(verdicts, i);

		if (!all && answer_integer(verdict, "packets") == 0)
			continue;
		text(&table, verdict, "name");
		text(&table, verdict, "action");
		integer(&table, verdict, "packets");
		text(&table, verdict, "text");
	}
	return finish(&table);
}

void print_moved(const json_t *result)
{
	printf(", moved %.2f %% of the hash space\n", answer_percent(result, "moved"));
}
