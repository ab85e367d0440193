/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text in aligned columns. Cells are given row by row, from left to right. A lack of
 * memory is remembered and told by table_print(), so adding cells needs no checks.
 */
#ifndef RINGLB_CLI_TABLE_H
#define RINGLB_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table_column {
	const char *title;
	enum table_align align;
};

struct table {
	const struct table_column *columns;
	size_t n_columns;
	char **cells; /* n_cells, row by row */
	size_t n_cells;
	size_t size;
	bool failed;
};

/** table_init() - an empty table. @columns: kept by reference */
void table_init(struct table *table, const struct table_column *columns, size_t n_columns);

/** table_cell() - add the next cell */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * table_print() - print to stdout, "(none)" if there are no rows, and release
 * Return: 0, or -ENOMEM if cells are missing; then nothing is printed.
 */
int table_print(struct table *table);

/** table_release() - forget the cells without printing them */
void table_release(struct table *table);

#endif
