/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What moves, and for whom it waits. */
#include <time.h>

#include "control/api.h"
#include "control/change.h"

json_int_t api_left_s(int64_t until_ms, int64_t now_ms)
{
	return until_ms > now_ms ? (until_ms - now_ms + 999) / 1000 : 0;
}

json_t *api_moving(const struct control_pool *live)
{
	int64_t now_ms = control_now_ms(), tcp_until_ms = 0, other_until_ms = 0;
	ring_length sum = 0;
	uint64_t held = 0;

	if (!live->moves.len)
		return json_null();
	for (size_t i = 0; i < live->moves.len; i++) {
		const struct move *move = &live->moves.list[i];

		sum += (ring_length)(move->last - move->first) + 1;
		held += live->held[i];
		if (move->tcp_until_ms > tcp_until_ms)
			tcp_until_ms = move->tcp_until_ms;
		if (move->other_until_ms > other_until_ms)
			other_until_ms = move->other_until_ms;
	}
	return json_pack("{s:I, s:f, s:I, s:I, s:I}", "arcs", (json_int_t)live->moves.len, "share",
			 ring_share(live->ring, sum), "flows", (json_int_t)held, "learning_tcp_s",
			 api_left_s(tcp_until_ms, now_ms), "learning_other_s",
			 api_left_s(other_until_ms, now_ms));
}

bool api_is_draining(const struct control_pool *live, uint16_t member,
		     const struct config_backend *backend)
{
	return backend->drain != CONFIG_NO_DRAIN && !live->down[member] && live->takes[member] &&
	       control_is_draining(live, member);
}

static json_t *cut_off_json(const struct config_backend *backend)
{
	int64_t until_s = (int64_t)backend->drain_until_s;

	if (!until_s)
		return json_null();
	return json_integer(api_left_s(until_s * 1000, (int64_t)time(NULL) * 1000));
}

json_t *api_drain(const struct control_pool *live, uint16_t member,
		  const struct config_backend *backend)
{
	const struct moves_claim *claim = &live->claims[member];
	int64_t now_ms = control_now_ms();

	if (backend->drain == CONFIG_NO_DRAIN)
		return json_null();
	return json_pack("{s:I, s:f, s:I, s:I, s:o, s:s}", "arcs", (json_int_t)claim->arcs, "share",
			 ring_share(live->ring, claim->length), "learning_tcp_s",
			 api_left_s(claim->tcp_until_ms, now_ms), "learning_other_s",
			 api_left_s(claim->other_until_ms, now_ms), "cut_off_s",
			 cut_off_json(backend), "then",
			 backend->drain == CONFIG_DRAIN_REMOVE ? "remove" : "keep");
}

/* Add the backends of @pool that drain to @list. */
static void add_draining(json_t *list, const struct control_pool *live,
			 const struct config_pool *pool)
{
	for (size_t b = 0; b < pool->n_backends; b++) {
		const struct config_backend *backend = &pool->backends[b];
		uint16_t member = ring_find_member(live->ring, backend->name);
		json_t *one;

		if (!api_is_draining(live, member, backend))
			continue;
		one = api_drain(live, member, backend);
		json_object_set_new(one, "pool", json_string(pool->name));
		json_object_set_new(one, "name", json_string(backend->name));
		json_object_set_new(one, "flows", json_integer(live->flows[member]));
		json_array_append_new(list, one);
	}
}

json_t *api_draining(const struct control *control)
{
	json_t *list = json_array();

	for (size_t p = 0; p < control->running.n_pools; p++)
		add_draining(list, &control->pools[p], &control->running.pools[p]);
	return list;
}
