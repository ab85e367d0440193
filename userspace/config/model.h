/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of config/ share about the model. Used inside config/ only. */
#ifndef RINGLB_CONFIG_MODEL_H
#define RINGLB_CONFIG_MODEL_H

#include "config/config.h"

/*
 * Orders of items by what makes each the one it is, as qsort() wants them. Bytes
 * that carry nothing, such as those after an IPv4 address, do not count.
 */
typedef int config_compare(const void *a, const void *b);
int config_interface_compare(const void *a, const void *b);
int config_pool_compare(const void *a, const void *b);
int config_backend_compare_name(const void *a, const void *b);
int config_backend_compare_endpoint(const void *a, const void *b);
int config_vip_compare(const void *a, const void *b);
int config_address_compare(const struct config_address *a, const struct config_address *b);

/* As config_find_pool() and config_find_backend(). Return: 0; -ENOENT with @error filled. */
int config_need_pool(const struct config *config, const char *name, struct config_pool **pool,
		     struct config_error *error);
int config_need_backend(const struct config_pool *pool, const char *name,
			struct config_backend **backend, struct config_error *error);

/*
 * The YAML of a valid model, in @text, to be freed by the caller.
 * Return: 0; -ENOMEM, then the outputs are left as they were.
 */
int config_format(const struct config *config, char **text, size_t *len_bytes);

#endif
