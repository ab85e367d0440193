/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/check.h"
#include "backend/record_json.h"

static const char *xdp_state(const struct record_interface *entry, const struct program_seen *seen)
{
	if (entry->options.mode == MODE_DR)
		return "none";
	if (!seen->xdp)
		return "missing";
	return seen->generic ? "generic" : "native";
}

static const char *clamp_state(const struct record_interface *entry,
			       const struct program_seen *seen)
{
	if (!entry->egress_ifindex)
		return "none";
	return seen->clamp ? "attached" : "missing";
}

static json_t *counts_to_json(const struct program_facts *facts)
{
	json_t *counts = json_object();

	for (uint32_t i = 0; i < BACKEND_VERDICT_COUNT; i++)
		json_object_set_new(counts, backend_verdict_name(i),
				    json_integer((json_int_t)facts->counts[i]));
	return counts;
}

int status_of(const struct record_interface *entry, json_t **out, struct failure *failure)
{
	const struct program_place place = {entry->ifindex, entry->egress_ifindex};
	struct program_facts *facts = calloc(1, sizeof(*facts));
	struct program_seen seen = {};
	char name[IF_NAMESIZE];
	bool there = if_indextoname(entry->ifindex, name);
	int err = 0;

	if (!facts)
		return fail_with(failure, -ENOMEM, "out of memory");
	if (there)
		err = program_look(&place, &seen, failure);
	if (!err && (seen.xdp || seen.clamp))
		err = program_read(&place, facts, failure);
	if (!err) {
		*out = json_pack("{s:s, s:b, s:s, s:b, s:s, s:o}", "interface",
				 there ? name : entry->name, "present", there, "xdp",
				 xdp_state(entry, &seen), "shared", seen.shared, "clamp",
				 clamp_state(entry, &seen), "counts", counts_to_json(facts));
		if (!*out || json_object_update_new(*out, options_to_json(&entry->options)))
			err = fail_with(failure, -ENOMEM, "out of memory");
	}
	free(facts);
	return err;
}

static const char *text_of(const json_t *status, const char *name)
{
	return json_string_value(json_object_get(status, name));
}

static long long number_of(const json_t *status, const char *name)
{
	return json_integer_value(json_object_get(status, name));
}

static void print_list(const char *before, const json_t *list, const char *empty)
{
	printf("  %-7s", before);
	for (size_t i = 0; i < json_array_size(list); i++)
		printf(" %s", json_string_value(json_array_get(list, i)));
	puts(json_array_size(list) ? "" : empty);
}

static void print_counts(const json_t *counts)
{
	for (uint32_t i = 0; i < BACKEND_VERDICT_COUNT; i++) {
		long long count = number_of(counts, backend_verdict_name(i));

		if (count)
			printf("  %12lld  %s\n", count, backend_verdict_text(i));
	}
}

void status_print(const json_t *status)
{
	const char *xdp = text_of(status, "xdp"), *clamp = text_of(status, "clamp");
	const char *egress = text_of(status, "egress");

	printf("%s: %s", text_of(status, "interface"), text_of(status, "mode"));
	if (!json_is_true(json_object_get(status, "present")))
		printf(", but the interface is gone");
	else if (!strcmp(xdp, "missing"))
		printf(", but the XDP program is missing");
	else if (strcmp(xdp, "none") != 0)
		printf(", %s XDP%s", xdp,
		       json_is_true(json_object_get(status, "shared")) ? ", shared" : "");
	putchar('\n');
	print_list("VIPs", json_object_get(status, "vips"), "");
	if (strcmp(xdp, "none") != 0) {
		print_list("from", json_object_get(status, "from"), " anywhere");
		if (strstr(text_of(status, "mode"), "gue"))
			printf("  %-7s %lld\n", "port", number_of(status, "gue_port"));
	}
	if (strcmp(clamp, "none") != 0)
		printf("  %-7s at most %lld in SYN-ACKs that leave by %s%s\n", "MSS",
		       number_of(status, "mss"), *egress ? egress : text_of(status, "interface"),
		       strcmp(clamp, "missing") ? "" : ", but the tc program is missing");
	print_counts(json_object_get(status, "counts"));
}
