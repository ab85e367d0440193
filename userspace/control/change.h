/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step from a running configuration to the next: prepare (may fail, changes
 * nothing that is live), then commit. Internal to control/.
 */
#ifndef RINGLB_CONTROL_CHANGE_H
#define RINGLB_CONTROL_CHANGE_H

#include "control/control.h"

/* What the source of a nat backend's reply becomes, and by which key it is found. */
struct change_reply {
	struct endpoint key;
	struct reply value;
};

/* A QUIC id of a backend, which is here its id in the data plane. */
struct change_quic {
	struct quic_id key;
	uint32_t backend;
};

/* One entry of the map of VIP prefixes. */
struct change_prefix {
	struct vip_prefix key;
	struct vip_ranges value;
};

/**
 * struct change - a prepared step
 * @pools: n_pools of them, in the order of next->pools
 * @ring_fds: ring_fds[i] is the loaded map of pools[i], or -1 if it is live already
 * @ifindexes: of next->interfaces
 * @attached: attached[i] is true if ifindexes[i] was attached by this change
 */
struct change {
	struct control *control;
	const struct config *next;
	struct control_pool *pools;
	size_t n_pools;
	int *ring_fds;
	bool reseeded; /* a live ring has another seed: what is remembered means nothing now */
	uint32_t *ifindexes;
	bool *attached;
	struct change_reply *replies; /* ascending by key */
	size_t n_replies;
	struct change_quic *quic; /* ascending by key */
	size_t n_quic;
	struct vip *vips;		/* parallel to next->vips */
	struct change_prefix *prefixes; /* ascending by key */
	size_t n_prefixes;
	struct ids pool_ids;
	struct ids backend_ids;
	struct ids vip_ids;
};

/* Prepare everything. Return: 0; -errno with @error filled; then release it all the same. */
int change_prepare(struct change *change, struct control *control, const struct config *next,
		   struct control_error *error);

/* The largest share of hash space that changes its backend in one pool, 0 to 1. */
int change_moved(const struct change *change, double *moved);

/* Write what was prepared. Return: 0, or the first -errno; what was written stays. */
int change_commit(struct change *change, struct control_error *error);

/* Take out of the data plane what the new configuration has no use for. */
void change_clean(struct change *change);

/* Hand the new pools and ids over to the control; the change is empty afterwards. */
void change_adopt(struct change *change);

/* Undo what preparing did outside, and free; NULL members are allowed. */
void change_release(struct change *change);

/* Free pools and what they hold. */
void control_pools_free(struct control_pool *pools, size_t n_pools);

/*
 * "POOL/ENDPOINT/nat", or "POOL/ADDRESS/direct": an id belongs to one of these. Not to a
 * name: flows are with the machine, and keep it when its name goes to another. Nor to the
 * way there: a flow does not see if its packets come by dr, ipip or gue.
 */
#define CHANGE_KEY_LEN 256
const char *change_backend_key(const struct config_pool *pool, const struct config_backend *backend,
			       char out[CHANGE_KEY_LEN]);

/* Fill the three id tables of @control from what is live. Return: 0 or -errno. */
int control_read_ids(struct control *control);

/* change_pools.c: build change->pools and load what is not live yet. */
int change_build_pools(struct change *change, struct control_error *error);

/*
 * Fill pool->moves, pool->held and pool->claims: the arcs that move from the live ring to
 * pool->ring, and what moves there already. Return: 0 or -errno.
 */
int change_move_pool(struct change *change, struct control_pool *pool);

/*
 * Load the ring of @pool with its moves, unless it is live as it is; then *@fd is -1.
 * Return: 0 or -errno.
 */
int change_load_pool(struct control *control, const struct control_pool *pool, int *fd);

/* Milliseconds of CLOCK_MONOTONIC, which moves are timed by. */
int64_t control_now_ms(void);

/* Fill change->replies. Return: 0 or -ENOMEM. */
int change_list_replies(struct change *change);

/* quic.c: fill change->quic and each pool's quic_lengths. Return: 0 or -ENOMEM. */
int change_list_quic(struct change *change);
/* Write them, once the backends are there; take out all others. Return: 0 or -errno. */
int change_commit_quic(struct change *change);
void change_clean_quic(struct change *change);

/*
 * change_vips.c: fill change->vips and change->prefixes; write all VIPs; take out those that nobody
 * wants any more; read the ids of those that are live. Return: 0 or -errno.
 */
int change_list_vips(struct change *change);
int change_commit_vips(const struct change *change);
void change_clean_vips(struct change *change);
int change_read_vips(struct control *control);

/* change_nexthops.c: resolve the backends of the new pools, waiting a moment for new ones. */
int change_resolve(struct change *change);
/* Let the kernel forget neighbours that @from used and @to does not. */
void change_forget(struct nexthops *nexthops, const struct control_pool *from, size_t n_from,
		   const struct control_pool *to, size_t n_to);
/* A next hop in the data plane's terms; ifindex 0 unless it is resolved. */
struct nexthop change_nexthop(const struct config *config, const struct nexthop_info *info);

#endif
