/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules that a model must obey, whether it was read or edited. Used inside
 * config/ only. Each check costs O(n log n) in the number of backends at most.
 */
#ifndef RINGLB_CONFIG_VALIDATE_H
#define RINGLB_CONFIG_VALIDATE_H

#include "config/error.h"

/* Pairs of a nat pool's VIP and backend, over all pools: as many replies can be recognised. */
#define CONFIG_REPLIES_MAX 131072
#define CONFIG_FIRST_LEN   (CONFIG_PLACE_LEN + 16)

/**
 * struct config_text - the text that a model was read from
 * @mark: where a place stands in it
 * @context: passed to @mark
 */
struct config_text {
	struct config_mark (*mark)(const void *context, const struct config_place *place);
	const void *context;
};

/**
 * struct config_validation - one run of the validator
 * @config: what is judged
 * @text: where it was read from; NULL for an edit: then errors have no line and
 *	call parts of the model by name
 * @error: filled when something is refused
 * @vip_pools: each VIP's pool, once the VIPs have been judged
 */
struct config_validation {
	const struct config *config;
	const struct config_text *text;
	struct config_error *error;
	const struct config_pool **vip_pools;
};

/* Why an address can be no host's of its own, as in "a multicast address"; NULL if it can. */
const char *config_address_flaw(const struct config_address *address);

/* Return: 0; -EINVAL with @error filled; -ENOMEM. */
int config_validate(const struct config *config, const struct config_text *text,
		    struct config_error *error);

/*
 * Parts of config_validate(), which return what it returns, for a model whose
 * items are each valid. config_check_nat() relies on config_check_unique().
 */
int config_check_unique(const struct config_validation *check);
int config_check_nat(const struct config_validation *check);

/* Fill the error with the place and what is wrong with it. Return: -EINVAL. */
int config_refuse(const struct config_validation *check, const struct config_place *place,
		  const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "first at line 12" or, without a text, "first by backend 'web1'". */
const char *config_first(const struct config_validation *check, const struct config_place *place,
			 char out[CONFIG_FIRST_LEN]);

#endif
