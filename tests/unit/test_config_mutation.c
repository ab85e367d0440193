/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Damaged files: cut off at every length, bytes and lines changed at random. The
 * reader may take or refuse what comes out, but it must say where and why, in one
 * printable line, and leave the model alone; what it takes must survive a copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FILE_MAX     8192
#define ROUNDS	     20000

/* The example without its comments, which make up most of it. */
static char valid[FILE_MAX];
static size_t valid_len;

static int load(void **state)
{
	FILE *file = fopen("docs/ringlb.example.yaml", "re");
	char line[256];

	(void)state;
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (line[strspn(line, " ")] == '#')
			continue;
		memcpy(valid + valid_len, line, strlen(line));
		valid_len += strlen(line);
	}
	return fclose(file);
}

static void assert_sound_error(const struct config_error *error)
{
	size_t len = strlen(error->what);

	assert_true(error->line > 0);
	assert_true(error->column > 0);
	/* Shorter than its room, so nothing was cut off. */
	assert_in_range(len, 1, sizeof(error->what) - 2);
	assert_int_not_equal(error->what[len - 1], '.');
	for (size_t i = 0; i < len; i++)
		assert_in_range(error->what[i], ' ', '~');
}

/* Return: true if the text was taken. */
static bool check(const char *text, size_t len)
{
	struct config config, before, copy;
	struct config_error error;
	char *exact = malloc(len + 1);
	int err;

	/* A block of its own size, so that a sanitizer sees a read past the end. */
	memcpy(exact, text, len);
	exact = realloc(exact, len ? len : 1);
	memset(&config, 0x5a, sizeof(config));
	memset(&error, 0, sizeof(error));
	before = config;
	err = config_read(&config, exact, len, &error);
	free(exact);
	if (err) {
		assert_int_equal(err, -EINVAL);
		assert_memory_equal(&config, &before, sizeof(config));
		assert_sound_error(&error);
		return false;
	}
	assert_int_equal(config_copy(&copy, &config), 0);
	assert_true(config_equal(&copy, &config));
	config_release(&config);
	config_release(&copy);
	return true;
}

static void test_truncated(void **state)
{
	size_t n_taken = 0;

	(void)state;
	assert_true(check(valid, valid_len));
	for (size_t len = 0; len < valid_len; len++)
		n_taken += check(valid, len);
	/* Those that end within a word that is as good shorter, or after a whole item. */
	assert_in_range(n_taken, 1, valid_len / 2);
}

static void flip_bytes(char *text, size_t *len, unsigned int *seed)
{
	for (int i = 0; i <= rand_r(seed) % 3; i++)
		text[(size_t)rand_r(seed) % *len] ^= (char)(1 << rand_r(seed) % 8);
}

/* Characters that mean something to YAML. */
static void insert_signs(char *text, size_t *len, unsigned int *seed)
{
	static const char signs[] = " \t\n\r:-?,[]{}#&*!|>'\"%@`~\\\0\x01\x7f\x80\xc2\xff";

	for (int i = 0; i <= rand_r(seed) % 3; i++) {
		size_t at = (size_t)rand_r(seed) % *len;

		memmove(text + at + 1, text + at, *len - at);
		text[at] = signs[(size_t)rand_r(seed) % (sizeof(signs) - 1)];
		++*len;
	}
}

/* Numbers, addresses and names that are others, but often as good. */
static void change_digits(char *text, size_t *len, unsigned int *seed)
{
	for (int i = 0; i < 20; i++) {
		char *at = text + (size_t)rand_r(seed) % *len;

		if (*at >= '0' && *at <= '9')
			*at = (char)('0' + rand_r(seed) % 10);
	}
}

/* A piece of the file to another place in it. */
static void copy_piece(char *text, size_t *len, unsigned int *seed)
{
	char piece[64];
	size_t n = 1 + (size_t)rand_r(seed) % sizeof(piece);
	size_t from = (size_t)rand_r(seed) % (*len - n), to = (size_t)rand_r(seed) % *len;

	memcpy(piece, text + from, n);
	memmove(text + to + n, text + to, *len - to);
	memcpy(text + to, piece, n);
	*len += n;
}

static void remove_piece(char *text, size_t *len, unsigned int *seed)
{
	size_t n = 1 + (size_t)rand_r(seed) % 64, at = (size_t)rand_r(seed) % (*len - n);

	memmove(text + at, text + at + n, *len - at - n);
	*len -= n;
}

static void test_mutated(void **state)
{
	static void (*const mutations[])(char *text, size_t *len, unsigned int *seed) = {
		flip_bytes, change_digits, insert_signs, copy_piece, remove_piece,
	};
	unsigned int seed = 20240229;
	size_t n_taken = 0;

	(void)state;
	print_message("# seed %u\n", seed);
	for (size_t round = 0; round < ROUNDS; round++) {
		char text[FILE_MAX + 1024];
		size_t len = valid_len;

		memcpy(text, valid, len);
		for (int i = 0; i <= rand_r(&seed) % 2; i++)
			mutations[(size_t)rand_r(&seed) % COUNT(mutations)](text, &len, &seed);
		n_taken += check(text, len);
	}
	/* Neither verdict is rare, so both paths were walked. */
	assert_in_range(n_taken, ROUNDS / 100, ROUNDS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_mutated),
	};

	return cmocka_run_group_tests_name("config mutation", tests, load, NULL);
}
