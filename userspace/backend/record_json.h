/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The record as JSON, and attach options, which `status --json` shows too. */
#ifndef RINGLB_BACKEND_RECORD_JSON_H
#define RINGLB_BACKEND_RECORD_JSON_H

#include <jansson.h>

#include "backend/record.h"

/** record_to_json(), options_to_json() - Return: a new object; NULL for a lack of memory */
json_t *record_to_json(const struct record *record);
json_t *options_to_json(const struct attach_options *options);

/** record_from_json() - Return: 0; -EINVAL, and @record holds a part of it then */
int record_from_json(json_t *root, struct record *record);

#endif
