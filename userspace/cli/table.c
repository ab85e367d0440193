/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MIN 64

void table_init(struct table *table, const struct table_column *columns, size_t n_columns)
{
	*table = (struct table){.columns = columns, .n_columns = n_columns};
}

static bool table_grow(struct table *table)
{
	size_t size = table->size ? table->size * 2 : CELLS_MIN;
	char **cells = reallocarray(table->cells, size, sizeof(*cells));

	if (!cells)
		return false;
	table->cells = cells;
	table->size = size;
	return true;
}

void table_cell(struct table *table, const char *format, ...)
{
	va_list list;
	char *text;
	int len;

	if (table->failed)
		return;
	if (table->n_cells == table->size && !table_grow(table)) {
		table->failed = true;
		return;
	}
	va_start(list, format);
	len = vasprintf(&text, format, list);
	va_end(list);
	if (len < 0)
		table->failed = true;
	else
		table->cells[table->n_cells++] = text;
}

static size_t column_width(const struct table *table, size_t column)
{
	size_t width = strlen(table->columns[column].title);

	for (size_t i = column; i < table->n_cells; i += table->n_columns)
		if (strlen(table->cells[i]) > width)
			width = strlen(table->cells[i]);
	return width;
}

static void print_cell(const struct table *table, size_t column, size_t width, const char *text)
{
	bool last = column + 1 == table->n_columns;

	if (table->columns[column].align == TABLE_RIGHT)
		printf("%*s", (int)width, text);
	else /* no spaces at the end of a line */
		printf("%-*s", last ? 0 : (int)width, text);
	fputs(last ? "\n" : "  ", stdout);
}

static int print_rows(const struct table *table)
{
	size_t *widths = calloc(table->n_columns, sizeof(*widths));
	size_t column;

	if (!widths)
		return -ENOMEM;
	for (column = 0; column < table->n_columns; column++)
		widths[column] = column_width(table, column);
	for (column = 0; column < table->n_columns; column++)
		print_cell(table, column, widths[column], table->columns[column].title);
	for (size_t i = 0; i < table->n_cells; i++) {
		column = i % table->n_columns;
		print_cell(table, column, widths[column], table->cells[i]);
	}
	free(widths);
	return 0;
}

void table_release(struct table *table)
{
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){0};
}

int table_print(struct table *table)
{
	int err = 0;

	if (table->failed)
		err = -ENOMEM;
	else if (table->n_cells == 0)
		puts("(none)");
	else
		err = print_rows(table);
	table_release(table);
	return err;
}
