/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Maps `vip_front` and `front`: bpf/front.h says what packets read there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/front.h"
#include "dataplane/state.h"
#include "ringlb.skel.h"

#define SLOTS_BYTES (FRONT_SLOTS * sizeof(struct front_slot))

static struct front_key key_of(const struct endpoint *endpoint)
{
	return front_key(endpoint->address, endpoint->port, endpoint->protocol, endpoint->family);
}

static bool has(const struct front_slot *slot, const struct front_key *key)
{
	return slot->word & FRONT_VIP && !memcmp(&slot->key, key, sizeof(*key));
}

static void set_word(struct front_slot *slot, uint64_t word)
{
	__atomic_store_n(&slot->word, word, __ATOMIC_SEQ_CST);
}

/* Packets that read the slot meanwhile ask the map behind it. */
static void set_slot(struct front_slot *slot, const struct front_key *key, uint64_t word)
{
	set_word(slot, FRONT_MORE);
	slot->key = *key;
	set_word(slot, word);
}

/* QUIC ids have no room in the word: such VIPs are only in the map behind. */
static void put(struct front_slot *slots, const struct endpoint *endpoint, const struct vip *vip)
{
	struct front_key key = key_of(endpoint);
	struct front_slot *slot = &slots[front_index(&key)];
	uint64_t more = slot->word & FRONT_MORE;
	bool own = has(slot, &key);

	if (vip->quic || (slot->word & FRONT_VIP && !own))
		set_word(slot, (own ? 0 : slot->word) | FRONT_MORE);
	else if (own)
		set_word(slot, front_word(vip) | more);
	else
		set_slot(slot, &key, front_word(vip) | more);
}

void front_set_vip(struct dataplane *dp, const struct endpoint *endpoint, const struct vip *vip)
{
	put(dp->front_slots, endpoint, vip);
}

void front_remove_vip(struct dataplane *dp, const struct endpoint *endpoint)
{
	struct front_key key = key_of(endpoint);
	struct front_slot *slot = &dp->front_slots[front_index(&key)];

	if (has(slot, &key))
		set_word(slot, slot->word & FRONT_MORE);
}

int front_rebuild(struct dataplane *dp)
{
	struct front_slot *slots = calloc(FRONT_SLOTS, sizeof(*slots));
	struct endpoint cursor = {};
	struct vip vip;

	if (!slots)
		return -ENOMEM;
	while (!dataplane_next_vip(dp, &cursor, &vip))
		put(slots, &cursor, &vip);
	for (size_t i = 0; i < FRONT_SLOTS; i++)
		if (memcmp(&slots[i], &dp->front_slots[i], sizeof(*slots)) != 0)
			set_slot(&dp->front_slots[i], &slots[i].key, slots[i].word);
	free(slots);
	return 0;
}

void front_set_prefixes(struct dataplane *dp, bool some)
{
	__atomic_store_n(&dp->front->prefixes, some, __ATOMIC_SEQ_CST);
}

void front_add_backend(struct dataplane *dp, const __be32 address[4])
{
	uint32_t bit = front_bit(address);

	__atomic_fetch_or(&dp->front->backends[bit / 64], UINT64_C(1) << bit % 64,
			  __ATOMIC_SEQ_CST);
}

int front_keep_backends(struct dataplane *dp, const struct endpoint *endpoints, size_t len)
{
	struct front *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		uint32_t bit = front_bit(endpoints[i].address);

		kept->backends[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	for (size_t i = 0; i < sizeof(kept->backends) / sizeof(kept->backends[0]); i++)
		__atomic_store_n(&dp->front->backends[i], kept->backends[i], __ATOMIC_SEQ_CST);
	free(kept);
	return 0;
}

static void *map_all(const struct bpf_map *map, size_t len)
{
	void *mapped = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

int front_adopt(struct dataplane *dp)
{
	dp->front_slots = map_all(dp->skeleton->maps.vip_front, SLOTS_BYTES);
	dp->front = map_all(dp->skeleton->maps.front, sizeof(*dp->front));
	if (!dp->front_slots || !dp->front)
		return -errno;
	return front_rebuild(dp);
}

void front_let_go(struct dataplane *dp)
{
	if (dp->front_slots)
		munmap(dp->front_slots, SLOTS_BYTES);
	if (dp->front)
		munmap(dp->front, sizeof(*dp->front));
}
