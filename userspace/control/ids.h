/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which name holds which id. Ids are small integers that index the data plane's
 * maps; a name keeps its id for as long as it is there, also over a restart.
 */
#ifndef RINGLB_CONTROL_IDS_H
#define RINGLB_CONTROL_IDS_H

#include <stddef.h>
#include <stdint.h>

#define ID_NONE UINT32_MAX

struct id_entry {
	char *key;
	uint32_t id;
};

/* Entries ascend by key. All zero is an empty table. */
struct ids {
	struct id_entry *entries;
	size_t len;
};

/** ids_add() - append a copy of @key; ids_sort() before the next search. 0 or -ENOMEM. */
int ids_add(struct ids *ids, const char *key, uint32_t id);

/** ids_sort() - order by key */
void ids_sort(struct ids *ids);

/** ids_find() - the id of @key, or ID_NONE */
uint32_t ids_find(const struct ids *ids, const char *key);

/**
 * ids_assign() - give each entry of @next without an id (ID_NONE) one
 * @old: a key that is in here keeps its id
 * @limit: ids are 0 to @limit - 1
 *
 * No id of @old goes to another key, as packets may still be using it.
 *
 * Return: 0; -ENOSPC if there are no free ids left; -ENOMEM.
 */
int ids_assign(struct ids *next, const struct ids *old, uint32_t limit);

/** ids_release() - free what is inside; the table is empty afterwards */
void ids_release(struct ids *ids);

#endif
