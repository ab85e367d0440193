/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How evenly a ring shares out its circle. Exact, by arcs; nothing is sampled. Pure,
 * as all of userspace/ring.
 */
#ifndef RINGLB_RING_BALANCE_H
#define RINGLB_RING_BALANCE_H

#include "ring/ring.h"

/**
 * struct ring_balance - shares relative to what the weights say
 * @n_members: those with a weight
 * @cv: standard deviation of share / expected share, over the members
 * @peak, @least: largest and smallest of share / expected share
 * @busiest: index of the member with the peak, RING_NONE if none has a weight
 */
struct ring_balance {
	size_t n_members;
	double cv;
	double peak;
	double least;
	uint16_t busiest;
};

/** ring_expected() - share of the circle that a member's weight asks for, 0 to 1 */
double ring_expected(const struct ring *ring, uint16_t member);

/** ring_balance() - Return: 0, or -ENOMEM with @out as it was. */
int ring_balance(const struct ring *ring, struct ring_balance *out);

#endif
