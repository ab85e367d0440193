/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A pool's health check: its YAML and its rules. Used inside config/ only. */
#ifndef RINGLB_CONFIG_CHECK_H
#define RINGLB_CONFIG_CHECK_H

#include "config/document.h"
#include "config/validate.h"

/**
 * config_check_read() - read the mapping of a check
 * @document: what @mapping belongs to
 * @mapping: any node
 * @pool: index of the pool, for errors
 * @check: zero; receives the check, with defaults for what is not given. What is
 *	given and does not fit the type is there too, for config_check_validate()
 *
 * Return: 0, or -EINVAL with @error filled; then @check may be half written.
 */
int config_check_read(yaml_document_t *document, const yaml_node_t *mapping, size_t pool,
		      struct config_check *check, struct config_error *error);

/**
 * config_check_validate() - judge the check of a pool whose backends are valid
 * @pool: index of the pool
 *
 * Return: 0, or -EINVAL with the error filled.
 */
int config_check_validate(const struct config_validation *validation, size_t pool);

#endif
