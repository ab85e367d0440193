/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses and prefixes of the backend, as text and in sorted sets. */
#ifndef RINGLB_BACKEND_ADDRESS_H
#define RINGLB_BACKEND_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/backend_abi.h"

#define ADDRESS_TEXT_LEN 64

/** address_parse() - Return: 0 or -EINVAL, and then @out is as it was. */
int address_parse(const char *text, struct backend_address *out);

/**
 * prefix_parse() - ADDRESS or ADDRESS/LENGTH
 *
 * Return: 0; -EINVAL, also if a bit beyond the length is set; @out is then as it was.
 */
int prefix_parse(const char *text, struct backend_prefix *out);

/** address_text(), prefix_text() - Return: @out */
const char *address_text(const struct backend_address *address, char out[ADDRESS_TEXT_LEN]);
const char *prefix_text(const struct backend_prefix *prefix, char out[ADDRESS_TEXT_LEN]);

/** address_from_bytes() - @family is AF_INET or AF_INET6 */
struct backend_address address_from_bytes(int family, const void *bytes);

/** address_bits() - 32 or 128 */
static inline uint8_t address_bits(const struct backend_address *address)
{
	return address->family == 4 ? 32 : 128;
}

/** address_is_usable() - can it be a VIP: neither of this host alone nor of many? */
bool address_is_usable(const struct backend_address *address);

/**
 * addresses_add(), prefixes_add() - put one into a sorted set
 * @max: capacity of @set
 *
 * Return: 0, also if it was there; -ENOSPC.
 */
int addresses_add(struct backend_address *set, uint32_t *len, size_t max,
		  const struct backend_address *address);
int prefixes_add(struct backend_prefix *set, uint32_t *len, size_t max,
		 const struct backend_prefix *prefix);

/** addresses_have() - is it in the sorted set? */
bool addresses_have(const struct backend_address *set, uint32_t len,
		    const struct backend_address *address);

/** addresses_have_family() - is there one of @family, 4 or 6? */
bool addresses_have_family(const struct backend_address *set, uint32_t len, uint32_t family);

#endif
