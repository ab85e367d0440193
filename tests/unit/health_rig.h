/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the tests of health checks share: a network namespace for each, where
 *
 *	10.1.0.0/16, fd00:1::1  are this host's: nobody listens unless a test does
 *	10.2.0.0/16             swallows everything and never answers
 *
 * and a loop that the checker and the servers share, so that nothing happens but in
 * the test's turns, each of which is timed.
 */
#ifndef RINGLB_TESTS_HEALTH_RIG_H
#define RINGLB_TESTS_HEALTH_RIG_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/text.h"
#include "control/health.h"

#define PATIENCE_MS 10000
#define EVENTS_MAX  64
#define UNUSED	    __attribute__((unused))

/* A call of the checker, with what health_status() said in it. */
struct event {
	char pool[CONFIG_NAME_MAX + 1];
	char backend[CONFIG_NAME_MAX + 1];
	bool up;
	struct health_status status;
};

struct rig {
	sd_event *loop;
	struct health *health;
	struct event events[EVENTS_MAX];
	size_t n_events;
	void (*on_event)(struct rig *rig, const struct event *event);
	void *context;
	uint64_t busiest_us; /* CPU time of the longest turn */
	uint64_t asleep_us;  /* the longest turn in which the process waited for something */
	size_t n_fds;	     /* before anything was opened */
};

static uint64_t time_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t clock_us(void)
{
	return time_us(CLOCK_MONOTONIC);
}

/* How often the process has given up the CPU by itself. */
static long count_waits(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

static size_t count_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(directory);
	while (readdir(directory))
		n++;
	closedir(directory);
	return n;
}

/* A new one, so that what a failed test has left open is in nobody's way. */
static int namespace_new(void)
{
	static const char batch[] = "link set lo up\n"
				    "route add local 10.1.0.0/16 dev lo\n"
				    "addr add fd00:1::1/128 dev lo nodad\n"
				    "link add v0 type veth peer name v1\n"
				    "link set v0 arp off up\n"
				    "link set v1 up\n"
				    "addr add 10.2.0.1/16 dev v0\n";
	FILE *ip;

	if (unshare(CLONE_NEWNET))
		return -1;
	ip = popen("ip -batch -", "we");
	if (!ip)
		return -1;
	fputs(batch, ip);
	return pclose(ip);
}

static void rig_changed(void *context, const char *pool, const char *backend, bool up)
{
	struct rig *rig = context;
	struct event *event = &rig->events[rig->n_events % EVENTS_MAX];

	snprintf(event->pool, sizeof(event->pool), "%s", pool);
	snprintf(event->backend, sizeof(event->backend), "%s", backend);
	event->up = up;
	health_status(rig->health, pool, backend, &event->status);
	rig->n_events++;
	if (rig->on_event)
		rig->on_event(rig, event);
}

static int rig_setup(void **state)
{
	struct rig *rig = test_calloc(1, sizeof(*rig));

	*state = rig;
	signal(SIGPIPE, SIG_IGN);
	if (namespace_new())
		return -1;
	rig->n_fds = count_fds();
	assert_true(sd_event_new(&rig->loop) >= 0);
	return health_open(&rig->health, rig->loop, rig_changed, rig);
}

/* Whatever a test did, nothing of it is left. */
static int rig_teardown(void **state)
{
	struct rig *rig = *state;

	health_close(rig->health);
	sd_event_unref(rig->loop);
	assert_int_equal(count_fds(), rig->n_fds);
	test_free(rig);
	return 0;
}

/*
 * Wait for at most @wait_us and do one thing that there is to do. A turn that blocks
 * waits in it; one that only takes long because other programs run does not.
 */
static void rig_turn(struct rig *rig, uint64_t wait_us)
{
	uint64_t before, cpu;
	long waits;

	if (sd_event_prepare(rig->loop) == 0 && sd_event_wait(rig->loop, wait_us) == 0)
		return;
	before = clock_us();
	cpu = time_us(CLOCK_THREAD_CPUTIME_ID);
	waits = count_waits();
	assert_true(sd_event_dispatch(rig->loop) >= 0);
	before = clock_us() - before;
	cpu = time_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
	if (cpu > rig->busiest_us)
		rig->busiest_us = cpu;
	if (count_waits() > waits && before > rig->asleep_us)
		rig->asleep_us = before;
}

static UNUSED void rig_run(struct rig *rig, unsigned int ms)
{
	uint64_t end = clock_us() + ms * 1000ULL, now;

	while ((now = clock_us()) < end)
		rig_turn(rig, end - now);
}

/* Apply pools in YAML flow style. */
static UNUSED void rig_configure(struct rig *rig, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static UNUSED void rig_configure(struct rig *rig, const char *format, ...)
{
	static char pools[131072], yaml[sizeof(pools) + 64];
	struct config_error error = {0};
	struct config config;
	va_list arguments;

	va_start(arguments, format);
	assert_in_range(vsnprintf(pools, sizeof(pools), format, arguments), 1, sizeof(pools) - 1);
	va_end(arguments);
	snprintf(yaml, sizeof(yaml), "seed: 1\ninterfaces: [{name: lo}]\npools: [%s]\n", pools);
	if (config_read(&config, yaml, strlen(yaml), &error))
		fail_msg("line %zu: %s\n%s", error.line, error.what, yaml);
	assert_int_equal(health_configure(rig->health, &config), 0);
	config_release(&config);
}

/* Pool 'web' with one backend 'a' and this check, 10 times a second. */
#define FAST "interval: 100ms, timeout: 100ms, jitter: 0%%"
#define rig_check(rig, check, address)                                                             \
	rig_configure(rig,                                                                         \
		      "{name: web, forward: nat, check: {" check ", " FAST                         \
		      "}, backends: [{name: a, address: '%s', port: 80}]}",                        \
		      address)

static struct health_status rig_status(struct rig *rig, const char *backend)
{
	struct health_status status;

	health_status(rig->health, "web", backend, &status);
	return status;
}

static UNUSED void rig_wait_results(struct rig *rig, const char *backend, uint32_t successes,
				    uint32_t failures)
{
	struct health_status status = rig_status(rig, backend);
	uint64_t end = clock_us() + PATIENCE_MS * 1000ULL;

	for (; status.successes < successes || status.failures < failures;
	     status = rig_status(rig, backend)) {
		if (clock_us() > end)
			fail_msg("%u successes, %u failures: '%s'", status.successes,
				 status.failures, status.reason);
		rig_turn(rig, 10000);
	}
}

static UNUSED void rig_wait_reason(struct rig *rig, const char *backend, const char *reason)
{
	uint64_t end = clock_us() + PATIENCE_MS * 1000ULL;

	while (strcmp(rig_status(rig, backend).reason, reason) && clock_us() < end)
		rig_turn(rig, 10000);
	assert_string_equal(rig_status(rig, backend).reason, reason);
}

/* The next call of the checker; it must be about 'a'. */
static UNUSED const struct event *rig_wait_event(struct rig *rig, bool up)
{
	uint64_t end = clock_us() + PATIENCE_MS * 1000ULL;
	size_t n = rig->n_events;
	struct event *event = &rig->events[n % EVENTS_MAX];

	while (rig->n_events == n) {
		struct health_status status = rig_status(rig, "a");

		if (clock_us() > end)
			fail_msg("never goes %s: %u successes, %u failures: '%s'",
				 up ? "up" : "down", status.successes, status.failures,
				 status.reason);
		rig_turn(rig, 10000);
	}
	assert_string_equal(event->pool, "web");
	assert_string_equal(event->backend, "a");
	assert_int_equal(event->up, up);
	assert_int_equal(event->status.up, up);
	return event;
}

/* Down after exactly so many failures, for this reason. */
static UNUSED void rig_goes_down(struct rig *rig, uint32_t fall, const char *reason)
{
	const struct event *event = rig_wait_event(rig, false);

	assert_string_equal(event->status.reason, reason);
	assert_int_equal(event->status.failures, fall);
	assert_int_equal(event->status.successes, 0);
}

static UNUSED void rig_goes_up(struct rig *rig, uint32_t rise)
{
	const struct event *event = rig_wait_event(rig, true);

	assert_int_equal(event->status.successes, rise);
	assert_int_equal(event->status.failures, 0);
	assert_string_equal(event->status.reason, "");
}

/* A socket that is bound to an address, and listens if it is a stream. */
static UNUSED int rig_socket(const char *text, uint16_t port, int type)
{
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct config_address address;
	const int on = 1;
	int fd, err;

	assert_int_equal(text_parse_address(text, &address), 0);
	memcpy(&ipv6.sin6_addr, address.bytes, sizeof(ipv6.sin6_addr));
	memcpy(&ipv4.sin_addr, address.bytes, sizeof(ipv4.sin_addr));
	fd = socket(address.family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address.family == AF_INET6)
		err = bind(fd, (struct sockaddr *)&ipv6, sizeof(ipv6));
	else
		err = bind(fd, (struct sockaddr *)&ipv4, sizeof(ipv4));
	assert_int_equal(err, 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 1024), 0);
	return fd;
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

#endif
