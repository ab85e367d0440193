/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hashes that a ring can be studied with, so that published figures can be redone. */
#ifndef RINGLB_CLI_HASHES_H
#define RINGLB_CLI_HASHES_H

#include "ring/ring.h"

#define HASHES_MUST "must be xxh64, md5-32, md5-mod32, blake2b-64 or given"

/**
 * hashes_find() - the hash called @name, or NULL
 *
 * xxh64: what ringlb runs on. md5-32: the first 32 bits of MD5. md5-mod32: MD5 as a
 * big-endian number modulo 2^32. blake2b-64: BLAKE2b with a digest of 8 bytes,
 * big-endian (RFC 7693). given: the text is the number itself, decimal or 0x
 * hexadecimal; what is no number is 0. Seeds count for xxh64 only.
 */
const struct ring_hash *hashes_find(const char *name);

#endif
