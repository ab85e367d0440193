/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/address.h"

#define HELP_HINT "see 'ringlb-backend --help'"

/* With less no TCP works well; the largest is what fits in any packet. */
#define MSS_MIN 536
#define MSS_MAX 65495

/* As the load balancer's configuration has it: a shorter one is a slip of the pen. */
#define PREFIX_MIN_IPV4 8
#define PREFIX_MIN_IPV6 16

/* What only attach takes. */
enum given {
	GIVEN_VIP = 1 << 0,
	GIVEN_MODE = 1 << 1,
	GIVEN_GUE_PORT = 1 << 2,
	GIVEN_FROM = 1 << 3,
	GIVEN_MSS = 1 << 4,
	GIVEN_EGRESS = 1 << 5,
};

struct parser {
	struct arguments *out;
	unsigned int given;
	int (*list)(struct parser *parser, const char *value); /* takes the words that follow */
};

static int wrong(const char *what, const char *must, const char *got)
{
	say("%s must be %s, got '%s'", what, must, got);
	return BACKEND_USAGE;
}

static int read_number(const char *what, const char *text, unsigned long min, unsigned long max,
		       uint16_t *out)
{
	char must[64], *end;
	unsigned long value = strtoul(text, &end, 10);

	snprintf(must, sizeof(must), "a number from %lu to %lu", min, max);
	if (text[0] < '0' || text[0] > '9' || *end || value < min || value > max)
		return wrong(what, must, text);
	*out = (uint16_t)value;
	return BACKEND_DONE;
}

static int take_vip(struct parser *parser, const char *value)
{
	struct attach_options *options = &parser->out->options;
	struct backend_prefix vip;

	if (prefix_parse(value, &vip))
		return wrong("--vip",
			     "an address like 192.0.2.1 or 2001:db8::1, or a prefix like "
			     "192.0.2.0/24, without bits behind its length",
			     value);
	if (prefix_bits(&vip) < (vip.address.family == 4 ? PREFIX_MIN_IPV4 : PREFIX_MIN_IPV6))
		return wrong("--vip", "a prefix of /8 or longer, of /16 with IPv6", value);
	if (!address_is_usable(&vip.address))
		return wrong("--vip", "an address that others can reach", value);
	if (prefixes_add(options->vips, &options->n_vips, BACKEND_VIPS_MAX, &vip)) {
		say("there are more than %d VIPs", BACKEND_VIPS_MAX);
		return BACKEND_USAGE;
	}
	parser->given |= GIVEN_VIP;
	parser->list = take_vip;
	return BACKEND_DONE;
}

static int take_from(struct parser *parser, const char *value)
{
	struct attach_options *options = &parser->out->options;
	struct backend_prefix prefix;

	if (prefix_parse(value, &prefix))
		return wrong("--from", "a prefix like 10.0.0.0/24, without bits behind its length",
			     value);
	if (prefixes_add(options->from, &options->n_from, BACKEND_FROM_MAX, &prefix)) {
		say("there are more than %d prefixes for --from", BACKEND_FROM_MAX);
		return BACKEND_USAGE;
	}
	parser->given |= GIVEN_FROM;
	parser->list = take_from;
	return BACKEND_DONE;
}

static int take_mode(struct parser *parser, const char *value)
{
	for (uint32_t mode = MODE_IPIP; mode <= MODE_DR; mode++) {
		if (strcmp(value, mode_name(mode)) != 0)
			continue;
		parser->out->options.mode = mode;
		parser->given |= GIVEN_MODE;
		return BACKEND_DONE;
	}
	return wrong("--mode", "ipip, gue or dr", value);
}

static int take_gue_port(struct parser *parser, const char *value)
{
	parser->given |= GIVEN_GUE_PORT;
	return read_number("--gue-port", value, 1, UINT16_MAX, &parser->out->options.gue_port);
}

static int take_mss(struct parser *parser, const char *value)
{
	parser->given |= GIVEN_MSS;
	return read_number("--mss-clamp", value, MSS_MIN, MSS_MAX, &parser->out->options.mss);
}

static int check_ifname(const char *what, const char *value)
{
	if (value[0] && strlen(value) < IF_NAMESIZE && !strpbrk(value, "/ \t\n"))
		return BACKEND_DONE;
	return wrong(what, "the name of an interface", value);
}

static int take_egress(struct parser *parser, const char *value)
{
	parser->given |= GIVEN_EGRESS;
	snprintf(parser->out->options.egress, IF_NAMESIZE, "%s", value);
	return check_ifname("--egress", value);
}

static int take_state(struct parser *parser, const char *value)
{
	parser->out->state_dir = value;
	return BACKEND_DONE;
}

static const struct {
	const char *name;
	int (*take)(struct parser *parser, const char *value);
} valued[] = {
	{"--vip", take_vip},	       {"--from", take_from},	  {"--mode", take_mode},
	{"--gue-port", take_gue_port}, {"--mss-clamp", take_mss}, {"--egress", take_egress},
	{"--state", take_state},
};

static bool take_flag(struct arguments *out, const char *word)
{
	if (!strcmp(word, "--json"))
		out->json = true;
	else if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		out->help = true;
	else if (!strcmp(word, "--version"))
		out->version = true;
	else if (!strcmp(word, "--verbose"))
		out->verbose = true;
	else
		return false;
	return true;
}

/* argv[*at] is an option; step to its last word. */
static int take_option(struct parser *parser, int argc, char **argv, int *at)
{
	const char *word = argv[*at], *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);

	parser->list = NULL;
	if (take_flag(parser->out, word))
		return BACKEND_DONE;
	for (size_t i = 0; i < sizeof(valued) / sizeof(valued[0]); i++) {
		if (strlen(valued[i].name) != len || strncmp(valued[i].name, word, len) != 0)
			continue;
		if (equals)
			return valued[i].take(parser, equals + 1);
		if (*at + 1 < argc)
			return valued[i].take(parser, argv[++*at]);
		say("option '%s' needs a value, " HELP_HINT, word);
		return BACKEND_USAGE;
	}
	say("unknown option '%s', " HELP_HINT, word);
	return BACKEND_USAGE;
}

static int take_command(struct arguments *out, const char *word)
{
	static const char *const names[] = {
		[COMMAND_ATTACH] = "attach",
		[COMMAND_DETACH] = "detach",
		[COMMAND_CHECK] = "check",
		[COMMAND_STATUS] = "status",
	};

	for (int i = COMMAND_ATTACH; i <= COMMAND_STATUS; i++) {
		if (!strcmp(word, names[i])) {
			out->command = (enum command)i;
			return BACKEND_DONE;
		}
	}
	say("unknown command '%s', " HELP_HINT, word);
	return BACKEND_USAGE;
}

static int take_word(struct parser *parser, const char *word)
{
	struct arguments *out = parser->out;

	if (out->command == COMMAND_NONE)
		return take_command(out, word);
	if (!out->ifname) {
		out->ifname = word;
		return check_ifname("IFACE", word);
	}
	if (parser->list)
		return parser->list(parser, word);
	say("unexpected argument '%s', " HELP_HINT, word);
	return BACKEND_USAGE;
}

static int check_attach(const struct parser *parser)
{
	const struct attach_options *options = &parser->out->options;

	if (parser->given && !(parser->given & GIVEN_VIP))
		say("'attach' needs --vip ADDRESS, " HELP_HINT);
	else if (parser->given & GIVEN_GUE_PORT && !mode_takes_gue(options->mode))
		say("--gue-port does not go with --mode %s", mode_name(options->mode));
	else if (parser->given & GIVEN_FROM && options->mode == MODE_DR)
		say("--from does not go with --mode dr: there is no outer source");
	else if (parser->given & GIVEN_EGRESS && !options->mss)
		say("--egress only says where --mss-clamp works: give that too");
	else
		return BACKEND_DONE;
	return BACKEND_USAGE;
}

static int check_command(const struct parser *parser)
{
	const struct arguments *out = parser->out;

	if (out->command == COMMAND_NONE)
		say("no command given, " HELP_HINT);
	else if (!out->ifname && (out->command == COMMAND_ATTACH || out->command == COMMAND_DETACH))
		say("the interface is missing, " HELP_HINT);
	else if (out->command != COMMAND_ATTACH && parser->given)
		say("only 'attach' takes such options, " HELP_HINT);
	else if (out->json && out->command != COMMAND_CHECK && out->command != COMMAND_STATUS)
		say("only 'check' and 'status' take --json, " HELP_HINT);
	else
		return out->command == COMMAND_ATTACH ? check_attach(parser) : BACKEND_DONE;
	return BACKEND_USAGE;
}

int backend_arguments_read(struct arguments *out, int argc, char **argv)
{
	struct parser parser = {.out = out};
	int status = BACKEND_DONE;

	memset(out, 0, sizeof(*out));
	out->state_dir = BACKEND_STATE_DIR;
	out->options.gue_port = BACKEND_GUE_PORT;
	for (int i = 1; i < argc && !status; i++)
		status = argv[i][0] == '-' ? take_option(&parser, argc, argv, &i)
					   : take_word(&parser, argv[i]);
	if (status || out->help || out->version)
		return status;
	out->has_options = parser.given;
	return check_command(&parser);
}
