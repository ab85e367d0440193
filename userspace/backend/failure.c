/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "backend/backend.h"

void failure_set(struct failure *failure, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(failure->what, sizeof(failure->what), format, arguments);
	va_end(arguments);
}

const char *mode_name(uint32_t mode)
{
	static const char *const names[] = {
		[MODE_TUNNEL] = "ipip and gue",
		[MODE_IPIP] = "ipip",
		[MODE_GUE] = "gue",
		[MODE_DR] = "dr",
	};

	return mode <= MODE_DR ? names[mode] : "?";
}
