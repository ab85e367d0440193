/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hundreds of backends at once, changes of the configuration, and an end in the middle of it. */
#include "health_rig.h"

#define BACKENDS    500
#define INTERVAL_MS 100
/* Far more than any turn takes; a name lookup or a connect() that waits takes longer. */
#define TURN_US 50000

static char list[65536];

/* Backends b0 to b499; the odd ones never answer. */
static const char *many(bool half_dead)
{
	size_t len = 0;

	for (int i = 0; i < BACKENDS; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len,
					"%s{name: b%d, address: 10.%d.%d.%d, port: 80}",
					i ? ", " : "", i, half_dead && i % 2 ? 2 : 1, 1 + i / 250,
					1 + i % 250);
	return list;
}

static struct health_status status_of(struct rig *rig, int i)
{
	char name[16];

	snprintf(name, sizeof(name), "b%d", i);
	return rig_status(rig, name);
}

/* The fewest and the most results that a backend has had. */
struct range {
	uint32_t least, most;
};

static struct range count_results(struct rig *rig)
{
	struct range range = {.least = UINT32_MAX};

	for (int i = 0; i < BACKENDS; i++) {
		struct health_status status = status_of(rig, i);
		uint32_t n = status.successes + status.failures;

		range.least = n < range.least ? n : range.least;
		range.most = n > range.most ? n : range.most;
	}
	return range;
}

/*
 * Until each backend has had so many results in a row. None may lag behind the others,
 * and all together not behind the clock by more than a busy machine explains.
 */
static void run_rounds(struct rig *rig, const char *what, uint32_t rounds, unsigned int interval_ms)
{
	uint64_t began = clock_us(), took_ms = 0;
	struct range range = {0};

	while (range.least < rounds && took_ms < 10ULL * rounds * interval_ms) {
		rig_run(rig, interval_ms / 4);
		range = count_results(rig);
		took_ms = (clock_us() - began) / 1000;
	}
	print_message("# %s: %u to %u results in %u intervals; a turn takes %u us at most\n", what,
		      range.least, range.most, (unsigned int)took_ms / interval_ms,
		      (unsigned int)rig->busiest_us);
	assert_in_range(range.least, rounds, range.most);
	/* 12 and 13 without load; under load those that time out get more time. */
	assert_in_range(range.most, range.least, range.least * 2 + 2);
	assert_true(rig->busiest_us < TURN_US);
	assert_true(rig->asleep_us < TURN_US);
}

static void check_many(struct rig *rig, const char *check)
{
	rig_configure(rig, "{name: web, forward: nat, check: {%s, " FAST "}, backends: [%s]}",
		      check, many(true));
	run_rounds(rig, check, 12, INTERVAL_MS);
	for (int i = 0; i < BACKENDS; i++) {
		struct health_status status = status_of(rig, i);

		assert_int_equal(status.up, i % 2 == 0);
		assert_string_equal(status.reason, i % 2 ? "timeout" : "");
		assert_int_equal(status.changes, i % 2);
	}
	assert_int_equal(rig->n_events, BACKENDS / 2);
}

static void test_many_tcp(void **state)
{
	struct rig *rig = *state;
	int fd = rig_socket("0.0.0.0", 80, SOCK_STREAM);

	check_many(rig, "type: tcp");
	close(fd);
}

static void test_many_icmp(void **state)
{
	check_many(*state, "type: icmp");
}

/* Nobody listens, so each costs a whole libcurl transfer, and half of them a timeout. */
static void test_many_http(void **state)
{
	struct rig *rig = *state;

	rig_configure(rig,
		      "{name: web, forward: nat, check: {type: http, interval: 500ms, timeout: "
		      "250ms}, backends: [%s]}",
		      many(true));
	run_rounds(rig, "type: http", 4, 500);
	for (int i = 0; i < BACKENDS; i++)
		assert_string_equal(status_of(rig, i).reason,
				    i % 2 ? "timeout" : "connection refused");
}

/* New ones begin all over the interval: never more of them than the time that has passed tells. */
static void test_spread(void **state)
{
	struct rig *rig = *state;
	int fd = rig_socket("0.0.0.0", 80, SOCK_STREAM);
	uint64_t began = clock_us(), now;
	unsigned int n = 0;

	rig_configure(rig,
		      "{name: web, forward: nat, check: {type: tcp, interval: 1s, timeout: 1s}, "
		      "backends: [%s]}",
		      many(false));
	while (n < BACKENDS * 9 / 10) {
		rig_run(rig, 100);
		now = clock_us() - began;
		n = 0;
		for (int i = 0; i < BACKENDS; i++)
			n += status_of(rig, i).successes > 0;
		/* Chance makes them differ by 11 at most, but once in three times. */
		assert_in_range(n, 0, BACKENDS * now / 1000000 + 70);
		assert_true(now < PATIENCE_MS * 1000ULL);
	}
	close(fd);
}

#define A	  "{name: a, address: 10.1.0.1, port: 80}"
#define B	  "{name: b, address: 10.1.0.2, port: 80}"
#define OTHER	  "{name: other, forward: nat, check: {type: icmp}, backends: [" A "]}"
#define WEB(c, b) "{name: web, forward: nat, check: {" c "}, backends: [" b "]}"
#define TCP	  "type: tcp, rise: 2, fall: 3, " FAST

static void test_reconfigure(void **state)
{
	struct rig *rig = *state;
	struct health_status before, after;
	int fd;

	rig_configure(rig, WEB(TCP, A));
	rig_goes_down(rig, 3, "connection refused");
	rig_wait_results(rig, "a", 0, 5);
	before = rig_status(rig, "a");

	/* Others come and go, names are in another order, all is said again: nothing changes. */
	rig_configure(rig, OTHER ", " WEB(TCP, B ", " A));
	after = rig_status(rig, "a");
	assert_memory_equal(&before, &after, sizeof(before));
	assert_true(rig_status(rig, "b").up);
	rig_configure(rig, WEB(TCP, A));
	after = rig_status(rig, "a");
	assert_memory_equal(&before, &after, sizeof(before));
	assert_false(rig_status(rig, "b").checked);
	assert_true(rig_status(rig, "b").up);
	rig_wait_results(rig, "a", 0, 7);

	/* Another check: still down, but on its own evidence from now on. */
	rig_configure(rig, WEB("type: tcp, rise: 3, fall: 3, " FAST, A));
	after = rig_status(rig, "a");
	assert_false(after.up);
	assert_int_equal(after.failures, 0);
	assert_int_equal(after.changes, 1);
	assert_string_equal(after.reason, "");
	fd = rig_socket("10.1.0.1", 80, SOCK_STREAM);
	rig_goes_up(rig, 3);
	assert_int_equal(rig_status(rig, "a").changes, 2);
	close(fd);

	/* Another address or port is another backend. */
	rig_goes_down(rig, 3, "connection refused");
	rig_configure(rig, WEB("type: tcp, rise: 3, fall: 3, " FAST,
			       "{name: a, address: 10.1.0.3, port: 80}"));
	assert_true(rig_status(rig, "a").up);
	assert_int_equal(rig_status(rig, "a").changes, 0);
	rig_goes_down(rig, 3, "connection refused");

	/* No check: up. */
	rig_configure(rig, "{name: web, forward: nat, backends: [" A "]}");
	after = rig_status(rig, "a");
	assert_true(after.up && !after.checked);
	rig_run(rig, 200);
	assert_int_equal(rig->n_events, 4);
}

static void test_restore(void **state)
{
	struct rig *rig = *state;
	int fd = rig_socket("0.0.0.0", 80, SOCK_STREAM);

	rig_configure(rig, WEB(TCP, A ", " B));
	health_restore(rig->health, "web", "a", false);
	health_restore(rig->health, "web", "c", false);
	health_restore(rig->health, "dns", "a", false);
	assert_false(rig_status(rig, "a").up);
	assert_true(rig_status(rig, "b").up);
	rig_goes_up(rig, 2);
	/* Too late: what was seen says more than what was remembered. */
	health_restore(rig->health, "web", "a", false);
	assert_true(rig_status(rig, "a").up);
	close(fd);
}

static void configure_again(struct rig *rig, const struct event *event)
{
	/* Takes away all that is checked, the one that has just changed too. */
	if (!strcmp(event->backend, "b0"))
		rig_configure(rig, WEB("type: http, fall: 1, " FAST, B));
	else
		rig_configure(rig, OTHER);
}

static void test_reconfigure_in_callback(void **state)
{
	static const char *const types[] = {"tcp", "http", "udp, send: x"};
	struct rig *rig = *state;

	rig->on_event = configure_again;
	for (size_t i = 0; i < 3; i++) {
		uint64_t end = clock_us() + PATIENCE_MS * 1000ULL;
		size_t n = rig->n_events;

		rig_configure(rig,
			      "{name: web, forward: nat, check: {type: %s, fall: 1, " FAST
			      "}, backends: [{name: b0, address: 10.1.0.1, port: 80}]}",
			      types[i]);
		while (rig->n_events < n + 2 && clock_us() < end)
			rig_turn(rig, 10000);
	}
	rig_run(rig, 100);
	assert_int_equal(rig->n_events, 6);
}

/* The teardown counts what is left. */
static void test_close_in_flight(void **state)
{
#define DEAD "{name: a, address: 10.2.0.9, port: 80}, {name: b, address: 10.1.0.1, port: 80}"
#define POOL(type)                                                                                 \
	"{name: " type ", forward: nat, check: {type: " type                                       \
	", interval: 100ms, timeout: 100ms}, backends: [" DEAD "]}"
	struct rig *rig = *state;
	int fd = rig_socket("10.1.0.1", 80, SOCK_STREAM);
	int udp = rig_socket("10.1.0.1", 80, SOCK_DGRAM);

	rig_configure(rig, POOL("tcp") ", " POOL("http") ", " POOL("https") ", " POOL(
				   "icmp") ", "
					   "{name: udp, forward: nat, check: {type: udp, send: x, "
					   "interval: 100ms, "
					   "timeout: 100ms}, backends: [" DEAD "]}");
	rig_run(rig, 150);
	assert_true(count_fds() > rig->n_fds + 10);
	health_close(rig->health);
	rig->health = NULL;
	close(fd);
	close(udp);
}

static void test_close_unused(void **state)
{
	struct rig *rig = *state;

	rig_configure(rig, POOL("tcp") ", " POOL("http"));
	health_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(test_many_tcp),
		RIG(test_many_icmp),
		RIG(test_many_http),
		RIG(test_spread),
		RIG(test_reconfigure),
		RIG(test_restore),
		RIG(test_reconfigure_in_callback),
		RIG(test_close_in_flight),
		RIG(test_close_unused),
	};

	return cmocka_run_group_tests_name("health many", tests, NULL, NULL);
}
