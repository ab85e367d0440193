/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `check` finds: problems, which make it fail, and hints. */
#ifndef RINGLB_BACKEND_REPORT_H
#define RINGLB_BACKEND_REPORT_H

#include <jansson.h>
#include <net/if.h>
#include <stdbool.h>

/**
 * struct report - one run of `check`
 * @ifname: what the next findings are about; empty: the host
 * @findings: for --json; printed as they come if NULL
 */
struct report {
	char ifname[IF_NAMESIZE];
	unsigned int n_problems;
	json_t *findings;
};

/**
 * report_problem(), report_hint() - say what is wrong and how to mend it, on one line
 * @remedy: NULL if there is none
 */
void report_problem(struct report *report, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void report_hint(struct report *report, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
