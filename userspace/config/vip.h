/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A VIP: its YAML and its rules. Used inside config/ only. */
#ifndef RINGLB_CONFIG_VIP_H
#define RINGLB_CONFIG_VIP_H

#include "config/document.h"
#include "config/validate.h"

/**
 * config_vip_read() - read the mapping of a VIP
 * @document: what @mapping belongs to
 * @mapping: any node
 * @index: of the VIP, for errors
 * @vip: zero; receives the VIP
 *
 * Return: 0, or -EINVAL with @error filled; then @vip may be half written.
 */
int config_vip_read(yaml_document_t *document, const yaml_node_t *mapping, size_t index,
		    struct config_vip *vip, struct config_error *error);

/**
 * config_vip_validate() - judge a VIP by itself, in a model whose pools are valid
 * @index: of the VIP, whose pool is noted in vip_pools
 *
 * Return: 0, or -EINVAL with the error filled.
 */
int config_vip_validate(const struct config_validation *check, size_t index);

/* The same for any address that packets are sent to; its place has no field yet. */
int config_address_validate(const struct config_validation *check, struct config_place place,
			    const struct config_address *address);

#endif
