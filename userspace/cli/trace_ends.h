/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a frame comes from and goes to, as its outermost headers say. */
#ifndef RINGLB_CLI_TRACE_ENDS_H
#define RINGLB_CLI_TRACE_ENDS_H

#include <stdbool.h>

#include "config/text.h"
#include "control/capture.h"

#define TRACE_MAC_LEN 18

/**
 * struct trace_ends
 * @type: EtherType, behind VLAN tags
 * @source, @destination: with ports if @has_ports; empty if it is not IP
 */
struct trace_ends {
	char mac[TRACE_MAC_LEN]; /* destination */
	uint16_t type;
	bool is_ip;
	bool has_ports;
	uint8_t protocol;
	char source[TEXT_ENDPOINT_LEN];
	char destination[TEXT_ENDPOINT_LEN];
};

/** trace_ends() - read @frame, whatever is in it and wherever it ends */
struct trace_ends trace_ends(const struct control_frame *frame);

#endif
