/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/fields.h"
#include "config/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define TABLE_MIN   1024
#define TABLE_MAX   (1U << 24)
#define TIME_MIN_MS 1000
#define TIME_MAX_MS 604800000U

#define MUST_TABLE "must be 1024 to 16777216 entries"
#define MUST_TIME  "must be 1s to 168h"

const struct config_flows config_flows_default = {
	.established = 262144,
	.remembered = 262144,
	.embryonic = 65536,
	.other = 262144,
	.learn_tcp_ms = 3600 * 1000,
	.learn_other_ms = 60 * 1000,
	.idle_tcp_ms = 3 * 3600 * 1000,
	.idle_other_ms = 60 * 1000,
	.opening_ms = 60 * 1000,
	.closing_ms = 60 * 1000,
};

static int parse_table(const char *text, void *out)
{
	size_t len = strspn(text, "0123456789");
	unsigned long entries;

	if (len < 1 || len > 8 || text[len])
		return -EINVAL;
	entries = strtoul(text, NULL, 10);
	if (entries < TABLE_MIN || entries > TABLE_MAX)
		return -EINVAL;
	*(uint32_t *)out = (uint32_t)entries;
	return 0;
}

static int parse_time(const char *text, void *out)
{
	uint32_t duration_ms;

	if (text_parse_duration_ms(text, &duration_ms) || duration_ms < TIME_MIN_MS ||
	    duration_ms > TIME_MAX_MS)
		return -EINVAL;
	*(uint32_t *)out = duration_ms;
	return 0;
}

#define TABLE(field)                                                                               \
	{.name = #field,                                                                           \
	 .parse = parse_table,                                                                     \
	 .must = MUST_TABLE,                                                                       \
	 .offset = offsetof(struct config_flows, field)}
#define TIME(field)                                                                                \
	{.name = #field,                                                                           \
	 .parse = parse_time,                                                                      \
	 .must = MUST_TIME,                                                                        \
	 .offset = offsetof(struct config_flows, field##_ms)}

static const struct config_field fields[] = {
	TABLE(established), TABLE(remembered), TABLE(embryonic), TABLE(other),	TIME(learn_tcp),
	TIME(learn_other),  TIME(idle_tcp),    TIME(idle_other), TIME(opening), TIME(closing),
};

int config_flows_read(yaml_document_t *document, const yaml_node_t *mapping,
		      struct config_flows *flows, struct config_error *error)
{
	const struct config_place place = {.section = CONFIG_ROOT, .field = "flows"};
	int err = config_fields_read(document, mapping, &place, fields, COUNT(fields), flows, NULL,
				     error);

	if (err)
		return err;
	/* A flow forgotten while its arc still learns would be taken for an old one. */
	if (flows->idle_tcp_ms < flows->learn_tcp_ms)
		return config_error_set(error, config_node_mark(mapping),
					"flows.idle_tcp must not be shorter than learn_tcp");
	if (flows->idle_other_ms < flows->learn_other_ms)
		return config_error_set(error, config_node_mark(mapping),
					"flows.idle_other must not be shorter than learn_other");
	return 0;
}
