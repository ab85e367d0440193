/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The server ids that QUIC backends write into their connection ids: how they are
 * spelled, and what must hold of those of one pool. docs/quic.md says what they do.
 */
#ifndef RINGLB_CONFIG_QUIC_H
#define RINGLB_CONFIG_QUIC_H

#include "config/validate.h"

#define CONFIG_MUST_QUIC     "must be CONFIGURATION:BYTES in hexadecimal, as in 0:12ab or 0:12ab,1:07"
#define CONFIG_MUST_QUIC_CID "must be 1 to 20 bytes in hexadecimal"
/* For each configuration its digit, the colon, the bytes and a comma or the final zero. */
#define CONFIG_QUIC_TEXT_LEN (CONFIG_QUIC_CONFIGS * (2 + 2 * CONFIG_QUIC_ID_MAX + 1))

/**
 * config_quic_parse() - "0:12ab,1:07": server ids by configuration, each once
 * @ids: struct config_quic_id of each configuration; those not given become empty
 *
 * Return: 0; -EINVAL, then @ids is left as it was.
 */
int config_quic_parse(const char *text, void *ids);

/* "00 12ab..." without the space: 1 to 20 bytes in hexadecimal. Return: as above. */
int config_quic_parse_cid(const char *text, uint8_t cid[CONFIG_QUIC_CID_MAX], size_t *len);

/* What is wrong with a text that config_quic_parse() refuses, or NULL. */
const char *config_quic_hint(const char *text);

/* The same as text, configurations in ascending order; "" if there is no id. Returns @out. */
const char *config_quic_text(const struct config_quic_id ids[CONFIG_QUIC_CONFIGS],
			     char out[CONFIG_QUIC_TEXT_LEN]);

bool config_quic_equal(const struct config_quic_id a[CONFIG_QUIC_CONFIGS],
		       const struct config_quic_id b[CONFIG_QUIC_CONFIGS]);

/* Any id of any configuration? */
bool config_quic_given(const struct config_quic_id ids[CONFIG_QUIC_CONFIGS]);

/*
 * Part of config_validate(): the ids of a pool differ, those of one configuration are
 * equally long, and all backends that take new flows have one, or none has.
 */
int config_check_quic(const struct config_validation *check);

#endif
