/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One backend's results -> its state: rise, fall and the damping of flapping, by the
 * rules in health.h. Pure: no clock, no I/O, nothing allocated.
 */
#ifndef RINGLB_CONTROL_HEALTH_RECORD_H
#define RINGLB_CONTROL_HEALTH_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define HEALTH_FLAPS	     6 /* changes of state within the window that damp */
#define HEALTH_WINDOW_FACTOR 10
#define HEALTH_DAMPING_MAX   6 /* doublings: 64 times rise */

/**
 * struct health_record - the past of a backend, as far as it counts
 * @up: its state
 * @any: there has been a result
 * @successes, @failures: in a row; one of them is 0
 * @changes: of state, in all
 * @n_times: changes whose time was taken
 * @times_us: when the last HEALTH_FLAPS of them were; the n-th is at n % HEALTH_FLAPS
 * @damping: how many times the successes needed have been doubled
 * @calm_us: since when all results have been the same, or since @damping last fell
 */
struct health_record {
	bool up;
	bool any;
	uint32_t successes;
	uint32_t failures;
	uint32_t changes;
	uint32_t n_times;
	uint64_t times_us[HEALTH_FLAPS];
	unsigned int damping;
	uint64_t calm_us;
};

/** health_record_init() - no results yet, and this state */
void health_record_init(struct health_record *record, bool up);

/**
 * health_record_add() - take a result
 * @check: rise, fall and interval count
 * @now_us: of any clock that does not go back
 *
 * Return: true if the state has changed.
 */
bool health_record_add(struct health_record *record, const struct config_check *check,
		       uint64_t now_us, bool success);

/** health_record_rise() - successes in a row that bring the backend up now */
uint32_t health_record_rise(const struct health_record *record, const struct config_check *check);

#endif
