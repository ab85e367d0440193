/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two hooks of an interface, for program.c: XDP through libxdp, and tc egress. */
#ifndef RINGLB_BACKEND_HOOKS_H
#define RINGLB_BACKEND_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>
#include <xdp/libxdp.h>

struct backend_bpf;

/* A program of ours that was found; @fd is to be closed. */
struct hook_program {
	int fd;
	bool generic;
	bool shared;
	uint8_t tag[BPF_TAG_SIZE];
};

/** hook_map() - a map that a program uses, by its name. Return: a descriptor, -ENOENT, -errno */
int hook_map(int program_fd, const char *name);

/** xdp_find() - Return: 0; -ENOENT if none of ours is there; -errno */
int xdp_find(uint32_t ifindex, struct hook_program *out);

/**
 * xdp_attach() - load @skeleton, which is open, and attach its XDP program
 * @shared: through libxdp, so that others fit beside it, and not alone
 *
 * Return: 0; -EBUSY if another program is in the way; -errno
 */
int xdp_attach(struct backend_bpf *skeleton, uint32_t ifindex, bool shared, bool generic);

/** xdp_mode_of() - in which mode are the programs that are there? Return: false: none are */
bool xdp_mode_of(uint32_t ifindex, bool *generic);

/** xdp_detach() - Return: 0, -ENOENT, -errno */
int xdp_detach(uint32_t ifindex);

/** clamp_attach() - needs clsact on the interface. Return: 0; -EBUSY; -errno */
int clamp_attach(uint32_t ifindex, int program_fd);

/** clamp_find_program() - Return: 0, -ENOENT, -errno */
int clamp_find_program(uint32_t ifindex, struct hook_program *out);

/** clamp_detach() - Return: 0, -ENOENT, -errno */
int clamp_detach(uint32_t ifindex);

#endif
