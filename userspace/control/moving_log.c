/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/moving_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/change.h"
#include "control/log.h"

static double moving_share(const struct control_pool *pool)
{
	ring_length sum = 0;

	for (size_t i = 0; i < pool->moves.len; i++)
		sum += (ring_length)(pool->moves.list[i].last - pool->moves.list[i].first) + 1;
	return ring_share(pool->ring, sum);
}

static void tell(const struct control_pool *pool)
{
	char arcs[24], share[24];

	if (!pool->moves.len) {
		log_event(EVENT_SETTLED, LOG_FIELDS({"pool", pool->name}),
			  "pool '%s' has settled: no arc moves any more", pool->name);
		return;
	}
	snprintf(arcs, sizeof(arcs), "%zu", pool->moves.len);
	snprintf(share, sizeof(share), "%.4f", moving_share(pool));
	log_event(EVENT_MOVING, LOG_FIELDS({"pool", pool->name}, {"arcs", arcs}, {"share", share}),
		  "pool '%s' has %s moving arcs, %.2f %% of the hash space", pool->name, arcs,
		  moving_share(pool) * 100);
}

void moving_log_sync(struct moving_log *log, const struct control *control)
{
	struct moving_log now = {};

	for (size_t p = 0; p < control->n_pools; p++) {
		const struct control_pool *pool = &control->pools[p];

		now.moving[pool->id] = pool->moves.len > 0;
		if (now.moving[pool->id] != log->moving[pool->id])
			tell(pool);
	}
	/* Pools that are gone move nothing. */
	*log = now;
}
