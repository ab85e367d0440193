/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "dataplane/ring_layout.h"

#define ALIGNMENT 64 /* a cache line */

#define CLASS_BYTES(number, bytes) bytes,
static const size_t class_bytes[] = {RING_CLASSES(CLASS_BYTES)};
#undef CLASS_BYTES

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static int bucket_bits(size_t len)
{
	int bits = RING_GROUP_BITS;

	while (((size_t)1 << bits) < len * RING_BUCKETS_PER_POSITION)
		bits++;
	return bits;
}

size_t ring_class_bytes(int class)
{
	return class_bytes[class];
}

int ring_layout(size_t len, uint16_t clocks, struct ring_header *header)
{
	int bits = bucket_bits(len);
	size_t starts_at, entries_at, clocks_at, end;

	if (len > RING_POSITIONS_MAX)
		return -ENOSPC;
	starts_at = aligned(sizeof(*header) + ((size_t)2 << bits));
	entries_at = aligned(starts_at + ((size_t)4 << (bits - RING_GROUP_BITS)));
	clocks_at = entries_at + (len + 1) * sizeof(struct ring_entry);
	end = clocks_at + clocks * sizeof(int64_t);
	*header = (struct ring_header){
		.len = (uint32_t)len,
		.shift = (uint32_t)(64 - bits),
		.starts_at = (uint32_t)starts_at,
		.entries_at = (uint32_t)entries_at,
		.clocks_at = (uint32_t)clocks_at,
		.clocks = clocks,
		.moving = clocks != 0,
	};
	for (int i = 0; i < RING_CLASS_COUNT; i++)
		if (end <= class_bytes[i])
			return i;
	return -ENOSPC;
}

bool ring_layout_valid(const void *ring, size_t bytes)
{
	struct ring_header found, header;

	if (bytes < sizeof(found))
		return false;
	memcpy(&found, ring, sizeof(found));
	if (found.len > RING_POSITIONS_MAX || ring_layout(found.len, found.clocks, &header) < 0)
		return false;
	header.seed = found.seed;
	return !memcmp(&found, &header, sizeof(header)) &&
	       found.clocks_at + found.clocks * sizeof(int64_t) <= bytes;
}

static void *part(void *ring, size_t at)
{
	return (uint8_t *)ring + at;
}

static const void *part_of(const void *ring, size_t at)
{
	return (const uint8_t *)ring + at;
}

struct ring_entry *ring_entries(void *ring)
{
	return part(ring, ((const struct ring_header *)ring)->entries_at);
}

const struct ring_entry *ring_entries_of(const void *ring)
{
	return part_of(ring, ((const struct ring_header *)ring)->entries_at);
}

int64_t *ring_clocks(void *ring)
{
	return part(ring, ((const struct ring_header *)ring)->clocks_at);
}

const int64_t *ring_clocks_of(const void *ring)
{
	return part_of(ring, ((const struct ring_header *)ring)->clocks_at);
}

/* Who owns all of the arcs that end at entries @first to @last, or RING_BUCKET_SEARCH. */
static uint16_t answer(const struct ring_entry *entries, size_t first, size_t last)
{
	for (size_t slot = first; slot <= last; slot++)
		if (entries[slot].move.flags || entries[slot].owner != entries[first].owner)
			return RING_BUCKET_SEARCH;
	return entries[first].owner;
}

/* Slot of the first position at or after @hash, or `len`. */
static uint32_t lower_bound(const void *ring, uint64_t hash)
{
	const struct ring_header *header = ring;
	const struct ring_entry *entries = ring_entries_of(ring);
	uint32_t low = 0, high = header->len;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (entries[middle].position < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void ring_layout_fill(void *ring, size_t first, size_t last)
{
	const struct ring_header *header = ring;
	const struct ring_entry *entries = ring_entries_of(ring);
	uint16_t *buckets = part(ring, sizeof(*header));
	size_t bucket = first, slot = lower_bound(ring, (uint64_t)first << header->shift);

	while (bucket <= last) {
		size_t next =
			slot < header->len ? entries[slot].position >> header->shift : last + 1;
		uint16_t owner = answer(entries, slot, slot);
		size_t end = slot;

		/* No position is in these: the next one's arc has them all. */
		while (bucket < next && bucket <= last)
			buckets[bucket++] = owner;
		if (bucket > last)
			return;
		while (end < header->len && entries[end].position >> header->shift == bucket)
			end++;
		buckets[bucket++] = answer(entries, slot, end);
		slot = end;
	}
}

static void fill_starts(void *ring, const struct ring_header *header)
{
	const struct ring_entry *entries = ring_entries(ring);
	uint32_t *starts = part(ring, header->starts_at);
	uint32_t shift = header->shift + RING_GROUP_BITS;
	size_t count = (size_t)1 << (64 - header->shift - RING_GROUP_BITS), group = 0;

	for (uint32_t slot = 0; slot < header->len; slot++) {
		size_t own = shift < 64 ? entries[slot].position >> shift : 0;

		while (group <= own)
			starts[group++] = slot;
	}
	while (group < count)
		starts[group++] = header->len;
}

void ring_layout_end(void *ring)
{
	const struct ring_header *header = ring;
	struct ring_entry *entries = ring_entries(ring);

	entries[header->len] = entries[0];
	entries[header->len].position = UINT64_MAX;
	fill_starts(ring, header);
}

size_t ring_layout_buckets(const struct ring_header *header)
{
	return (size_t)1 << (64 - header->shift);
}

uint32_t ring_layout_search(const void *ring, uint64_t hash)
{
	uint32_t slot = lower_bound(ring, hash);

	return slot < ((const struct ring_header *)ring)->len ? slot : 0;
}
