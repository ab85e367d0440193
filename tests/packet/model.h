/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of docs/moving-arcs.md once more, in plain C: arrays that are walked, a clock
 * that is a number, no BPF, no maps, nothing of bpf/flows.h. Slow, and short enough to
 * trust by reading. It says to which backend each packet goes, and what is remembered.
 *
 * The circle of each pool is cut at every position that any of its backends can ever
 * have, so that all hashes of a piece always fare alike: a piece is one struct place.
 * What it calls an arc is a run of moving places that know the same.
 */
#ifndef RINGLB_TESTS_MODEL_H
#define RINGLB_TESTS_MODEL_H

#include "tests/unit/moves_reference.h"

#define MODEL_POOLS  2
#define MODEL_IDS    256
#define MODEL_VIPS   4
#define MODEL_PLACES 1024
#define MODEL_NOBODY 0xffff

/* Of the TCP header. */
#define MODEL_FIN 0x01
#define MODEL_SYN 0x02
#define MODEL_RST 0x04
#define MODEL_ACK 0x10

enum model_memory { NO_MEMORY, EMBRYONIC, ESTABLISHED, OLD, OTHER };

/* What a packet's way was decided by; FORGOT_*: why what was remembered did not count. */
#define MODEL_REASONS_LIST(X)                                                                      \
	X(BY_SETTLED_ARC, "settled arc")                                                           \
	X(BY_EMBRYO, "opened")                                                                     \
	X(BY_PROMOTED, "opened, now established")                                                  \
	X(BY_ESTABLISHED, "established")                                                           \
	X(BY_OLD, "remembered as old")                                                             \
	X(BY_OTHER, "remembered, UDP")                                                             \
	X(BY_OPENING, "opens a flow")                                                              \
	X(BY_LEARNING, "not remembered, while the arc learns")                                     \
	X(BY_LEARNING_OF_OTHERS, "not remembered, the arc learns of other protocols only")         \
	X(BY_DEAD_PREVIOUS, "not remembered, and the previous owner has no claim")                 \
	X(BY_LEARNED_ARC, "not remembered, after learning")                                        \
	X(FORGOT_DEAD, "its backend is dead")                                                      \
	X(FORGOT_OTHER_LIFE, "its backend is another by now")                                      \
	X(FORGOT_EXPIRED, "expired")                                                               \
	X(FORGOT_OTHER_POOL, "remembered in another pool")                                         \
	X(FORGOT_DRAINING, "opened again, and its backend drains")

#define MODEL_REASON_ENUM(name, text) name,
enum model_reason { MODEL_REASONS_LIST(MODEL_REASON_ENUM) MODEL_REASONS };
#define MODEL_REASON_TEXT(name, text) text,
static const char *const model_reasons[] = {MODEL_REASONS_LIST(MODEL_REASON_TEXT)};

/* What the data plane knows of an id. A new life begins whenever it comes or comes back. */
struct model_backend {
	bool exists;
	bool takes_old, takes_new;
	uint32_t life;
};

struct model_entry {
	enum model_memory memory;
	uint32_t backend, life;
	int pool;
	int64_t until_ms;
	bool closing;
};

struct model_flow {
	uint64_t hash;
	bool tcp;
	int vip;
	struct model_entry entry;
};

/* @arcs: arcs[i] is the first place of the arc that places[i] is in */
struct model_pool {
	struct place places[MODEL_PLACES];
	size_t arcs[MODEL_PLACES];
	size_t held[MODEL_PLACES];
	size_t len;
};

struct model {
	int64_t now_ms;
	int64_t tcp_learn_ms, other_learn_ms;
	int64_t tcp_idle_ms, other_idle_ms, closing_ms, embryo_ms;
	int pool_of[MODEL_VIPS];
	struct model_pool pools[MODEL_POOLS];
	struct model_backend backends[MODEL_IDS];
	struct model_flow *flows;
	size_t n_flows;
	size_t remembered[MODEL_IDS]; /* flows of each backend, at the last census */
	size_t reasons[MODEL_REASONS];
	enum model_reason reason; /* of the last packet */
};

/* The flows of a backend may go on there. */
static inline bool model_lives(const struct model *model, uint32_t id)
{
	return id < MODEL_IDS && model->backends[id].exists && model->backends[id].takes_old;
}

static inline struct place *model_place(struct model_pool *pool, uint64_t hash)
{
	for (size_t i = 0; i < pool->len; i++)
		if (pool->places[i].hash >= hash)
			return &pool->places[i];
	return NULL;
}

static inline uint32_t model_because(struct model *model, enum model_reason reason, uint32_t id)
{
	model->reason = reason;
	model->reasons[reason]++;
	return id;
}

/* Only a backend that lives is remembered. */
static inline void model_remember(struct model *model, struct model_flow *flow, uint32_t id,
				  enum model_memory memory, int64_t idle_ms, bool closing)
{
	if (!model_lives(model, id))
		return;
	flow->entry = (struct model_entry){
		.memory = memory,
		.backend = id,
		.life = model->backends[id].life,
		.pool = model->pool_of[flow->vip],
		.until_ms = model->now_ms + idle_ms,
		.closing = closing,
	};
}

/* Why @entry does not count for a packet, or MODEL_REASONS if it does. */
static inline enum model_reason model_why_not(const struct model *model,
					      const struct model_flow *flow, bool opens)
{
	const struct model_entry *entry = &flow->entry;

	if (!model_lives(model, entry->backend))
		return FORGOT_DEAD;
	if (model->backends[entry->backend].life != entry->life)
		return FORGOT_OTHER_LIFE;
	if (entry->until_ms <= model->now_ms)
		return FORGOT_EXPIRED;
	if (entry->pool != model->pool_of[flow->vip])
		return FORGOT_OTHER_POOL;
	if (opens && !model->backends[entry->backend].takes_new)
		return FORGOT_DRAINING;
	return MODEL_REASONS;
}

static inline uint32_t model_follow(struct model *model, struct model_flow *flow, uint8_t flags)
{
	static const enum model_reason reasons[] = {
		[EMBRYONIC] = BY_EMBRYO,
		[ESTABLISHED] = BY_ESTABLISHED,
		[OLD] = BY_OLD,
		[OTHER] = BY_OTHER,
	};
	struct model_entry *entry = &flow->entry;
	enum model_reason reason = reasons[entry->memory];
	bool closes = flags & (MODEL_FIN | MODEL_RST);
	int64_t idle_ms = model->tcp_idle_ms;

	if (!flow->tcp) {
		entry->until_ms = model->now_ms + model->other_idle_ms;
		return model_because(model, reason, entry->backend);
	}
	if ((flags & (MODEL_SYN | MODEL_ACK)) == MODEL_SYN)
		entry->closing = false;
	if (closes)
		entry->closing = true;
	if (entry->memory == EMBRYONIC && flags & MODEL_SYN) {
		idle_ms = model->embryo_ms;
	} else if (entry->memory == EMBRYONIC) {
		entry->memory = ESTABLISHED;
		entry->closing = closes;
		reason = BY_PROMOTED;
	}
	entry->until_ms = model->now_ms + (entry->closing ? model->closing_ms : idle_ms);
	return model_because(model, reason, entry->backend);
}

/* Nothing is remembered. @claims: the previous owner may be the flow's */
static inline uint32_t model_pick(struct model *model, struct model_flow *flow, uint8_t flags,
				  const struct place *place, bool claims)
{
	bool closes = flags & (MODEL_FIN | MODEL_RST);
	int64_t until_ms = flow->tcp ? place->tcp_until_ms : place->other_until_ms;
	int64_t idle_ms = closes ? model->closing_ms : model->tcp_idle_ms;
	enum model_memory memory = flow->tcp ? OLD : OTHER;
	enum model_reason reason;
	uint32_t id = place->owner;

	if (!place_learns(place))
		return model_because(model, BY_LEARNED_ARC, id);
	if (flow->tcp && (flags & (MODEL_SYN | MODEL_ACK)) == MODEL_SYN) {
		model_remember(model, flow, id, EMBRYONIC, model->embryo_ms, closes);
		return model_because(model, BY_OPENING, id);
	}
	if (!flow->tcp)
		idle_ms = model->other_idle_ms;
	if (!until_ms) {
		reason = BY_LEARNING_OF_OTHERS;
	} else if (!claims || !model_lives(model, place->previous)) {
		reason = BY_DEAD_PREVIOUS;
	} else {
		reason = BY_LEARNING;
		id = place->previous;
	}
	model_remember(model, flow, id, memory, idle_ms, closes);
	return model_because(model, reason, id);
}

/* A packet of @flow with these TCP flags, 0 for UDP. Return: the backend, or MODEL_NOBODY. */
static inline uint32_t model_send(struct model *model, struct model_flow *flow, uint8_t flags)
{
	struct model_pool *pool = &model->pools[model->pool_of[flow->vip]];
	bool opens = flow->tcp && (flags & (MODEL_SYN | MODEL_ACK)) == MODEL_SYN, claims = true;
	const struct place *place = model_place(pool, flow->hash);
	enum model_reason why_not;

	if (!place->moves)
		return model_because(model, BY_SETTLED_ARC, place->owner);
	if (flow->entry.memory) {
		why_not = model_why_not(model, flow, opens);
		if (why_not == MODEL_REASONS)
			return model_follow(model, flow, flags);
		model->reasons[why_not]++;
		flow->entry.memory = NO_MEMORY;
		/* It was not the previous owner's, but that of a backend that is no more. */
		claims = model_lives(model, flow->entry.backend) &&
			 model->backends[flow->entry.backend].life == flow->entry.life;
	}
	return model_pick(model, flow, flags, place, claims);
}

/* Places that know the same and are next to each other are one arc from now on. */
static inline void model_join(struct model_pool *pool)
{
	for (size_t i = 0; i < pool->len; i++) {
		const struct place *a = i ? &pool->places[i - 1] : NULL, *b = &pool->places[i];
		bool same = a && a->moves && b->moves && a->previous == b->previous &&
			    a->tcp_until_ms == b->tcp_until_ms &&
			    a->other_until_ms == b->other_until_ms;

		pool->arcs[i] = same ? pool->arcs[i - 1] : i;
	}
}

static inline size_t model_arcs(const struct model_pool *pool)
{
	size_t arcs = 0;

	for (size_t i = 0; i < pool->len; i++)
		arcs += pool->places[i].moves && pool->arcs[i] == i;
	return arcs;
}

static inline bool model_moves(const struct model *model)
{
	for (size_t p = 0; p < MODEL_POOLS; p++)
		if (model_arcs(&model->pools[p]))
			return true;
	return false;
}

/* Forget what counts no more, and count the rest. */
static inline void model_census(struct model *model)
{
	memset(model->remembered, 0, sizeof(model->remembered));
	for (size_t p = 0; p < MODEL_POOLS; p++)
		memset(model->pools[p].held, 0, sizeof(model->pools[p].held));
	for (size_t i = 0; i < model->n_flows; i++) {
		struct model_entry *entry = &model->flows[i].entry;
		struct model_pool *pool = &model->pools[entry->pool];
		const struct place *place = model_place(pool, model->flows[i].hash);

		if (!entry->memory)
			continue;
		if (!place->moves || !model_lives(model, entry->backend) ||
		    model->backends[entry->backend].life != entry->life ||
		    entry->until_ms <= model->now_ms) {
			entry->memory = NO_MEMORY;
			continue;
		}
		model->remembered[entry->backend]++;
		if (place->owner != entry->backend)
			pool->held[pool->arcs[place - pool->places]]++;
	}
}

/* Return: true if anything came of it. */
static inline bool model_settle(struct model_pool *pool, int64_t now_ms)
{
	bool changed = false;

	for (size_t i = 0; i < pool->len; i++) {
		struct place *place = &pool->places[i];
		const struct place before = *place;

		/* One that learned until now may have got a flow since the census. */
		place_settle(place, pool->held[pool->arcs[i]]);
		if (place->moves)
			place_expire(place, now_ms);
		changed |= before.moves != place->moves ||
			   before.tcp_until_ms != place->tcp_until_ms ||
			   before.other_until_ms != place->other_until_ms;
	}
	return changed;
}

/* What the daemon does each second. */
static inline void model_tick(struct model *model)
{
	bool changed = false;

	if (!model_moves(model))
		return;
	model_census(model);
	for (size_t p = 0; p < MODEL_POOLS; p++)
		changed |= model_settle(&model->pools[p], model->now_ms);
	if (!changed)
		return;
	model_census(model);
	for (size_t i = 0; i < model->n_flows && !model_moves(model); i++)
		model->flows[i].entry.memory = NO_MEMORY;
}

/* Flows of a backend are remembered, or may still turn up. */
static inline bool model_drains(const struct model *model, const struct model_pool *pool,
				uint32_t id)
{
	if (model->remembered[id])
		return true;
	for (size_t i = 0; i < pool->len; i++)
		if (place_learns(&pool->places[i]) && pool->places[i].previous == id)
			return true;
	return false;
}

#endif
