/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A YAML mapping read by a table of its fields: which there are, how each is
 * written, where its value goes. Used inside config/ only.
 */
#ifndef RINGLB_CONFIG_FIELDS_H
#define RINGLB_CONFIG_FIELDS_H

#include "config/document.h"

#define CONFIG_FIELDS_MAX 16

/**
 * struct config_field - one field of a mapping
 * @name: its key
 * @parse: stores a single value, which has no zero byte inside, at an address
 *	in the struct; returns 0 or -EINVAL. NULL if the field is a list or a mapping
 * @mapping: it is no single value, but a mapping
 * @offset: of that address in the struct
 * @must: what a value must be, for the error: "must be 0 to 1000"
 * @hint: more about a refused value, or NULL
 * @required: refused if it is missing
 * @secret: keep the value out of error messages
 */
struct config_field {
	const char *name;
	int (*parse)(const char *text, void *out);
	size_t offset;
	const char *must;
	const char *(*hint)(const char *text);
	bool required;
	bool mapping;
	bool secret;
};

/**
 * config_fields_read() - read one mapping
 * @document: what @mapping belongs to
 * @mapping: any node; refused unless it is a mapping of exactly such fields
 * @place: where it is in the model, for errors; its field is that of a mapping
 *	within a section, or NULL
 * @fields: at most CONFIG_FIELDS_MAX
 * @out: struct that receives the single values; those not given stay
 * @nodes: NULL or as long as @fields; receives each list, or NULL if it is not
 *	given or empty, and each mapping, which may be any node, or NULL
 *
 * Fields are taken as they come, so of several errors the first in the file wins.
 *
 * Return: 0, or -EINVAL with @error filled; then @out may be half written.
 */
int config_fields_read(yaml_document_t *document, const yaml_node_t *mapping,
		       const struct config_place *place, const struct config_field *fields,
		       size_t n_fields, void *out, yaml_node_t **nodes, struct config_error *error);

#endif
