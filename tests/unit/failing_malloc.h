/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A malloc() that fails on request and counts what lives, for the test program that
 * includes this; it relies on glibc's names for the real one.
 */
#ifndef RINGLB_TESTS_FAILING_MALLOC_H
#define RINGLB_TESTS_FAILING_MALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static long n_live;	  /* blocks */
static long n_calls;	  /* that asked for memory */
static long failing_call; /* counted from 1; 0 for none */

/* A sanitizer has a malloc() of its own, and the two do not mix. */
#ifdef __SANITIZE_ADDRESS__
#define CAN_FAIL false
#else
#define CAN_FAIL true

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static bool fails_now(void)
{
	n_calls++;
	if (n_calls != failing_call)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	void *block = fails_now() ? NULL : __libc_malloc(size);

	n_live += block != NULL;
	return block;
}

void *calloc(size_t n, size_t size)
{
	void *block = fails_now() ? NULL : __libc_calloc(n, size);

	n_live += block != NULL;
	return block;
}

void *realloc(void *old, size_t size)
{
	void *block = fails_now() ? NULL : __libc_realloc(old, size);

	n_live += block != NULL && old == NULL;
	return block;
}

void free(void *block)
{
	n_live -= block != NULL;
	__libc_free(block);
}
#endif

#endif
