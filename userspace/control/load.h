/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bounded loads of pools that have a load_cap: backends' packets a second are measured,
 * and once an interval those that have too much lend arcs, as ring/spill.h says. What is
 * lent is a change of the ring like any other: the arcs move, their flows stay. It is
 * kept in memory alone: a daemon that starts has everything given back.
 */
#ifndef RINGLB_CONTROL_LOAD_H
#define RINGLB_CONTROL_LOAD_H

#include "control/change.h"

/* Intervals without a step after a start, or a change of the pool: rates settle so long. */
#define LOAD_SETTLE_INTERVALS 3
/* Fewer packets a second than this, in a pool, are no reason to move anything. */
#define LOAD_MIN_PACKETS 100

/**
 * load_prepare() - lay on @pool->pure what stays lent of the live pool
 * @from: @pool's configuration; @pool has its ids and takes
 *
 * Fills @pool->load, @pool->spills and @pool->ring. Return: 0 or -errno.
 */
int load_prepare(const struct control *control, const struct config_pool *from,
		 struct control_pool *pool);

void load_release(struct control_pool *pool);

/**
 * load_tick() - measure, and make a step where it is time; for control_tick()
 *
 * Return: 0; -errno with @error filled, then the next step tries again.
 */
int load_tick(struct control *control, struct control_error *error);

/* One backend's part in it: shares of the hash space, and milliseconds of the clock. */
struct load_status {
	double packets_per_s;
	double of_mean; /* over what its weight asks for; 0 if it asks for nothing */
	double lent;
	double borrowed;
	int64_t since_ms; /* it has lent something; 0: nothing now */
};

/**
 * load_status() - how it stands with each backend of a pool that has a load_cap
 * @out: receives an entry for each member of its ring
 *
 * Return: packets a second of all that take new flows; -ENOMEM.
 */
double load_status(const struct control_pool *pool, struct load_status *out);

#endif
