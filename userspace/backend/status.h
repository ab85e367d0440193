/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is attached and what it did, for people and as JSON. */
#ifndef RINGLB_BACKEND_STATUS_H
#define RINGLB_BACKEND_STATUS_H

#include <jansson.h>

#include "backend/record.h"

/**
 * status_of() - one entry of the record as an object
 *
 * Return: 0 with @out to be released; -errno
 */
int status_of(const struct record_interface *entry, json_t **out, struct failure *failure);

/** status_print() - an object of status_of(), for people */
void status_print(const json_t *status);

#endif
