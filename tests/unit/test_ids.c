/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "control/ids.h"

static struct ids table(const char *const *keys, size_t len)
{
	struct ids ids = {};

	for (size_t i = 0; i < len; i++)
		assert_int_equal(ids_add(&ids, keys[i], ID_NONE), 0);
	ids_sort(&ids);
	return ids;
}

static void keys_keep_their_ids(void **state)
{
	static const char *const before[] = {"b", "a", "c"};
	static const char *const after[] = {"d", "c", "a", "e"};
	struct ids old = table(before, 3), next = table(after, 4), none = {};

	(void)state;
	assert_int_equal(ids_assign(&old, &none, 10), 0);
	assert_int_equal(ids_assign(&next, &old, 10), 0);
	assert_int_equal(ids_find(&next, "a"), ids_find(&old, "a"));
	assert_int_equal(ids_find(&next, "c"), ids_find(&old, "c"));
	ids_release(&old);
	ids_release(&next);
}

/* The id of "b", which goes, may still be in use by packets: nobody gets it yet. */
static void ids_of_the_past_step_are_not_given_out(void **state)
{
	static const char *const before[] = {"a", "b"};
	static const char *const after[] = {"a", "d", "e"};
	struct ids old = table(before, 2), next = table(after, 3), none = {};

	(void)state;
	assert_int_equal(ids_assign(&old, &none, 4), 0);
	assert_int_equal(ids_assign(&next, &old, 4), 0);
	assert_int_not_equal(ids_find(&next, "d"), ids_find(&old, "b"));
	assert_int_not_equal(ids_find(&next, "e"), ids_find(&old, "b"));
	assert_int_not_equal(ids_find(&next, "d"), ids_find(&next, "e"));
	assert_int_equal(ids_find(&next, "b"), ID_NONE);
	ids_release(&old);
	ids_release(&next);
}

static void the_limit_is_an_error(void **state)
{
	static const char *const before[] = {"a", "b"};
	static const char *const after[] = {"c", "d"};
	struct ids old = table(before, 2), next = table(after, 2), none = {};

	(void)state;
	assert_int_equal(ids_assign(&old, &none, 2), 0);
	assert_int_equal(ids_assign(&next, &old, 3), -ENOSPC);
	ids_release(&old);
	ids_release(&next);
}

static void thousands_of_keys_are_distinct(void **state)
{
	struct ids ids = {}, none = {};
	char key[16];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "key-%d", i * 7919 % 5000);
		assert_int_equal(ids_add(&ids, key, ID_NONE), 0);
	}
	ids_sort(&ids);
	assert_int_equal(ids_assign(&ids, &none, 5000), 0);
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(ids.entries[i].id, i);
	assert_int_equal(ids_find(&ids, "key-5000"), ID_NONE);
	ids_release(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_keep_their_ids),
		cmocka_unit_test(ids_of_the_past_step_are_not_given_out),
		cmocka_unit_test(the_limit_is_an_error),
		cmocka_unit_test(thousands_of_keys_are_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
