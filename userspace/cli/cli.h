/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the commands of `ringlb` share: how a command is described, how it ends and
 * how it asks the daemon. Only this room prints.
 */
#ifndef RINGLB_CLI_CLI_H
#define RINGLB_CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define CLI_SOCKET_DEFAULT  "/run/ringlb/ringlb.sock"
#define CLI_PIN_DIR_DEFAULT "/sys/fs/bpf/ringlb"
#define CLI_OPERANDS_MAX    3
#define CLI_POINTS_MAX	    256

enum cli_exit {
	CLI_DONE = 0,
	CLI_FAILED = 1, /* refused by the daemon, or not possible */
	CLI_USAGE = 2,	/* wrong usage; nothing was tried */
};

struct cli_options {
	const char *socket;
	const char *pin_dir;
	const char *pool; /* NULL if not given, as the next two */
	const char *weight;
	const char *config;
	const char *timeout;
	const char *servers;
	const char *points;
	const char *top;
	const char *hash;
	const char *seed;
	const char *vnodes;
	const char *placement;
	const char *cells;
	const char *epsilon;
	const char *replicas;
	const char *spread;
	const char *to;
	const char *flows;
	const char *keys;
	const char *count;
	const char *schemes;
	const char *table;
	const char *probes;
	const char *preset;
	const char *zipf;
	const char *hot_keys;
	const char *load_cap;
	const char *svg;
	bool positions;
	bool csv;
	bool ranges;
	const char *quic_id;
	const char *quic_cid;
	const char *write;
	const char *packets;
	const char *sample;
	const char *verdict;
	const char *interval;
	const char *sort;
	bool once;
	const char *vip;
	const char *client;
	const char *backend;
	const char *duration;
	bool all;
	bool now;
	bool json;
	bool help;
	bool version;
};

/* Options that only some commands take. */
enum cli_option_bit {
	CLI_POOL = 1 << 0,
	CLI_WEIGHT = 1 << 1,
	CLI_CONFIG = 1 << 2,
	CLI_ALL = 1 << 3,
	CLI_PIN_DIR = 1 << 4,
	CLI_TIMEOUT = 1 << 5,
	CLI_NOW = 1 << 6,
	CLI_FLEET = 1 << 7,
	CLI_REPLICAS = 1 << 8,
	CLI_TO = 1 << 9,
	CLI_FLOWS = 1 << 10,
	CLI_RANGES = 1 << 11,
	CLI_SIMULATE = 1 << 12,
	CLI_POSITIONS = 1 << 13,
	CLI_SVG = 1 << 14,
	CLI_QUIC_ID = 1 << 15,
	CLI_QUIC_CID = 1 << 16,
	CLI_HASH = 1 << 17,
	CLI_CAPTURE = 1 << 18,
	CLI_WRITE = 1 << 19,
	CLI_TOP = 1 << 20,
};

/**
 * struct cli_command - one command, as the parser and the help see it
 * @group: first of its two words, or NULL if it has but one
 * @operands: their names, all of them required
 * @repeats: the last operand may come more than once
 * @optional: one operand may be left out: the first if it is in brackets, else the last
 * @options, @required: enum cli_option_bit
 * @about: paragraphs of the help, broken into lines
 * @examples: lines of the help
 * @run: @operands are as many as described, then comes a NULL. Return: enum cli_exit; says why on
 * stderr.
 */
struct cli_command {
	const char *group;
	const char *name;
	const char *operands[CLI_OPERANDS_MAX + 1];
	bool repeats;
	bool optional;
	unsigned int options;
	unsigned int required;
	const char *summary;
	const char *about;
	const char *examples;
	int (*run)(const struct cli_options *options, char *const *operands);
};

/* All commands, in the order of the help; ends with NULL. */
extern const struct cli_command *const cli_commands[];

/** cli_error() - "ringlb: ..." on stderr, on one line whatever the arguments hold */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** cli_no_memory() - say so. Return: CLI_FAILED */
int cli_no_memory(void);

/** cli_print_json() - @value on stdout */
void cli_print_json(const json_t *value);

/**
 * cli_ask() - ask the daemon and print its answer
 * @request: taken over; NULL is reported as a lack of memory
 * @print: prints the result for people; with --json it is printed as it came
 *
 * Return: enum cli_exit; says why on stderr.
 */
int cli_ask(const struct cli_options *options, json_t *request, int timeout_s,
	    int (*print)(const struct cli_options *options, const json_t *result));

#endif
