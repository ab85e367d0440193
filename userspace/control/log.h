/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The daemon's log: one event a line, in logfmt on stderr,
 *
 *   level=warning event=backend_down pool=web backend=b1 reason="no answer" msg="backend ..."
 *
 * or, where stderr is the journal's, as an entry with the same as fields: MESSAGE, PRIORITY,
 * RINGLB_EVENT, RINGLB_POOL... (JOURNAL_STREAM of systemd.exec(5) says so).
 *
 * Each kind of event has a limit of lines, and what is left out is counted and told. There is
 * one log in a process, as there is one stderr.
 */
#ifndef RINGLB_CONTROL_LOG_H
#define RINGLB_CONTROL_LOG_H

#include <stdbool.h>

/* X(NAME, level, "name"): levels are those of syslog(3). */
#define LOG_EVENTS(X)                                                                              \
	X(READY, 6, "ready")                                                                       \
	X(FAILED, 3, "failed")                                                                     \
	X(CHANGED, 6, "changed")                                                                   \
	X(WARNING, 4, "warning")                                                                   \
	X(RELOADED, 6, "reloaded")                                                                 \
	X(NOT_RELOADED, 3, "not_reloaded")                                                         \
	X(BACKEND_UP, 6, "backend_up")                                                             \
	X(BACKEND_DOWN, 4, "backend_down")                                                         \
	X(NEXTHOP, 6, "nexthop_changed")                                                           \
	X(ATTACHED, 6, "attached")                                                                 \
	X(MOVING, 6, "arcs_moving")                                                                \
	X(SETTLED, 6, "arcs_settled")                                                              \
	X(NEXTHOP_TROUBLE, 3, "nexthop_trouble")                                                   \
	X(ATTACH_TROUBLE, 3, "attach_trouble")                                                     \
	X(RING_TROUBLE, 3, "ring_trouble")                                                         \
	X(TICK_TROUBLE, 3, "tick_trouble")                                                         \
	X(RECOVERED, 5, "recovered")                                                               \
	X(SUPPRESSED, 4, "suppressed")

#define LOG_EVENT_ENUM(name, level, text) EVENT_##name,
enum log_event { LOG_EVENTS(LOG_EVENT_ENUM) EVENT_COUNT };
#undef LOG_EVENT_ENUM

/* A field of a line; one whose value is NULL or empty is left out. */
struct log_field {
	const char *name;
	const char *value;
};

/* Any number of {"name", value}. */
#define LOG_FIELDS(...) ((const struct log_field[]){__VA_ARGS__, {}})
#define LOG_FIELDS_MAX	8

/** log_open() - find out where stderr leads; until then it is no journal */
void log_open(void);

/** log_event() - say what happened; @fields: of LOG_FIELDS(), or NULL; @format: for people */
void log_event(enum log_event what, const struct log_field *fields, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * log_trouble() - what is tried again and again: say it when it begins, changes and ends
 * @text: what is wrong; NULL: nothing
 */
void log_trouble(enum log_event what, const char *text);

/** log_tick() - tell how many lines were left out; to be called about once a second */
void log_tick(void);

#endif
