/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What compare_tracking can be told. */
#ifndef RINGLB_TESTS_COMPARE_OPTIONS_H
#define RINGLB_TESTS_COMPARE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CLIENTS_MIN	      20
#define BACKENDS_AT_FIRST_MAX 32

static struct {
	size_t clients, table, flood, silent;
	size_t backends;
	int steps, every;
	bool json;
} options = {.clients = 20000,
	     .table = 65536,
	     .flood = 262144,
	     .backends = 16,
	     .steps = 720,
	     .every = 30};

static const char usage[] =
	"usage: compare_tracking [OPTION...]\n"
	"  --clients N   connections at a time (20000)\n"
	"  --backends N  at the beginning, up to 32 (16)\n"
	"  --minutes N   simulated time (720)\n"
	"  --every N     minutes from one change to the next (30)\n"
	"  --table N     entries of the tables, of both kinds (65536)\n"
	"  --flood N     SYNs within the minute after the change at half of the time (262144)\n"
	"  --silent N    of 1000 clients, how many pause for two hours at a time (0)\n"
	"  --json        one JSON object instead of the table\n"
	"RINGLB_TEST_SEED is the seed of all that is random.\n";

static size_t read_number(const char *text, size_t min, size_t max)
{
	char *end;
	unsigned long long number = strtoull(text, &end, 10);

	if (*end || number < min || number > max) {
		fprintf(stderr, "compare_tracking: '%s' is not a number of %zu to %zu\n", text, min,
			max);
		exit(2);
	}
	return number;
}

static void read_options(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"clients", 1, NULL, 'c'}, {"backends", 1, NULL, 'b'}, {"minutes", 1, NULL, 'm'},
		{"every", 1, NULL, 'e'},   {"table", 1, NULL, 't'},    {"flood", 1, NULL, 'f'},
		{"silent", 1, NULL, 's'},  {"json", 0, NULL, 'j'},     {},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 'c')
			options.clients = read_number(optarg, CLIENTS_MIN, 1000000);
		else if (option == 'b')
			options.backends = read_number(optarg, 2, BACKENDS_AT_FIRST_MAX);
		else if (option == 'm')
			options.steps = (int)read_number(optarg, 2, 100000);
		else if (option == 'e')
			options.every = (int)read_number(optarg, 1, 100000);
		else if (option == 't')
			options.table = read_number(optarg, 1024, 1 << 24);
		else if (option == 'f')
			options.flood = read_number(optarg, 0, 1 << 30);
		else if (option == 's')
			options.silent = read_number(optarg, 0, 1000);
		else if (option == 'j')
			options.json = true;
		else
			option = '?';
		if (option == '?')
			break;
	}
	if (option != -1 || optind != argc) {
		fputs(usage, stderr);
		exit(2);
	}
}

#endif
