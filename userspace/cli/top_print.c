/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A struct top_view as lines that fit a screen. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/top.h"

#define I	 "%" JSON_INTEGER_FORMAT
#define LINE_MAX 512
#define RATE_LEN 16
/* Names are cut to this, so that numbers stay in their columns. */
#define NAME_WIDTH 24

/* Lines that have room: one fewer than there are, as the last is for the keys. */
struct page {
	FILE *out;
	unsigned int width;
	unsigned int left;
	bool endless;
	const char *end;
};

static void line(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(struct page *page, const char *format, ...)
{
	char text[LINE_MAX];
	va_list arguments;
	size_t len;

	if (!page->endless && !page->left)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (page->width && strlen(text) > page->width)
		text[page->width] = 0;
	/* No spaces at the end, and no byte of a message moves the cursor. */
	for (len = strlen(text); len && text[len - 1] == ' '; len--)
		text[len - 1] = 0;
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	fprintf(page->out, "%s%s", text, page->end);
	page->left -= !page->endless;
}

/* "0", "9.5", "123", "4.56k", "7.89M" */
static const char *text_rate(double value, char out[RATE_LEN])
{
	static const char *const units[] = {"", "k", "M", "G", "T"};
	size_t unit = 0;
	int digits;

	while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	digits = value >= 99.5 || (!unit && value == (double)(long)value) ? 0
		 : value >= 9.95					  ? 1
									  : 2;
	if (!unit && digits == 2)
		digits = 1;
	snprintf(out, RATE_LEN, "%.*f%s", digits, value, units[unit]);
	return out;
}

static void print_head(struct page *page, const struct top_view *view)
{
	const json_t *status = view->now.status;
	char sent[RATE_LEN], passed[RATE_LEN], dropped[RATE_LEN];
	json_int_t up_s = answer_integer(status, "uptime_s");

	line(page, "ringlbd %s, pid " I ", up " I ":%02d:%02d, %.1f s",
	     answer_text(status, "version"), answer_integer(status, "pid"), up_s / 3600,
	     (int)(up_s / 60 % 60), (int)(up_s % 60), view->seconds);
	line(page, "packets/s: %s sent, %s dropped, %s passed to the kernel",
	     text_rate(view->totals.sent, sent), text_rate(view->totals.dropped, dropped),
	     text_rate(view->totals.passed, passed));
	if (view->note[0])
		line(page, "! %s", view->note);
}

static void print_drops(struct page *page, const struct top_view *view)
{
	char text[LINE_MAX] = "", number[RATE_LEN];
	size_t len = 0;
	const char *name;
	json_t *value;

	json_object_foreach(view->drops, name, value)
	{
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %s %s", len ? "," : "",
					name, text_rate(json_number_value(value), number));
		if (len >= sizeof(text))
			break;
	}
	if (len)
		line(page, "dropped/s:%s", text);
}

/* The backends are what one looks at: everything above has a part of the room at most. */
static size_t part_of(const struct page *page, size_t n, size_t parts)
{
	return page->endless || n < page->left / parts ? n : page->left / parts;
}

static void print_moving(struct page *page, const struct top_view *view)
{
	for (size_t i = 0; i < view->n_pools; i++) {
		const json_t *pool = view->pools[i].pool, *moving = json_object_get(pool, "moving");

		if (json_is_object(moving))
			line(page,
			     "moving: pool %s: " I " arcs, %.2f %%, " I
			     " flows hold them, learning " I " s (tcp), " I " s",
			     answer_text(pool, "name"), answer_integer(moving, "arcs"),
			     answer_percent(moving, "share"), answer_integer(moving, "flows"),
			     answer_integer(moving, "learning_tcp_s"),
			     answer_integer(moving, "learning_other_s"));
	}
}

static void print_draining(struct page *page, const struct top_view *view)
{
	const json_t *draining = json_object_get(view->now.status, "draining");
	size_t n = json_array_size(draining), shown = part_of(page, n, 4);

	for (size_t i = 0; i < shown; i++) {
		const json_t *one = json_array_get(draining, i);

		line(page, "draining: %s of pool %s: " I " flows, " I " arcs",
		     answer_text(one, "name"), answer_text(one, "pool"),
		     answer_integer(one, "flows"), answer_integer(one, "arcs"));
	}
	if (shown < n)
		line(page, "... and %zu more that drain", n - shown);
}

static void print_pools(struct page *page, const struct top_view *view)
{
	size_t shown = part_of(page, view->n_pools, 3);
	char packets[RATE_LEN], bits[RATE_LEN];

	line(page, "%s", "");
	line(page, "%-*s %-5s %9s %9s %9s", NAME_WIDTH, "POOL", "WAY", "UP", "PKT/S", "BIT/S");
	for (size_t i = 0; i < shown; i++) {
		const struct top_pool *pool = &view->pools[i];
		char up[32];

		snprintf(up, sizeof(up), "%zu/" I, pool->up,
			 answer_integer(pool->pool, "backends"));
		line(page, "%-*.*s %-5s %9s %9s %9s", NAME_WIDTH, NAME_WIDTH,
		     answer_text(pool->pool, "name"), answer_text(pool->pool, "forward"), up,
		     text_rate(pool->packets_s, packets), text_rate(pool->bits_s, bits));
	}
	if (shown < view->n_pools)
		line(page, "... and %zu more pools (--pool shows one)", view->n_pools - shown);
}

static void print_row(struct page *page, const struct top_row *row)
{
	const json_t *backend = row->backend, *check = json_object_get(backend, "check");
	char packets[RATE_LEN], bits[RATE_LEN], seen[16] = "-";

	if (row->seen >= 0)
		snprintf(seen, sizeof(seen), "%.2f", row->seen * 100);
	line(page, "%-*.*s %-12.12s %-11s %7.2f %7s %9s %9s %7" JSON_INTEGER_FORMAT " %s",
	     NAME_WIDTH, NAME_WIDTH, answer_text(backend, "name"), answer_text(backend, "pool"),
	     answer_text(backend, "state"), row->share * 100, seen,
	     text_rate(row->packets_s, packets), text_rate(row->bits_s, bits),
	     answer_integer(backend, "flows"),
	     json_is_object(check) && !answer_true(check, "up") ? answer_text(check, "reason")
								: "");
}

static void print_rows(struct page *page, const struct top_view *view)
{
	size_t most, shown;

	line(page, "%s", "");
	line(page, "%-*s %-12s %-11s %7s %7s %9s %9s %7s %s", NAME_WIDTH, "BACKEND", "POOL",
	     "STATE", "SHARE %", "SEEN %", "PKT/S", "BIT/S", "FLOWS", "REASON");
	most = page->endless ? view->n_rows : page->left;
	/* The line that says how many are missing takes the place of one. */
	shown = view->n_rows <= most ? view->n_rows : most ? most - 1 : 0;
	for (size_t i = 0; i < shown; i++)
		print_row(page, &view->rows[i]);
	if (shown < view->n_rows)
		line(page, "... and %zu more backends", view->n_rows - shown);
}

void top_print(FILE *out, const struct top_view *view, enum top_sort sort, unsigned int width,
	       unsigned int height, const char *end)
{
	struct page page = {
		.out = out,
		.width = width,
		.left = height ? height - 1 : 0,
		.endless = !height,
		.end = end,
	};

	print_head(&page, view);
	print_drops(&page, view);
	print_moving(&page, view);
	print_draining(&page, view);
	print_pools(&page, view);
	print_rows(&page, view);
	if (!height)
		return;
	page = (struct page){.out = out, .width = width, .left = 1, .end = ""};
	line(&page,
	     "q quit; by %s: p packets, b bits, s share, d deviation, f flows, h health, n name",
	     top_sort_name(sort));
}
