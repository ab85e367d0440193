/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two samples of the daemon's counters, and what happened between them: rates, the shares
 * that backends should have and those that they had.
 */
#ifndef RINGLB_CLI_TOP_H
#define RINGLB_CLI_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/client.h"

#define TOP_NOTE_LEN (CLIENT_ERROR_LEN + 32)

/* Answers to `status` and `stats`, and when they came. All zero: there is none. */
struct top_sample {
	json_t *status;
	json_t *stats;
	double at_s;
};

/**
 * struct top_row - a backend between two samples
 * @backend: the daemon's object; of the later sample, as all texts are
 * @seen: its share of the packets to its pool's backends, 0 to 1; negative: there were none
 */
struct top_row {
	const json_t *backend;
	double packets_s;
	double bits_s;
	double share;
	double seen;
};

struct top_pool {
	const json_t *pool;
	size_t up;
	double packets_s;
	double bits_s;
};

/* By action: what became of packets, in packets a second. */
struct top_totals {
	double sent;
	double passed;
	double dropped;
};

/**
 * struct top_view - what is shown
 * @note: one line that is beside the samples, or empty: by who shows it
 */
struct top_view {
	struct top_sample now;
	double seconds;
	struct top_totals totals;
	json_t *drops; /* name: packets a second, of those that there were */
	struct top_pool *pools;
	size_t n_pools;
	struct top_row *rows;
	size_t n_rows;
	char note[TOP_NOTE_LEN];
};

enum top_sort {
	TOP_PACKETS,
	TOP_BITS,
	TOP_SHARE,
	TOP_DEVIATION, /* from the share that it should have */
	TOP_FLOWS,
	TOP_STATE, /* those that are not up first */
	TOP_NAME,
};

/** top_sample_take() - ask the daemon. Return: 0; as client_ask() with @error filled. */
int top_sample_take(struct top_sample *sample, const char *socket, int timeout_s,
		    char error[CLIENT_ERROR_LEN]);

/** top_sample_release() - the sample is all zero afterwards */
void top_sample_release(struct top_sample *sample);

/**
 * top_view_build() - what happened from @before to @now
 * @view: all zero; borrows @now's answers until it is released
 * @pool: only that one's backends; NULL: all
 *
 * A counter that is lower than before began anew and counts from 0. Return: 0; -ENOMEM.
 */
int top_view_build(struct top_view *view, const struct top_sample *before,
		   const struct top_sample *now, const char *pool);
void top_view_release(struct top_view *view);

/** top_sort_find() - read the name of an order, or its key. Return: 0; -EINVAL. */
int top_sort_find(const char *text, enum top_sort *sort);

const char *top_sort_name(enum top_sort sort);

/** top_view_sort() - put the rows in order, the most remarkable first */
void top_view_sort(struct top_view *view, enum top_sort sort);

/** top_view_json() - a new reference; NULL without memory */
json_t *top_view_json(const struct top_view *view);

/**
 * top_print() - as text
 * @width, @height: of the screen, which the text does not leave; 0: as much as there is
 * @end: what ends each line
 */
void top_print(FILE *out, const struct top_view *view, enum top_sort sort, unsigned int width,
	       unsigned int height, const char *end);

#endif
