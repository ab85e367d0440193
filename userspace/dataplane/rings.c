/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/flow_hash.h"
#include "dataplane/ring_image.h"
#include "dataplane/state.h"
#include "ringlb.skel.h"

_Static_assert(RING_POSITIONS_MAX_LEN == RING_POSITIONS_MAX, "library and program agree");

/* Smaller maps are made anew sooner than another one is kept for each pool. */
#define SPARE_CLASS_MIN 4

/* One published ring, mapped to be read. */
struct live_ring {
	int fd;
	size_t bytes;
	void *value;
};

static void *map_value(int fd, size_t bytes, int protection)
{
	void *value = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);

	return value == MAP_FAILED ? NULL : value;
}

/* Bytes of the one value of a ring's map, or -errno. */
static int64_t map_bytes(int fd)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? -errno : (int64_t)info.value_size;
}

static int class_of(int fd)
{
	int64_t bytes = map_bytes(fd);

	for (int i = 0; i < RING_CLASS_COUNT; i++)
		if (bytes == (int64_t)ring_class_bytes(i))
			return i;
	return bytes < 0 ? (int)bytes : -EINVAL;
}

static int create_map(size_t bytes)
{
	DECLARE_LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ring", sizeof(uint32_t), (uint32_t)bytes, 1,
				 &options);

	return map < 0 ? -errno : map;
}

/* The pool's spare map if it has one of that size. The caller closes what it gets. */
static int take_spare(struct kept_rings *kept, int class)
{
	int spare = kept->spare;

	if (spare < 0 || class_of(spare) != class)
		return -1;
	kept->spare = -1;
	return spare;
}

int dataplane_prepare_ring(struct dataplane *dp, uint32_t pool, const struct dataplane_ring *ring,
			   int *fd)
{
	struct ring_image image;
	int class = ring_image_init(&image, ring), map = -1, err = class;
	bool written;
	size_t bytes;
	void *value;

	if (class < 0)
		return class;
	bytes = ring_class_bytes(class);
	if (pool < POOLS_MAX)
		map = take_spare(&dp->kept[pool], class);
	written = map >= 0;
	if (!written)
		map = create_map(bytes);
	value = map < 0 ? NULL : map_value(map, bytes, PROT_READ | PROT_WRITE);
	err = map < 0 ? map : value ? ring_image_write(&image, value, written) : -ENOMEM;
	if (value)
		munmap(value, bytes);
	if (!err)
		*fd = map;
	else if (map >= 0)
		close(map);
	ring_image_release(&image);
	return err;
}

/* The kernel returns from it when no program uses what was there before any more. */
static int set_ring(struct dataplane *dp, int class, uint32_t pool, int fd)
{
	return bpf_map_update_elem(dp->rings[class], &pool, &fd, BPF_ANY) ? -errno : 0;
}

/*
 * Until the class changes the former ring counts, which lies in another map, and stays there
 * for those packets that read the former class: setting the new one again waits for them.
 */
static int publish(struct dataplane *dp, uint32_t pool, int fd)
{
	uint64_t former = dp->ring_classes[pool];
	int class = class_of(fd), err;

	if (class < 0)
		return class;
	err = set_ring(dp, class, pool, fd);
	if (err || former == (uint64_t)class)
		return err;
	__atomic_store_n(&dp->ring_classes[pool], (uint64_t)class, __ATOMIC_RELEASE);
	/* One that is left over costs memory only, until the next start. */
	if (!set_ring(dp, class, pool, fd))
		bpf_map_delete_elem(dp->rings[former % RING_CLASS_COUNT], &pool);
	return 0;
}

static void close_kept(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void forget_kept(struct kept_rings *kept)
{
	close_kept(&kept->live);
	close_kept(&kept->spare);
}

/* The former ring's map becomes the spare one: no packet reads it any more. */
static void keep(struct kept_rings *kept, int fd)
{
	int class = class_of(fd);

	close_kept(&kept->spare);
	if (kept->live >= 0 && class_of(kept->live) == class)
		kept->spare = kept->live;
	else
		close_kept(&kept->live);
	kept->live = -1;
	if (class >= SPARE_CLASS_MIN)
		kept->live = fd;
	else
		close(fd);
}

int dataplane_publish_ring(struct dataplane *dp, uint32_t pool, int fd)
{
	int err = pool < POOLS_MAX ? publish(dp, pool, fd) : -E2BIG;

	if (err)
		close(fd);
	else
		keep(&dp->kept[pool], fd);
	return err;
}

static int live_class(const struct dataplane *dp, uint32_t pool)
{
	if (pool >= POOLS_MAX || dp->ring_classes[pool] >= RING_CLASS_COUNT)
		return -EBADMSG;
	return (int)dp->ring_classes[pool];
}

int dataplane_remove_ring(struct dataplane *dp, uint32_t pool)
{
	int class = live_class(dp, pool);

	if (class < 0)
		return class;
	forget_kept(&dp->kept[pool]);
	if (!bpf_map_delete_elem(dp->rings[class], &pool))
		return 0;
	return errno == ENOENT ? 0 : -errno;
}

void rings_drop_stale(struct dataplane *dp)
{
	for (int i = 0; i < RING_CLASS_COUNT; i++)
		for (uint32_t pool = 0; pool < POOLS_MAX; pool++) {
			uint32_t id;

			if (dp->ring_classes[pool] != (uint64_t)i &&
			    !bpf_map_lookup_elem(dp->rings[i], &pool, &id))
				bpf_map_delete_elem(dp->rings[i], &pool);
		}
}

int rings_adopt(struct dataplane *dp)
{
#define CLASS_MAP(number, bytes) bpf_map__fd(dp->skeleton->maps.rings_##number),
	const int rings[] = {RING_CLASSES(CLASS_MAP)};
#undef CLASS_MAP
	void *mapped = mmap(NULL, POOLS_MAX * sizeof(*dp->ring_classes), PROT_READ | PROT_WRITE,
			    MAP_SHARED, bpf_map__fd(dp->skeleton->maps.ring_classes), 0);

	if (mapped == MAP_FAILED)
		return -errno;
	dp->ring_classes = mapped;
	memcpy(dp->rings, rings, sizeof(rings));
	for (size_t pool = 0; pool < POOLS_MAX; pool++)
		dp->kept[pool] = (struct kept_rings){.live = -1, .spare = -1};
	return 0;
}

void rings_let_go(struct dataplane *dp)
{
	if (!dp->ring_classes)
		return;
	munmap(dp->ring_classes, POOLS_MAX * sizeof(*dp->ring_classes));
	for (size_t pool = 0; pool < POOLS_MAX; pool++)
		forget_kept(&dp->kept[pool]);
}

static void live_ring_close(struct live_ring *live)
{
	munmap(live->value, live->bytes);
	close(live->fd);
}

static int live_ring_open(struct dataplane *dp, uint32_t pool, struct live_ring *live)
{
	int class = live_class(dp, pool), err;
	int64_t bytes;
	uint32_t id = 0;

	if (class < 0)
		return class;
	err = bpf_map_lookup_elem(dp->rings[class], &pool, &id);
	if (err)
		return err == -ENOENT ? -ENODATA : err;
	live->fd = bpf_map_get_fd_by_id(id);
	if (live->fd < 0)
		return live->fd;
	bytes = map_bytes(live->fd);
	live->bytes = (size_t)bytes;
	live->value = bytes < 0 ? NULL : map_value(live->fd, live->bytes, PROT_READ);
	if (!live->value) {
		close(live->fd);
		return bytes < 0 ? (int)bytes : -ENOMEM;
	}
	if (ring_layout_valid(live->value, live->bytes))
		return 0;
	live_ring_close(live);
	return -EBADMSG;
}

static size_t count_moves(const struct ring_header *header, const struct ring_entry *entries)
{
	size_t count = 0;

	for (size_t slot = 0; header->moving && slot < header->len; slot++)
		count += entries[slot].move.flags != 0;
	return count;
}

/* What @entry says of its move, whose clocks must be there. */
static struct dataplane_move move_of(const struct ring_entry *entry, size_t slot,
				     const int64_t *clocks)
{
	return (struct dataplane_move){
		.slot = (uint32_t)slot,
		.previous = entry->move.previous,
		.tcp_until_ms = clocks[entry->move.clock],
		.other_until_ms = clocks[entry->move.clock + 1],
	};
}

static bool moves_in(const struct ring_header *header, const struct ring_entry *entry)
{
	return entry->move.flags && entry->move.clock + 1 < header->clocks;
}

static int copy_ring(struct dataplane_ring *ring, const void *value)
{
	const struct ring_header *header = value;
	const struct ring_entry *entries = ring_entries_of(value);
	size_t n_moves = count_moves(header, entries);

	ring->seed = header->seed;
	ring->len = header->len;
	ring->positions = malloc((ring->len + 1) * sizeof(*ring->positions));
	ring->owners = malloc((ring->len + 1) * sizeof(*ring->owners));
	ring->moves = malloc((n_moves + 1) * sizeof(*ring->moves));
	if (!ring->positions || !ring->owners || !ring->moves)
		return -ENOMEM;
	for (size_t slot = 0; slot < ring->len; slot++) {
		ring->positions[slot] = entries[slot].position;
		ring->owners[slot] = entries[slot].owner;
		if (n_moves && moves_in(header, &entries[slot]))
			ring->moves[ring->n_moves++] =
				move_of(&entries[slot], slot, ring_clocks_of(value));
	}
	return 0;
}

int dataplane_read_ring(struct dataplane *dp, uint32_t pool, struct dataplane_ring *ring)
{
	struct dataplane_ring copy = {};
	struct live_ring live = {};
	int err = live_ring_open(dp, pool, &live);

	if (err)
		return err;
	err = copy_ring(&copy, live.value);
	live_ring_close(&live);
	if (err)
		dataplane_ring_release(&copy);
	else
		*ring = copy;
	return err;
}

static bool same_move(const struct dataplane_move *a, const struct dataplane_move *b)
{
	return a->slot == b->slot && a->previous == b->previous &&
	       a->tcp_until_ms == b->tcp_until_ms && a->other_until_ms == b->other_until_ms;
}

static bool same_ring(const struct dataplane_ring *ring, const void *value)
{
	const struct ring_header *header = value;
	const struct ring_entry *entries = ring_entries_of(value);
	const int64_t *clocks = ring_clocks_of(value);
	size_t n_moves = 0;

	if (ring->seed != header->seed || ring->len != header->len)
		return false;
	for (size_t slot = 0; slot < ring->len; slot++) {
		const struct ring_entry *entry = &entries[slot];
		struct dataplane_move move;

		if (entry->position != ring->positions[slot] || entry->owner != ring->owners[slot])
			return false;
		if (!moves_in(header, entry))
			continue;
		move = move_of(entry, slot, clocks);
		if (n_moves == ring->n_moves || !same_move(&ring->moves[n_moves++], &move))
			return false;
	}
	return n_moves == ring->n_moves;
}

bool dataplane_ring_is_live(struct dataplane *dp, uint32_t pool, const struct dataplane_ring *ring)
{
	struct live_ring live = {};
	bool same;

	if (live_ring_open(dp, pool, &live))
		return false;
	same = same_ring(ring, live.value);
	live_ring_close(&live);
	return same;
}

void dataplane_ring_release(struct dataplane_ring *ring)
{
	free(ring->positions);
	free(ring->owners);
	free(ring->moves);
	*ring = (struct dataplane_ring){};
}

static void match_ring(struct dataplane_match *match, const void *value)
{
	const struct ring_header *header = value;
	const struct ring_entry *entry;

	match->len = header->len;
	if (!header->len)
		return;
	match->slot = ring_layout_search(value, match->hash);
	entry = &ring_entries_of(value)[match->slot];
	match->first =
		ring_entries_of(value)[match->slot ? match->slot - 1 : header->len - 1].position +
		1;
	match->position = entry->position;
	match->backend = entry->owner;
	match->flags = entry->move.flags;
	match->moving = match->flags != 0;
	match->previous = entry->move.previous;
}

int dataplane_lookup(struct dataplane *dp, const struct flow *flow, struct dataplane_match *match)
{
	struct dataplane_match found = {};
	struct live_ring live = {};
	struct vip vip;
	int err = tables_find_vip(dp, flow, &found, &vip);

	if (err)
		return err;
	found.pool = vip.pool;
	found.what = vip.hash;
	found.quic = vip.quic;
	err = live_ring_open(dp, vip.pool, &live);
	if (err) {
		*match = found;
		return err;
	}
	found.hash = flow_hash_by(flow, vip.hash, ((const struct ring_header *)live.value)->seed);
	match_ring(&found, live.value);
	live_ring_close(&live);
	*match = found;
	return 0;
}
