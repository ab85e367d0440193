/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A published ring in memory, as bpf/ring_abi.h lays it out: how large it is, writing it
 * and finding in it. Pure: no map and no system call.
 */
#ifndef RINGLB_DATAPLANE_RING_LAYOUT_H
#define RINGLB_DATAPLANE_RING_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/ring_abi.h"

/**
 * ring_layout() - where the parts of a ring are
 * @len: positions; @clocks: learning times
 * @header: receives all but `seed`
 *
 * Return: the ring's class, whose maps are large enough; -ENOSPC if there is none.
 */
int ring_layout(size_t len, uint16_t clocks, struct ring_header *header);

/** ring_class_bytes() - size of the maps of a class */
size_t ring_class_bytes(int class);

/**
 * ring_layout_end() - write the last entry, which is the first one again, and the starts
 * @ring: has its header, and an entry for each position, one at least
 */
void ring_layout_end(void *ring);

/** ring_layout_fill() - write buckets @first to @last, after ring_layout_end() */
void ring_layout_fill(void *ring, size_t first, size_t last);

/** ring_layout_buckets() - how many buckets there are */
size_t ring_layout_buckets(const struct ring_header *header);

/** ring_layout_valid() - true if all parts lie in the @bytes of @ring, whatever is in them */
bool ring_layout_valid(const void *ring, size_t bytes);

/* The parts of a ring whose header is there. */
struct ring_entry *ring_entries(void *ring);
int64_t *ring_clocks(void *ring);
const struct ring_entry *ring_entries_of(const void *ring);
const int64_t *ring_clocks_of(const void *ring);

/** ring_layout_search() - slot of the first position at or after @hash, 0 past the last one */
uint32_t ring_layout_search(const void *ring, uint64_t hash);

#endif
