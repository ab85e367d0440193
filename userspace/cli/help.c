/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"

#define OPTION_WIDTH 16
#define LINE_WIDTH   100

/* "backend add NAME ADDRESS[:PORT] [--pool POOL]" into @out */
static void synopsis(const struct cli_command *command, char *out, size_t size)
{
	const struct arguments_option *option;
	bool required;
	size_t len;

	len = (size_t)snprintf(out, size, "%s%s%s", command->group ? command->group : "",
			       command->group ? " " : "", command->name);
	for (size_t i = 0; command->operands[i] && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, " %s%s", command->operands[i],
					command->repeats && !command->operands[i + 1] ? "..." : "");
	if (command->options & CLI_FLEET && len < size)
		len += (size_t)snprintf(out + len, size - len, " [FLEET]");
	if (command->options & CLI_SIMULATE && len < size)
		len += (size_t)snprintf(out + len, size - len, " [EXPERIMENT]");
	for (option = arguments_options; option->name && len < size; option++) {
		/* Those that describe a fleet are a list of their own. */
		if (!(command->options & option->bit) || option->bit & (CLI_FLEET | CLI_SIMULATE))
			continue;
		required = command->required & option->bit;
		len += (size_t)snprintf(out + len, size - len, " %s%s%s%s%s", required ? "" : "[",
					option->name, option->value ? " " : "",
					option->value ? option->value : "", required ? "" : "]");
	}
}

/* The options that all commands take, or those of @command only. */
static void print_options(const struct cli_command *command)
{
	const struct arguments_option *option;
	char left[32];

	for (option = arguments_options; option->name; option++) {
		if (command ? !(command->options & option->bit) : option->bit != 0)
			continue;
		snprintf(left, sizeof(left), "%s%s%s", option->name, option->value ? " " : "",
			 option->value ? option->value : "");
		printf("  %-*s  %s\n", OPTION_WIDTH, left, option->summary);
	}
}

/* @start and the synopsis, broken before an option if that is too long for a line. */
static void print_synopsis(const char *start, const struct cli_command *command)
{
	size_t room = LINE_WIDTH - strlen(start), len;
	char line[256];

	synopsis(command, line, sizeof(line));
	len = strlen(line);
	if (len > room)
		for (len = room; len && strncmp(line + len, " [", 2) != 0;)
			len--;
	printf("%s%.*s\n", start, (int)len, line);
	if (line[len])
		printf("      %s\n", line + len);
}

void help_all(void)
{
	puts("usage: ringlb [--socket PATH] [--json] COMMAND ...\n\n"
	     "Shows and changes what ringlbd, the layer-4 load balancer, does.\n\n"
	     "commands:");
	for (size_t i = 0; cli_commands[i]; i++) {
		print_synopsis("  ", cli_commands[i]);
		printf("      %s\n", cli_commands[i]->summary);
	}
	puts("\noptions, before or after the command:");
	print_options(NULL);
	puts("\nA VIP is ADDRESS:PORT/PROTOCOL, like 192.0.2.10:80/tcp or [2001:db8::1]:443/tcp. "
	     "The\n"
	     "address may be a prefix, the port a range or any: 192.0.2.0/24:1000-2000/tcp,\n"
	     "[2001:db8::/64]:any/udp.\n\n"
	     "Exit status: 0 done, 1 refused or failed, 2 wrong usage.\n\n"
	     "examples:\n"
	     "  ringlb status\n"
	     "  ringlb backend list --pool web\n"
	     "  ringlb backend weight web1 0.5\n"
	     "  ringlb --json stats | jq '.vips[].packets'\n"
	     "  ringlb backend add --help");
}

void help_command(const struct cli_command *command)
{
	print_synopsis("usage: ringlb [--socket PATH] [--json] ", command);
	printf("\n%s\n", command->about);
	if (command->options) {
		puts("\noptions:");
		print_options(command);
	}
	printf("\nexamples:\n%s\n", command->examples);
}

void help_group(const char *group)
{
	bool first = true;

	for (size_t i = 0; cli_commands[i]; i++) {
		if (!cli_commands[i]->group || strcmp(cli_commands[i]->group, group) != 0)
			continue;
		if (!first)
			putchar('\n');
		help_command(cli_commands[i]);
		first = false;
	}
}
