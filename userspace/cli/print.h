/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects of docs/api.md as tables, for the commands that show them. Return: enum
 * cli_exit, CLI_FAILED only for a lack of memory.
 */
#ifndef RINGLB_CLI_PRINT_H
#define RINGLB_CLI_PRINT_H

#include <jansson.h>
#include <stdbool.h>

int print_interfaces(const json_t *interfaces);
int print_pools(const json_t *pools);
int print_moving(const json_t *pools);
int print_loads(const json_t *pools);
int print_draining(const json_t *draining);
int print_tables(const json_t *tables);
int print_vips(const json_t *vips);
int print_backends(const json_t *backends);

/* Counters only. */
int print_backend_counters(const json_t *backends);

/* @all: those without a packet too */
int print_counts(const char *title, const json_t *counts, bool all);
int print_verdicts(const json_t *verdicts, bool all);

/* ", moved 5.88 % of the hash space" and the end of the line; @result has a member `moved`. */
void print_moved(const json_t *result);

#endif
