/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Health checks: asks every backend of every pool with a check whether it works, all
 * the time and side by side on one event loop, and says when one goes up or down.
 * What follows from that is the caller's: nothing here knows rings or maps.
 *
 * - Nothing blocks. Each check in flight has a socket of its own, but icmp ones
 *   share one for each address family; all of them wait in the loop.
 * - A check goes from this host's own address to the backend's own address, not to a
 *   VIP. In nat mode the XDP program passes the answers on to the kernel untouched, as
 *   their destination is no client of a VIP (PASS_REPLY_NOT_ROUTED).
 * - https encrypts but does not verify certificates: what is asked is whether the
 *   backend serves, not who it is. No redirects, no proxy of the environment.
 *
 * When. The first check of a backend begins at a random moment within one interval;
 * each next one an interval after the last began, shortened by the jitter, so that
 * the checks of hundreds of backends stay spread. A backend that is up and has just
 * failed is asked again sooner, by timeout / (fall - 1): so it is down within
 * fall x interval of its death even if every check has to time out. That holds while
 * timeout <= interval x (fall - 1) / fall, as by default; a longer one makes it
 * interval + fall x timeout. A backend is up again `rise` checks after its recovery.
 *
 * State. A new backend is up, so that adding it takes effect at once; `fall` failures
 * take it down as at any other time. A check that could not run for a reason of this
 * host's (no file descriptors, memory or local ports, not permitted) is neither a
 * success nor a failure, but its reason is shown. A check whose timeout comes late,
 * as the loop was busy elsewhere, gets as much time again: a daemon that was away
 * does not take backends for dead.
 *
 * Flapping. A backend that goes down and has changed its state more than 5 times
 * within a window of 10 x interval x (rise + fall) is damped: the number of successes
 * that bring it up doubles. It doubles again each time that happens, up to 64 x rise,
 * and halves for each window in which all results were the same. How fast a failure
 * is seen never changes.
 */
#ifndef RINGLB_CONTROL_HEALTH_H
#define RINGLB_CONTROL_HEALTH_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "config/config.h"

#define HEALTH_REASON_LEN 96

struct health;

/**
 * struct health_status - what is known of a backend
 * @checked: its pool has a check; if not, it is up and the rest is zero
 * @up: it should get flows
 * @damped: it was flapping and needs more than `rise` successes to be up again
 * @successes, @failures: in a row; one of them is 0, both before the first result
 * @rise: successes in a row that bring it up now
 * @changes: of state, since it was added
 * @latency_ms: from the start of the last check that ran to its result
 * @reason: why the last check failed or could not run, e.g. "connection refused",
 *	"timeout", "status 503", "body does not match"; "" after a success
 */
struct health_status {
	bool checked;
	bool up;
	bool damped;
	uint32_t successes;
	uint32_t failures;
	uint32_t rise;
	uint32_t changes;
	double latency_ms;
	char reason[HEALTH_REASON_LEN];
};

/*
 * A backend has gone up or down; health_status() says so already. Called from the
 * loop, never from a function of this module. It may call all of them but
 * health_close(). The names are good until it returns.
 */
typedef void (*health_changed)(void *context, const char *pool, const char *backend, bool up);

/**
 * health_open() - a checker that has nothing to check yet
 * @loop: kept and referenced; SIGPIPE must be ignored while it runs
 * @changed: called with @context at each change of state
 *
 * Raises the process's soft limit of open files to its hard limit, as each check in
 * flight needs one.
 *
 * Return: 0 or -errno; then *@out is left as it was.
 */
int health_open(struct health **out, sd_event *loop, health_changed changed, void *context);

/**
 * health_configure() - check the backends of a configuration from now on
 * @config: valid; copied as far as needed
 *
 * A backend is the same if its pool's name, its name, address and the port to check
 * are. If its check is the same too, it goes on undisturbed. If the check is another,
 * it keeps its state and the number of changes, and counts results anew. All others
 * are new, hence up. Calls no callback, not even for a backend that was down and now
 * is new or not checked any more: look at health_status() afterwards.
 * Costs O(n log n) in the number of backends.
 *
 * Return: 0; -ENOMEM or -errno of sd-event, then everything is as it was.
 */
int health_configure(struct health *health, const struct config *config);

/**
 * health_restore() - a backend's state from before, known from an earlier run
 *
 * Without any effect if the backend is not checked or has had a result already.
 * No callback. For use after the first health_configure(), so that a restart does not
 * send flows to backends that are down.
 */
void health_restore(struct health *health, const char *pool, const char *backend, bool up);

/** health_status() - fill @out; a backend that is not known is up and not checked */
void health_status(const struct health *health, const char *pool, const char *backend,
		   struct health_status *out);

/** health_close() - end all checks, also those in flight. NULL is allowed. */
void health_close(struct health *health);

#endif
