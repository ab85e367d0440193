/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/text.h"

int config_error_set(struct config_error *error, struct config_mark mark, const char *format, ...)
{
	va_list arguments;

	if (!error)
		return -EINVAL;
	error->line = mark.line;
	error->column = mark.column;
	va_start(arguments, format);
	vsnprintf(error->what, sizeof(error->what), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

const char *config_place_path(const struct config_place *place, char out[CONFIG_PLACE_LEN])
{
	const char *dot = place->field ? "." : "";
	const char *field = place->field ? place->field : "";
	size_t i = place->index;

	switch (place->section) {
	case CONFIG_ROOT:
		snprintf(out, CONFIG_PLACE_LEN, "%s", place->field ? field : "the file");
		break;
	case CONFIG_INTERFACE:
		snprintf(out, CONFIG_PLACE_LEN, "interfaces[%zu]%s%s", i, dot, field);
		break;
	case CONFIG_POOL:
		snprintf(out, CONFIG_PLACE_LEN, "pools[%zu]%s%s", i, dot, field);
		break;
	case CONFIG_BACKEND:
		snprintf(out, CONFIG_PLACE_LEN, "pools[%zu].backends[%zu]%s%s", place->pool, i, dot,
			 field);
		break;
	case CONFIG_VIP:
		snprintf(out, CONFIG_PLACE_LEN, "vips[%zu]%s%s", i, dot, field);
		break;
	}
	return out;
}

const char *config_place_name(const struct config_place *place, const struct config *config,
			      char out[CONFIG_PLACE_LEN])
{
	const char *colon = place->field ? ": " : "";
	const char *field = place->field ? place->field : "";
	char quote[CONFIG_QUOTE_LEN], vip[TEXT_ENDPOINT_LEN];
	const char *kind = NULL, *name = NULL;
	size_t max = CONFIG_NAME_MAX;

	switch (place->section) {
	case CONFIG_ROOT:
		snprintf(out, CONFIG_PLACE_LEN, "%s", field);
		return out;
	case CONFIG_VIP:
		snprintf(out, CONFIG_PLACE_LEN, "VIP %s%s%s",
			 text_vip(&config->vips[place->index], vip), colon, field);
		return out;
	case CONFIG_INTERFACE:
		kind = "interface";
		name = config->interfaces[place->index].name;
		max = IFNAMSIZ;
		break;
	case CONFIG_POOL:
		kind = "pool";
		name = config->pools[place->index].name;
		break;
	case CONFIG_BACKEND:
		kind = "backend";
		name = config->pools[place->pool].backends[place->index].name;
		break;
	}
	config_quote(name, strnlen(name, max), quote);
	snprintf(out, CONFIG_PLACE_LEN, "%s %s%s%s", kind, quote, colon, field);
	return out;
}

const char *config_quote_long(const char *text, size_t len, char *out, size_t out_bytes)
{
	/* Room for an escape, the dots, the closing quote and the zero. */
	const size_t last = out_bytes - strlen("\\x00") - strlen("...'") - 1;
	size_t at = 0, i;

	out[at++] = '\'';
	for (i = 0; i < len && at <= last; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= ' ' && c <= '~')
			out[at++] = (char)c;
		else
			at += (size_t)snprintf(out + at, out_bytes - at, "\\x%02x", c);
	}
	snprintf(out + at, out_bytes - at, "%s'", i < len ? "..." : "");
	return out;
}

const char *config_quote(const char *text, size_t len, char out[CONFIG_QUOTE_LEN])
{
	return config_quote_long(text, len, out, CONFIG_QUOTE_LEN);
}

/* The kernel's own rule: dev_valid_name(). @name need not be terminated. */
bool config_interface_name_valid(const char name[IFNAMSIZ])
{
	size_t len = strnlen(name, IFNAMSIZ);

	if (len < 1 || len >= IFNAMSIZ || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] == '/' || name[i] == ':' || isspace((unsigned char)name[i]))
			return false;
	return true;
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Edits (insert, delete, replace, swap neighbours) that turn @a into @b, letter
 * case aside. Both are at most CONFIG_NAME_MAX long. Three rows of the usual
 * table are enough, as a swap looks two rows back.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][CONFIG_NAME_MAX + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	size_t len = strlen(b);

	for (size_t j = 0; j <= len; j++)
		above[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t *oldest = before;
		int x = tolower((unsigned char)a[i - 1]);

		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			int y = tolower((unsigned char)b[j - 1]);

			row[j] = min(min(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]))
				row[j] = min(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = oldest;
	}
	return above[len];
}

void config_guess_offer(struct config_guess *guess, const char *candidate)
{
	size_t len = strnlen(guess->word, CONFIG_NAME_MAX + 1), distance;

	if (len > CONFIG_NAME_MAX || strnlen(candidate, CONFIG_NAME_MAX + 1) > CONFIG_NAME_MAX)
		return;
	distance = edit_distance(guess->word, candidate);
	/* One slip in three letters: 'pool' is no misspelt 'port'. */
	if (distance > min(len, strlen(candidate)) / 3)
		return;
	if (guess->best && guess->distance <= distance)
		return;
	guess->best = candidate;
	guess->distance = distance;
}

const char *config_guess_hint(const struct config_guess *guess, char out[CONFIG_HINT_LEN])
{
	if (guess->best)
		snprintf(out, CONFIG_HINT_LEN, " (did you mean '%s'?)", guess->best);
	else
		out[0] = '\0';
	return out;
}
