/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Single values of the configuration that no topic's own file reads: @text to what @out points
 * to, which is the type of the field in the model. Used inside config/ only.
 *
 * Return: 0; -EINVAL, and @out is as it was.
 */
#ifndef RINGLB_CONFIG_PARSERS_H
#define RINGLB_CONFIG_PARSERS_H

int config_parse_seed(const char *text, void *out);
int config_parse_name(const char *text, void *out);
int config_parse_interface_name(const char *text, void *out);
int config_parse_mode(const char *text, void *out);
int config_parse_forward(const char *text, void *out);
int config_parse_gue_port(const char *text, void *out);
int config_parse_gue_checksum(const char *text, void *out);
int config_parse_panic(const char *text, void *out);
int config_parse_vnodes(const char *text, void *out);
int config_parse_address(const char *text, void *out);
int config_parse_port(const char *text, void *out);
int config_parse_weight(const char *text, void *out);
int config_parse_drain(const char *text, void *out);
int config_parse_drain_until(const char *text, void *out);

/* What is wrong with a weight beyond its range, or NULL. */
const char *config_hint_weight(const char *text);

#endif
