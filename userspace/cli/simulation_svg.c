/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/simulation_svg.h"

#include <math.h>
#include <stdlib.h>

#include "cli/svg.h"

#define SERIES_MAX 16

/* What a chart shows of a point. */
struct view {
	bool by_vnodes;
	const char *title;
	const char *x_name;
	const char *y_name;
	const char *theory;
};

static double x_of(const struct view *view, const struct simulation_point *point)
{
	return view->by_vnodes ? point->vnodes : point->servers;
}

static double y_of(const struct view *view, const struct simulation_point *point)
{
	return view->by_vnodes ? point->cv : point->fraction;
}

static double theory_of(const struct view *view, const struct simulation_point *point)
{
	if (!view->by_vnodes)
		return 1 / (point->servers + 1);
	return sqrt((point->servers - 1) / (point->servers * point->vnodes + 1));
}

static bool have_several_vnodes(const struct simulation_point *points, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (points[i].vnodes != points[0].vnodes)
			return true;
	return false;
}

/* The points of one scheme, or of theory if it is NULL; zeros have no place on the axis. */
static int take_series(struct svg_series *series, const struct view *view,
		       const struct simulation_point *points, size_t n, const struct scheme *scheme)
{
	*series = (struct svg_series){
		.name = scheme ? scheme->name : view->theory,
		.theory = !scheme,
		.xs = calloc(n + 1, sizeof(double)),
		.ys = calloc(n + 1, sizeof(double)),
	};
	if (!series->xs || !series->ys)
		return CLI_FAILED;
	for (size_t i = 0; i < n; i++) {
		double y = scheme ? y_of(view, &points[i]) : theory_of(view, &points[i]);

		if ((scheme ? points[i].scheme != scheme : points[i].scheme != points[0].scheme) ||
		    y <= 0)
			continue;
		series->xs[series->n] = x_of(view, &points[i]);
		series->ys[series->n++] = y;
	}
	return CLI_DONE;
}

int simulation_svg(const char *path, const struct simulation_point *points, size_t n)
{
	static const struct view views[] = {
		{false, "Keys that move when one server joins", "servers", "fraction of keys",
		 "least: 1/(N+1)"},
		{true, "How uneven the load is", "vnodes", "cv of keys a server",
		 "sqrt((N-1)/(NV+1))"},
	};
	const struct view *view = &views[have_several_vnodes(points, n)];
	struct svg_series series[SERIES_MAX];
	size_t n_series = 0;
	int status = CLI_DONE;

	for (size_t i = 0; schemes[i] && !status; i++) {
		status = take_series(&series[n_series++], view, points, n, schemes[i]);
		if (!status && !series[n_series - 1].n) {
			n_series--;
			free(series[n_series].xs);
			free(series[n_series].ys);
		}
	}
	if (!status)
		status = take_series(&series[n_series++], view, points, n, NULL);
	if (!status)
		status = svg_chart(path, view->title, view->x_name, view->y_name, series, n_series);
	else
		cli_error("out of memory");
	for (size_t i = 0; i < n_series; i++) {
		free(series[i].xs);
		free(series[i].ys);
	}
	return status;
}
