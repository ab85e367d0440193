/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/log.h"
#include "control/watch.h"

/*
 * Backends that go one after the other are one change of the rings, which may cost more than
 * each check does.
 */
#define GATHER_US 10000

struct watch {
	struct control *control;
	struct health *health;
	sd_event_source *soon;
	uint64_t generation; /* of the configuration that is being checked */
};

const struct health *watch_health(const struct watch *watch)
{
	return watch->health;
}

/* The rings follow in on_soon(), a moment later, when others may have changed, too. */
static void on_changed(void *context, const char *pool, const char *backend, bool up)
{
	struct watch *watch = context;
	struct health_status status;
	int waits = 0;

	health_status(watch->health, pool, backend, &status);
	log_event(up ? EVENT_BACKEND_UP : EVENT_BACKEND_DOWN,
		  LOG_FIELDS({"pool", pool}, {"backend", backend}, {"reason", status.reason},
			     {"damped", status.damped ? "yes" : NULL}),
		  "backend '%s' of pool '%s' is %s%s%s%s", backend, pool, up ? "up" : "down",
		  status.reason[0] ? ": " : "", status.reason,
		  status.damped ? " (flapping, damped)" : "");
	sd_event_source_get_enabled(watch->soon, &waits);
	if (waits)
		return;
	sd_event_source_set_time_relative(watch->soon, GATHER_US);
	sd_event_source_set_enabled(watch->soon, SD_EVENT_ONESHOT);
}

static int on_soon(sd_event_source *source, uint64_t now_us, void *context)
{
	struct watch *watch = context;
	struct control_error error = {};

	(void)source;
	(void)now_us;
	log_trouble(EVENT_RING_TROUBLE, watch_sync(watch, &error) ? error.what : NULL);
	return 0;
}

static void restore_down(struct watch *watch)
{
	const struct control *control = watch->control;

	for (size_t p = 0; p < control->n_pools; p++) {
		const struct control_pool *pool = &control->pools[p];

		for (size_t m = 0; m < pool->ring->n_members; m++)
			if (pool->down[m])
				health_restore(watch->health, pool->name,
					       pool->ring->members[m].name, false);
	}
}

/* Give each backend the state that its checks found. Return: true if any changed. */
static bool mark_states(struct watch *watch)
{
	const struct control *control = watch->control;
	bool any = false;

	for (size_t p = 0; p < control->n_pools; p++) {
		struct control_pool *pool = &control->pools[p];

		for (size_t m = 0; m < pool->ring->n_members; m++) {
			struct health_status status;

			health_status(watch->health, pool->name, pool->ring->members[m].name,
				      &status);
			any |= pool->down[m] == status.up;
			pool->down[m] = !status.up;
		}
	}
	return any;
}

int watch_sync(struct watch *watch, struct control_error *error)
{
	int err;

	if (watch->generation != watch->control->generation) {
		err = health_configure(watch->health, &watch->control->running);
		if (err)
			return control_fail(error, err, "cannot check the backends: %s",
					    strerror(-err));
		watch->generation = watch->control->generation;
	}
	if (!mark_states(watch) && !watch->control->stale)
		return 0;
	err = control_refresh_rings(watch->control, error);
	/* Checking goes on as before: only rings changed. */
	watch->generation = watch->control->generation;
	return err;
}

int watch_open(struct watch **out, sd_event *loop, struct control *control)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int err;

	if (!watch)
		return -ENOMEM;
	watch->control = control;
	err = health_open(&watch->health, loop, on_changed, watch);
	if (!err)
		err = sd_event_add_time_relative(loop, &watch->soon, CLOCK_MONOTONIC, GATHER_US,
						 1000, on_soon, watch);
	if (!err)
		err = sd_event_source_set_enabled(watch->soon, SD_EVENT_OFF);
	if (!err)
		err = health_configure(watch->health, &control->running);
	if (err) {
		watch_close(watch);
		return err;
	}
	watch->generation = control->generation;
	restore_down(watch);
	*out = watch;
	return 0;
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	health_close(watch->health);
	sd_event_source_unref(watch->soon);
	free(watch);
}
