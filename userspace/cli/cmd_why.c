/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/values.h"
#include "config/text.h"

#define I "%" JSON_INTEGER_FORMAT

static void line(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *what, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("%-10s ", what);
	vprintf(format, arguments);
	putchar('\n');
	va_end(arguments);
}

static const char *text_hashed(const char *hashed)
{
	if (!strcmp(hashed, "source"))
		return "of the source address alone";
	if (!strcmp(hashed, "source-port-less"))
		return "of all but the source port";
	return "of both addresses, both ports and the protocol";
}

static void print_vip(const json_t *result)
{
	const json_t *matched = json_object_get(result, "matched");
	const char *ports = answer_text(matched, "ports");

	line("vip", "%s: by address %s, ports %s", answer_text(result, "vip"),
	     answer_text(matched, "address"), strcmp(ports, "0") != 0 ? ports : "any");
	line("pool", "%s (%s), " I " positions, generation " I, answer_text(result, "pool"),
	     answer_text(result, "forward"), answer_integer(result, "positions"),
	     answer_integer(result, "generation"));
}

static void print_moving(const json_t *moving)
{
	if (json_is_null(moving) || !moving) {
		line("moving", "no: the owner is all there is to know, no flow table is asked");
		return;
	}
	if (!answer_true(moving, "learning"))
		line("previous", "%s; flows that nobody remembers are the owner's",
		     answer_text(moving, "previous"));
	else
		line("previous", "%s; for " I " s more it gets flows that nobody remembers",
		     answer_text(moving, "previous"), answer_integer(moving, "learning_s"));
}

static void print_memory(const json_t *memory)
{
	const char *void_by = json_string_value(json_object_get(memory, "void"));

	if (!json_is_object(memory))
		line("flow entry", "none");
	else
		line("flow entry",
		     "%s, in table '%s', last packet " I " s ago, forgotten in " I " s%s%s",
		     answer_text(memory, "backend"), answer_text(memory, "table"),
		     answer_integer(memory, "idle_s"), answer_integer(memory, "left_s"),
		     void_by ? "; void: " : "", void_by ? void_by : "");
}

static void print_ring(const json_t *result)
{
	const json_t *arc = json_object_get(result, "arc"),
		     *moving = json_object_get(arc, "moving");

	if (!json_is_object(arc)) {
		line("ring", "empty");
		return;
	}
	line("hash", "%s %s (%s)", answer_text(result, "hash"),
	     text_hashed(answer_text(result, "hashed")), answer_text(result, "hashed"));
	line("arc", "%s to %s, slot " I ", %.4f %% of the hash space", answer_text(arc, "first"),
	     answer_text(arc, "last"), answer_integer(result, "slot"),
	     answer_percent(arc, "share"));
	line("owner", "%s", answer_text(arc, "owner"));
	print_moving(moving);
	if (json_is_object(moving))
		print_memory(json_object_get(result, "remembered"));
	if (json_object_get(result, "quic"))
		line("quic", "%s: %s", answer_text(result, "quic"),
		     answer_text(result, "quic_text"));
	else if (answer_true(result, "quic_ids_count"))
		line("quic", "connection ids count here: see --quic-cid");
}

static const char *text_by(const char *by)
{
	if (!strcmp(by, "previous"))
		return "the previous owner, and remembered";
	if (!strcmp(by, "remembered"))
		return "as is remembered";
	if (!strcmp(by, "connection-id"))
		return "by the connection id";
	return "the owner";
}

static void print_way(const json_t *one)
{
	const json_t *outer = json_object_get(one, "outer");
	char source[TEXT_ENDPOINT_LEN], destination[TEXT_ENDPOINT_LEN];

	if (!json_object_get(one, "backend"))
		return;
	line("backend", "%s at %s, %s", answer_text(one, "backend"), answer_text(one, "address"),
	     answer_text(one, "state"));
	if (outer)
		line("outer", "%s > %s", answer_peer(outer, "source", "source_port", source),
		     answer_peer(outer, "destination", "destination_port", destination));
	line("next hop", "%s, MAC %s, by interface %s", answer_text(one, "via"),
	     answer_text(one, "mac"), answer_text(one, "interface"));
	if (json_is_integer(json_object_get(one, "longest")))
		line("longest", I " bytes: what is longer is answered with 'too big'",
		     answer_integer(one, "longest"));
}

static void print_verdicts(const json_t *one)
{
	const json_t *verdicts = json_object_get(one, "verdicts");

	for (size_t i = 0; i < json_array_size(verdicts); i++) {
		const json_t *verdict = json_array_get(verdicts, i);

		line("verdict", "%s, if it comes in by %s", answer_text(verdict, "verdict"),
		     answer_text(verdict, "interface"));
	}
}

static void print_counters(const json_t *one)
{
	const json_t *counters = json_object_get(one, "counters");

	for (size_t i = 0; i < json_array_size(counters); i++) {
		const json_t *counter = json_array_get(counters, i);

		line(i ? "" : "counters", "%s %s, now " I, answer_text(counter, "kind"),
		     answer_text(counter, "name"), answer_integer(counter, "packets"));
	}
}

static const char *text_packet(const char *packet)
{
	if (!strcmp(packet, "syn"))
		return "a SYN, which opens a connection";
	if (!strcmp(packet, "later"))
		return "any other one";
	return "any";
}

static void print_case(const json_t *one)
{
	const char *outcome = answer_text(one, "outcome");

	line("packet", "%s: %s%s%s", text_packet(answer_text(one, "packet")), outcome,
	     json_object_get(one, "backend") ? ", to " : "",
	     json_object_get(one, "backend") ? text_by(answer_text(one, "by")) : "");
	print_way(one);
	print_verdicts(one);
	print_counters(one);
	if (!json_object_get(one, "reason"))
		return;
	line("because", "%s", answer_text(one, "reason"));
	line("remedy", "%s", answer_text(one, "remedy"));
}

static void print_nobody(const json_t *result)
{
	const json_t *near = json_object_get(result, "near");
	const json_t *reply = json_object_get(result, "reply");

	if (json_is_object(reply))
		line("vip", "none, but the source is a nat backend: it becomes %s",
		     answer_text(reply, "source"));
	else
		line("vip", "none");
	for (size_t i = 0; i < json_array_size(near); i++)
		line(i ? "" : "there is", "%s", json_string_value(json_array_get(near, i)));
}

static void print_missing(const json_t *interfaces)
{
	for (size_t i = 0; i < json_array_size(interfaces); i++) {
		const json_t *one = json_array_get(interfaces, i);

		if (!answer_true(one, "attached"))
			line("but",
			     "no program is on %s: its packets never get here (ringlb reload)",
			     answer_text(one, "name"));
	}
}

static int print_why(const struct cli_options *options, const json_t *result)
{
	const json_t *cases = json_object_get(result, "cases");

	(void)options;
	if (json_is_string(json_object_get(result, "vip"))) {
		print_vip(result);
		print_ring(result);
	} else {
		print_nobody(result);
	}
	for (size_t i = 0; i < json_array_size(cases); i++)
		print_case(json_array_get(cases, i));
	print_missing(json_object_get(result, "interfaces"));
	return CLI_DONE;
}

static int run_why(const struct cli_options *options, char *const *operands)
{
	const char *protocol = operands[2] ? *operands++ : "tcp";
	struct config_address source, destination;
	uint8_t cid[CONFIG_QUIC_CID_MAX], number;
	uint16_t port;
	size_t len;

	if (!value_read_protocol(protocol, &number) ||
	    !value_read_peer("source", operands[0], &source, &port) ||
	    !value_read_peer("destination", operands[1], &destination, &port) ||
	    (options->quic_cid && !value_read_quic_cid(options->quic_cid, cid, &len)))
		return CLI_USAGE;
	return cli_ask(options,
		       json_pack("{s:s, s:s, s:s, s:s, s:s*}", "command", "why", "protocol",
				 protocol, "source", operands[0], "destination", operands[1],
				 "quic_cid", options->quic_cid),
		       CLIENT_TIMEOUT_S, print_why);
}

const struct cli_command cmd_why = {
	.name = "why",
	.operands = {"[PROTO]", "SRC:PORT", "DST:PORT"},
	.optional = true,
	.options = CLI_QUIC_CID,
	.summary = "why a flow goes where it goes, or does not",
	.about =
		"Explains each stage of the way of a flow's packets, by the maps that these meet:\n"
		"the VIP; the hash and its arc; the owner and, while the arc moves, the previous\n"
		"owner and what is remembered of the flow; the backend, the outer header, the "
		"next\n"
		"hop; the verdict, and the counters that a packet would raise. What is dropped, "
		"or\n"
		"left to the kernel, comes with the reason and what to do. PROTO is tcp (if left\n"
		"out), udp or sctp.",
	.examples = "  ringlb why 198.51.100.7:40000 192.0.2.10:80\n"
		    "  ringlb why udp '[2001:db8:1::7]:40000' '[2001:db8::1]:443'\n"
		    "  ringlb why udp 198.51.100.7:40000 192.0.2.10:443 --quic-cid 0012ab5eed\n"
		    "  ringlb why 198.51.100.7:40000 192.0.2.10:80 --json | jq '.cases[].verdicts'",
	.run = run_why,
};
