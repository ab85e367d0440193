/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What happened to a packet, in one line. */
#ifndef RINGLB_CLI_TRACE_LINE_H
#define RINGLB_CLI_TRACE_LINE_H

#include "control/capture.h"

#define TRACE_LINE_LEN 1024

/** trace_line() - all stages, for the terminal. Fills @out and returns it, as the next */
const char *trace_line(const struct control_packet *packet, char out[TRACE_LINE_LEN]);

/** trace_comment() - for the frame that left: what cannot be seen in it */
const char *trace_comment(const struct control_packet *packet, char out[TRACE_LINE_LEN]);

#endif
