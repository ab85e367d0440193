/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a published ring lies in memory, a part of abi.h: types and constants only.
 *
 * It is the one value of an array map, the inner map that rings_N[pool] points to:
 *
 *   struct ring_header     what follows, and where
 *   buckets                __u16 for each value that the hash's top bits can have
 *   starts                 __u32 for each 2^RING_GROUP_BITS buckets
 *   entries                `len` + 1 struct ring_entry, ascending by position
 *   clocks                 monotonic milliseconds, for userspace only
 *
 * The buckets are a direct table: one holds the backend that owns all of the hashes in it,
 * and RING_BUCKET_SEARCH where these have several owners, or lie in a moving arc. Then the
 * entries tell, from the one on that the group's start names: it is the first that is not
 * below the group's hashes. The last entry is the first one again, at the largest position,
 * for hashes that no other one is at or after. So the answer is that of the plain search.
 *
 * While arcs move, the positions are those of the new ring and of the edges of the moving
 * arcs, and owners are those of the new ring.
 *
 * Everything that a packet needs of a ring is in this one map, so swapping the map is all
 * that publishing takes. An empty ring has len 0 and no entries.
 */
#ifndef RINGLB_BPF_RING_ABI_H
#define RINGLB_BPF_RING_ABI_H

#include <linux/types.h>

#define RING_POSITIONS_MAX (1U << 21)

/*
 * An array of maps takes inner maps of one size only, so there is one for each of these
 * sizes in bytes, each four times the one before. ring_classes[pool] says which one counts.
 */
#define RING_CLASSES(X)                                                                            \
	X(0, 32768)                                                                                \
	X(1, 131072)                                                                               \
	X(2, 524288)                                                                               \
	X(3, 2097152)                                                                              \
	X(4, 8388608)                                                                              \
	X(5, 33554432)                                                                             \
	X(6, 134217728)

#define RING_CLASS_ONE(number, bytes) +1
enum { RING_CLASS_COUNT = RING_CLASSES(RING_CLASS_ONE) };
#undef RING_CLASS_ONE

struct ring_header {
	__u64 seed;	 /* of positions and flow hashes */
	__u32 len;	 /* positions */
	__u32 shift;	 /* a hash's bucket is what this many bits to the right leave of it */
	__u32 starts_at; /* bytes from the header on, as the next ones */
	__u32 entries_at;
	__u32 clocks_at;
	__u16 clocks;
	__u16 moving; /* 1: some entry has flags */
	__u8 pad[32];
};
_Static_assert(sizeof(struct ring_header) == 64, "one cache line");

#define RING_BUCKET_SEARCH 0xffff
#define RING_GROUP_BITS	   5

/* One in ten buckets has a position in it, at most: others answer by themselves. */
#define RING_BUCKETS_PER_POSITION 10

/*
 * What is moving in an arc. Flags 0: it is settled. `clock` tells userspace when its
 * learning times end: clocks clock and clock + 1.
 */
struct ring_move {
	__u16 previous; /* backend id that flows without a memory belong to */
	__u16 flags;	/* MOVE_* */
	__u16 clock;
};
_Static_assert(sizeof(struct ring_move) == 6, "what is left of an entry");

/* The arc that ends at `position`, in host byte order. */
struct ring_entry {
	__u64 position;
	__u16 owner; /* backend id, or BACKEND_NONE */
	struct ring_move move;
};
_Static_assert(sizeof(struct ring_entry) == 16, "four a cache line");

/*
 * MOVE_ASK: the arc moves, ask the flow tables. MOVE_LEARN_*: it is not known yet
 * which old flows there are, so one that is not remembered is `previous`'s.
 */
#define MOVE_ASK	 1
#define MOVE_LEARN_TCP	 2
#define MOVE_LEARN_OTHER 4

#endif
