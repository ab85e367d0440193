/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of this directory share and nobody else sees. */
#ifndef RINGLB_DATAPLANE_STATE_H
#define RINGLB_DATAPLANE_STATE_H

#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "dataplane/dataplane.h"

#define PIN_PATH_LEN 512

struct front;
struct front_slot;
struct ringlb_bpf;

#define SEEN_MAX 64

/**
 * struct seen - what libxdp said about an interface
 * @prog_id, @attached: the program that the kernel named there then, and XDP_ATTACHED_*;
 *	others void the rest
 * @current: this version of ours is there, and no other of ours
 */
struct seen {
	uint32_t ifindex;
	uint32_t prog_id;
	uint8_t attached;
	bool ours;
	bool current;
	struct dataplane_attachment how;
};

/* Maps of a pool's rings that this process wrote, for the next one. -1: none. */
struct kept_rings {
	int live;
	int spare; /* the one before it, which no packet reads */
};

/**
 * struct dataplane
 * @skeleton: maps and the program as type XDP, for verification and test runs
 * @shared: the same program for libxdp, which loads it as it needs; NULL until
 *	the first attach
 * @backends: the whole map `backends`, mapped
 * @front_slots, @front: the whole maps `vip_front` and `front`, mapped
 * @ring_classes: the whole map `ring_classes`, mapped
 * @rings: the maps rings_N, by class; the skeleton's
 * @held_ring: NULL until dataplane_held_fd(); @take_held is what its records go to
 */
struct dataplane {
	char pin_dir[256];
	int lock_fd;
	int cpus;
	struct dataplane_sizes sizes;
	struct ringlb_bpf *skeleton;
	struct bpf_object *shared_object;
	struct xdp_program *shared;
	struct backend *backends;
	uint64_t *ring_classes;
	struct front_slot *front_slots;
	struct front *front;
	int rings[RING_CLASS_COUNT];
	struct kept_rings kept[POOLS_MAX];
	struct ring_buffer *held_ring;
	bool (*take_held)(void *context, const struct held_fragment *held);
	void *take_held_context;
	struct seen seen[SEEN_MAX]; /* by ifindex, modulo its size */
	uint32_t backends_id;
};

int dataplane_fail(struct dataplane_error *error, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Give the flow tables of @object their sizes, before it is loaded. */
int load_set_sizes(struct dataplane *dp, struct bpf_object *object);

/* Find the VIP of @flow as the program does; fills what @match says of it. 0, -ENOENT, -errno. */
int tables_find_vip(struct dataplane *dp, const struct flow *flow, struct dataplane_match *match,
		    struct vip *vip);

/* Find the maps of rings. Return: 0 or -errno. rings_let_go() is its reverse. */
int rings_adopt(struct dataplane *dp);
void rings_let_go(struct dataplane *dp);

/* Free what a publishing that was cut short left in maps of other classes. */
void rings_drop_stale(struct dataplane *dp);

/*
 * What packets read before the maps behind it. A VIP is set there after it is in `vips`, and
 * removed before. front_rebuild() follows `vips` and forgets what is gone. Return: 0 or -errno.
 */
int front_adopt(struct dataplane *dp);
void front_let_go(struct dataplane *dp);
int front_rebuild(struct dataplane *dp);
void front_set_vip(struct dataplane *dp, const struct endpoint *endpoint, const struct vip *vip);
void front_remove_vip(struct dataplane *dp, const struct endpoint *endpoint);

/* Whether there are VIP prefixes: said before the first is there, and after the last went. */
void front_set_prefixes(struct dataplane *dp, bool some);

/* Addresses of nat backends: added before their replies are there; kept are those of @endpoints. */
void front_add_backend(struct dataplane *dp, const __be32 address[4]);
int front_keep_backends(struct dataplane *dp, const struct endpoint *endpoints, size_t len);

/*
 * Note that the address of @endpoint is that of a VIP or of a nat backend: @what is
 * ADDRESS_*. Return: 0 or -errno.
 */
int addresses_add(struct dataplane *dp, const struct endpoint *endpoint, uint32_t what);

/* Take @what from all addresses that none of @endpoints has. Return: 0 or -errno. */
int addresses_keep(struct dataplane *dp, uint32_t what, const struct endpoint *endpoints,
		   size_t len);

/* Hold @pin_dir for this process. Return: a descriptor, -EBUSY, -errno. */
int pins_lock(const char *pin_dir, struct dataplane_error *error);

/* Have the maps of @object pinned in, or reused from, @pin_dir. */
int pins_assign(struct bpf_object *object, const char *pin_dir);

/* Id of the map pinned as @name. Return: 0, -ENOENT, -errno. */
int pins_map_id(const char *pin_dir, const char *name, uint32_t *id);

/* Unlink all pins and the directory. Return: number of pins, -errno. */
int pins_remove(const char *pin_dir);

#endif
