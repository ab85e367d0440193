/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The other way to keep connections: every flow is tracked, all the time, in a table of
 * fixed size that pushes out whoever was used least recently. Kinder than most: an exact
 * order of use, and an entry goes when its flow has ended or been silent for long.
 */
#ifndef RINGLB_TESTS_CONNTRACK_H
#define RINGLB_TESTS_CONNTRACK_H

#include <stdint.h>
#include <stdlib.h>

#define CONNTRACK_NONE UINT32_MAX

/**
 * struct conntrack_entry
 * @key: the flow's hash: 64 bits that nobody shares
 * @next: in the same bucket
 * @newer, @older: by last use
 */
struct conntrack_entry {
	uint64_t key;
	int64_t until_ms;
	uint32_t backend, life;
	uint32_t next, newer, older;
};

/* @free: first of the unused entries, which are linked by @next. */
struct conntrack {
	struct conntrack_entry *entries;
	uint32_t *buckets;
	uint32_t size, len, free, newest, oldest;
	uint64_t evicted;
};

static inline int conntrack_init(struct conntrack *table, uint32_t size)
{
	*table = (struct conntrack){
		.entries = calloc(size, sizeof(*table->entries)),
		.buckets = malloc(size * sizeof(*table->buckets)),
		.size = size,
		.newest = CONNTRACK_NONE,
		.oldest = CONNTRACK_NONE,
	};
	if (!table->entries || !table->buckets)
		return -1;
	for (uint32_t i = 0; i < size; i++) {
		table->buckets[i] = CONNTRACK_NONE;
		table->entries[i].next = i + 1 < size ? i + 1 : CONNTRACK_NONE;
	}
	return 0;
}

static inline void conntrack_release(struct conntrack *table)
{
	free(table->entries);
	free(table->buckets);
}

static inline uint32_t *conntrack_bucket(struct conntrack *table, uint64_t key)
{
	return &table->buckets[key % table->size];
}

static inline void conntrack_unlink(struct conntrack *table, uint32_t i)
{
	const struct conntrack_entry *entry = &table->entries[i];

	if (entry->newer == CONNTRACK_NONE)
		table->newest = entry->older;
	else
		table->entries[entry->newer].older = entry->older;
	if (entry->older == CONNTRACK_NONE)
		table->oldest = entry->newer;
	else
		table->entries[entry->older].newer = entry->newer;
}

static inline void conntrack_link(struct conntrack *table, uint32_t i)
{
	struct conntrack_entry *entry = &table->entries[i];

	entry->newer = CONNTRACK_NONE;
	entry->older = table->newest;
	if (table->newest != CONNTRACK_NONE)
		table->entries[table->newest].newer = i;
	table->newest = i;
	if (table->oldest == CONNTRACK_NONE)
		table->oldest = i;
}

static inline void conntrack_remove(struct conntrack *table, uint32_t i)
{
	uint32_t *at = conntrack_bucket(table, table->entries[i].key);

	while (*at != i)
		at = &table->entries[*at].next;
	*at = table->entries[i].next;
	conntrack_unlink(table, i);
	table->entries[i].next = table->free;
	table->free = i;
	table->len--;
}

/* The entry of @key, now the one used last; NULL if there is none. */
static inline struct conntrack_entry *conntrack_find(struct conntrack *table, uint64_t key)
{
	uint32_t i = *conntrack_bucket(table, key);

	while (i != CONNTRACK_NONE && table->entries[i].key != key)
		i = table->entries[i].next;
	if (i == CONNTRACK_NONE)
		return NULL;
	conntrack_unlink(table, i);
	conntrack_link(table, i);
	return &table->entries[i];
}

/* A new entry for @key, which has none. */
static inline struct conntrack_entry *conntrack_add(struct conntrack *table, uint64_t key)
{
	uint32_t *bucket = conntrack_bucket(table, key), i;

	if (table->free == CONNTRACK_NONE) {
		conntrack_remove(table, table->oldest);
		table->evicted++;
	}
	i = table->free;
	table->free = table->entries[i].next;
	table->entries[i] = (struct conntrack_entry){.key = key, .next = *bucket};
	*bucket = i;
	conntrack_link(table, i);
	table->len++;
	return &table->entries[i];
}

/* Entries whose time is over go. */
static inline void conntrack_expire(struct conntrack *table, int64_t now_ms)
{
	uint32_t i = table->oldest;

	while (i != CONNTRACK_NONE) {
		uint32_t newer = table->entries[i].newer;

		if (table->entries[i].until_ms <= now_ms)
			conntrack_remove(table, i);
		i = newer;
	}
}

#endif
