/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/svg.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define TEXT_LEN 256

int svg_open(struct svg *svg, const char *path, int width, int height, const char *title)
{
	svg->path = path;
	svg->file = fopen(path, "we");
	if (!svg->file) {
		cli_error("cannot write '%s': %s", path, strerror(errno));
		return CLI_FAILED;
	}
	fprintf(svg->file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		width, height, width, height);
	svg_text(svg, 20, 28, "start", 16, "%s", title);
	return CLI_DONE;
}

int svg_close(struct svg *svg)
{
	bool lost;

	fputs("</svg>\n", svg->file);
	lost = ferror(svg->file);
	if (!fclose(svg->file) && !lost)
		return CLI_DONE;
	cli_error("cannot write '%s': %s", svg->path, strerror(errno));
	return CLI_FAILED;
}

const char *svg_colour(size_t index)
{
	static const char *const colours[SVG_COLOURS] = {"#0072b2", "#e69f00", "#009e73",
							 "#cc79a7", "#56b4e9", "#d55e00",
							 "#f0e442", "#999999"};

	return colours[index % SVG_COLOURS];
}

static void write_escaped(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", file);
		else if (*text == '>')
			fputs("&gt;", file);
		else if (*text == '&')
			fputs("&amp;", file);
		else
			fputc(*text, file);
	}
}

void svg_text(struct svg *svg, double x, double y, const char *anchor, int size, const char *format,
	      ...)
{
	char text[TEXT_LEN];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	fprintf(svg->file,
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\" fill=\"#000000\">",
		x, y, anchor, size);
	write_escaped(svg->file, text);
	fputs("</text>\n", svg->file);
}

void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *colour,
	      double width)
{
	fprintf(svg->file,
		"<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" "
		"stroke-width=\"%.2f\"/>\n",
		x1, y1, x2, y2, colour, width);
}

void svg_box(struct svg *svg, double x, double y, double width, double height, const char *colour)
{
	fprintf(svg->file,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", x, y,
		width, height, colour);
}

void svg_draw_sector(struct svg *svg, const struct svg_sector *sector, const char *colour)
{
	/* A whole turn has no beginning: two halves. */
	if (sector->to - sector->from > 0.5) {
		struct svg_sector half = *sector, rest = *sector;

		half.to = rest.from = (sector->from + sector->to) / 2;
		svg_draw_sector(svg, &half, colour);
		svg_draw_sector(svg, &rest, colour);
		return;
	}
	double sin_a = sin(2 * M_PI * sector->from), cos_a = cos(2 * M_PI * sector->from);
	double sin_b = sin(2 * M_PI * sector->to), cos_b = cos(2 * M_PI * sector->to);

	fprintf(svg->file,
		"<path d=\"M%.2f %.2fA%.2f %.2f 0 0 1 %.2f %.2fL%.2f %.2fA%.2f %.2f 0 0 0 %.2f "
		"%.2fZ\" fill=\"%s\"/>\n",
		sector->x + sector->outer * sin_a, sector->y - sector->outer * cos_a, sector->outer,
		sector->outer, sector->x + sector->outer * sin_b, sector->y - sector->outer * cos_b,
		sector->x + sector->inner * sin_b, sector->y - sector->inner * cos_b, sector->inner,
		sector->inner, sector->x + sector->inner * sin_a, sector->y - sector->inner * cos_a,
		colour);
}
