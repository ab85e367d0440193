/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command line of `ringlb`. Options may stand anywhere, as `--name value` or
 * `--name=value`; `--` ends them. What starts like a negative number is no option, so
 * that a weight of -1 is refused as a weight.
 *
 * Not getopt_long(): it would take -1 for an option, accepts abbreviations, which
 * break when an option is added, and cannot say which option was meant.
 */
#ifndef RINGLB_CLI_ARGUMENTS_H
#define RINGLB_CLI_ARGUMENTS_H

#include "cli/cli.h"

#define ARGUMENTS_OPTIONS_MAX 64

struct arguments {
	struct cli_options options;
	bool given[ARGUMENTS_OPTIONS_MAX]; /* by the first of its name in arguments_options */
	char **words;			   /* command and operands; points into argv */
	size_t n_words;
};

/**
 * struct arguments_option - one option, as the parser and the help see it
 * @name: with its dashes. Two of one name, for different commands, have one @offset
 * @value: name of its value in the help, or NULL if it takes none
 * @bit: enum cli_option_bit, or 0 if all commands take it
 * @offset: of a const char * or, without a value, a bool in struct cli_options
 */
struct arguments_option {
	const char *name;
	const char *value;
	unsigned int bit;
	size_t offset;
	const char *summary;
};

/* All options, in the order of the help; ends with a NULL name. */
extern const struct arguments_option arguments_options[];

/**
 * arguments_read() - tell options from words
 * @argv: the words are moved to its beginning
 *
 * Return: CLI_DONE or CLI_USAGE; says why on stderr.
 */
int arguments_read(struct arguments *out, int argc, char **argv);

/**
 * arguments_command() - find the command that the words name
 * @out: receives the command
 * @operands: receives a pointer to the words behind it
 *
 * Return: as arguments_read().
 */
int arguments_command(const struct arguments *arguments, const struct cli_command **out,
		      char ***operands);

/** arguments_check() - what the command needs is there, and nothing else. As arguments_read(). */
int arguments_check(const struct arguments *arguments, const struct cli_command *command,
		    char *const *operands);

/** arguments_is_group() - true if @word is the first of two words of some command */
bool arguments_is_group(const char *word);

#endif
