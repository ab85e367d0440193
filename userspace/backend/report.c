/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/report.h"

#include <stdarg.h>
#include <stdio.h>

#define WHAT_LEN 512

static void finding(struct report *report, bool problem, const char *remedy, const char *what)
{
	if (report->findings) {
		json_array_append_new(
			report->findings,
			json_pack("{s:s, s:s, s:s, s:s?}", "interface", report->ifname, "kind",
				  problem ? "problem" : "hint", "what", what, "remedy", remedy));
		return;
	}
	if (report->ifname[0])
		printf("%s: ", report->ifname);
	printf("%s%s%s%s%s\n", problem ? "" : "hint: ", what, remedy ? " (" : "",
	       remedy ? remedy : "", remedy ? ")" : "");
}

void report_problem(struct report *report, const char *remedy, const char *format, ...)
{
	char what[WHAT_LEN];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	report->n_problems++;
	finding(report, true, remedy, what);
}

void report_hint(struct report *report, const char *remedy, const char *format, ...)
{
	char what[WHAT_LEN];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	finding(report, false, remedy, what);
}
