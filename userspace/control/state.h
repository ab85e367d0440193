/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The running configuration on disk, for the time in which the configuration file
 * does not have it: STATE_DIR/running-DIGEST.yaml, DIGEST being XXH64 of the file
 * that it is based on. One rename writes it, one unlink ends it.
 */
#ifndef RINGLB_CONTROL_STATE_H
#define RINGLB_CONTROL_STATE_H

#include "control/control.h"

/** state_digest() - XXH64 of a file's bytes. Return: 0 or -errno. */
int state_digest(const char *path, uint64_t *digest);

/**
 * state_read() - read back the live changes based on the file with @digest
 * Return: 0; -ENOENT if there are none; -errno with @error filled.
 */
int state_read(const char *state_dir, uint64_t digest, struct config *config,
	       struct config_error *error);

/** state_write() - keep @config as the live changes on the file with @digest */
int state_write(const char *state_dir, uint64_t digest, const struct config *config,
		struct config_error *error);

/**
 * state_drop() - forget live changes
 * @keep: the digest of the file whose changes stay, or NULL for none
 *
 * Return: number of files removed, or -errno.
 */
int state_drop(const char *state_dir, const uint64_t *keep);

#endif
