/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* So many lines of a kind in so much time; the others are counted. Pure: the clock is an argument.
 */
#ifndef RINGLB_CONTROL_LOG_LIMIT_H
#define RINGLB_CONTROL_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_LINES	    100
#define LOG_LIMIT_WINDOW_MS 5000

/* All zero: nothing was said yet. */
struct log_limit {
	int64_t since_ms;
	uint32_t lines;
	uint32_t suppressed;
};

/** log_limit_take() - true if one more line may be said now; else it is counted */
static inline bool log_limit_take(struct log_limit *limit, int64_t now_ms)
{
	if (!limit->lines || now_ms - limit->since_ms >= LOG_LIMIT_WINDOW_MS) {
		limit->since_ms = now_ms;
		limit->lines = 0;
	}
	if (limit->lines < LOG_LIMIT_LINES) {
		limit->lines++;
		return true;
	}
	limit->suppressed++;
	return false;
}

/** log_limit_over() - lines that were suppressed until a window that is over, each told once */
static inline uint32_t log_limit_over(struct log_limit *limit, int64_t now_ms)
{
	uint32_t suppressed = limit->suppressed;

	if (!suppressed || now_ms - limit->since_ms < LOG_LIMIT_WINDOW_MS)
		return 0;
	limit->suppressed = 0;
	return suppressed;
}

#endif
