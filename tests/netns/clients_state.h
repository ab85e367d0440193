/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The flows of clients.c, what becomes of them, and how it is told. */
#ifndef RINGLB_TESTS_NETNS_CLIENTS_STATE_H
#define RINGLB_TESTS_NETNS_CLIENTS_STATE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/netns/exchange.h"

#define BACKENDS_MAX 64
#define QUIET_MS     4000

enum reason { RESET, ENDED, REFUSED, TIMEOUT, WRONG_ANSWER, OTHER_BACKEND, OTHER, REASONS };
static const char *const reasons[] = {"reset",	      "ended",	       "refused", "timeout",
				      "wrong_answer", "other_backend", "other"};

/* @fd is -1 if it is closed; @backend before the first answer. */
struct flow {
	int fd;
	bool brief, begun, connected, waiting;
	uint32_t sequence;
	int64_t sent_ms, began_ms, answered_ms;
	int backend;
	size_t got;
	char answer[ANSWER_LEN];
};

struct backend {
	char name[NAME_LEN + 1];
	int open, broken, brief;
};

static struct {
	bool tcp;
	struct sockaddr_storage to;
	socklen_t to_len;
	int count, interval_ms, rate;
	const char *state;
	int epoll;
	struct flow *flows; /* count long-lived ones, then BRIEF_MAX slots */
	struct backend backends[BACKENDS_MAX];
	int n_backends;
	int opened, closed, broken, by_reason[REASONS], lost, short_ok, short_failed, short_slow;
	int64_t silence_ms, broken_at_ms, answers;
} all;

static void die(const char *what)
{
	fprintf(stderr, "clients: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

static int find_backend(const char name[NAME_LEN])
{
	struct backend *backend;
	int len = NAME_LEN;

	while (len && name[len - 1] == ' ')
		len--;
	for (int i = 0; i < all.n_backends; i++)
		if (!strncmp(all.backends[i].name, name, (size_t)len) && !all.backends[i].name[len])
			return i;
	if (all.n_backends == BACKENDS_MAX)
		die("too many backends");
	backend = &all.backends[all.n_backends];
	snprintf(backend->name, sizeof(backend->name), "%.*s", len, name);
	return all.n_backends++;
}

static void finish(struct flow *flow)
{
	close(flow->fd);
	flow->fd = -1;
	if (!flow->brief && flow->backend >= 0)
		all.backends[flow->backend].open--;
}

static void fail(struct flow *flow, enum reason reason)
{
	finish(flow);
	all.by_reason[reason]++;
	if (flow->brief) {
		all.short_failed++;
		return;
	}
	all.broken++;
	all.broken_at_ms = clock_ms(CLOCK_REALTIME);
	if (flow->backend >= 0)
		all.backends[flow->backend].broken++;
}

static void print_state(FILE *file)
{
	int open = 0, quiet = 0;

	for (struct flow *flow = all.flows; flow < all.flows + all.count; flow++) {
		open += flow->fd >= 0 && flow->backend >= 0;
		quiet += flow->fd >= 0 && now_ms() - flow->answered_ms > QUIET_MS;
	}
	fprintf(file, "{\"open\":%d,\"opened\":%d,\"closed\":%d,\"broken\":%d,\"quiet\":%d,", open,
		all.opened, all.closed, all.broken, quiet);
	for (int i = 0; i < REASONS; i++)
		fprintf(file, "\"%s\":%d,", reasons[i], all.by_reason[i]);
	fprintf(file,
		"\"lost\":%d,\"answers\":%lld,\"silence_ms\":%lld,\"broken_at_ms\":%lld,"
		"\"short_ok\":%d,\"short_failed\":%d,\"short_slow\":%d,\"backends\":{",
		all.lost, (long long)all.answers, (long long)all.silence_ms,
		(long long)all.broken_at_ms, all.short_ok, all.short_failed, all.short_slow);
	for (int i = 0; i < all.n_backends; i++)
		fprintf(file, "%s\"%s\":{\"open\":%d,\"broken\":%d,\"short\":%d}", i ? "," : "",
			all.backends[i].name, all.backends[i].open, all.backends[i].broken,
			all.backends[i].brief);
	fputs("}}\n", file);
	all.silence_ms = 0;
}

static void report(void)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s.new", all.state);
	file = fopen(path, "we");
	if (!file)
		die(path);
	print_state(file);
	if (fclose(file) || rename(path, all.state))
		die(all.state);
}

#endif
