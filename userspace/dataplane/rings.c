/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/flow_hash.h"
#include "dataplane/state.h"
#include "ringlb.skel.h"

_Static_assert(RING_POSITIONS_MAX_LEN == RING_POSITIONS_MAX, "library and program agree");

/* One published ring, mapped; abi.h has the layout. */
struct live_ring {
	int fd;
	size_t elements;
	uint64_t *words;
};

static size_t owner_elements(size_t len)
{
	return (len + RING_OWNERS_PER_ELEMENT - 1) / RING_OWNERS_PER_ELEMENT;
}

static size_t ring_elements(const struct ring_header *header)
{
	return RING_POSITIONS_AT + header->len + owner_elements(header->len) +
	       (header->moving ? header->len : 0) + header->clocks;
}

static struct ring_header header_of(const uint64_t *words)
{
	struct ring_header header;

	memcpy(&header, &words[RING_HEADER_AT], sizeof(header));
	return header;
}

static size_t moves_at(size_t len)
{
	return RING_POSITIONS_AT + len + owner_elements(len);
}

static uint16_t owner_of(const uint64_t *words, size_t len, size_t slot)
{
	uint64_t word = words[RING_POSITIONS_AT + len + slot / RING_OWNERS_PER_ELEMENT];

	return (uint16_t)(word >> (slot % RING_OWNERS_PER_ELEMENT * RING_OWNER_BITS));
}

/* Pairs of learning times. All the arcs that one change moved share a pair. */
struct clocks {
	int64_t *times;
	uint16_t len;
};

/* The index of the pair in @clocks, added if it is new. @clocks has room for it. */
static int clock_index(struct clocks *clocks, const struct dataplane_move *move)
{
	/* Neighbouring arcs mostly moved together: the last pair is the likely one. */
	for (int i = clocks->len - 2; i >= 0; i -= 2)
		if (clocks->times[i] == move->tcp_until_ms &&
		    clocks->times[i + 1] == move->other_until_ms)
			return i;
	if (clocks->len + 2 > UINT16_MAX)
		return -ENOSPC;
	clocks->times[clocks->len] = move->tcp_until_ms;
	clocks->times[clocks->len + 1] = move->other_until_ms;
	clocks->len += 2;
	return clocks->len - 2;
}

static int list_moves(const struct dataplane_ring *ring, struct ring_move *out,
		      struct clocks *clocks)
{
	for (size_t slot = 0; slot < ring->len; slot++) {
		const struct dataplane_move *move = &ring->moves[slot];
		int clock;

		if (!move->asks)
			continue;
		clock = clock_index(clocks, move);
		if (clock < 0)
			return clock;
		out[slot].previous = move->previous;
		out[slot].clock = (uint16_t)clock;
		out[slot].flags = MOVE_ASK;
		if (move->tcp_until_ms)
			out[slot].flags |= MOVE_LEARN_TCP;
		if (move->other_until_ms)
			out[slot].flags |= MOVE_LEARN_OTHER;
	}
	return 0;
}

static void fill_words(uint64_t *words, const struct dataplane_ring *ring,
		       const struct ring_header *header, const struct ring_move *moves,
		       const struct clocks *clocks)
{
	uint64_t *owners = words + RING_POSITIONS_AT + ring->len;

	memcpy(&words[RING_HEADER_AT], header, sizeof(*header));
	words[RING_SEED_AT] = ring->seed;
	if (ring->len)
		memcpy(&words[RING_POSITIONS_AT], ring->positions,
		       ring->len * sizeof(*ring->positions));
	for (size_t slot = 0; slot < ring->len; slot++)
		owners[slot / RING_OWNERS_PER_ELEMENT] |=
			(uint64_t)ring->owners[slot]
			<< (slot % RING_OWNERS_PER_ELEMENT * RING_OWNER_BITS);
	if (!header->moving)
		return;
	memcpy(&words[moves_at(ring->len)], moves, ring->len * sizeof(*moves));
	memcpy(&words[moves_at(ring->len) + ring->len], clocks->times,
	       header->clocks * sizeof(*clocks->times));
}

static uint64_t *map_words(int fd, size_t elements, int protection)
{
	void *words = mmap(NULL, elements * sizeof(uint64_t), protection, MAP_SHARED, fd, 0);

	return words == MAP_FAILED ? NULL : words;
}

static int load_words(const struct dataplane_ring *ring, const struct ring_move *moves,
		      const struct clocks *clocks, int *fd)
{
	DECLARE_LIBBPF_OPTS(bpf_map_create_opts, options,
			    .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	struct ring_header header = {
		.len = (uint32_t)ring->len,
		.moving = clocks->len != 0,
		.clocks = clocks->len,
	};
	size_t elements = ring_elements(&header);
	uint64_t *words;
	int map, err;

	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ring", sizeof(uint32_t), sizeof(uint64_t),
			     (uint32_t)elements, &options);
	if (map < 0)
		return -errno;
	words = map_words(map, elements, PROT_READ | PROT_WRITE);
	if (!words) {
		err = -errno;
		close(map);
		return err;
	}
	fill_words(words, ring, &header, moves, clocks);
	munmap(words, elements * sizeof(uint64_t));
	*fd = map;
	return 0;
}

int dataplane_prepare_ring(struct dataplane *dp, const struct dataplane_ring *ring, int *fd)
{
	struct ring_move *moves = NULL;
	struct clocks clocks = {};
	int err = 0;

	(void)dp;
	if (ring->moves) {
		moves = calloc(ring->len + 1, sizeof(*moves));
		clocks.times = malloc((UINT16_MAX + 1) * sizeof(*clocks.times));
		err = moves && clocks.times ? list_moves(ring, moves, &clocks) : -ENOMEM;
	}
	if (!err)
		err = load_words(ring, moves, &clocks, fd);
	free(moves);
	free(clocks.times);
	return err;
}

int dataplane_publish_ring(struct dataplane *dp, uint32_t pool, int fd)
{
	int err = 0;

	if (bpf_map_update_elem(bpf_map__fd(dp->skeleton->maps.rings), &pool, &fd, BPF_ANY))
		err = -errno;
	close(fd);
	return err;
}

int dataplane_remove_ring(struct dataplane *dp, uint32_t pool)
{
	if (!bpf_map_delete_elem(bpf_map__fd(dp->skeleton->maps.rings), &pool))
		return 0;
	return errno == ENOENT ? 0 : -errno;
}

static int live_ring_open(struct dataplane *dp, uint32_t pool, struct live_ring *live)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info), id = 0;
	int err;

	err = bpf_map_lookup_elem(bpf_map__fd(dp->skeleton->maps.rings), &pool, &id);
	if (err)
		return err == -ENOENT ? -ENODATA : err;
	live->fd = bpf_map_get_fd_by_id(id);
	if (live->fd < 0)
		return live->fd;
	err = bpf_obj_get_info_by_fd(live->fd, &info, &len);
	live->elements = info.max_entries;
	live->words = err ? NULL : map_words(live->fd, live->elements, PROT_READ);
	if (!live->words) {
		close(live->fd);
		return err ? err : -ENOMEM;
	}
	if (live->elements >= RING_POSITIONS_AT) {
		struct ring_header header = header_of(live->words);

		if (live->elements == ring_elements(&header))
			return 0;
	}
	munmap(live->words, live->elements * sizeof(uint64_t));
	close(live->fd);
	return -EBADMSG;
}

static void live_ring_close(struct live_ring *live)
{
	munmap(live->words, live->elements * sizeof(uint64_t));
	close(live->fd);
}

static void copy_moves(struct dataplane_ring *ring, const uint64_t *words,
		       const struct ring_header *header)
{
	const uint64_t *clocks = words + moves_at(header->len) + header->len;

	for (size_t slot = 0; slot < header->len; slot++) {
		struct dataplane_move *to = &ring->moves[slot];
		struct ring_move from;

		memcpy(&from, &words[moves_at(header->len) + slot], sizeof(from));
		to->previous = from.previous;
		to->asks = from.flags && from.clock + 1 < header->clocks;
		if (!to->asks)
			continue;
		to->tcp_until_ms = (int64_t)clocks[from.clock];
		to->other_until_ms = (int64_t)clocks[from.clock + 1];
	}
}

static int copy_words(struct dataplane_ring *ring, const uint64_t *words)
{
	struct ring_header header = header_of(words);

	ring->seed = words[RING_SEED_AT];
	ring->len = header.len;
	ring->positions = malloc((ring->len + 1) * sizeof(*ring->positions));
	ring->owners = malloc((ring->len + 1) * sizeof(*ring->owners));
	if (header.moving)
		ring->moves = calloc(ring->len + 1, sizeof(*ring->moves));
	if (!ring->positions || !ring->owners || (header.moving && !ring->moves))
		return -ENOMEM;
	if (ring->len)
		memcpy(ring->positions, &words[RING_POSITIONS_AT],
		       ring->len * sizeof(*ring->positions));
	for (size_t slot = 0; slot < ring->len; slot++)
		ring->owners[slot] = owner_of(words, ring->len, slot);
	if (header.moving)
		copy_moves(ring, words, &header);
	return 0;
}

int dataplane_read_ring(struct dataplane *dp, uint32_t pool, struct dataplane_ring *ring)
{
	struct dataplane_ring copy = {};
	struct live_ring live = {};
	int err = live_ring_open(dp, pool, &live);

	if (err)
		return err;
	err = copy_words(&copy, live.words);
	live_ring_close(&live);
	if (err)
		dataplane_ring_release(&copy);
	else
		*ring = copy;
	return err;
}

static bool same_move(const struct dataplane_move *a, const struct dataplane_move *b)
{
	if (a->asks != b->asks)
		return false;
	return !a->asks || (a->previous == b->previous && a->tcp_until_ms == b->tcp_until_ms &&
			    a->other_until_ms == b->other_until_ms);
}

bool dataplane_ring_equal(const struct dataplane_ring *a, const struct dataplane_ring *b)
{
	if (a->seed != b->seed || a->len != b->len || !a->moves != !b->moves)
		return false;
	if (!a->len)
		return true;
	if (memcmp(a->positions, b->positions, a->len * sizeof(*a->positions)) != 0 ||
	    memcmp(a->owners, b->owners, a->len * sizeof(*a->owners)) != 0)
		return false;
	for (size_t slot = 0; a->moves && slot < a->len; slot++)
		if (!same_move(&a->moves[slot], &b->moves[slot]))
			return false;
	return true;
}

void dataplane_ring_release(struct dataplane_ring *ring)
{
	free(ring->positions);
	free(ring->owners);
	free(ring->moves);
	*ring = (struct dataplane_ring){};
}

/* First position at or after @hash, or 0 past the last one. */
static uint32_t search_words(const uint64_t *words, uint32_t len, uint64_t hash)
{
	uint32_t low = 0, high = len;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (words[RING_POSITIONS_AT + middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low < len ? low : 0;
}

static void match_words(struct dataplane_match *match, const uint64_t *words)
{
	struct ring_header header = header_of(words);
	struct ring_move move;

	match->len = header.len;
	if (!header.len)
		return;
	match->slot = search_words(words, header.len, match->hash);
	match->position = words[RING_POSITIONS_AT + match->slot];
	match->backend = owner_of(words, header.len, match->slot);
	if (!header.moving)
		return;
	memcpy(&move, &words[moves_at(header.len) + match->slot], sizeof(move));
	match->moving = move.flags != 0;
	match->previous = move.previous;
}

int dataplane_lookup(struct dataplane *dp, const struct flow *flow, struct dataplane_match *match)
{
	struct dataplane_match found = {};
	struct live_ring live = {};
	struct vip vip;
	int err = tables_find_vip(dp, flow, &found, &vip);

	if (!err)
		err = live_ring_open(dp, vip.pool, &live);
	if (err)
		return err;
	found.pool = vip.pool;
	found.what = vip.hash;
	found.hash = flow_hash_by(flow, vip.hash, live.words[RING_SEED_AT]);
	found.quic = vip.quic;
	match_words(&found, live.words);
	live_ring_close(&live);
	*match = found;
	return 0;
}
