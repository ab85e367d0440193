/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/top.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/answer.h"

static int ask(const char *socket, int timeout_s, const char *command, json_t **result,
	       char error[CLIENT_ERROR_LEN])
{
	json_t *request = json_pack("{s:s}", "command", command);
	int err = client_ask(socket, timeout_s, request, result, error);

	json_decref(request);
	return err;
}

int top_sample_take(struct top_sample *sample, const char *socket, int timeout_s,
		    char error[CLIENT_ERROR_LEN])
{
	struct top_sample taken = {};
	struct timespec now;
	int err = ask(socket, timeout_s, "status", &taken.status, error);

	if (!err)
		err = ask(socket, timeout_s, "stats", &taken.stats, error);
	if (err) {
		top_sample_release(&taken);
		return err;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	taken.at_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	*sample = taken;
	return 0;
}

void top_sample_release(struct top_sample *sample)
{
	json_decref(sample->status);
	json_decref(sample->stats);
	*sample = (struct top_sample){};
}

#define KEY_LEN 160

static const char *key_of(const json_t *object, char key[KEY_LEN])
{
	snprintf(key, KEY_LEN, "%s/%s", answer_text(object, "pool"), answer_text(object, "name"));
	return key;
}

/* @list by "POOL/NAME". */
static json_t *index_of(const json_t *list)
{
	json_t *index = json_object();
	char key[KEY_LEN];

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *one = json_array_get(list, i);

		json_object_set(index, key_of(one, key), one);
	}
	return index;
}

/* What a counter rose by, a second. */
static double rate(const json_t *before, const json_t *now, const char *member, double seconds)
{
	json_int_t from = answer_integer(before, member), to = answer_integer(now, member);

	return (double)(to < from ? to : to - from) / seconds;
}

static void add_verdicts(struct top_view *view, const json_t *before)
{
	json_t *index = index_of(json_object_get(before, "verdicts"));
	const json_t *list = json_object_get(view->now.stats, "verdicts");
	char key[KEY_LEN];

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *action = answer_text(one, "action");
		double packets_s = rate(json_object_get(index, key_of(one, key)), one, "packets",
					view->seconds);

		if (!strcmp(action, "TX") || !strcmp(action, "REDIRECT"))
			view->totals.sent += packets_s;
		else if (!strcmp(action, "PASS"))
			view->totals.passed += packets_s;
		else if (!strcmp(action, "DROP"))
			view->totals.dropped += packets_s;
		if (!strcmp(action, "DROP") && packets_s > 0)
			json_object_set_new(view->drops, answer_text(one, "name"),
					    json_real(packets_s));
	}
	json_decref(index);
}

static struct top_pool *find_pool(struct top_view *view, const char *name)
{
	for (size_t i = 0; i < view->n_pools; i++)
		if (!strcmp(answer_text(view->pools[i].pool, "name"), name))
			return &view->pools[i];
	return NULL;
}

static void add_backends(struct top_view *view, const json_t *before)
{
	json_t *index = index_of(json_object_get(before, "backends"));
	const json_t *list = json_object_get(view->now.stats, "backends");
	char key[KEY_LEN];

	for (size_t i = 0; i < json_array_size(list); i++) {
		struct top_row *row = &view->rows[view->n_rows];
		const json_t *one = json_array_get(list, i), *old;
		struct top_pool *pool = find_pool(view, answer_text(one, "pool"));

		if (!pool)
			continue;
		old = json_object_get(index, key_of(one, key));
		row->backend = one;
		row->share = answer_percent(one, "share") / 100;
		/* Of one that was not there before, it is not known when its packets came. */
		row->packets_s = old ? rate(old, one, "packets", view->seconds) : 0;
		row->bits_s = old ? rate(old, one, "bytes", view->seconds) * 8 : 0;
		pool->packets_s += row->packets_s;
		pool->bits_s += row->bits_s;
		pool->up += !strcmp(answer_text(one, "state"), "up");
		view->n_rows++;
	}
	json_decref(index);
	for (size_t i = 0; i < view->n_rows; i++) {
		struct top_row *row = &view->rows[i];
		double all = find_pool(view, answer_text(row->backend, "pool"))->packets_s;

		row->seen = all > 0 ? row->packets_s / all : -1;
	}
}

int top_view_build(struct top_view *view, const struct top_sample *before,
		   const struct top_sample *now, const char *pool)
{
	const json_t *pools = json_object_get(now->status, "pools");
	size_t n_backends = json_array_size(json_object_get(now->stats, "backends"));

	view->now = *now;
	view->seconds = now->at_s > before->at_s ? now->at_s - before->at_s : 1;
	view->drops = json_object();
	view->pools = calloc(json_array_size(pools) + 1, sizeof(*view->pools));
	view->rows = calloc(n_backends + 1, sizeof(*view->rows));
	if (!view->drops || !view->pools || !view->rows) {
		top_view_release(view);
		return -ENOMEM;
	}
	for (size_t i = 0; i < json_array_size(pools); i++) {
		const json_t *one = json_array_get(pools, i);

		if (!pool || !strcmp(pool, answer_text(one, "name")))
			view->pools[view->n_pools++].pool = one;
	}
	add_verdicts(view, before->stats);
	add_backends(view, before->stats);
	return 0;
}

void top_view_release(struct top_view *view)
{
	json_decref(view->drops);
	free(view->pools);
	free(view->rows);
	*view = (struct top_view){};
}

static const struct {
	const char *name;
	char key;
} orders[] = {
	[TOP_PACKETS] = {"packets", 'p'}, [TOP_BITS] = {"bits", 'b'},
	[TOP_SHARE] = {"share", 's'},	  [TOP_DEVIATION] = {"deviation", 'd'},
	[TOP_FLOWS] = {"flows", 'f'},	  [TOP_STATE] = {"health", 'h'},
	[TOP_NAME] = {"name", 'n'},
};

int top_sort_find(const char *text, enum top_sort *sort)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (strcmp(text, orders[i].name) != 0 && (text[0] != orders[i].key || text[1]))
			continue;
		*sort = (enum top_sort)i;
		return 0;
	}
	return -EINVAL;
}

/* The larger, the further up. */
static double weight_of(const struct top_row *row, enum top_sort sort)
{
	switch (sort) {
	case TOP_BITS:
		return row->bits_s;
	case TOP_SHARE:
		return row->share;
	case TOP_DEVIATION:
		return row->seen < 0 ? -1 : fabs(row->seen - row->share);
	case TOP_FLOWS:
		return (double)answer_integer(row->backend, "flows");
	case TOP_STATE:
		return strcmp(answer_text(row->backend, "state"), "up") != 0;
	case TOP_NAME:
		return 0;
	default:
		return row->packets_s;
	}
}

static int compare(const void *a, const void *b, void *context)
{
	const struct top_row *first = a, *second = b;
	double one = weight_of(first, *(enum top_sort *)context);
	double other = weight_of(second, *(enum top_sort *)context);
	int order;

	if (one != other)
		return one < other ? 1 : -1;
	order = strcmp(answer_text(first->backend, "pool"), answer_text(second->backend, "pool"));
	return order ? order
		     : strverscmp(answer_text(first->backend, "name"),
				  answer_text(second->backend, "name"));
}

void top_view_sort(struct top_view *view, enum top_sort sort)
{
	qsort_r(view->rows, view->n_rows, sizeof(*view->rows), compare, &sort);
}

static json_t *row_json(const struct top_row *row)
{
	const json_t *backend = row->backend;

	return json_pack("{s:s, s:s, s:s, s:s, s:f, s:o, s:f, s:f, s:I}", "pool",
			 answer_text(backend, "pool"), "name", answer_text(backend, "name"),
			 "address", answer_text(backend, "address"), "state",
			 answer_text(backend, "state"), "share", row->share, "seen",
			 row->seen < 0 ? json_null() : json_real(row->seen), "packets_per_s",
			 row->packets_s, "bits_per_s", row->bits_s, "flows",
			 answer_integer(backend, "flows"));
}

json_t *top_view_json(const struct top_view *view)
{
	json_t *pools = json_array(), *rows = json_array();

	for (size_t i = 0; i < view->n_pools; i++) {
		const struct top_pool *pool = &view->pools[i];
		json_t *moving = json_object_get(pool->pool, "moving");

		json_array_append_new(pools, json_pack("{s:s, s:I, s:I, s:f, s:f, s:O*}", "name",
						       answer_text(pool->pool, "name"), "backends",
						       answer_integer(pool->pool, "backends"), "up",
						       (json_int_t)pool->up, "packets_per_s",
						       pool->packets_s, "bits_per_s", pool->bits_s,
						       "moving", moving));
	}
	for (size_t i = 0; i < view->n_rows; i++)
		json_array_append_new(rows, row_json(&view->rows[i]));
	return json_pack("{s:f, s:I, s:s, s:f, s:f, s:f, s:O, s:o, s:O*, s:o}", "interval_s",
			 view->seconds, "pid", answer_integer(view->now.status, "pid"), "note",
			 view->note, "sent_per_s", view->totals.sent, "passed_per_s",
			 view->totals.passed, "dropped_per_s", view->totals.dropped, "drops_per_s",
			 view->drops, "pools", pools, "draining",
			 json_object_get(view->now.status, "draining"), "backends", rows);
}

const char *top_sort_name(enum top_sort sort)
{
	return orders[sort].name;
}
