/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/log.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "control/change.h"
#include "control/log_limit.h"

#define TEXT_LEN 1024
#define LINE_LEN 4096

struct log_kind {
	int level;
	const char *name;
};

#define LOG_KIND(name, level, text) [EVENT_##name] = {level, text},
static const struct log_kind kinds[] = {LOG_EVENTS(LOG_KIND)};
#undef LOG_KIND

static struct {
	bool journal;
	struct log_limit limits[EVENT_COUNT];
	char troubles[EVENT_COUNT][TEXT_LEN];
} state;

void log_open(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uint64_t device, inode;
	struct stat status;

	state.journal = stream && sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
			!fstat(STDERR_FILENO, &status) && status.st_dev == device &&
			status.st_ino == inode;
}

static bool is_given(const struct log_field *field)
{
	return field->value && *field->value;
}

/* Append to a line of LINE_LEN, which is cut off where it is full. */
static void append(char *line, const char *text, size_t len)
{
	size_t at = strlen(line), room = LINE_LEN - 1 - at;

	len = len < room ? len : room;
	memcpy(line + at, text, len);
	line[at + len] = 0;
}

/* In quotes if it would not be read as one word; no byte of it breaks the line. */
static void append_value(char *line, const char *value)
{
	bool quoted = strpbrk(value, " \"=\\") != NULL;

	for (const char *c = value; *c; c++)
		quoted |= iscntrl((unsigned char)*c) != 0;
	append(line, "\"", quoted);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			append(line, "\\", 1);
		append(line, iscntrl((unsigned char)*value) ? "?" : value, 1);
	}
	append(line, "\"", quoted);
}

static void append_field(char *line, const char *name, const char *value)
{
	append(line, " ", *line != 0);
	append(line, name, strlen(name));
	append(line, "=", 1);
	append_value(line, value);
}

static const char *level_name(int level)
{
	static const char *const names[] = {
		"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug",
	};

	return names[level];
}

/* In one write, so that lines of several processes do not mix. */
static void to_stderr(const struct log_kind *kind, const struct log_field *fields, const char *text)
{
	char line[LINE_LEN] = "";
	size_t len;

	append_field(line, "level", level_name(kind->level));
	append_field(line, "event", kind->name);
	for (; fields && fields->name; fields++)
		if (is_given(fields))
			append_field(line, fields->name, fields->value);
	append_field(line, "msg", text);
	len = strlen(line);
	line[len] = '\n';
	if (write(STDERR_FILENO, line, len + 1) < 0)
		return; /* there is nobody to tell */
}

/* "RINGLB_POOL=web" */
static struct iovec journal_field(const char *prefix, const char *name, const char *value,
				  char out[TEXT_LEN])
{
	int len = snprintf(out, TEXT_LEN, "%s%s=", prefix, name);

	for (char *c = out; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	snprintf(out + len, (size_t)(TEXT_LEN - len), "%s", value);
	return (struct iovec){out, strlen(out)};
}

/* Return: false if the journal did not take it. */
static bool to_journal(const struct log_kind *kind, const struct log_field *fields,
		       const char *text)
{
	char texts[LOG_FIELDS_MAX + 3][TEXT_LEN];
	const char level[] = {(char)('0' + kind->level), 0};
	struct iovec list[LOG_FIELDS_MAX + 3];
	int n = 0;

	list[n] = journal_field("", "message", text, texts[n]);
	n++;
	list[n] = journal_field("", "priority", level, texts[n]);
	n++;
	list[n] = journal_field("ringlb_", "event", kind->name, texts[n]);
	n++;
	for (; fields && fields->name && n < LOG_FIELDS_MAX + 3; fields++) {
		if (!is_given(fields))
			continue;
		list[n] = journal_field("ringlb_", fields->name, fields->value, texts[n]);
		n++;
	}
	return !sd_journal_sendv(list, n);
}

static void say(enum log_event what, const struct log_field *fields, const char *text)
{
	if (!state.journal || !to_journal(&kinds[what], fields, text))
		to_stderr(&kinds[what], fields, text);
}

static void tell_suppressed(enum log_event what, int64_t now_ms)
{
	uint32_t count = log_limit_over(&state.limits[what], now_ms);
	char number[16], text[TEXT_LEN];

	if (!count)
		return;
	snprintf(number, sizeof(number), "%u", count);
	snprintf(text, sizeof(text), "%u more events of kind %s were not logged", count,
		 kinds[what].name);
	say(EVENT_SUPPRESSED, LOG_FIELDS({"kind", kinds[what].name}, {"count", number}), text);
}

void log_event(enum log_event what, const struct log_field *fields, const char *format, ...)
{
	int64_t now_ms = control_now_ms();
	va_list arguments;
	char text[TEXT_LEN];

	/* Before the window that it is about is forgotten. */
	tell_suppressed(what, now_ms);
	if (!log_limit_take(&state.limits[what], now_ms))
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	say(what, fields, text);
}

void log_trouble(enum log_event what, const char *text)
{
	char *last = state.troubles[what];

	if (!text && *last)
		log_event(EVENT_RECOVERED, LOG_FIELDS({"from", kinds[what].name}), "no more of: %s",
			  last);
	else if (text && strcmp(last, text) != 0)
		log_event(what, NULL, "%s", text);
	snprintf(last, TEXT_LEN, "%s", text ? text : "");
}

void log_tick(void)
{
	int64_t now_ms = control_now_ms();

	for (int what = 0; what < EVENT_COUNT; what++)
		tell_suppressed(what, now_ms);
}
