/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct backend_address address_from_bytes(int family, const void *bytes)
{
	struct backend_address address = {.family = family == AF_INET ? 4 : 6};

	memcpy(address.address, bytes, address_bits(&address) / 8);
	return address;
}

int address_parse(const char *text, struct backend_address *out)
{
	unsigned char bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		*out = address_from_bytes(AF_INET, bytes);
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		*out = address_from_bytes(AF_INET6, bytes);
	else
		return -EINVAL;
	return 0;
}

/* No bit is set behind the first @bits. */
static bool ends_at(const struct backend_address *address, unsigned int bits)
{
	const unsigned char *bytes = (const unsigned char *)address->address;

	for (unsigned int i = bits; i < address_bits(address); i++)
		if (bytes[i / 8] & 0x80 >> i % 8)
			return false;
	return true;
}

int prefix_parse(const char *text, struct backend_prefix *out)
{
	const char *slash = strchr(text, '/');
	char copy[ADDRESS_TEXT_LEN];
	struct backend_address address;
	unsigned long bits;
	char *end;

	snprintf(copy, sizeof(copy), "%.*s", slash ? (int)(slash - text) : (int)strlen(text), text);
	if (address_parse(copy, &address))
		return -EINVAL;
	bits = address_bits(&address);
	if (slash) {
		/* strtoul() would take blanks and signs too. */
		if (slash[1] < '0' || slash[1] > '9')
			return -EINVAL;
		bits = strtoul(slash + 1, &end, 10);
		if (*end || bits > address_bits(&address))
			return -EINVAL;
	}
	if (!ends_at(&address, (unsigned int)bits))
		return -EINVAL;
	*out = prefix_of(&address, (uint8_t)bits);
	return 0;
}

struct backend_prefix prefix_of(const struct backend_address *address, uint8_t bits)
{
	return (struct backend_prefix){
		.len_bits = BACKEND_FAMILY_BITS + bits,
		.address = *address,
	};
}

bool prefix_covers(const struct backend_prefix *prefix, const struct backend_address *address)
{
	const unsigned char *a = (const unsigned char *)prefix->address.address;
	const unsigned char *b = (const unsigned char *)address->address;

	if (prefix->address.family != address->family)
		return false;
	for (unsigned int i = 0; i < prefix_bits(prefix); i++)
		if ((a[i / 8] ^ b[i / 8]) & 0x80 >> i % 8)
			return false;
	return true;
}

const char *address_text(const struct backend_address *address, char out[ADDRESS_TEXT_LEN])
{
	if (!inet_ntop(address_family(address), address->address, out, ADDRESS_TEXT_LEN))
		snprintf(out, ADDRESS_TEXT_LEN, "?");
	return out;
}

const char *prefix_text(const struct backend_prefix *prefix, char out[ADDRESS_TEXT_LEN])
{
	size_t len = strlen(address_text(&prefix->address, out));

	if (!prefix_is_address(prefix))
		snprintf(out + len, ADDRESS_TEXT_LEN - len, "/%u", prefix_bits(prefix));
	return out;
}

bool address_is_usable(const struct backend_address *address)
{
	const struct in6_addr *ipv6 = (const struct in6_addr *)address->address;
	uint32_t ipv4 = ntohl(address->address[0]);

	if (address->family == 4)
		return ipv4 >> 24 != 0 && ipv4 >> 24 != IN_LOOPBACKNET && ipv4 >> 28 < 0xe;
	return !IN6_IS_ADDR_UNSPECIFIED(ipv6) && !IN6_IS_ADDR_LOOPBACK(ipv6) &&
	       !IN6_IS_ADDR_MULTICAST(ipv6) && !IN6_IS_ADDR_LINKLOCAL(ipv6) &&
	       !IN6_IS_ADDR_V4MAPPED(ipv6);
}

/* A set is sorted by bytes. */
int set_add(void *set, uint32_t *len, size_t max, const void *item, size_t size)
{
	char *at = set;
	uint32_t i;

	for (i = 0; i < *len; i++, at += size) {
		int order = memcmp(at, item, size);

		if (!order)
			return 0;
		if (order > 0)
			break;
	}
	if (*len == max)
		return -ENOSPC;
	memmove(at + size, at, (*len - i) * size);
	memcpy(at, item, size);
	(*len)++;
	return 0;
}

int addresses_add(struct backend_address *set, uint32_t *len, size_t max,
		  const struct backend_address *address)
{
	return set_add(set, len, max, address, sizeof(*address));
}

int prefixes_add(struct backend_prefix *set, uint32_t *len, size_t max,
		 const struct backend_prefix *prefix)
{
	return set_add(set, len, max, prefix, sizeof(*prefix));
}

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct backend_address));
}

static int compare_prefixes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct backend_prefix));
}

bool addresses_have(const struct backend_address *set, uint32_t len,
		    const struct backend_address *address)
{
	return bsearch(address, set, len, sizeof(*set), compare_addresses);
}

bool prefixes_have(const struct backend_prefix *set, uint32_t len,
		   const struct backend_prefix *prefix)
{
	return bsearch(prefix, set, len, sizeof(*set), compare_prefixes);
}

bool prefixes_have_family(const struct backend_prefix *set, uint32_t len, uint32_t family)
{
	for (uint32_t i = 0; i < len; i++)
		if (set[i].address.family == family)
			return true;
	return false;
}
