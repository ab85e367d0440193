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

static size_t ring_elements(size_t len)
{
	return RING_POSITIONS_AT + len +
	       (len + RING_OWNERS_PER_ELEMENT - 1) / RING_OWNERS_PER_ELEMENT;
}

static uint32_t ring_words_len(const uint64_t *words)
{
	struct ring_header header;

	memcpy(&header, &words[RING_HEADER_AT], sizeof(header));
	return header.len;
}

static uint16_t ring_words_owner(const uint64_t *words, size_t slot)
{
	uint64_t word =
		words[RING_POSITIONS_AT + ring_words_len(words) + slot / RING_OWNERS_PER_ELEMENT];

	return (uint16_t)(word >> (slot % RING_OWNERS_PER_ELEMENT * RING_OWNER_BITS));
}

static void ring_fill(uint64_t *words, const struct ring *ring, const uint32_t *backends)
{
	struct ring_header header = {.len = (uint32_t)ring->len};
	uint64_t *owners = words + RING_POSITIONS_AT + ring->len;

	memcpy(&words[RING_HEADER_AT], &header, sizeof(header));
	words[RING_SEED_AT] = ring->params.seed;
	if (ring->len)
		memcpy(&words[RING_POSITIONS_AT], ring->positions,
		       ring->len * sizeof(*ring->positions));
	for (size_t slot = 0; slot < ring->len; slot++)
		owners[slot / RING_OWNERS_PER_ELEMENT] |=
			(uint64_t)backends[ring->owners[slot]]
			<< (slot % RING_OWNERS_PER_ELEMENT * RING_OWNER_BITS);
}

static uint64_t *map_words(int fd, size_t elements, int protection)
{
	void *words = mmap(NULL, elements * sizeof(uint64_t), protection, MAP_SHARED, fd, 0);

	return words == MAP_FAILED ? NULL : words;
}

int dataplane_prepare_ring(struct dataplane *dp, const struct ring *ring, const uint32_t *backends,
			   int *fd)
{
	DECLARE_LIBBPF_OPTS(bpf_map_create_opts, options,
			    .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	size_t elements = ring_elements(ring->len);
	uint64_t *words;
	int map, err;

	(void)dp;
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
	ring_fill(words, ring, backends);
	munmap(words, elements * sizeof(uint64_t));
	*fd = map;
	return 0;
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
	uint32_t len = sizeof(info), id;
	int err;

	if (bpf_map_lookup_elem(bpf_map__fd(dp->skeleton->maps.rings), &pool, &id))
		return errno == ENOENT ? -ENODATA : -errno;
	live->fd = bpf_map_get_fd_by_id(id);
	if (live->fd < 0)
		return -errno;
	err = bpf_obj_get_info_by_fd(live->fd, &info, &len) ? -errno : 0;
	live->elements = info.max_entries;
	live->words = err ? NULL : map_words(live->fd, live->elements, PROT_READ);
	if (!live->words) {
		err = err ? err : -errno;
		close(live->fd);
		return err;
	}
	if (live->elements >= RING_POSITIONS_AT &&
	    live->elements == ring_elements(ring_words_len(live->words)))
		return 0;
	munmap(live->words, live->elements * sizeof(uint64_t));
	close(live->fd);
	return -EBADMSG;
}

static void live_ring_close(struct live_ring *live)
{
	munmap(live->words, live->elements * sizeof(uint64_t));
	close(live->fd);
}

static bool ring_words_equal(const struct live_ring *live, const struct ring *ring,
			     const uint32_t *backends)
{
	const uint64_t *words = live->words;

	if (ring_words_len(words) != ring->len || words[RING_SEED_AT] != ring->params.seed)
		return false;
	if (ring->len && memcmp(&words[RING_POSITIONS_AT], ring->positions,
				ring->len * sizeof(*ring->positions)))
		return false;
	for (size_t slot = 0; slot < ring->len; slot++)
		if (ring_words_owner(words, slot) != backends[ring->owners[slot]])
			return false;
	return true;
}

bool dataplane_ring_is_live(struct dataplane *dp, uint32_t pool, const struct ring *ring,
			    const uint32_t *backends)
{
	struct live_ring live;
	bool equal;

	if (live_ring_open(dp, pool, &live))
		return false;
	equal = ring_words_equal(&live, ring, backends);
	live_ring_close(&live);
	return equal;
}

/* First position at or after @hash, or 0 past the last one. */
static uint32_t ring_words_search(const uint64_t *words, uint64_t hash)
{
	uint32_t len = ring_words_len(words), low = 0, high = len;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (words[RING_POSITIONS_AT + middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low < len ? low : 0;
}

static int find_vip(struct dataplane *dp, const struct flow *flow, struct dataplane_match *match,
		    struct vip *vip)
{
	struct endpoint key = {
		.port = flow->destination_port,
		.protocol = flow->protocol,
		.family = flow->family,
	};
	int err;

	memcpy(key.address, flow->destination, sizeof(key.address));
	err = dataplane_get_vip(dp, &key, vip);
	if (err == -ENOENT) {
		key.port = 0;
		err = dataplane_get_vip(dp, &key, vip);
	}
	if (!err)
		match->vip = key;
	return err;
}

int dataplane_lookup(struct dataplane *dp, const struct flow *flow, struct dataplane_match *match)
{
	struct dataplane_match found = {};
	struct live_ring live;
	struct vip vip;
	int err = find_vip(dp, flow, &found, &vip);

	if (!err)
		err = live_ring_open(dp, vip.pool, &live);
	if (err)
		return err;
	found.pool = vip.pool;
	found.hash = flow_hash(flow, live.words[RING_SEED_AT]);
	found.len = ring_words_len(live.words);
	if (found.len) {
		found.slot = ring_words_search(live.words, found.hash);
		found.position = live.words[RING_POSITIONS_AT + found.slot];
		found.backend = ring_words_owner(live.words, found.slot);
	}
	live_ring_close(&live);
	*match = found;
	return 0;
}
