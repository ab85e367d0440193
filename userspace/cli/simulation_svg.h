/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The result of a simulation as a picture. */
#ifndef RINGLB_CLI_SIMULATION_SVG_H
#define RINGLB_CLI_SIMULATION_SVG_H

#include "cli/simulation.h"

#define SIMULATION_POINTS_MAX (SIMULATION_LIST_MAX * SIMULATION_LIST_MAX)

/* One row, as far as it is drawn. */
struct simulation_point {
	const struct scheme *scheme;
	double servers;
	double vnodes;
	double fraction;
	double cv;
};

/**
 * simulation_svg() - CV against vnodes if there are several numbers of them, or movement
 * against servers
 *
 * Return: enum cli_exit, with the reason on stderr.
 */
int simulation_svg(const char *path, const struct simulation_point *points, size_t n);

#endif
