/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/answer.h"

#include <stdio.h>

const char *answer_text(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? text : "-";
}

json_int_t answer_integer(const json_t *object, const char *member)
{
	return json_integer_value(json_object_get(object, member));
}

double answer_percent(const json_t *object, const char *member)
{
	return json_number_value(json_object_get(object, member)) * 100;
}

bool answer_true(const json_t *object, const char *member)
{
	return json_is_true(json_object_get(object, member));
}

void answer_lines(const json_t *array, const char *none)
{
	const char *line;

	if (json_array_size(array) == 0)
		puts(none);
	for (size_t i = 0; i < json_array_size(array); i++) {
		line = json_string_value(json_array_get(array, i));
		puts(line ? line : "-");
	}
}

const char *answer_peer(const json_t *object, const char *address, const char *port,
			char out[TEXT_ENDPOINT_LEN])
{
	struct config_address parsed;

	if (text_parse_address(answer_text(object, address), &parsed))
		return "-";
	return text_endpoint(&parsed, (uint16_t)answer_integer(object, port), out);
}
