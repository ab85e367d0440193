/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Results -> states: rise and fall, and the damping of flapping, on a clock of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/health_record.h"

#define SECOND 1000000ULL

/* A window of 10 x 1 s x (2 + 3) = 50 s. */
static const struct config_check check = {
	.type = CONFIG_CHECK_TCP, .interval_ms = 1000, .rise = 2, .fall = 3};
#define WINDOW_S 50

struct fixture {
	struct health_record record;
	uint64_t now_us;
};

/* A result a second; as many as it takes to change the state. Return: how many. */
static unsigned int until_change(struct fixture *f, bool success)
{
	for (unsigned int n = 1; n < 1000; n++) {
		f->now_us += SECOND;
		if (health_record_add(&f->record, &check, f->now_us, success))
			return n;
		assert_int_equal(success ? f->record.successes : f->record.failures, n);
	}
	fail_msg("never changes");
	return 0;
}

static bool add(struct fixture *f, bool success)
{
	f->now_us += SECOND;
	return health_record_add(&f->record, &check, f->now_us, success);
}

static struct fixture begin(bool up)
{
	struct fixture f = {.now_us = 3600 * SECOND};

	health_record_init(&f.record, up);
	return f;
}

static void test_rise_and_fall(void **state)
{
	struct fixture f = begin(true);

	(void)state;
	assert_int_equal(until_change(&f, false), 3);
	assert_false(f.record.up);
	assert_int_equal(f.record.changes, 1);
	/* More of the same changes nothing. */
	assert_false(add(&f, false));
	assert_int_equal(f.record.failures, 4);
	assert_int_equal(until_change(&f, true), 2);
	assert_true(f.record.up);
	assert_int_equal(f.record.failures, 0);
	assert_int_equal(f.record.changes, 2);

	/* One that was down to begin with. */
	f = begin(false);
	assert_false(add(&f, false));
	assert_int_equal(until_change(&f, true), 2);
}

/* Only results in a row count. */
static void test_interrupted(void **state)
{
	struct fixture f = begin(true);

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_false(add(&f, false));
		assert_false(add(&f, false));
		assert_false(add(&f, true));
	}
	assert_true(f.record.up);
	until_change(&f, false);
	for (int i = 0; i < 100; i++) {
		assert_false(add(&f, true));
		assert_false(add(&f, false));
	}
	assert_false(f.record.up);
	assert_int_equal(f.record.changes, 1);
}

/* Changes 1 to 5 are free; the first fall with more than 5 in the window damps. */
static void test_damped(void **state)
{
	struct fixture f = begin(true);

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(until_change(&f, false), 3);
		assert_int_equal(f.record.damping, 0);
		assert_int_equal(until_change(&f, true), 2);
	}
	assert_int_equal(f.record.changes, 6);
	assert_int_equal(f.record.damping, 0);
	assert_int_equal(until_change(&f, false), 3);
	assert_int_equal(f.record.damping, 1);
	assert_int_equal(health_record_rise(&f.record, &check), 4);
	assert_int_equal(until_change(&f, true), 4);
	/* How fast a failure is seen does not change. */
	assert_int_equal(until_change(&f, false), 3);
	assert_int_equal(f.record.damping, 2);
	assert_int_equal(until_change(&f, true), 8);
	assert_int_equal(until_change(&f, false), 3);
	assert_int_equal(f.record.damping, 3);
	assert_int_equal(until_change(&f, true), 16);
	/* By now six changes take 2 x 3 + 8 + 16 and more: within the window still. */
	assert_int_equal(until_change(&f, false), 3);
	assert_int_equal(f.record.damping, 4);
	/* 32 more do not fit, and less than a window is calm. */
	assert_int_equal(until_change(&f, true), 32);
	assert_int_equal(until_change(&f, false), 3);
	assert_int_equal(f.record.damping, 4);
}

/* The longest a backend can be kept out, by one that flaps faster than any real one. */
static void test_bounded(void **state)
{
	struct config_check fast = check;
	struct fixture f = begin(true);

	(void)state;
	fast.rise = fast.fall = 1;
	for (int i = 0; i < 10000; i++) {
		f.now_us += 1;
		health_record_add(&f.record, &fast, f.now_us, !f.record.up);
		assert_true(f.record.damping <= 6);
	}
	assert_int_equal(f.record.damping, 6);
	assert_int_equal(health_record_rise(&f.record, &fast), 64);
}

static void flap(struct fixture *f, unsigned int damping)
{
	while (f->record.damping < damping) {
		until_change(f, false);
		if (f->record.damping < damping)
			until_change(f, true);
	}
}

/* Halved for each window without another result, up or down. */
static void test_decays(void **state)
{
	struct fixture f = begin(true);

	(void)state;
	flap(&f, 3);
	/* The failure that began the calm was two before the one that took it down. */
	for (int i = 0; i < WINDOW_S - 3; i++)
		add(&f, false);
	assert_int_equal(f.record.damping, 3);
	add(&f, false);
	assert_int_equal(f.record.damping, 2);
	for (int i = 0; i < WINDOW_S - 1; i++)
		add(&f, false);
	assert_int_equal(f.record.damping, 2);
	add(&f, false);
	assert_int_equal(f.record.damping, 1);
	/* A success begins the calm anew. */
	for (int i = 0; i < WINDOW_S - 1; i++)
		add(&f, false);
	add(&f, true);
	add(&f, false);
	assert_int_equal(f.record.damping, 1);
	assert_int_equal(until_change(&f, true), 4);
	for (int i = 0; i < WINDOW_S; i++)
		add(&f, true);
	assert_int_equal(f.record.damping, 0);
	/* All is forgotten: it takes six changes again. */
	flap(&f, 1);
	assert_int_equal(health_record_rise(&f.record, &check), 4);
}

/* What never gets enough successes in a row does not calm down by staying down. */
static void test_unsteady_stays_damped(void **state)
{
	struct fixture f = begin(true);

	(void)state;
	flap(&f, 2);
	for (int i = 0; i < 1000; i++) {
		add(&f, true);
		add(&f, true);
		add(&f, true);
		add(&f, false);
	}
	assert_int_equal(f.record.damping, 2);
	assert_false(f.record.up);
}

/* Six changes, but spread over more than the window. */
static void test_slow_is_not_flapping(void **state)
{
	struct fixture f = begin(true);

	(void)state;
	for (int i = 0; i < 50; i++) {
		until_change(&f, false);
		f.now_us += 20 * SECOND;
		until_change(&f, true);
	}
	assert_int_equal(f.record.changes, 100);
	assert_int_equal(f.record.damping, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rise_and_fall),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_damped),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_decays),
		cmocka_unit_test(test_unsteady_stays_damped),
		cmocka_unit_test(test_slow_is_not_flapping),
	};

	return cmocka_run_group_tests_name("health record", tests, NULL, NULL);
}
