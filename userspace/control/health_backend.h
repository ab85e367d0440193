/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One backend under its check: when it is probed, and what its results make of it.
 * Used inside health*.c only.
 */
#ifndef RINGLB_CONTROL_HEALTH_BACKEND_H
#define RINGLB_CONTROL_HEALTH_BACKEND_H

#include "control/health_probe.h"
#include "control/health_record.h"

/** struct health_check - a pool's check, shared by all that go by it */
struct health_check {
	size_t users;
	struct config_check config;
};

/**
 * struct health_clock - what all backends share
 * @random: state of a generator that only has to spread checks
 */
struct health_clock {
	struct prober prober;
	uint64_t random;
	health_changed changed;
	void *context;
};

/**
 * struct health_backend - one backend of one pool
 * @check: its own reference
 * @timer: next start while no probe runs, else its timeout
 * @due_us: what @timer is set to
 * @started_us: last start
 * @extended: the probe that runs has had its timeout put off once
 * @latency_us, @reason: as in struct health_status
 * @generation: of the last configuration that has it
 * @fresh: made for a configuration that is not in force yet; its timer is off
 */
struct health_backend {
	char pool[CONFIG_NAME_MAX + 1];
	char name[CONFIG_NAME_MAX + 1];
	struct health_clock *clock;
	struct health_check *check;
	struct health_record record;
	struct probe probe;
	sd_event_source *timer;
	uint64_t due_us;
	uint64_t started_us;
	bool extended;
	uint64_t latency_us;
	char reason[HEALTH_REASON_LEN];
	uint64_t generation;
	bool fresh;
};

/** health_check_new() - one user. Return: NULL if there is no memory. */
struct health_check *health_check_new(const struct config_check *config);

/** health_check_unref() - one user less; NULL is allowed */
void health_check_unref(struct health_check *check);

/**
 * health_backend_new() - a backend that is up; not checked until health_backend_start()
 * @pool: its name
 * Return: 0; -ENOMEM or -errno, then *@out is left as it was.
 */
int health_backend_new(struct health_backend **out, struct health_clock *clock,
		       struct health_check *check, const char *pool,
		       const struct config_backend *config);

/** health_backend_start() - plan the first check */
void health_backend_start(struct health_backend *backend);

/** health_backend_free() - end its check, if one is in flight. NULL is allowed. */
void health_backend_free(struct health_backend *backend);

/** health_backend_is() - does it lead to where a check of @config would? */
bool health_backend_is(const struct health_backend *backend, const struct config_check *check,
		       const struct config_backend *config);

#endif
