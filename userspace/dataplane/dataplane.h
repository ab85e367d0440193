/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The XDP program and its maps: load, pin, attach, publish, read.
 *
 * The only userspace code that knows map layouts. It decides nothing: ids, rings
 * and next hops come from the caller, and what is live stays live when the
 * process ends, because everything is pinned below one directory of a bpf file
 * system. One process at a time may hold that directory open.
 *
 * Functions return 0 or a count, else a negative errno; where there is a struct
 * dataplane_error it then holds one line for people. Nothing is printed.
 * Addresses, ports and MAC addresses are in network byte order, as in bpf/abi.h.
 */
#ifndef RINGLB_DATAPLANE_DATAPLANE_H
#define RINGLB_DATAPLANE_DATAPLANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "ring/ring.h"

#define DATAPLANE_PIN_DIR "/sys/fs/bpf/ringlb"

struct dataplane;

/* @key: a struct endpoint (VIPs, replies) or a struct label_key (labels) */
typedef bool dataplane_keep(void *context, const void *key);

struct dataplane_error {
	char what[256];
};

enum dataplane_mode { DATAPLANE_NATIVE, DATAPLANE_GENERIC };

/**
 * struct dataplane_attachment - how the program sits on an interface
 * @shared: behind libxdp's dispatcher, which other programs can share; false if
 *	it is there alone
 */
struct dataplane_attachment {
	enum dataplane_mode mode;
	bool shared;
};

/**
 * struct dataplane_match - what the live maps say about a flow
 * @pool: id of the VIP's pool
 * @slot, @position, @backend: valid if @len is not 0
 * @len: positions in the live ring
 */
struct dataplane_match {
	struct endpoint vip;
	uint32_t pool;
	uint64_t hash;
	uint32_t len;
	uint32_t slot;
	uint64_t position;
	uint32_t backend;
};

/**
 * dataplane_open() - load the program, and take over or create the pinned maps
 * @pin_dir: created if missing; its parent must be on a bpf file system
 *
 * Takes over what is pinned, contents untouched, if its layout is this version's.
 * Does not touch any interface. If it fails on an empty @pin_dir nothing is left
 * pinned.
 *
 * Return: 0; -EBUSY if another process holds @pin_dir; -EPROTO if pinned maps have
 * another layout; -errno. On error *@out is left as it was.
 */
int dataplane_open(struct dataplane **out, const char *pin_dir, struct dataplane_error *error);

/** dataplane_close() - let go; all that is live goes on working. NULL is allowed. */
void dataplane_close(struct dataplane *dp);

/** dataplane_program_fd() - the loaded program, for BPF_PROG_TEST_RUN; owned by @dp */
int dataplane_program_fd(const struct dataplane *dp);

/**
 * dataplane_attach() - have packets of an interface go through the program
 *
 * If this very program is there already, nothing is done; an older version of
 * it is replaced in place, so no packet meets an interface without it.
 *
 * Return: 0; -EBUSY if a program of somebody else is there that cannot be shared;
 * -errno of the kernel, with the remedy in @error.
 */
int dataplane_attach(struct dataplane *dp, uint32_t ifindex, enum dataplane_mode mode,
		     struct dataplane_error *error);

/** dataplane_detach() - take the program off. Return: 0; -ENOENT if it is not there; -errno. */
int dataplane_detach(struct dataplane *dp, uint32_t ifindex, struct dataplane_error *error);

/** dataplane_attachment() - Return: 0; -ENOENT if the program is not on @ifindex; -errno. */
int dataplane_attachment(struct dataplane *dp, uint32_t ifindex, struct dataplane_attachment *out);

/**
 * dataplane_remove() - detach everywhere and unpin everything
 * @removed: called with one line for each thing removed; may be NULL
 *
 * Needs no struct dataplane, so it works whatever is pinned. Only interfaces of the
 * caller's network namespace are looked at.
 *
 * Return: number of things removed; -EBUSY if another process holds @pin_dir;
 * -errno.
 */
int dataplane_remove(const char *pin_dir, void (*removed)(void *context, const char *line),
		     void *context, struct dataplane_error *error);

/**
 * dataplane_prepare_ring() - load a ring into a map of its own that nobody uses yet
 * @ring: XXH64 over the whole circle, or empty
 * @backends: backends[i] is the id of ring->members[i]
 * @fd: receives the map; dataplane_publish_ring() or close() it
 */
int dataplane_prepare_ring(struct dataplane *dp, const struct ring *ring, const uint32_t *backends,
			   int *fd);

/**
 * dataplane_publish_ring() - make a prepared ring live with one swap; closes @fd
 *
 * When it returns, no packet reads the former ring any more, so the ids that only
 * that one named may be given out again.
 */
int dataplane_publish_ring(struct dataplane *dp, uint32_t pool, int fd);

/** dataplane_ring_is_live() - true if exactly this ring, with these ids, is live in @pool */
bool dataplane_ring_is_live(struct dataplane *dp, uint32_t pool, const struct ring *ring,
			    const uint32_t *backends);

/** dataplane_remove_ring() - packets for @pool are dropped from now on. 0 if there is none. */
int dataplane_remove_ring(struct dataplane *dp, uint32_t pool);

/**
 * VIPs, replies, labels. Setting an entry that is live with the same value writes
 * nothing. dataplane_next_*(): set *@cursor to all zero first; 0, or -ENOENT at the
 * end; nothing may be removed meanwhile. dataplane_prune_*(): remove each entry for
 * whose key @keep is false; 0 or -errno.
 */
int dataplane_set_vip(struct dataplane *dp, const struct endpoint *key, const struct vip *value);
int dataplane_remove_vip(struct dataplane *dp, const struct endpoint *key);
int dataplane_get_vip(struct dataplane *dp, const struct endpoint *key, struct vip *value);
int dataplane_next_vip(struct dataplane *dp, struct endpoint *cursor, struct vip *value);
int dataplane_prune_vips(struct dataplane *dp, dataplane_keep *keep, void *context);

/* Replies of nat backends: backend endpoint -> what their source becomes. */
int dataplane_set_reply(struct dataplane *dp, const struct endpoint *key,
			const struct reply *value);
int dataplane_remove_reply(struct dataplane *dp, const struct endpoint *key);
int dataplane_next_reply(struct dataplane *dp, struct endpoint *cursor, struct reply *value);
int dataplane_prune_replies(struct dataplane *dp, dataplane_keep *keep, void *context);

/**
 * Backends. Only `address`, `port`, `family` and `forward` of @backend count; an
 * entry that says the same keeps its next hop and its counters, any other one gets
 * an unknown next hop and counters of zero. No live ring may name an id whose entry
 * is changed or removed.
 */
int dataplane_set_backend(struct dataplane *dp, uint32_t id, const struct backend *backend);
void dataplane_remove_backend(struct dataplane *dp, uint32_t id);
const struct backend *dataplane_get_backend(const struct dataplane *dp, uint32_t id);

/** dataplane_set_nexthop() - change where frames for a live backend go, in one step */
void dataplane_set_nexthop(struct dataplane *dp, uint32_t id, const struct nexthop *nexthop);

/** dataplane_allow_egress() - let packets leave by @ifindex that came in elsewhere */
int dataplane_allow_egress(struct dataplane *dp, uint32_t ifindex);

/* Labels: the names behind ids, kept for the next start. */
int dataplane_set_label(struct dataplane *dp, const struct label_key *key,
			const struct label *label);
int dataplane_remove_label(struct dataplane *dp, const struct label_key *key);
int dataplane_next_label(struct dataplane *dp, struct label_key *cursor, struct label *label);
int dataplane_prune_labels(struct dataplane *dp, dataplane_keep *keep, void *context);

/** Counters, summed over all CPUs. Return: 0 or -errno; then the output is untouched. */
int dataplane_count_verdict(struct dataplane *dp, enum verdict verdict, uint64_t *packets);
int dataplane_count_vip(struct dataplane *dp, uint32_t vip, struct counter *counter);
int dataplane_count_backend(struct dataplane *dp, uint32_t backend, struct counter *counter);
int dataplane_reset_vip(struct dataplane *dp, uint32_t vip);

/**
 * dataplane_lookup() - find a flow's backend in the live maps, as a packet would
 *
 * Return: 0; -ENOENT if no VIP matches; -ENODATA if the pool has no ring; -errno.
 */
int dataplane_lookup(struct dataplane *dp, const struct flow *flow, struct dataplane_match *match);

/** verdict_name(), verdict_action(), verdict_text() - "DROP_TTL", "DROP", one line */
const char *verdict_name(enum verdict verdict);
const char *verdict_action(enum verdict verdict);
const char *verdict_text(enum verdict verdict);

#endif
