/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The section `encap`: its YAML and its defaults. Used inside config/ only. */
#ifndef RINGLB_CONFIG_ENCAP_H
#define RINGLB_CONFIG_ENCAP_H

#include "config/document.h"

/* What holds if the section, or a field of it, is not given. */
extern const struct config_encap config_encap_default;

/**
 * config_encap_read() - read the mapping
 * @mapping: any node
 * @encap: holds the defaults; receives what is given
 *
 * Return: 0, or -EINVAL with @error filled.
 */
int config_encap_read(yaml_document_t *document, const yaml_node_t *mapping,
		      struct config_encap *encap, struct config_error *error);

#endif
