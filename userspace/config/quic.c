/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/quic.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	/* Sets the bit that tells lower case from upper. */
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read bytes up to what is no pair of digits and return that, or NULL if there is no room. */
static const char *parse_bytes(const char *text, uint8_t *bytes, size_t max, size_t *len)
{
	for (*len = 0; isxdigit((unsigned char)text[0]); text += 2) {
		if (*len == max || !isxdigit((unsigned char)text[1]))
			return NULL;
		bytes[(*len)++] = (uint8_t)(hex_value(text[0]) << 4 | hex_value(text[1]));
	}
	return text;
}

/* Read "0:12ab" and return what follows it, or NULL. */
static const char *parse_one(const char *text, struct config_quic_id ids[CONFIG_QUIC_CONFIGS])
{
	struct config_quic_id *id;
	size_t len;

	if (text[0] < '0' || text[0] >= '0' + CONFIG_QUIC_CONFIGS || text[1] != ':')
		return NULL;
	id = &ids[text[0] - '0'];
	if (id->len)
		return NULL;
	text = parse_bytes(text + 2, id->bytes, CONFIG_QUIC_ID_MAX, &len);
	id->len = (uint8_t)len;
	return len ? text : NULL;
}

int config_quic_parse_cid(const char *text, uint8_t cid[CONFIG_QUIC_CID_MAX], size_t *len)
{
	uint8_t parsed[CONFIG_QUIC_CID_MAX];
	size_t n;

	text = parse_bytes(text, parsed, sizeof(parsed), &n);
	if (!text || *text || !n)
		return -EINVAL;
	memcpy(cid, parsed, n);
	*len = n;
	return 0;
}

int config_quic_parse(const char *text, void *ids)
{
	struct config_quic_id parsed[CONFIG_QUIC_CONFIGS] = {0};

	text = parse_one(text, parsed);
	while (text && *text == ',')
		text = parse_one(text + 1, parsed);
	if (!text || *text)
		return -EINVAL;
	memcpy(ids, parsed, sizeof(parsed));
	return 0;
}

const char *config_quic_hint(const char *text)
{
	size_t digits;

	if (!*text || text[1] != ':')
		return "the configuration, 0 to 6, comes first";
	if (*text == '7')
		return "configuration 7 marks connection ids that name nobody";
	digits = strspn(text + 2, "0123456789abcdefABCDEF");
	if (digits % 2)
		return "a byte has two digits";
	if (digits > 2 * CONFIG_QUIC_ID_MAX)
		return "at most 15 bytes";
	return NULL;
}

const char *config_quic_text(const struct config_quic_id ids[CONFIG_QUIC_CONFIGS],
			     char out[CONFIG_QUIC_TEXT_LEN])
{
	size_t at = 0;

	out[0] = '\0';
	for (int config = 0; config < CONFIG_QUIC_CONFIGS; config++) {
		if (!ids[config].len)
			continue;
		at += (size_t)snprintf(out + at, CONFIG_QUIC_TEXT_LEN - at, "%s%d:", at ? "," : "",
				       config);
		for (uint8_t i = 0; i < ids[config].len; i++)
			at += (size_t)snprintf(out + at, CONFIG_QUIC_TEXT_LEN - at, "%02x",
					       ids[config].bytes[i]);
	}
	return out;
}

static int id_compare(const struct config_quic_id *a, const struct config_quic_id *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->bytes, b->bytes, a->len);
}

bool config_quic_equal(const struct config_quic_id a[CONFIG_QUIC_CONFIGS],
		       const struct config_quic_id b[CONFIG_QUIC_CONFIGS])
{
	for (int config = 0; config < CONFIG_QUIC_CONFIGS; config++)
		if (id_compare(&a[config], &b[config]))
			return false;
	return true;
}

bool config_quic_given(const struct config_quic_id ids[CONFIG_QUIC_CONFIGS])
{
	for (int config = 0; config < CONFIG_QUIC_CONFIGS; config++)
		if (ids[config].len)
			return true;
	return false;
}

/* The ids that the backends of a pool have for one configuration. */
struct judge {
	const struct config_validation *check;
	const struct config_pool *pool;
	size_t pool_index;
	int config;
	const struct config_backend **sorted;
};

static struct config_place place_of(const struct judge *judge, const struct config_backend *backend)
{
	return (struct config_place){
		.section = CONFIG_BACKEND,
		.pool = judge->pool_index,
		.index = (size_t)(backend - judge->pool->backends),
		.field = "quic_id",
	};
}

/* "first at line 8" or "first by backend 'a'". */
static const char *first_by(const struct judge *judge, const struct config_backend *backend,
			    char out[CONFIG_FIRST_LEN])
{
	struct config_place place = place_of(judge, backend);

	if (!judge->check->text)
		place.field = NULL;
	return config_first(judge->check, &place, out);
}

static const struct config_quic_id *id_of(const struct judge *judge,
					  const struct config_backend *backend)
{
	return &backend->quic_ids[judge->config];
}

static int check_length(const struct judge *judge, const struct config_backend *first,
			const struct config_backend *backend)
{
	const struct config_place place = place_of(judge, backend);
	const struct config_quic_id *id = id_of(judge, backend);
	char seen[CONFIG_FIRST_LEN];

	if (id->len > CONFIG_QUIC_ID_MAX)
		return config_refuse(judge->check, &place, CONFIG_MUST_QUIC);
	if (id->len == id_of(judge, first)->len)
		return 0;
	return config_refuse(judge->check, &place,
			     "has %u bytes for configuration %d, which has %u (%s)", id->len,
			     judge->config, id_of(judge, first)->len, first_by(judge, first, seen));
}

/*
 * A connection of a backend without an id would be lost with its client's address, and
 * nobody would know why. One that drains opens none.
 */
static int check_given(const struct judge *judge, const struct config_backend *with)
{
	for (size_t b = 0; b < judge->pool->n_backends; b++) {
		const struct config_backend *backend = &judge->pool->backends[b];
		const struct config_place place = place_of(judge, backend);

		if (!id_of(judge, backend)->len && backend->drain == CONFIG_NO_DRAIN)
			return config_refuse(judge->check, &place,
					     "must have an id for configuration %d, as backend "
					     "'%s' has",
					     judge->config, with->name);
	}
	return 0;
}

static int compare_ids(const void *a, const void *b, void *context)
{
	const struct config_backend *const *x = a, *const *y = b;
	const struct judge *judge = context;
	int order = id_compare(id_of(judge, *x), id_of(judge, *y));

	/* The first in the file is the first of its equals. */
	return order ? order : (*x < *y ? -1 : *x > *y);
}

static int check_twice(struct judge *judge, size_t n)
{
	const struct config_backend *first = NULL, *second = NULL;
	struct config_quic_id only[CONFIG_QUIC_CONFIGS] = {0};
	char text[CONFIG_QUIC_TEXT_LEN], seen[CONFIG_FIRST_LEN];
	struct config_place place;

	qsort_r(judge->sorted, n, sizeof(*judge->sorted), compare_ids, judge);
	for (size_t i = 1; i < n; i++) {
		const struct config_backend *a = judge->sorted[i - 1], *b = judge->sorted[i];

		if (id_compare(id_of(judge, a), id_of(judge, b)) || (second && second < b))
			continue;
		first = a;
		second = b;
	}
	if (!second)
		return 0;
	place = place_of(judge, second);
	only[judge->config] = *id_of(judge, second);
	return config_refuse(judge->check, &place, "%s is given twice (%s)",
			     config_quic_text(only, text), first_by(judge, first, seen));
}

static int check_config(struct judge *judge)
{
	const struct config_backend *first = NULL, *open = NULL;
	size_t n = 0;
	int err = 0;

	for (size_t b = 0; b < judge->pool->n_backends && !err; b++) {
		const struct config_backend *backend = &judge->pool->backends[b];

		if (!id_of(judge, backend)->len)
			continue;
		if (!first)
			first = backend;
		if (!open && backend->drain == CONFIG_NO_DRAIN)
			open = backend;
		judge->sorted[n++] = backend;
		err = check_length(judge, first, backend);
	}
	if (!err && open)
		err = check_given(judge, open);
	return err ? err : check_twice(judge, n);
}

static int check_number(const struct config_validation *check)
{
	const struct config_place nowhere = {.section = CONFIG_ROOT};
	const struct config *config = check->config;
	size_t n = 0;

	for (size_t p = 0; p < config->n_pools; p++)
		for (size_t b = 0; b < config->pools[p].n_backends; b++)
			for (int c = 0; c < CONFIG_QUIC_CONFIGS; c++)
				n += config->pools[p].backends[b].quic_ids[c].len > 0;
	if (n > CONFIG_QUIC_IDS_MAX)
		return config_refuse(check, &nowhere,
				     "%zu ids in quic_id over all pools, at most %d fit", n,
				     CONFIG_QUIC_IDS_MAX);
	return 0;
}

int config_check_quic(const struct config_validation *check)
{
	const struct config *config = check->config;
	struct judge judge = {.check = check};
	int err = check_number(check);

	for (size_t p = 0; p < config->n_pools && !err; p++) {
		judge.pool = &config->pools[p];
		judge.pool_index = p;
		/* One too many, as calloc(0) may return NULL. */
		judge.sorted = calloc(judge.pool->n_backends + 1, sizeof(*judge.sorted));
		if (!judge.sorted)
			return -ENOMEM;
		for (judge.config = 0; judge.config < CONFIG_QUIC_CONFIGS && !err; judge.config++)
			err = check_config(&judge);
		free(judge.sorted);
	}
	return err;
}
