/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QUIC ids: from the backends of a configuration to the data plane, and when a backend
 * that drains has no connections any more that go by them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/quic.h"
#include "control/change.h"

_Static_assert(CONFIG_QUIC_CONFIGS == QUIC_CONFIGS, "as many configurations");
_Static_assert(CONFIG_QUIC_ID_MAX == QUIC_ID_LEN_MAX, "ids of equal length");
/* While one set of ids takes the place of another, both are there. */
_Static_assert(2 * CONFIG_QUIC_IDS_MAX <= QUIC_IDS_MAX, "room for a change");

static int compare_ids(const void *a, const void *b)
{
	return memcmp(&((const struct change_quic *)a)->key, &((const struct change_quic *)b)->key,
		      sizeof(struct quic_id));
}

static void add_ids(struct change *change, struct control_pool *pool,
		    const struct config_backend *backend)
{
	uint16_t member = ring_find_member(pool->ring, backend->name);

	for (uint8_t config = 0; config < QUIC_CONFIGS; config++) {
		const struct config_quic_id *id = &backend->quic_ids[config];
		struct change_quic *one;

		if (!id->len)
			continue;
		pool->quic_lengths |= QUIC_LEN_AT(id->len, config);
		one = &change->quic[change->n_quic++];
		one->backend = pool->ids[member];
		one->key = (struct quic_id){
			.pool = (uint16_t)pool->id,
			.config = config,
			.len = id->len,
		};
		memcpy(one->key.octets, id->bytes, id->len);
	}
}

int change_list_quic(struct change *change)
{
	const struct config *next = change->next;
	size_t most = 0;

	for (size_t p = 0; p < next->n_pools; p++)
		for (size_t b = 0; b < next->pools[p].n_backends; b++)
			if (config_quic_given(next->pools[p].backends[b].quic_ids))
				most += QUIC_CONFIGS;
	change->quic = calloc(most + 1, sizeof(*change->quic));
	if (!change->quic)
		return -ENOMEM;
	for (size_t p = 0; p < next->n_pools; p++)
		for (size_t b = 0; b < next->pools[p].n_backends; b++)
			add_ids(change, &change->pools[p], &next->pools[p].backends[b]);
	qsort(change->quic, change->n_quic, sizeof(*change->quic), compare_ids);
	return 0;
}

int change_commit_quic(struct change *change)
{
	struct dataplane *dp = change->control->dp;
	int err = 0;

	for (size_t i = 0; i < change->n_quic && !err; i++) {
		const struct change_quic *one = &change->quic[i];
		const struct quic_backend value = {
			.backend = one->backend,
			.incarnation = dataplane_get_backend(dp, one->backend)->incarnation,
		};

		err = dataplane_set_quic_id(dp, &one->key, &value);
	}
	return err;
}

static bool wants_id(void *context, const void *key)
{
	const struct change *change = context;
	struct change_quic wanted = {.key = *(const struct quic_id *)key};

	return bsearch(&wanted, change->quic, change->n_quic, sizeof(wanted), compare_ids);
}

void change_clean_quic(struct change *change)
{
	dataplane_prune_quic_ids(change->control->dp, wants_id, change);
}

/* What comes for a backend that drains is of connections that it has. */
static void watch_backend(const struct control *control, struct control_quic *quic, uint32_t id)
{
	int64_t now_ms = control_now_ms();
	struct counter count = {};

	dataplane_count_backend(control->dp, id, &count);
	if (!quic->last_ms || quic->packets != count.packets)
		quic->last_ms = now_ms;
	quic->packets = count.packets;
	quic->busy = now_ms - quic->last_ms < control->running.flows.idle_other_ms;
}

void control_watch_quic(struct control *control)
{
	for (size_t p = 0; p < control->running.n_pools; p++) {
		const struct config_pool *pool = &control->running.pools[p];
		struct control_pool *live = &control->pools[p];

		for (size_t b = 0; b < pool->n_backends; b++) {
			const struct config_backend *backend = &pool->backends[b];
			uint16_t member = ring_find_member(live->ring, backend->name);

			if (backend->drain != CONFIG_NO_DRAIN &&
			    config_quic_given(backend->quic_ids))
				watch_backend(control, &live->quic[member], live->ids[member]);
			else
				live->quic[member] = (struct control_quic){};
		}
	}
}
