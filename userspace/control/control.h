/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The daemon's core: what should be so (a struct config), and making it so in the
 * data plane as a difference, never as tear-down and set-up.
 *
 * A change is prepared completely (rings built and loaded, ids given, interfaces
 * attached, the new state on disk) before anything live is touched; what can fail
 * comes first, and a failure leaves everything as it was.
 *
 * Live changes that the configuration file does not have yet are kept in the state
 * directory, as `running-DIGEST.yaml`, DIGEST being that of the file they are based
 * on: they outlive kill -9, and an edited file makes them void.
 */
#ifndef RINGLB_CONTROL_CONTROL_H
#define RINGLB_CONTROL_CONTROL_H

#include "config/config.h"
#include "control/ids.h"
#include "control/lookup.h"
#include "control/nexthop.h"
#include "dataplane/dataplane.h"
#include "ring/moves.h"
#include "ring/ring.h"
#include "ring/spill.h"

#define CONTROL_PATH_MAX   256
#define CONTROL_NARROW_LEN 256

/* What is told in passing, one line each. */
enum control_note {
	CONTROL_CHANGED, /* a difference that has been applied */
	CONTROL_WARNING, /* what was done, but not as well as was meant */
};

/**
 * struct control_options
 * @note: called with each note; @by is the command or the event that it comes from,
 *	"backend.drain" or "start"
 */
struct control_options {
	const char *config_path;
	const char *pin_dir;
	const char *state_dir;
	void (*note)(void *context, enum control_note what, const char *by, const char *line);
	void *note_context;
};

/* One line for people, as in struct config_error. */
struct control_error {
	char what[512];
};

/*
 * Connections that go to a draining backend by their QUIC ids are in no flow table: it
 * is busy until for flows.idle_other nothing came. All zero if it does not drain.
 */
struct control_quic {
	uint64_t packets;
	int64_t last_ms; /* when `packets` last rose */
	bool busy;
};

/**
 * struct control_load - what a pool's load_cap goes by; all zero if it has none
 * @members: how loaded each is; parallel to @ids of the pool, like the other arrays
 * @packets: its counter when it was last measured
 * @since_ms: it has lent something; 0: nothing now
 * @measured_ms: when that was
 * @next_ms: when the next step may be
 * @step: number of the last one
 */
struct control_load {
	double cap;
	uint32_t interval_ms;
	struct spill_member *members;
	uint64_t *packets;
	int64_t *since_ms;
	int64_t measured_ms;
	int64_t next_ms;
	uint64_t step;
};

/**
 * struct control_pool - a live pool; the parallel of config.pools[i] of the same name
 * @id: in the data plane
 * @pure: what the configuration and the health checks make; members ascend by name
 * @spills: of @pure
 * @ring: what is live: @pure with the spills on top; the same pointer if there are none
 * @ids: ids[i] is the data plane's id of ring->members[i]
 * @nexthops, @down, @takes, @flows, @quic: parallel to @ids; @down as health checks say;
 *	@takes: which flows it takes, BACKEND_TAKES_*, with all counted in; @flows is
 *	the number of remembered flows at the last tick
 * @quic_lengths: of the server ids that its backends have, as in struct vip
 * @moves: the arcs of @ring that are moving
 * @held: parallel to moves.list: flows that keep an arc from settling
 * @claims: parallel to @ids: what each still has of these arcs
 */
struct control_pool {
	char name[CONFIG_NAME_MAX + 1];
	uint32_t id;
	struct ring *pure;
	struct spills spills;
	struct control_load load;
	struct ring *ring;
	uint32_t *ids;
	struct nexthop_info *nexthops;
	bool *down;
	uint32_t *takes;
	uint32_t *flows;
	struct control_quic *quic;
	uint32_t quic_lengths;
	struct moves moves;
	uint32_t *held;
	struct moves_claim *claims;
};

struct control {
	struct control_options options;
	char config_path[CONTROL_PATH_MAX];
	uint64_t file_digest; /* of the configuration file as it was last read */
	uint64_t generation;  /* of the running configuration; rises with each change */
	bool stale;	      /* pools' down[] is not yet in the rings */
	uint32_t dropped;     /* times that live changes were given up for a file */
	bool changed;	      /* `running` differs from that file */
	struct config running;
	struct config filed;	    /* the configuration file as it was last read */
	struct control_pool *pools; /* running.n_pools of them, in running's order */
	size_t n_pools;
	struct ids pool_ids;	/* key: name */
	struct ids backend_ids; /* key: change_backend_key() */
	struct ids vip_ids;	/* key: text_vip() */
	size_t narrow;		/* backends of which control_narrow() had something to say */
	struct dataplane *dp;
	struct nexthops *nexthops;
};

/**
 * control_open() - take over or set up the data plane as the configuration says
 *
 * Return: 0; -errno with @error filled, then what was live is still live and
 * *@out is left as it was.
 */
int control_open(struct control **out, const struct control_options *options,
		 struct control_error *error);

/** control_close() - let go of everything; traffic flows on. NULL is allowed. */
void control_close(struct control *control);

/**
 * control_apply() - make @next the running configuration
 * @next: valid; taken over and emptied on success
 * @by: for notes, of which there is one for each difference
 * @moved: receives the largest exact share of hash space that moved in one pool,
 *	0 to 1; may be NULL
 *
 * Return: 0; -errno with @error filled, then nothing has changed.
 */
int control_apply(struct control *control, struct config *next, const char *by, double *moved,
		  struct control_error *error);

/**
 * control_reload() - control_apply() of the configuration file; live changes end
 *
 * Backends that the file does not have any more drain before they leave.
 */
int control_reload(struct control *control, const char *by, struct control_error *error);

/** control_save() - write the running configuration to the configuration file */
int control_save(struct control *control, struct control_error *error);

/**
 * control_down() - take everything out of the kernel that was put there
 *
 * @control can only be closed afterwards. Return: number of things removed; -errno.
 */
int control_down(struct control *control, void (*removed)(void *context, const char *line),
		 void *context, struct control_error *error);

/** control_find_pool() - the live pool called @name, or NULL */
struct control_pool *control_find_pool(const struct control *control, const char *name);

/**
 * control_refresh_nexthops() - resolve all backends again and tell the data plane
 *
 * Return: number of backends whose next hop changed; -errno.
 */
int control_refresh_nexthops(struct control *control);

/**
 * control_refresh_interfaces() - attach to interfaces that came back without a program
 *
 * Return: number of interfaces attached; -errno with @error filled.
 */
int control_refresh_interfaces(struct control *control, struct control_error *error);

/** control_takes() - which flows a live backend takes: BACKEND_TAKES_* */
uint32_t control_takes(const struct config_backend *backend, bool down);

/**
 * control_refresh_rings() - have the rings follow pools[].down[], in one step
 *
 * Return: 0; -errno with @error filled, then @stale is set and the rings are as before.
 */
int control_refresh_rings(struct control *control, struct control_error *error);

/**
 * control_tick() - let time pass for moving arcs and draining backends
 *
 * To be called about once a second. Ends learning times, settles arcs whose old flows
 * are gone, lets drained backends leave, and has overloaded ones lend arcs. Cheap while
 * nothing moves.
 *
 * Return: 0; -errno with @error filled; the next tick tries again.
 */
int control_tick(struct control *control, struct control_error *error);

/** control_is_draining() - true while a draining backend still has flows, or may have */
bool control_is_draining(const struct control_pool *pool, uint16_t member);

/** control_watch_quic() - see which draining backends still get packets; for control_tick() */
void control_watch_quic(struct control *control);

/** control_flow() - a query in the data plane's terms */
struct flow control_flow(const struct lookup_query *query);

/** control_endpoint() - an address, protocol and port (host byte order) in its terms */
struct endpoint control_endpoint(const struct config_address *address, uint8_t protocol,
				 uint16_t port);

/** control_vip_key() - a VIP of one address and one port in the data plane's terms */
struct endpoint control_vip_key(const struct config_vip *vip);

/**
 * control_vip_of() - a VIP of the data plane as the configuration has it
 * @at: its address and first port
 * @prefix_len: of the address, in bits
 * @last: its last port, in host byte order
 *
 * What the data plane does not know of it is zero.
 */
struct config_vip control_vip_of(const struct endpoint *at, uint8_t prefix_len, uint16_t last);

/** control_note() - tell @options.note, if there is one */
void control_note(const struct control *control, enum control_note what, const char *by,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * control_mtu() - how long packets to a backend may be, outer headers included
 *
 * The smallest of what its pool, its route and its interface say. Return: 0: not known.
 */
uint16_t control_mtu(const struct config_pool *pool, const struct nexthop_info *info);

/** control_overhead() - bytes that the outer headers of packets to @backend take */
uint32_t control_overhead(const struct config_pool *pool, const struct config_backend *backend);

/**
 * control_narrow() - what there is to say if IPv6 packets of 1280 bytes cannot get to a backend
 * @p, @b: it is control->running.pools[p].backends[b]
 * @line: receives it
 *
 * Return: false if they can, or if its pool has no IPv6 VIP or the way is not known.
 */
bool control_narrow(const struct control *control, size_t p, size_t b,
		    char line[CONTROL_NARROW_LEN]);

/** control_watch_mtus() - note what control_narrow() says, if there is more of it than before */
void control_watch_mtus(struct control *control, const char *by);

/** control_encap() - what the outer headers of a configuration are made of */
struct encap control_encap(const struct config *config);

int control_fail(struct control_error *error, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
