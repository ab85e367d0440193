/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operands and option values, checked before anybody is asked. Each says on stderr
 * which value is wrong and what it must be; the caller returns CLI_USAGE then.
 */
#ifndef RINGLB_CLI_VALUES_H
#define RINGLB_CLI_VALUES_H

#include <stdbool.h>

#include "config/config.h"

/* A whole number, decimal or 0x hexadecimal. NULL leaves @out as it is. */
bool value_read_number(const char *what, const char *text, uint64_t least, uint64_t most,
		       uint64_t *out);

/* @what is the word for it in the message: "pool", "name". NULL as text is an option not given. */
bool value_is_name(const char *what, const char *text);
bool value_is_weight(const char *text);
bool value_is_duration(const char *what, const char *text);
bool value_is_vip(const char *text);
bool value_is_hash(const char *text);

bool value_is_quic_id(const char *text);

/* A connection id; fills the outputs. */
bool value_read_quic_cid(const char *text, uint8_t cid[CONFIG_QUIC_CID_MAX], size_t *len);

/* A backend's address, with or without a port. */
bool value_is_endpoint(const char *text);

/* An address with its port; fills the outputs. */
bool value_read_peer(const char *what, const char *text, struct config_address *address,
		     uint16_t *port);
/* An address or a prefix. NULL leaves @prefix as it is. */
bool value_read_network(const char *what, const char *text, struct config_prefix *prefix);

bool value_read_protocol(const char *text, uint8_t *protocol);

#endif
