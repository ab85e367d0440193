/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Members of the daemon's answers (docs/api.md), for printing. A daemon of another
 * version may leave one out: then it reads as "-" or 0.
 */
#ifndef RINGLB_CLI_ANSWER_H
#define RINGLB_CLI_ANSWER_H

#include <jansson.h>
#include <stdbool.h>

#include "config/text.h"

/** answer_text() - a string; "-" if it is null, missing or something else */
const char *answer_text(const json_t *object, const char *member);

/** answer_integer() - an integer, or 0 */
json_int_t answer_integer(const json_t *object, const char *member);

/** answer_percent() - a share of 0 to 1 in percent, or 0 */
double answer_percent(const json_t *object, const char *member);

/** answer_true() - true if the member is true */
bool answer_true(const json_t *object, const char *member);

/** answer_lines() - print an array of strings, one a line, or @none if it has no entry */
void answer_lines(const json_t *array, const char *none);

/** answer_peer() - an address with its port, which are members of @object; "-" if it has none */
const char *answer_peer(const json_t *object, const char *address, const char *port,
			char out[TEXT_ENDPOINT_LEN]);

#endif
