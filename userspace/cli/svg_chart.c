/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines over two logarithmic axes. */
#include <math.h>

#include "cli/cli.h"
#include "cli/svg.h"

#define WIDTH  860
#define HEIGHT 520
#define LEFT   80
#define RIGHT  160
#define TOP    60
#define BOTTOM 60

/* Powers of ten around what is shown. */
struct frame {
	double x_low, x_high, y_low, y_high;
};

static void widen(double value, double *low, double *high)
{
	double below = pow(10, floor(log10(value))), above = pow(10, ceil(log10(value)));

	*low = *low > 0 && *low < below ? *low : below;
	*high = *high > above ? *high : above;
}

static struct frame frame_of(const struct svg_series *series, size_t n_series)
{
	struct frame frame = {0};

	for (size_t i = 0; i < n_series; i++) {
		for (size_t k = 0; k < series[i].n; k++) {
			widen(series[i].xs[k], &frame.x_low, &frame.x_high);
			widen(series[i].ys[k], &frame.y_low, &frame.y_high);
		}
	}
	if (frame.x_high <= frame.x_low)
		frame.x_high = frame.x_low * 10;
	if (frame.y_high <= frame.y_low)
		frame.y_high = frame.y_low * 10;
	return frame;
}

static double x_of(const struct frame *frame, double value)
{
	return LEFT + log(value / frame->x_low) / log(frame->x_high / frame->x_low) *
			      (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct frame *frame, double value)
{
	return HEIGHT - BOTTOM -
	       log(value / frame->y_low) / log(frame->y_high / frame->y_low) *
		       (HEIGHT - TOP - BOTTOM);
}

/* How many times ten goes from @low to @high. */
static int decades(double low, double high)
{
	return (int)floor(log10(high * 1.001 / low));
}

static void draw_axes(struct svg *svg, const struct frame *frame, const char *x_name,
		      const char *y_name)
{
	for (int i = 0; i <= decades(frame->x_low, frame->x_high); i++) {
		double at = frame->x_low * pow(10, i), x = x_of(frame, at);

		svg_line(svg, x, TOP, x, HEIGHT - BOTTOM, "#cccccc", 0.75);
		svg_text(svg, x, HEIGHT - BOTTOM + 20, "middle", 12, "%g", at);
	}
	for (int i = 0; i <= decades(frame->y_low, frame->y_high); i++) {
		double at = frame->y_low * pow(10, i), y = y_of(frame, at);

		svg_line(svg, LEFT, y, WIDTH - RIGHT, y, "#cccccc", 0.75);
		svg_text(svg, LEFT - 8, y + 4, "end", 12, "%g", at);
	}
	svg_text(svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle", 13, "%s", x_name);
	svg_text(svg, LEFT - 60, TOP - 12, "start", 13, "%s", y_name);
}

/* Each line has a mark of its own: square, circle, triangle, cross. */
static void draw_mark(struct svg *svg, size_t kind, double x, double y, const char *colour)
{
	switch (kind % 4) {
	case 0:
		svg_box(svg, x - 4, y - 4, 8, 8, colour);
		break;
	case 1:
		fprintf(svg->file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"/>\n", x,
			y, colour);
		break;
	case 2:
		fprintf(svg->file, "<path d=\"M%.1f %.1fl5 9h-10Z\" fill=\"%s\"/>\n", x, y - 5,
			colour);
		break;
	default:
		svg_line(svg, x - 4, y - 4, x + 4, y + 4, colour, 2);
		svg_line(svg, x - 4, y + 4, x + 4, y - 4, colour, 2);
	}
}

/* @label_y: where the last name was written, so that names do not lie on each other */
static void draw_series(struct svg *svg, const struct frame *frame, const struct svg_series *series,
			size_t index, double *label_y)
{
	static const char *const dashes[] = {"none", "8 4", "2 3", "10 3 2 3"};
	const char *colour = series->theory ? "#000000" : svg_colour(index == 6 ? 7 : index);
	double y = 0;

	fprintf(svg->file,
		"<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-dasharray=\"%s\" "
		"points=\"",
		colour, series->theory ? "1" : "2", series->theory ? "3 3" : dashes[index % 4]);
	for (size_t i = 0; i < series->n; i++) {
		y = y_of(frame, series->ys[i]);
		fprintf(svg->file, "%.1f,%.1f ", x_of(frame, series->xs[i]), y);
	}
	fputs("\"/>\n", svg->file);
	for (size_t i = 0; i < series->n && !series->theory; i++)
		draw_mark(svg, index, x_of(frame, series->xs[i]), y_of(frame, series->ys[i]),
			  colour);
	*label_y = *label_y + 20 > 0 ? *label_y + 20 : y;
	if (!series->theory)
		draw_mark(svg, index, WIDTH - RIGHT + 20, *label_y - 4, colour);
	svg_text(svg, WIDTH - RIGHT + 32, *label_y, "start", 13, "%s", series->name);
}

int svg_chart(const char *path, const char *title, const char *x_name, const char *y_name,
	      const struct svg_series *series, size_t n_series)
{
	struct frame frame = frame_of(series, n_series);
	double label_y = TOP;
	struct svg svg;
	int status = svg_open(&svg, path, WIDTH, HEIGHT, title);

	if (status)
		return status;
	draw_axes(&svg, &frame, x_name, y_name);
	for (size_t i = 0; i < n_series; i++)
		draw_series(&svg, &frame, &series[i], i, &label_y);
	return svg_close(&svg);
}
