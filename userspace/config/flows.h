/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The section `flows`: its YAML and its defaults. Used inside config/ only. */
#ifndef RINGLB_CONFIG_FLOWS_H
#define RINGLB_CONFIG_FLOWS_H

#include "config/document.h"

/* What holds if the section, or a field of it, is not given. */
extern const struct config_flows config_flows_default;

/**
 * config_flows_read() - read the mapping
 * @mapping: any node
 * @flows: holds the defaults; receives what is given
 *
 * Return: 0, or -EINVAL with @error filled.
 */
int config_flows_read(yaml_document_t *document, const yaml_node_t *mapping,
		      struct config_flows *flows, struct config_error *error);

#endif
