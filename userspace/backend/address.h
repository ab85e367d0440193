/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses and prefixes of the backend, as text and in sorted sets. */
#ifndef RINGLB_BACKEND_ADDRESS_H
#define RINGLB_BACKEND_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

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

/** address_text(), prefix_text() - without a length if it is one address. Return: @out */
const char *address_text(const struct backend_address *address, char out[ADDRESS_TEXT_LEN]);
const char *prefix_text(const struct backend_prefix *prefix, char out[ADDRESS_TEXT_LEN]);

/** address_from_bytes() - @family is AF_INET or AF_INET6 */
struct backend_address address_from_bytes(int family, const void *bytes);

/** address_family() - AF_INET or AF_INET6 */
static inline int address_family(const struct backend_address *address)
{
	return address->family == 4 ? AF_INET : AF_INET6;
}

/** address_bits() - 32 or 128 */
static inline uint8_t address_bits(const struct backend_address *address)
{
	return address->family == 4 ? 32 : 128;
}

/** prefix_bits() - as many as an address has if it is one */
static inline uint8_t prefix_bits(const struct backend_prefix *prefix)
{
	return (uint8_t)(prefix->len_bits - BACKEND_FAMILY_BITS);
}

static inline bool prefix_is_address(const struct backend_prefix *prefix)
{
	return prefix_bits(prefix) == address_bits(&prefix->address);
}

/** prefix_of() - the prefix of @bits bits that starts with @address */
struct backend_prefix prefix_of(const struct backend_address *address, uint8_t bits);

/** prefix_covers() - is @address in it? */
bool prefix_covers(const struct backend_prefix *prefix, const struct backend_address *address);

/** address_is_usable() - can it be a VIP: neither of this host alone nor of many? */
bool address_is_usable(const struct backend_address *address);

/**
 * addresses_add(), prefixes_add() - put one into a sorted set
 * @max: capacity of @set
 *
 * set_add() does the same with any items of @size bytes.
 *
 * Return: 0, also if it was there; -ENOSPC.
 */
int set_add(void *set, uint32_t *len, size_t max, const void *item, size_t size);
int addresses_add(struct backend_address *set, uint32_t *len, size_t max,
		  const struct backend_address *address);
int prefixes_add(struct backend_prefix *set, uint32_t *len, size_t max,
		 const struct backend_prefix *prefix);

/** addresses_have(), prefixes_have() - is it in the sorted set? */
bool addresses_have(const struct backend_address *set, uint32_t len,
		    const struct backend_address *address);
bool prefixes_have(const struct backend_prefix *set, uint32_t len,
		   const struct backend_prefix *prefix);

/** prefixes_have_family() - is there one of @family, 4 or 6? */
bool prefixes_have_family(const struct backend_prefix *set, uint32_t len, uint32_t family);

#endif
