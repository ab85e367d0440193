/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is wrong with an interface that was attached, or with what reaches it. */
#ifndef RINGLB_BACKEND_CHECK_H
#define RINGLB_BACKEND_CHECK_H

#include "backend/host.h"
#include "backend/netlink.h"
#include "backend/program.h"
#include "backend/record.h"
#include "backend/report.h"

/**
 * check_interface() - report about one entry of the record
 *
 * Return: 0, whatever was found; -errno if it could not be looked at.
 */
int check_interface(struct report *report, struct netlink *netlink, const struct record *record,
		    const struct record_interface *entry, struct failure *failure);

/** check_counts() - report what the counters of its programs tell */
void check_counts(struct report *report, const struct record_interface *entry,
		  const struct program_facts *facts);

/** backend_verdict_name(), backend_verdict_text() - "DROP_ECN", and what an operator reads */
const char *backend_verdict_name(uint32_t verdict);
const char *backend_verdict_text(uint32_t verdict);

#endif
