/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/health_backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMER_SLACK_US 1000
/* The loop was away if a timer comes later than this. */
#define LATE_US 20000

struct health_check *health_check_new(const struct config_check *config)
{
	struct health_check *check = calloc(1, sizeof(*check));

	if (!check)
		return NULL;
	check->users = 1;
	check->config = *config;
	return check;
}

void health_check_unref(struct health_check *check)
{
	if (check && !--check->users)
		free(check);
}

/* Not sd_event_now(), which is as old as the turn of the loop. */
static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* 0 to @max - 1. Source: Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t draw(struct health_clock *clock, uint64_t max)
{
	uint64_t x = clock->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	clock->random = x;
	return max ? x % max : 0;
}

static void timer_set(struct health_backend *backend, uint64_t due_us)
{
	backend->due_us = due_us;
	sd_event_source_set_time(backend->timer, due_us);
	sd_event_source_set_enabled(backend->timer, SD_EVENT_ONESHOT);
}

/* From the start of the last check to that of the next, by the rules in health.h. */
static uint64_t period_us(struct health_backend *backend)
{
	const struct config_check *check = &backend->check->config;
	uint64_t period = check->interval_ms * 1000ULL, sooner;

	if (backend->record.up && backend->record.failures && check->fall > 1) {
		sooner = (check->timeout_ms * 1000ULL + check->fall - 2) / (check->fall - 1);
		period = period > sooner ? period - sooner : 0;
	}
	return period - draw(backend->clock, period * check->jitter_percent / 100 + 1);
}

static void plan(struct health_backend *backend)
{
	uint64_t due = backend->started_us + period_us(backend), now = now_us();

	timer_set(backend, due > now ? due : now);
}

/* The last thing that happens to @backend, which the callback may free. */
static void take_result(struct health_backend *backend, enum probe_outcome outcome,
			const char *reason)
{
	const struct health_clock *clock = backend->clock;
	char pool[sizeof(backend->pool)], name[sizeof(backend->name)];
	uint64_t now = now_us();
	bool changed = false, up;

	snprintf(backend->reason, sizeof(backend->reason), "%s", reason);
	if (outcome != PROBE_NOT_RUN) {
		backend->latency_us = now - backend->started_us;
		changed = health_record_add(&backend->record, &backend->check->config, now,
					    outcome == PROBE_SUCCEEDED);
	}
	plan(backend);
	if (!changed)
		return;
	memcpy(pool, backend->pool, sizeof(pool));
	memcpy(name, backend->name, sizeof(name));
	up = backend->record.up;
	clock->changed(clock->context, pool, name, up);
}

static void probe_done(struct probe *probe, enum probe_outcome outcome, const char *reason)
{
	struct health_backend *backend =
		(void *)((char *)probe - offsetof(struct health_backend, probe));

	take_result(backend, outcome, reason);
}

static int timer_due(sd_event_source *source, uint64_t usec, void *context)
{
	struct health_backend *backend = context;
	uint64_t now = now_us(), late = now > backend->due_us ? now - backend->due_us : 0;

	(void)source;
	(void)usec;
	if (!backend->probe.running) {
		backend->started_us = now;
		backend->extended = false;
		timer_set(backend, now + backend->check->config.timeout_ms * 1000ULL);
		probe_start(&backend->probe);
	} else if (late > LATE_US && !backend->extended) {
		/* Only once, or a machine that is always busy would never see a death. */
		backend->extended = true;
		timer_set(backend, now + late);
	} else {
		probe_cancel(&backend->probe);
		take_result(backend, PROBE_FAILED, "timeout");
	}
	return 0;
}

static uint16_t port_of(const struct config_check *check, const struct config_backend *config)
{
	if (check->type == CONFIG_CHECK_ICMP)
		return 0;
	return check->port ? check->port : config->port;
}

int health_backend_new(struct health_backend **out, struct health_clock *clock,
		       struct health_check *check, const char *pool,
		       const struct config_backend *config)
{
	struct health_backend *backend = calloc(1, sizeof(*backend));
	int err;

	if (!backend)
		return -ENOMEM;
	snprintf(backend->pool, sizeof(backend->pool), "%s", pool);
	snprintf(backend->name, sizeof(backend->name), "%s", config->name);
	backend->clock = clock;
	backend->check = check;
	check->users++;
	health_record_init(&backend->record, true);
	backend->probe = (struct probe){
		.prober = &clock->prober,
		.check = &check->config,
		.address = config->address,
		.port = port_of(&check->config, config),
		.done = probe_done,
		.fd = -1,
	};
	err = sd_event_add_time(clock->prober.loop, &backend->timer, CLOCK_MONOTONIC, 0,
				TIMER_SLACK_US, timer_due, backend);
	if (err >= 0)
		err = sd_event_source_set_enabled(backend->timer, SD_EVENT_OFF);
	if (err < 0) {
		health_backend_free(backend);
		return err;
	}
	backend->fresh = true;
	*out = backend;
	return 0;
}

void health_backend_start(struct health_backend *backend)
{
	uint64_t interval = backend->check->config.interval_ms * 1000ULL;

	backend->fresh = false;
	timer_set(backend, now_us() + draw(backend->clock, interval));
}

void health_backend_free(struct health_backend *backend)
{
	if (!backend)
		return;
	probe_cancel(&backend->probe);
	sd_event_source_disable_unref(backend->timer);
	health_check_unref(backend->check);
	free(backend);
}

bool health_backend_is(const struct health_backend *backend, const struct config_check *check,
		       const struct config_backend *config)
{
	const struct config_address *a = &backend->probe.address, *b = &config->address;

	return a->family == b->family &&
	       !memcmp(a->bytes, b->bytes, a->family == AF_INET6 ? 16 : 4) &&
	       backend->probe.port == port_of(check, config);
}
