/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <xxhash.h>

#include "ring/build.h"

#define VNODE_DIGITS_MAX 20 /* of any uint64_t, though 7 are enough for the largest ring */

/* "NAME#i", without the final zero in @len. */
struct label {
	char text[RING_NAME_MAX + 1 + VNODE_DIGITS_MAX + 1];
	size_t len;
};

static uint64_t hash_xxh64(const void *data, size_t len_bytes, uint64_t seed)
{
	return XXH64(data, len_bytes, seed);
}

const struct ring_hash ring_hash_xxh64 = {
	.hash = hash_xxh64,
	.top = UINT64_MAX,
};

static void label_init(struct label *label, const char *name, uint64_t vnode)
{
	label->len = snprintf(label->text, sizeof(label->text), "%.*s#%" PRIu64, RING_NAME_MAX,
			      name, vnode);
}

/*
 * Count up in place: printing each number anew would cost more than hashing it.
 * The '#' stops the carry.
 */
static void label_next(struct label *label)
{
	char *digit = label->text + label->len - 1;

	while (*digit == '9')
		*digit-- = '0';
	if (*digit != '#') {
		++*digit;
		return;
	}
	digit[1] = '1';
	label->text[label->len++] = '0';
}

int ring_slots_hash(struct ring_slots *slots, const struct ring_params *params, const char *name,
		    uint16_t owner, uint64_t first, uint64_t end)
{
	const struct ring_hash *hash = params->hash;
	size_t len = slots->len;
	struct label label;

	if (first >= end)
		return 0;
	label_init(&label, name, first);
	for (uint64_t i = first; i < end; i++) {
		uint64_t position = hash->hash(label.text, label.len, params->seed);

		if (position > hash->top)
			return -ERANGE;
		slots->positions[len] = position;
		slots->owners[len] = owner;
		len++;
		label_next(&label);
	}
	slots->len = len;
	return 0;
}
