/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pictures of one ring: its shares, its circle. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/svg.h"
#include "ring/balance.h"

#define WIDTH	  960
#define HEIGHT	  440
#define LEFT	  70
#define RIGHT	  30
#define TOP	  60
#define BOTTOM	  90
#define NAMED_MAX 40 /* columns that have room for their names */
#define STEPS	  1440
#define LEGEND	  24 /* members that have room in it */

static double y_of(double relative, double most)
{
	return HEIGHT - BOTTOM - relative / most * (HEIGHT - TOP - BOTTOM);
}

static void draw_grid(struct svg *svg, double most)
{
	for (int quarters = 0; quarters <= (int)((most + 0.001) * 4); quarters++) {
		double at = quarters / 4.0, y = y_of(at, most);

		svg_line(svg, LEFT, y, WIDTH - RIGHT, y, at == 1 ? "#000000" : "#cccccc",
			 at == 1 ? 1.5 : 0.75);
		svg_text(svg, LEFT - 8, y + 4, "end", 12, "%.2f", at);
	}
}

static void draw_column(struct svg *svg, const struct ring *ring, size_t i, double relative,
			double most, bool peak)
{
	double step = (double)(WIDTH - LEFT - RIGHT) / (double)ring->n_members;
	double x = LEFT + step * (double)i, y = y_of(relative, most);
	double gap = step > 6 ? step * 0.15 : 0;

	svg_box(svg, x + gap, y, step - 2 * gap, HEIGHT - BOTTOM - y, peak ? "#d55e00" : "#0072b2");
	if (peak)
		svg_text(svg, x + step / 2, y - 5, "middle", 12, "%s: %.3f", ring->members[i].name,
			 relative);
	if (ring->n_members > NAMED_MAX)
		return;
	fprintf(svg->file,
		"<text transform=\"translate(%.1f %d) rotate(-45)\" text-anchor=\"end\" "
		"font-size=\"12\">%s</text>\n",
		x + step / 2 + 4, HEIGHT - BOTTOM + 16, ring->members[i].name);
}

int svg_shares(const char *path, const struct ring *ring)
{
	ring_length *lengths = calloc(ring->n_members + 1, sizeof(*lengths));
	struct ring_balance balance;
	double most;
	struct svg svg;
	int status;

	if (!lengths || ring_balance(ring, &balance)) {
		free(lengths);
		return cli_no_memory();
	}
	ring_shares(ring, lengths);
	most = balance.peak > 1.2 ? balance.peak * 1.1 : 1.25;
	status = svg_open(&svg, path, WIDTH, HEIGHT,
			  "Share of the hash space over what the weight asks for");
	if (status) {
		free(lengths);
		return status;
	}
	draw_grid(&svg, most);
	for (size_t i = 0; i < ring->n_members; i++) {
		double expected = ring_expected(ring, (uint16_t)i);

		if (expected > 0)
			draw_column(&svg, ring, i, ring_share(ring, lengths[i]) / expected, most,
				    i == balance.busiest);
	}
	svg_text(&svg, LEFT, HEIGHT - 12, "start", 13,
		 "%zu backends, %zu positions, cv %.4f, peak/mean %.4f", ring->n_members, ring->len,
		 balance.cv, balance.peak);
	free(lengths);
	return svg_close(&svg);
}

/* The place in the middle of a step of the circle. */
static uint64_t place_of(const struct ring *ring, int step)
{
	ring_length circle = ring_circle(ring);

	return (uint64_t)((circle * (2 * (unsigned int)step + 1)) / (2 * STEPS));
}

static void draw_owners(struct svg *svg, const struct ring *ring, double x, double y)
{
	for (int step = 0, end; step < STEPS; step = end) {
		uint16_t owner = ring_owner(ring, place_of(ring, step));
		struct svg_sector sector = {.x = x, .y = y, .inner = 170, .outer = 230};

		for (end = step + 1; end < STEPS && ring_owner(ring, place_of(ring, end)) == owner;)
			end++;
		sector.from = (double)step / STEPS;
		sector.to = (double)end / STEPS;
		svg_draw_sector(svg, &sector, svg_colour(owner));
	}
}

/*
 * Where it moves, a bar outside the circle: the more of that step moves the longer, the
 * longest for the step of which most does.
 */
static int draw_moves(struct svg *svg, const struct ring *ring, const struct ring *after, double x,
		      double y, double *moved)
{
	double *bars = calloc(STEPS, sizeof(*bars));
	struct ring_range *ranges = NULL;
	double longest = 0;
	size_t n = 0;

	if (!bars || ring_compare(ring, after, &ranges, &n)) {
		free(bars);
		return cli_no_memory();
	}
	for (size_t i = 0; i < n; i++) {
		double from = (double)ranges[i].first / (double)ring_circle(ring) * STEPS;
		double left = ring_share(ring, ranges[i].length) * STEPS;

		*moved += left / STEPS;
		while (left > 1e-12) {
			double part = 1 - (from - (double)(size_t)from);

			part = part < left ? part : left;
			bars[(size_t)from % STEPS] += part;
			from += part + 1e-12;
			left -= part;
		}
	}
	for (int step = 0; step < STEPS; step++)
		longest = bars[step] > longest ? bars[step] : longest;
	for (int step = 0; step < STEPS; step++) {
		struct svg_sector bar = {x,
					 y,
					 236,
					 236 + 40 * bars[step] / longest,
					 (double)step / STEPS,
					 (double)(step + 1) / STEPS};

		if (bars[step] > 0)
			svg_draw_sector(svg, &bar, "#000000");
	}
	free(bars);
	free(ranges);
	return CLI_DONE;
}

static void draw_legend(struct svg *svg, const struct ring *ring, const ring_length *lengths,
			double x)
{
	for (size_t i = 0; i < ring->n_members && i < LEGEND; i++) {
		double y = 60 + 22 * (double)i;

		svg_box(svg, x, y - 12, 14, 14, svg_colour(i));
		svg_text(svg, x + 22, y, "start", 13, "%s  %.2f %%", ring->members[i].name,
			 100 * ring_share(ring, lengths[i]));
	}
	if (ring->n_members > LEGEND)
		svg_text(svg, x, 60 + 22.0 * LEGEND, "start", 13, "and %zu more; colours repeat",
			 ring->n_members - LEGEND);
}

int svg_ring(const char *path, const struct ring *ring, const struct ring *after)
{
	ring_length *lengths = calloc(ring->n_members + 1, sizeof(*lengths));
	double x = 310, y = 330, moved = 0;
	struct svg svg;
	int status;

	if (!lengths)
		return cli_no_memory();
	ring_shares(ring, lengths);
	status = svg_open(&svg, path, 860, 640,
			  after ? "The ring by owner; black outside: what moves"
				: "The ring by owner");
	if (status) {
		free(lengths);
		return status;
	}
	draw_owners(&svg, ring, x, y);
	if (after)
		status = draw_moves(&svg, ring, after, x, y, &moved);
	svg_text(&svg, x, y - 10, "middle", 15, "%zu backends", ring->n_members);
	svg_text(&svg, x, y + 12, "middle", 13, "%zu positions", ring->len);
	if (after)
		svg_text(&svg, x, y + 34, "middle", 13, "%.2f %% moves", 100 * moved);
	draw_legend(&svg, ring, lengths, 630);
	free(lengths);
	return svg_close(&svg) || status ? CLI_FAILED : CLI_DONE;
}
