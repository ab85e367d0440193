/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long packets to a pool's backends may be: the fields mtu and mss_clamp. Used inside
 * config/ only.
 */
#ifndef RINGLB_CONFIG_MTU_H
#define RINGLB_CONFIG_MTU_H

#include "config/validate.h"

#define CONFIG_MUST_MTU "must be 576 to 65535"
#define CONFIG_MUST_MSS "must be 536 to 65495"

/* Parsers of single values; return 0 or -EINVAL. */
int config_mtu_parse(const char *text, void *out);
int config_mss_parse(const char *text, void *out);

/* Return: 0; -EINVAL with the error filled. */
int config_mtu_validate(const struct config_validation *check, struct config_place place);

#endif
