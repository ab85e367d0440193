/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of ringlb-backend share: what one interface is set up for, and how a
 * failure is told. Only ringlb-backend.c, status.c and check.c print.
 */
#ifndef RINGLB_BACKEND_BACKEND_H
#define RINGLB_BACKEND_BACKEND_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/backend_abi.h"

#define BACKEND_STATE_DIR "/run/ringlb-backend"
#define FAILURE_LEN	  512

/* 0: done. 1: refused, failed, or check found something. 2: wrong usage. */
enum backend_exit {
	BACKEND_DONE = 0,
	BACKEND_FAILED = 1,
	BACKEND_USAGE = 2,
};

enum backend_mode {
	MODE_TUNNEL = 0, /* ipip and gue */
	MODE_IPIP,
	MODE_GUE,
	MODE_DR,
};

/**
 * struct attach_options - what an interface is attached for
 * @mss: 0: the MSS is left alone
 * @egress: where SYN-ACKs leave; empty: by the same interface
 *
 * Addresses and prefixes are sorted and no two are equal; what is not used is zero, so
 * that two sets of options are equal if their bytes are.
 */
struct attach_options {
	uint32_t mode; /* enum backend_mode */
	uint16_t gue_port;
	uint16_t mss;
	char egress[IF_NAMESIZE];
	uint32_t n_vips;
	uint32_t n_from;
	struct backend_prefix vips[BACKEND_VIPS_MAX];
	struct backend_prefix from[BACKEND_FROM_MAX];
};

struct failure {
	char what[FAILURE_LEN];
};

/** failure_set() - say what went wrong, without "ringlb-backend: " */
void failure_set(struct failure *failure, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, with @err as its value: for `return fail_with(...)`. */
#define fail_with(failure, err, ...)                                                               \
	({                                                                                         \
		int fail_err = (err);                                                              \
		failure_set(failure, __VA_ARGS__);                                                 \
		fail_err;                                                                          \
	})

/** mode_name() - "ipip and gue", "ipip", "gue", "dr" */
const char *mode_name(uint32_t mode);

static inline bool mode_takes_ipip(uint32_t mode)
{
	return mode == MODE_TUNNEL || mode == MODE_IPIP;
}

static inline bool mode_takes_gue(uint32_t mode)
{
	return mode == MODE_TUNNEL || mode == MODE_GUE;
}

#endif
