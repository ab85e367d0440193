/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/build.h"

#define DIGIT_BITS   8
#define DIGIT_VALUES (1U << DIGIT_BITS)
#define HIGH_DIGITS  4

void *ring_array_alloc(size_t n, size_t size_bytes)
{
	return malloc(n ? n * size_bytes : 1);
}

int ring_slots_init(struct ring_slots *slots, size_t capacity)
{
	*slots = (struct ring_slots){.capacity = capacity};
	slots->positions = ring_array_alloc(capacity, sizeof(*slots->positions));
	slots->owners = ring_array_alloc(capacity, sizeof(*slots->owners));
	return slots->positions && slots->owners ? 0 : -ENOMEM;
}

void ring_slots_release(struct ring_slots *slots)
{
	free(slots->positions);
	free(slots->owners);
	*slots = (struct ring_slots){0};
}

static unsigned int digit_of(uint64_t position, unsigned int digit)
{
	return position >> (digit * DIGIT_BITS) & (DIGIT_VALUES - 1);
}

/* Sort by one digit out of @slots into @scratch, in the order of arrival; then exchange the two. */
static void sort_by_digit(struct ring_slots *slots, struct ring_slots *scratch, unsigned int digit)
{
	uint32_t starts[DIGIT_VALUES] = {0};
	struct ring_slots sorted = *scratch;
	uint32_t start = 0;

	for (size_t i = 0; i < slots->len; i++)
		starts[digit_of(slots->positions[i], digit)]++;
	for (unsigned int value = 0; value < DIGIT_VALUES; value++) {
		uint32_t count = starts[value];

		if (count == slots->len)
			return;
		starts[value] = start;
		start += count;
	}
	for (size_t i = 0; i < slots->len; i++) {
		uint32_t slot = starts[digit_of(slots->positions[i], digit)]++;

		sorted.positions[slot] = slots->positions[i];
		sorted.owners[slot] = slots->owners[i];
	}
	sorted.len = slots->len;
	*scratch = *slots;
	*slots = sorted;
}

/*
 * Insertion sort of slots that are nearly in order. Gives up after some @budget
 * of moves, as clustered positions would make it quadratic; what it leaves then
 * is still a permutation with equals in order of arrival.
 */
static bool sort_nearly_sorted(struct ring_slots *slots, size_t budget)
{
	for (size_t i = 1; i < slots->len; i++) {
		uint64_t position = slots->positions[i];
		uint16_t owner = slots->owners[i];
		size_t slot = i;

		for (; slot > 0 && slots->positions[slot - 1] > position; slot--) {
			slots->positions[slot] = slots->positions[slot - 1];
			slots->owners[slot] = slots->owners[slot - 1];
		}
		slots->positions[slot] = position;
		slots->owners[slot] = owner;
		if (i - slot > budget)
			return false;
		budget -= i - slot;
	}
	return true;
}

/*
 * A radix sort from the lowest digit up is stable and takes the same time for
 * any input. Each digit is a pass over memory, so first try to do with the
 * high ones: among hashes they decide nearly always.
 */
int ring_slots_sort(struct ring_slots *slots, uint64_t top)
{
	struct ring_slots scratch;
	unsigned int digits = 1;
	int err;

	if (slots->len < 2)
		return 0;
	while (digits < sizeof(top) && top >> (digits * DIGIT_BITS))
		digits++;
	err = ring_slots_init(&scratch, slots->len);
	if (err)
		goto out;
	if (digits > HIGH_DIGITS) {
		for (unsigned int digit = digits - HIGH_DIGITS; digit < digits; digit++)
			sort_by_digit(slots, &scratch, digit);
		if (sort_nearly_sorted(slots, slots->len))
			goto out;
	}
	for (unsigned int digit = 0; digit < digits; digit++)
		sort_by_digit(slots, &scratch, digit);
out:
	ring_slots_release(&scratch);
	return err;
}
