/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two programs on an interface and their maps. Nothing is pinned: the interface holds
 * the programs, these hold the maps, and whoever wants to see them finds them there.
 */
#ifndef RINGLB_BACKEND_PROGRAM_H
#define RINGLB_BACKEND_PROGRAM_H

#include "backend/backend.h"

#define PROGRAM_NOTE_LEN 160

/**
 * struct program_place - where they are
 * @ifindex: what comes in is taken out of its tunnel here
 * @egress_ifindex: SYN-ACKs leave here; 0: their MSS is left alone
 */
struct program_place {
	uint32_t ifindex;
	uint32_t egress_ifindex;
};

/**
 * struct program_seen - what is there
 * @xdp: ours is attached; @generic: in generic mode; @shared: beside others, by libxdp
 * @clamp: ours is attached at the egress interface
 * @current: all that is there is of this version
 */
struct program_seen {
	bool xdp;
	bool generic;
	bool shared;
	bool clamp;
	bool current;
};

/* All that the maps of an attached program say. Addresses are sorted. */
struct program_facts {
	uint64_t counts[BACKEND_VERDICT_COUNT];
	uint32_t other_port; /* 0: there was none */
	uint32_t n_vips;
	uint32_t n_locals;
	struct backend_prefix vips[BACKEND_VIPS_MAX];
	struct backend_address locals[BACKEND_LOCALS_MAX];
};

/** program_look() - Return: 0, -errno */
int program_look(const struct program_place *place, struct program_seen *seen,
		 struct failure *failure);

/**
 * program_attach() - have them there, in this version, for @options
 * @locals: sorted addresses of this host
 * @note: receives why it is not as good as it could be, or is empty
 *
 * What is there already stays, and learns of @locals.
 *
 * Return: 0; -errno, and then nothing of ours is there.
 */
int program_attach(const struct program_place *place, const struct attach_options *options,
		   const struct backend_address *locals, uint32_t n_locals,
		   char note[PROGRAM_NOTE_LEN], struct failure *failure);

/**
 * program_detach() - take ours off
 * @place: either may be 0, for an interface that is gone
 *
 * Return: 0, also if there was nothing; -errno
 */
int program_detach(const struct program_place *place, struct failure *failure);

/** program_read() - what the maps say. Return: 0; -ENOENT if no program is there; -errno */
int program_read(const struct program_place *place, struct program_facts *facts,
		 struct failure *failure);

#endif
