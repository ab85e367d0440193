/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/health_record.h"

void health_record_init(struct health_record *record, bool up)
{
	*record = (struct health_record){.up = up};
}

uint32_t health_record_rise(const struct health_record *record, const struct config_check *check)
{
	return check->rise << record->damping;
}

static uint64_t window_us(const struct config_check *check)
{
	return 1000ULL * HEALTH_WINDOW_FACTOR * check->interval_ms * (check->rise + check->fall);
}

/* Halve once for each window of calm. A result that differs from the last begins a new one. */
static void record_calm(struct health_record *record, const struct config_check *check,
			uint64_t now_us, bool success)
{
	bool same = record->any && (success ? record->successes > 0 : record->failures > 0);

	if (!same) {
		record->calm_us = now_us;
		return;
	}
	while (record->damping && now_us - record->calm_us >= window_us(check)) {
		record->damping--;
		record->calm_us += window_us(check);
	}
}

static void record_change(struct health_record *record, const struct config_check *check,
			  uint64_t now_us)
{
	uint64_t oldest_us;

	record->up = !record->up;
	record->changes++;
	record->times_us[record->n_times++ % HEALTH_FLAPS] = now_us;
	if (record->up || record->n_times < HEALTH_FLAPS)
		return;
	/* What would be overwritten next. */
	oldest_us = record->times_us[record->n_times % HEALTH_FLAPS];
	if (now_us - oldest_us <= window_us(check) && record->damping < HEALTH_DAMPING_MAX)
		record->damping++;
}

bool health_record_add(struct health_record *record, const struct config_check *check,
		       uint64_t now_us, bool success)
{
	record_calm(record, check, now_us, success);
	record->any = true;
	record->successes = success ? record->successes + 1 : 0;
	record->failures = success ? 0 : record->failures + 1;
	if (record->up ? record->failures < check->fall
		       : record->successes < health_record_rise(record, check))
		return false;
	record_change(record, check, now_us);
	return true;
}
