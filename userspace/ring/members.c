/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/build.h"

uint64_t ring_vnodes(uint32_t vnodes, uint32_t weight_milli)
{
	uint64_t thousandths = (uint64_t)vnodes * weight_milli;
	uint64_t rounded = (thousandths + RING_WEIGHT_ONE / 2) / RING_WEIGHT_ONE;

	if (weight_milli == 0)
		return 0;
	return rounded ? rounded : 1;
}

static bool is_valid(const struct ring_member *member)
{
	return member->name[0] != '\0' && memchr(member->name, '\0', sizeof(member->name)) &&
	       member->weight_milli <= RING_WEIGHT_MAX;
}

static int compare_names(const void *a, const void *b)
{
	const struct ring_member *const *left = a;
	const struct ring_member *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

int ring_members_sort(struct ring_member *sorted, const struct ring_member *members,
		      size_t n_members, uint16_t *ranks)
{
	const struct ring_member **order;
	int err = 0;

	for (size_t i = 0; i < n_members; i++) {
		if (!is_valid(&members[i]))
			return -EINVAL;
	}
	order = ring_array_alloc(n_members, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n_members; i++)
		order[i] = &members[i];
	qsort(order, n_members, sizeof(*order), compare_names);
	for (size_t i = 0; i < n_members; i++) {
		if (i > 0 && strcmp(order[i - 1]->name, order[i]->name) == 0) {
			err = -EEXIST;
			break;
		}
		sorted[i] = (struct ring_member){.weight_milli = order[i]->weight_milli};
		memcpy(sorted[i].name, order[i]->name, strlen(order[i]->name));
		if (ranks)
			ranks[order[i] - members] = i;
	}
	free(order);
	return err;
}

void ring_members_map(const struct ring *from, const struct ring *to, uint16_t *map)
{
	size_t other = 0;

	for (size_t i = 0; i < from->n_members; i++) {
		int order = 1;

		while (other < to->n_members) {
			order = strcmp(from->members[i].name, to->members[other].name);
			if (order <= 0)
				break;
			other++;
		}
		map[i] = other < to->n_members && order == 0 ? other : RING_NONE;
	}
}

int ring_members_vnodes(const struct ring *ring)
{
	uint64_t total = 0;

	/* No overflow: 2^16 members of at most 2^31 vnodes. */
	for (size_t i = 0; i < ring->n_members; i++)
		total += ring_vnodes(ring->params.vnodes, ring->members[i].weight_milli);
	return total > RING_POSITIONS_MAX_LEN ? -ENOSPC : (int)total;
}

uint16_t ring_find_member(const struct ring *ring, const char *name)
{
	size_t low = 0;
	size_t high = ring->n_members;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(ring->members[middle].name, name);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return RING_NONE;
}
