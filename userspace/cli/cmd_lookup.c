/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/offline.h"
#include "cli/values.h"
#include "config/text.h"
#include "control/control.h"
#include "control/lookup_outer.h"

#define HASH_LEN 19 /* 0x, 16 digits, zero */

static void print_member(const json_t *result, const char *member)
{
	if (json_object_get(result, member))
		printf("%-9s  %s\n", member, answer_text(result, member));
}

/* What arrives at the backend: from where, and to where. */
static void print_outer(const json_t *outer)
{
	char source[TEXT_ENDPOINT_LEN], destination[TEXT_ENDPOINT_LEN];

	if (outer)
		printf("%-9s  %s > %s\n", "outer",
		       answer_peer(outer, "source", "source_port", source),
		       answer_peer(outer, "destination", "destination_port", destination));
}

static int print_lookup(const struct cli_options *options, const json_t *result)
{
	(void)options;
	printf("%-9s  %s\n", "vip", answer_text(result, "vip"));
	printf("%-9s  %s (%s)\n", "pool", answer_text(result, "pool"),
	       answer_text(result, "forward"));
	printf("%-9s  %s (%s)\n", "hash", answer_text(result, "hash"),
	       answer_text(result, "hashed"));
	printf("%-9s  %s (slot %" JSON_INTEGER_FORMAT ")\n", "position",
	       answer_text(result, "position"), answer_integer(result, "slot"));
	if (json_object_get(result, "quic"))
		printf("%-9s  %s: %s\n", "quic", answer_text(result, "quic"),
		       answer_text(result, "quic_text"));
	print_member(result, "backend");
	print_member(result, "address");
	print_outer(json_object_get(result, "outer"));
	print_member(result, "state");
	print_member(result, "interface");
	print_member(result, "mac");
	return CLI_DONE;
}

static const char *text_hex(uint64_t hash, char out[HASH_LEN])
{
	snprintf(out, HASH_LEN, "0x%016" PRIx64, hash);
	return out;
}

/* What the daemon would answer, as far as a file can tell. */
static json_t *result_json(const struct lookup_result *result)
{
	const struct config_backend *backend = result->backend;
	char vip[TEXT_ENDPOINT_LEN], address[TEXT_ENDPOINT_LEN];
	char hash[HASH_LEN], position[HASH_LEN];

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s}", "vip", text_vip(result->vip, vip),
		"pool", result->pool->name, "forward", text_forward(result->pool->forward),
		"hashed", text_hash(result->vip->hash), "hash", text_hex(result->hash, hash),
		"slot", result->slot, "position", text_hex(result->position, position), "backend",
		backend->name, "address", text_endpoint(&backend->address, backend->port, address));
}

static int fail(const struct lookup_query *query, int err)
{
	struct config_vip vip = {.address = query->destination,
				 .protocol = query->protocol,
				 .port = query->destination_port};
	char text[TEXT_ENDPOINT_LEN];

	if (err == -ENOENT)
		cli_error("no VIP for %s", text_vip(&vip, text));
	else
		cli_error("cannot look up %s: %s", text_vip(&vip, text), strerror(-err));
	return CLI_FAILED;
}

static int print_found(const struct cli_options *options, const struct config *config,
		       const struct lookup_query *query, const struct lookup_result *found)
{
	const struct encap encap = control_encap(config);
	int status = CLI_DONE;
	json_t *result;

	if (!found->backend) {
		cli_error("pool '%s' has no backend with a weight above 0", found->pool->name);
		return CLI_FAILED;
	}
	result = result_json(found);
	if (!result)
		return fail(query, -ENOMEM);
	if (found->quic) {
		json_object_set_new(result, "quic", json_string(found->quic));
		json_object_set_new(result, "quic_text", json_string(found->quic_text));
	}
	json_object_set_new(result, "outer",
			    lookup_outer(&encap, query, found->pool, found->backend));
	if (options->json)
		cli_print_json(result);
	else
		status = print_lookup(options, result);
	json_decref(result);
	return status;
}

static int lookup_in_file(const struct cli_options *options, const struct lookup_query *query)
{
	struct config config = {0};
	struct lookup_result found;
	struct config_error error;
	int err, status;

	if (offline_read(&config, options->config, &error))
		return CLI_FAILED;
	err = lookup_offline(&config, query, &found);
	status = err ? fail(query, err) : print_found(options, &config, query, &found);
	config_release(&config);
	return status;
}

static bool read_query(struct lookup_query *query, char *const *operands)
{
	if (!value_read_protocol(operands[0], &query->protocol) ||
	    !value_read_peer("source", operands[1], &query->source, &query->source_port) ||
	    !value_read_peer("destination", operands[2], &query->destination,
			     &query->destination_port))
		return false;
	if (query->source.family == query->destination.family)
		return true;
	cli_error("source and destination must both be IPv4 or both IPv6, got '%s' and '%s'",
		  operands[1], operands[2]);
	return false;
}

static bool read_cid(struct lookup_query *query, const char *text)
{
	if (!text)
		return true;
	if (query->protocol != IPPROTO_UDP) {
		cli_error("option '--quic-cid' goes with udp only");
		return false;
	}
	return value_read_quic_cid(text, query->cid, &query->cid_len);
}

static int run_lookup(const struct cli_options *options, char *const *operands)
{
	struct lookup_query query = {0};
	json_t *request;

	if (!read_query(&query, operands) || !read_cid(&query, options->quic_cid))
		return CLI_USAGE;
	if (options->config)
		return lookup_in_file(options, &query);
	request = json_pack("{s:s, s:s, s:s, s:s, s:s*}", "command", "lookup", "protocol",
			    operands[0], "source", operands[1], "destination", operands[2],
			    "quic_cid", options->quic_cid);
	return cli_ask(options, request, CLIENT_TIMEOUT_S, print_lookup);
}

const struct cli_command cmd_lookup = {
	.name = "lookup",
	.operands = {"PROTO", "SRC:PORT", "DST:PORT"},
	.options = CLI_CONFIG | CLI_QUIC_CID,
	.summary = "which backend gets a flow",
	.about = "Shows where the packets of a flow go: its hash, the position on the ring that\n"
		 "owns it and that position's backend; for ipip and gue pools also the addresses "
		 "and\n"
		 "ports of the outer header. PROTO is tcp, udp or sctp. ringlbd answers from the "
		 "maps\n"
		 "that the packets meet; with --config the same is computed from a file. With\n"
		 "--quic-cid it is a QUIC packet, not of those that open a connection, and the\n"
		 "backend is the one that the connection id names, if it names one.",
	.examples = "  ringlb lookup tcp 198.51.100.7:40000 192.0.2.10:80\n"
		    "  ringlb lookup udp '[2001:db8:1::7]:40000' '[2001:db8::1]:443'\n"
		    "  ringlb lookup tcp 198.51.100.7:40000 192.0.2.10:80 --config new.yaml\n"
		    "  ringlb lookup udp 198.51.100.7:40000 192.0.2.10:443 --quic-cid 0012ab5eed",
	.run = run_lookup,
};
