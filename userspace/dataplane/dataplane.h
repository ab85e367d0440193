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

/* @key: a struct endpoint (VIPs, replies), vip_prefix, quic_id or label_key */
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
 * @vip: the address and the first port that the VIP has; of any, 0
 * @prefix_len: of that address, in bits
 * @last: the last port that the VIP has, in host byte order
 * @what: enum vip_hash: what @hash is made of
 * @pool: id of the VIP's pool
 * @slot, @position, @backend (the owner): valid if @len is not 0
 * @first: the first hash of the arc, whose last one is @position; after that if it wraps
 * @moving: the arc moves; @previous is its previous owner, or BACKEND_NONE; @flags: MOVE_*
 * @quic: of the VIP: QUIC_LEN() of each configuration
 * @len: positions in the live ring
 */
struct dataplane_match {
	struct endpoint vip;
	uint8_t prefix_len;
	uint16_t last;
	uint32_t pool;
	uint32_t quic;
	uint8_t what;
	uint64_t hash;
	uint32_t len;
	uint32_t slot;
	uint64_t first;
	uint64_t position;
	uint32_t backend;
	bool moving;
	uint16_t previous;
	uint16_t flags;
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

/**
 * struct dataplane_sizes - entries of the flow tables
 *
 * Only for tables that are created; what is pinned keeps its size.
 */
struct dataplane_sizes {
	uint32_t established;
	uint32_t remembered;
	uint32_t embryonic;
	uint32_t other;
};

/** dataplane_open_sized() - dataplane_open() with flow tables of other sizes */
int dataplane_open_sized(struct dataplane **out, const char *pin_dir,
			 const struct dataplane_sizes *sizes, struct dataplane_error *error);

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
 * struct dataplane_move - what moves in one slot's arc
 * @previous: backend id, or BACKEND_NONE
 * @tcp_until_ms, @other_until_ms: CLOCK_MONOTONIC; 0: learning is over
 */
struct dataplane_move {
	uint32_t slot;
	uint16_t previous;
	int64_t tcp_until_ms;
	int64_t other_until_ms;
};

/**
 * struct dataplane_ring - a ring as packets see it
 * @seed: of positions and flow hashes
 * @positions: @len of them, ascending
 * @owners: backend ids, or BACKEND_NONE
 * @moves: @n_moves of them, ascending by slot; arcs of other slots are settled
 */
struct dataplane_ring {
	uint64_t seed;
	size_t len;
	uint64_t *positions;
	uint16_t *owners;
	struct dataplane_move *moves;
	size_t n_moves;
};

/**
 * dataplane_prepare_ring() - load a ring into a map of its own that nobody uses yet
 * @pool: where it shall be published. A large pool's map of before the last change is kept,
 *	and only what differs is written there.
 * @fd: receives the map; dataplane_publish_ring() or close() it
 *
 * Return: 0; -ENOSPC for too many different learning times; -errno.
 */
int dataplane_prepare_ring(struct dataplane *dp, uint32_t pool, const struct dataplane_ring *ring,
			   int *fd);

/**
 * dataplane_publish_ring() - make a prepared ring live with one swap; closes @fd
 *
 * When it returns, no packet reads the former ring any more, so the ids that only
 * that one named may be given out again.
 */
int dataplane_publish_ring(struct dataplane *dp, uint32_t pool, int fd);

/**
 * dataplane_read_ring() - copy the ring that is live in @pool
 * @ring: dataplane_ring_release() it
 *
 * Return: 0; -ENODATA if there is none; -EBADMSG if it is damaged; -errno.
 */
int dataplane_read_ring(struct dataplane *dp, uint32_t pool, struct dataplane_ring *ring);

/** dataplane_ring_is_live() - true if what is live in @pool is just @ring, its clocks included */
bool dataplane_ring_is_live(struct dataplane *dp, uint32_t pool, const struct dataplane_ring *ring);

/** dataplane_ring_release() - free what is inside; the struct is empty afterwards */
void dataplane_ring_release(struct dataplane_ring *ring);

/** dataplane_remove_ring() - packets for @pool are dropped from now on. 0 if there is none. */
int dataplane_remove_ring(struct dataplane *dp, uint32_t pool);

/**
 * VIPs, replies, labels. Setting an entry that is live with the same value writes
 * nothing. dataplane_next_*(): set *@cursor to all zero first; 0, or -ENOENT at the
 * end; nothing may be removed meanwhile. dataplane_prune_*(): remove each entry for
 * whose key @keep is false; 0 or -errno. An address counts as one of a VIP, or of a nat
 * backend, until the next dataplane_prune_*() after its last VIP, or reply, went: that is
 * what fragments without ports are told by.
 */
int dataplane_set_vip(struct dataplane *dp, const struct endpoint *key, const struct vip *value);
int dataplane_remove_vip(struct dataplane *dp, const struct endpoint *key);
int dataplane_get_vip(struct dataplane *dp, const struct endpoint *key, struct vip *value);
int dataplane_next_vip(struct dataplane *dp, struct endpoint *cursor, struct vip *value);
int dataplane_prune_vips(struct dataplane *dp, dataplane_keep *keep, void *context);

/**
 * VIP prefixes: what is found where no VIP of dataplane_set_vip() is. Each value is
 * complete for its prefix, so packets never see half of a change of one. It must not
 * be that of a shorter prefix, too, as @ranges[0].prefix_len says which one it is of.
 */
int dataplane_set_prefix(struct dataplane *dp, const struct vip_prefix *key,
			 const struct vip_ranges *value);
int dataplane_next_prefix(struct dataplane *dp, struct vip_prefix *cursor,
			  struct vip_ranges *value);
int dataplane_prune_prefixes(struct dataplane *dp, dataplane_keep *keep, void *context);

/* Replies of nat backends: backend endpoint -> what their source becomes. */
int dataplane_set_reply(struct dataplane *dp, const struct endpoint *key,
			const struct reply *value);
int dataplane_remove_reply(struct dataplane *dp, const struct endpoint *key);
int dataplane_next_reply(struct dataplane *dp, struct endpoint *cursor, struct reply *value);
int dataplane_prune_replies(struct dataplane *dp, dataplane_keep *keep, void *context);

/* Which backend of a pool a QUIC connection id names, by the server id in it. */
int dataplane_set_quic_id(struct dataplane *dp, const struct quic_id *key,
			  const struct quic_backend *value);
int dataplane_prune_quic_ids(struct dataplane *dp, dataplane_keep *keep, void *context);

/**
 * Backends. Only `address`, `port`, `family`, `forward` and `flags` of @backend count.
 * An entry for the same machine keeps its next hop, its counters and its flows: with nat
 * that is one address and port, without it one address, however packets get there. Any
 * other entry gets an unknown next hop and counters of zero, and no live ring may name
 * its id meanwhile, nor one that is removed.
 */
int dataplane_set_backend(struct dataplane *dp, uint32_t id, const struct backend *backend);
void dataplane_remove_backend(struct dataplane *dp, uint32_t id);
const struct backend *dataplane_get_backend(const struct dataplane *dp, uint32_t id);

/**
 * dataplane_set_takes() - which flows a backend takes: BACKEND_TAKES_*
 *
 * One that takes no old flows any more is another incarnation when it does again, so
 * what was remembered of it is void.
 */
void dataplane_set_takes(struct dataplane *dp, uint32_t id, uint32_t takes);

/** dataplane_set_nexthop() - change where frames for a live backend go, in one step */
void dataplane_set_nexthop(struct dataplane *dp, uint32_t id, const struct nexthop *nexthop);

/** dataplane_set_mtu() - longest IP packet on the way to a live backend; 0: not known */
void dataplane_set_mtu(struct dataplane *dp, uint32_t id, uint16_t mtu);

/** dataplane_set_encap(), _get_encap() - what the outer headers of ipip and gue are made of */
int dataplane_set_encap(struct dataplane *dp, const struct encap *encap);
int dataplane_get_encap(struct dataplane *dp, struct encap *encap);

/* What a flow's outer header takes from the flow; @port, of gue, in network byte order. */
struct dataplane_outer {
	__be32 source[4];
	__be16 port;
};

/** dataplane_outer() - as the program has it, for a backend of @family (ENDPOINT_*) */
struct dataplane_outer dataplane_outer(const struct encap *encap, const struct flow *flow,
				       uint8_t family);

/** dataplane_allow_egress() - let packets leave by @ifindex that came in elsewhere */
int dataplane_allow_egress(struct dataplane *dp, uint32_t ifindex);

/** dataplane_set_flow_times() - for how long flows in moving arcs are remembered */
int dataplane_set_flow_times(struct dataplane *dp, const struct flow_times *times);

/* One remembered flow that still counts; @hash is its hash. Set *@forget to delete it. */
struct dataplane_flow {
	bool *forget;
	struct flow flow;
	uint32_t backend;
	uint32_t pool;
	uint64_t hash;
	bool embryonic;
};

/**
 * dataplane_each_flow() - visit the remembered flows, and delete those that do not count
 * @seed: of their hashes
 *
 * An entry counts until it expires, while its backend is the same incarnation and takes
 * old flows. Costs a system call for each few thousand entries.
 *
 * Return: number of flows visited; -errno.
 */
int64_t dataplane_each_flow(struct dataplane *dp, uint64_t seed,
			    void (*visit)(void *context, const struct dataplane_flow *flow),
			    void *context);

/** dataplane_forget_flows() - empty all flow tables. Return: entries deleted, or -errno. */
int64_t dataplane_forget_flows(struct dataplane *dp);

/**
 * struct dataplane_table - a flow table or that of fragments, for people
 * @bytes: memory that it holds, as the kernel says
 */
struct dataplane_table {
	const char *name;
	uint32_t max_entries;
	uint64_t bytes;
};

/** dataplane_tables() - those tables. Return: how many, at most @max. */
size_t dataplane_tables(struct dataplane *dp, struct dataplane_table *tables, size_t max);

/**
 * Fragments that came before the first one of their datagram, which the program hands
 * over as whole frames. Each is to be given back once, by dataplane_send_held() or
 * dataplane_drop_held(), or it is missing in the verdicts.
 *
 * dataplane_held_fd() - readable while there are some. Return: a descriptor that is @dp's;
 * -errno.
 */
int dataplane_held_fd(struct dataplane *dp);

/**
 * dataplane_take_held() - give those that are there to @take, until it returns false
 *
 * The one for which it returns false is taken, too. Also those that came while no process
 * had @dp open. Return: 0 or -errno.
 */
int dataplane_take_held(struct dataplane *dp,
			bool (*take)(void *context, const struct held_fragment *held),
			void *context);

/** dataplane_first_was_seen() - true if the program knows where @held has to go */
bool dataplane_first_was_seen(struct dataplane *dp, const struct held_fragment *held);

/**
 * dataplane_send_held() - have the program handle it as if it came in again
 *
 * It is not held a second time: if its first was not seen, it is dropped and counted. Costs
 * some 50 microseconds. Return: 0 or -errno.
 */
int dataplane_send_held(struct dataplane *dp, const struct held_fragment *held);

/** dataplane_drop_held() - have it counted as DROP_FRAGMENT_NO_FIRST. Return: 0 or -errno. */
int dataplane_drop_held(struct dataplane *dp, const struct held_fragment *held);

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
int dataplane_count_flows(struct dataplane *dp, enum flow_count what, uint64_t *packets);
int dataplane_count_quic(struct dataplane *dp, enum quic_count what, uint64_t *packets);
int dataplane_reset_vip(struct dataplane *dp, uint32_t vip);

/**
 * dataplane_lookup() - find a flow's backend in the live maps, as a packet would
 *
 * Return: 0; -ENOENT if no VIP matches; -ENODATA if the pool has no ring, -EBADMSG if it is
 * damaged, then @match has the VIP and the pool alone; -errno.
 */
int dataplane_lookup(struct dataplane *dp, const struct flow *flow, struct dataplane_match *match);

/**
 * struct dataplane_memory - what a flow table has of a flow
 * @table: its name; NULL: nothing is remembered
 * @idle_s: since its last packet
 * @left_s: until it is forgotten; 0 or less: that was then
 * @gone: the backend died, left, or is another machine now
 * @other_pool: the VIP led to another pool then
 * @takes_new: the backend takes new flows
 */
struct dataplane_memory {
	const char *table;
	uint32_t backend;
	int64_t idle_s;
	int64_t left_s;
	bool gone;
	bool other_pool;
	bool takes_new;
};

/** dataplane_recall() - what is remembered of a flow. Return: 0; -ENOENT: nothing; -errno. */
int dataplane_recall(struct dataplane *dp, const struct flow *flow, uint32_t pool,
		     struct dataplane_memory *memory);

/** dataplane_memory_counts() - true if a packet follows it; @opens: a SYN that opens a flow */
bool dataplane_memory_counts(const struct dataplane_memory *memory, bool opens);

enum dataplane_by { DATAPLANE_BY_OWNER, DATAPLANE_BY_PREVIOUS, DATAPLANE_BY_MEMORY };

/**
 * struct dataplane_choice - where a packet would go
 * @backend: or BACKEND_NONE
 * @flow_counts: bit of each enum flow_count that it would raise
 */
struct dataplane_choice {
	uint32_t backend;
	enum dataplane_by by;
	uint32_t flow_counts;
};

/**
 * dataplane_choose() - the backend that a packet would get, as flows_choose() of the program
 * @match: by dataplane_lookup()
 * @memory: by dataplane_recall(), or all zero
 * @opens: it is a SYN without ACK; with @tcp only
 */
struct dataplane_choice dataplane_choose(const struct dataplane *dp,
					 const struct dataplane_match *match,
					 const struct dataplane_memory *memory, bool tcp,
					 bool opens);

/** dataplane_may_leave() - true if packets from @ingress can be sent by @egress */
bool dataplane_may_leave(struct dataplane *dp, uint32_t ingress, uint32_t egress);

/** dataplane_find_reply() - what a nat backend's packet gets as its source. 0; -ENOENT; -errno. */
int dataplane_find_reply(struct dataplane *dp, const struct flow *flow, struct reply *reply);

/**
 * dataplane_match_quic() - what a connection id makes of a match
 * @match: filled by dataplane_lookup()
 * @cid: @len octets: the destination connection id of a packet with a short header
 * @backend: receives the id of the backend that it names, if it names one
 *
 * Return: enum quic_count, QUIC_ID if the packet goes to *@backend; -errno.
 */
int dataplane_match_quic(struct dataplane *dp, const struct dataplane_match *match,
			 const uint8_t *cid, size_t len, uint32_t *backend);

/** quic_count_name() - "UNKNOWN"; quic_count_text() - one line */
const char *quic_count_name(enum quic_count what);
const char *quic_count_text(enum quic_count what);

/** flow_count_name() - "HIT"; flow_count_text() - one line */
const char *flow_count_name(enum flow_count what);
const char *flow_count_text(enum flow_count what);

/** verdict_name(), verdict_action(), verdict_text() - "DROP_TTL", "DROP", one line */
const char *verdict_name(enum verdict verdict);
const char *verdict_action(enum verdict verdict);
const char *verdict_text(enum verdict verdict);

#endif
