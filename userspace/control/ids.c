/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "control/ids.h"

int ids_add(struct ids *ids, const char *key, uint32_t id)
{
	char *copy = strdup(key);

	if (!copy)
		return -ENOMEM;
	/* Grow at powers of two, which is when len has a single bit set. */
	if (!(ids->len & (ids->len - 1))) {
		size_t capacity = ids->len ? ids->len * 2 : 1;
		void *grown = realloc(ids->entries, capacity * sizeof(*ids->entries));

		if (!grown) {
			free(copy);
			return -ENOMEM;
		}
		ids->entries = grown;
	}
	ids->entries[ids->len++] = (struct id_entry){.key = copy, .id = id};
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct id_entry *left = a, *right = b;

	return strcmp(left->key, right->key);
}

void ids_sort(struct ids *ids)
{
	if (ids->len)
		qsort(ids->entries, ids->len, sizeof(*ids->entries), compare_entries);
}

static int compare_key(const void *key, const void *entry)
{
	return strcmp(key, ((const struct id_entry *)entry)->key);
}

uint32_t ids_find(const struct ids *ids, const char *key)
{
	const struct id_entry *entry = NULL;

	if (ids->len)
		entry = bsearch(key, ids->entries, ids->len, sizeof(*entry), compare_key);
	return entry ? entry->id : ID_NONE;
}

static void mark_used(const struct ids *ids, bool *used, uint32_t limit)
{
	for (size_t i = 0; i < ids->len; i++)
		if (ids->entries[i].id < limit)
			used[ids->entries[i].id] = true;
}

int ids_assign(struct ids *next, const struct ids *old, uint32_t limit)
{
	bool *used = calloc(limit, sizeof(*used));
	uint32_t candidate = 0;
	int err = 0;

	if (!used)
		return -ENOMEM;
	mark_used(old, used, limit);
	mark_used(next, used, limit);
	for (size_t i = 0; i < next->len && !err; i++) {
		struct id_entry *entry = &next->entries[i];

		if (entry->id != ID_NONE)
			continue;
		entry->id = ids_find(old, entry->key);
		if (entry->id != ID_NONE)
			continue;
		while (candidate < limit && used[candidate])
			candidate++;
		if (candidate == limit)
			err = -ENOSPC;
		else
			entry->id = candidate++;
	}
	free(used);
	return err;
}

void ids_release(struct ids *ids)
{
	for (size_t i = 0; i < ids->len; i++)
		free(ids->entries[i].key);
	free(ids->entries);
	*ids = (struct ids){};
}
