/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pictures as SVG 1.1. Colours are those of Okabe and Ito (2008), which people with any
 * kind of colour blindness tell apart; what matters differs in shape, too, so that it
 * can be read in black and white.
 */
#ifndef RINGLB_CLI_SVG_H
#define RINGLB_CLI_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ring/ring.h"

#define SVG_COLOURS 8

struct svg {
	FILE *file;
	const char *path;
};

/** svg_open() - begin a picture of that many pixels. Return: enum cli_exit. */
int svg_open(struct svg *svg, const char *path, int width, int height, const char *title);

/** svg_close() - end it. Return: enum cli_exit; says on stderr if it could not be written. */
int svg_close(struct svg *svg);

/** svg_colour() - one of SVG_COLOURS colours, again from the first after the last */
const char *svg_colour(size_t index);

/** svg_text() - @anchor: start, middle or end; special characters are escaped */
void svg_text(struct svg *svg, double x, double y, const char *anchor, int size, const char *format,
	      ...) __attribute__((format(printf, 6, 7)));

void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *colour,
	      double width);
void svg_box(struct svg *svg, double x, double y, double width, double height, const char *colour);

/* A part of a ring around (x, y), from one turn to another; 0 is the top, clockwise. */
struct svg_sector {
	double x, y;
	double inner, outer;
	double from, to;
};

void svg_draw_sector(struct svg *svg, const struct svg_sector *sector, const char *colour);

/** svg_shares() - a column for each member: its share over what its weight asks for */
int svg_shares(const char *path, const struct ring *ring);

/** svg_ring() - the circle by owner and, if @after is not NULL, what moves to whom */
int svg_ring(const char *path, const struct ring *ring, const struct ring *after);

/**
 * struct svg_series - a line of a chart
 * @xs, @ys: @n of them, ascending by x, all above 0
 * @theory: drawn as a thin line without marks
 */
struct svg_series {
	const char *name;
	double *xs;
	double *ys;
	size_t n;
	bool theory;
};

/** svg_chart() - lines over two logarithmic axes. */
int svg_chart(const char *path, const char *title, const char *x_name, const char *y_name,
	      const struct svg_series *series, size_t n_series);

#endif
