/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/arguments.h"

#include <stdio.h>
#include <string.h>

#include "config/error.h"

#define HELP_HINT "see 'ringlb --help'"

#define OPTION(field) offsetof(struct cli_options, field)
const struct arguments_option arguments_options[] = {
	{"--socket", "PATH", 0, OPTION(socket),
	 "control socket of ringlbd (" CLI_SOCKET_DEFAULT ")"},
	{"--json", NULL, 0, OPTION(json), "print the result as JSON"},
	{"--help", NULL, 0, OPTION(help), "this text, or that of a command"},
	{"--version", NULL, 0, OPTION(version), "print the version"},
	{"--pool", "POOL", CLI_POOL, OPTION(pool), "pool; needed where several would fit"},
	{"--weight", "W", CLI_WEIGHT, OPTION(weight), "weight, 0 to 1000, at most 3 decimals (1)"},
	{"--hash", "WHAT", CLI_HASH, OPTION(hash),
	 "what of a flow is hashed: 5-tuple, source or source-port-less (5-tuple)"},
	{"--quic-id", "C:HEX", CLI_QUIC_ID, OPTION(quic_id),
	 "server id in its QUIC connection ids, by configuration: 0:12ab (none)"},
	{"--quic-cid", "HEX", CLI_QUIC_CID, OPTION(quic_cid),
	 "for a QUIC packet with this connection id"},
	{"--timeout", "TIME", CLI_TIMEOUT, OPTION(timeout),
	 "cut off what still drains then: 30s, 10m, 1h (never)"},
	{"--now", NULL, CLI_NOW, OPTION(now), "without draining: its flows go elsewhere at once"},
	{"--config", "FILE", CLI_CONFIG, OPTION(config), "answer from a file, without ringlbd"},
	{"--all", NULL, CLI_ALL, OPTION(all), "also the verdicts that no packet had"},
	{"--servers", "LIST", CLI_FLEET, OPTION(servers), "16 for s0 to s15, or names: a,b=2.5,c"},
	{"--points", "LIST", CLI_FLEET, OPTION(points), "positions that are given: s0@15,s1@40"},
	{"--top", "N", CLI_FLEET, OPTION(top), "highest place of --points' circle (2^64 - 1)"},
	{"--hash", "HASH", CLI_FLEET, OPTION(hash),
	 "xxh64, md5-32, md5-mod32, blake2b-64; given: keys are numbers"},
	{"--seed", "N", CLI_FLEET, OPTION(seed), "of the hash; the file's, or 0"},
	{"--vnodes", "V", CLI_FLEET, OPTION(vnodes),
	 "positions of a weight of 1; the file's, or 200"},
	{"--placement", "WAY", CLI_FLEET, OPTION(placement), "ring or capped"},
	{"--cells", "N", CLI_FLEET, OPTION(cells), "of capped: a power of two (65536)"},
	{"--epsilon", "E", CLI_FLEET, OPTION(epsilon), "of capped: share over the mean (0.02)"},
	{"--replicas", "R", CLI_REPLICAS, OPTION(replicas), "how many backends; also -r"},
	{"--spread", "WAY", CLI_REPLICAS, OPTION(spread), "rack: from different racks"},
	{"--to", "SET", CLI_TO, OPTION(to),
	 "the whole new set: LIST as of --servers, or FILE.yaml"},
	{"--flows", "N", CLI_FLOWS, OPTION(flows), "live flows: how many of them would be tracked"},
	{"--ranges", NULL, CLI_RANGES, OPTION(ranges),
	 "list the ranges of the hash space that move"},
	{"--svg", "FILE", CLI_SVG, OPTION(svg), "draw it, too"},
	{"--positions", NULL, CLI_POSITIONS, OPTION(positions),
	 "list all positions and their owners"},
	{"--keys", "PREFIX", CLI_SIMULATE, OPTION(keys), "key i is PREFIXi (key:)"},
	{"--count", "N", CLI_SIMULATE, OPTION(count), "number of keys (200000)"},
	{"--schemes", "LIST", CLI_SIMULATE, OPTION(schemes),
	 "of modulo, ring, capped, jump, rendezvous, maglev, multi-probe (all)"},
	{"--table", "N", CLI_SIMULATE, OPTION(table), "entries of Maglev's table, a prime (65537)"},
	{"--probes", "N", CLI_SIMULATE, OPTION(probes), "of multi-probe (21)"},
	{"--preset", "NAME", CLI_SIMULATE, OPTION(preset),
	 "a published experiment; see docs/ring.md"},
	{"--zipf", "S", CLI_SIMULATE, OPTION(zipf),
	 "key i is asked for in proportion to 1 / i^S (0: all alike)"},
	{"--hot-keys", "N:SHARE", CLI_SIMULATE, OPTION(hot_keys),
	 "the first N keys have this share of the load: 5:0.3"},
	{"--load-cap", "C", CLI_SIMULATE, OPTION(load_cap),
	 "bound rings' loads by C times the mean; see docs/load-cap.md"},
	{"--csv", NULL, CLI_SIMULATE, OPTION(csv), "print the result as CSV"},
	{"--write", "FILE", CLI_WRITE, OPTION(write), "where the packets go; also -w"},
	{"--once", NULL, CLI_TOP, OPTION(once), "print one frame and end"},
	{"--interval", "TIME", CLI_TOP, OPTION(interval), "between two frames: 500ms, 5s (1s)"},
	{"--sort", "KEY", CLI_TOP, OPTION(sort),
	 "packets, bits, share, deviation, flows, health or name (packets)"},
	{"--vip", "VIP", CLI_CAPTURE, OPTION(vip),
	 "only of this VIP, ADDRESS[/LENGTH] or whole as in `ringlb vip list`"},
	{"--client", "PREFIX", CLI_CAPTURE, OPTION(client),
	 "only from or to these clients: ADDRESS or ADDRESS/LENGTH"},
	{"--backend", "NAME", CLI_CAPTURE, OPTION(backend),
	 "only to or from this backend: NAME or POOL/NAME"},
	{"--verdict", "LIST", CLI_CAPTURE, OPTION(verdict),
	 "only with these, or these actions: DROP_TTL,DROP_NO_BACKEND or drop"},
	{"--sample", "N", CLI_CAPTURE, OPTION(sample), "one packet in N of those (1)"},
	{"--packets", "N", CLI_CAPTURE, OPTION(packets), "end after so many (never); also -c"},
	{"--duration", "TIME", CLI_CAPTURE, OPTION(duration),
	 "end after 500ms, 30s, 10m, 1h (never)"},
	{"--pin-dir", "DIR", CLI_PIN_DIR, OPTION(pin_dir),
	 "where the pins are if ringlbd is not running (" CLI_PIN_DIR_DEFAULT ")"},
	{0},
};
_Static_assert(sizeof(arguments_options) / sizeof(arguments_options[0]) <= ARGUMENTS_OPTIONS_MAX,
	       "each has its place in given[]");

static const char *quote(const char *text, char out[CONFIG_QUOTE_LEN])
{
	return config_quote(text, strlen(text), out);
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] && word[1] != '.' && !(word[1] >= '0' && word[1] <= '9');
}

static const struct arguments_option *option_find(const char *name, size_t len)
{
	const struct arguments_option *option;

	/* Too widespread to be refused. */
	if (len == 2 && !strncmp(name, "-h", len))
		name = "--help";
	else if (len == 2 && !strncmp(name, "-r", len))
		name = "--replicas";
	else if (len == 2 && !strncmp(name, "-w", len))
		name = "--write";
	else if (len == 2 && !strncmp(name, "-c", len))
		name = "--packets";
	if (len == 2)
		len = strlen(name);
	for (option = arguments_options; option->name; option++)
		if (strlen(option->name) == len && !strncmp(option->name, name, len))
			return option;
	return NULL;
}

static int option_unknown(const char *word, size_t len)
{
	char name[CONFIG_NAME_MAX + 1], hint[CONFIG_HINT_LEN], quoted[CONFIG_QUOTE_LEN];
	struct config_guess guess = {.word = name};
	const struct arguments_option *option;

	/* A longer one is near to nothing. */
	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	for (option = arguments_options; option->name; option++)
		config_guess_offer(&guess, option->name);
	cli_error("unknown option %s%s, " HELP_HINT, config_quote(word, len, quoted),
		  config_guess_hint(&guess, hint));
	return CLI_USAGE;
}

/* Read the option at argv[*at] and step to its last word. */
static int option_read(struct arguments *out, int argc, char **argv, int *at)
{
	const char *word = argv[*at], *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const struct arguments_option *option = option_find(word, len);
	const char *value;
	bool yes = true;
	char *field;

	if (!option)
		return option_unknown(word, len);
	field = (char *)&out->options + option->offset;
	out->given[option - arguments_options] = true;
	if (!option->value) {
		if (equals) {
			cli_error("option '%s' takes no value, " HELP_HINT, option->name);
			return CLI_USAGE;
		}
		memcpy(field, &yes, sizeof(yes));
		return CLI_DONE;
	}
	if (!equals && *at + 1 == argc) {
		cli_error("option '%s' needs a value, " HELP_HINT, option->name);
		return CLI_USAGE;
	}
	value = equals ? equals + 1 : argv[++*at];
	memcpy(field, &value, sizeof(value));
	return CLI_DONE;
}

int arguments_read(struct arguments *out, int argc, char **argv)
{
	struct arguments arguments = {
		.options = {.socket = CLI_SOCKET_DEFAULT, .pin_dir = CLI_PIN_DIR_DEFAULT},
		.words = argv,
	};
	bool ended = false;
	int status;

	for (int i = 1; i < argc; i++) {
		if (!ended && !strcmp(argv[i], "--")) {
			ended = true;
		} else if (!ended && is_option(argv[i])) {
			status = option_read(&arguments, argc, argv, &i);
			if (status)
				return status;
		} else {
			arguments.words[arguments.n_words++] = argv[i];
		}
	}
	arguments.words[arguments.n_words] = NULL;
	*out = arguments;
	return CLI_DONE;
}

bool arguments_is_group(const char *word)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (cli_commands[i]->group && !strcmp(cli_commands[i]->group, word))
			return true;
	return false;
}

static bool command_is(const struct cli_command *command, char *const *words, size_t n_words)
{
	if (!command->group)
		return !strcmp(command->name, words[0]);
	return n_words > 1 && !strcmp(command->group, words[0]) && !strcmp(command->name, words[1]);
}

static int group_incomplete(const char *group)
{
	char list[128] = "";
	size_t len = 0;

	for (size_t i = 0; cli_commands[i]; i++)
		if (cli_commands[i]->group && !strcmp(cli_commands[i]->group, group) &&
		    len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? ", " : "", cli_commands[i]->name);
	cli_error("'%s' must be followed by one of: %s, see 'ringlb %s --help'", group, list,
		  group);
	return CLI_USAGE;
}

static int command_unknown(const struct arguments *arguments)
{
	const char *group = arguments_is_group(arguments->words[0]) ? arguments->words[0] : NULL;
	const char *word = arguments->words[group ? 1 : 0];
	char hint[CONFIG_HINT_LEN], quoted[CONFIG_QUOTE_LEN];
	struct config_guess guess = {.word = word};
	const struct cli_command *command;

	for (size_t i = 0; cli_commands[i]; i++) {
		command = cli_commands[i];
		if (!group)
			config_guess_offer(&guess, command->group ? command->group : command->name);
		else if (command->group && !strcmp(command->group, group))
			config_guess_offer(&guess, command->name);
	}
	config_guess_hint(&guess, hint);
	if (group)
		cli_error("unknown command %s after '%s'%s, see 'ringlb %s --help'",
			  quote(word, quoted), group, hint, group);
	else
		cli_error("unknown command %s%s, " HELP_HINT, quote(word, quoted), hint);
	return CLI_USAGE;
}

int arguments_command(const struct arguments *arguments, const struct cli_command **out,
		      char ***operands)
{
	if (arguments->n_words == 0) {
		cli_error("no command given, " HELP_HINT);
		return CLI_USAGE;
	}
	for (size_t i = 0; cli_commands[i]; i++) {
		if (command_is(cli_commands[i], arguments->words, arguments->n_words)) {
			*out = cli_commands[i];
			*operands = arguments->words + (cli_commands[i]->group ? 2 : 1);
			return CLI_DONE;
		}
	}
	if (arguments->n_words == 1 && arguments_is_group(arguments->words[0]))
		return group_incomplete(arguments->words[0]);
	return command_unknown(arguments);
}

static bool option_applies(const struct arguments_option *option, const struct cli_command *command)
{
	const struct arguments_option *other;

	for (other = arguments_options; other->name; other++)
		if (!strcmp(other->name, option->name) &&
		    (!other->bit || other->bit & command->options))
			return true;
	return false;
}

int arguments_check(const struct arguments *arguments, const struct cli_command *command,
		    char *const *operands)
{
	size_t n = arguments->n_words - (size_t)(operands - arguments->words), i;
	const struct arguments_option *option;
	char words[64], quoted[CONFIG_QUOTE_LEN];

	snprintf(words, sizeof(words), "%s%s%s", command->group ? command->group : "",
		 command->group ? " " : "", command->name);
	for (option = arguments_options; option->name; option++) {
		if (arguments->given[option - arguments_options] &&
		    !option_applies(option, command)) {
			cli_error("option '%s' does not apply to '%s', see 'ringlb %s --help'",
				  option->name, words, words);
			return CLI_USAGE;
		}
	}
	for (i = 0; command->operands[i]; i++) {
		if (i == n && command->optional && !command->operands[i + 1])
			break;
		if (i == n) {
			/* In brackets is what is left out. */
			cli_error("'%s' needs %s, see 'ringlb %s --help'", words,
				  command->operands[command->operands[0][0] == '[' ? i + 1 : i],
				  words);
			return CLI_USAGE;
		}
	}
	if (i < n && !command->repeats) {
		cli_error("unexpected argument %s, see 'ringlb %s --help'",
			  quote(operands[i], quoted), words);
		return CLI_USAGE;
	}
	for (option = arguments_options; option->name; option++) {
		if (command->required & option->bit &&
		    !arguments->given[option - arguments_options]) {
			cli_error("'%s' needs %s %s, see 'ringlb %s --help'", words, option->name,
				  option->value, words);
			return CLI_USAGE;
		}
	}
	return CLI_DONE;
}
