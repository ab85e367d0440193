/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One check of one backend, from its start to its result. Knows nothing of states,
 * counts or times: whoever starts a probe cancels it when it has taken too long.
 * Used inside health*.c only.
 */
#ifndef RINGLB_CONTROL_HEALTH_PROBE_H
#define RINGLB_CONTROL_HEALTH_PROBE_H

#include <sys/socket.h>

#include "control/health.h"

/*
 * Answers come before the loop's other work, and before the timers in particular: an
 * answer that has arrived is never taken for a timeout. It cannot starve the rest, as
 * probes are started by timers of normal priority, and each has bounded work.
 */
#define PROBE_PRIORITY (SD_EVENT_PRIORITY_NORMAL - 10)

enum probe_outcome {
	PROBE_SUCCEEDED,
	PROBE_FAILED,
	PROBE_NOT_RUN, /* for a reason of this host's; says nothing of the backend */
};

struct probe;
struct probe_icmp;
struct probe_http;
struct probe_transfer;

/** struct prober - what all probes share; each part is made when it is first needed */
struct prober {
	sd_event *loop;
	struct probe_http *http;
	struct probe_icmp *icmp;
};

/**
 * struct probe - one check; a caller may use it again when it has ended
 * @prober, @check: outlive the probe
 * @address, @port: of the backend; host byte order; no port with icmp
 * @done: called when the probe has ended, but not if it was cancelled; may be called
 *	before probe_start() returns. @reason is "" after a success. May start or cancel
 *	any probe, and free this one
 * @running: between start and end
 *
 * The rest belongs to the types.
 */
struct probe {
	struct prober *prober;
	const struct config_check *check;
	struct config_address address;
	uint16_t port;
	void (*done)(struct probe *probe, enum probe_outcome outcome, const char *reason);
	bool running;

	int fd; /* of tcp and udp */
	sd_event_source *io;
	struct probe_transfer *transfer; /* of http */
	uint16_t sequence;		 /* of icmp */
	uint64_t token;
};

/** prober_release() - after the last probe has ended */
void prober_release(struct prober *prober);

/** probe_start() - begin; ends in a call of @done or in probe_cancel() */
void probe_start(struct probe *probe);

/** probe_cancel() - end without a result. Allowed at any time. */
void probe_cancel(struct probe *probe);

/* For the types: how a probe ends. */
void probe_finish(struct probe *probe, enum probe_outcome outcome, const char *reason);

/* For the types: probe_finish() by an errno of a socket call. */
void probe_fail(struct probe *probe, int error);

/* For the types: "connection refused", in @out. Return: whose fault it is. */
enum probe_outcome probe_error(int error, char out[HEALTH_REASON_LEN]);

/* For the types: the backend's address. Return: its length. */
socklen_t probe_sockaddr(const struct probe *probe, struct sockaddr_storage *out);

/*
 * The types. Each start function may finish the probe; each stop function frees what
 * its start function has made. Both the ends of a probe come through it.
 */
void probe_tcp_start(struct probe *probe);
void probe_udp_start(struct probe *probe);
void probe_socket_stop(struct probe *probe); /* of tcp and udp */

void probe_http_start(struct probe *probe); /* of http and https */
void probe_http_stop(struct probe *probe);
void probe_http_release(struct prober *prober);

void probe_icmp_start(struct probe *probe);
void probe_icmp_stop(struct probe *probe);
void probe_icmp_release(struct prober *prober);

#endif
