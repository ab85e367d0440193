/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/hashes.h"

#include <blake2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#define MD5_LEN	   16
#define NUMBER_LEN 32

static uint64_t big_endian(const uint8_t *bytes, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void md5(const void *data, size_t len_bytes, uint8_t digest[MD5_LEN])
{
	/* Fails for a lack of memory only; the same constant then is as good as any. */
	if (!EVP_Digest(data, len_bytes, digest, NULL, EVP_md5(), NULL))
		memset(digest, 0, MD5_LEN);
}

static uint64_t md5_first_32(const void *data, size_t len_bytes, uint64_t seed)
{
	uint8_t digest[MD5_LEN];

	(void)seed;
	md5(data, len_bytes, digest);
	return big_endian(digest, 4);
}

static uint64_t md5_mod_32(const void *data, size_t len_bytes, uint64_t seed)
{
	uint8_t digest[MD5_LEN];

	(void)seed;
	md5(data, len_bytes, digest);
	return big_endian(digest + MD5_LEN - 4, 4);
}

static uint64_t blake2b_64(const void *data, size_t len_bytes, uint64_t seed)
{
	uint8_t digest[8] = {0};

	(void)seed;
	blake2b(digest, data, NULL, sizeof(digest), len_bytes, 0);
	return big_endian(digest, sizeof(digest));
}

static uint64_t given(const void *data, size_t len_bytes, uint64_t seed)
{
	char text[NUMBER_LEN];

	(void)seed;
	snprintf(text, sizeof(text), "%.*s", (int)len_bytes, (const char *)data);
	return strtoull(text, NULL, 0);
}

static const struct {
	const char *name;
	struct ring_hash hash;
} hashes[] = {
	{"md5-32", {md5_first_32, UINT32_MAX}},
	{"md5-mod32", {md5_mod_32, UINT32_MAX}},
	{"blake2b-64", {blake2b_64, UINT64_MAX}},
	{"given", {given, UINT64_MAX}},
};

const struct ring_hash *hashes_find(const char *name)
{
	if (!strcmp(name, "xxh64"))
		return &ring_hash_xxh64;
	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++)
		if (!strcmp(name, hashes[i].name))
			return &hashes[i].hash;
	return NULL;
}
