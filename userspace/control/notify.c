/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/notify.h"

#include <inttypes.h>
#include <time.h>

#include <systemd/sd-daemon.h>

static void tell(const struct control *control, const char *state)
{
	const struct config *running = &control->running;
	size_t n_backends = 0;

	for (size_t i = 0; i < running->n_pools; i++)
		n_backends += running->pools[i].n_backends;
	sd_notifyf(0, "%sSTATUS=interfaces %zu, pools %zu, backends %zu, vips %zu", state,
		   running->n_interfaces, running->n_pools, n_backends, running->n_vips);
}

void notify_ready(const struct control *control)
{
	tell(control, "READY=1\n");
}

void notify_status(const struct control *control, uint64_t *told)
{
	if (*told == control->generation)
		return;
	*told = control->generation;
	tell(control, "");
}

void notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

int notify_reload(struct control *control, const char *by, struct control_error *error)
{
	struct timespec now;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		   (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
	err = control_reload(control, by, error);
	notify_ready(control);
	return err;
}
