/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From one record to a smaller one: what only the former has is put back. */
#ifndef RINGLB_BACKEND_UNDO_H
#define RINGLB_BACKEND_UNDO_H

#include "backend/netlink.h"
#include "backend/record.h"
#include "backend/setup.h"

/**
 * undo_record() - put back what @was says and @is does not say
 *
 * Goes through to the end whatever fails. Nothing happens twice if it is called again.
 *
 * Return: 0, or the first error, with @failure
 */
int undo_record(const struct record *was, const struct record *is, struct netlink *netlink,
		struct setup_notes *notes, struct failure *failure);

/** setup_note() - add a line; more than fit are lost */
void setup_note(struct setup_notes *notes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
