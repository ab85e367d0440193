/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What happened to a packet, for programs. */
#ifndef RINGLB_CLI_TRACE_JSON_H
#define RINGLB_CLI_TRACE_JSON_H

#include <jansson.h>

#include "control/capture.h"

/** trace_json() - an object, whose members docs/trace.md describes; NULL without memory */
json_t *trace_json(const struct control_packet *packet);

#endif
